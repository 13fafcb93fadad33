//! Directed graphs with arcs of several kinds: components and shortest cycles among the arcs of some kinds.

use std::collections::VecDeque;

use crate::keys::KeyId;
use crate::walk::EdgeKind;

/// An arc between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: EdgeKind,
    pub(crate) key: KeyId,
}

/// A graph. Its first nodes are transactions; the nodes behind them are auxiliary, and add no length to a path.
pub(crate) struct Graph {
    real: u32,
    /// The index of each node's first arc.
    first: Vec<u32>,
    arcs: Vec<Arc>,
}

/// The component number of nodes that are on no cycle.
pub(crate) const ALONE: u32 = u32::MAX;

/// Strongly connected components of more than one node.
pub(crate) struct Components {
    /// The component of each node.
    pub(crate) of: Vec<u32>,
    /// The nodes of each component.
    pub(crate) members: Vec<Vec<u32>>,
}

/// A depth-first search in progress, after Tarjan (1972).
struct Search {
    /// The time at which each node was found, from 1; 0 if it was not.
    found: Vec<u32>,
    low: Vec<u32>,
    is_open: Vec<bool>,
    open: Vec<u32>,
    /// Nodes on the path, each with its next arc.
    path: Vec<(u32, u32)>,
    clock: u32,
}

impl Search {
    fn enter(&mut self, node: u32, arc: u32) {
        self.clock += 1;
        (self.found[node as usize], self.low[node as usize]) = (self.clock, self.clock);
        self.is_open[node as usize] = true;
        self.open.push(node);
        self.path.push((node, arc));
    }
}

