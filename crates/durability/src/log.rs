//! The log while transactions run: the state that sessions share, and the thread that writes rounds.

use core::mem;
use std::io;

use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Background, Bell, Latched, Padded, clock, waiter};

use crate::disk::File;
use crate::epochs::Epochs;
use crate::error::LogError;
use crate::format::Kind;
use crate::handover::Handover;
use crate::plants::LogPlant;
use crate::store::{Cut, Home, Order};
use crate::writer::Device;

/// The moment at which a client may be told that it has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// At the commit; nothing is logged.
    None,
    /// At the commit; after a crash the commits of the last few milliseconds may be gone, whole commits from the end of
    /// the order.
    Async,
    /// When the commit, and everything that it has seen, survives a crash.
    Group,
}

/// The epoch that must be durable before a commit counts as durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitTicket {
    /// The epoch of the commit; 0 before the first.
    pub epoch: u64,
}

/// State shared by the sessions, the log's thread and waiting callers.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) epochs: Epochs,
    /// The last epoch in which any session has begun to commit writes.
    pub(crate) used: Padded<AtomicU64>,
    pub(crate) handovers: Box<[Arc<Handover>]>,
    /// The free seats.
    pub(crate) free: Latched<Vec<usize>>,
    durable: Padded<AtomicU64>,
    /// Rung when another epoch is durable, or when the log has failed.
    bell: Bell,
    has_failed: AtomicBool,
    failure: Latched<Option<LogError>>,
    pub(crate) order: Order,
    pub(crate) counter: Padded<AtomicU64>,
    /// The number of words that a session may have waiting beside its ring.
    pub(crate) backlog_words: usize,
    epoch_ns: u64,
    stop: AtomicBool,
    /// The number of times that a checkpoint has asked for new segments.
    rolls_wanted: AtomicU64,
    /// The number of requests that were answered, and the cut of the last answer.
    rolls: Latched<(u64, Option<Cut>)>,
    pub(crate) home: Home,
    /// Totals of the log: rounds, and bytes of commits.
    rounds: AtomicU64,
    bytes: AtomicU64,
}

/// The log. A handle: clones refer to the same log.
#[derive(Clone, Debug)]
pub struct Log(pub(crate) Arc<Shared>);

/// Sizes of the log's parts.
pub(crate) struct Sizes {
    pub(crate) sessions: usize,
    pub(crate) ring_bytes: usize,
    pub(crate) backlog_bytes: usize,
    pub(crate) epoch_ns: u64,
}

impl Log {
    pub(crate) fn new(first_epoch: u64, sizes: &Sizes, order: Order, home: Home) -> Self {
        let ring_words = (sizes.ring_bytes / 8 / sizes.sessions.max(1)).clamp(1 << 10, 1 << 18);
        Self(Arc::new(Shared {
            epochs: Epochs::new(first_epoch, sizes.sessions),
            used: Padded(AtomicU64::new(first_epoch - 1)),
            handovers: (0..sizes.sessions).map(|_| Arc::new(Handover::new(ring_words))).collect(),
            free: Latched::new((0..sizes.sessions).rev().collect()),
            durable: Padded(AtomicU64::new(first_epoch - 1)),
            bell: Bell::default(),
            has_failed: AtomicBool::new(false),
            failure: Latched::default(),
            order,
            counter: Padded::default(),
            backlog_words: sizes.backlog_bytes / 8 / sizes.sessions.max(1),
            epoch_ns: sizes.epoch_ns,
            stop: AtomicBool::new(false),
            rolls_wanted: AtomicU64::new(0),
            rolls: Latched::default(),
            home,
            rounds: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }))
    }

    /// The ticket for everything committed so far, as far as the caller can have seen it.
    #[inline]
    pub fn present(&self) -> CommitTicket {
        // Relaxed: whoever has seen a commit's writes sees its epoch here, which was stored before they were installed.
        CommitTicket { epoch: self.0.used.load(Ordering::Relaxed) }
    }

    /// The last epoch that is durable: all commits up to it survive.
    #[inline]
    pub fn durable(&self) -> CommitTicket {
        // Acquire: pairs with the Release in `publish`; the sync comes before it.
        CommitTicket { epoch: self.0.durable.load(Ordering::Acquire) }
    }

