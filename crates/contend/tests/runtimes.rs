//! Transactions of tasks under tokio, on one thread and on several. The runtime goes on whatever a transaction waits
//! for. If a task or the whole runtime stops waiting, no transaction is lost or half done.

mod gate;
mod place;

use core::future::Future;
use core::mem;

use contend::{Begun, Database, Durability, Error, Handle, LogError, Options, Table};
use gate::{BROKEN, Gate, OPEN, SHUT};
use place::Place;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, clock, waiter};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{self, JoinHandle, JoinSet};
use tokio::time::{self, Duration};

const ACCOUNTS: u64 = 8;
const CENTS: i64 = 1_000;
/// Nanoseconds after which a test gives up a wait that a runtime at a standstill would never end.
const GIVE_UP_NS: u64 = 60_000_000_000;

#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "accounts")]
struct Account {
    #[key]
    id: u64,
    cents: i64,
}

/// A transfer that was made, found by its number.
#[derive(Clone, Debug, PartialEq, Table)]
#[table(name = "transfers")]
struct Transfer {
    #[key]
    number: u64,
    from: u64,
    to: u64,
    cents: i64,
}

impl Transfer {
    fn new(number: u64) -> Self {
        let (from, to) = (number % ACCOUNTS, (number * 5 + 1) % ACCOUNTS);
        Self { number, from, to, cents: (number % 7) as i64 }
    }
}

#[derive(Clone)]
struct Bank {
    db: Database,
    accounts: Handle<Account>,
    transfers: Handle<Transfer>,
}

impl Bank {
    fn in_memory(options: Options) -> Self {
        Self::over(Database::in_memory(Self::tables(options)).expect("legal options"))
    }

    fn open(place: &Place, options: Options) -> Self {
        Self::over(Database::open(place.path(), Self::tables(options)).expect("it opens"))
    }

    fn tables(options: Options) -> Options {
        options.table::<Account>().table::<Transfer>()
    }

    /// Fills the database if it is new.
    fn over(db: Database) -> Self {
        let accounts = db.table::<Account>().expect("it was declared");
        let transfers = db.table::<Transfer>().expect("it was declared");
        let fill = db.transact(|txn| {
            (0..ACCOUNTS).try_for_each(|id| txn.insert(accounts, &Account { id, cents: CENTS }).map(drop))
        });
        fill.expect("it commits");
        Self { db, accounts, transfers }
    }

    /// Makes a transfer: `false` if it was made before. The body calls `between` when half of the transfer is done.
    fn transfer(
        &self,
        transfer: Transfer,
        mut between: impl FnMut() + Send + 'static,
    ) -> Begun<Result<bool, Error>> {
        let (accounts, transfers) = (self.accounts, self.transfers);
        self.db.begin(move |txn| {
            txn.update(accounts, transfer.from, |account| account.cents -= transfer.cents)?;
            between();
            txn.update(accounts, transfer.to, |account| account.cents += transfer.cents)?;
            txn.insert(transfers, &transfer)
        })
    }

    /// Returns the numbers of all transfers, after a check that the accounts agree with them.
    fn audit(&self) -> Vec<u64> {
        let read = self.db.snapshot(|txn| {
            let accounts = txn.scan(self.accounts, ..).collect::<Result<Vec<_>, _>>()?;
            Ok((accounts, txn.scan(self.transfers, ..).collect::<Result<Vec<_>, _>>()?))
        });
        let (accounts, transfers) = read.expect("it reads");
        let mut wanted: Vec<_> = (0..ACCOUNTS).map(|id| Account { id, cents: CENTS }).collect();
        for transfer in &transfers {
            wanted[transfer.from as usize].cents -= transfer.cents;
            wanted[transfer.to as usize].cents += transfer.cents;
        }
        assert_eq!(accounts, wanted, "each transfer is whole");
        transfers.into_iter().map(|transfer| transfer.number).collect()
    }
}

/// Counts ticks of the runtime's clock. While the only thread of a runtime is blocked, no ticks are counted.
struct Ticker(Arc<AtomicU64>, JoinHandle<()>);

