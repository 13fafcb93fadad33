//! Claims about the chosen rows and about the checks, one transaction at a time.

use std::collections::BTreeSet;

use engine::Home;

use super::*;
use crate::mock::{self, Fixture};

const SMALL: &str = "stock.warehouses=3 stock.items=50 stock.reads=40";

fn stock(settings: &str) -> Fixture<StockTable> {
    Fixture::new(&format!("{SMALL} {settings}"))
}

/// Returns the positions that a request reads, and those of them that it writes.
fn rows_of(settings: &Settings, input: &Input) -> (Vec<u64>, Vec<u64>) {
    let (walk, mut chooser) = (input.walk(settings), input.chooser(settings));
    let read: Vec<u64> = (0..settings.reads).map(|nth| walk.position(nth)).collect();
    let written = read.iter().copied().filter(|_| chooser.next()).collect();
    (read, written)
}

#[test]
fn every_shape_keeps_the_invariants() {
    for readset in ["scattered", "contiguous"] {
        for writeset in ["any", "first"] {
            for write in ["rmw", "blind"] {
                for more in [
                    "",
                    "stock.write_pct=0.1",
                    "stock.write_pct=100",
                    "stock.reads=150 stock.write_pct=3",
                    "stock.warehouses=1 stock.items=1 stock.reads=1 stock.write_pct=50",
                    "stock.warehouses=40 stock.items=2 stock.reads=33",
                ] {
                    let of = format!(
                        "stock.readset={readset} stock.writeset={writeset} stock.write={write} {more}"
                    );
                    let mut stock = stock(&of);
                    assert_eq!(stock.check(), Ok(()), "loaded, {of}");
                    assert_eq!(stock.run(100), 0);
                    assert_eq!(stock.check(), Ok(()), "run, {of}");
                }
            }
        }
    }
}

#[test]
fn overwriting_leaves_what_updating_does() {
    let [updated, overwritten] = ["rmw", "blind"].map(|write| {
        let mut stock = stock(&format!("stock.write={write}"));
        stock.run(100);
        stock.mock
    });
    assert!(updated == overwritten);
}

#[test]
fn rows_within_a_transaction_differ_and_as_many_are_written_as_asked() {
    for more in ["stock.readset=scattered", "stock.readset=contiguous", "stock.reads=150 stock.write_pct=100"]
    {
        let mut stock = stock(more);
        let inputs = stock.inputs(100);
        let settings = stock.workload.settings;
        for input in inputs {
            let (read, written) = rows_of(&settings, &input);
            let distinct: BTreeSet<u64> = read.iter().copied().collect();
            assert_eq!(distinct.len() as u64, settings.reads, "{more}");
            assert!(distinct.iter().all(|&position| position < settings.rows.count()));
            assert_eq!(written.len() as u64, settings.writes_mean() as u64, "{more}");
        }
    }
}

#[test]
fn written_rows_are_any_of_those_read_or_the_first() {
    let positions = |writeset: &str| {
        let given = format!("stock.readset=contiguous stock.writeset={writeset} stock.write_pct=25");
        let mut stock = stock(&given);
        let inputs = stock.inputs(2_000);
        let mut counts = [0_u64; 40];
        for input in inputs {
            let (read, written) = rows_of(&stock.workload.settings, &input);
            for (nth, position) in read.iter().enumerate() {
                counts[nth] += u64::from(written.contains(position));
            }
        }
        counts
    };
    let any = positions("any");
    // The expected count is a quarter of 6,000. Four standard deviations are 134.
    assert!(any.iter().all(|count| count.abs_diff(1_500) < 134), "{any:?}");
    let first = positions("first");
    assert!(first[..10].iter().all(|&count| count == 6_000) && first[10..].iter().all(|&count| count == 0));
}

#[test]
fn what_is_less_than_a_row_is_a_share_of_the_transactions() {
    let mut stock = stock("stock.write_pct=3");
    let inputs = stock.inputs(5_000);
    let more = inputs.iter().filter(|input| input.writes == 2).count();
    assert!(inputs.iter().all(|input| (1..=2).contains(&input.writes)));
    // The mean is 1.2 rows. Four standard deviations of 15,000 draws are 196.
    assert!(more.abs_diff(3_000) < 196, "{more}");
    let mut rare = self::stock("stock.write_pct=0.01");
    let kinds: BTreeSet<usize> = rare.inputs(2_000).iter().map(|input| rare.workload.kind(input)).collect();
    assert!(kinds.into_iter().eq([0, 1]));
}

#[test]
fn quantities_are_moved_and_none_is_made() {
    for writes in 0..20 {
        let deltas: Vec<i64> = (0..writes).map(|nth| delta(0x1234_5678_9abc_def0, nth, writes)).collect();
        assert_eq!(deltas.iter().sum::<i64>(), 0, "{deltas:?}");
        let moved = deltas.iter().filter(|&&delta| delta != 0).count() as u64;
        assert_eq!(moved, writes / 2 * 2);
    }
}

