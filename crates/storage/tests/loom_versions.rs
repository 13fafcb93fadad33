//! Models of a record's versions: one slot brings the record down to one version, which moves to its place within
//! the record, while another writes it, takes back what it wrote, or reads it.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p contend-storage --test loom_versions`
#![cfg(loom)]

use std::ops::ControlFlow;

use loom::thread;
use storage::{
    Home, Lookup, Meta, RecordRef, Row, Schema, Shape, Slot, Table, Tables, VersionRef, Versioned,
};
use sync::atomic::{AtomicU64, Ordering};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The number of a version's writer. Relaxed throughout: whatever order there is comes from storage.
#[derive(Debug, Default)]
struct Number(AtomicU64);

impl Number {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Meta for Number {
    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn copy_final(&self, to: &Self) -> bool {
        to.0.store(self.get(), Ordering::Relaxed);
        true
    }
}

struct Chains;

impl Shape for Chains {
    type Header = ();
    type Version = Number;
    type Leaf = ();
    type Data = Versioned;
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Cell([u64; 2]);

impl Row for Cell {
    type Key = u64;
    type Indexes = ();
}

type ThisSlot = Slot<'static, Chains>;
type Record = RecordRef<'static, Chains>;

/// Attempts after which everything that was unlinked is in use again.
const ATTEMPTS_TO_REUSE: usize = 8 * 8;

fn attempt(slot: &mut ThisSlot, body: impl FnOnce(&mut ThisSlot)) {
    slot.pin();
    body(slot);
    slot.unpin();
}

/// Puts a version over the newest one, if nobody else does.
fn write(slot: &mut ThisSlot, record: Record, number: u64, end: End) -> bool {
    let newest = slot.newest(record);
    assert!(newest.is_none_or(VersionRef::is_sealed), "one writes at a time");
    let mut pending = slot.new_version(record);
    pending.words().fill(number);
    pending.version().meta().0.store(number, Ordering::Relaxed);
    if !record.push(&pending, newest) {
        slot.discard_version(record, pending);
        return false;
    }
    match end {
        End::Commit { is_enough } => {
            if slot.cut(record, &pending, |_| ControlFlow::Break(is_enough)) {
                slot.settle_later(record, number);
            }
            pending.seal();
        }
        End::TakeBack => {
            record.pop(pending.version());
            slot.discard_version(record, pending);
            if let Some(newest) = newest.filter(|&newest| !slot.is_settled(newest)) {
                slot.settle_later(record, newest.meta().get());
            }
        }
    }
    true
}

#[derive(Clone, Copy)]
enum End {
    Commit { is_enough: bool },
    TakeBack,
}

fn write_for_sure(slot: &mut ThisSlot, record: Record, number: u64, end: End) {
    while !write(slot, record, number, end) {}
}

fn settle(slot: &mut ThisSlot, _: Record) {
    slot.settle(u64::MAX, |meta, number| meta.get() == number);
}

/// Reads the newest value, which may be one of `values`. The value is complete, and the same when it is read again.
fn read(slot: &mut ThisSlot, record: Record, values: &[u64]) {
    let newest = slot.newest(record).expect("the record has a value at all times");
    let Some(words) = slot.words(newest) else { return };
    let seen = [words[0], words[1]];
    assert!(seen[0] == seen[1] && values.contains(&seen[0]), "{seen:?}");
    thread::yield_now();
    assert_eq!(slot.words(newest), Some(&seen[..]));
}

/// Writes 3, lends it, and takes it back, if `is_withdrawn`, to write 4 instead.
fn lend(slot: &mut ThisSlot, record: Record, is_withdrawn: bool) {
    let newest = slot.newest(record);
    let mut pending = slot.new_version(record);
    pending.words().fill(3);
    assert!(record.push(&pending, newest));
    pending.lend();
    if is_withdrawn {
        pending.end_loan();
        pending.words()[0] = 4;
        thread::yield_now();
        pending.words()[1] = 4;
        pending.lend();
    }
    assert!(!slot.cut(record, &pending, |_| ControlFlow::Break(true)));
    pending.seal();
}

/// Reads the newest value, if it is lent: it is complete, one that was lent, and the same when it is read again.
fn read_lent(slot: &mut ThisSlot, record: Record) {
    let Some(newest) = slot.newest(record) else { return };
    let Some(loan) = slot.loan(newest) else { return };
    let seen = [loan.words()[0], loan.words()[1]];
    thread::yield_now();
    assert_eq!(loan.words(), seen);
    assert!(seen == [3, 3] || seen == [4, 4], "{seen:?}");
}

/// A record with two versions, 1 within it and 2 of a pool, which its writer has noted to settle.
fn two_versions(slot: &mut ThisSlot, record: Record) {
    for number in [1, 2] {
        attempt(slot, |slot| write_for_sure(slot, record, number, End::Commit { is_enough: false }));
    }
}

/// A record with one version, 2 of a pool. Its writer frees the place within the record at the end of the next
/// attempt.
fn place_comes_home(slot: &mut ThisSlot, record: Record) {
    for number in [1, 2] {
        attempt(slot, |slot| write_for_sure(slot, record, number, End::Commit { is_enough: true }));
    }
    // Each eighth attempt moves the epoch on, and the third such attempt finds it two further.
    (3..24).for_each(|_| attempt(slot, |_| ()));
    assert!(!slot.is_settled(slot.newest(record).expect("written")));
}

/// Runs two slots, the first that of the record's writer, in every way with up to three preemptions. After further
/// attempts, which settle records or do not, the record has one version with this value, within it, and no version
/// is missing from the pool.
fn model(
    prepare: fn(&mut ThisSlot, Record),
    threads: [fn(&mut ThisSlot, Record); 2],
    value: u64,
    settles_afterwards: bool,
) {
    // Loom remembers only the last load of a word, so a store that follows it in the same thread is not seen to
    // race with a load of the other thread before. Each thread therefore has its turn to be first.
    for is_swapped in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.max_branches = 100_000;
        model.check(move || {
            let mut schema = Schema::new();
            let table: Table<Cell> = schema.table::<u64>("t", Lookup::Heap, 1).group();
            let tables: *mut Tables<Chains> = Box::into_raw(Box::new(Tables::new(&schema, 2, 0, false)));
            {
                // SAFETY: freed at the end, when all who borrow it have ended.
                let tables: &'static Tables<Chains> = unsafe { &*tables };
                run(tables, table, prepare, threads, (value, settles_afterwards), is_swapped);
            }
            // SAFETY: it came from a box, and nobody borrows it any more.
            drop(unsafe { Box::from_raw(tables) });
        });
    }
}

fn run(
    tables: &'static Tables<Chains>,
    table: Table<Cell>,
    prepare: fn(&mut ThisSlot, Record),
    [writer, other]: [fn(&mut ThisSlot, Record); 2],
    (value, settles_afterwards): (u64, bool),
    is_swapped: bool,
) {
    let (mut slot, mut other_slot) = (tables.slot(), tables.slot());
    let record = slot.new_row(tables.get(table.id()), Home::At(0)).row().record(0);
    prepare(&mut slot, record);
    if is_swapped {
        let spawned = thread::spawn(move || {
            writer(&mut slot, record);
            slot
        });
        other(&mut other_slot, record);
        drop(spawned.join().expect("no thread of the model panics"));
        drop(other_slot);
    } else {
        let spawned = thread::spawn(move || {
            other(&mut other_slot, record);
            other_slot
        });
        writer(&mut slot, record);
        drop(spawned.join().expect("no thread of the model panics"));
        drop(slot);
    }
    let mut slot = tables.slot();
    for _ in 0..ATTEMPTS_TO_REUSE {
        attempt(&mut slot, |slot| {
            if settles_afterwards {
                settle(slot, record);
            }
        });
    }
    attempt(&mut slot, |slot| {
        let newest = slot.newest(record).expect("it has a value");
        assert_eq!(slot.words(newest), Some(&[value; 2][..]));
        assert!(slot.is_settled(newest), "the record has one version, and that is within it");
    });
    drop(slot);
    let memory = &tables.memory()[0];
    assert_eq!(memory.version_bytes, memory.version_bytes_free, "every version of the pool is back in it");
}

#[test]
fn a_record_is_settled_while_another_writes_it() {
    model(
        two_versions,
        [
            |slot, record| attempt(slot, |slot| settle(slot, record)),
            |slot, record| {
                attempt(slot, |slot| write_for_sure(slot, record, 3, End::Commit { is_enough: true }));
            },
        ],
        3,
        true,
    );
}

#[test]
fn a_record_is_settled_while_another_writes_it_and_keeps_what_was_before() {
    model(
        two_versions,
        [
            |slot, record| attempt(slot, |slot| settle(slot, record)),
            |slot, record| {
                attempt(slot, |slot| write_for_sure(slot, record, 3, End::Commit { is_enough: false }));
            },
        ],
        3,
        true,
    );
}

#[test]
fn a_record_is_settled_although_a_write_that_is_taken_back_came_between() {
    model(
        two_versions,
        [
            |slot, record| attempt(slot, |slot| settle(slot, record)),
            |slot, record| attempt(slot, |slot| write_for_sure(slot, record, 3, End::TakeBack)),
        ],
        2,
        true,
    );
}

#[test]
fn a_record_is_settled_under_one_who_reads_it() {
    model(
        two_versions,
        [
            |slot, record| attempt(slot, |slot| settle(slot, record)),
            |slot, record| attempt(slot, |slot| read(slot, record, &[2])),
        ],
        2,
        true,
    );
}

#[test]
fn a_version_moves_home_under_one_who_reads_it() {
    model(
        place_comes_home,
        [|slot, _| attempt(slot, |_| ()), |slot, record| attempt(slot, |slot| read(slot, record, &[2]))],
        2,
        false,
    );
}

#[test]
fn a_version_moves_home_or_is_moved_by_who_settles_the_record() {
    model(
        place_comes_home,
        [
            |slot, _| attempt(slot, |_| ()),
            |slot, record| {
                attempt(slot, |slot| {
                    write_for_sure(slot, record, 3, End::Commit { is_enough: true });
                    settle(slot, record);
                });
            },
        ],
        3,
        false,
    );
}

#[test]
fn a_version_moves_home_although_a_write_that_is_taken_back_came_between() {
    model(
        place_comes_home,
        [
            |slot, _| attempt(slot, |_| ()),
            |slot, record| {
                attempt(slot, |slot| {
                    write_for_sure(slot, record, 3, End::TakeBack);
                    settle(slot, record);
                });
            },
        ],
        2,
        false,
    );
}

#[test]
fn a_version_is_sealed_under_one_who_reads_what_is_lent() {
    model(
        |_, _| (),
        [
            |slot, record| attempt(slot, |slot| lend(slot, record, false)),
            |slot, record| {
                attempt(slot, |slot| read_lent(slot, record));
            },
        ],
        3,
        true,
    );
}

#[test]
fn a_version_is_written_again_when_nobody_reads_what_was_lent() {
    model(
        |_, _| (),
        [
            |slot, record| attempt(slot, |slot| lend(slot, record, true)),
            |slot, record| {
                attempt(slot, |slot| read_lent(slot, record));
            },
        ],
        4,
        true,
    );
}
