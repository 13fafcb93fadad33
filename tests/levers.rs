//! Read-for-update hints, schedule by schedule: without hints, two updates of one record prevent each other from
//! upgrading the lock that both share.

use engine_sim::setting::{Settings, Values};
use engine_sim::{Database, Env, Homes, Lookup, Row, Schema, Scheme, Table, Ticket, Transaction};
use schemes_sim::locking::no_wait::NoWait;
use sim::Search;
use sync_sim::workers;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Counter(u64);

impl Row for Counter {
    type Key = u64;
    type Indexes = ();
}

/// Runs two concurrent updates of one record, each tried once. Returns the number of aborts.
fn aborts(reads_first: bool) -> usize {
    let mut schema = Schema::new();
    let table: Table<Counter> = schema.table("counters", Lookup::Point, 1).group();
    let at_once = [("no_wait.spin".to_owned(), "0".to_owned())];
    let values = Values::new(<NoWait as Scheme>::Settings::ALL, &at_once).expect("legal settings");
    let db = Database::<NoWait>::new(&schema, &values, Env { slots: 2, workers: 2 }).expect("legal settings");
    let ticket = || Ticket::new(1, Homes::new());
    assert_eq!(db.session().attempt(&ticket(), |txn| txn.insert(table, 0, &Counter(0))), Ok(true));
    let aborted = workers::run(2, false, |_| {
        let mut session = db.session();
        session.read_first(reads_first);
        session.attempt(&ticket(), |txn| txn.update(table, 0, |row| row.0 += 1)).is_err()
    });
    let aborts = aborted.iter().filter(|aborted| **aborted).count();
    let counted = db.session().attempt(&ticket(), |txn| txn.read(table, 0, |row| row.0));
    assert_eq!(counted, Ok(Some(2 - aborts as u64)));
    aborts
}

/// Returns the maximum number of aborts under any schedule of two preemptions.
fn aborts_max(reads_first: bool) -> usize {
    let (mut search, mut most) = (Search::bounded(2).cap(20_000), 0);
    while let Some(explored) = search.run(|| aborts(reads_first)) {
        most = most.max(explored.outcome.expect("it ends"));
    }
    most
}

#[test]
fn two_updates_of_a_record_that_read_it_first_can_abort_each_other() {
    assert_eq!([false, true].map(aborts_max), [1, 2]);
}
