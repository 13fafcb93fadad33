//! The least set of victims, by branch and bound: the standard by which the other methods are judged.
//!
//! The number of victims is least, or the sum of their weights. A minimum feedback vertex set is NP-hard to find, so
//! the search ends after a number of steps, with the best set so far. A step does this, for batches of up to 64
//! transactions, whose sets are words:
//!
//! 1. reduce the graph as [`crate::reduced`] does, after Levy and Low (1988) and Lin and Jou (2000). With weights, a
//!    transaction is bypassed only if the neighbour into which it is merged weighs no more: each cycle through the
//!    former goes through the latter, so that the latter can replace the former in any set. A clique of 2-cycles
//!    is reduced only if the transaction that is kept is the heaviest;
//! 2. give up if a lower bound reaches the best set: disjoint cliques, of which all but the heaviest are victims, then
//!    disjoint short cycles, of which the lightest is at least paid;
//! 3. solve strongly connected components apart;
//! 4. branch: the transaction with the most paths through it is a victim, or it is kept. In the latter case its
//!    partners in 2-cycles are victims, and it is bypassed.

use core::fmt;

use crate::bits::ones_of;
use crate::graph::BatchGraph;

/// The error for a batch that the exact method does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyTransactions(
    /// The number of transactions of the batch.
    pub usize,
);

impl TooManyTransactions {
    /// The largest batch of the exact method.
    pub const LEN_MAX: usize = 64;
}

impl fmt::Display for TooManyTransactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = Self::LEN_MAX;
        write!(
            f,
            "the exact method takes at most {most} transactions, not {}: choose another or cut the batch",
            self.0
        )
    }
}

impl core::error::Error for TooManyTransactions {}

/// The result of the exact method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimumVictims {
    /// The victims, a bit each.
    pub victims: u64,
    /// The sum of the weights of the victims; their number, if there are no weights.
    pub weight: u64,
    /// Whether the set is proved to be a least one. If not, the search ended before, and this is the best set that it
    /// found.
    pub is_proved: bool,
    /// Steps of the search.
    pub steps: u64,
}

/// Finds a set of victims of the least sum of weights in at most `steps_max` steps. A weight of 0 counts as 1; without
/// weights each transaction weighs 1.
///
/// # Errors
/// If there are more than 64 transactions.
///
/// # Panics
/// If there are weights, but not one for each transaction.
pub fn minimum_victims(
    graph: &BatchGraph,
    weights: Option<&[u32]>,
    steps_max: u64,
) -> Result<MinimumVictims, TooManyTransactions> {
    let len = graph.len();
    if len > TooManyTransactions::LEN_MAX {
        return Err(TooManyTransactions(len));
    }
    let mut each = [1; 64];
    if let Some(weights) = weights {
        assert_eq!(weights.len(), len, "each transaction has a weight");
        each.iter_mut().zip(weights).for_each(|(each, weight)| *each = u64::from(*weight).max(1));
    }
    let mut search = Search { weights: each, steps: 0, steps_max };
    let kernel = Kernel::of(graph);
    let greedy = search.greedy(kernel);
    let better = search.solve(kernel, greedy.weight);
    let best = better.unwrap_or(greedy);
    let is_proved = search.steps <= search.steps_max;
    Ok(MinimumVictims { victims: best.victims, weight: best.weight, is_proved, steps: search.steps })
}

/// A set of victims, and its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Chosen {
    victims: u64,
    weight: u64,
}

impl Chosen {
    fn and(self, other: Self) -> Self {
        Self { victims: self.victims | other.victims, weight: self.weight + other.weight }
    }
}

/// The graph that is left. Rows have only transactions that are left, and none has an edge to itself.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    left: u64,
    after: [u64; 64],
    before: [u64; 64],
}

impl Kernel {
    fn of(graph: &BatchGraph) -> Self {
        let mut kernel = Self { left: 0, after: [0; 64], before: [0; 64] };
        for at in 0..graph.len() {
            kernel.left |= 1 << at;
            kernel.after[at] = graph.successors(at)[0];
            kernel.before[at] = graph.predecessors(at)[0];
        }
        kernel
    }

    /// The partners of a transaction in 2-cycles.
    fn partners(&self, at: usize) -> u64 {
        self.after[at] & self.before[at]
    }

    fn neighbours(&self, at: usize) -> u64 {
        self.after[at] | self.before[at]
    }

