//! Claims about the drawn objects and about the checks, one transaction at a time.

use std::collections::BTreeSet;

use engine::{Home, Key};

use super::*;
use crate::mock::{self, Fixture};

const SMALL: &str = "micro.objects=100";

fn micro(settings: &str) -> Fixture<Micro> {
    Fixture::new(&format!("{SMALL} {settings}"))
}

#[test]
fn every_shape_keeps_the_invariants() {
    for write in ["blind", "rmw"] {
        for more in [
            "",
            "micro.objects=9 micro.theta=0",
            "micro.objects=1 micro.reads=1 micro.writes=1 micro.common=1",
            "micro.reads=0 micro.writes=1 micro.common=0 micro.objects=1000",
            "micro.reads=32 micro.writes=32 micro.common=32 micro.theta=0.999",
            "micro.reads=32 micro.writes=32 micro.common=0",
            "micro.writes=0 micro.common=0",
        ] {
            let of = format!("micro.write={write} {more}");
            let mut micro = micro(&of);
            assert_eq!(micro.check(), Ok(()), "loaded, {of}");
            assert_eq!(micro.run(300), 0);
            assert_eq!(micro.check(), Ok(()), "run, {of}");
        }
    }
}

#[test]
fn objects_differ_and_as_many_are_common_as_asked() {
    let mut micro = micro("micro.theta=0.999 micro.reads=6 micro.writes=4 micro.common=2");
    for input in micro.inputs(500) {
        let [read, written] = [input.read(), input.written()]
            .map(|objects| objects.iter().map(|object| object.ordered()).collect::<BTreeSet<u64>>());
        assert_eq!((read.len(), written.len(), input.all().len()), (6, 4, 8));
        assert_eq!(read.intersection(&written).count(), 2);
        let by_rank = input.ranks_written().iter().map(|&rank| micro.workload.generator.of_rank(rank));
        assert!(by_rank.eq(input.written().iter().copied()));
    }
}

#[test]
fn a_request_is_drawn_again_from_its_number() {
    let mut micro = micro("");
    for input in micro.inputs(100) {
        let (client, sequence) = input.writer.request();
        let again = micro.workload.generator.generate(client, sequence);
        assert_eq!((again.writer, again.all()), (input.writer, input.all()));
    }
    let many = (ClientId(1_000_000), (1 << 40) - 1);
    assert_eq!(Writer::new(many.0, many.1).request(), many);
}

#[test]
fn the_hottest_object_is_as_frequent_as_forecast() {
    for theta in ["0", "0.8", "0.99"] {
        let mut micro = micro(&format!("micro.reads=1 micro.writes=0 micro.common=0 micro.theta={theta}"));
        let inputs = micro.inputs(10_000);
        let hottest = micro.workload.generator.of_rank(0);
        let hits = inputs.iter().filter(|input| input.read()[0] == hottest).count();
        let found = hits as f64 / inputs.len() as f64;
        assert!((found - micro.workload.generator.hottest(1)).abs() < 0.01, "{theta}: {found}");
    }
}

#[test]
fn parts_cover_the_objects_by_their_top_bits() {
    for objects in [1, 2, 63, 1_000] {
        let micro = micro(&format!("micro.objects={objects} micro.reads=1 micro.writes=0 micro.common=0"));
        let generator = &micro.workload.generator;
        let positions = (0..64).flat_map(|part| generator.positions(part, 64).map(move |at| (part, at)));
        assert!(positions.clone().all(|(part, at)| generator.at(at).part(64) == part));
        assert!(positions.map(|(_, at)| at).eq(0..objects));
    }
}

#[test]
fn a_lost_and_an_invented_update_are_found() {
    for change in [|version: &mut Version| version.0 -= 1, |version: &mut Version| version.0 += 1] {
        let mut micro = micro("micro.write=rmw");
        micro.run(300);
        let hottest = micro.workload.generator.of_rank(0);
        micro.tamper(micro.workload.table, hottest, change);
        micro.assert_found("versions equal committed writes");
    }
}

#[test]
fn a_version_that_nobody_committed_is_found() {
    let mut micro = micro("");
    micro.run(300);
    let (table, hottest) = (micro.workload.table, micro.workload.generator.of_rank(0));
    micro.tamper(table, hottest, |version| *version = Version(301));
    micro.assert_found("of requests that committed");
}

