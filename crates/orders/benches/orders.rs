//! Benchmark of the methods: victims and time of each, on batches drawn from a skewed distribution of keys.
//!
//! `cargo bench -p contend-orders --bench orders -- [BATCHES]`
//!
//! `BATCHES` is the number of batches of 40 transactions for each skew; there are fewer of larger batches. A time is
//! that of the choice of the victims alone, the median over rounds in which the methods take turns, by this thread's
//! clock.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a terminal")]

use std::hint::black_box;
use std::num::NonZero;
use std::process::ExitCode;

use orders::{
    BatchGraph, DegreeScore, KeySets, Orderer, Policy, TooManyTransactions, TxnFacts, VictimMethod,
    minimum_victims,
};
use stdx::{Rng, Zipf};
use sync::clock::thread_cpu_ns;

const KEYS: u64 = 100_000;
const THETAS: [f64; 6] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.99];
const LENS: [usize; 4] = [10, 40, 100, 500];
/// Reads of keys that are not written, and reads of keys that are.
const READS: usize = 5;
const UPDATES: usize = 5;
/// Rounds in which each method decides on all batches.
const ROUNDS: usize = 5;
/// The steps of the exact method.
const STEPS_MAX: u64 = 20_000;
/// The default number of batches of 40 transactions.
const BATCHES: u64 = 200;
const POLICY: Policy = Policy::new(DegreeScore::Product);
const ONE: VictimMethod = VictimMethod::Sorted { multi_factor: NonZero::<u32>::MIN };
const METHODS: [VictimMethod; 4] =
    [VictimMethod::Components, VictimMethod::SORTED, ONE, VictimMethod::Reduced];

fn main() -> ExitCode {
    // Cargo adds an option of its own.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let batches = match args.as_slice() {
        [] => Some(BATCHES),
        [batches] => batches.parse().ok().filter(|batches| *batches > 0),
        _ => None,
    };
    let Some(batches) = batches else {
        eprintln!("orders: give nothing, or the number of batches for each skew, at least 1: `orders 200`");
        return ExitCode::from(2);
    };
    println!(
        "Transactions of {READS} reads and {UPDATES} reads with writes, of different keys, Zipf over {KEYS} keys; \
         policy {};\nthe exact method has {STEPS_MAX} steps. Mean victims of a batch, and microseconds a batch.",
        POLICY.degrees.name()
    );
    println!(
        "Share: undecided batches of the exact method. Build: the graph. Both: reduced and the topological order."
    );
    println!();
    let methods = "components | sorted k=2 | sorted k=1 | reduced |";
    println!("| batch | theta | {methods} exact | share | {methods} exact | build | both |");
    println!("|{}", "---|".repeat(15));
    for len in LENS {
        let count = (batches * 40 / len as u64).clamp(1, batches);
        for theta in THETAS {
            println!("{}", Figures::of(len, theta, count).row(len, theta));
        }
    }
    ExitCode::SUCCESS
}

/// The keys of a transaction: those that are read, of which the first ones are written, too.
type Keys = [u64; READS + UPDATES];

fn keys(zipf: &Zipf, rng: &mut Rng) -> Keys {
    let mut keys = [u64::MAX; READS + UPDATES];
    for at in 0..keys.len() {
        keys[at] = loop {
            let key = zipf.rank(rng);
            if !keys[..at].contains(&key) {
                break key;
            }
        };
    }
    keys
}

fn sets(batch: &[Keys]) -> impl Iterator<Item = KeySets<'_>> {
    batch.iter().map(|keys| KeySets { reads: keys, writes: &keys[..UPDATES] })
}

/// Figures of all batches of a length and a skew: means over the batches.
struct Figures {
    victims: [f64; METHODS.len()],
    micros: [f64; METHODS.len()],
    exact: Option<Exact>,
    build_us: f64,
    order_us: f64,
}

/// Figures of the exact method; victims are those of the best set if a batch is undecided.
struct Exact {
    victims: f64,
    undecided: f64,
    micros: f64,
}

impl Figures {
    fn of(len: usize, theta: f64, count: u64) -> Self {
        let zipf = Zipf::new(KEYS, theta);
        let mut rng = Rng::from_path(&[len as u64, theta.to_bits()]);
        let batches: Vec<Vec<Keys>> =
            (0..count).map(|_| (0..len).map(|_| keys(&zipf, &mut rng)).collect()).collect();
        let graphs: Vec<BatchGraph> = batches
            .iter()
            .map(|batch| {
                let mut graph = BatchGraph::default();
                graph.rebuild(sets(batch));
                graph
            })
            .collect();
        let facts = vec![TxnFacts::default(); len];
        let mut orderer = Orderer::default();
        let mut victims = |method, graph: &BatchGraph| {
            orderer.victims(graph, &facts, method, POLICY).expect("no exact method").len()
        };
        let found = METHODS.map(|method| graphs.iter().map(|graph| victims(method, graph)).sum::<usize>());
        let mut times = [const { Vec::new() }; METHODS.len()];
        for _ in 0..ROUNDS {
            for (method, times) in METHODS.into_iter().zip(&mut times) {
                times.push(mean_us(&graphs, |graph| {
                    black_box(victims(method, graph));
                }));
            }
        }
        let mut orders = Vec::new();
        for _ in 0..ROUNDS {
            orders.push(mean_us(&graphs, |graph| {
                let decision = orderer.order(graph, &facts, VictimMethod::Reduced, POLICY);
                black_box(decision.expect("no exact method").order.len());
            }));
        }
        let mut graph = BatchGraph::default();
        let builds = (0..ROUNDS).map(|_| mean_us(&batches, |batch| graph.rebuild(sets(batch)))).collect();
        Self {
            victims: found.map(|victims| victims as f64 / count as f64),
            micros: times.map(median),
            exact: (len <= TooManyTransactions::LEN_MAX).then(|| Exact::of(&graphs)),
            build_us: median(builds),
            order_us: median(orders),
        }
    }

    fn row(&self, len: usize, theta: f64) -> String {
        let victims = self.victims.map(|victims| format!("{victims:.2}")).join(" | ");
        let micros = self.micros.map(|micros| format!("{micros:.2}")).join(" | ");
        let exact = self.exact.as_ref();
        let least = exact.map_or(String::new(), |exact| format!("{:.2}", exact.victims));
        let share = exact.map_or(String::new(), |exact| format!("{:.0}%", 100.0 * exact.undecided));
        let time = exact.map_or(String::new(), |exact| format!("{:.1}", exact.micros));
        let (build, order) = (self.build_us, self.order_us);
        format!(
            "| {len} | {theta} | {victims} | {least} | {share} | {micros} | {time} | {build:.2} | {order:.2} |"
        )
    }
}

impl Exact {
    fn of(graphs: &[BatchGraph]) -> Self {
        let (mut victims, mut undecided) = (0, 0);
        let micros = mean_us(graphs, |graph| {
            let found = minimum_victims(graph, None, STEPS_MAX).expect("the batch is small");
            victims += found.weight;
            undecided += u32::from(!found.is_proved);
        });
        let count = graphs.len() as f64;
        Self { victims: victims as f64 / count, undecided: f64::from(undecided) / count, micros }
    }
}

/// The mean time of a call, in microseconds of this thread.
fn mean_us<T>(all: &[T], mut call: impl FnMut(&T)) -> f64 {
    let start_ns = thread_cpu_ns();
    all.iter().for_each(&mut call);
    (thread_cpu_ns() - start_ns) as f64 / 1_000.0 / all.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