impl Ticker {
    fn start() -> Self {
        let ticks = Arc::<AtomicU64>::default();
        let counts = Arc::clone(&ticks);
        let task = tokio::spawn(async move {
            let mut interval = time::interval(Duration::from_millis(1));
            loop {
                interval.tick().await;
                counts.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
            }
        });
        Self(ticks, task)
    }

    /// Makes a function for threads outside of the runtime that waits for `ticks` ticks, and returns whether they came.
    fn waits(&self, ticks: u64) -> impl Fn() -> bool + Clone + Send + 'static {
        let counted = Arc::clone(&self.0);
        move || {
            let seen = || counted.load(Ordering::Relaxed); // Relaxed: a count.
            let until = seen() + ticks;
            waiter::wait_until(Some(clock::now_ns() + GIVE_UP_NS), || seen() >= until)
        }
    }

    /// Waits within the runtime until a condition holds, and for some more ticks.
    async fn until(&self, is_so: impl Fn() -> bool) {
        let comes_to_be = async {
            while !is_so() {
                time::sleep(Duration::from_millis(1)).await;
            }
        };
        time::timeout(Duration::from_nanos(GIVE_UP_NS), comes_to_be).await.expect("it comes to be so");
        let waits = self.waits(3);
        assert!(task::spawn_blocking(waits).await.expect("it does not panic"), "the runtime goes on");
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.1.abort();
    }
}

/// Runtimes of one thread, of one worker, and of several workers. A blocked thread stops all tasks of the first two.
fn runtimes() -> [Runtime; 3] {
    let several = |threads| Builder::new_multi_thread().worker_threads(threads).enable_time().build();
    [Builder::new_current_thread().enable_time().build(), several(1), several(3)]
        .map(|runtime| runtime.expect("the system gives threads"))
}

/// Runs a test as a task of each runtime.
fn on_each<F: Future<Output = ()> + Send + 'static>(play: impl Fn() -> F) {
    for runtime in runtimes() {
        runtime.block_on(async { tokio::spawn(play()).await.expect("it plays to its end") });
    }
}

/// A signal that one side raises and others wait for.
#[derive(Clone, Default)]
struct Flag(Arc<AtomicBool>);

impl Flag {
    fn raise(&self) {
        self.0.store(true, Ordering::Release); // Release: pairs with the Acquire in `is_raised`.
    }

    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire) // Acquire: pairs with the Release in `raise`.
    }

    fn wait(&self) {
        assert!(waiter::wait_until(Some(clock::now_ns() + GIVE_UP_NS), || self.is_raised()), "it is raised");
    }
}

#[test]
fn what_is_begun_can_be_sent_kept_and_spawned() {
    fn is_free<T: Send + Sync + Unpin + 'static>() {}
    is_free::<Begun<Result<Account, Error>>>();
    is_free::<Database>();
    is_free::<Handle<Account>>();
}

/// Fifty tasks make transfers, some of which wait for the runtime's clock while they are executed.
async fn play(bank: Bank) {
    const TASKS: u64 = 50;
    const EACH: u64 = 20;
    let (ticker, mut tasks) = (Ticker::start(), JoinSet::new());
    for task in 0..TASKS {
        let (bank, waits) = (bank.clone(), ticker.waits(1));
        tasks.spawn(async move {
            for step in 0..EACH {
                let number = task * EACH + step;
                let waits = waits.clone();
                let between = move || assert!(!number.is_multiple_of(97) || waits(), "the runtime goes on");
                assert!(bank.transfer(Transfer::new(number), between).await.expect("it commits"));
            }
        });
    }
    tasks.join_all().await;
    assert!(bank.audit().into_iter().eq(0..TASKS * EACH), "each once");
}

#[test]
fn many_tasks_transact_while_the_runtime_goes_on() {
    on_each(|| play(Bank::in_memory(Options::new())));
}

