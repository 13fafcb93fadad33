//! A checker for isolation levels: decides which level a recorded history satisfies.
//!
//! A scheme is believed to isolate transactions as long as nobody can show that it does not. This crate tries to show
//! it: it takes what transactions saw and did, as recorded by [`stdx::history`], and looks for a phenomenon that the
//! promised [`Level`] forbids. Its conclusions rest on what values say about themselves and on what storage held when
//! they were replaced, never on stamps, so that a scheme which lies about order does not judge itself: stamps may say
//! where to look first, but not what is found. That stamps are an order is another promise, which [`out_of_order`]
//! checks separately.
//!
//! **Versions.** Each value carries the id of its writer, so a read says which version it saw, and an install says
//! which version it replaced. That gives the order of the versions of each key. This step also finds reads of versions
//! that nobody committed, versions that went missing and the like: these are *flaws*, which every level forbids.
//!
//! **Edges.** One transaction comes before another if the second replaced a version of the first (`ww`), read it
//! (`wr`), or replaced a version that the first read (`rw`). A scan is a read of every key in its range which any
//! transaction ever wrote or met, most of which it found absent; absences are versions like others, so that phantoms
//! need no rule of their own. Sessions and real time add edges for the strictest level.
//!
//! **Cycles.** A history is serializable if and only if the edges have no cycle (Adya, 1999, for a known order of
//! versions), has snapshots if and only if no cycle lacks two `rw` in a row (Cerone and Gotsman, 2016, without
//! sessions), and so on: see [`Phenomenon`]. The transactions are laid out in an order in which they may have taken
//! effect, mostly that of their responses. Edges that agree with this layout need not be remembered; the edges against
//! it bound the short windows within which cycles can lie, and only these windows become graphs.
//!
//! **Absences.** A transaction that finds a key absent cannot say which of the key's absences it met: there is no value
//! to carry that information. A history is as good as its best reading, which `absences` searches for.
//!
//! **What is guaranteed.** [`Answer::Holds`] comes with a reading that the level allows; [`Answer::Violated`] means
//! that no reading is allowed; [`Answer::Undecided`] means that neither could be shown at a reasonable price. For short
//! histories, and for those in which no key was absent twice, the answer is one of the first two. The checker does not
//! judge what the history does not contain: a loaded row that no transaction met may be lost, and an attempt that was
//! cut off counts only if a transaction met one of its versions. The names of anomalies are the strongest that were
//! found with bounded effort for each strongly connected group of transactions. Anomalies that a violated level permits
//! are not reported where one that it forbids is.
//!
//! **Price.** Time and memory grow with the number of operations, and with the number of keys that scans cover and did
//! not meet, each of which is a read.
#![forbid(unsafe_code)]

mod absences;
mod blocks;
mod chains;
mod cover;
mod cycles;
mod export;
mod flaws;
mod graph;
mod keys;
mod level;
mod reading;
mod replay;
mod report;
mod serial;
mod stamps;
mod txns;
mod walk;

use std::fmt;

use stdx::history::{History, Op, SessionLog};

pub use export::{Form, Notation, export};
pub use level::{Level, Phenomenon};
pub use report::{Anomaly, AnomalyStep, InvolvedTxn, Link};
pub use stamps::out_of_order;
pub use walk::EdgeKind;

use absences::{Settled, Solver};
use chains::Chains;
use flaws::{Flaw, FlawKind};
use txns::{Layout, Tables, Txns};

/// The largest number of anomalies of each kind that a verdict shows.
const SHOWN_MAX: usize = 100;

/// The answer to the question whether a level allows a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The level allows the history.
    Holds,
    /// The level forbids something in the history.
    Violated,
    /// Unknown: there are too many ways to read the history.
    Undecided,
}

/// The verdict on a history.
#[derive(Clone, Debug)]
pub struct HistoryVerdict {
    /// The level that the history was checked against.
    pub level: Level,
    /// The answer for that level.
    pub answer: Answer,
    /// The number of transactions that took effect.
    pub txns: usize,
    /// Anomalies that the level forbids, at most 100.
    pub violations: Vec<Anomaly>,
    /// Anomalies that the level permits and only stronger levels forbid, at most 100, in the reading that was found. A
    /// test in which no permitted anomaly ever shows may be blind.
    pub beyond: Vec<Anomaly>,
    /// The number of further anomalies of both kinds that are not listed.
    pub more: usize,
}

impl HistoryVerdict {
    /// The text of the verdict, with tables called by the names that `name` returns.
    pub fn told(&self, name: &dyn Fn(u16) -> String) -> String {
        let (level, txns) = (self.level.name(), self.txns);
        let head = match self.answer {
            Answer::Holds => format!("{level}: yes, {txns} transactions\n"),
            Answer::Violated => format!("{level}: NO, {txns} transactions\n"),
            Answer::Undecided => format!("{level}: undecided, too many ways to read {txns} transactions\n"),
        };
        let violations = self.violations.iter().map(|anomaly| anomaly.told(name));
        let permitted = (!self.beyond.is_empty()).then(|| "permitted, and seen:\n".to_owned());
        let beyond = self.beyond.iter().map(|anomaly| anomaly.told(name));
        let more = (self.more > 0).then(|| format!("and {} more\n", self.more));
        std::iter::once(head).chain(violations).chain(permitted).chain(beyond).chain(more).collect()
    }
}

impl fmt::Display for HistoryVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(&|table| table.to_string()))
    }
}

/// Layouts, the most promising first.
type Layouts = [Layout; 3];

/// The number of transactions of a history from which the checker decides which layout suits it.
const PROBED: usize = 1_000;

