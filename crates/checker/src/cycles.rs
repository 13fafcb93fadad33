//! What the cycles of a stretch of history are called, and which of them a level forbids.

use crate::graph::{ALONE, Arc, Components, Graph};
use crate::keys::KeyId;
use crate::level::{Level, Phenomenon};
use crate::txns::{Rank, Txns};
use crate::walk::{Edge, EdgeKind};

/// Arcs of anti-dependency of one component from which a cycle with no other one is looked for.
const SINGLES_MAX: usize = 256;

/// A cycle, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) phenomenon: Phenomenon,
    pub(crate) edges: Vec<Edge>,
}

/// The edges between neighbours in the order of responses.
pub(crate) struct Stretch {
    first: Rank,
    /// How many transactions.
    length: usize,
    /// All arcs but those of time.
    graph: Graph,
    /// In which no two arcs of anti-dependency follow each other: each transaction is two nodes, and the odd
    /// one is where such an arc leads.
    alternating: Graph,
    /// All arcs: after each transaction comes a node for the moment of its response, each such moment comes
    /// before the next, and whoever began later comes after the last moment before.
    timed: Graph,
}

impl Stretch {
    /// The stretch from `first` to `last`.
    pub(crate) fn new(first: Rank, last: Rank, edges: &[Edge], txns: &Txns<'_>) -> Self {
        let length = last.at() - first.at() + 1;
        let node = |rank: Rank| rank.0 - first.0;
        let mut arcs: Vec<Arc> = edges
            .iter()
            .map(|edge| Arc { from: node(edge.from), to: node(edge.to), kind: edge.kind, key: edge.key })
            .collect();
        let mut doubled = Vec::with_capacity(arcs.len() * 2);
        for arc in &arcs {
            if arc.kind.is_rw() {
                doubled.push(Arc { from: arc.from * 2, to: arc.to * 2 + 1, ..*arc });
            } else {
                doubled.push(Arc { from: arc.from * 2, to: arc.to * 2, ..*arc });
                doubled.push(Arc { from: arc.from * 2 + 1, to: arc.to * 2, ..*arc });
            }
        }
        let graph = Graph::new(length, length, &arcs);
        add_time(txns, first, length, &mut arcs);
        let timed = Graph::new(length, length * 2, &arcs);
        Self { first, length, graph, alternating: Graph::new(length * 2, length * 2, &doubled), timed }
    }

    /// Whether the level forbids any cycle here.
    pub(crate) fn violates(&self, level: Level) -> bool {
        !self.forbidden(level).members.is_empty()
    }

    /// The transactions on cycles that the level forbids.
    pub(crate) fn on_forbidden_cycles(&self, level: Level) -> Vec<bool> {
        let components = self.forbidden(level);
        let is_doubled = level == Level::SnapshotIsolation;
        let is_on = |node: usize| components.of[node] != ALONE;
        (0..self.length)
            .map(|n| if is_doubled { is_on(2 * n) || is_on(2 * n + 1) } else { is_on(n) })
            .collect()
    }

    fn forbidden(&self, level: Level) -> Components {
        match level {
            Level::ReadCommitted => self.graph.components(|arc| arc.kind.is_dependency()),
            Level::SnapshotIsolation => self.alternating.components(|_| true),
            Level::Serializable => self.graph.components(|_| true),
            Level::StrictlySerializable => self.timed.components(|_| true),
        }
    }

