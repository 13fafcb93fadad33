//! Victims by strongly connected components (Ding, Kot, Gehrke 2018): of each component with more than one
//! transaction, remove the best victim by the policy, and divide the rest into components again.
//!
//! Components are found by Tarjan's method (1972), with a stack of its own in place of recursion.

use crate::bits;
use crate::graph::BatchGraph;
use crate::policy::{Best, Scoring};

/// The method, with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Components {
    tarjan: Tarjan,
    /// The component at hand: as a set, and as a list.
    within: Vec<u64>,
    members: Vec<u32>,
    waiting: Waiting,
}

/// Components with more than one transaction that wait for their victims, one after the other.
#[derive(Clone, Debug, Default)]
struct Waiting {
    members: Vec<u32>,
    /// The place of each component's first member.
    starts: Vec<u32>,
}

impl Waiting {
    /// Moves the last component to `members`; returns `false` if there is none.
    fn take(&mut self, members: &mut Vec<u32>) -> bool {
        let Some(start) = self.starts.pop() else { return false };
        members.clear();
        members.extend(self.members.drain(start as usize..));
        true
    }
}

impl Components {
    /// Adds the victims of a graph to `victims`.
    pub(crate) fn choose(&mut self, graph: &BatchGraph, scoring: Scoring<'_>, victims: &mut Vec<u32>) {
        let len = graph.len();
        self.tarjan.begin(len);
        self.waiting.members.reserve(len);
        self.waiting.starts.reserve(len);
        bits::fill(&mut self.within, len);
        self.members.clear();
        self.members.extend(0..len as u32);
        self.tarjan.divide(graph, &self.within, &self.members, &mut self.waiting);
        while self.waiting.take(&mut self.members) {
            bits::clear(&mut self.within, len);
            for at in &self.members {
                bits::insert(&mut self.within, *at as usize);
            }
            let victim = self.best(graph, scoring);
            victims.push(victim);
            bits::remove(&mut self.within, victim as usize);
            self.members.retain(|at| *at != victim);
            self.tarjan.divide(graph, &self.within, &self.members, &mut self.waiting);
        }
    }

    /// The best victim of the component at hand, by its edges within the component.
    fn best(&self, graph: &BatchGraph, scoring: Scoring<'_>) -> u32 {
        let mut best = Best::NONE;
        for at in bits::ones(&self.within) {
            let incoming = bits::count_both(graph.predecessors(at), &self.within);
            let outgoing = bits::count_both(graph.successors(at), &self.within);
            best.see(at, scoring.of(at, incoming, outgoing));
        }
        best.at().expect("a component has members") as u32
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> Vec<usize> {
        let (tarjan, waiting) = (&self.tarjan, &self.waiting);
        let lists = [&self.members, &waiting.members, &waiting.starts];
        let of_tarjan = [&tarjan.numbers, &tarjan.lows, &tarjan.stack];
        let frames = [self.within.capacity(), tarjan.frames.capacity()];
        [lists.map(Vec::capacity).as_slice(), &of_tarjan.map(Vec::capacity), &frames].concat()
    }
}

/// The number of a transaction that was not visited yet.
const NEW: u32 = 0;
/// The number of a transaction whose component is known.
const DONE: u32 = u32::MAX;

/// Tarjan's search.
#[derive(Clone, Debug, Default)]
struct Tarjan {
    /// Numbers in the order of the first visits, from 1.
    numbers: Vec<u32>,
    /// The least number on the stack to which a transaction leads.
    lows: Vec<u32>,
    /// Visited transactions whose component is not known yet.
    stack: Vec<u32>,
    frames: Vec<Frame>,
    visited: u32,
}

/// A visit that is not over: the transaction, and its successors that are still to be followed.
#[derive(Clone, Copy, Debug)]
struct Frame {
    at: u32,
    /// The word of the row, and the bits of it that are left.
    word: u32,
    bits: u64,
}

impl Tarjan {
    fn begin(&mut self, len: usize) {
        for numbers in [&mut self.numbers, &mut self.lows] {
            numbers.clear();
            numbers.resize(len, NEW);
        }
        self.stack.reserve(len);
        self.frames.reserve(len);
    }

    /// Divides a part of the graph, given as a set and as a list, and adds components of more than one transaction.
    fn divide(&mut self, graph: &BatchGraph, within: &[u64], members: &[u32], components: &mut Waiting) {
        for at in members {
            self.numbers[*at as usize] = NEW;
        }
        self.visited = 0;
        for &root in members {
            if self.numbers[root as usize] == NEW {
                self.visit(graph, within, root, components);
            }
        }
    }

