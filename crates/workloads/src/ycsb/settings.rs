//! Settings: the suite's six workloads by letter, or a custom mix.

use engine::Lookup;
use engine::setting::{Range, Setting, SettingError, Values};

use super::input::{Kind, MAX_OPS};

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "ycsb.workload",
        default: "a",
        range: Range::Choice(&["a", "b", "c", "d", "e", "f", "custom"]),
        unit: "",
        doc: "the mix: a half updates, b 5% updates, c reads, d reads of the latest and 5% inserts, \
              e scans and 5% inserts, f half read-modify-writes, custom by ycsb.read_pct",
        stresses: "the share of writes, and with d and e the growth of the table",
    },
    Setting {
        name: "ycsb.records",
        default: "1000000",
        range: Range::Int(1, 1_000_000_000),
        unit: "records",
        doc: "records loaded; more of them miss the caches more often and meet less often",
        stresses: "caches and memory; with few records, contention",
    },
    Setting {
        name: "ycsb.ops_per_txn",
        default: "1",
        range: Range::Int(1, MAX_OPS as u64),
        unit: "operations",
        doc: "operations in a transaction, all or nothing; the suite has 1, transactional studies 10 or 16",
        stresses: "the length of transactions: conflicts grow with its square",
    },
    Setting {
        name: "ycsb.read_pct",
        default: "50",
        range: Range::Int(0, 100),
        unit: "%",
        doc: "share of reads among the operations of workload custom; the others are updates",
        stresses: "the share of writes",
    },
    Setting {
        name: "ycsb.theta",
        default: "0.99",
        range: Range::Real(0.0, 0.999),
        unit: "",
        doc: "exponent of Zipf's distribution; 0 is uniform, 0.99 gives the hottest of a million records 6.5%",
        stresses: "contention, and how much the caches help",
    },
    Setting {
        name: "ycsb.distribution",
        default: "standard",
        range: Range::Choice(&["standard", "zipfian", "uniform", "latest"]),
        unit: "",
        doc: "how keys are drawn; latest is zipfian by recency; standard is latest for d and zipfian for the others",
        stresses: "which records are hot",
    },
    Setting {
        name: "ycsb.hot_placement",
        default: "scattered",
        range: Range::Choice(&["scattered", "adjacent"]),
        unit: "",
        doc: "where hot records lie in key order: anywhere, or side by side, where they share index leaves and a home",
        stresses: "conflicts of neighbours in ordered indexes, and single partitions",
    },
    Setting {
        name: "ycsb.hot_row",
        default: "none",
        range: Range::Choice(&["none", "first", "middle", "last"]),
        unit: "",
        doc: "whether one operation of each transaction updates the same record, and which one does: the hot spot of \
              studies of locks that are released early; the others are drawn as without it, but distinct ones never \
              take this row",
        stresses: "how long a transaction keeps others from what all of them write",
    },
    Setting {
        name: "ycsb.write",
        default: "rmw",
        range: Range::Choice(&["rmw", "blind"]),
        unit: "",
        doc: "what an update is: a read-modify-write, as in transactional studies and needed to find lost \
              updates, or a blind overwrite of the whole row, closer to the suite's own",
        stresses: "whether writes depend on reads: blind ones conflict less",
    },
    Setting {
        name: "ycsb.key_bytes",
        default: "8",
        range: Range::Choice(&["8", "48"]),
        unit: "bytes",
        doc: "width of the keys: an integer, as in in-memory studies, or room for the suite's textual keys, which is \
              always in an ordered index",
        stresses: "the cost of comparing keys, and the size of the index",
    },
    Setting {
        name: "ycsb.value_bytes",
        default: "1000",
        range: Range::Int(8, 4096),
        unit: "bytes",
        doc: "width of the values, rounded up to whole 8-byte words; the suite has 10 fields of 100 bytes",
        stresses: "copying, and the size of the data",
    },
    Setting {
        name: "ycsb.scan_max",
        default: "100",
        range: Range::Int(1, 1000),
        unit: "rows",
        doc: "the longest scan of workload e; lengths are uniform from 1",
        stresses: "phantom protection and long read sets",
    },
    Setting {
        name: "ycsb.distinct",
        default: "true",
        range: Range::Switch,
        unit: "",
        doc: "whether the keys within a transaction differ, by drawing again",
        stresses: "with a high theta and many operations, how far the hot set spreads",
    },
];

/// The distribution of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// The first records are the most frequent.
    Zipfian,
    /// All records are equally frequent.
    Uniform,
    /// The last records are the most frequent.
    Latest,
}