    /// Removes a transaction with its edges.
    fn remove(&mut self, at: usize) {
        self.left &= !(1 << at);
        for other in ones_of(self.after[at]) {
            self.before[other] &= !(1 << at);
        }
        for other in ones_of(self.before[at]) {
            self.after[other] &= !(1 << at);
        }
    }

    /// Replaces a transaction, which is in no 2-cycle, by edges from its predecessors to its successors.
    fn bypass(&mut self, at: usize) {
        let (before, after) = (self.before[at], self.after[at]);
        debug_assert_eq!(before & after, 0, "a partner would get an edge to itself");
        self.remove(at);
        for other in ones_of(before) {
            self.after[other] |= after;
        }
        for other in ones_of(after) {
            self.before[other] |= before;
        }
    }

    /// The part of the graph within a set.
    fn within(&self, set: u64) -> Self {
        let mut part = *self;
        part.left &= set;
        for at in ones_of(part.left) {
            part.after[at] &= set;
            part.before[at] &= set;
        }
        part
    }

    /// The strongly connected component of a transaction.
    fn component(&self, at: usize) -> u64 {
        closure(&self.after, at) & closure(&self.before, at)
    }

    /// Removes what is on no cycle of a set, and returns the rest of the set.
    fn trimmed(&self, mut set: u64) -> u64 {
        loop {
            let is_on_none = |at: &usize| self.after[*at] & set == 0 || self.before[*at] & set == 0;
            let loose = ones_of(set).filter(is_on_none).fold(0, |loose, at| loose | 1 << at);
            if loose == 0 {
                return set;
            }
            set &= !loose;
        }
    }

    /// A shortest cycle through a transaction within a set, as a set; `None` if there is none.
    fn cycle(&self, at: usize, set: u64) -> Option<u64> {
        let mut levels = [0; 64];
        let (mut reached, mut level) = (0, 0);
        levels[0] = self.after[at] & set;
        while levels[level] & self.before[at] == 0 {
            reached |= levels[level];
            let next =
                ones_of(levels[level]).fold(0, |next, other| next | self.after[other]) & set & !reached;
            if next == 0 {
                return None;
            }
            level += 1;
            levels[level] = next;
        }
        // Back from the end, one transaction of each level.
        let mut cycle = 1 << at;
        let mut ends = self.before[at];
        for level in levels[..=level].iter().rev() {
            let on_it = (level & ends).trailing_zeros();
            cycle |= 1 << on_it;
            ends = self.before[on_it as usize];
        }
        Some(cycle)
    }
}

/// All transactions that are reached from one, and the one.
fn closure(rows: &[u64; 64], from: usize) -> u64 {
    let (mut reached, mut open) = (1 << from, 1_u64 << from);
    while open != 0 {
        let at = open.trailing_zeros() as usize;
        open &= open - 1;
        let new = rows[at] & !reached;
        reached |= new;
        open |= new;
    }
    reached
}

struct Search {
    weights: [u64; 64],
    steps: u64,
    steps_max: u64,
}

impl Search {
    /// Returns the best set with a weight below `limit`, or `None` if there is none or the steps are over.
    fn solve(&mut self, mut kernel: Kernel, limit: u64) -> Option<Chosen> {
        self.steps += 1;
        if self.steps > self.steps_max {
            return None;
        }
        let forced = self.reduce(&mut kernel);
        if forced.weight + self.bound(&kernel) >= limit {
            return None;
        }
        if kernel.left == 0 {
            return Some(forced);
        }
        let limit = limit - forced.weight;
        let component = kernel.component(kernel.left.trailing_zeros() as usize);
        let chosen = if component == kernel.left {
            self.branch(&kernel, limit)
        } else {
            // An edge between two components is on no cycle.
            let (first, second) = (kernel.within(component), kernel.within(!component));
            let of_first = self.solve(first, limit.saturating_sub(self.bound(&second)))?;
            Some(self.solve(second, limit - of_first.weight)?.and(of_first))
        };
        Some(chosen?.and(forced))
    }

    /// Tries a transaction as a victim, and as one that is kept.
    fn branch(&mut self, kernel: &Kernel, limit: u64) -> Option<Chosen> {
        let at = self.busiest(kernel);
        let mut without = *kernel;
        let removed = self.take(&mut without, 1 << at);
        let first = limit
            .checked_sub(removed.weight)
            .and_then(|limit| self.solve(without, limit))
            .map(|chosen| chosen.and(removed));
        let limit = first.map_or(limit, |first| first.weight);
        let mut with = *kernel;
        let partners = self.take(&mut with, kernel.partners(at));
        with.bypass(at);
        let second = limit
            .checked_sub(partners.weight)
            .and_then(|limit| self.solve(with, limit))
            .map(|chosen| chosen.and(partners));
        second.or(first)
    }

