//! Victims by reductions: reduce the graph while that costs nothing, remove the best victim by the policy when no
//! reduction applies, and at the end put back each victim without which there is no cycle anyway. This method is ours.
//!
//! The reductions keep at least one best set of victims, which is least by the sum of one over the victims' factors:
//!
//! 1. a transaction without incoming or without outgoing edges is on no cycle (Levy and Low, "A Contraction Algorithm
//!    for Finding Small Cycle Cutsets", J. Algorithms 9, 1988), as are the next two;
//! 2. each cycle through a transaction with one predecessor goes through that predecessor, which is therefore as
//!    good a victim: the transaction is *bypassed*, and its successors become those of the predecessor. The same
//!    holds for one successor;
//! 3. a transaction that would have an edge to itself after a bypass is a victim;
//! 4. if all edges of a transaction lead there and back, and its neighbours with it are all in 2-cycles with
//!    each other, all of them but one are victims, and the transaction is kept (Lin and Jou, "On Computing the
//!    Minimum Feedback Vertex Set of a Directed Graph by Contraction Operations", IEEE TCAD 19(3), 2000).
//!    Transactions that read and write one hot key are such a clique.
//!
//! Reductions 2 to 4 make one transaction a victim in place of another. They are applied only if the policy does not
//! prefer to keep the former: its factor must not be lower.

use crate::bits;
use crate::graph::{BatchGraph, row, row_mut};
use crate::policy::{Best, Scoring};

/// The method, with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reduced {
    words: usize,
    left: Vec<u64>,
    /// Transactions of which an edge has changed since the reductions were tried on them.
    touched: Vec<u64>,
    /// Edges among those that are left: to successors, and to predecessors.
    sides: [Side; 2],
    put_back: PutBack,
}

/// The edges in one direction.
#[derive(Clone, Debug, Default)]
struct Side {
    rows: Vec<u64>,
    degrees: Vec<u32>,
}

/// The side of successors.
const AFTER: usize = 0;
/// The side of predecessors.
const BEFORE: usize = 1;

impl Side {
    fn begin(&mut self, rows: &[u64], degrees: &[u32]) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.degrees.clear();
        self.degrees.extend_from_slice(degrees);
    }

    /// Removes an edge.
    #[inline]
    fn cut(&mut self, words: usize, from: usize, to: usize) {
        bits::remove(row_mut(&mut self.rows, words, from), to);
        self.degrees[from] -= 1;
    }
}

impl Reduced {
    /// Adds the victims of a graph to `victims`, which is empty.
    pub(crate) fn choose(&mut self, graph: &BatchGraph, scoring: Scoring<'_>, victims: &mut Vec<u32>) {
        self.begin(graph);
        loop {
            self.reduce(scoring.factors, victims);
            let Some(victim) = self.best(scoring) else { break };
            self.remove_victim(victim, victims);
        }
        self.put_back.run(graph, scoring.factors, victims);
    }

    /// Copies the graph.
    fn begin(&mut self, graph: &BatchGraph) {
        let (successors, predecessors) = graph.matrices();
        self.words = graph.words();
        self.sides[AFTER].begin(successors, graph.out_degrees());
        self.sides[BEFORE].begin(predecessors, graph.in_degrees());
        bits::clear(&mut self.left, graph.len());
        for (at, (after, before)) in graph.out_degrees().iter().zip(graph.in_degrees()).enumerate() {
            // A transaction without any edge is not even begun with.
            if after + before > 0 {
                bits::insert(&mut self.left, at);
            }
        }
        self.touched.clone_from(&self.left);
    }

    /// The best victim among those that are left.
    fn best(&self, scoring: Scoring<'_>) -> Option<usize> {
        let [after, before] = &self.sides;
        let mut best = Best::NONE;
        for at in bits::ones(&self.left) {
            best.see(at, scoring.of(at, before.degrees[at], after.degrees[at]));
        }
        best.at()
    }

    /// Applies the reductions until none applies.
    fn reduce(&mut self, factors: &[f64], victims: &mut Vec<u32>) {
        while let Some(at) = bits::pop(&mut self.touched) {
            if bits::has(&self.left, at) {
                self.reduce_at(at, factors, victims);
            }
        }
    }

