//! The dependency graph of a batch, as a bit matrix.
//!
//! An edge from one transaction to another says that the first one must come first, since it reads a key, in its state
//! before the batch, that the second one writes. Two writes of a key without a read need no edge: their order decides
//! which value stays. Two transactions that both read and write a key make a 2-cycle.

use core::fmt;

use crate::bits;
use crate::uses::{KeyUse, KeyUses};

/// The keys of a transaction. A key may occur more than once, and in both sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeySets<'a> {
    /// The keys that the transaction reads.
    pub reads: &'a [u64],
    /// The keys that the transaction writes.
    pub writes: &'a [u64],
}

impl KeySets<'_> {
    /// The number of uses of keys.
    #[inline]
    pub fn uses(&self) -> usize {
        self.reads.len() + self.writes.len()
    }
}

/// The graph of "must come before" among the transactions of a batch.
///
/// A transaction is named by its position in the batch. Both directions are kept as rows of bits, so that a row of a
/// batch of up to 64 transactions is one word. Memory is kept when a graph is built again.
#[derive(Clone, Debug, Default)]
pub struct BatchGraph {
    len: usize,
    /// Words of a row.
    words: usize,
    /// The row of a transaction has those that must come after it.
    successors: Vec<u64>,
    /// The row of a transaction has those that must come before it.
    predecessors: Vec<u64>,
    in_degrees: Vec<u32>,
    out_degrees: Vec<u32>,
    uses: KeyUses,
    readers: Vec<u64>,
    writers: Vec<u64>,
}

/// The error for an edge of a transaction that is not in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeError {
    /// The edge: the position that must come first, and the other one.
    pub edge: (u32, u32),
    /// The number of transactions in the batch.
    pub len: usize,
}

impl fmt::Display for EdgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.edge;
        write!(f, "the edge from {from} to {to} leaves the batch: give positions below {}", self.len)
    }
}

impl core::error::Error for EdgeError {}

impl BatchGraph {
    /// Makes a graph of `len` transactions from its edges. An edge from a transaction to itself is ignored, since a
    /// transaction may read what it writes; so is the repetition of an edge.
    ///
    /// # Errors
    /// If an edge names a transaction that is not in the batch.
    pub fn from_edges(len: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self, EdgeError> {
        let mut graph = Self::default();
        graph.rebuild_from_edges(len, edges)?;
        Ok(graph)
    }

    /// Makes this the graph of other edges, as [`Self::from_edges`] does, in the memory that it has.
    ///
    /// # Errors
    /// If an edge names a transaction that is not in the batch; the graph is empty then.
    pub fn rebuild_from_edges(
        &mut self,
        len: usize,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<(), EdgeError> {
        self.resize(len);
        for (from, to) in edges {
            let (before, after) = (from as usize, to as usize);
            if before >= len || after >= len {
                self.clear();
                return Err(EdgeError { edge: (from, to), len });
            }
            bits::insert(row_mut(&mut self.successors, self.words, before), after);
            bits::insert(row_mut(&mut self.predecessors, self.words, after), before);
        }
        self.finish();
        Ok(())
    }

    /// Makes this the graph of a batch, in the memory that it has. The position of a transaction is its place in
    /// `transactions`.
    pub fn rebuild<'a>(&mut self, transactions: impl IntoIterator<Item = KeySets<'a>>) {
        let mut uses = core::mem::take(&mut self.uses);
        self.resize(uses.list(transactions));
        uses.of_each_key().for_each(|uses| self.connect(uses));
        self.uses = uses;
        self.finish();
    }

    /// Adds the edges from all readers of a key to all its writers.
    fn connect<'u>(&mut self, uses: impl Iterator<Item = &'u KeyUse> + Clone) {
        bits::clear(&mut self.readers, self.len);
        bits::clear(&mut self.writers, self.len);
        for of in uses.clone() {
            let set = if of.is_write { &mut self.writers } else { &mut self.readers };
            bits::insert(set, of.at as usize);
        }
        for of in uses {
            let (matrix, others) = if of.is_write {
                (&mut self.predecessors, &self.readers)
            } else {
                (&mut self.successors, &self.writers)
            };
            let row = row_mut(matrix, self.words, of.at as usize);
            row.iter_mut().zip(others).for_each(|(word, others)| *word |= others);
        }
    }

    /// Removes all transactions.
    pub fn clear(&mut self) {
        self.resize(0);
        self.finish();
    }

    /// Makes a graph of `len` transactions without edges.
    fn resize(&mut self, len: usize) {
        self.len = len;
        self.words = bits::words_for(len);
        for matrix in [&mut self.successors, &mut self.predecessors] {
            matrix.clear();
            matrix.resize(len * self.words, 0);
        }
    }

    /// Removes the edges from transactions to themselves, and counts the others.
    fn finish(&mut self) {
        self.in_degrees.clear();
        self.out_degrees.clear();
        for at in 0..self.len {
            for (matrix, degrees) in [
                (&mut self.successors, &mut self.out_degrees),
                (&mut self.predecessors, &mut self.in_degrees),
            ] {
                let row = row_mut(matrix, self.words, at);
                bits::remove(row, at);
                degrees.push(bits::count(row));
            }
        }
    }

    /// The number of transactions.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there is no transaction.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of words of a row.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// The transactions that must come after `at`: bit `b` of word `w` is transaction `64 * w + b`.
    ///
    /// # Panics
    /// If there is no such transaction.
    #[inline]
    pub fn successors(&self, at: usize) -> &[u64] {
        row(&self.successors, self.words, at)
    }

    /// The transactions that must come before `at`, in the same form.
    ///
    /// # Panics
    /// If there is no such transaction.
    #[inline]
    pub fn predecessors(&self, at: usize) -> &[u64] {
        row(&self.predecessors, self.words, at)
    }