#[test]
fn many_tasks_transact_durably_while_the_runtime_goes_on() {
    for (number, runtime) in runtimes().into_iter().enumerate() {
        let place = Place::new(&format!("runtimes_durably_{number}"));
        let bank = Bank::open(&place, Options::new());
        runtime.block_on(async {
            tokio::spawn(play(bank.clone())).await.expect("it plays to its end");
            task::spawn_blocking(move || bank.db.close()).await.expect("no panic").expect("the device works");
        });
        assert_eq!(Bank::open(&place, Options::new()).audit().len(), 1_000, "what was acknowledged is there");
    }
}

/// Opens a gate when the test ends, even by a panic: otherwise the close of a database would wait there.
struct Opens(Gate);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.set(OPEN);
    }
}

#[test]
fn a_wait_for_a_device_keeps_no_thread_of_the_runtime() {
    const TASKS: u64 = 20;
    on_each(|| async {
        let (gate, directory) = Gate::new();
        let options = Bank::tables(Options::new().helpers(1).durability(Durability::Group));
        let bank = Bank::over(Database::open_in(directory, options).expect("it opens"));
        let (ticker, mut tasks, ended) = (Ticker::start(), JoinSet::new(), Arc::new(AtomicU64::new(0)));
        let _opens = Opens(gate.clone());
        gate.set(SHUT);
        for number in 0..TASKS {
            let (bank, ended) = (bank.clone(), Arc::clone(&ended));
            tasks.spawn(async move {
                let made = bank.transfer(Transfer::new(number), || ()).await;
                ended.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
                made.expect("it commits")
            });
        }
        // All were executed, by one thread, and no outcome has been told.
        ticker.until(|| bank.db.counters().awaiting_durability == TASKS && gate.is_awaited()).await;
        assert_eq!(ended.load(Ordering::Relaxed), 0); // Relaxed: as above.
        gate.set(OPEN);
        assert_eq!(tasks.join_all().await, vec![true; TASKS as usize]);
        assert_eq!(bank.audit().len() as u64, TASKS);
        // If the device fails, waiting callers get an error, and reads go on.
        gate.set(SHUT);
        let unknown = tokio::spawn(bank.transfer(Transfer::new(TASKS), || ()));
        ticker.until(|| bank.db.counters().awaiting_durability == 1).await;
        gate.set(BROKEN);
        let told = unknown.await.expect("it does not panic");
        assert!(matches!(told, Err(Error::NotDurable(why)) if matches!(*why, LogError::Sync { .. })));
        assert!(matches!(bank.transfer(Transfer::new(99), || ()).await, Err(Error::Log(_))));
        let transfers = bank.transfers;
        let count = bank.db.begin_snapshot(move |txn| Ok(txn.scan(transfers, ..).count())).await;
        assert_eq!(count.expect("reads go on") as u64, TASKS + 1);
    });
}

#[test]
fn a_full_queue_refuses_at_once_and_a_permit_waits_for_room() {
    const WAITING: usize = 2;
    on_each(|| async {
        let bank = Bank::in_memory(Options::new().helpers(1).waiting(WAITING));
        let (ticker, is_there, may_go) = (Ticker::start(), Flag::default(), Flag::default());
        let (there, go) = (is_there.clone(), may_go.clone());
        let first = bank.transfer(Transfer::new(0), move || {
            there.raise();
            go.wait();
        });
        ticker.until(|| is_there.is_raised()).await;
        let waiting = [1, 2].map(|number| tokio::spawn(bank.transfer(Transfer::new(number), || ())));
        for number in 3..10 {
            let refused = bank.transfer(Transfer::new(number), || ()).await;
            assert!(matches!(refused, Err(Error::Overloaded { waiting: WAITING })));
        }
        ticker.until(|| true).await;
        may_go.raise();
        assert!(first.await.expect("it commits"));
        for begun in waiting {
            assert!(begun.await.expect("no panic").expect("it commits"));
        }
        // A body that owns a permit keeps it until the body was executed, or will not be. So a caller that waits for a
        // permit is never refused, even if others have stopped waiting.
        let (room, mut tasks) = (Arc::new(Semaphore::new(WAITING)), JoinSet::new());
        for number in 10..110 {
            let (bank, room) = (bank.clone(), Arc::clone(&room));
            tasks.spawn(async move {
                let permit = room.acquire_owned().await.expect("it is not closed");
                let begun = bank.transfer(Transfer::new(number), move || assert_eq!(permit.num_permits(), 1));
                if number % 3 == 0 {
                    drop(begun);
                    return false;
                }
                begun.await.expect("it commits")
            });
        }
        assert_eq!(tasks.join_all().await.into_iter().filter(|made| *made).count(), 67);
        assert_eq!(bank.db.counters().overload_refusals, 7);
    });
}

