//! One case: a database on a simulated disk, driven by a seed.
//!
//! Sessions commit by turns, several of them at a time; epochs end and are written by hand, checkpoints are made, the
//! log is closed and opened. At some operation of the disk the power goes, or a device fails. Then the database is
//! recovered, at times with the power going again, and continues.
//!
//! ORACLE  The recovered state is exactly the result of the commits up to some epoch, in the order in which they drew
//!         it: so it has no half of a commit, and nothing that was not committed. The epoch is no earlier than any
//!         that was reported as durable, and it is the same however often recovery was cut short.

use durability::disk::{Directory, Fault, Power, SimulatedDisk};
use durability::{Found, Layouts, Log, LogPlant, LogSink, OpenError, Options, Order, Rounds, Store};
use engine::AnyKey;
use stdx::Rng;
use storage::TableId;
use sync::{Arc, Latched};

use crate::model::{Commit, HEAP, State, Write, layouts, tell, writes};

/// Counts of the events in cases.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) cuts: u64,
    pub(crate) recoveries_cut: u64,
    pub(crate) torn: u64,
    pub(crate) checkpoints: u64,
    pub(crate) closed: u64,
    pub(crate) poisoned: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.recoveries_cut += other.recoveries_cut;
        self.torn += other.torn;
        self.checkpoints += other.checkpoints;
        self.closed += other.closed;
        self.poisoned += other.poisoned;
    }
}

/// A session, and the writes of its open commit.
struct Session {
    sink: LogSink,
    open: Option<Vec<(u16, AnyKey)>>,
}

pub(crate) struct Case {
    rng: Rng,
    disk: SimulatedDisk,
    devices: usize,
    plant: Option<LogPlant>,
    layouts: Layouts,
    commits: Vec<Commit>,
    live: State,
    /// The last epoch that was reported as durable.
    acknowledged: u64,
    /// The last epoch that was acknowledged before the last round: it was known to be durable when that round was
    /// written.
    confirmed: u64,
    was_closed: bool,
    /// The number of rounds that this life has written.
    rounds: u64,
    seen: Seen,
}

impl Case {
    pub(crate) fn new(seed: u64, plant: Option<LogPlant>) -> Self {
        let mut rng = Rng::from_path(&[0x6372_6173, seed]);
        let devices = [1, 1, 2, 3][rng.below(4) as usize];
        Self {
            disk: SimulatedDisk::new(rng.next_u64()),
            rng,
            devices,
            plant,
            layouts: layouts(),
            commits: Vec::new(),
            live: State::default(),
            acknowledged: 0,
            confirmed: 0,
            was_closed: false,
            rounds: 0,
            seen: Seen::default(),
        }
    }

    fn directories(&self) -> Vec<Arc<dyn Directory>> {
        (0..self.devices).map(|device| self.disk.directory(device)).collect()
    }

    fn options(&self) -> Options {
        Options {
            sessions: 3,
            order: Order::Counter,
            ring_bytes: 0,
            segment_bytes: 24 << 10,
            parts: 2,
            database: 77,
            plant: self.plant,
            ..Options::default()
        }
    }

    /// A few lives of a database, each of which ends by a power cut or a fault.
    pub(crate) fn run(mut self) -> Result<Seen, String> {
        for _ in 0..3 {
            let Some(rounds) = self.recover()? else { continue };
            let steps = self.disk.steps();
            let until = self.rng.below(60);
            match self.rng.below(8) {
                0 => {
                    let fault = [Fault::Fails, Fault::Full, Fault::Interrupted, Fault::Short]
                        [self.rng.below(4) as usize];
                    self.disk.fault_at(steps + 1 + until, fault);
                }
                1 => {}
                _ => self.disk.cut_at(steps + 1 + until),
            }
            self.live(rounds)?;
            self.seen.cuts += 1;
            self.disk.restart();
        }
        let epoch = self.open()?.map(|found| self.check(&found)).transpose()?;
        let again = self.open()?.map(|found| self.check(&found)).transpose()?;
        if epoch != again {
            return Err(format!("recovered up to {epoch:?}, then up to {again:?}"));
        }
        Ok(self.seen)
    }