impl Graph {
    /// The graph of these arcs, with `nodes` nodes, of which the first `real` are transactions.
    pub(crate) fn new(real: usize, nodes: usize, arcs: &[Arc]) -> Self {
        let mut first = vec![0_u32; nodes + 1];
        for arc in arcs {
            first[arc.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut place = first.clone();
        let mut sorted = arcs.to_vec();
        for arc in arcs {
            let at = &mut place[arc.from as usize];
            sorted[*at as usize] = *arc;
            *at += 1;
        }
        Self { real: real as u32, first, arcs: sorted }
    }

    const fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    fn out(&self, node: u32) -> &[Arc] {
        &self.arcs[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The arcs.
    pub(crate) fn arcs(&self) -> &[Arc] {
        &self.arcs
    }

    /// The strongly connected components of more than one node, over the allowed arcs.
    pub(crate) fn components(&self, is_allowed: impl Fn(&Arc) -> bool) -> Components {
        let nodes = self.nodes();
        let mut search = Search {
            found: vec![0; nodes],
            low: vec![0; nodes],
            is_open: vec![false; nodes],
            open: Vec::new(),
            path: Vec::new(),
            clock: 0,
        };
        let mut components = Components { of: vec![ALONE; nodes], members: Vec::new() };
        for root in 0..nodes as u32 {
            if search.found[root as usize] != 0 {
                continue;
            }
            search.enter(root, self.first[root as usize]);
            while let Some(&(node, at)) = search.path.last() {
                if at == self.first[node as usize + 1] {
                    search.path.pop();
                    if let Some(&(above, _)) = search.path.last() {
                        search.low[above as usize] =
                            search.low[above as usize].min(search.low[node as usize]);
                    }
                    close(node, &mut search, &mut components);
                    continue;
                }
                search.path.last_mut().expect("it was just looked at").1 += 1;
                let arc = self.arcs[at as usize];
                let to = arc.to as usize;
                if !is_allowed(&arc) {
                } else if search.found[to] == 0 {
                    search.enter(arc.to, self.first[to]);
                } else if search.is_open[to] {
                    search.low[node as usize] = search.low[node as usize].min(search.found[to]);
                }
            }
        }
        components
    }

    /// The shortest path along allowed arcs, with at least one arc; `from` and `to` may be the same node. The search
    /// covers paths of at most `length_max` transactions.
    pub(crate) fn path(
        &self,
        (from, to): (u32, u32),
        length_max: u32,
        paths: &mut Paths,
        is_allowed: impl Fn(&Arc) -> bool,
    ) -> Option<Vec<Arc>> {
        paths.clear(self.nodes());
        let mut is_found = false;
        paths.queue.push_back((from, 0));
        while let Some((node, length)) = paths.queue.pop_front() {
            if is_found && node == to {
                break;
            }
            if std::mem::replace(&mut paths.is_done[node as usize], true) {
                continue;
            }
            paths.met.push(node);
            for arc in self.out(node).iter().filter(|arc| is_allowed(arc)) {
                let weight = u32::from(arc.to < self.real);
                let reached = length + weight;
                if reached <= length_max && paths.distance[arc.to as usize] > reached {
                    paths.distance[arc.to as usize] = reached;
                    paths.came_by[arc.to as usize] = Some(*arc);
                    paths.met.push(arc.to);
                    is_found |= arc.to == to;
                    if weight == 0 {
                        paths.queue.push_front((arc.to, length));
                    } else {
                        paths.queue.push_back((arc.to, reached));
                    }
                }
            }
        }
        let mut path = vec![paths.came_by[to as usize]?];
        while path.last().is_some_and(|arc| arc.from != from) {
            path.extend(paths.came_by[path.last()?.from as usize]);
        }
        path.reverse();
        Some(path)
    }

    /// The shortest cycle of a component that the search finds; it starts from some of the component's nodes only.
    pub(crate) fn cycle(
        &self,
        components: &Components,
        which: usize,
        is_allowed: impl Fn(&Arc) -> bool,
    ) -> Vec<Arc> {
        /// This many starts find the shortest cycle in any component that a person would look at.
        const STARTS_MAX: usize = 64;
        let members = &components.members[which];
        let is_inside = |arc: &Arc| {
            components.of[arc.from as usize] == which as u32 && components.of[arc.to as usize] == which as u32
        };
        let length = |cycle: &[Arc]| cycle.iter().filter(|arc| arc.to < self.real).count() as u32;
        let (mut paths, mut best, mut length_max) = (Paths::default(), Vec::new(), u32::MAX);
        for &node in members.iter().filter(|&&node| node < self.real).take(STARTS_MAX) {
            let is_good = |arc: &Arc| is_inside(arc) && is_allowed(arc);
            if let Some(cycle) = self.path((node, node), length_max, &mut paths, is_good) {
                length_max = length(&cycle) - 1;
                best = cycle;
            }
        }
        best
    }
}

/// The state of a path search, reused for many searches in one graph.
#[derive(Default)]
pub(crate) struct Paths {
    came_by: Vec<Option<Arc>>,
    distance: Vec<u32>,
    is_done: Vec<bool>,
    /// The nodes that the last search has reached.
    met: Vec<u32>,
    queue: VecDeque<(u32, u32)>,
}

impl Paths {
    /// Clears the last search; nodes that it has not reached are unchanged.
    fn clear(&mut self, nodes: usize) {
        self.came_by.resize(nodes, None);
        self.distance.resize(nodes, u32::MAX);
        self.is_done.resize(nodes, false);
        for node in self.met.drain(..) {
            self.came_by[node as usize] = None;
            self.distance[node as usize] = u32::MAX;
            self.is_done[node as usize] = false;
        }
        self.queue.clear();
    }
}

/// Completes a node that has no more arcs: if it was the first of its component, the component is complete.
fn close(node: u32, search: &mut Search, components: &mut Components) {
    if search.low[node as usize] != search.found[node as usize] {
        return;
    }
    let start = search.open.iter().rposition(|&open| open == node).expect("it is open until now");
    let members = search.open.split_off(start);
    for &member in &members {
        search.is_open[member as usize] = false;
    }
    if members.len() > 1 {
        for &member in &members {
            components.of[member as usize] = components.members.len() as u32;
        }
        components.members.push(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(real: usize, nodes: usize, arcs: &[(u32, u32)]) -> Graph {
        let arc = |&(from, to)| Arc { from, to, kind: EdgeKind::Ww, key: KeyId::NONE };
        Graph::new(real, nodes, &arcs.iter().map(arc).collect::<Vec<Arc>>())
    }

    #[test]
    fn components_are_what_lies_on_cycles_together() {
        let graph = graph(7, 7, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 4), (6, 0)]);
        let components = graph.components(|_| true);
        assert_eq!(components.members.len(), 2);
        assert_eq!((components.of[3], components.of[6]), (ALONE, ALONE));
        assert!(components.of[0] == components.of[1] && components.of[1] == components.of[2]);
        assert!(components.of[4] == components.of[5] && components.of[4] != components.of[0]);
        assert!(graph.components(|arc| arc.to != 0 && arc.to != 4).members.is_empty());
    }

    #[test]
    fn the_shortest_cycle_counts_transactions_only() {
        // The way through node 3 has two arcs more but one transaction less.
        let graph = graph(3, 6, &[(0, 1), (1, 2), (2, 0), (1, 3), (3, 4), (4, 5), (5, 0)]);
        let components = graph.components(|_| true);
        let cycle = graph.cycle(&components, 0, |_| true);
        assert_eq!(cycle.iter().filter(|arc| arc.to < 3).count(), 2);
        assert!(cycle.windows(2).all(|pair| pair[0].to == pair[1].from));
        let length = |length_max, without| {
            let is_allowed = move |arc: &Arc| arc.from != without;
            let path = graph.path((2, 3), length_max, &mut Paths::default(), is_allowed);
            path.map(|path| path.len())
        };
        assert_eq!(length(u32::MAX, 9), Some(3));
        assert_eq!(length(u32::MAX, 0), None);
        assert_eq!(length(1, 9), None);
    }
}
