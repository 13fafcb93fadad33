//! The serial order of the transactions that are left, and checks of a decision by the definitions.

use crate::bits;
use crate::graph::BatchGraph;

/// The topological order, with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Topological {
    in_degrees: Vec<u32>,
    left: Vec<u64>,
    free: Vec<u64>,
}

impl Topological {
    /// Writes all transactions but the victims to `order`: of those whose predecessors are written, the earliest one is
    /// next. If the rest has a cycle, its transactions, and those behind it, are missing.
    pub(crate) fn sort(&mut self, graph: &BatchGraph, victims: &[u32], order: &mut Vec<u32>) {
        order.clear();
        order.reserve(graph.len());
        self.in_degrees.clear();
        self.in_degrees.extend_from_slice(graph.in_degrees());
        bits::fill(&mut self.left, graph.len());
        bits::clear(&mut self.free, graph.len());
        for at in victims.iter().map(|at| *at as usize) {
            bits::remove(&mut self.left, at);
            bits::ones(graph.successors(at)).for_each(|other| self.in_degrees[other] -= 1);
        }
        for at in bits::ones(&self.left).filter(|at| self.in_degrees[*at] == 0) {
            bits::insert(&mut self.free, at);
        }
        while let Some(at) = bits::pop(&mut self.free) {
            order.push(at as u32);
            for (word, (row, left)) in graph.successors(at).iter().zip(&self.left).enumerate() {
                for bit in bits::ones_of(row & left) {
                    let other = word * 64 + bit;
                    self.in_degrees[other] -= 1;
                    if self.in_degrees[other] == 0 {
                        bits::insert(&mut self.free, other);
                    }
                }
            }
        }
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> Vec<usize> {
        vec![self.in_degrees.capacity(), self.left.capacity(), self.free.capacity()]
    }
}

/// Returns `true` if the graph has no cycle without these victims. A check, which allocates.
///
/// # Panics
/// If a victim is not in the batch.
pub fn is_acyclic_without(graph: &BatchGraph, victims: &[u32]) -> bool {
    let mut is_left = vec![true; graph.len()];
    for at in victims {
        is_left[*at as usize] = false;
    }
    // A transaction that none of the rest must come before is on no cycle of the rest.
    let mut is_trimmed = true;
    while is_trimmed {
        is_trimmed = false;
        for at in 0..graph.len() {
            if is_left[at] && bits::ones(graph.predecessors(at)).all(|before| !is_left[before]) {
                is_left[at] = false;
                is_trimmed = true;
            }
        }
    }
    !is_left.contains(&true)
}

/// Returns `true` if `order` and `victims` together name each transaction once, and each edge within `order` leads
/// forward. A check, which allocates.
pub fn is_serial_order(graph: &BatchGraph, victims: &[u32], order: &[u32]) -> bool {
    let mut all: Vec<u32> = victims.iter().chain(order).copied().collect();
    all.sort_unstable();
    if !all.iter().copied().eq(0..graph.len() as u32) {
        return false;
    }
    let mut places = vec![None; graph.len()];
    for (place, at) in order.iter().enumerate() {
        places[*at as usize] = Some(place);
    }
    graph.edges().all(|(from, to)| match (places[from as usize], places[to as usize]) {
        (Some(from), Some(to)) => from < to,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(len: usize, edges: &[(u32, u32)], victims: &[u32]) -> Vec<u32> {
        let graph = BatchGraph::from_edges(len, edges.iter().copied()).unwrap();
        let mut order = Vec::new();
        Topological::default().sort(&graph, victims, &mut order);
        order
    }

    #[test]
    fn of_those_that_are_free_the_earliest_is_next() {
        assert_eq!(sorted(5, &[(4, 0), (2, 1), (4, 2)], &[]), [3, 4, 0, 2, 1]);
        assert_eq!(sorted(3, &[(0, 1), (1, 2), (2, 0)], &[1]), [2, 0]);
    }

    #[test]
    fn a_cycle_is_left_out_and_noticed() {
        assert_eq!(sorted(4, &[(0, 1), (1, 2), (2, 1), (2, 3)], &[]), [0]);
        let graph = BatchGraph::from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)]).unwrap();
        let checked = [&[][..], &[0], &[3], &[1], &[2]].map(|victims| is_acyclic_without(&graph, victims));
        assert_eq!(checked, [false, false, false, true, true]);
    }

    #[test]
    fn wrong_orders_are_noticed() {
        let graph = BatchGraph::from_edges(3, [(0, 1), (1, 2), (2, 0)]).unwrap();
        assert!(is_serial_order(&graph, &[2], &[0, 1]));
        assert!(!is_serial_order(&graph, &[2], &[1, 0]), "an edge leads back");
        assert!(!is_serial_order(&graph, &[2], &[0]), "one is missing");
        assert!(!is_serial_order(&graph, &[2, 1], &[0, 1]), "one is named twice");
        assert!(!is_serial_order(&graph, &[2], &[0, 7]), "one is not in the batch");
    }
}
