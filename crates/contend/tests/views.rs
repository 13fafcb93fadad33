//! States that bodies see before their attempt commits or aborts. The `views` that each scheme of the build declares
//! are compared with the states seen under it, and `Options::consistent_reads` is held to its promise.

use core::cell::Cell;

use contend::{Database, Error, Handle, OpenError, Options, Reader, Table, Txn, Views, schemes};
use sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sync::workers;

#[derive(Clone, Debug, PartialEq, Table)]
struct Pair {
    #[key]
    id: u64,
    value: i64,
}

#[derive(Clone, Debug, PartialEq, Table)]
struct Member {
    #[key]
    id: u64,
}

/// The key of the row that counts the members.
const COUNT: u64 = 1_000;
/// A key of both tables.
const GUEST: u64 = 500;

/// Reads, calls its argument, and reads again. Returns whether both reads agree.
type ReadTwice<'r> = dyn Fn(&mut Txn<'_>, &dyn Fn()) -> Result<bool, Error> + Sync + 'r;

struct Store {
    db: Database,
    pairs: Handle<Pair>,
    members: Handle<Member>,
}

fn offered() -> impl Iterator<Item = (&'static str, Views)> {
    let offered = schemes().filter(|scheme| scheme.is_built && scheme.unsuited.is_none());
    offered.map(|scheme| (scheme.name, scheme.views))
}

fn store(options: Options) -> Result<Store, OpenError> {
    let db = Database::in_memory(options.sessions(4).attempts(u32::MAX).table::<Pair>().table::<Member>())?;
    let (pairs, members) =
        (db.table::<Pair>().expect("it commits"), db.table::<Member>().expect("it commits"));
    db.transact(|txn| {
        [0, 1].into_iter().try_for_each(|id| txn.insert(pairs, &Pair { id, value: 0 }).map(drop))?;
        txn.insert(pairs, &Pair { id: COUNT, value: 2 })?;
        // Far from each other, so that a member comes in between.
        [10, 90].into_iter().try_for_each(|id| txn.insert(members, &Member { id }).map(drop))
    })
    .expect("it commits");
    Ok(Store { db, pairs, members })
}

impl Store {
    /// Both rows of the pair always have the same value.
    fn write_pair(&self, by: i64) {
        self.write_pair_after(by, &|| ());
    }

    /// Writes the pair in a transaction that has begun when it calls `before`, and writes after that.
    fn write_pair_after(&self, by: i64, before: &dyn Fn()) {
        let done = self.db.transact(|txn| {
            before();
            [0, 1]
                .into_iter()
                .try_for_each(|id| txn.update(self.pairs, id, |pair| pair.value += by).map(drop))
        });
        done.expect("it commits");
    }

    /// The row `COUNT` always has the number of members.
    fn join(&self, id: u64) {
        let done = self.db.transact(|txn| {
            txn.insert(self.members, &Member { id })?;
            txn.update(self.pairs, COUNT, |count| count.value += 1).map(drop)
        });
        done.expect("it commits");
    }

    /// The guest is always in exactly one of the two tables.
    fn swap(&self, out: bool) {
        let done = self.db.transact(|txn| {
            if out {
                txn.delete(self.members, GUEST)?;
                txn.insert(self.pairs, &Pair { id: GUEST, value: 0 }).map(drop)
            } else {
                txn.insert(self.members, &Member { id: GUEST })?;
                txn.delete(self.pairs, GUEST).map(drop)
            }
        });
        done.expect("it commits");
    }

    fn value(&self, txn: &mut Reader<'_>, id: u64) -> Result<i64, Error> {
        Ok(txn.get(self.pairs, id)?.expect("it is never deleted").value)
    }

    fn members(&self, txn: &mut Reader<'_>) -> Result<i64, Error> {
        let mut count = 0;
        for member in txn.scan(self.members, ..GUEST) {
            member?;
            count += 1;
        }
        Ok(count)
    }

