//! The decision on a batch: the victims by one of the methods, and the order of the others.

use core::num::NonZero;

use crate::bits;
use crate::components::Components;
use crate::exact::{TooManyTransactions, minimum_victims};
use crate::graph::BatchGraph;
use crate::order::Topological;
use crate::policy::{Policy, Scoring, TxnFacts};
use crate::reduced::Reduced;
use crate::sorted::Sorted;

/// A method to choose victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimMethod {
    /// Greedy by strongly connected components, one victim at a time.
    Components,
    /// Greedy by sorting.
    Sorted {
        /// Victims that are removed between two sorts; the paper's is 2.
        multi_factor: NonZero<u32>,
    },
    /// Reductions that keep a best set, the policy where none applies, and no victim that can be spared.
    Reduced,
    /// The fewest victims, for batches of up to 64 transactions. The policy is not used.
    Exact {
        /// The steps after which the search ends with the best set so far.
        steps_max: u64,
    },
    /// The least sum of the victims' values, for batches of up to 64 transactions. The policy is not used.
    ExactByValue {
        /// The steps after which the search ends with the best set so far.
        steps_max: u64,
    },
}

impl VictimMethod {
    /// Greedy by sorting, with the multi factor of the paper.
    pub const SORTED: Self = Self::Sorted { multi_factor: NonZero::new(2).expect("two is not zero") };

    /// The name of the method.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Components => "components",
            Self::Sorted { .. } => "sorted",
            Self::Reduced => "reduced",
            Self::Exact { .. } => "exact",
            Self::ExactByValue { .. } => "exact-by-value",
        }
    }
}

/// A decision on a batch. Transactions are named by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The transactions that abort, ascending.
    pub victims: &'a [u32],
    /// All other transactions, in a serial order.
    pub order: &'a [u32],
    /// Whether the victims are proved to be the fewest, or the least valuable ones; only exact methods prove it.
    pub is_proved: bool,
}

/// Chooses victims and orders, and keeps its memory from batch to batch.
#[derive(Clone, Debug, Default)]
pub struct Orderer {
    factors: Vec<f64>,
    components: Components,
    sorted: Sorted,
    reduced: Reduced,
    topological: Topological,
    victims: Vec<u32>,
    order: Vec<u32>,
}

impl Orderer {
    /// Decides on a batch. `facts` has an element for each transaction.
    ///
    /// # Errors
    /// If the method is exact, and the batch has more than 64 transactions.
    ///
    /// # Panics
    /// If there is not one element of `facts` for each transaction.
    pub fn order(
        &mut self,
        graph: &BatchGraph,
        facts: &[TxnFacts],
        method: VictimMethod,
        policy: Policy,
    ) -> Result<Decision<'_>, TooManyTransactions> {
        let is_proved = self.choose(graph, facts, method, policy)?;
        self.topological.sort(graph, &self.victims, &mut self.order);
        assert_eq!(self.victims.len() + self.order.len(), graph.len(), "no cycle is left");
        Ok(Decision { victims: &self.victims, order: &self.order, is_proved })
    }

    /// Chooses the victims alone, as [`Self::order`] does.
    ///
    /// # Errors
    /// If the method is exact, and the batch has more than 64 transactions.
    ///
    /// # Panics
    /// If there is not one element of `facts` for each transaction.
    pub fn victims(
        &mut self,
        graph: &BatchGraph,
        facts: &[TxnFacts],
        method: VictimMethod,
        policy: Policy,
    ) -> Result<&[u32], TooManyTransactions> {
        self.choose(graph, facts, method, policy)?;
        Ok(&self.victims)
    }

    /// Chooses the victims, and returns whether they are proved to be the best.
    fn choose(
        &mut self,
        graph: &BatchGraph,
        facts: &[TxnFacts],
        method: VictimMethod,
        policy: Policy,
    ) -> Result<bool, TooManyTransactions> {
        assert_eq!(facts.len(), graph.len(), "each transaction has its facts");
        self.victims.clear();
        self.victims.reserve(graph.len());
        self.factors.clear();
        self.factors.extend(facts.iter().map(|facts| policy.factor(*facts)));
        let scoring = Scoring { degrees: policy.degrees, factors: &self.factors };
        let victims = &mut self.victims;
        let mut is_proved = false;
        match method {
            VictimMethod::Components => self.components.choose(graph, scoring, victims),
            VictimMethod::Sorted { multi_factor } => {
                self.sorted.choose(graph, scoring, multi_factor, victims);
            }
            VictimMethod::Reduced => self.reduced.choose(graph, scoring, victims),
            VictimMethod::Exact { steps_max } => {
                is_proved = exact(graph, None, steps_max, victims)?;
            }
            VictimMethod::ExactByValue { steps_max } => {
                let values: Vec<u32> = facts.iter().map(|facts| facts.value).collect();
                is_proved = exact(graph, Some(&values), steps_max, victims)?;
            }
        }
        victims.sort_unstable();
        Ok(is_proved)
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    fn capacities(&self) -> Vec<usize> {
        let own = vec![self.factors.capacity(), self.victims.capacity(), self.order.capacity()];
        let (components, sorted) = (self.components.capacities(), self.sorted.capacities());
        [own, components, sorted, self.reduced.capacities(), self.topological.capacities()].concat()
    }
}