#[test]
fn a_version_of_a_request_that_writes_other_objects_is_found() {
    let mut micro = micro("");
    micro.run(300);
    let (table, generator) = (micro.workload.table, &micro.workload.generator);
    let writes = |number: u64| {
        let input = generator.generate(ClientId(0), number);
        (input.written().contains(&generator.of_rank(0)), input.writer)
    };
    let (_, other) = (0..300).map(writes).find(|(writes, _)| !writes).expect("somebody leaves it alone");
    let hottest = generator.of_rank(0);
    micro.tamper(table, hottest, |version| version.0 = other.0);
    micro.assert_found("requests that write them");
}

#[test]
fn a_lost_blind_write_is_found() {
    for is_first in [true, false] {
        let mut micro = micro("");
        micro.run(300);
        let hottest = micro.workload.generator.of_rank(0);
        let older = if is_first {
            0
        } else {
            let writes = |sequence: &u64| {
                let input = micro.workload.generator.generate(ClientId(0), *sequence);
                input.written().contains(&hottest)
            };
            let first = (0..300).find(writes).expect("it is hot");
            Writer(first + 1).0
        };
        micro.tamper(micro.workload.table, hottest, |version| version.0 = older);
        micro.assert_found("the last of their clients");
    }
}

#[test]
fn lost_objects_are_found_in_place_and_when_looked_for() {
    for write in ["blind", "rmw"] {
        let given = format!("micro.write={write} micro.reads=32 micro.objects=100");
        let mut micro = micro(&given);
        let (table, object) = (micro.workload.table, micro.workload.generator.at(0));
        micro.mock.attempt(|txn| txn.delete(table, object)).expect("deleted");
        micro.assert_found("objects stay");
        let reads = |input: &Input| input.read().contains(&object) && !input.written().contains(&object);
        let reader = micro.inputs(100).into_iter().find(reads).expect("a third of all are read at a time");
        micro.execute(&reader).expect("commits");
        micro.mock.attempt(|txn| txn.insert(table, object, &Version(0))).expect("inserted");
        micro.assert_found("find every object");
    }
}

#[test]
fn homes_are_those_of_all_objects() {
    let mut micro = micro("micro.reads=32 micro.writes=32 micro.common=5");
    for input in micro.inputs(200) {
        let homes = micro.workload.homes(&input);
        let homes: BTreeSet<u64> = homes.listed().expect("all are known").iter().copied().collect();
        let touched = input.all().iter().map(|object| match object.home() {
            Home::At(home) => home,
            Home::Everywhere => panic!("objects have homes"),
        });
        assert_eq!(homes, touched.collect::<BTreeSet<u64>>());
    }
}

#[test]
fn any_number_of_loaders_loads_the_same() {
    let fixture = micro("");
    let mut schema = Schema::new();
    let workload: Micro = mock::declare(SMALL, &mut schema).expect("legal");
    let mut one = mock::Mock::new(&schema, &[]);
    workload.load(Share::WHOLE, &mut one);
    assert!(one == fixture.mock);
}

#[test]
fn contradictions_are_refused_with_the_way_out() {
    let refusal = |given: &str| mock::refusal::<Micro>(given);
    assert!(refusal("micro.common=6").contains("to 5 or less"));
    assert!(refusal("micro.reads=0 micro.writes=0 micro.common=0").contains("raise"));
    assert!(refusal("micro.objects=8").contains("raise `micro.objects`"));
}

#[test]
fn the_forecast_names_the_hot_and_the_conflicts() {
    let told = |given: &str| {
        let workload: Micro = mock::declare(given, &mut Schema::new()).expect("legal");
        let forecast = workload.forecast();
        assert_eq!((forecast.rows, forecast.row_bytes), (100_000, 800_000));
        forecast.sentences.join("\n")
    };
    let standard = told("");
    for part in ["reads 5 objects and writes 5, blindly", "touches 9", "2.2% of the draws"] {
        assert!(standard.contains(part), "{part} is not in:\n{standard}");
    }
    assert!(told("micro.writes=0 micro.common=0").contains("no conflicts"));
}

#[test]
fn footprints_have_all_rows_that_are_touched() {
    assert_eq!(micro("micro.objects=200").compare_footprints(200), [600, 0, 0]);
    assert_eq!(micro("micro.objects=200").stated_footprints(100), [300; 2]);
}
