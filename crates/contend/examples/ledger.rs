//! A ledger that outlives its program: opened with a path, written by several threads, copied while they write, and
//! opened again.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an ordinary program, which starts threads and prints"
)]

use std::path::Path;
use std::{env, fs, process, thread};

use contend::{Advice, Create, Database, Error, Handle, OpenError, Options, Table, Text};

/// A booking. Bookings are numbered in their order.
#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "bookings")]
struct Booking {
    #[key]
    number: u64,
    #[index]
    account: u32,
    cents: i64,
    says: Text<30>,
}

#[derive(Clone)]
struct Ledger {
    db: Database,
    bookings: Handle<Booking>,
}

impl Ledger {
    // ANCHOR: open
    fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_as(Create::IfAbsent, path)
    }

    /// Opens a ledger that must exist: a wrong path does not make a new ledger.
    fn open_as(create: Create, path: &Path) -> Result<Self, OpenError> {
        let db = Database::open(path, Options::new().table::<Booking>().create(create))?;
        if let Some(found) = db.recovery()
            && !found.was_closed
        {
            println!("the ledger was not closed: {} bookings were acknowledged and are there", found.rows);
        }
        let bookings = db.table().expect("it was declared above");
        Ok(Self { db, bookings })
    }
    // ANCHOR_END: open

    // ANCHOR: book
    /// Makes a booking, and returns its number when the booking survives any crash.
    fn book(&self, account: u32, cents: i64, says: &str) -> Result<u64, Error> {
        let booked = self.db.transact(|txn| {
            let last = txn.scan(self.bookings, ..).backward().next().transpose()?;
            let number = last.map_or(1, |booking| booking.number + 1);
            txn.insert(self.bookings, &Booking { number, account, cents, says: says.parse()? })?;
            Ok(number)
        });
        if let Err(error) = &booked
            && error.advice() == Advice::Reopen
        {
            // The device has failed. Whether this booking survives is known only when the ledger is opened again, so it
            // is not tried again before that.
            println!("the ledger is read-only from now on: {error}");
        }
        booked
    }
    // ANCHOR_END: book

    fn balance(&self, account: u32) -> Result<i64, Error> {
        self.db.snapshot(|txn| {
            let bookings = txn.scan_by(self.bookings, Booking::BY_ACCOUNT, account..=account);
            bookings.map(|booking| Ok(booking?.cents)).sum()
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = env::temp_dir().join(format!("contend-ledger-{}", process::id()));
    let (path, copy) = (home.join("ledger"), home.join("copy"));
    let ledger = Ledger::open(&path)?;
    ledger.book(7, 10_000, "opened")?;
    thread::scope(|scope| {
        for teller in 0..3 {
            let ledger = &ledger;
            scope.spawn(move || {
                for _ in 0..20 {
                    ledger.book(7, -100, &format!("teller {teller}")).expect("the device works");
                }
            });
        }
        // The state of one moment: some of the tellers' bookings, and none of them half done.
        ledger.db.backup(&copy).expect("the device works");
    });
    assert_eq!(ledger.balance(7)?, 4_000);
    assert!(matches!(Ledger::open(&path), Err(OpenError::Locked { .. })), "one process at a time");
    println!("{}", ledger.db.counters());
    ledger.db.close()?;

    let mistyped = Ledger::open_as(Create::Never, &home.join("leger"));
    assert!(matches!(mistyped, Err(OpenError::NoDatabase { .. })), "no ledger is made there");
    let ledger = Ledger::open_as(Create::Never, &path)?;
    assert_eq!((ledger.balance(7)?, ledger.db.counters().recovered_rows), (4_000, 61));
    assert_eq!(ledger.book(7, 1, "goes on")?, 62);
    let copied = Ledger::open(&copy)?;
    assert!((4_000..=10_000).contains(&copied.balance(7)?));
    drop((ledger, copied));
    fs::remove_dir_all(home)?;
    Ok(())
}

#[test]
fn what_was_booked_is_there_when_it_is_opened_again() {
    main().expect("the ledger is right");
}
