//! Transactions for async code: a future that a thread of the database's own completes. It knows nothing of the
//! runtime that polls it, and so serves all of them.

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

/// Something to be done by a helper, piece by piece, with others between.
trait Job: Send {
    /// Does a piece: the job again if it has not ended, and how many nanoseconds from now it goes on at the earliest.
    fn go_on(self: Box<Self>) -> Option<(Box<dyn Job>, u64)>;
}

/// A job in the queue, and when its time comes.
struct Queued {
    job: Box<dyn Job>,
    due_ns: u64,
}

/// What has run, and is told of when it is durable.
struct Finish {
    awaited: Await,
    tell: Box<dyn FnOnce(Result<(), LogError>) + Send>,
}

impl Finish {
    fn wait(self) {
        (self.tell)(self.awaited.wait());
    }
}

/// Threads that execute transactions for those who must not wait, and what they have to do.
pub(crate) struct Helpers {
    inbox: Arc<Inbox<Queued>>,
    count: usize,
    are_started: AtomicBool,
    finisher: Arc<Finisher>,
}

/// Waits for what is not durable yet: one thread for all of it, so that the others can execute the next.
struct Finisher {
    inbox: Arc<Inbox<Finish>>,
    is_started: AtomicBool,
}

impl Finisher {
    /// Has the thread that waits tell of it, or waits here when too much waits there already.
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

    /// Has a helper do it, unless too much waits to be done already.
    fn give(&self, job: Box<dyn Job>) -> bool {
        // Relaxed: the first to come starts them, and the inbox orders the rest.
        if !self.are_started.swap(true, Ordering::Relaxed) {
            let start = |number: usize| {
                let inbox = Arc::clone(&self.inbox);
                threads::start(format!("contend-{number}"), move || help(&inbox))
            };
            let started = (0..self.count).filter(|&number| start(number)).count();
            if started == 0 {
                self.are_started.store(false, Ordering::Relaxed); // Relaxed: as above.
                return false;
            }
        }
        self.inbox.put(Queued { job, due_ns: 0 }).is_ok()
    }

    /// How many transactions wait to be executed.
    fn waiting(&self) -> usize {
        self.inbox.len()
    }
}

/// Does what is in a queue until that is closed. Who has met a conflict goes to the end of it, so that all others come
/// before its next attempt: a helper that made that at once would keep them waiting for as long as there are conflicts.
fn help(inbox: &Inbox<Queued>) {
    // Jobs in a row whose time has not come.
    let mut early = 0;
    while let Some(Queued { job, due_ns }) = inbox.take() {
        let early_ns = due_ns.saturating_sub(clock::now_ns());
        if early_ns > 0 && early < inbox.len() {
            early += 1;
            inbox.put_back(Queued { job, due_ns });
            continue;
        }
        // Nobody's time has come, if it is that of this one that has not.
        if early_ns > 0 {
            waiter::pause_ns(early_ns);
        }
        early = 0;
        // A runtime's own panic, in its `Waker`, must not end the thread for all others.
        if let Ok(Some((job, pause_ns))) = catch_unwind(AssertUnwindSafe(|| job.go_on())) {
            inbox.put_back(Queued { job, due_ns: clock::now_ns().saturating_add(pause_ns) });
        }
    }
}

/// Starts a thread that does what is in an inbox until that is closed: `false` when the system starts no more.
fn serve<T: Send + 'static>(name: String, inbox: &Arc<Inbox<T>>, work: fn(T)) -> bool {
    let inbox = Arc::clone(inbox);
    threads::start(name, move || {
        while let Some(entry) = inbox.take() {
            // As in `help`.
            _ = catch_unwind(AssertUnwindSafe(|| work(entry)));
        }
    })
}

impl Drop for Helpers {
    /// The helpers end. One of them may be what drops the database, so nobody waits for them.
    fn drop(&mut self) {
        self.inbox.close();
        self.finisher.inbox.close();
    }
}

/// What a transaction came to: what its body returned, or its panic.
type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// What the future and the helper share.
struct Shared<R> {
    outcome: Option<Outcome<R>>,
    waker: Option<Waker>,
}

/// A transaction that was [begun](Database::begin): a future of what it comes to. It may be sent to other threads, and
/// be awaited in a task of its own.
///
/// Dropped before it is complete, be it by a timeout, by a `select!` or by a task that is aborted, the transaction is
/// not executed, unless that has begun: then it is executed to its end, commits or does not, and nobody hears which. So
/// nothing is lost and nothing is half done, but who stops to wait does not know, as after [`Error::NotDurable`].
#[must_use = "what nobody awaits may not be executed"]
pub struct Begun<R> {
    shared: Arc<Latched<Shared<R>>>,
}

/// Tells whoever asks what it came to.
fn complete<R>(shared: &Latched<Shared<R>>, outcome: Outcome<R>) {
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
    /// Begins a transaction that a thread of the database executes, and returns at once: for async code, whose
    /// runtime is not to wait. As [`transact`](Self::transact), and the body owns what it needs, because it is
    /// executed elsewhere.
    ///
    /// The future may be awaited under any runtime, tokio among them; it needs neither its timers nor its threads.
    /// It is complete when the transaction is durable, if it is to be; meanwhile no thread is kept from executing the
    /// next. Nor is one by conflicts: a transaction that has met one goes to the end of the queue until its next
    /// attempt, with its age, and has as many as [`Options::attempts`](crate::Options::attempts) allows. The error is
    /// [`Error::Overloaded`] when as many transactions wait to be executed as [may](crate::Options::waiting): whoever
    /// would rather wait has the body own one of as many permits of a semaphore of its runtime's, since the body is
    /// dropped when it was executed or will not be.
    ///
    /// What blocks all the same: [`close`](Self::close), and dropping the last clone of a database with a path.
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

    /// As [`begin`](Self::begin), with a type of errors of the caller's own, which has room for an [`Error`].
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

    /// Begins a transaction that writes nothing, as [`begin`](Self::begin) one that may. What it sees is what
    /// [`snapshot`](Self::snapshot) does: it reads on when the log has failed, and under some schemes the past.
    pub fn begin_snapshot<T: Send + 'static>(
        &self,
        body: impl FnMut(&mut Reader<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Begun<Result<T, Error>> {
        self.try_begin_snapshot(body)
    }

    /// As [`begin_snapshot`](Self::begin_snapshot), with a type of errors of the caller's own.
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

    /// Has a helper execute it.
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
        // The future is gone: nobody asks. What was begun is executed to its end.
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
        // Whoever hears that it is complete, and has let go of the database, has closed it.
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
        // The code of wakers is the runtime's: it is called while nobody can wait for it here.
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