    /// For each group of transactions on cycles together the strongest phenomenon there.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        if self.timed.components(|_| true).members.is_empty() {
            return Vec::new();
        }
        let mut found = Found { first: self.first, is_told: vec![false; self.length], cycles: Vec::new() };
        let is_item = |arc: &Arc| arc.kind != EdgeKind::RwPredicate;
        found.all(&self.graph, 1, Phenomenon::G0, |arc| arc.kind == EdgeKind::Ww);
        found.all(&self.graph, 1, Phenomenon::G1c, |arc| arc.kind.is_dependency());
        self.singles(&mut found);
        found.all(&self.alternating, 2, Phenomenon::GNonadjacent, |_| true);
        found.all(&self.graph, 1, Phenomenon::G2Item, is_item);
        found.all(&self.graph, 1, Phenomenon::G2, |_| true);
        found.all(&self.timed, 1, Phenomenon::RealTime, |_| true);
        found.cycles
    }

    /// Cycles with one arc of anti-dependency.
    fn singles(&self, found: &mut Found) {
        let components = self.alternating.components(|_| true);
        for members in &components.members {
            if members.iter().any(|&node| found.is_told[node as usize / 2]) {
                continue;
            }
            let is_inside = |node: u32| components.of[node as usize] == components.of[members[0] as usize];
            let arcs = self.alternating.arcs().iter();
            let starts = arcs.filter(|arc| arc.kind.is_rw() && is_inside(arc.from) && is_inside(arc.to));
            let close = |arc: &Arc| {
                let (from, to) = (arc.from / 2, arc.to / 2);
                let mut cycle = vec![Arc { from, to, ..*arc }];
                cycle.extend(self.graph.path(to, from, |arc| arc.kind.is_dependency())?);
                Some(cycle)
            };
            let Some(cycle) = starts.take(SINGLES_MAX).filter_map(close).min_by_key(Vec::len) else {
                continue;
            };
            found.add(Phenomenon::GSingle, &cycle, 1, self.length as u32);
            for &node in members {
                found.is_told[node as usize / 2] = true;
            }
        }
    }
}

/// Cycles found so far, and who is on them.
struct Found {
    first: Rank,
    is_told: Vec<bool>,
    cycles: Vec<Cycle>,
}

impl Found {
    /// A cycle of each component of which nothing stronger was told. A transaction is so many nodes.
    fn all(&mut self, graph: &Graph, nodes: u32, phenomenon: Phenomenon, is_allowed: impl Fn(&Arc) -> bool) {
        let components = graph.components(&is_allowed);
        let length = self.is_told.len() as u32;
        for which in 0..components.members.len() {
            let own = components.members[which].iter().map(|node| node / nodes).filter(|&n| n < length);
            let own: Vec<u32> = own.collect();
            if !own.iter().any(|&n| self.is_told[n as usize]) {
                self.add(phenomenon, &graph.cycle(&components, which, &is_allowed), nodes, length);
                for n in own {
                    self.is_told[n as usize] = true;
                }
            }
        }
    }

    /// Writes a cycle down between transactions.
    fn add(&mut self, phenomenon: Phenomenon, cycle: &[Arc], nodes: u32, length: u32) {
        let rank = |node: u32| Rank(self.first.0 + node / nodes);
        let mut edges: Vec<Edge> = Vec::new();
        let start = cycle.iter().position(|arc| arc.from / nodes < length).unwrap_or_default();
        let mut from = Rank::NONE;
        for arc in cycle[start..].iter().chain(&cycle[..start]) {
            if arc.from / nodes < length {
                from = rank(arc.from);
            }
            if arc.to / nodes < length {
                edges.push(Edge { from, to: rank(arc.to), kind: arc.kind, key: arc.key });
            }
        }
        self.cycles.push(Cycle { phenomenon, edges });
    }
}

/// The arcs of sessions and of real time.
fn add_time(txns: &Txns<'_>, first: Rank, length: usize, arcs: &mut Vec<Arc>) {
    let rank = |node: usize| Rank(first.0 + node as u32);
    let attempts: Vec<_> = (0..length).map(|node| txns.attempt(rank(node))).collect();
    let mut add = |from: usize, to: usize, kind| {
        arcs.push(Arc { from: from as u32, to: to as u32, kind, key: KeyId::NONE });
    };
    for (node, attempt) in attempts.iter().enumerate() {
        add(node, length + node, EdgeKind::RealTime);
        if node + 1 < length {
            add(length + node, length + node + 1, EdgeKind::RealTime);
        }
        let earlier = attempts.partition_point(|other| other.responded < attempt.invoked);
        if earlier > 0 {
            add(length + earlier - 1, node, EdgeKind::RealTime);
        }
        if let Some(before) = txns.before(rank(node)).filter(|before| *before >= first) {
            add(before.at() - first.at(), node, EdgeKind::Session);
        }
    }
}
