//! Which isolation a history had.
//!
//! A scheme is believed to isolate transactions when nobody can show that it does not. This crate tries: it takes
//! what transactions saw and did, as [`stdx::history`] wrote it down, and looks for something that the promised
//! [`Level`] forbids. What it concludes rests on what values said about themselves and on what storage held when
//! they were replaced, never on stamps, so that a scheme which lies about order does not judge itself: they may
//! say where to look first, not what is found. That stamps are an order is another promise, and [`out_of_order`]
//! looks at it apart.
//!
//! **Versions.** Each value carries who wrote it, so a read says which version it saw, and an install which one it
//! replaced. That gives each key the order of its versions. Reads of what nobody committed, versions that went
//! missing and the like fall out on the way: these are *flaws*, which every level forbids.
//!
//! **Edges.** One transaction comes before another: if the second replaced a version of the first (`ww`), read it
//! (`wr`), or replaced what the first read (`rw`). A scan is a read of every key that it covers which anyone ever
//! wrote or met, most of which it found absent; absences are versions like others, so that phantoms need no rule of
//! their own. Sessions and real time add edges for the strictest level.
//!
//! **Cycles.** A history is serializable if and only if the edges have no cycle (Adya, 1999, for a known order of
//! versions), has snapshots if and only if no cycle lacks two `rw` in a row (Cerone and Gotsman, 2016, without
//! sessions), and so on: see [`Phenomenon`]. The transactions are laid out in an order in which they may have taken
//! effect, mostly that of their responses. Edges that agree with it need not be remembered; those against it say
//! within which short windows cycles can lie, and only windows become graphs.
//!
//! **Absences.** Nobody who finds a key absent can say which of its absences it was: there is no value that could
//! carry that. A history is as good as its best reading, which `absences` searches for.
//!
//! **What is guaranteed.** [`Answer::Holds`] comes with a reading that the level allows; [`Answer::Violated`]
//! means that no reading is allowed; where neither could be found at a reasonable price the answer is
//! [`Answer::Undecided`]. For histories in which no key was absent twice, and for short ones, it is one of the
//! first two. What the history does not contain is not judged: a row that was loaded and that nobody ever met
//! may be lost, and of attempts that were cut off only those count that somebody met. The names of anomalies
//! are the strongest that were found with bounded effort for each group of transactions on cycles together;
//! what a violated level permits is not told where something that it forbids is.
//!
//! **Price.** Time and memory grow with the operations; and with the keys that scans cover and did not meet, each
//! of which is a read.
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

use stdx::history::{History, Log, Op};

pub use export::{Form, Notation, export};
pub use level::{Level, Phenomenon};
pub use report::{Anomaly, Link, Part, Step};
pub use stamps::out_of_order;
pub use walk::EdgeKind;

use absences::{Settled, Solver};
use chains::Chains;
use flaws::{Flaw, FlawKind};
use txns::{Layout, Tables, Txns};

/// Anomalies that a verdict shows of each kind: whoever reads more is not helped by it.
const SHOWN_MAX: usize = 100;

/// Whether a history is what a level allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is.
    Holds,
    /// It is not.
    Violated,
    /// Nobody knows: there are too many ways to read it.
    Undecided,
}

/// What was found out about a history.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What it was held to.
    pub level: Level,
    /// Whether it is that.
    pub answer: Answer,
    /// How many transactions took effect.
    pub txns: usize,
    /// What the level forbids, at most 100 of them.
    pub violations: Vec<Anomaly>,
    /// What showed although only stronger levels forbid it, at most 100, in the reading that was found. A test
    /// in which nothing shows that the level permits may be blind.
    pub beyond: Vec<Anomaly>,
    /// How many more there are of both.
    pub more: usize,
}

impl Verdict {
    /// What is shown of it where tables have names.
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

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(&|table| table.to_string()))
    }
}

/// Layouts, the most promising first.
type Layouts = [Layout; 3];

/// Transactions of a history from which it is told which layout suits it.
const PROBED: usize = 1_000;

/// Checks histories, one after the other, and keeps its memory for the next: of many small ones most of the cost
/// would be asking for memory.
#[derive(Debug, Default)]
pub struct Checker {
    tables: Tables,
    chains: Chains,
}

impl Checker {
    /// One that has checked nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Holds a history to a level.
    ///
    /// # Panics
    /// When it has more than two billion attempts or versions, or a billion keys.
    pub fn check(&mut self, history: &History, level: Level) -> Verdict {
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

    /// In which layouts to look at a history, the most promising first.
    fn layouts(&mut self, logs: &[Log], level: Level) -> Layouts {
        use Layout::{Invocations, Responses, Snapshots, Stamps};
        match level {
            Level::ReadCommitted => return [Responses, Stamps, Invocations],
            Level::SnapshotIsolation => return [Snapshots, Stamps, Responses],
            Level::Serializable | Level::StrictlySerializable => {}
        }
        let mut layouts = [Responses, Stamps, Invocations];
        let attempts: usize = logs.iter().map(|log| log.attempts().len()).sum();
        if attempts > 8 * PROBED {
            // So far sessions go on that have done more than their share of what is probed.
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

    /// How many edges go against a layout, of those that responded until a moment.
    fn against(&mut self, logs: &[Log], level: Level, layout: Layout, until: u64) -> usize {
        let txns = Txns::new(logs, layout, until, std::mem::take(&mut self.tables));
        self.chains.fill(&txns, &mut Vec::new());
        let against = Solver::new(&txns, &self.chains, level).against();
        self.tables = txns.into_tables();
        against
    }

    /// Looks at a history in a layout, and settles it if that is asked for or can be done at once.
    fn look(
        &mut self,
        logs: &[Log],
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

/// What a look at a history told.
enum Looked {
    Settled(Verdict),
    /// About so many transactions something forbidden is left, which another layout may explain.
    Open(usize),
}

/// Holds a history to a level. Who has many uses one [`Checker`].
///
/// # Panics
/// As [`Checker::check`].
pub fn check(history: &History, level: Level) -> Verdict {
    Checker::new().check(history, level)
}

fn verdict(txns: &Txns<'_>, chains: &Chains, level: Level, flaws: &[Flaw], settled: &Settled) -> Verdict {
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
    Verdict { level, answer, txns: txns.len(), violations, beyond, more }
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