    /// The transaction with the most paths through it for its weight.
    fn busiest(&self, kernel: &Kernel) -> usize {
        let paths = |at: usize| u64::from(kernel.after[at].count_ones() * kernel.before[at].count_ones());
        let is_less =
            |one: usize, other: usize| paths(one) * self.weights[other] < paths(other) * self.weights[one];
        ones_of(kernel.left)
            .reduce(|best, at| if is_less(best, at) { at } else { best })
            .expect("a graph that is branched on is not empty")
    }

    /// Removes a set of victims.
    fn take(&self, kernel: &mut Kernel, victims: u64) -> Chosen {
        ones_of(victims).for_each(|at| kernel.remove(at));
        Chosen { victims, weight: self.sum(victims) }
    }

    fn sum(&self, set: u64) -> u64 {
        ones_of(set).map(|at| self.weights[at]).sum()
    }

    /// Applies the reductions until none applies, and returns the victims that they make.
    fn reduce(&self, kernel: &mut Kernel) -> Chosen {
        let mut chosen = Chosen::default();
        let mut touched = kernel.left;
        while touched & kernel.left != 0 {
            let at = (touched & kernel.left).trailing_zeros() as usize;
            touched &= !(1 << at);
            if let Some((victims, around)) = self.reduce_at(kernel, at) {
                chosen = chosen.and(victims);
                touched |= around;
            }
        }
        chosen
    }

    /// Applies a reduction to a transaction, if there is one. Returns the victims, and the transactions around that
    /// have lost or gained edges.
    fn reduce_at(&self, kernel: &mut Kernel, at: usize) -> Option<(Chosen, u64)> {
        let (before, after) = (kernel.before[at], kernel.after[at]);
        if before == 0 || after == 0 {
            kernel.remove(at);
            return Some((Chosen::default(), before | after));
        }
        for side in [before, after] {
            let only = side.trailing_zeros() as usize;
            if side == 1 << only && self.weights[only] <= self.weights[at] {
                return Some(self.merge(kernel, at, only));
            }
        }
        let is_clique = before == after
            && ones_of(after).all(|other| {
                self.weights[other] <= self.weights[at]
                    && (after & !(1 << other)) & !kernel.partners(other) == 0
            });
        is_clique.then(|| {
            let around = ones_of(after).fold(0, |around, other| around | kernel.neighbours(other));
            let victims = self.take(kernel, after);
            kernel.remove(at);
            (victims, around)
        })
    }

    /// Merges a transaction into its only neighbour on one side. A partner in a 2-cycle is a victim.
    fn merge(&self, kernel: &mut Kernel, at: usize, only: usize) -> (Chosen, u64) {
        let around = kernel.neighbours(at);
        if kernel.partners(at) >> only & 1 != 0 {
            let around = around | kernel.neighbours(only);
            return (self.take(kernel, 1 << only), around);
        }
        kernel.bypass(at);
        (Chosen::default(), around)
    }

    /// A weight that each set of victims of the graph has at least.
    fn bound(&self, kernel: &Kernel) -> u64 {
        let mut rest = kernel.left;
        let mut bound = 0;
        for at in ones_of(kernel.left) {
            if rest >> at & 1 == 0 {
                continue;
            }
            let mut clique = 1 << at;
            let mut candidates = kernel.partners(at) & rest;
            while candidates != 0 {
                let next = candidates.trailing_zeros() as usize;
                clique |= 1 << next;
                candidates &= kernel.partners(next);
            }
            if clique != 1 << at {
                let heaviest = ones_of(clique).map(|at| self.weights[at]).max().unwrap_or(0);
                bound += self.sum(clique) - heaviest;
                rest &= !clique;
            }
        }
        bound + self.bound_by_cycles(kernel, rest)
    }

    /// The bound by disjoint cycles within a set: the shortest one of each transaction that is left in it.
    fn bound_by_cycles(&self, kernel: &Kernel, set: u64) -> u64 {
        let mut rest = kernel.trimmed(set);
        let mut bound = 0;
        while rest != 0 {
            let shortest = ones_of(rest)
                .filter_map(|at| kernel.cycle(at, rest))
                .min_by_key(|cycle| cycle.count_ones())
                .expect("a trimmed rest has a cycle");
            bound += ones_of(shortest).map(|at| self.weights[at]).min().unwrap_or(0);
            rest = kernel.trimmed(rest & !shortest);
        }
        bound
    }

