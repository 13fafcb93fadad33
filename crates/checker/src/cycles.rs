//! The phenomena of the cycles in a stretch of history, and which of these cycles a level forbids.

use crate::graph::{ALONE, Arc, Components, Graph, Paths};
use crate::keys::KeyId;
use crate::level::{Level, Phenomenon};
use crate::txns::{Rank, Txns};
use crate::walk::{Edge, EdgeKind};

/// The largest number of anti-dependency arcs of one component from which a cycle without another such arc is searched.
const SINGLES_MAX: usize = 256;

/// A cycle and its phenomenon.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub(crate) phenomenon: Phenomenon,
    pub(crate) edges: Vec<Edge>,
}

/// A stretch of neighbouring transactions in the layout, with the edges between them.
pub(crate) struct Stretch<'s, 'h> {
    txns: &'s Txns<'h>,
    first: Rank,
    /// The number of transactions.
    length: usize,
    arcs: Vec<Arc>,
}

impl<'s, 'h> Stretch<'s, 'h> {
    /// The stretch from `first` to `last`, which contains both ends of all the edges.
    pub(crate) fn new(
        txns: &'s Txns<'h>,
        (first, last): (Rank, Rank),
        edges: impl Iterator<Item = Edge>,
    ) -> Self {
        let node = |rank: Rank| rank.0 - first.0;
        let arc =
            |edge: Edge| Arc { from: node(edge.from), to: node(edge.to), kind: edge.kind, key: edge.key };
        Self { txns, first, length: last.at() - first.at() + 1, arcs: edges.map(arc).collect() }
    }

    /// The graph of all arcs except those of sessions and real time.
    fn graph(&self) -> Graph {
        Graph::new(self.length, self.length, &self.arcs)
    }

    /// A graph in which no two arcs of anti-dependency follow each other: each transaction is two nodes, and arcs of
    /// anti-dependency lead to the odd node.
    fn alternating(&self) -> Graph {
        let mut doubled = Vec::with_capacity(self.arcs.len() * 2);
        for arc in &self.arcs {
            if arc.kind.is_rw() {
                doubled.push(Arc { from: arc.from * 2, to: arc.to * 2 + 1, ..*arc });
            } else {
                doubled.push(Arc { from: arc.from * 2, to: arc.to * 2, ..*arc });
                doubled.push(Arc { from: arc.from * 2 + 1, to: arc.to * 2, ..*arc });
            }
        }
        Graph::new(self.length * 2, self.length * 2, &doubled)
    }

    /// The graph of all arcs, with real time: each transaction points to a node for the moment of its response, each
    /// such moment points to the next, and the last moment before a transaction was invoked points to that transaction.
    fn timed(&self) -> Graph {
        let mut arcs = self.arcs.clone();
        add_time(self.txns, self.first, self.length, &mut arcs);
        Graph::new(self.length, self.length * 2, &arcs)
    }

    /// Whether the level forbids any cycle here.
    pub(crate) fn violates(&self, level: Level) -> bool {
        if self.length <= Small::TXNS_MAX {
            return Small::new(self, level).has_cycle();
        }
        !self.forbidden(level).members.is_empty()
    }

    /// The transactions on cycles that the level forbids, a bool for each transaction of the stretch.
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
            Level::ReadCommitted => self.graph().components(|arc| arc.kind.is_dependency()),
            Level::SnapshotIsolation => self.alternating().components(|_| true),
            Level::Serializable => self.graph().components(|_| true),
            Level::StrictlySerializable => self.timed().components(|_| true),
        }
    }

    /// The strongest phenomenon of each strongly connected component, with a cycle that shows it.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        if self.length <= Small::TXNS_MAX && !self.violates(Level::StrictlySerializable) {
            return Vec::new();
        }
        let timed = self.timed();
        if timed.components(|_| true).members.is_empty() {
            return Vec::new();
        }
        let (graph, alternating) = (self.graph(), self.alternating());
        let mut found = Found { first: self.first, is_told: vec![false; self.length], cycles: Vec::new() };
        let is_item = |arc: &Arc| arc.kind != EdgeKind::RwPredicate;
        found.all(&graph, 1, Phenomenon::G0, |arc| arc.kind == EdgeKind::Ww);
        found.all(&graph, 1, Phenomenon::G1c, |arc| arc.kind.is_dependency());
        found.singles(&graph, &alternating);
        found.all(&alternating, 2, Phenomenon::GNonadjacent, |_| true);
        found.all(&graph, 1, Phenomenon::G2Item, is_item);
        found.all(&graph, 1, Phenomenon::G2, |_| true);
        found.all(&timed, 1, Phenomenon::RealTime, |_| true);
        found.cycles
    }
}

/// The graph of few transactions, as bit masks: most windows are only asked whether they contain a cycle.
struct Small {
    nodes: usize,
    /// The predecessors of each node, one bit each.
    before: [u64; 2 * Small::TXNS_MAX],
}

impl Small {
    const TXNS_MAX: usize = 32;

