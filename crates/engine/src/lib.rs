//! The contract between schemes and workloads, and the code that every scheme shares.
#![forbid(unsafe_code)]

mod abort;
mod access_set;
mod counter;
mod database;
pub mod driver;
pub mod entry;
mod footprint;
mod insight;
mod leaf_set;
mod leftovers;
pub mod levers;
mod meter;
mod moves;
mod observer;
mod own_writes;
pub mod plants;
mod program;
mod raw;
mod recorder;
mod scheme;
mod session;
pub mod setting;
mod sink;
mod sorted_list;
mod transaction;
mod typed;
mod words;
mod workload;

pub use abort::Abort;
pub use access_set::AccessSet;
pub use counter::Counter;
pub use database::{AnyDatabase, Database, MakeError, View};
pub use footprint::InputFootprint;
pub use insight::{Insight, OrderedBatch, StageTimes};
pub use leaf_set::LeafSet;
pub use meter::{Meter, Phase};
pub use observer::{Facet, Observe, Observer};
pub use own_writes::{NoOwnWrites, OwnWrites};
pub use program::{Call, Ledger, Procedures, Program, Scratch};
pub use raw::{Misuse, RawError, RawSession, RawTxn};
pub use recorder::{Recorder, Records};
pub use scheme::{
    Admits, Batching, End, Env, Facts, Family, Info, InsertAt, Isolation, PARTITIONS_MAX, Partitioned,
    Planning, Retire, Scheme, Spot, Stamp, Step, Ticket, Touch, Views, Write, slot_rng,
};
pub use session::{Attempt, ErasedAttempt, Session};
pub use sink::Sink;
pub use sorted_list::{Position, SortedList};
pub use storage::{
    Additive, AnyKey, Direction, Groups, Home, ImplicitRows, Index, IndexOn, Key, Layout, Lookup, Row,
    Schema, Splitting, Table, TableBuilder, TableId, Text, Which, additive,
};
pub use transaction::Transaction;
pub use typed::{KeyRange, RowLoader, RowView, Shown, TypedLoader, TypedView};
pub use words::WordLoader;
pub use workload::{
    ClientId, Drive, Forecast, Homes, ImplicitForecast, Loader, Pace, Quiesced, Share, TxnType, Violation,
    Workload,
};