    /// Executes `read`, which calls its argument between its two reads, and `write`, which calls its argument before it
    /// writes. The writer waits there for the first read, and the reader waits for the writer before the second read,
    /// as far as the scheme lets the writer write. Returns whether the two reads were of different states.
    fn meets(&self, read: &ReadTwice<'_>, write: &(dyn Fn(&dyn Fn()) + Sync)) -> bool {
        // The waits are bounded: under some schemes one of the two waits for the end of the other.
        const LOOKS: usize = 2_000;
        let await_flag = |flag: &AtomicBool| {
            let is_missing = |_: &usize| !flag.load(Ordering::Acquire);
            (0..LOOKS).take_while(is_missing).for_each(|_| workers::yield_now());
        };
        let [is_ready, has_read, has_written, torn] = [const { AtomicBool::new(false) }; 4];
        workers::run(2, false, |worker| {
            if worker == 1 {
                write(&|| {
                    is_ready.store(true, Ordering::Release);
                    await_flag(&has_read);
                });
                return has_written.store(true, Ordering::Release);
            }
            await_flag(&is_ready);
            let between = || {
                has_read.store(true, Ordering::Release);
                await_flag(&has_written);
            };
            let done = self.db.transact(|txn| {
                let agree = read(txn, &between)?;
                torn.fetch_or(!agree, Ordering::Relaxed);
                Ok(())
            });
            done.expect("it commits");
        });
        torn.into_inner()
    }

    /// Whether a body can see two states: of two rows, by a writer that began later or earlier; of a range and a row;
    /// of two missing keys.
    fn is_torn(&self, round: u64) -> bool {
        let rows = self.meets(
            &|txn, between| {
                let first = self.value(txn, 0)?;
                between();
                Ok(first == self.value(txn, 1)?)
            },
            &|before| {
                before();
                self.write_pair(1);
            },
        );
        let overtaken = self.meets(
            &|txn, between| {
                let first = self.value(txn, 0)?;
                between();
                Ok(first == self.value(txn, 1)?)
            },
            &|before| self.write_pair_after(1, before),
        );
        let range = self.meets(
            &|txn, between| {
                let members = self.members(txn)?;
                between();
                Ok(members == self.value(txn, COUNT)?)
            },
            &|before| {
                before();
                self.join(20 + round);
            },
        );
        let written = self.meets(
            &|txn, between| {
                let first = txn.update(self.pairs, 0, |pair| pair.value)?;
                between();
                Ok(first == txn.update(self.pairs, 1, |pair| pair.value)?)
            },
            &|before| {
                before();
                self.write_pair(1);
            },
        );
        self.swap(true);
        let missed = self.meets(
            &|txn, between| {
                let is_member = txn.contains(self.members, GUEST)?;
                between();
                Ok(is_member != txn.contains(self.pairs, GUEST)?)
            },
            &|before| {
                before();
                self.swap(false);
            },
        );
        rows || overtaken || range || written || missed
    }

    /// Runs attempts of several kinds beside two writers, and returns the number of those that saw rows of no single
    /// state.
    fn hunt(&self, transactions: usize) -> usize {
        let (torn, readers) = (AtomicUsize::new(0), AtomicUsize::new(2));
        workers::run(4, false, |worker| {
            if worker >= 2 {
                let mut id = 100 * worker as u64;
                while readers.load(Ordering::Relaxed) > 0 {
                    self.write_pair(worker as i64);
                    if id % 100 < 20 {
                        self.join(id);
                        id += 1;
                    }
                }
                return;
            }
            for nth in 0..transactions {
                let saw = Cell::new(false);
                let agree = |agree: bool| saw.set(saw.get() || !agree);
                let done = match nth % 3 {
                    0 => self.db.snapshot(|txn| {
                        agree(self.value(txn, 0)? == self.value(txn, 1)?);
                        agree(self.members(txn)? == self.value(txn, COUNT)?);
                        Ok(())
                    }),
                    1 => self.db.transact(|txn| {
                        let count = self.value(txn, COUNT)?;
                        agree(count == self.members(txn)?);
                        let first = self.value(txn, 1)?;
                        txn.update(self.pairs, 0, |pair| agree(pair.value == first)).map(drop)
                    }),
                    _ => self.db.transact(|txn| {
                        let first = txn.update(self.pairs, 1, |pair| pair.value)?.expect("it is there");
                        agree(first == self.value(txn, 0)?);
                        let (mut sum, mut rows) = (0, 0);
                        txn.visit(self.pairs, ..2, contend::Direction::Backward, |pair| {
                            sum += pair.value;
                            rows += 1;
                            core::ops::ControlFlow::Continue(())
                        })?;
                        agree((sum, rows) == (2 * first, 2));
                        Ok(())
                    }),
                };
                done.expect("it commits");
                torn.fetch_add(usize::from(saw.get()), Ordering::Relaxed);
            }
            readers.fetch_sub(1, Ordering::Relaxed);
        });
        torn.into_inner()
    }
}