    /// A life that ends well, or by a crash; then some bytes rot. Returns whether that was refused.
    pub(crate) fn rot(mut self) -> Result<bool, String> {
        for _ in 0..=self.rng.below(2) {
            let Some(rounds) = self.recover()? else { continue };
            self.live(rounds)?;
            if self.is_off() || self.rng.below(3) > 0 {
                self.disk.restart();
            }
        }
        let rotten = self.disk.rot();
        let opened = Store::open(self.directories(), &self.layouts, self.options());
        let state = opened.and_then(|found| Ok((found.epoch(), restored(&found)?)));
        let (epoch, state) = match state {
            Err(error @ OpenError::Io { .. }) => return Err(error.to_string()),
            Err(_) => return Ok(true),
            Ok(recovered) => recovered,
        };
        let is_shorter = rotten.as_ref().is_some_and(|rotten| rotten.is_truncated);
        let least = match (self.was_closed, is_shorter) {
            // A file that is shorter than it was is refused, whatever it has lost.
            (true, _) | (_, true) => self.acknowledged,
            (false, false) => self.confirmed,
        };
        if epoch < least {
            return Err(format!("{rotten:?} was taken for a torn tail: {epoch} instead of {least}"));
        }
        if state != State::at(&self.commits, epoch, &self.layouts) {
            return Err(format!("{rotten:?} was believed"));
        }
        Ok(false)
    }

    /// A life, after which bytes rot and no checksums are verified: the bytes may make sense or not. Returns whether
    /// opening them was refused.
    pub(crate) fn garbage(mut self) -> Result<bool, String> {
        if let Some(rounds) = self.recover()? {
            self.live(rounds)?;
        }
        self.disk.restart();
        for _ in 0..=self.rng.below(4) {
            self.disk.rot();
        }
        self.plant = Some(LogPlant::IgnoresChecksums);
        let opened = Store::open(self.directories(), &self.layouts, self.options());
        let restored = opened.and_then(|found| found.restore(1, |_| |_: TableId, _: AnyKey, _: &[u64]| ()));
        Ok(restored.is_err())
    }

    fn is_off(&self) -> bool {
        self.disk.power() == Power::Off
    }

    /// Opens the database; `None` if the system refuses, as it may when the power is off.
    fn open(&mut self) -> Result<Option<Found>, String> {
        match Store::open(self.directories(), &self.layouts, self.options()) {
            Ok(found) => Ok(Some(found)),
            Err(OpenError::Io { .. }) if self.is_off() => Ok(None),
            Err(error) => Err(format!("cannot be opened: {error}")),
        }
    }

    /// Compares the recovered state with the expected one, and returns its epoch.
    fn check(&mut self, found: &Found) -> Result<u64, String> {
        let epoch = found.epoch();
        if epoch < self.acknowledged {
            return Err(format!("{} was said to be durable, and {epoch} is there", self.acknowledged));
        }
        let state = restored(found).map_err(|error| format!("cannot be restored: {error}"))?;
        let expected = State::at(&self.commits, epoch, &self.layouts);
        if state != expected {
            return Err(format!("up to {epoch}: {state:?}\ninstead of {expected:?}"));
        }
        self.seen.torn += u64::from(found.torn_bytes() > 0);
        self.seen.closed += u64::from(found.was_closed());
        Ok(epoch)
    }

    /// Recovers the database, with the power cut now and then.
    fn recover(&mut self) -> Result<Option<Rounds>, String> {
        for depth in 0..6 {
            if depth < 5 && self.rng.below(3) == 0 {
                self.disk.cut_at(self.disk.steps() + 1 + self.rng.below(12));
            }
            if let Some(found) = self.open()? {
                let epoch = self.check(&found)?;
                match found.start() {
                    Ok(rounds) => {
                        self.commits.retain(|commit| commit.epoch <= epoch);
                        self.live = State::at(&self.commits, epoch, &self.layouts);
                        (self.acknowledged, self.confirmed) = (epoch, epoch);
                        (self.was_closed, self.rounds) = (false, 0);
                        return Ok(Some(rounds));
                    }
                    Err(OpenError::Io { .. }) if self.is_off() => {}
                    Err(error) => return Err(format!("cannot be started: {error}")),
                }
            }
            self.seen.cuts += 1;
            self.seen.recoveries_cut += 1;
            self.disk.restart();
        }
        Ok(None)
    }

