//! Transactions for async code: futures that the database's own threads complete. They do not depend on the runtime
//! that polls them, and so work with all runtimes.

use core::any::Any;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use durability::LogError;
use sync::atomic::{AtomicBool, Ordering};
use sync::{Arc, Inbox, Latched, clock, threads, waiter};

use crate::database::{Course, Database, Ran};
use crate::durable::Await;
use crate::error::Error;
use crate::txn::{Reader, Txn};

/// Work that a helper does in steps, with other jobs between the steps.
trait Job: Send {
    /// Does a step. If the job has not ended, returns the job, and the nanoseconds until its next step at the earliest.
    fn go_on(self: Box<Self>) -> Option<(Box<dyn Job>, u64)>;
}

/// A job in the queue, and the earliest time of its next step.
struct Queued {
    job: Box<dyn Job>,
    due_ns: u64,
}

/// A transaction that has run, and whose result is reported when it is durable.
struct Finish {
    awaited: Await,
    tell: Box<dyn FnOnce(Result<(), LogError>) + Send>,
}

impl Finish {
    fn wait(self) {
        (self.tell)(self.awaited.wait());
    }
}

/// Threads that execute transactions for callers that must not block, and the queue of these transactions.
pub(crate) struct Helpers {
    inbox: Arc<Inbox<Queued>>,
    count: usize,
    are_started: AtomicBool,
    finisher: Arc<Finisher>,
}

/// One thread that waits until transactions are durable, so that the helpers can execute the next ones.
struct Finisher {
    inbox: Arc<Inbox<Finish>>,
    is_started: AtomicBool,
}

impl Finisher {
    /// Hands a finish to the waiting thread, or waits here if that thread's queue is full or the thread cannot be
    /// started.
    fn give(&self, finish: Finish) {
        // Relaxed: as in `Helpers::give`.
        if !self.is_started.swap(true, Ordering::Relaxed)
            && !serve("contend-durable".into(), &self.inbox, Finish::wait)
        {
            self.is_started.store(false, Ordering::Relaxed); // Relaxed: as above.
            return finish.wait();
        }
        if let Err(finish) = self.inbox.put(finish) {
            finish.wait();
        }
    }
}

impl Helpers {
    pub(crate) fn new(count: usize, waiting_max: usize) -> Self {
        Self {
            inbox: Arc::new(Inbox::new(waiting_max)),
            count,
            are_started: AtomicBool::new(false),
            finisher: Arc::new(Finisher {
                inbox: Arc::new(Inbox::new(waiting_max)),
                is_started: AtomicBool::new(false),
            }),
        }
    }

    /// Hands a job to a helper; returns `false` if the queue is full or no helper can be started.
    fn give(&self, job: Box<dyn Job>) -> bool {
        // Relaxed: the first caller starts the helpers, and the inbox orders the rest.
        if !self.are_started.swap(true, Ordering::Relaxed) {
            let start = |number: usize| {
                let inbox = Arc::clone(&self.inbox);
                threads::start(format!("contend-{number}"), move || help(&inbox)).is_some()
            };
            let started = (0..self.count).filter(|&number| start(number)).count();
            if started == 0 {
                self.are_started.store(false, Ordering::Relaxed); // Relaxed: as above.
                return false;
            }
        }
        self.inbox.put(Queued { job, due_ns: 0 }).is_ok()
    }

    /// The number of transactions that wait to be executed.
    fn waiting(&self) -> usize {
        self.inbox.len()
    }
}

/// Executes the jobs of a queue until the queue is closed. A transaction that has met a conflict goes to the end of the
/// queue, so that all others come before its next attempt. A helper that retried at once would keep the others waiting
/// for as long as there are conflicts.
fn help(inbox: &Inbox<Queued>) {
    // Consecutive jobs whose time has not come.
    let mut early = 0;
    while let Some(Queued { job, due_ns }) = inbox.take() {
        let early_ns = due_ns.saturating_sub(clock::now_ns());
        if early_ns > 0 && early < inbox.len() {
            early += 1;
            inbox.put_back(Queued { job, due_ns });
            continue;
        }
        // All jobs of the queue were looked at, and none is due: wait for this one.
        if early_ns > 0 {
            waiter::pause_ns(early_ns);
        }
        early = 0;
        // A panic of the runtime, in its `Waker`, must not end the thread, which serves other callers, too.
        if let Ok(Some((job, pause_ns))) = catch_unwind(AssertUnwindSafe(|| job.go_on())) {
            inbox.put_back(Queued { job, due_ns: clock::now_ns().saturating_add(pause_ns) });
        }
    }
}