    /// A set to begin with: reduce, remove the busiest transaction, and begin again.
    fn greedy(&self, mut kernel: Kernel) -> Chosen {
        let mut chosen = Chosen::default();
        loop {
            chosen = chosen.and(self.reduce(&mut kernel));
            if kernel.left == 0 {
                return chosen;
            }
            let at = self.busiest(&kernel);
            chosen = chosen.and(self.take(&mut kernel, 1 << at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::is_acyclic_without;
    use crate::testing::random_graph;

    fn victims(of: u64) -> Vec<u32> {
        ones_of(of).map(|at| at as u32).collect()
    }

    /// The least weight over all subsets.
    fn by_brute_force(graph: &BatchGraph, weights: &[u32]) -> u64 {
        (0..1_u64 << graph.len())
            .filter(|set| is_acyclic_without(graph, &victims(*set)))
            .map(|set| ones_of(set).map(|at| u64::from(weights[at])).sum())
            .min()
            .expect("no graph is left without all transactions")
    }

    #[test]
    fn the_minimum_is_that_of_all_subsets() {
        let mut rng = stdx::Rng::new(11);
        for seed in 0..400 {
            let len = seed as usize % 11;
            let graph = random_graph(seed, len, [0.7, 1.2, 2.0, 3.0, 6.0][seed as usize / 11 % 5]);
            let weights: Vec<u32> = (0..len).map(|_| rng.between(1, 6) as u32).collect();
            for weights in [None, Some(weights.as_slice())] {
                let found = minimum_victims(&graph, weights, u64::MAX).unwrap();
                assert!(
                    found.is_proved && is_acyclic_without(&graph, &victims(found.victims)),
                    "seed {seed}"
                );
                let each = weights.map_or_else(|| vec![1; len], <[u32]>::to_vec);
                let sum: u64 = ones_of(found.victims).map(|at| u64::from(each[at])).sum();
                assert_eq!((found.weight, sum), (by_brute_force(&graph, &each), sum), "seed {seed}");
                assert_eq!(found.weight, sum, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_heavy_neighbour_is_not_taken_for_a_light_one() {
        // Each cycle goes through 0 and 1. By number either will do; by weight only 1.
        let graph = BatchGraph::from_edges(4, [(0, 1), (1, 2), (1, 3), (2, 0), (3, 0)]).unwrap();
        for (weights, expected) in [([9, 1, 5, 5], 0b10), ([1, 9, 5, 5], 0b1), ([9, 9, 2, 2], 0b1100)] {
            let found = minimum_victims(&graph, Some(&weights), u64::MAX).unwrap();
            assert_eq!((found.victims, found.is_proved), (expected, true), "{weights:?}");
        }
    }

    #[test]
    fn bounds_are_below_the_minimum() {
        let mut rng = stdx::Rng::new(12);
        for seed in 0..200 {
            let graph = random_graph(seed, 9, [1.5, 2.5, 4.0][seed as usize % 3]);
            let mut search = Search { weights: [1; 64], steps: 0, steps_max: 0 };
            search.weights.iter_mut().for_each(|weight| *weight = rng.between(1, 4));
            let weights: Vec<u32> = search.weights[..9].iter().map(|weight| *weight as u32).collect();
            let (bound, least) = (search.bound(&Kernel::of(&graph)), by_brute_force(&graph, &weights));
            assert!(bound <= least, "seed {seed}: {bound} and {least}");
        }
    }

    #[test]
    fn a_search_without_steps_returns_the_greedy_set() {
        let graph = random_graph(5, 60, 6.0);
        let ended = minimum_victims(&graph, None, 0).unwrap();
        assert!(!ended.is_proved && is_acyclic_without(&graph, &victims(ended.victims)));
    }

    #[test]
    fn more_than_a_word_of_transactions_is_refused() {
        let graph = |len| BatchGraph::from_edges(len, []).unwrap();
        assert!(minimum_victims(&graph(64), None, 1).unwrap().is_proved);
        let refused = minimum_victims(&graph(65), None, 1).unwrap_err();
        assert_eq!(refused, TooManyTransactions(65));
        assert!(refused.to_string().contains("64"), "{refused}");
    }
}