#[test]
fn a_seat_that_is_not_given_back_is_waited_for_elsewhere() {
    on_each(|| async {
        let bank = Bank::in_memory(Options::new().helpers(2).sessions(1).patience_ms(20));
        let (ticker, is_there, may_go) = (Ticker::start(), Flag::default(), Flag::default());
        let (there, go) = (is_there.clone(), may_go.clone());
        let first = tokio::spawn(bank.transfer(Transfer::new(0), move || {
            there.raise();
            go.wait();
        }));
        ticker.until(|| is_there.is_raised()).await;
        let refused = bank.transfer(Transfer::new(1), || ()).await;
        assert!(matches!(refused, Err(Error::Overloaded { .. })), "patience has an end");
        ticker.until(|| true).await;
        may_go.raise();
        assert!(first.await.expect("no panic").expect("it commits"));
        assert_eq!(bank.audit(), [0]);
    });
}

/// Transfers whose tasks may stop waiting before they get the outcome.
const RACING: u64 = 300;
/// Transfers that are half done when their tasks are aborted, one for each helper.
const HELPERS: u64 = 2;

/// Runs tasks some of which stop waiting at any time; returns the transfers of the tasks that did not.
async fn race(bank: &Bank) -> Vec<u64> {
    let mut tasks = JoinSet::new();
    for number in 0..RACING {
        let bank = bank.clone();
        tasks.spawn(async move {
            let begun = bank.transfer(Transfer::new(number), || ());
            let soon = Duration::from_micros(number);
            let made = match number % 3 {
                0 => Some(begun.await),
                1 => time::timeout(soon, begun).await.ok(),
                _ => tokio::select! {
                    made = begun => Some(made),
                    () = time::sleep(soon) => None,
                },
            }?;
            assert!(made.expect("it commits"), "it was not made before");
            Some(number)
        });
    }
    let acknowledged: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    assert!(acknowledged.len() >= RACING as usize / 3, "whoever waits to the end hears of it");
    acknowledged
}

/// Runs tasks that are aborted while some of their transfers are half done and the others have not begun.
async fn abort(bank: &Bank) {
    let (ticker, mut tasks) = (Ticker::start(), JoinSet::new());
    let (inside, may_go) = (Arc::new(AtomicU64::new(0)), Flag::default());
    for number in RACING..RACING + 50 {
        let (entered, go, mut is_first) = (Arc::clone(&inside), may_go.clone(), 1);
        let between = move || {
            // The transfer is executed again if it conflicts with an earlier transfer that nobody waits for any more.
            entered.fetch_add(mem::take(&mut is_first), Ordering::Relaxed); // Relaxed: a count.
            go.wait();
        };
        // No two of these transfers conflict.
        let (from, to) = (number % 2 * 2, number % 2 * 2 + 1);
        tasks.spawn(bank.transfer(Transfer { number, from, to, cents: 1 }, between));
        if number + 1 == RACING + HELPERS {
            ticker.until(|| inside.load(Ordering::Relaxed) == HELPERS).await; // Relaxed: as above.
        }
    }
    tasks.abort_all();
    while let Some(ended) = tasks.join_next().await {
        assert!(ended.expect_err("nobody could end").is_cancelled());
    }
    assert!(bank.audit().iter().all(|number| *number < RACING), "what is half done is not seen");
    may_go.raise();
    assert!(bank.transfer(Transfer::new(1_000), || ()).await.expect("it commits"));
    let is_begun = |number: &&u64| (RACING..RACING + HELPERS).contains(*number);
    ticker.until(|| bank.audit().iter().filter(is_begun).count() as u64 == HELPERS).await;
    assert_eq!(inside.load(Ordering::Relaxed), HELPERS, "what had not begun was not executed"); // Relaxed: as above.
}