/// Starts a thread that works on the entries of an inbox until the inbox is closed: `false` when the system starts no
/// more threads.
fn serve<T: Send + 'static>(name: String, inbox: &Arc<Inbox<T>>, work: fn(T)) -> bool {
    let inbox = Arc::clone(inbox);
    threads::start(name, move || {
        while let Some(entry) = inbox.take() {
            // As in `help`.
            _ = catch_unwind(AssertUnwindSafe(|| work(entry)));
        }
    })
    .is_some()
}

impl Drop for Helpers {
    /// Ends the helpers without waiting for them: one of them may be the thread that drops the database.
    fn drop(&mut self) {
        self.inbox.close();
        self.finisher.inbox.close();
    }
}

/// The outcome of a transaction: the result of its body, or its panic.
type Finished<R> = Result<R, Box<dyn Any + Send>>;

/// State shared by the future and the helper.
struct Shared<R> {
    outcome: Option<Finished<R>>,
    waker: Option<Waker>,
}

/// A future of the outcome of a transaction that was [begun](Database::begin). It may be sent to other threads, and be
/// awaited in a task of its own.
///
/// If the future is dropped before it is complete, by a timeout, by a `select!` or by the abort of its task, the
/// transaction is not executed, unless its execution has begun. In that case it is executed to its end, and nobody is
/// told whether it has committed. So no transaction is lost or half done, but a caller that stops waiting does not know
/// the outcome, as after [`Error::NotDurable`].
#[must_use = "what nobody awaits may not be executed"]
pub struct Begun<R> {
    shared: Arc<Latched<Shared<R>>>,
}

