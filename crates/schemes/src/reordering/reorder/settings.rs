//! The settings of the scheme.

use engine::setting::{Range, Value};
use engine::{settings, words};

words! {
    /// How a stage treats its requests.
    pub enum Batching {
        /// One by one, as they come.
        Direct = "direct",
        /// In batches, in the order of arrival.
        Batch = "batch",
        /// In batches, each of which is put in order.
        Reorder = "reorder",
    }
}

words! {
    /// How often an attempt waits in the storage.
    pub enum Waits {
        /// Before its first read.
        Once = "once",
        /// Before each read.
        Each = "each",
    }
}

words! {
    /// How the victims of a batch are chosen.
    pub enum Method {
        /// Greedy by strongly connected components.
        Components = "components",
        /// Greedy by sorting.
        Sorted = "sorted",
        /// Reductions that keep a best set, and the policy where none applies.
        Reduced = "reduced",
        /// The fewest victims.
        Exact = "exact",
    }
}

words! {
    /// Which transaction of a cycle is the victim.
    pub enum Score {
        /// The one with the most edges in the graph.
        Sum = "sum",
        /// The one with the most edges of one direction.
        Max = "max",
        /// The one with the greatest product of incoming and outgoing edges.
        Product = "product",
    }
}

/// The types of transaction that can have values of their own.
const VALUED_TYPES: usize = 16;

/// The value of a commit by the type of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeValues {
    of_types: [u32; VALUED_TYPES],
    /// Whether some value differs from the others, so that values matter.
    pub differ: bool,
}

impl TypeValues {
    /// Parses values from 1 to 1,000,000, one for each type in the order of the workload. Types that are not named have
    /// the last value.
    fn parse(text: &str) -> Option<Self> {
        let mut of_types = [1; VALUED_TYPES];
        let mut rest = of_types.iter_mut();
        let mut last = 1;
        for word in text.split(',') {
            last = word.trim().parse().ok().filter(|value| (1..=1_000_000).contains(value))?;
            *rest.next()? = last;
        }
        rest.for_each(|value| *value = last);
        Some(Self { of_types, differ: of_types.iter().any(|value| *value != last) })
    }

    /// Returns the value of a commit of a type.
    #[inline]
    pub fn of(&self, kind: usize) -> u32 {
        self.of_types[kind.min(VALUED_TYPES - 1)]
    }
}

impl Value for TypeValues {
    const RANGE: Range = Range::Text(
        "one to 16 whole numbers from 1 to 1000000, separated by commas, such as `10,1`",
        |text| Self::parse(text).is_some(),
    );

    fn of(text: &str) -> Self {
        Self::parse(text).expect("checked against its range")
    }
}

settings! {
    /// The settings of the scheme.
    pub struct Settings of "reorder" {
        /// Whether reads go to the storage `direct`ly, wait until there is a `batch` of them, or wait until the writes
        /// of all decided commits are in place, too (`reorder`).
        storage: Batching {
            default: "reorder",
            stresses: "stale reads, and what a read costs",
        },
        /// Whether the validator decides requests `direct`ly, in a `batch` as they come, or in a batch that it puts in
        /// an order in which most of them commit (`reorder`).
        validator: Batching {
            default: "reorder",
            stresses: "aborts, latency, and what a decision costs",
        },
        /// Whether an attempt waits in the storage `once`, before its first read, as if all its reads were sent
        /// together, or before `each` read, as if each depended on the one before.
        waits: Waits {
            default: "once",
            stresses: "how long an attempt takes, and so what others commit meanwhile",
        },
        /// The size of a full batch of reads.
        storage_batch: usize {
            default: "40",
            range: Range::Int(1, 10_000),
            unit: "reads",
            stresses: "the latency of reads, and their freshness",
        },
        /// The queues of the storage, each for a part of the records.
        storage_queues: usize {
            default: "2",
            range: Range::Int(1, 256),
            unit: "queues",
            stresses: "contention for the queues, and how long a batch takes to fill",
        },
        /// The size of a full batch of requests to commit.
        validator_batch: usize {
            default: "40",
            range: Range::Int(1, 1_000),
            unit: "transactions",
            stresses: "the freedom of the order, and latency",
        },
        /// The batches of requests to commit that are decided at a time.
        orderers: usize {
            default: "4",
            range: Range::Int(1, 256),
            unit: "batches",
            stresses: "the parallelism of the validator, and conflicts between batches",
        },
        /// How long a read or a request to commit waits for its batch to fill, at most, while its worker has other
        /// things to do.
        wait_us: u64 {
            default: "1000",
            range: Range::Int(0, 1_000_000),
            unit: "us",
            stresses: "latency, and the size of batches",
        },
        /// The transactions that are open at a time, at most.
        live: usize {
            default: "300",
            range: Range::Int(1, 60_000),
            unit: "transactions",
            stresses: "the size of batches, and conflicts",
        },
        /// How the victims of a batch are chosen: greedy by `components`, greedy and fast by sorting (`sorted`), by
        /// reductions that keep a best set (`reduced`), or as few as a search of 20,000 steps finds (`exact`, for
        /// batches of up to 64).
        method: Method {
            default: "reduced",
            stresses: "victims, and what a decision costs",
        },
        /// The victims between two sorts of the method `sorted`.
        multi_factor: u32 {
            default: "2",
            range: Range::Int(1, 1_000),
            unit: "transactions",
            stresses: "victims, and what a decision costs",
        },
        /// Which transaction is the victim, by its edges in the graph of the batch: the one with the greatest `sum`,
        /// the greatest number of one direction (`max`), or the greatest `product`.
        policy: Score {
            default: "product",
            stresses: "victims",
        },
        /// How much earlier aborts protect a transaction from being a victim: its score is divided by its number of
        /// attempts to the power of this.
        retry_exponent: f64 {
            default: "0",
            range: Range::Real(0.0, 16.0),
            stresses: "the tail of latencies, and victims",
        },
        /// How valuable a commit of each type of transaction is, in the order in which the workload lists its types;
        /// the last number is also that of all further types. The score of a transaction is divided by its value, so
        /// that a valuable one is rarely the victim; the method `exact` does not look at values.
        values: TypeValues {
            default: "1",
            stresses: "which types pay for conflicts, and victims",
        },
        /// Committed writes that the validator remembers; more of them let attempts commit that last while others write
        /// much, fewer take less memory.
        history: usize {
            default: "16384",
            range: Range::Int(1, 1 << 24),
            unit: "records",
            stresses: "aborts of long attempts, and the cache that the history takes",
        },
    }
}