async fn cancel(bank: Bank) -> Vec<u64> {
    let mut acknowledged = race(&bank).await;
    abort(&bank).await;
    acknowledged.extend([RACING, RACING + 1, 1_000]);
    acknowledged
}

/// Checks that all acknowledged transfers are there, and of the others only those that had begun.
fn check(bank: &Bank, acknowledged: &[u64]) {
    let made = bank.audit();
    assert!(
        acknowledged.iter().all(|number| made.binary_search(number).is_ok()),
        "{acknowledged:?} of {made:?}"
    );
    assert!(made.iter().all(|number| *number < RACING + HELPERS || *number == 1_000), "{made:?}");
}

#[test]
fn who_stops_to_wait_loses_nothing_and_leaves_nothing_by_half() {
    on_each(|| async {
        let bank = Bank::in_memory(Options::new().helpers(2));
        let acknowledged = cancel(bank.clone()).await;
        check(&bank, &acknowledged);
    });
}

#[test]
fn who_stops_to_wait_loses_nothing_that_is_durable() {
    for (number, runtime) in runtimes().into_iter().enumerate() {
        let place = Place::new(&format!("runtimes_cancel_{number}"));
        let acknowledged = runtime.block_on(async {
            let bank = Bank::open(&place, Options::new().helpers(2));
            let acknowledged = tokio::spawn(cancel(bank.clone())).await.expect("it plays to its end");
            task::spawn_blocking(move || bank.db.close()).await.expect("no panic").expect("the device works");
            acknowledged
        });
        check(&Bank::open(&place, Options::new()), &acknowledged);
    }
}

#[test]
fn a_runtime_that_ends_leaves_the_database_to_the_next() {
    let place = Place::new("runtimes_shutdown");
    let bank = Bank::open(&place, Options::new().helpers(1));
    for (round, runtime) in runtimes().into_iter().enumerate() {
        let first = round as u64 * 100;
        let (is_there, may_go) = (Flag::default(), Flag::default());
        let (there, go) = (is_there.clone(), may_go.clone());
        let inside = bank.transfer(Transfer::new(first), move || {
            there.raise();
            go.wait();
        });
        runtime.spawn(inside);
        for number in first + 1..first + 50 {
            runtime.spawn(bank.transfer(Transfer::new(number), || ()));
        }
        is_there.wait();
        // All tasks of the runtime are dropped: one transaction is running, and nobody waits for the others any more.
        drop(runtime);
        may_go.raise();
        let made = bank.db.transact(|txn| txn.insert(bank.transfers, &nothing(first + 50)));
        assert!(made.expect("it commits"));
    }
    bank.db.close().expect("the device works");
    let made = Bank::open(&place, Options::new()).audit();
    assert_eq!(made, [0, 50, 100, 150, 200, 250]);
}

/// A transfer that moves nothing.
fn nothing(number: u64) -> Transfer {
    Transfer { cents: 0, ..Transfer::new(number) }
}

#[test]
fn a_panic_of_a_body_is_the_tasks_and_nobody_elses() {
    on_each(|| async {
        let bank = Bank::in_memory(Options::new().helpers(1));
        let panics = tokio::spawn(bank.transfer(Transfer::new(1), || panic!("planted")));
        let panicked = panics.await.expect_err("a panic").into_panic();
        assert_eq!(panicked.downcast_ref::<&str>(), Some(&"planted"));
        assert!(bank.transfer(Transfer::new(2), || ()).await.expect("it commits"));
        assert_eq!(bank.audit(), [2]);
    });
}