    /// Whether a commit is durable.
    ///
    /// # Errors
    /// The commit will never be durable, as far as is known.
    #[inline]
    pub fn is_durable(&self, ticket: CommitTicket) -> Result<bool, LogError> {
        if self.durable() >= ticket {
            return Ok(true);
        }
        self.failure().map_or(Ok(false), Err)
    }

    /// Sleeps until a commit is durable; on a fiber, other fibers run meanwhile.
    ///
    /// # Errors
    /// The commit will never be durable, as far as is known.
    pub fn wait(&self, ticket: CommitTicket) -> Result<(), LogError> {
        let is_decided = || self.durable() >= ticket || self.has_failed();
        if waiter::in_fiber() {
            waiter::wait_until(None, is_decided);
        } else {
            self.0.bell.wait_until(None, is_decided);
        }
        if self.durable() >= ticket { Ok(()) } else { Err(self.failure().expect("it has failed")) }
    }

    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        // Acquire: pairs with the Release in `fail`.
        self.0.has_failed.load(Ordering::Acquire)
    }

    /// The reason for which nothing becomes durable any more; `None` if the log works.
    pub fn failure(&self) -> Option<LogError> {
        if self.has_failed() { self.0.failure.lock().clone() } else { None }
    }

    /// Fails the log: from now on nothing becomes durable. The first reason stays, and is returned.
    pub(crate) fn fail(&self, error: LogError) -> LogError {
        let first = self.0.failure.lock().get_or_insert(error).clone();
        // Release: pairs with the Acquire in `has_failed`.
        self.0.has_failed.store(true, Ordering::Release);
        self.0.bell.ring();
        first
    }

    /// The number of rounds with commits, and the bytes of these commits.
    pub fn written(&self) -> (u64, u64) {
        // Relaxed: counts.
        (self.0.rounds.load(Ordering::Relaxed), self.0.bytes.load(Ordering::Relaxed))
    }

    /// Makes the log continue in new segments, and waits until it does. Returns the cut.
    pub(crate) fn roll(&self) -> Result<Cut, LogError> {
        // Relaxed: a request; the latch orders the answer.
        let wanted = self.0.rolls_wanted.fetch_add(1, Ordering::Relaxed) + 1;
        waiter::wait_until(None, || self.0.rolls.lock().0 >= wanted || self.has_failed());
        let cut = self.0.rolls.lock().1.clone();
        match self.failure() {
            Some(failure) => Err(failure),
            None => Ok(cut.expect("it was answered")),
        }
    }
}

/// The writer of the log: used by the log's own thread, or by hand.
#[derive(Debug)]
pub struct Rounds {
    log: Log,
    devices: Vec<Device>,
    /// The commits of the round, by device.
    commits: Vec<Vec<u8>>,
    /// The last epoch that was sealed.
    sealed: u64,
    helpers: Vec<(Arc<Helper>, Background)>,
    plant: Option<LogPlant>,
}

/// A thread that syncs one device while the others are synced.
#[derive(Debug, Default)]
struct Helper {
    asked: AtomicU64,
    answered: AtomicU64,
    file: Latched<Option<Arc<dyn File>>>,
    answer: Latched<Option<io::Result<()>>>,
    stop: AtomicBool,
}

impl Helper {
    fn serve(&self) {
        let mut round = 0;
        loop {
            // Acquire: pairs with the Release in `ask`.
            let is_asked = || self.asked.load(Ordering::Acquire) > round || self.stop.load(Ordering::Acquire);
            waiter::wait_until(None, is_asked);
            let Some(file) = self.file.lock().take() else { return };
            let answer = file.sync();
            *self.answer.lock() = Some(answer);
            round += 1;
            // Release: pairs with the Acquire in `answer`.
            self.answered.store(round, Ordering::Release);
        }
    }

    fn ask(&self, file: Arc<dyn File>) {
        *self.file.lock() = Some(file);
        // Release: pairs with the Acquire in `serve`.
        self.asked.fetch_add(1, Ordering::Release);
    }

    fn answer(&self) -> io::Result<()> {
        // Relaxed: only this thread asks.
        let asked = self.asked.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `serve`.
        waiter::wait_until(None, || self.answered.load(Ordering::Acquire) == asked);
        self.answer.lock().take().expect("it has answered")
    }
}

