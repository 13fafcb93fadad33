//! The catalogue of workloads, and the dispatch from a workload's name to its type.

use engine::setting::{Setting, Values};
use engine::{TxnType, Workload};

use crate::micro::Micro;
use crate::smallbank::SmallBank;
use crate::stock::StockTable;
use crate::tpcc::Tpcc;
use crate::tpce::Tpce;
use crate::ycsb::{LongKey, ShortKey, Ycsb};

/// The facts about a workload that are known without an instance.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One sentence that says what the workload is.
    pub idea: &'static str,
    /// The types of transaction.
    pub types: &'static [TxnType],
    /// The settings.
    pub settings: &'static [Setting],
    /// The setting to which the size of the data is proportional.
    pub scale: &'static str,
    /// The number of which values of that setting are multiples.
    pub scale_step: u64,
}

/// All workloads.
pub const WORKLOADS: &[WorkloadInfo] = &[
    WorkloadInfo {
        name: Tpcc::NAME,
        idea: "order entry of a wholesale supplier: five transactions over nine tables, by the TPC-C \
               specification 5.11 without terminals",
        types: Tpcc::TYPES,
        settings: Tpcc::SETTINGS,
        scale: "tpcc.warehouses",
        scale_step: 1,
    },
    WorkloadInfo {
        name: Tpce::NAME,
        idea: "a brokerage house and the market: twelve transactions over 33 tables, by the TPC-E specification 1.14 \
               with data of our own, and ERMIA's analytic transaction",
        types: Tpce::TYPES,
        settings: Tpce::SETTINGS,
        scale: "tpce.customers",
        scale_step: 200,
    },
    WorkloadInfo {
        name: Ycsb::<ShortKey>::NAME,
        idea: "one table of key and value, read and written by key: YCSB's workloads A to F, and \
               transactions of several operations",
        types: Ycsb::<ShortKey>::TYPES,
        settings: Ycsb::<ShortKey>::SETTINGS,
        scale: "ycsb.records",
        scale_step: 1,
    },
    WorkloadInfo {
        name: SmallBank::NAME,
        idea: "customers with a savings and a checking account, and six short programs over them: the bank of \
               the studies of snapshot isolation",
        types: SmallBank::TYPES,
        settings: SmallBank::SETTINGS,
        scale: "smallbank.accounts",
        scale_step: 1,
    },
    WorkloadInfo {
        name: StockTable::NAME,
        idea: "many reads and few writes of TPC-C's Stock table: ERMIA's microbenchmark of long read sets",
        types: StockTable::TYPES,
        settings: StockTable::SETTINGS,
        scale: "stock.warehouses",
        scale_step: 1,
    },
    WorkloadInfo {
        name: Micro::NAME,
        idea: "five reads and five writes of small objects: the microbenchmark of batching and reordering",
        types: Micro::TYPES,
        settings: Micro::SETTINGS,
        scale: "micro.objects",
        scale_step: 1,
    },
];

/// An operation on a workload whose type is known only at run time.
pub trait VisitWorkload {
    /// The result of the operation.
    type Out;

    /// Runs the operation on the workload `W`.
    fn visit<W: Workload>(self) -> Self::Out;
}

/// Calls `visitor` with the workload of this name.
///
/// # Panics
/// No workload has this name: callers look names up in [`WORKLOADS`] first.
pub fn with<V: VisitWorkload>(name: &str, values: &Values, visitor: V) -> V::Out {
    match name {
        Tpcc::NAME => visitor.visit::<Tpcc>(),
        Tpce::NAME => visitor.visit::<Tpce>(),
        Ycsb::<ShortKey>::NAME if values.int("ycsb.key_bytes") == 48 => visitor.visit::<Ycsb<LongKey>>(),
        Ycsb::<ShortKey>::NAME => visitor.visit::<Ycsb<ShortKey>>(),
        SmallBank::NAME => visitor.visit::<SmallBank>(),
        StockTable::NAME => visitor.visit::<StockTable>(),
        Micro::NAME => visitor.visit::<Micro>(),
        _ => panic!("no workload `{name}`"),
    }
}
