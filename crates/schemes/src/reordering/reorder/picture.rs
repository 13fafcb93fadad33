//! The picture of a batch: of one that was put in order, kept so that a report can show how its graph led to its order.
//!
//! Batches with a sampled transaction are candidates. The first of the largest that had victims is kept: not the worst
//! batch of the run, but one of those that the scheme is about.

use engine::OrderedBatch;
use orders::{BatchGraph, Decision, TxnFacts};
use sync::Latched;

/// The size of the largest batch of which a picture is kept: nobody could read the graph of a larger one.
const SIZE_MAX: usize = 128;

/// The place for a picture.
#[derive(Debug, Default)]
pub struct Picture {
    kept: Latched<OrderedBatch>,
    size_max: usize,
}

impl Picture {
    /// Makes the place for a batch of at most so many transactions.
    pub fn new(batch_max: usize) -> Self {
        Self { kept: Latched::default(), size_max: batch_max.min(SIZE_MAX) }
    }

    /// Keeps a batch if it is a better one than the present one. Allocates memory the first time, for all that follow.
    pub fn offer(&self, stale: usize, facts: &[TxnFacts], graph: &BatchGraph, decision: &Decision<'_>) {
        let rank = (!decision.victims.is_empty(), graph.len());
        // Nobody waits for the place: there will be other batches.
        let Some(mut kept) = self.kept.try_lock() else { return };
        if graph.len() > self.size_max || rank <= (!kept.victims.is_empty(), kept.retries.len()) {
            return;
        }
        let OrderedBatch { stale: left, retries, edges, victims, order } = &mut *kept;
        if retries.capacity() == 0 {
            retries.reserve_exact(self.size_max);
            edges.reserve_exact(self.size_max * (self.size_max - 1));
            victims.reserve_exact(self.size_max);
            order.reserve_exact(self.size_max);
        }
        *left = stale as u64;
        retries.clear();
        retries.extend(facts.iter().map(|facts| facts.retries));
        edges.clear();
        edges.extend(graph.edges());
        victims.clear();
        victims.extend_from_slice(decision.victims);
        order.clear();
        order.extend_from_slice(decision.order);
    }

    /// The batch that was kept, if there is one.
    pub fn taken(&self) -> Option<OrderedBatch> {
        let kept = self.kept.lock();
        (!kept.retries.is_empty()).then(|| kept.clone())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use orders::{DegreeScore, Orderer, Policy, VictimMethod};

    use super::*;

    fn offer(picture: &Picture, len: usize, edges: &[(u32, u32)]) {
        let graph = BatchGraph::from_edges(len, edges.iter().copied()).expect("edges within");
        let facts: Vec<TxnFacts> =
            (0..len as u32).map(|retries| TxnFacts { retries, ..TxnFacts::default() }).collect();
        let mut orderer = Orderer::default();
        let policy = Policy::new(DegreeScore::Product);
        let decision = orderer.order(&graph, &facts, VictimMethod::Reduced, policy).expect("no limit");
        picture.offer(1, &facts, &graph, &decision);
    }

    #[test]
    fn the_first_of_the_largest_batches_with_victims_is_kept() {
        let picture = Picture::new(4);
        assert_eq!(picture.taken(), None);
        let kept = |len, edges: &[(u32, u32)]| {
            offer(&picture, len, edges);
            picture.taken().map(|kept| (kept.retries.len(), kept.edges))
        };
        assert_eq!(kept(3, &[(0, 1)]), Some((3, vec![(0, 1)])));
        assert_eq!(kept(2, &[(0, 1), (1, 0)]), Some((2, vec![(0, 1), (1, 0)])), "has a victim");
        assert_eq!(kept(4, &[]), Some((2, vec![(0, 1), (1, 0)])), "has none");
        assert_eq!(kept(3, &[(0, 2), (2, 0)]), Some((3, vec![(0, 2), (2, 0)])), "is larger");
        assert_eq!(kept(3, &[(0, 1), (1, 0)]), Some((3, vec![(0, 2), (2, 0)])), "is not the first");
        assert_eq!(kept(5, &[(0, 1), (1, 0)]), Some((3, vec![(0, 2), (2, 0)])), "is too large");
    }

    #[test]
    fn a_picture_has_the_batch_and_its_decision_and_allocates_once() {
        let picture = Picture::new(4);
        offer(&picture, 2, &[(1, 0)]);
        let taken = picture.taken().expect("offered");
        let expected = OrderedBatch {
            stale: 1,
            retries: vec![0, 1],
            edges: vec![(1, 0)],
            victims: vec![],
            order: vec![1, 0],
        };
        assert_eq!(taken, expected);
        let capacities = || {
            let kept = picture.kept.lock();
            [kept.retries.capacity(), kept.edges.capacity(), kept.victims.capacity(), kept.order.capacity()]
        };
        let before = capacities();
        let all = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
        offer(&picture, 4, &all.collect::<Vec<_>>());
        assert_eq!(picture.taken().map(|kept| (kept.edges.len(), kept.victims.len())), Some((12, 3)));
        assert_eq!(capacities(), before);
    }
}