    fn reduce_at(&mut self, at: usize, factors: &[f64], victims: &mut Vec<u32>) {
        let degrees = [AFTER, BEFORE].map(|side| self.sides[side].degrees[at]);
        if degrees.contains(&0) {
            self.remove(at);
            return;
        }
        for side in [AFTER, BEFORE] {
            if degrees[side] == 1 {
                let only = bits::first(self.row(side, at)).expect("the degree is one");
                if factors[only] >= factors[at] {
                    return self.bypass(at, only, 1 - side, victims);
                }
            }
        }
        if degrees[AFTER] == degrees[BEFORE] && self.is_in_clique(at, factors) {
            self.remove_neighbours(at, victims);
        }
    }

    /// Merges a transaction into its only neighbour on one side. Its neighbours are on the side `others`.
    fn bypass(&mut self, at: usize, into: usize, others: usize, victims: &mut Vec<u32>) {
        if bits::has(self.row(others, at), into) {
            return self.remove_victim(into, victims);
        }
        let words = self.words;
        let [after, before] = &mut self.sides;
        let (there, back) = if others == AFTER { (after, before) } else { (before, after) };
        for word in 0..words {
            let moved = there.rows[at * words + word];
            let known = there.rows[into * words + word];
            there.rows[into * words + word] = known | moved;
            there.degrees[into] += (moved & !known).count_ones();
            self.touched[word] |= moved;
            for bit in bits::ones_of(moved) {
                let other = word * 64 + bit;
                bits::remove(row_mut(&mut back.rows, words, other), at);
                if known >> bit & 1 == 0 {
                    bits::insert(row_mut(&mut back.rows, words, other), into);
                } else {
                    back.degrees[other] -= 1;
                }
            }
        }
        there.cut(words, into, at);
        bits::remove(&mut self.left, at);
        bits::insert(&mut self.touched, into);
    }

    /// Returns `true` if all neighbours of a transaction are in 2-cycles with it and with each other, and the
    /// policy prefers none of them to it.
    fn is_in_clique(&self, at: usize, factors: &[f64]) -> bool {
        let neighbours = self.row(AFTER, at);
        let has_all = |row: &[u64], other: usize| {
            let missing = row.iter().zip(neighbours).enumerate();
            missing.fold(0, |missing, (word, (row, all))| {
                let own = if word == other / 64 { 1 << (other % 64) } else { 0 };
                missing | (all & !row & !own)
            }) == 0
        };
        neighbours == self.row(BEFORE, at)
            && bits::ones(neighbours).all(|other| {
                factors[other] >= factors[at]
                    && has_all(self.row(AFTER, other), other)
                    && has_all(self.row(BEFORE, other), other)
            })
    }

    /// Makes all neighbours of a transaction victims, and removes it.
    fn remove_neighbours(&mut self, at: usize, victims: &mut Vec<u32>) {
        while let Some(other) = bits::first(self.row(AFTER, at)) {
            self.remove_victim(other, victims);
        }
        self.remove(at);
    }

    fn remove_victim(&mut self, at: usize, victims: &mut Vec<u32>) {
        victims.push(at as u32);
        self.remove(at);
    }

    /// Removes a transaction with its edges.
    fn remove(&mut self, at: usize) {
        let words = self.words;
        let [after, before] = &mut self.sides;
        cut_all(after, before, &mut self.touched, words, at);
        cut_all(before, after, &mut self.touched, words, at);
        bits::remove(&mut self.left, at);
    }

    #[inline]
    fn row(&self, side: usize, at: usize) -> &[u64] {
        row(&self.sides[side].rows, self.words, at)
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> Vec<usize> {
        let [after, before] = &self.sides;
        let sets = [&self.left, &self.touched, &after.rows, &before.rows].map(Vec::capacity);
        let degrees = [&after.degrees, &before.degrees].map(Vec::capacity);
        [&sets[..], &degrees, &self.put_back.capacities()].concat()
    }
}

/// Removes a transaction from the rows of its neighbours on one side.
fn cut_all(there: &Side, back: &mut Side, touched: &mut [u64], words: usize, at: usize) {
    for (word, touched) in touched.iter_mut().enumerate() {
        let others = there.rows[at * words + word];
        *touched |= others;
        for bit in bits::ones_of(others) {
            back.cut(words, word * 64 + bit, at);
        }
    }
}

/// The last step: victims without which there is no cycle anyway are put back, so that no victim can be spared.
#[derive(Clone, Debug, Default)]
struct PutBack {
    kept: Vec<u64>,
    reached: Vec<u64>,
    open: Vec<u64>,
    /// Victims with their factors and their places in the order in which they were chosen.
    candidates: Vec<(f64, u32, u32)>,
}

impl PutBack {
    /// Leaves the necessary ones of `victims`. Those that the policy prefers to keep are put back first, and of equal
    /// ones the last one chosen: the first ones have the highest degrees.
    fn run(&mut self, graph: &BatchGraph, factors: &[f64], victims: &mut Vec<u32>) {
        if victims.is_empty() {
            return;
        }
        bits::fill(&mut self.kept, graph.len());
        bits::clear(&mut self.reached, graph.len());
        for at in &*victims {
            bits::remove(&mut self.kept, *at as usize);
        }
        self.candidates.clear();
        self.candidates.reserve(graph.len());
        let chosen = victims.iter().zip(0..).map(|(at, place)| (factors[*at as usize], place, *at));
        self.candidates.extend(chosen);
        self.candidates.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        victims.clear();
        for place in 0..self.candidates.len() {
            let at = self.candidates[place].2;
            if self.closes_a_cycle(graph, at as usize) {
                victims.push(at);
            } else {
                bits::insert(&mut self.kept, at as usize);
            }
        }
    }

