//! Orders of a batch: all methods on any graph, judged by the definitions.
//!
//! An input is a byte for the number of transactions, a byte that selects the policy and the form of the rest, a byte
//! for each transaction with its retries and its value, and pairs of bytes: edges, or uses of keys. Claims: what a
//! method leaves has no cycle; its order is serial; no method has fewer victims than the exact one, or less valuable
//! ones than the exact one by value; victims of reductions are all necessary; a used orderer decides as a new one;
//! workers get each transaction once, and no two workers conflict.

use core::num::NonZero;

use orders::{
    BatchGraph, DegreeScore, KeySets, LargeComponents, Orderer, Policy, ThreadAware, TxnFacts, VictimMethod,
    is_acyclic_without, is_serial_order,
};

use crate::bytes::Bytes;

/// The largest batch: more than a word of bits.
const LEN_MAX: u8 = 72;
/// The largest batch of the exact methods, which then end soon.
const EXACT_MAX: usize = 16;

/// The keys that a transaction reads, and those that it writes.
type Sets = [Vec<u64>; 2];

/// Reads an input as a batch, and decides on it by each method.
///
/// # Panics
/// When a claim fails.
pub fn orders(input: &[u8]) {
    let mut input = Bytes(input);
    let len = usize::from(input.next() % (LEN_MAX + 1));
    let how = input.next();
    let exponent = |bits: u8| [0.0, 0.5, 1.0, 3.0][usize::from(bits % 4)];
    let policy = Policy::new(DegreeScore::ALL[usize::from(how % 3)])
        .with_retries(exponent(how >> 2))
        .with_value(exponent(how >> 4));
    let fact = |byte: u8| TxnFacts { retries: u32::from(byte % 16), value: u32::from(byte / 16) };
    let facts: Vec<TxnFacts> = (0..len).map(|_| fact(input.next())).collect();
    let mut graph = BatchGraph::default();
    if how & 0x80 == 0 {
        let sets = read_sets(&mut input, len);
        graph.rebuild(key_sets(&sets));
        decide(&graph, &facts, policy);
        assign(&graph, &sets, how);
    } else {
        let mut edges = Vec::new();
        while !input.are_over() && len > 0 {
            edges.push([input.next(), input.next()].map(|at| u32::from(at) % len as u32).into());
        }
        graph.rebuild_from_edges(len, edges).expect("all edges are within the batch");
        decide(&graph, &facts, policy);
    }
}

/// Reads uses of keys: the transaction, and the key with a bit that says whether it is written.
fn read_sets(input: &mut Bytes<'_>, len: usize) -> Vec<Sets> {
    let mut sets = vec![Sets::default(); len];
    while !input.are_over() && len > 0 {
        let (at, key) = (usize::from(input.next()) % len, input.next());
        sets[at][usize::from(key % 2)].push(u64::from(key / 2));
    }
    sets
}

fn key_sets(sets: &[Sets]) -> impl Iterator<Item = KeySets<'_>> {
    sets.iter().map(|[reads, writes]| KeySets { reads, writes })
}

/// Decides on a batch by each method.
fn decide(graph: &BatchGraph, facts: &[TxnFacts], policy: Policy) {
    let one = VictimMethod::Sorted { multi_factor: NonZero::<u32>::MIN };
    let greedy = [VictimMethod::Components, VictimMethod::SORTED, one, VictimMethod::Reduced];
    let mut orderer = Orderer::default();
    let mut victims = |method| {
        let decision = orderer.order(graph, facts, method, policy).expect("the batch is small");
        assert!(is_acyclic_without(graph, decision.victims), "{method:?} leaves a cycle");
        assert!(is_serial_order(graph, decision.victims, decision.order), "{method:?} has no serial order");
        let mut new = Orderer::default();
        assert_eq!(new.order(graph, facts, method, policy), Ok(decision), "{method:?} remembers");
        decision.victims.to_vec()
    };
    let chosen = greedy.map(&mut victims);
    for spared in &chosen[3] {
        let others: Vec<u32> = chosen[3].iter().filter(|at| *at != spared).copied().collect();
        assert!(!is_acyclic_without(graph, &others), "{spared} is no necessary victim");
    }
    if graph.len() <= EXACT_MAX {
        let fewest = victims(VictimMethod::Exact { steps_max: u64::MAX });
        let least = victims(VictimMethod::ExactByValue { steps_max: u64::MAX });
        let value = |victims: &[u32]| victims.iter().map(|at| facts[*at as usize].value.max(1)).sum::<u32>();
        for other in chosen.iter().chain([&fewest, &least]) {
            assert!(fewest.len() <= other.len(), "{fewest:?} is more than {other:?}");
            assert!(value(&least) <= value(other), "{least:?} is worth more than {other:?}");
        }
    }
}

/// Assigns the transactions of a batch to workers.
fn assign(graph: &BatchGraph, sets: &[Sets], how: u8) {
    let order: Vec<u32> = (0..graph.len() as u32).collect();
    let workers = NonZero::new(1 + usize::from(how % 5)).expect("there is a worker");
    let mut threads = ThreadAware::default();
    for large in [LargeComponents::Cut, LargeComponents::Keep] {
        threads.assign(key_sets(sets), &order, workers, large);
        let mut worker_of = vec![None; graph.len()];
        for (worker, list) in threads.lists().enumerate() {
            for at in list {
                assert_eq!(worker_of[*at as usize].replace(worker), None, "{at} is assigned twice");
            }
        }
        assert!(worker_of.iter().all(Option::is_some), "a transaction is not assigned");
        let is_apart = |(from, to): (u32, u32)| worker_of[from as usize] != worker_of[to as usize];
        assert!(large == LargeComponents::Cut || !graph.edges().any(is_apart), "two workers conflict");
    }
}