/// Adds the victims of the exact method, and returns whether they are proved to be the best.
fn exact(
    graph: &BatchGraph,
    weights: Option<&[u32]>,
    steps_max: u64,
    victims: &mut Vec<u32>,
) -> Result<bool, TooManyTransactions> {
    let found = minimum_victims(graph, weights, steps_max)?;
    victims.extend(bits::ones_of(found.victims).map(|at| at as u32));
    Ok(found.is_proved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{is_acyclic_without, is_serial_order};
    use crate::policy::DegreeScore;
    use crate::testing::random_graph;

    const GREEDY: [VictimMethod; 4] = [
        VictimMethod::Components,
        VictimMethod::SORTED,
        VictimMethod::Sorted { multi_factor: NonZero::new(1).unwrap() },
        VictimMethod::Reduced,
    ];
    const EXACT: VictimMethod = VictimMethod::Exact { steps_max: 2_000 };
    const EXACT_BY_VALUE: VictimMethod = VictimMethod::ExactByValue { steps_max: 2_000 };

    fn policies() -> impl Iterator<Item = Policy> {
        DegreeScore::ALL.into_iter().flat_map(|score| {
            let policy = Policy::new(score);
            [policy, policy.with_retries(1.5), policy.with_retries(0.5).with_value(1.0)]
        })
    }

    fn random_facts(seed: u64, len: usize) -> Vec<TxnFacts> {
        let mut rng = stdx::Rng::from_path(&[seed, 9]);
        (0..len).map(|_| TxnFacts { retries: rng.below(4) as u32, value: rng.below(5) as u32 }).collect()
    }

    /// Decides with a new orderer, and checks the decision by the definitions.
    fn victims(graph: &BatchGraph, facts: &[TxnFacts], method: VictimMethod, policy: Policy) -> Vec<u32> {
        let mut orderer = Orderer::default();
        let decision = orderer.order(graph, facts, method, policy).unwrap();
        assert!(is_acyclic_without(graph, decision.victims), "{method:?}, {policy:?}");
        assert!(is_serial_order(graph, decision.victims, decision.order), "{method:?}, {policy:?}");
        decision.victims.to_vec()
    }

    fn value(facts: &[TxnFacts], victims: &[u32]) -> u32 {
        victims.iter().map(|at| facts[*at as usize].value.max(1)).sum()
    }

    #[test]
    fn no_method_leaves_a_cycle_or_beats_the_minimum() {
        for seed in 0..260 {
            let len = seed as usize % 65;
            let graph = random_graph(seed, len, [0.3, 1.0, 2.0, 5.0][seed as usize % 4]);
            let facts = random_facts(seed, len);
            let mut orderer = Orderer::default();
            for policy in policies() {
                let chosen = GREEDY.map(|method| victims(&graph, &facts, method, policy));
                let least = orderer.order(&graph, &facts, EXACT, policy).unwrap();
                let is_least = |few: &Vec<u32>| !least.is_proved || least.victims.len() <= few.len();
                assert!(chosen.iter().all(is_least), "seed {seed}");
                let least = orderer.order(&graph, &facts, EXACT_BY_VALUE, policy).unwrap();
                let sum = value(&facts, least.victims);
                let is_least = |few: &Vec<u32>| !least.is_proved || sum <= value(&facts, few);
                assert!(chosen.iter().all(is_least), "seed {seed}");
            }
        }
    }

    #[test]
    fn large_batches_are_ordered_too() {
        for (seed, len) in [(1, 65), (2, 127), (3, 128), (4, 200), (5, 300)] {
            for degree in [0.5, 1.5, 4.0, 30.0] {
                let (graph, facts) = (random_graph(seed, len, degree), random_facts(seed, len));
                for (method, policy) in GREEDY.into_iter().zip(policies()) {
                    victims(&graph, &facts, method, policy);
                }
                let mut orderer = Orderer::default();
                let refused = orderer.order(&graph, &facts, EXACT, Policy::new(DegreeScore::Sum));
                assert_eq!(refused, Err(TooManyTransactions(len)));
            }
        }
    }

    #[test]
    fn no_victim_of_reductions_can_be_spared() {
        for seed in 0..200 {
            let len = 1 + seed as usize % 90;
            let graph = random_graph(seed, len, [1.0, 2.0, 5.0][seed as usize % 3]);
            let facts = random_facts(seed, len);
            for policy in policies() {
                let victims = victims(&graph, &facts, VictimMethod::Reduced, policy);
                for spared in 0..victims.len() {
                    let mut others = victims.clone();
                    others.remove(spared);
                    assert!(!is_acyclic_without(&graph, &others), "seed {seed}, {}", victims[spared]);
                }
            }
        }
    }

    #[test]
    fn reductions_alone_find_the_minimum_of_small_graphs() {
        // With up to three transactions there is always a reduction, and reductions keep a best set.
        for edges in 0..64_u32 {
            let all = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
            let chosen = (0..6).filter(|bit| edges >> bit & 1 != 0).map(|bit| all[bit]);
            let graph = BatchGraph::from_edges(3, chosen).unwrap();
            let (facts, policy) = ([TxnFacts::default(); 3], Policy::new(DegreeScore::Product));
            let found = victims(&graph, &facts, VictimMethod::Reduced, policy);
            assert_eq!(found.len(), victims(&graph, &facts, EXACT, policy).len(), "edges {edges:b}");
        }
    }

    #[test]
    fn empty_batches_and_single_transactions_have_no_victim() {
        for len in [0, 1] {
            let graph = BatchGraph::from_edges(len, []).unwrap();
            let facts = vec![TxnFacts::default(); len];
            for method in GREEDY.into_iter().chain([EXACT, EXACT_BY_VALUE]) {
                assert_eq!(victims(&graph, &facts, method, Policy::new(DegreeScore::Sum)), []);
            }
        }
    }

    #[test]
    fn of_a_cycle_of_two_the_one_with_more_retries_or_value_is_kept() {
        let graph = BatchGraph::from_edges(2, [(0, 1), (1, 0)]).unwrap();
        let one = VictimMethod::Sorted { multi_factor: NonZero::<u32>::MIN };
        for score in DegreeScore::ALL {
            for method in [VictimMethod::Components, one, VictimMethod::Reduced] {
                for kept in [0, 1] {
                    let mut facts = [TxnFacts::default(); 2];
                    facts[kept].retries = 20;
                    let policy = Policy::new(score).with_retries(1.0);
                    assert_eq!(victims(&graph, &facts, method, policy), [1 - kept as u32]);
                    facts = [TxnFacts::default(); 2];
                    facts[kept].value = 3;
                    let policy = Policy::new(score).with_value(1.0);
                    assert_eq!(victims(&graph, &facts, method, policy), [1 - kept as u32]);
                    assert_eq!(victims(&graph, &facts, EXACT_BY_VALUE, policy), [1 - kept as u32]);
                }
            }
        }
    }

    #[test]
    fn of_a_clique_the_most_often_retried_one_is_kept() {
        let len = 6;
        let edges =
            (0..len).flat_map(|from| (0..len).filter(move |to| *to != from).map(move |to| (from, to)));
        let graph = BatchGraph::from_edges(len as usize, edges).unwrap();
        let policy = Policy::new(DegreeScore::Product).with_retries(1.0);
        let one = VictimMethod::Sorted { multi_factor: NonZero::<u32>::MIN };
        for kept in 0..len {
            let mut facts = [TxnFacts::default(); 6];
            facts[kept as usize].retries = 20;
            for method in [VictimMethod::Components, one, VictimMethod::Reduced] {
                let victims = victims(&graph, &facts, method, policy);
                assert!(victims.len() == 5 && !victims.contains(&kept), "{method:?}: {victims:?}");
            }
        }
    }

    #[test]
    fn a_used_orderer_decides_as_a_new_one_and_keeps_its_memory() {
        let mut used = Orderer::default();
        let len = 130;
        let policy = Policy::new(DegreeScore::Product).with_retries(1.0);
        let (graph, facts) = (random_graph(0, len, 30.0), random_facts(0, len));
        for method in GREEDY {
            used.order(&graph, &facts, method, policy).unwrap();
        }
        let capacities = used.capacities();
        for seed in 1..60 {
            let len = if seed % 2 == 0 { len } else { seed as usize };
            let graph = random_graph(seed, len, [0.5, 1.5, 4.0, 60.0][seed as usize % 4]);
            let facts = random_facts(seed, len);
            for method in GREEDY {
                let again = used.order(&graph, &facts, method, policy).unwrap();
                let mut new = Orderer::default();
                assert_eq!(again, new.order(&graph, &facts, method, policy).unwrap(), "seed {seed}");
                assert_eq!(used.victims(&graph, &facts, method, policy).unwrap(), new.victims);
            }
            assert_eq!(used.capacities(), capacities, "seed {seed}");
        }
    }
}