impl Rounds {
    pub(crate) fn new(log: Log, devices: Vec<Device>, sealed: u64, plant: Option<LogPlant>) -> Self {
        let commits = devices.iter().map(|_| Vec::new()).collect();
        Self { log, devices, commits, sealed, helpers: Vec::new(), plant }
    }

    /// The log that is written.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    /// Ends the current epoch, and returns it.
    pub fn end_epoch(&mut self) -> u64 {
        self.log.0.epochs.advance()
    }

    /// Whether all commits of this epoch, which has ended, and of earlier ones have been handed over.
    pub fn is_closed(&self, epoch: u64) -> bool {
        self.plant == Some(LogPlant::SealsEarly) || self.log.0.epochs.is_closed(epoch)
    }

    /// Writes, seals and syncs an epoch that is closed, and publishes that it is durable.
    ///
    /// # Errors
    /// The log has failed: from then on nothing becomes durable.
    pub fn write(&mut self, epoch: u64) -> Result<(), LogError> {
        self.collect(epoch)?;
        if self.commits.iter().all(Vec::is_empty) {
            // There is no commit to lose.
            self.publish(epoch);
            return Ok(());
        }
        self.seal(epoch, Kind::Seal)
    }

    fn collect(&mut self, epoch: u64) -> Result<(), LogError> {
        if let Some(failure) = self.log.failure() {
            return Err(failure);
        }
        let devices = self.commits.len();
        for (seat, handover) in self.log.0.handovers.iter().enumerate() {
            handover.take(epoch, &mut self.commits[seat % devices]);
        }
        Ok(())
    }