#[test]
fn a_scheme_says_of_itself_what_bodies_see_under_it() {
    for (scheme, views) in offered() {
        let store = store(Options::new().scheme(scheme)).unwrap();
        // The writes of a writer that gets no core in time are not seen; then try again.
        let rounds = if views == Views::Confirmed { 50 } else { 2 };
        let is_torn = (0..rounds).any(|round| store.is_torn(round));
        let torn = store.hunt(300);
        match views {
            Views::Consistent => assert!(!is_torn && torn == 0, "{scheme} shows more than one state: {torn}"),
            Views::Confirmed => assert!(is_torn, "{scheme} shows one state and says that it may not"),
            // Uncommitted writes are visible for a few instructions only.
            Views::Unconfirmed => {}
        }
    }
}

#[test]
fn bodies_see_one_state_where_that_is_asked_for_or_the_scheme_is_refused() {
    for (scheme, views) in offered() {
        match store(Options::new().scheme(scheme).consistent_reads(true)) {
            Ok(store) => {
                assert_ne!(views, Views::Unconfirmed, "{scheme}");
                assert!(!(0..2).any(|round| store.is_torn(round)), "{scheme}");
                assert_eq!(store.hunt(300), 0, "{scheme}");
            }
            Err(error) => {
                let says = error.to_string();
                assert!(views == Views::Unconfirmed && says.contains("consistent_reads"), "{scheme}: {says}");
                assert!(matches!(error, OpenError::Unsuited { .. }));
            }
        }
    }
}

#[test]
fn who_sees_one_state_reads_writes_and_scans_as_others_do() {
    let store = store(Options::new().consistent_reads(true)).unwrap();
    let Store { db, pairs, .. } = &store;
    db.transact(|txn| {
        for id in 2..500 {
            assert!(txn.insert(*pairs, &Pair { id, value: id as i64 })?);
        }
        assert!(!txn.insert(*pairs, &Pair { id: 7, value: 0 })?);
        assert_eq!(txn.update(*pairs, 7, |pair| core::mem::replace(&mut pair.value, -7))?, Some(7));
        assert_eq!(txn.update(*pairs, 7, |pair| pair.value)?, Some(-7), "its own write");
        assert!(txn.delete(*pairs, 8)? && !txn.delete(*pairs, 8)?);
        assert!(txn.update(*pairs, 8, |_| ())?.is_none() && txn.get(*pairs, 8)?.is_none());
        Ok(())
    })
    .unwrap();
    let ids =
        |rows: Result<Vec<Pair>, Error>| rows.unwrap().into_iter().map(|pair| pair.id).collect::<Vec<_>>();
    let all: Vec<u64> = (0..500).filter(|id| *id != 8).collect();
    assert_eq!(ids(db.snapshot(|txn| txn.scan(*pairs, ..COUNT).collect())), all);
    let seen = db.snapshot(|txn| {
        let mut seen = Vec::new();
        txn.visit(*pairs, 3..=400, contend::Direction::Backward, |pair| {
            seen.push(pair);
            if seen.len() < 60 {
                core::ops::ControlFlow::Continue(())
            } else {
                core::ops::ControlFlow::Break(())
            }
        })?;
        Ok(seen)
    });
    assert_eq!(ids(seen), (341..=400).rev().collect::<Vec<_>>());
    assert!(ids(db.snapshot(|txn| txn.scan(*pairs, 600..700).collect())).is_empty());
}

#[test]
fn what_bodies_see_depends_on_settings_too() {
    for (scheme, setting, value) in [("ssn", "ssn.base", "rc"), ("ermia", "ermia.line", "ssn_rc")] {
        if offered().any(|(name, _)| name == scheme) {
            let options = || Options::new().scheme(scheme).set(setting, value);
            let store = store(options()).unwrap();
            assert!((0..50).any(|round| store.is_torn(round)), "{scheme} reads what is committed last");
            assert!(matches!(self::store(options().consistent_reads(true)), Err(OpenError::Unsuited { .. })));
        }
    }
}