    /// Returns `true` if a path leads from a transaction through those that are kept back to it.
    fn closes_a_cycle(&mut self, graph: &BatchGraph, at: usize) -> bool {
        let ends = graph.predecessors(at);
        self.open.clear();
        self.open.extend(graph.successors(at).iter().zip(&self.kept).map(|(row, kept)| row & kept));
        if bits::meet(&self.open, ends) {
            return true;
        }
        self.reached.clear();
        self.reached.extend_from_slice(&self.open);
        while let Some(next) = bits::pop(&mut self.open) {
            let mut meets = 0;
            for (word, row) in graph.successors(next).iter().enumerate() {
                let new = row & self.kept[word] & !self.reached[word];
                self.reached[word] |= new;
                self.open[word] |= new;
                meets |= new & ends[word];
            }
            if meets != 0 {
                return true;
            }
        }
        false
    }

    #[cfg(test)]
    fn capacities(&self) -> [usize; 4] {
        let [kept, reached, open] = [&self.kept, &self.reached, &self.open].map(Vec::capacity);
        [kept, reached, open, self.candidates.capacity()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_graph;

    #[test]
    fn reductions_go_on_until_none_applies() {
        let mut rng = stdx::Rng::new(30);
        for seed in 0..600 {
            let len = 5 + seed as usize % 80;
            let graph = random_graph(seed, len, [1.0, 1.5, 2.5][seed as usize % 3]);
            let kinds = [1, 3][seed as usize % 2];
            let factors: Vec<f64> = (0..len).map(|_| 1.0 / rng.between(1, kinds) as f64).collect();
            let (mut method, mut victims) = (Reduced::default(), Vec::new());
            method.begin(&graph);
            method.reduce(&factors, &mut victims);
            for at in bits::ones(&method.left) {
                for side in [AFTER, BEFORE] {
                    let degree = method.sides[side].degrees[at];
                    assert_eq!(degree, bits::count_both(method.row(side, at), &method.left), "seed {seed}");
                    let is_kept = || bits::ones(method.row(side, at)).all(|only| factors[only] < factors[at]);
                    assert!(degree > 1 || (degree == 1 && is_kept()), "seed {seed}: {at} has {degree}");
                }
            }
        }
    }

    #[test]
    fn a_clique_of_successors_alone_is_no_clique() {
        // 0 leads to 1 and 2, which lead to each other, and is reached from 3 and 4.
        let edges = [(0, 1), (0, 2), (1, 2), (2, 1), (3, 0), (4, 0), (1, 3), (2, 4)];
        let graph = BatchGraph::from_edges(5, edges).unwrap();
        let mut method = Reduced::default();
        method.begin(&graph);
        assert!(!method.is_in_clique(0, &[1.0; 5]));
    }

    #[test]
    fn a_clique_is_solved_with_what_hangs_on_it() {
        // Each of five transactions in a clique but the first one is also in a 2-cycle with one of its own.
        let clique = (0..5).flat_map(|from| (0..5).map(move |to| (from, to)));
        let others = (1..5).flat_map(|at| [(at, at + 5), (at + 5, at)]);
        let graph = BatchGraph::from_edges(10, clique.chain(others)).unwrap();
        let (mut method, mut victims) = (Reduced::default(), Vec::new());
        method.begin(&graph);
        method.reduce(&[1.0; 10], &mut victims);
        victims.sort_unstable();
        assert_eq!((victims, bits::count(&method.left)), (vec![1, 2, 3, 4], 0));
    }
}