/// Checks histories one after the other, and keeps its memory for the next history: with many small histories most of
/// the cost would be allocation.
#[derive(Debug, Default)]
pub struct Checker {
    tables: Tables,
    chains: Chains,
}

impl Checker {
    /// A checker that has checked nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a history against a level.
    ///
    /// # Panics
    /// When the history has more than two billion attempts or versions, or a billion keys.
    pub fn check(&mut self, history: &History, level: Level) -> HistoryVerdict {
        let logs = history.logs();
        let layouts = self.layouts(logs, level);
        let mut best = (usize::MAX, layouts[0]);
        for layout in layouts {
            match self.look(logs, level, layout, best.0 == usize::MAX, false) {
                Looked::Settled(verdict) => return verdict,
                Looked::Open(badness) if badness < best.0 => best = (badness, layout),
                Looked::Open(_) => {}
            }
        }
        match self.look(logs, level, best.1, true, true) {
            Looked::Settled(verdict) => verdict,
            Looked::Open(_) => unreachable!("it was asked to settle"),
        }
    }

    /// The layouts in which to look at a history, the most promising first.
    fn layouts(&mut self, logs: &[SessionLog], level: Level) -> Layouts {
        use Layout::{Invocations, Responses, Snapshots, Stamps};
        match level {
            Level::ReadCommitted => return [Responses, Stamps, Invocations],
            Level::SnapshotIsolation => return [Snapshots, Stamps, Responses],
            Level::Serializable | Level::StrictlySerializable => {}
        }
        let mut layouts = [Responses, Stamps, Invocations];
        let attempts: usize = logs.iter().map(|log| log.attempts().len()).sum();
        if attempts > 8 * PROBED {
            // The probe ends when the first session has used up its share: only sessions with more attempts than that
            // count.
            let share = PROBED / logs.len();
            let longer = logs.iter().filter(|log| log.attempts().len() > share);
            let until = longer.map(|log| log.attempt(share).responded).min().unwrap_or(u64::MAX);
            let against = layouts.map(|layout| self.against(logs, level, layout, until));
            layouts.sort_by_key(|layout| {
                against
                    [[Responses, Stamps, Invocations].iter().position(|other| other == layout).unwrap_or(0)]
            });
        }
        layouts
    }

    /// The number of edges that go against a layout, among the transactions that responded until a moment.
    fn against(&mut self, logs: &[SessionLog], level: Level, layout: Layout, until: u64) -> usize {
        let txns = Txns::new(logs, layout, until, std::mem::take(&mut self.tables));
        self.chains.fill(&txns, &mut Vec::new());
        let against = Solver::new(&txns, &self.chains, level).against();
        self.tables = txns.into_tables();
        against
    }

    /// Looks at a history in a layout, and settles it if `must_settle` is true or if it can be settled at once.
    fn look(
        &mut self,
        logs: &[SessionLog],
        level: Level,
        layout: Layout,
        is_first: bool,
        must_settle: bool,
    ) -> Looked {
        let txns = Txns::new(logs, layout, u64::MAX, std::mem::take(&mut self.tables));
        let mut flaws = aborted_installs(&txns);
        self.chains.fill(&txns, &mut flaws);
        let solver = Solver::new(&txns, &self.chains, level);
        let looked = match solver.first(|held| is_first || held < txns.len() / 2 + PROBED) {
            Some(first) => {
                let badness = first.badness();
                match solver.settle(first, must_settle) {
                    Some(settled) => {
                        flaws.extend_from_slice(&settled.flaws);
                        Looked::Settled(verdict(&txns, &self.chains, level, &flaws, &settled))
                    }
                    None => Looked::Open(badness),
                }
            }
            None => Looked::Open(usize::MAX),
        };
        self.tables = txns.into_tables();
        looked
    }
}

/// The result of a look at a history in one layout.
enum Looked {
    Settled(HistoryVerdict),
    /// Open: this many transactions are in windows with a forbidden cycle, which another layout may explain.
    Open(usize),
}

/// Checks a history against a level. A caller with many histories uses one [`Checker`].
///
/// # Panics
/// The same as [`Checker::check`].
pub fn check(history: &History, level: Level) -> HistoryVerdict {
    Checker::new().check(history, level)
}

fn verdict(
    txns: &Txns<'_>,
    chains: &Chains,
    level: Level,
    flaws: &[Flaw],
    settled: &Settled,
) -> HistoryVerdict {
    let answer = if flaws.is_empty() { settled.answer } else { Answer::Violated };
    let (mut violations, mut beyond, mut more) = (Vec::new(), Vec::new(), 0);
    let mut show = |is_forbidden: bool, anomaly: &dyn Fn() -> Anomaly| {
        let shown = if is_forbidden { &mut violations } else { &mut beyond };
        if shown.len() < SHOWN_MAX { shown.push(anomaly()) } else { more += 1 }
    };
    for flaw in flaws {
        show(true, &|| report::flaw(txns, flaw));
    }
    for cycle in &settled.cycles {
        show(level.forbids(cycle.phenomenon), &|| report::cycle(txns, chains, cycle));
    }
    HistoryVerdict { level, answer, txns: txns.len(), violations, beyond, more }
}

/// Installs by attempts that aborted.
fn aborted_installs(txns: &Txns<'_>) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for attempt in txns.aborted() {
        for op in attempt.ops() {
            if let Op::Install { key, after, .. } = op {
                flaws.push(Flaw::new(FlawKind::AbortedInstall, attempt.id, key, after));
            }
        }
    }
    flaws
}
