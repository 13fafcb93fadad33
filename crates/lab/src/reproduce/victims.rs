//! Comparisons of methods that choose the victims of batches, on batches that are drawn and not run.

use core::num::NonZero;
use std::hint::black_box;

use orders::{BatchGraph, DegreeScore, KeySets, Orderer, Policy, TxnFacts, VictimMethod};
use stats::{Paired, paired};
use stdx::{Rng, Zipf};
use sync::clock;

use super::VictimFigure;
use super::evaluate::{RelationInstance, RelationOutcome};
use crate::sweep::CONFIDENCE;

/// The objects of the workload `micro`, and those that a transaction reads, writes, and does both with.
const OBJECTS: u64 = 100_000;
const READS: usize = 5;
const WRITES: usize = 5;
const COMMON: usize = 1;
const TOUCHED: usize = READS + WRITES - COMMON;
/// The pairs of a comparison, and the batches of each.
const PAIRS: u64 = 8;
const BATCHES: u64 = 100;
/// The steps of an exact search: more than any of these batches has needed.
const STEPS_MAX: u64 = 1_000_000;

/// Two methods on the same batches.
pub(super) struct Sides<'a> {
    pub(super) batch: usize,
    pub(super) theta: f64,
    pub(super) figure: VictimFigure,
    pub(super) methods: [&'a str; 2],
}

/// Returns the method of this name, with the paper's multi factor; `None` if there is no such method.
pub(super) fn method(name: &str) -> Option<VictimMethod> {
    let multi_factor = NonZero::new(2).expect("two is not zero");
    let all = [
        VictimMethod::Components,
        VictimMethod::Sorted { multi_factor },
        VictimMethod::Reduced,
        VictimMethod::Exact { steps_max: STEPS_MAX },
    ];
    all.into_iter().find(|method| method.name() == name)
}

impl Sides<'_> {
    /// Compares the methods, whose ratio must lie within the bounds.
    pub(super) fn compare(&self, seed: u64, (low, high): (Option<f64>, Option<f64>)) -> RelationInstance {
        let methods = self.methods.map(|name| method(name).expect("a test parses all relations"));
        let zipf = Zipf::new(OBJECTS, self.theta);
        let mut orderer = Orderer::default();
        let pair = |nth| {
            let mut rng = Rng::from_path(&[seed, nth, self.batch as u64, self.theta.to_bits()]);
            let graphs: Vec<BatchGraph> = (0..BATCHES).map(|_| draw(self.batch, &zipf, &mut rng)).collect();
            let [of, to] = methods.map(|method| self.measure(&mut orderer, &graphs, method));
            (of, to)
        };
        let pairs: Vec<(f64, f64)> = (0..PAIRS).map(pair).collect();
        let compared = paired(&pairs, Paired::SignedRanks, CONFIDENCE).ok();
        let interval = compared.as_ref().map(|compared| compared.interval);
        let outcome = interval.as_ref().map(|interval| RelationOutcome::of_range(interval, low, high));
        RelationInstance {
            at: vec![
                ("batch".to_owned(), self.batch.to_string()),
                ("theta".to_owned(), self.theta.to_string()),
            ],
            estimate: compared.map(|compared| compared.ratio),
            interval,
            outcome: outcome.unwrap_or(RelationOutcome::Undecided),
        }
    }

    /// The figure of a method on some batches.
    fn measure(&self, orderer: &mut Orderer, graphs: &[BatchGraph], method: VictimMethod) -> f64 {
        let (facts, policy) = (vec![TxnFacts::default(); self.batch], Policy::new(DegreeScore::Product));
        let began_ns = clock::thread_cpu_ns();
        let mut victims = 0;
        for graph in graphs {
            let chosen = orderer.victims(black_box(graph), &facts, method, policy);
            victims += chosen.map_or(0, <[u32]>::len);
        }
        match self.figure {
            VictimFigure::Number => victims as f64,
            VictimFigure::Time => (clock::thread_cpu_ns() - began_ns) as f64,
        }
    }
}

/// Draws the graph of a batch.
fn draw(batch: usize, zipf: &Zipf, rng: &mut Rng) -> BatchGraph {
    let transactions: Vec<[u64; TOUCHED]> = (0..batch)
        .map(|_| {
            let mut keys = [u64::MAX; TOUCHED];
            for at in 0..TOUCHED {
                keys[at] = loop {
                    let key = zipf.rank(rng);
                    if !keys[..at].contains(&key) {
                        break key;
                    }
                };
            }
            keys
        })
        .collect();
    let mut graph = BatchGraph::default();
    graph.rebuild(
        transactions.iter().map(|keys| KeySets { reads: &keys[..READS], writes: &keys[READS - COMMON..] }),
    );
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(of: &str, to: &str) -> f64 {
        let sides = Sides { batch: 30, theta: 0.95, figure: VictimFigure::Number, methods: [of, to] };
        let compared = sides.compare(1, (Some(0.9), Some(1.5)));
        assert_eq!(compared.outcome, RelationOutcome::Holds, "{compared:?}");
        assert_eq!(sides.compare(1, (None, Some(0.5))).outcome, RelationOutcome::Fails);
        compared.estimate.expect("there are victims")
    }

    #[test]
    fn no_method_has_fewer_victims_than_the_exact_one_and_the_same_seed_gives_the_same_ratio() {
        let [sorted, reduced] = ["sorted", "reduced"].map(|name| ratio(name, "exact"));
        assert!(sorted > reduced && reduced >= 1.0, "{sorted} {reduced}");
        assert_eq!(ratio("sorted", "exact").to_bits(), sorted.to_bits());
    }
}