#[test]
fn a_lost_and_an_invented_write_are_found() {
    type Change = fn(&mut Stock);
    let changes: [Change; 4] =
        [|row| row.order_count -= 1, |row| row.order_count += 1, |row| row.quantity += 1, |row| row.ytd += 1];
    for change in changes {
        let mut stock = stock("");
        stock.run(100);
        let (table, key) = (stock.workload.table, stock.workload.settings.rows.key(70));
        stock.tamper(table, key, change);
        stock.assert_found("loaded and committed");
    }
}

#[test]
fn a_quantity_that_moved_between_homes_is_found() {
    let mut stock = stock("");
    let rows = stock.workload.settings.rows;
    for (position, delta) in [(0, 1), (149, -1)] {
        stock.tamper(stock.workload.table, rows.key(position), |row| row.quantity += delta);
    }
    stock.assert_found("loaded and committed");
}

#[test]
fn who_reads_all_rows_finds_what_is_missing() {
    for more in ["", "stock.readset=contiguous"] {
        let mut stock = stock(&format!("stock.reads=150 stock.write_pct=0 {more}"));
        let (table, key) = (stock.workload.table, stock.workload.settings.rows.key(70));
        stock.tamper(table, key, |row| row.quantity -= 1);
        stock.run(1);
        stock.tamper(table, key, |row| row.quantity += 1);
        stock.assert_found("sees the whole quantity");
    }
}

#[test]
fn rows_that_are_lost_or_in_disorder_are_found_in_place_and_when_read() {
    let mut stock = stock("stock.reads=150 stock.write_pct=0");
    let (table, rows) = (stock.workload.table, stock.workload.settings.rows);
    stock.tamper(table, rows.key(70), |row| row.key += 1);
    stock.assert_found("rows lie under their keys");
    stock.run(1);
    stock.tamper(table, rows.key(70), |row| row.key -= 1);
    stock.assert_found("see rows under their keys");

    let mut stock = self::stock("stock.reads=150 stock.write_pct=0");
    stock.mock.attempt(|txn| txn.delete(table, rows.key(0))).expect("deleted");
    stock.assert_found("loaded rows stay");
    stock.run(1);
    stock.mock.attempt(|txn| txn.insert(table, rows.key(0), &rows.loaded(0))).expect("inserted");
    stock.assert_found("find every row");
}

#[test]
fn homes_are_those_of_all_rows_read() {
    for more in [
        "stock.readset=scattered stock.reads=2",
        "stock.readset=contiguous",
        "stock.readset=contiguous stock.reads=150",
        "stock.readset=contiguous stock.warehouses=40 stock.items=2 stock.reads=7",
        "stock.warehouses=40 stock.items=20 stock.reads=300",
    ] {
        let mut stock = stock(more);
        let inputs = stock.inputs(200);
        let StockTable { settings, .. } = stock.workload;
        for input in inputs {
            let homes = stock.workload.homes(&input);
            let homes: BTreeSet<u64> = homes.listed().expect("all are known").iter().copied().collect();
            let read = rows_of(&settings, &input).0;
            let touched = read.iter().map(|&position| match settings.rows.key(position).home() {
                Home::At(home) => home,
                Home::Everywhere => panic!("rows have homes"),
            });
            let touched: BTreeSet<u64> = touched.collect();
            assert_eq!(homes, touched, "{more}");
        }
    }
}

#[test]
fn more_rows_than_there_are_cannot_be_read() {
    let says = mock::refusal::<StockTable>("stock.warehouses=1 stock.items=100 stock.reads=101");
    assert!(says.contains("lower `stock.reads`"), "{says}");
}

#[test]
fn the_forecast_names_rows_and_what_invalidates_them() {
    let forecast = |given: &str| {
        let workload: StockTable = mock::declare(given, &mut Schema::new()).expect("legal");
        workload.forecast()
    };
    let standard = forecast("");
    assert_eq!((standard.rows, standard.row_bytes), (3_200_000, 102_400_000));
    let text = standard.sentences.join("\n");
    // 1,000 rows are read and 100 written, of 3.2 million.
    for part in ["32 warehouses", "updates 100.0 of them (10%)", "writes 0.031 in the mean"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let told = |given: &str| forecast(given).sentences.join("\n");
    assert!(told("stock.write_pct=0").contains("it writes none"));
    assert!(told("stock.write_pct=0.001").contains("one in 100 transactions updates one"));
}

#[test]
fn footprints_have_all_rows_that_are_written() {
    assert_eq!(stock("").compare_footprints(100), [300, 0, 0]);
}