    fn new(stretch: &Stretch<'_, '_>, level: Level) -> Self {
        let is_split = level == Level::SnapshotIsolation;
        let nodes = stretch.length * if is_split { 2 } else { 1 };
        let mut small = Self { nodes, before: [0; 2 * Self::TXNS_MAX] };
        if is_split {
            // The reads of a transaction come before its writes.
            (0..stretch.length).for_each(|txn| small.before[2 * txn + 1] |= 1 << (2 * txn));
        }
        for &Arc { from, to, kind, .. } in &stretch.arcs {
            if is_split {
                let (from, to) = (2 * from + u32::from(!kind.is_rw()), 2 * to + u32::from(kind.is_rw()));
                small.before[to as usize] |= 1 << from;
            } else if level != Level::ReadCommitted || kind.is_dependency() {
                small.before[to as usize] |= 1 << from;
            }
        }
        if level == Level::StrictlySerializable {
            small.add_time(stretch);
        }
        small
    }

    fn add_time(&mut self, stretch: &Stretch<'_, '_>) {
        let rank = |node: usize| Rank(stretch.first.0 + node as u32);
        let mut responses = [0; Self::TXNS_MAX];
        for (node, responded) in responses.iter_mut().enumerate().take(stretch.length) {
            *responded = stretch.txns.attempt(rank(node)).responded;
        }
        for node in 0..stretch.length {
            let invoked = stretch.txns.attempt(rank(node)).invoked;
            for (other, responded) in responses.iter().enumerate().take(stretch.length) {
                self.before[node] |= u64::from(*responded < invoked) << other;
            }
            let before =
                stretch.txns.before(rank(node)).and_then(|before| before.0.checked_sub(stretch.first.0));
            if let Some(before) = before.filter(|before| (*before as usize) < stretch.length) {
                self.before[node] |= 1 << before;
            }
        }
    }

    /// Removes nodes without predecessors until none is left (no cycle) or all that are left have one (a cycle).
    fn has_cycle(&self) -> bool {
        let mut left = u64::MAX >> (64 - self.nodes);
        while left != 0 {
            let mut kept = left;
            for node in (0..self.nodes).filter(|node| left >> node & 1 == 1) {
                if self.before[node] & kept == 0 {
                    kept &= !(1 << node);
                }
            }
            if kept == left {
                return true;
            }
            left = kept;
        }
        false
    }
}

/// The cycles found so far, and the transactions on them.
struct Found {
    first: Rank,
    is_told: Vec<bool>,
    cycles: Vec<Cycle>,
}

impl Found {
    /// Adds a cycle of each component in which no stronger phenomenon was found. A transaction is `nodes` nodes.
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

    /// Adds cycles with exactly one arc of anti-dependency.
    fn singles(&mut self, graph: &Graph, alternating: &Graph) {
        let components = alternating.components(|_| true);
        let mut paths = Paths::default();
        for members in &components.members {
            if members.iter().any(|&node| self.is_told[node as usize / 2]) {
                continue;
            }
            let is_inside = |node: u32| components.of[node as usize] == components.of[members[0] as usize];
            let arcs = alternating.arcs().iter();
            let starts = arcs.filter(|arc| arc.kind.is_rw() && is_inside(arc.from) && is_inside(arc.to));
            let mut best: Option<Vec<Arc>> = None;
            for arc in starts.take(SINGLES_MAX) {
                let (from, to) = (arc.from / 2, arc.to / 2);
                let length_max = best.as_ref().map_or(u32::MAX, |best| best.len() as u32 - 2);
                let is_dependency = |arc: &Arc| arc.kind.is_dependency();
                if let Some(path) = graph.path((to, from), length_max, &mut paths, is_dependency) {
                    let mut cycle = vec![Arc { from, to, ..*arc }];
                    cycle.extend(path);
                    best = Some(cycle);
                }
            }
            let Some(cycle) = best else { continue };
            let length = self.is_told.len() as u32;
            self.add(Phenomenon::GSingle, &cycle, 1, length);
            for &node in members {
                self.is_told[node as usize / 2] = true;
            }
        }
    }

    /// Adds a cycle as edges between transactions.
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

/// Adds the arcs of sessions and of real time.
fn add_time(txns: &Txns<'_>, first: Rank, length: usize, arcs: &mut Vec<Arc>) {
    let rank = |node: usize| Rank(first.0 + node as u32);
    let mut responses: Vec<(u64, usize)> =
        (0..length).map(|node| (txns.attempt(rank(node)).responded, node)).collect();
    responses.sort_unstable();
    let mut add = |from: usize, to: usize, kind| {
        arcs.push(Arc { from: from as u32, to: to as u32, kind, key: KeyId::NONE });
    };
    for (nth, &(_, node)) in responses.iter().enumerate() {
        add(node, length + nth, EdgeKind::RealTime);
        if nth + 1 < length {
            add(length + nth, length + nth + 1, EdgeKind::RealTime);
        }
    }
    for node in 0..length {
        let invoked = txns.attempt(rank(node)).invoked;
        let earlier = responses.partition_point(|&(responded, _)| responded < invoked);
        if earlier > 0 {
            add(length + earlier - 1, node, EdgeKind::RealTime);
        }
        let before = txns.before(rank(node)).and_then(|before| before.0.checked_sub(first.0));
        if let Some(before) = before.map(|before| before as usize).filter(|before| *before < length) {
            add(before, node, EdgeKind::Session);
        }
    }
}