/// Stores the outcome, and wakes the task that waits for it.
fn complete<R>(shared: &Latched<Shared<R>>, outcome: Finished<R>) {
    let waker = {
        let mut shared = shared.lock();
        shared.outcome = Some(outcome);
        shared.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Database {
    /// Begins a transaction that a thread of the database executes, and returns at once. It is for async code, whose
    /// runtime must not block. Otherwise like [`transact`](Self::transact), except that the body owns all that it
    /// needs, because another thread executes it.
    ///
    /// The future may be awaited under any runtime, tokio for example; it needs neither timers nor threads of the
    /// runtime. It is complete when the transaction is durable, if the options ask for durability. This wait keeps no
    /// helper thread from executing the next transaction. Neither do conflicts: a transaction that has met a conflict
    /// goes to the end of the queue until its next attempt, keeps its age, and has as many attempts as
    /// [`Options::attempts`](crate::Options::attempts) allows. The error is [`Error::Overloaded`] if
    /// [`Options::waiting`](crate::Options::waiting) transactions wait to be executed already. To wait instead, make a
    /// semaphore of the runtime with as many permits, and have the body own a permit: the body is dropped when it has
    /// been executed or will not be.
    ///
    /// Two operations block nevertheless: [`close`](Self::close), and dropping the last clone of a database with a
    /// path.
    ///
    /// ```no_run
    /// # use contend::{Database, Error, Handle, Table};
    /// # #[derive(Table)]
    /// # struct Account { #[key] id: u64, cents: i64 }
    /// async fn deposit(db: &Database, accounts: Handle<Account>, id: u64, cents: i64) -> Result<bool, Error> {
    ///     db.begin(move |txn| Ok(txn.update(accounts, id, |account| account.cents += cents)?.is_some())).await
    /// }
    /// ```
    pub fn begin<T: Send + 'static>(
        &self,
        body: impl FnMut(&mut Txn<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Begun<Result<T, Error>> {
        self.try_begin(body)
    }

    /// Like [`begin`](Self::begin), with the caller's own error type, which can be made of an [`Error`].
    pub fn try_begin<T, E>(
        &self,
        body: impl FnMut(&mut Txn<'_>) -> Result<T, E> + Send + 'static,
    ) -> Begun<Result<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.hand_over(false, body)
    }

    /// Begins a read-only transaction; otherwise like [`begin`](Self::begin). It reads like
    /// [`snapshot`](Self::snapshot): it reads on when the log has failed, and under some schemes it reads a past state.
    pub fn begin_snapshot<T: Send + 'static>(
        &self,
        body: impl FnMut(&mut Reader<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Begun<Result<T, Error>> {
        self.try_begin_snapshot(body)
    }

    /// Like [`begin_snapshot`](Self::begin_snapshot), with the caller's own error type.
    pub fn try_begin_snapshot<T, E>(
        &self,
        mut body: impl FnMut(&mut Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Begun<Result<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.hand_over(true, move |txn| body(txn))
    }

    /// Hands a transaction to a helper.
    fn hand_over<T, E>(
        &self,
        read_only: bool,
        body: impl FnMut(&mut Txn<'_>) -> Result<T, E> + Send + 'static,
    ) -> Begun<Result<T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let shared = Arc::new(Latched::new(Shared { outcome: None, waker: None }));
        let (db, done, course) = (self.clone(), Arc::clone(&shared), Course::new(read_only));
        let helpers = &self.0.helpers;
        let waiting = helpers.waiting();
        if !helpers.give(Box::new(HandedOver { db, body, course, done })) {
            self.0.refuse();
            shared.lock().outcome = Some(Ok(Err(Error::Overloaded { waiting }.into())));
        }
        Begun { shared }
    }
}

/// A transaction that helpers execute.
struct HandedOver<T, E, F> {
    db: Database,
    body: F,
    course: Course,
    done: Arc<Latched<Shared<Result<T, E>>>>,
}

impl<T, E, F> Job for HandedOver<T, E, F>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
    F: FnMut(&mut Txn<'_>) -> Result<T, E> + Send + 'static,
{
    fn go_on(mut self: Box<Self>) -> Option<(Box<dyn Job>, u64)> {
        let Self { db, body, course, done } = &mut *self;
        // The future was dropped, so nobody waits for the outcome. A transaction that has begun is executed to its end.
        if !course.has_begun() && Arc::strong_count(done) == 1 {
            return None;
        }
        let mut returned = None;
        let ran = catch_unwind(AssertUnwindSafe(|| {
            db.run_once(course, &mut |txn| returned.insert(body(txn)).is_ok())
        }));
        let (ran, awaited) = match ran {
            Ok(Ok(Err(pause_ns))) => return Some((self, pause_ns)),
            Ok(Ok(Ok(Ran { end, awaited }))) => (Ok(Ok(end)), awaited),
            Ok(Err(error)) => (Ok(Err(error)), None),
            Err(panic) => (Err(panic), None),
        };
        let Self { db, body, done, .. } = *self;
        let tell = move |waited| {
            let settle = || match ran? {
                Ok(end) => catch_unwind(AssertUnwindSafe(|| end.settle(waited))),
                Err(error) => Ok(Err(error)),
            };
            let outcome = settle().map(|settled| match settled {
                Ok(()) => returned.expect("a body that was executed has returned"),
                Err(error) => Err(error.into()),
            });
            complete(&done, outcome);
        };
        let finisher = Arc::clone(&db.0.helpers.finisher);
        // Dropped before the outcome is told: a caller that has the outcome and drops its own last clone thereby closes
        // the database.
        drop((body, db));
        match awaited {
            Some(awaited) => finisher.give(Finish { awaited, tell: Box::new(tell) }),
            None => tell(Ok(())),
        }
        None
    }
}

impl<R> Future for Begun<R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        // Wakers run code of the runtime, so they are cloned and dropped without the latch.
        let waker = context.waker().clone();
        let (outcome, _unlatched) = {
            let mut shared = self.shared.lock();
            match shared.outcome.take() {
                None => (None, shared.waker.replace(waker)),
                outcome => (outcome, Some(waker)),
            }
        };
        match outcome {
            None => Poll::Pending,
            Some(Ok(returned)) => Poll::Ready(returned),
            Some(Err(panic)) => resume_unwind(panic),
        }
    }
}

impl<R> fmt::Debug for Begun<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Begun")
    }
}
