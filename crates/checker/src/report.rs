//! What is shown to people: who went wrong with whom, over which keys, as a small graph.

use std::fmt;

use stdx::history::{Op, Outcome, TxnId, Version};

use crate::chains::Chains;
use crate::cycles::Cycle;
use crate::flaws::{Flaw, FlawKind};
use crate::keys::KeyId;
use crate::level::Phenomenon;
use crate::txns::{Rank, Txns};
use crate::walk::EdgeKind;

/// Operations of one transaction that are shown.
const OPS_MAX: usize = 12;

/// One edge of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Who came first.
    pub from: TxnId,
    /// Who came second.
    pub to: TxnId,
    /// Why.
    pub kind: EdgeKind,
    /// The table and the key over which; none for sessions and real time.
    pub key: Option<(u16, Vec<u64>)>,
}

/// Something that went wrong, or that only a stronger level would forbid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What the literature calls it.
    pub phenomenon: Phenomenon,
    /// What users call it.
    pub name: &'static str,
    /// Who had a part in it, each with what they did with the keys that it is about.
    pub txns: Vec<(TxnId, String)>,
    /// The shortest cycle that was found; none for what needs no cycle.
    pub links: Vec<Link>,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.name, self.phenomenon.name())?;
        for (txn, story) in &self.txns {
            writeln!(f, "  {txn:?}: {story}")?;
        }
        for link in &self.links {
            let why = match link.kind {
                EdgeKind::Ww => "ww",
                EdgeKind::Wr => "wr",
                EdgeKind::Rw => "rw",
                EdgeKind::RwPredicate => "rw of a range",
                EdgeKind::Session => "same session",
                EdgeKind::RealTime => "real time",
            };
            write!(f, "  {:?} --{why}", link.from)?;
            if let Some((table, words)) = &link.key {
                write!(f, " {:?}", stdx::history::Key::new(*table, words))?;
            }
            writeln!(f, "--> {:?}", link.to)?;
        }
        Ok(())
    }
}

/// What is shown of a flaw.
pub(crate) fn flaw(txns: &Txns<'_>, flaw: &Flaw) -> Anomaly {
    let phenomenon = match flaw.kind {
        FlawKind::AbortedRead => Phenomenon::G1a,
        FlawKind::IntermediateRead => Phenomenon::G1b,
        _ => Phenomenon::Broken,
    };
    let key = (flaw.table, flaw.key.clone());
    let about = format!("{:?} of {:?}", flaw.version, stdx::history::Key::new(key.0, &key.1));
    let keys = [key];
    let mut shown = vec![(flaw.txn, format!("{}   <- {about}", story(txns, flaw.txn, &keys)))];
    shown.extend(flaw.other.map(|other| (other, story(txns, other, &keys))));
    Anomaly { phenomenon, name: flaw.kind.name(), txns: shown, links: Vec::new() }
}

/// What is shown of a cycle.
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
    let keys: Vec<(u16, Vec<u64>)> = links.iter().filter_map(|link| link.key.clone()).collect();
    let mut shown: Vec<(TxnId, String)> = Vec::new();
    for link in &links {
        if shown.iter().all(|(txn, _)| *txn != link.from) {
            shown.push((link.from, story(txns, link.from, &keys)));
        }
    }
    let is_reader =
        |txn: TxnId| !txns.find(txn).is_some_and(|a| a.ops().any(|op| matches!(op, Op::Install { .. })));
    let has_reader = shown.iter().any(|(txn, _)| is_reader(*txn));
    Anomaly {
        phenomenon: cycle.phenomenon,
        name: name(cycle.phenomenon, &links, has_reader),
        txns: shown,
        links,
    }
}

/// What users call a cycle.
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
        Phenomenon::Broken | Phenomenon::G1a | Phenomenon::G1b => "broken history",
    }
}

/// What a transaction did with some keys, in order.
fn story(txns: &Txns<'_>, txn: TxnId, keys: &[(u16, Vec<u64>)]) -> String {
    let Some(attempt) = txns.find(txn) else { return "not in the history".to_owned() };
    let is_about =
        |key: stdx::history::Key<'_>| keys.iter().any(|(t, words)| *t == key.table && *words == key.words);
    let mut told: Vec<String> = Vec::new();
    for op in attempt.ops() {
        match op {
            Op::Read { key, seen } if is_about(key) => told.push(format!("read {key:?} = {seen:?}")),
            Op::Write { key, to } if is_about(key) => told.push(format!("write {key:?} = {to:?}")),
            Op::Install { key, before, after } if is_about(key) => {
                told.push(format!("install {key:?}: {before:?} -> {after:?}"));
            }
            Op::Scan(scan) => {
                let Some((low, high)) = scan.covered() else { continue };
                if !keys.iter().any(|(t, w)| (low..=high).contains(&stdx::history::Key::new(*t, w))) {
                    continue;
                }
                let seen = scan.rows().filter(|(key, _)| is_about(*key));
                let seen: Vec<String> =
                    seen.map(|(key, seen): (_, Version)| format!("{key:?} = {seen:?}")).collect();
                told.push(format!("scan {low:?}..={high:?}: {{{}}}", seen.join(", ")));
            }
            _ => {}
        }
    }
    if told.len() > OPS_MAX {
        told.truncate(OPS_MAX);
        told.push("..".to_owned());
    }
    let ended = match attempt.outcome {
        Outcome::Committed(_) => "commit",
        Outcome::Aborted => "abort",
        Outcome::Unknown => "cut off",
    };
    told.push(ended.to_owned());
    told.join("; ")
}
