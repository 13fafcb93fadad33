//! A store of web sessions: sessions are found by their token through a hash index, ended by user or by age, kept
//! within a memory limit, and used from async code.
#![allow(clippy::print_stdout, reason = "an ordinary program, which prints")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use contend::{Database, Error, Handle, Options, Table, Text};

/// A session, found by its token only, which is the fastest way.
#[derive(Clone, Debug, Table)]
#[table(name = "sessions", point, rows = 10_000, index(by_seen = (seen)))]
struct Session {
    #[key]
    token: [u8; 16],
    #[index]
    user: u64,
    seen: u64,
    agent: Text<40>,
}

#[derive(Clone)]
struct Store {
    db: Database,
    sessions: Handle<Session>,
}

impl Store {
    fn open(memory_bytes: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let db = Database::in_memory(Options::new().table::<Session>().memory_bytes(memory_bytes))?;
        Ok(Self { sessions: db.table()?, db })
    }

    // ANCHOR: log_in
    /// Begins a session. When memory is full, the oldest sessions are deleted first.
    fn log_in(&self, session: &Session) -> Result<bool, Error> {
        self.db.transact(|txn| match txn.insert(self.sessions, session) {
            Err(Error::MemoryFull { .. }) => {
                let oldest = txn.scan_by(self.sessions, Session::BY_SEEN, ..).take(8);
                for session in oldest.collect::<Result<Vec<Session>, Error>>()? {
                    txn.delete(self.sessions, session.token)?;
                }
                Ok(false)
            }
            other => other,
        })
    }
    // ANCHOR_END: log_in

    // ANCHOR: touch
    /// Returns the user of a session, if the session exists. It is async, so it does not block the runtime's thread.
    async fn touch(&self, token: [u8; 16], now: u64) -> Result<Option<u64>, Error> {
        let sessions = self.sessions;
        let touch = move |session: &mut Session| {
            session.seen = now;
            session.user
        };
        self.db.begin(move |txn| txn.update(sessions, token, touch)).await
    }
    // ANCHOR_END: touch

    /// Ends all sessions of a user.
    fn log_out(&self, user: u64) -> Result<usize, Error> {
        self.db.transact(|txn| {
            let theirs = txn.scan_by(self.sessions, Session::BY_USER, user..=user);
            let theirs = theirs.collect::<Result<Vec<Session>, Error>>()?;
            for session in &theirs {
                txn.delete(self.sessions, session.token)?;
            }
            Ok(theirs.len())
        })
    }

    /// Ends sessions that nobody has used since a time.
    fn expire(&self, before: u64) -> Result<usize, Error> {
        let mut ended = 0;
        // A hundred at a time, since short transactions conflict less.
        loop {
            let some = self.db.transact(|txn| {
                let old = txn.scan_by(self.sessions, Session::BY_SEEN, ..before).take(100);
                let old = old.collect::<Result<Vec<Session>, Error>>()?;
                for session in &old {
                    txn.delete(self.sessions, session.token)?;
                }
                Ok(old.len())
            })?;
            ended += some;
            if some == 0 {
                return Ok(ended);
            }
        }
    }
}

/// A substitute for a runtime: wakes the thread that waits for the future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[allow(clippy::disallowed_methods, reason = "an ordinary program, whose threads wait for one another")]
fn block_on<R>(future: impl Future<Output = R>) -> R {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(ready) => return ready,
            Poll::Pending => thread::park(),
        }
    }
}

fn session(number: u64) -> Session {
    let agent = Text::new("a browser").expect("it is short");
    Session { token: u128::from(number).to_be_bytes(), user: number % 10, seen: number, agent }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::open(4 << 20)?;
    for number in 0..1_000 {
        assert!(store.log_in(&session(number))?);
    }
    assert_eq!(block_on(store.touch(session(17).token, 5_000))?, Some(7));
    assert_eq!(block_on(store.touch([9; 16], 5_000))?, None);
    assert_eq!((store.log_out(3)?, store.log_out(3)?), (100, 0));
    assert_eq!(store.expire(500)?, 449, "of 500, fifty were ended before, and one was seen since");
    let refused = (1_000..1_000_000).find(|&number| !store.log_in(&session(number)).expect("no error"));
    println!("memory is full with session {}; {}", refused.ok_or("never")?, store.db.counters());
    store.db.close()?;
    Ok(())
}

#[test]
fn sessions_are_found_ended_and_kept_within_their_limit() {
    main().expect("the store works");
}