    /// Runs transactions until the log fails, or for a while.
    fn live(&mut self, mut rounds: Rounds) -> Result<(), String> {
        let log = rounds.log();
        let session = || Session { sink: log.plain_sink(), open: None };
        let mut sessions = [session(), session(), session()];
        let mut ended = None;
        for _ in 0..self.rng.below(160) {
            let nth = self.rng.below(3) as usize;
            match self.rng.below(8) {
                0..4 => self.act(&mut sessions, nth),
                4 | 5 => ended = ended.or_else(|| Some(rounds.end_epoch())),
                6 => {
                    if let Some(epoch) = ended.filter(|epoch| rounds.is_closed(*epoch)) {
                        ended = None;
                        let written = rounds.write(epoch);
                        self.hear(&log, written.is_ok())?;
                        if written.is_err() {
                            break;
                        }
                    }
                }
                _ => {
                    if ended.is_none() && self.rng.below(4) == 0 && !self.make_checkpoint(&log, &mut rounds) {
                        self.hear(&log, log.failure().is_none())?;
                        break;
                    }
                }
            }
        }
        for nth in 0..3 {
            if sessions[nth].open.is_some() {
                self.act(&mut sessions, nth);
            }
        }
        drop(sessions);
        if self.rng.below(4) == 0 && log.failure().is_none() {
            self.was_closed = rounds.close().is_ok();
            if self.was_closed {
                self.acknowledged =
                    self.commits.last().map_or(0, |commit| commit.epoch).max(self.acknowledged);
            }
        }
        Ok(())
    }

    /// Begins a commit of a session, or ends it.
    fn act(&mut self, sessions: &mut [Session; 3], nth: usize) {
        if sessions[nth].open.take().is_some() {
            return sessions[nth].sink.close();
        }
        let is_locked = |table, key| {
            sessions.iter().any(|other| other.open.as_ref().is_some_and(|open| open.contains(&(table, key))))
        };
        let writes: Vec<Write> = writes(&self.live, &self.layouts, &mut self.rng, is_locked);
        if writes.is_empty() {
            return;
        }
        let session = &mut sessions[nth];
        session.sink.open();
        for write in &writes {
            let at_once = write.table == HEAP || self.rng.below(2) == 0;
            tell(&mut session.sink, write, &self.layouts, at_once);
        }
        session.open = Some(writes.iter().map(|write| (write.table, write.key)).collect());
        let commit = Commit { epoch: session.sink.ticket().epoch, writes };
        self.live.apply(&commit, &self.layouts);
        self.commits.push(commit);
    }

    /// Checks the log's answers after a write, or after a failure of the log.
    fn hear(&mut self, log: &Log, is_well: bool) -> Result<(), String> {
        let durable = log.durable().epoch;
        let (rounds, _) = log.written();
        if is_well && rounds > self.rounds {
            (self.confirmed, self.rounds) = (self.acknowledged, rounds);
        }
        if !is_well {
            self.seen.poisoned += u64::from(!self.is_off());
            let last = self.commits.last().map_or(0, |commit| commit.epoch);
            let answer = log.is_durable(durability::CommitTicket { epoch: last });
            if last > durable && answer.is_ok() {
                return Err("a log that has failed gives no error".to_owned());
            }
        }
        // An epoch without commits leaves no trace.
        let last = self.commits.iter().map(|commit| commit.epoch).filter(|epoch| *epoch <= durable).max();
        self.acknowledged = self.acknowledged.max(last.unwrap_or(0));
        Ok(())
    }

    /// Makes a checkpoint. Returns whether the log continues.
    fn make_checkpoint(&mut self, log: &Log, rounds: &mut Rounds) -> bool {
        let Ok(cut) = rounds.roll() else { return false };
        self.seen.checkpoints += u64::from(log.glean(&cut, 1).is_ok());
        log.failure().is_none()
    }
}

/// The whole contents of a database.
fn restored(found: &Found) -> Result<State, OpenError> {
    let state = Latched::new(State::default());
    found.restore(1, |_| {
        |table: TableId, key: AnyKey, row: &[u64]| {
            let mut state = state.lock();
            if table.0 == HEAP {
                state.heaps.push((table.0, key, row.to_vec()));
            } else {
                let is_new = state.rows.insert((table.0, key), row.to_vec()).is_none();
                assert!(is_new, "a row comes once");
            }
        }
    })?;
    let mut state = state.into_inner();
    state.heaps.sort();
    Ok(state)
}