    fn visit(&mut self, graph: &BatchGraph, within: &[u64], root: u32, components: &mut Waiting) {
        self.enter(graph, within, root);
        while let Some(frame) = self.frames.last_mut() {
            let at = frame.at as usize;
            if frame.bits != 0 {
                let next = frame.word * 64 + frame.bits.trailing_zeros();
                frame.bits &= frame.bits - 1;
                match self.numbers[next as usize] {
                    NEW => self.enter(graph, within, next),
                    number => self.lows[at] = self.lows[at].min(number),
                }
            } else if (frame.word as usize) + 1 < within.len() {
                frame.word += 1;
                let word = frame.word as usize;
                frame.bits = graph.successors(at)[word] & within[word];
            } else {
                self.leave(at, components);
            }
        }
    }

    fn enter(&mut self, graph: &BatchGraph, within: &[u64], at: u32) {
        self.visited += 1;
        self.numbers[at as usize] = self.visited;
        self.lows[at as usize] = self.visited;
        self.stack.push(at);
        self.frames.push(Frame { at, word: 0, bits: graph.successors(at as usize)[0] & within[0] });
    }

    /// Ends a visit: a transaction that leads to none before it is the first of its component, and the rest of the
    /// component is above it on the stack.
    fn leave(&mut self, at: usize, components: &mut Waiting) {
        self.frames.pop();
        let low = self.lows[at];
        if let Some(parent) = self.frames.last() {
            let parent = parent.at as usize;
            self.lows[parent] = self.lows[parent].min(low);
        }
        if low != self.numbers[at] {
            return;
        }
        let start = self.stack.iter().rposition(|member| *member == at as u32).expect("it is on the stack");
        for member in &self.stack[start..] {
            self.numbers[*member as usize] = DONE;
        }
        if self.stack.len() - start > 1 {
            components.starts.push(components.members.len() as u32);
            components.members.extend_from_slice(&self.stack[start..]);
        }
        self.stack.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::DegreeScore;
    use crate::testing::random_graph;

    fn components(graph: &BatchGraph) -> Vec<Vec<u32>> {
        let (mut within, mut tarjan, mut waiting) = (Vec::new(), Tarjan::default(), Waiting::default());
        let members: Vec<u32> = (0..graph.len() as u32).collect();
        bits::fill(&mut within, graph.len());
        tarjan.begin(graph.len());
        tarjan.divide(graph, &within, &members, &mut waiting);
        let (mut found, mut component) = (Vec::new(), Vec::new());
        while waiting.take(&mut component) {
            component.sort_unstable();
            found.push(component.clone());
        }
        found.sort();
        found
    }

    /// Components by the definition: whoever is reached, and reaches back.
    fn by_definition(graph: &BatchGraph) -> Vec<Vec<u32>> {
        let len = graph.len();
        let mut reaches: Vec<Vec<bool>> =
            (0..len).map(|from| (0..len).map(|to| graph.has_edge(from, to)).collect()).collect();
        for through in 0..len {
            for from in 0..len {
                for to in 0..len {
                    reaches[from][to] |= reaches[from][through] && reaches[through][to];
                }
            }
        }
        let is_one = |at: usize, to: usize| to == at || (reaches[at][to] && reaches[to][at]);
        let of = |at| (0..len as u32).filter(|to| is_one(at, *to as usize)).collect();
        let mut found: Vec<Vec<u32>> = (0..len).map(of).collect();
        found.retain(|members| members.len() > 1);
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn components_are_those_of_the_definition() {
        for seed in 0..150 {
            let len = [1, 2, 5, 12, 40, 70][seed as usize % 6];
            let graph = random_graph(seed, len, [0.5, 1.0, 1.5, 4.0][seed as usize % 4]);
            assert_eq!(components(&graph), by_definition(&graph), "seed {seed}");
        }
    }

    #[test]
    fn degrees_are_counted_within_the_component() {
        // 0 and 1 are a cycle; 2 to 5 hang on 1 by edges that are on no cycle, so that 1 is no better than 0.
        let edges = [(0, 1), (1, 0), (1, 2), (1, 3), (4, 1), (5, 1)];
        let graph = BatchGraph::from_edges(6, edges).unwrap();
        let mut victims = Vec::new();
        let scoring = Scoring { degrees: DegreeScore::Product, factors: &[1.0; 6] };
        Components::default().choose(&graph, scoring, &mut victims);
        assert_eq!(victims, [0]);
    }
}