    /// Writes the collected commits and the seals, and syncs.
    fn seal(&mut self, epoch: u64, kind: Kind) -> Result<(), LogError> {
        let mut of_devices = self.devices.iter().zip(&self.commits);
        if !of_devices.all(|(device, commits)| device.has_room(commits.len())) {
            self.roll()?;
        }
        for (device, commits) in self.devices.iter_mut().zip(&mut self.commits) {
            let written = device.write(epoch, commits, kind);
            // Relaxed: a count.
            self.log.0.bytes.fetch_add(commits.len() as u64, Ordering::Relaxed);
            commits.clear();
            written.map_err(|error| self.log.fail(LogError::write(device.place(), &error)))?;
        }
        if self.plant == Some(LogPlant::AcknowledgesBeforeSync) {
            self.publish(epoch);
        }
        if self.plant != Some(LogPlant::SealsAfterSync) {
            self.sync()?;
        }
        self.sealed = epoch;
        self.log.0.rounds.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
        self.publish(epoch);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LogError> {
        let beside = self.devices.len().min(self.helpers.len() + 1);
        for (device, (helper, _)) in self.devices[1..beside].iter().zip(&self.helpers) {
            helper.ask(device.file());
        }
        let mut failed = None;
        for (number, device) in self.devices.iter_mut().enumerate() {
            let mut synced = match number.checked_sub(1).and_then(|nth| self.helpers.get(nth)) {
                Some((helper, _)) => helper.answer(),
                None => device.file().sync(),
            };
            if self.plant == Some(LogPlant::RetriesSync) && synced.is_err() {
                synced = device.file().sync();
            }
            match synced {
                Ok(()) => device.is_synced(),
                Err(error) => failed = Some(LogError::sync(device.place(), &error)),
            }
        }
        failed.map_or(Ok(()), |failed| Err(self.log.fail(failed)))
    }

    fn publish(&self, epoch: u64) {
        // Release: pairs with the Acquire in `durable`.
        self.log.0.durable.store(epoch, Ordering::Release);
        self.log.0.bell.ring();
    }

    /// Continues in new segments: everything up to the returned cut's epoch stands in the segments before.
    ///
    /// # Errors
    /// The log has failed: from then on nothing becomes durable.
    pub fn roll(&mut self) -> Result<Cut, LogError> {
        for (device, commits) in self.devices.iter_mut().zip(&self.commits) {
            let rolled = device.roll(self.sealed, commits.len());
            rolled.map_err(|error| self.log.fail(LogError::write(device.place(), &error)))?;
        }
        let segments: Vec<u64> = self.devices.iter().map(|device| device.end().segment).collect();
        if self.plant != Some(LogPlant::LeavesSegmentsUnnamed) {
            // If a segment with commits is missing, that must be detected.
            let named = self.log.0.home.begin_segments(&segments);
            named.map_err(|error| self.log.fail(LogError::write(self.devices[0].place(), &error)))?;
        }
        Ok(Cut { epoch: self.sealed, segments })
    }

    /// Ends an epoch and makes it durable.
    ///
    /// # Errors
    /// The log has failed: from then on nothing becomes durable.
    pub fn round(&mut self) -> Result<(), LogError> {
        let epoch = self.end_epoch();
        waiter::wait_until(None, || self.is_closed(epoch) || self.log.has_failed());
        self.write(epoch)?;
        // Relaxed: a request.
        let wanted = self.log.0.rolls_wanted.load(Ordering::Relaxed);
        if self.log.0.rolls.lock().0 < wanted {
            let cut = self.roll()?;
            *self.log.0.rolls.lock() = (wanted, Some(cut));
        }
        Ok(())
    }

    /// Makes everything durable that was handed over, and closes the log: no session commits any more.
    ///
    /// # Errors
    /// Commits that are not durable yet never will be.
    pub fn close(mut self) -> Result<(), LogError> {
        let epoch = self.end_epoch();
        waiter::wait_until(None, || self.is_closed(epoch) || self.log.has_failed());
        self.collect(epoch)?;
        self.seal(epoch, Kind::Close)?;
        let ends: Vec<_> = self.devices.iter().map(Device::end).collect();
        let closed = self.log.0.home.close(&ends);
        let failure = match closed {
            Ok(()) => LogError::Closed,
            Err(error) => LogError::write(self.devices[0].place(), &error),
        };
        let is_closed = failure == LogError::Closed;
        let failure = self.log.fail(failure);
        if is_closed { Ok(()) } else { Err(failure) }
    }

    /// Starts a thread that writes the log.
    pub fn spawn(mut self) -> Running {
        for number in 1..self.devices.len() {
            let helper = Arc::new(Helper::default());
            let served = Arc::clone(&helper);
            let thread = Background::start(&format!("log-sync-{number}"), move || served.serve());
            self.helpers.push((helper, thread));
        }
        let log = self.log();
        let thread = Background::start("log", move || self.run());
        Running { log, thread: Some(thread) }
    }

    fn run(mut self) {
        let log = self.log();
        // A panic here would leave waiting callers without an end.
        let guard = FailsUnlessEnded(&log);
        let mut next_ns = clock::now_ns();
        loop {
            // The first epoch lasts as long as the others, whenever the system has started this thread.
            next_ns = (next_ns + log.0.epoch_ns).max(clock::now_ns());
            let left_ns = next_ns.saturating_sub(clock::now_ns());
            if left_ns > 0 {
                waiter::pause_ns(left_ns);
            }
            // Acquire: pairs with the Release in `Running::stop`; what was committed before it is written.
            if log.0.stop.load(Ordering::Acquire) {
                break;
            }
            if self.round().is_err() {
                mem::forget(guard);
                return;
            }
        }
        mem::forget(guard);
        // The log keeps the error.
        _ = self.close();
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        for (helper, thread) in self.helpers.drain(..) {
            // Release: pairs with the Acquire in `serve`.
            helper.stop.store(true, Ordering::Release);
            drop(thread);
        }
    }
}

/// Ends all waits by failing the log, if the log's thread panics.
struct FailsUnlessEnded<'l>(&'l Log);

impl Drop for FailsUnlessEnded<'_> {
    fn drop(&mut self) {
        self.0.fail(LogError::CutShort);
    }
}

/// A log that is written by its own thread.
#[derive(Debug)]
pub struct Running {
    log: Log,
    thread: Option<Background>,
}

impl Running {
    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    fn stop(&mut self) {
        // Release: pairs with the Acquire in `run`.
        self.log.0.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }

    /// Makes everything durable, and ends the thread. No session commits any more.
    ///
    /// # Errors
    /// Commits that are not durable yet never will be.
    pub fn close(mut self) -> Result<(), LogError> {
        self.stop();
        match self.log.failure() {
            None | Some(LogError::Closed) => Ok(()),
            Some(failure) => Err(failure),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