/// The operations and their shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    /// Percentage of reads among the operations that do not insert.
    pub(super) read_pct: u64,
    /// The kind of the other operations that do not insert.
    pub(super) other: Kind,
    /// `true` if one operation of twenty inserts.
    pub(super) inserts: bool,
}

/// The settings as typed values.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) letter: String,
    pub(super) mix: Mix,
    pub(super) records: u64,
    pub(super) ops_per_txn: usize,
    pub(super) theta: f64,
    pub(super) distribution: Distribution,
    pub(super) is_scattered: bool,
    /// The position of the operation that updates the hot row; `None` if there is no hot row.
    pub(super) hot_at: Option<usize>,
    pub(super) is_blind: bool,
    pub(super) key_bytes: usize,
    /// The number of words of a row.
    pub(super) words: usize,
    pub(super) scan_max: u64,
    pub(super) is_distinct: bool,
}

impl Settings {
    pub(super) fn new(values: &Values) -> Result<Self, SettingError> {
        let letter = values.text("ycsb.workload").to_owned();
        let ops_per_txn = values.int("ycsb.ops_per_txn") as usize;
        let settings = Self {
            mix: Mix::new(&letter, values.int("ycsb.read_pct")),
            records: values.int("ycsb.records"),
            ops_per_txn,
            theta: values.real("ycsb.theta"),
            distribution: match values.text("ycsb.distribution") {
                "zipfian" => Distribution::Zipfian,
                "uniform" => Distribution::Uniform,
                "latest" => Distribution::Latest,
                _ if letter == "d" => Distribution::Latest,
                _ => Distribution::Zipfian,
            },
            is_scattered: values.text("ycsb.hot_placement") == "scattered",
            hot_at: match values.text("ycsb.hot_row") {
                "first" => Some(0),
                "middle" => Some(ops_per_txn / 2),
                "last" => Some(ops_per_txn - 1),
                _ => None,
            },
            is_blind: values.text("ycsb.write") == "blind",
            key_bytes: values.int("ycsb.key_bytes") as usize,
            words: (values.int("ycsb.value_bytes") as usize).div_ceil(8),
            scan_max: values.int("ycsb.scan_max"),
            is_distinct: values.switch("ycsb.distinct"),
            letter,
        };
        settings.refuse_contradictions(values)?;
        Ok(settings)
    }

    /// The mean number of writes of a transaction to loaded records.
    pub(super) fn writes(&self) -> f64 {
        let hot = if self.hot_at.is_some() { 1.0 } else { 0.0 };
        (self.ops_per_txn as f64 - hot) * self.mix.write_share() + hot
    }

    /// Returns the lookup of the table: ordered only if there are scans.
    pub(super) fn lookup(&self) -> Lookup {
        if self.mix.other == Kind::Scan { Lookup::Ordered } else { Lookup::Point }
    }

    fn refuse_contradictions(&self, values: &Values) -> Result<(), SettingError> {
        let Self { letter, records, ops_per_txn, .. } = self;
        let refusal = if letter != "custom" && values.text("ycsb.read_pct") != "50" {
            format!("`ycsb.read_pct` is for `ycsb.workload=custom`; workload {letter} has a mix of its own")
        } else if letter == "f" && self.is_blind {
            "`ycsb.write=blind` contradicts `ycsb.workload=f`, whose writes are read-modify-writes; \
             take workload a"
                .to_owned()
        } else if self.mix.inserts && self.hot_at.is_some() {
            format!(
                "`ycsb.hot_row` is not for `ycsb.workload={letter}`, which inserts rows and updates none; take \
                 workload custom"
            )
        } else if self.is_distinct && *records < *ops_per_txn as u64 {
            format!(
                "{ops_per_txn} distinct keys need as many records: raise `ycsb.records` from {records}, \
                 lower `ycsb.ops_per_txn`, or set `ycsb.distinct=false`"
            )
        } else {
            return Ok(());
        };
        Err(SettingError(refusal))
    }
}

impl Mix {
    fn new(letter: &str, read_pct: u64) -> Self {
        let of = |read_pct, other, inserts| Self { read_pct, other, inserts };
        match letter {
            "a" => of(50, Kind::Update, false),
            "b" => of(95, Kind::Update, false),
            "c" => of(100, Kind::Update, false),
            "d" => of(100, Kind::Update, true),
            "e" => of(0, Kind::Scan, true),
            "f" => of(50, Kind::ReadModifyWrite, false),
            _ => of(read_pct, Kind::Update, false),
        }
    }

    /// The share of operations, from 0 to 1, that write a loaded record.
    pub(super) fn write_share(self) -> f64 {
        if self.other == Kind::Scan { 0.0 } else { (100 - self.read_pct) as f64 / 100.0 }
    }
}
