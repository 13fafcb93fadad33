//! Reports for people: the transactions of an anomaly, their steps, and the keys, as a small graph.

use std::fmt;

use stdx::history::{AttemptOutcome, Key, Op, RecordedAttempt, TxnId, Version};

use crate::chains::Chains;
use crate::cycles::Cycle;
use crate::flaws::{Flaw, FlawKind};
use crate::keys::KeyId;
use crate::level::Phenomenon;
use crate::txns::{Rank, Txns};
use crate::walk::EdgeKind;

/// The largest number of steps shown of one transaction.
const STEPS_MAX: usize = 12;

/// One edge of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The transaction that came first.
    pub from: TxnId,
    /// The transaction that came second.
    pub to: TxnId,
    /// The reason for the order.
    pub kind: EdgeKind,
    /// The table and the key of the edge; `None` for sessions and real time.
    pub key: Option<(u16, Vec<u64>)>,
}

/// An anomaly: a phenomenon that went wrong, or that only a stronger level would forbid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The phenomenon, as named in the literature.
    pub phenomenon: Phenomenon,
    /// The name for users.
    pub name: &'static str,
    /// The transactions involved; those of a cycle in its order.
    pub txns: Vec<InvolvedTxn>,
    /// The shortest cycle that was found; empty for an anomaly that needs no cycle.
    pub links: Vec<Link>,
}

/// A table and a key.
type Place = (u16, Vec<u64>);

/// The part of one transaction: its steps on the keys of the anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvolvedTxn {
    /// The transaction.
    pub txn: TxnId,
    /// The outcome of the transaction; `None` if the history has no such attempt.
    pub outcome: Option<AttemptOutcome>,
    /// Its steps, in order, at most 12.
    pub steps: Vec<AnomalyStep>,
    /// Whether there were more steps.
    pub is_cut: bool,
    /// The version that it met and should not have met, with its table and key.
    pub met: Option<(Version, u16, Vec<u64>)>,
}

/// A step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnomalyStep {
    /// A read of this version.
    Read(u16, Vec<u64>, Version),
    /// A write of this version into the write set.
    Write(u16, Vec<u64>, Version),
    /// An install: the first version was replaced by the second.
    Install(u16, Vec<u64>, Version, Version),
    /// A scan from one key to another, with the rows that it returned among the keys of the anomaly.
    Scan(u16, Vec<u64>, Vec<u64>, Vec<(Vec<u64>, Version)>),
}

/// A function that returns the name of a table.
type Names<'n> = &'n dyn Fn(u16) -> String;

/// The text of a key.
fn shown(name: Names<'_>, table: u16, words: &[u64]) -> String {
    let words: Vec<String> = words.iter().map(u64::to_string).collect();
    format!("{}[{}]", name(table), words.join(","))
}

impl AnomalyStep {
    fn told(&self, name: Names<'_>) -> String {
        match self {
            Self::Read(table, words, seen) => format!("read {} = {seen:?}", shown(name, *table, words)),
            Self::Write(table, words, to) => format!("write {} = {to:?}", shown(name, *table, words)),
            Self::Install(table, words, before, after) => {
                format!("install {}: {before:?} -> {after:?}", shown(name, *table, words))
            }
            Self::Scan(table, low, high, rows) => {
                let row = |(words, seen): &(Vec<u64>, Version)| {
                    format!("{} = {seen:?}", shown(name, *table, words))
                };
                let rows: Vec<String> = rows.iter().map(row).collect();
                let (low, high) = (shown(name, *table, low), shown(name, *table, high));
                format!("scan {low}..={high}: {{{}}}", rows.join(", "))
            }
        }
    }
}

impl InvolvedTxn {
    fn told(&self, name: Names<'_>) -> String {
        let mut told: Vec<String> = self.steps.iter().map(|step| step.told(name)).collect();
        told.extend(self.is_cut.then(|| "..".to_owned()));
        told.push(match self.outcome {
            Some(AttemptOutcome::Committed(stamp)) => format!("commit at {stamp}"),
            Some(AttemptOutcome::Aborted) => "abort".to_owned(),
            Some(AttemptOutcome::Unknown) => "cut off".to_owned(),
            None => "not in the history".to_owned(),
        });
        let met = self.met.as_ref();
        let met =
            met.map(|(version, table, words)| format!("   <- {version:?} of {}", shown(name, *table, words)));
        format!("{:?}: {}{}", self.txn, told.join("; "), met.unwrap_or_default())
    }
}

impl Anomaly {
    /// The text of the anomaly, with tables called by the names that `name` returns: each transaction as its session
    /// and its place there, with its steps, and then the edges.
    pub fn told(&self, name: &dyn Fn(u16) -> String) -> String {
        let title = format!("{} ({})\n", self.name, self.phenomenon.name());
        let parts = self.txns.iter().map(|part| format!("  {}\n", part.told(name)));
        let links = self.links.iter().map(|link| format!("  {}\n", link.told(name)));
        std::iter::once(title).chain(parts).chain(links).collect()
    }
}

impl Link {
    fn told(&self, name: Names<'_>) -> String {
        let why = match self.kind {
            EdgeKind::Ww => "ww",
            EdgeKind::Wr => "wr",
            EdgeKind::Rw => "rw",
            EdgeKind::RwPredicate => "rw of a range",
            EdgeKind::Session => "same session",
            EdgeKind::RealTime => "real time",
        };
        let key = self.key.as_ref().map(|(table, words)| format!(" {}", shown(name, *table, words)));
        format!("{:?} --{why}{}--> {:?}", self.from, key.unwrap_or_default(), self.to)
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(&|table| table.to_string()))
    }
}

