//! Workers that write the same two records, half of them in each order, for schemes in which transactions wait for each
//! other: each worker has its turn.

use engine::{Homes, Lookup, Schema, Scheme, Ticket, Transaction};
use sync::{clock, waiter, workers};

use super::{Cell, Given, Place, database_with};

const WORKERS: u64 = 8;
/// Transactions of each worker.
const COUNT: u64 = 300;

/// Asserts that all transactions of all workers come to their ends, each with its birth from the first attempt on.
pub(crate) fn all_workers_make_progress<S: Scheme>(given: Given) {
    let mut schema = Schema::new();
    let table = schema.table("rows", Lookup::Point, 2).group();
    let db = database_with::<S>(&schema, WORKERS as usize, WORKERS as usize, given);
    let at = |number| Place::new(0, number);
    let first = Ticket::new(1, Homes::new());
    let insert = |number| db.session().attempt(&first, |txn| txn.insert(table, at(number), &Cell::new(0)));
    assert_eq!([insert(0), insert(1)], [Ok(true); 2]);
    workers::run(WORKERS as usize, false, |worker| {
        let mut session = db.session();
        for round in 0..COUNT {
            let mut ticket = Ticket::new(clock::ticks(), Homes::new());
            // Half of them cross the others.
            let order = if (worker as u64 + round).is_multiple_of(2) { [0, 1] } else { [1, 0] };
            let mut count = |ticket: &Ticket| {
                session.attempt(ticket, |txn| {
                    order.iter().try_for_each(|&number| {
                        txn.update(table, at(number), |cell| cell.set(cell.value() + 1)).map(drop)
                    })
                })
            };
            while count(&ticket).is_err() {
                ticket.retries += 1;
                waiter::pause_ns(1_000);
            }
        }
    });
    for number in 0..2 {
        let seen = db.session().attempt(&first, |txn| txn.read(table, at(number), Cell::value));
        assert_eq!(seen, Ok(Some(WORKERS * COUNT)), "under {given:?}");
    }
}
