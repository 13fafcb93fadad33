//! Settings: the number of rows, the number of rows that a transaction reads, and the rows of these that it
//! writes.

use engine::setting::{Range, Setting, SettingError, Values};

use super::rows::Rows;

/// The maximum number of warehouses: limited by the key.
const WAREHOUSES_MAX: u64 = 4_096;
/// The number of rows of a warehouse in the standard (TPC-C 1.2.1).
const ITEMS_MAX: u64 = 100_000;

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "stock.warehouses",
        default: "32",
        range: Range::Int(1, WAREHOUSES_MAX),
        unit: "warehouses",
        doc: "warehouses whose stock is loaded: the scale of the data; the study has 32",
        stresses: "caches and memory; with few, contention",
    },
    Setting {
        name: "stock.items",
        default: "100000",
        range: Range::Int(1, ITEMS_MAX),
        unit: "items",
        doc: "rows of a warehouse; fewer than TPC-C's make small tests, and hot rows",
        stresses: "contention, when few",
    },
    Setting {
        name: "stock.reads",
        default: "1000",
        range: Range::Int(1, 10_000_000),
        unit: "rows",
        doc: "rows that a transaction reads; the study's program has 1,000 to 300,000",
        stresses: "the length of transactions, and all that is done for each row read",
    },
    Setting {
        name: "stock.write_pct",
        default: "10",
        range: Range::Real(0.0, 100.0),
        unit: "% of the rows read",
        doc: "how many of the rows that it has read a transaction writes; what is less than a row is the share of \
              transactions that write one more; the study's program has 10 to 0.001",
        stresses: "how many long read sets a commit invalidates",
    },
    Setting {
        name: "stock.readset",
        default: "scattered",
        range: Range::Choice(&["scattered", "contiguous"]),
        unit: "",
        doc: "which rows are read: any, as the study says, or those from a random one on, around the end, as its \
              program has it",
        stresses: "cache misses; and whether read sets overlap a little always, or much at times",
    },
    Setting {
        name: "stock.writeset",
        default: "any",
        range: Range::Choice(&["any", "first"]),
        unit: "",
        doc: "which of the rows that were read are written: any, or the first, near which the study's program draws \
              them; with scattered reads both are the same",
        stresses: "whether writes meet each other where reads overlap",
    },
    Setting {
        name: "stock.write",
        default: "rmw",
        range: Range::Choice(&["rmw", "blind"]),
        unit: "",
        doc: "how a row is written that was read before: it is read again and updated, or overwritten with what comes \
              of the value read before, as the study's program does it",
        stresses: "second look-ups, and upgrades of what is held for reading",
    },
];

/// The settings as typed values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) rows: Rows,
    pub(super) warehouses: u64,
    pub(super) items: u64,
    pub(super) reads: u64,
    pub(super) write_pct: f64,
    pub(super) is_scattered: bool,
    pub(super) writes_first: bool,
    pub(super) is_blind: bool,
}

impl Settings {
    pub(super) fn new(values: &Values) -> Result<Self, SettingError> {
        let (warehouses, items) = (values.int("stock.warehouses"), values.int("stock.items"));
        let (rows, reads) = (Rows::new(warehouses, items), values.int("stock.reads"));
        if reads > rows.count() {
            return Err(SettingError(format!(
                "{reads} rows cannot be read of {}: lower `stock.reads`, or raise `stock.warehouses` or `stock.items`",
                rows.count()
            )));
        }
        Ok(Self {
            rows,
            warehouses,
            items,
            reads,
            write_pct: values.real("stock.write_pct"),
            is_scattered: values.text("stock.readset") == "scattered",
            writes_first: values.text("stock.writeset") == "first",
            is_blind: values.text("stock.write") == "blind",
        })
    }

    /// The mean number of rows that a transaction writes.
    pub(super) fn writes_mean(&self) -> f64 {
        self.reads as f64 * self.write_pct / 100.0
    }

    /// The maximum number of rows that a transaction writes.
    pub(super) fn writes_max(&self) -> u64 {
        (self.writes_mean().ceil() as u64).min(self.reads)
    }
}
