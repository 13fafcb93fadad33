//! The rest of a graph while transactions are removed from it, and its trimming: a transaction without incoming or
//! without outgoing edges is on no cycle.

use crate::bits;
use crate::graph::BatchGraph;

/// The transactions that are left, with their degrees among each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    left: Vec<u64>,
    in_degrees: Vec<u32>,
    out_degrees: Vec<u32>,
    /// Transactions that lost their last incoming or outgoing edge. Some of them may have been removed since.
    loose: Vec<u32>,
}

impl Rest {
    /// Begins with all transactions that have edges.
    pub(crate) fn begin(&mut self, graph: &BatchGraph) {
        for (degrees, all) in
            [(&mut self.in_degrees, graph.in_degrees()), (&mut self.out_degrees, graph.out_degrees())]
        {
            degrees.clear();
            degrees.extend_from_slice(all);
        }
        bits::clear(&mut self.left, graph.len());
        self.loose.clear();
        // A transaction can lose its last edge in each direction.
        self.loose.reserve(2 * graph.len());
        for (at, (incoming, outgoing)) in self.in_degrees.iter().zip(&self.out_degrees).enumerate() {
            // A transaction without any edge is not even begun with.
            if incoming + outgoing > 0 {
                bits::insert(&mut self.left, at);
                if *incoming == 0 || *outgoing == 0 {
                    self.loose.push(at as u32);
                }
            }
        }
    }

    /// Removes a transaction.
    pub(crate) fn remove(&mut self, graph: &BatchGraph, at: usize) {
        bits::remove(&mut self.left, at);
        for (row, degrees) in
            [(graph.successors(at), &mut self.in_degrees), (graph.predecessors(at), &mut self.out_degrees)]
        {
            for (word, (row, left)) in row.iter().zip(&self.left).enumerate() {
                for bit in bits::ones_of(row & left) {
                    let other = word * 64 + bit;
                    degrees[other] -= 1;
                    if degrees[other] == 0 {
                        self.loose.push(other as u32);
                    }
                }
            }
        }
    }

    /// Removes transactions without incoming or without outgoing edges, until there are none.
    pub(crate) fn trim(&mut self, graph: &BatchGraph) {
        while let Some(at) = self.loose.pop() {
            if bits::has(&self.left, at as usize) {
                self.remove(graph, at as usize);
            }
        }
    }

    /// The transactions that are left, with their incoming and outgoing edges among each other, ascending.
    pub(crate) fn left(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        bits::ones(&self.left).map(|at| (at, self.in_degrees[at], self.out_degrees[at]))
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> Vec<usize> {
        let degrees = [&self.in_degrees, &self.out_degrees, &self.loose].map(Vec::capacity);
        [&degrees[..], &[self.left.capacity()]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_leaves_cycles_and_what_is_between_them() {
        // 0 leads to the cycle of 1 and 2, which leads by 3 to the cycle of 4 and 5, which leads to 6.
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 5), (5, 4), (5, 6)];
        let graph = BatchGraph::from_edges(7, edges).unwrap();
        let mut rest = Rest::default();
        rest.begin(&graph);
        rest.trim(&graph);
        assert!(rest.left().eq([(1, 1, 1), (2, 1, 2), (3, 1, 1), (4, 2, 1), (5, 1, 1)]));
        rest.remove(&graph, 4);
        rest.trim(&graph);
        assert!(rest.left().eq([(1, 1, 1), (2, 1, 1)]));
    }
}