/// The anomaly that reports a flaw.
pub(crate) fn flaw(txns: &Txns<'_>, flaw: &Flaw) -> Anomaly {
    let phenomenon = match flaw.kind {
        FlawKind::AbortedRead => Phenomenon::G1a,
        FlawKind::IntermediateRead => Phenomenon::G1b,
        _ => Phenomenon::Broken,
    };
    let key = (flaw.table, flaw.key.clone());
    let met = Some((flaw.version, flaw.table, flaw.key.clone()));
    let keys = [key];
    let mut parts = vec![InvolvedTxn { met, ..part(flaw.txn, txns.find(flaw.txn), &keys) }];
    parts.extend(flaw.other.map(|other| part(other, txns.find(other), &keys)));
    Anomaly { phenomenon, name: flaw.kind.name(), txns: parts, links: Vec::new() }
}

/// The anomaly that reports a cycle.
pub(crate) fn cycle(txns: &Txns<'_>, chains: &Chains, cycle: &Cycle) -> Anomaly {
    let id = |rank: Rank| txns.attempt(rank).id;
    let owned = |key: KeyId| {
        let key = chains.keys.key(key);
        (key.table, key.words.to_vec())
    };
    let links: Vec<Link> = cycle
        .edges
        .iter()
        .map(|edge| Link {
            from: id(edge.from),
            to: id(edge.to),
            kind: edge.kind,
            key: (edge.key != KeyId::NONE).then(|| owned(edge.key)),
        })
        .collect();
    let keys: Vec<Place> = links.iter().filter_map(|link| link.key.clone()).collect();
    let mut parts: Vec<InvolvedTxn> = Vec::new();
    for link in &links {
        if parts.iter().all(|part| part.txn != link.from) {
            parts.push(part(link.from, txns.find(link.from), &keys));
        }
    }
    let is_reader =
        |txn: TxnId| !txns.find(txn).is_some_and(|a| a.ops().any(|op| matches!(op, Op::Install { .. })));
    let has_reader = parts.iter().any(|part| is_reader(part.txn));
    Anomaly {
        phenomenon: cycle.phenomenon,
        name: name(cycle.phenomenon, &links, has_reader),
        txns: parts,
        links,
    }
}

/// The users' name of a cycle.
fn name(phenomenon: Phenomenon, links: &[Link], has_reader: bool) -> &'static str {
    let count = |kind| links.iter().filter(|link| link.kind == kind).count();
    let is_one_key = links.iter().all(|link| link.key == links[0].key);
    let has_range = count(EdgeKind::RwPredicate) > 0;
    match phenomenon {
        Phenomenon::G0 => "dirty write",
        Phenomenon::G1c => "circular information flow",
        Phenomenon::GSingle if has_range => "phantom",
        Phenomenon::GSingle if count(EdgeKind::Wr) == 0 && is_one_key => "lost update",
        Phenomenon::GSingle if count(EdgeKind::Wr) == 0 => "write over a stale read",
        Phenomenon::GSingle if is_one_key => "unrepeatable read",
        Phenomenon::GSingle => "read skew",
        Phenomenon::GNonadjacent if count(EdgeKind::Ww) == 0 => "long fork",
        Phenomenon::GNonadjacent => "no common snapshot",
        Phenomenon::G2Item | Phenomenon::G2 if has_reader => "read-only anomaly",
        Phenomenon::G2Item => "write skew",
        Phenomenon::G2 => "phantom",
        Phenomenon::RealTime if count(EdgeKind::RealTime) == 0 => "session out of order",
        Phenomenon::RealTime => "stale read",
        Phenomenon::Broken | Phenomenon::G1a | Phenomenon::G1b | Phenomenon::Stamps => "broken history",
    }
}

/// The part of a transaction: its steps on these keys.
pub(crate) fn part(txn: TxnId, attempt: Option<RecordedAttempt<'_>>, keys: &[Place]) -> InvolvedTxn {
    let mut part = InvolvedTxn { txn, outcome: None, steps: Vec::new(), is_cut: false, met: None };
    let Some(attempt) = attempt else { return part };
    part.outcome = Some(attempt.outcome);
    let is_about = |key: Key<'_>| keys.iter().any(|(t, words)| *t == key.table && *words == key.words);
    for op in attempt.ops() {
        let step = match op {
            Op::Read { key, seen } if is_about(key) => AnomalyStep::Read(key.table, key.words.to_vec(), seen),
            Op::Write { key, to } if is_about(key) => AnomalyStep::Write(key.table, key.words.to_vec(), to),
            Op::Install { key, before, after } if is_about(key) => {
                AnomalyStep::Install(key.table, key.words.to_vec(), before, after)
            }
            Op::Scan(scan) => {
                let Some((low, high)) = scan.covered() else { continue };
                if !keys.iter().any(|(t, w)| (low..=high).contains(&Key::new(*t, w))) {
                    continue;
                }
                let rows = scan.rows().filter(|(key, _)| is_about(*key));
                let rows = rows.map(|(key, seen)| (key.words.to_vec(), seen)).collect();
                AnomalyStep::Scan(low.table, low.words.to_vec(), high.words.to_vec(), rows)
            }
            _ => continue,
        };
        part.is_cut = part.steps.len() == STEPS_MAX;
        if part.is_cut {
            break;
        }
        part.steps.push(step);
    }
    part
}