    /// The rows of all transactions: of successors, and of predecessors.
    pub(crate) fn matrices(&self) -> (&[u64], &[u64]) {
        (&self.successors, &self.predecessors)
    }

    /// The number of transactions that must come before each transaction.
    pub fn in_degrees(&self) -> &[u32] {
        &self.in_degrees
    }

    /// The number of transactions that must come after each transaction.
    pub fn out_degrees(&self) -> &[u32] {
        &self.out_degrees
    }

    /// Returns `true` if `from` must come before `to`.
    ///
    /// # Panics
    /// If there is no such transaction.
    pub fn has_edge(&self, from: usize, to: usize) -> bool {
        assert!(to < self.len, "there is no transaction {to} among {}", self.len);
        bits::has(self.successors(from), to)
    }

    /// All edges, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.len)
            .flat_map(|from| bits::ones(self.successors(from)).map(move |to| (from as u32, to as u32)))
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> Vec<usize> {
        let words = [&self.successors, &self.predecessors, &self.readers, &self.writers].map(Vec::capacity);
        let degrees = [&self.in_degrees, &self.out_degrees].map(Vec::capacity);
        [&words[..], &degrees, &self.uses.capacities()].concat()
    }
}

/// The row of a transaction in a matrix.
#[inline]
pub(crate) fn row(matrix: &[u64], words: usize, at: usize) -> &[u64] {
    &matrix[at * words..][..words]
}

/// The row of a transaction in a matrix, to be changed.
#[inline]
pub(crate) fn row_mut(matrix: &mut [u64], words: usize, at: usize) -> &mut [u64] {
    &mut matrix[at * words..][..words]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(transactions: &[(&[u64], &[u64])]) -> Vec<(u32, u32)> {
        let mut graph = BatchGraph::default();
        graph.rebuild(transactions.iter().map(|&(reads, writes)| KeySets { reads, writes }));
        assert_eq!(graph.len(), transactions.len());
        graph.edges().collect()
    }

    #[test]
    fn a_reader_comes_before_each_other_writer() {
        assert_eq!(edges(&[(&[1], &[]), (&[], &[1]), (&[2], &[1])]), [(0, 1), (0, 2)]);
    }

    #[test]
    fn blind_writes_need_no_edge() {
        assert_eq!(edges(&[(&[], &[1]), (&[], &[1])]), []);
    }

    #[test]
    fn two_reads_with_writes_of_one_key_are_a_cycle() {
        assert_eq!(edges(&[(&[1], &[1]), (&[1], &[1])]), [(0, 1), (1, 0)]);
    }

    #[test]
    fn a_transaction_does_not_come_before_itself() {
        assert_eq!(edges(&[(&[1], &[1])]), []);
        assert_eq!(BatchGraph::from_edges(2, [(1, 1)]).unwrap().edges().count(), 0);
    }

    #[test]
    fn a_repeated_key_counts_once() {
        let mut graph = BatchGraph::default();
        graph.rebuild([
            KeySets { reads: &[1, 1, 1, 2], writes: &[] },
            KeySets { reads: &[], writes: &[1, 2, 1] },
        ]);
        assert_eq!((graph.out_degrees(), graph.in_degrees()), (&[1, 0][..], &[0, 1][..]));
    }

    #[test]
    fn an_edge_out_of_the_batch_is_refused() {
        let refused = BatchGraph::from_edges(2, [(0, 1), (1, 2)]).unwrap_err();
        assert_eq!(refused, EdgeError { edge: (1, 2), len: 2 });
        assert!(refused.to_string().contains("below 2"), "{refused}");
    }

    #[test]
    fn footprints_and_their_edges_give_the_same_graph() {
        let mut rng = stdx::Rng::new(3);
        for len in [0, 1, 5, 63, 64, 65, 150] {
            let sets: Vec<(Vec<u64>, Vec<u64>)> = (0..len)
                .map(|_| {
                    let mut keys = || (0..4).map(|_| rng.below(40)).collect();
                    (keys(), keys())
                })
                .collect();
            let mut graph = BatchGraph::default();
            graph.rebuild(sets.iter().map(|(reads, writes)| KeySets { reads, writes }));
            for (from, (reads, _)) in sets.iter().enumerate() {
                for (to, (_, writes)) in sets.iter().enumerate() {
                    let is_wanted = from != to && reads.iter().any(|key| writes.contains(key));
                    assert_eq!(graph.has_edge(from, to), is_wanted, "{from} to {to} of {len}");
                    assert_eq!(bits::has(graph.predecessors(to), from), is_wanted);
                }
            }
            let again = BatchGraph::from_edges(len, graph.edges()).unwrap();
            assert_eq!(again.matrices(), graph.matrices());
            assert_eq!((again.in_degrees(), again.out_degrees()), (graph.in_degrees(), graph.out_degrees()));
        }
    }

    #[test]
    fn building_again_keeps_the_memory() {
        let sets: Vec<[u64; 3]> = (0..100).map(|at| [at % 7, at % 11, at]).collect();
        let all = || sets.iter().map(|keys| KeySets { reads: keys, writes: &keys[..2] });
        let mut graph = BatchGraph::default();
        graph.rebuild(all());
        let (capacities, edges) = (graph.capacities(), graph.edges().count());
        for len in [3, 0, 70, 100] {
            graph.rebuild(all().take(len));
            assert_eq!((graph.len(), graph.capacities()), (len, capacities.clone()));
        }
        assert_eq!(graph.edges().count(), edges);
        graph.clear();
        assert!(graph.is_empty() && graph.edges().next().is_none());
    }
}
