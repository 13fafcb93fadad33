//! Scripts: the anomalies of the literature, one file each, played on a scheme step by step.
//!
//! A script tells one *history*: the rows that are loaded, the steps of each transaction in their order, and what each
//! step sees. Under a scheme the same steps are made in the same order, as far as the scheme lets them, and they have
//! an outcome. Two questions are then asked. First: did the told history come about? The script says at which levels it
//! never does, and at which it must. Second: is there an order of the transactions, allowed by the scheme's level, that
//! explains the outcome? That is [tried](ScriptOutcome::is_explained_at) whatever the script says, so a script need not
//! foresee what schemes do instead of the anomaly: some abort, some wait, some show another value.
//!
//! ```text
//! Write skew on two records                              the title
//! from: Berenson et al., SIGMOD 1995, A5B                where it was told first
//!
//! Two doctors ...                                        the story
//!
//! load: point 1=1 2=1; ordered 1..30=0
//!
//! t1: read point 2 -> 1                                  a step, and what the told history sees
//! t2: read point 1 -> 1; update point 2 = 0; commit      several in a row
//! t1: update point 1 = 0; commit
//!
//! end: point 1=0 2=0                                     all rows of these tables in the end
//! never: serializable                                    and so not at the stricter level either
//! shown: snapshot isolation
//! ```
//!
//! **Tables.** `point` is found by key, `ordered` is scanned by key, `indexed` is found by key and scanned by value.
//! Keys are below 1,600 (below 100 for `indexed`). Each hundred of them is a home, and no leaf of an ordered index
//! holds keys of two homes: operations in one home do not interfere with another, once both have keys. A leaf holds 31
//! keys.
//!
//! **Steps** are `begin` (else a transaction begins with its first step), `commit`, `rollback`, and
//!
//! | step | sees |
//! |---|---|
//! | `read point 1` | its value or `none` |
//! | `update point 1 = 5`, `update point 1 + 5` | the value before, or `none` |
//! | `add point 1 + 5`, `replace point 1 = 5` | `done` or `none` |
//! | `insert point 1 = 5`, `insert ordered 1..9 = 5` | `done` or `there` |
//! | `delete point 1` | `done` or `none` |
//! | `scan ordered 1..9`, `scan_by indexed 10..20`, each with `backward` and `limit 2` | `1=5 9=5` or `nothing` |
//!
//! **Levels** are named as in reports; `any` is all of them. `never: serializable` holds for strictly serializable
//! schemes, too. `shown` means these levels only: under a stricter scheme the history may or may not come about. If a
//! step waits and later steps of the script are made before it, the history is not the told one, whatever it saw.
//!
//! **Exact outcomes** of a script under one scheme are in the scheme's [entry](engine::entry::Entry::outcomes), as
//! facts with commas between them: `t2 waits, t1 aborts (lock_busy)`. The facts are `shown`, `tN waits`, `tN commits`,
//! `tN rolls back`, `tN aborts` and `tN aborts (REASON)`.

mod list;
mod parse;
mod play;
mod replay;
mod stage;
mod verdict;

use core::fmt;
use std::collections::BTreeMap;

use engine::Isolation;

pub use list::SCRIPTS;
pub use parse::ScriptError;
pub use play::{Ending, ScriptOutcome, StepOutcome, TxnOutcome, play};
pub use verdict::{ScriptVerdict, Subject, judge};

/// The largest number of transactions of a script.
pub const TXNS_MAX: usize = 16;

/// The levels that schemes promise.
pub const LEVELS: [Isolation; 3] =
    [Isolation::StrictlySerializable, Isolation::Serializable, Isolation::Snapshot];

/// A script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The name of its file, without `.txt`.
    pub name: String,
    /// The title of the script.
    pub title: String,
    /// The source of the anomaly.
    pub from: String,
    /// The story, in prose.
    pub story: String,
    /// The rows that are loaded.
    pub load: ScriptRows,
    /// The steps, in this order.
    pub steps: Vec<ScriptStep>,
    /// The tables whose rows are checked in the end, and those rows.
    pub end: Option<(Vec<TableName>, ScriptRows)>,
    /// The claims about the outcome.
    pub claims: Vec<ScriptClaim>,
    /// The lines of the file.
    pub lines: Vec<String>,
}

/// Rows by table and key.
pub type ScriptRows = BTreeMap<(TableName, u64), u64>;

/// A table that scripts use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableName {
    /// Rows are found by key.
    Point,
    /// Rows are scanned by key, too.
    Ordered,
    /// Rows are found by key, and scanned by value.
    Indexed,
}

/// A step of a transaction.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// The line of the file, from 1.
    pub line: usize,
    /// The transaction, from 0: `t1` is 0.
    pub txn: usize,
    /// The action of the step.
    pub act: ScriptAction,
    /// The result that the step sees in the told history, if the script gives one.
    pub sees: Option<Seen>,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    /// The transaction begins.
    Begin,
    /// The transaction commits.
    Commit,
    /// The transaction rolls back.
    Rollback,
    /// The transaction executes an operation.
    Do(ScriptOp),
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptOp {
    /// Reads a row.
    Read(TableName, u64),
    /// Reads a row and writes it.
    Update(TableName, u64, Change),
    /// Adds to a row without looking at it.
    Add(TableName, u64, u64),
    /// Overwrites a row.
    Replace(TableName, u64, u64),
    /// Inserts rows, one after the other, until one of them is there already.
    Insert(Keys, u64),
    /// Deletes a row.
    Delete(TableName, u64),
    /// Reads rows by a range of keys or values.
    Scan {
        /// The range: of values if the table is scanned by value.
        keys: Keys,
        /// Whether the scan is in ascending order.
        is_forward: bool,
        /// The number of rows after which the scan stops.
        limit: usize,
    },
}

/// A range of keys of a table, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The table.
    pub table: TableName,
    /// The first key.
    pub from: u64,
    /// The last key.
    pub to: u64,
}

/// The change that an update makes to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets this value.
    To(u64),
    /// Adds this amount.
    By(u64),
}

/// The result that an operation saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A value; `None` if there is none.
    Value(Option<u64>),
    /// Whether a write found its row, or an insert found none.
    Done(bool),
    /// Keys and values in the order in which they were visited.
    Rows(Vec<(u64, u64)>),
}

/// A claim about the outcome of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptClaim {
    /// At these levels the told history never comes about.
    Never(Vec<Isolation>),
    /// Under schemes that promise one of these levels the told history comes about.
    Shown(Vec<Isolation>),
}

/// A fact about the outcome of a script, which may be true or false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The told history came about.
    Shown,
    /// A step of the transaction had to wait.
    Waits(usize),
    /// The transaction committed.
    Commits(usize),
    /// The rollback of the transaction was confirmed.
    RollsBack(usize),
    /// The scheme aborted it, for this reason if one is given.
    Aborts(usize, Option<engine::Abort>),
}

impl Script {
    /// The number of transactions.
    pub fn txns(&self) -> usize {
        self.steps.iter().map(|step| step.txn + 1).max().unwrap_or(0)
    }

    /// The steps of a transaction, with their numbers.
    pub fn steps_of(&self, txn: usize) -> impl Iterator<Item = (usize, &ScriptStep)> {
        self.steps.iter().enumerate().filter(move |(_, step)| step.txn == txn)
    }

    /// The text of a step.
    pub fn text_of(&self, step: usize) -> String {
        let step = &self.steps[step];
        format!("t{}: {}", step.txn + 1, step.act)
    }
}

impl TableName {
    /// All tables.
    pub const ALL: [Self; 3] = [Self::Point, Self::Ordered, Self::Indexed];

    /// Its name in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Ordered => "ordered",
            Self::Indexed => "indexed",
        }
    }

    /// The first key that the table cannot have. A table scanned by value has one home, since homes ascend with values.
    pub const fn keys_end(self) -> u64 {
        match self {
            Self::Point | Self::Ordered => stage::HOME_KEYS * engine::Homes::MAX as u64,
            Self::Indexed => stage::HOME_KEYS,
        }
    }
}

impl Keys {
    /// One key.
    pub const fn one(table: TableName, key: u64) -> Self {
        Self { table, from: key, to: key }
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, from, to } = self;
        if from == to {
            write!(f, "{} {from}", table.name())
        } else {
            write!(f, "{} {from}..{to}", table.name())
        }
    }
}

impl fmt::Display for ScriptAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin => f.write_str("begin"),
            Self::Commit => f.write_str("commit"),
            Self::Rollback => f.write_str("rollback"),
            Self::Do(op) => op.fmt(f),
        }
    }
}

impl fmt::Display for ScriptOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(table, key) => write!(f, "read {} {key}", table.name()),
            Self::Update(table, key, Change::To(value)) => {
                write!(f, "update {} {key} = {value}", table.name())
            }
            Self::Update(table, key, Change::By(amount)) => {
                write!(f, "update {} {key} + {amount}", table.name())
            }
            Self::Add(table, key, amount) => write!(f, "add {} {key} + {amount}", table.name()),
            Self::Replace(table, key, value) => write!(f, "replace {} {key} = {value}", table.name()),
            Self::Insert(keys, value) => write!(f, "insert {keys} = {value}"),
            Self::Delete(table, key) => write!(f, "delete {} {key}", table.name()),
            Self::Scan { keys, is_forward, limit } => {
                let verb = if keys.table == TableName::Indexed { "scan_by" } else { "scan" };
                write!(f, "{verb} {} {}..{}", keys.table.name(), keys.from, keys.to)?;
                if !is_forward {
                    f.write_str(" backward")?;
                }
                if *limit == usize::MAX { Ok(()) } else { write!(f, " limit {limit}") }
            }
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(Some(value)) => value.fmt(f),
            Self::Value(None) => f.write_str("none"),
            Self::Done(done) => f.write_str(if *done { "done" } else { "not done" }),
            Self::Rows(rows) if rows.is_empty() => f.write_str("nothing"),
            Self::Rows(rows) => {
                let runs = rows.chunk_by(|one, next| one.1 == next.1 && one.0.abs_diff(next.0) == 1);
                let runs = runs.map(|run| match *run {
                    [(from, value), .., (to, _)] => format!("{from}..{to}={value}"),
                    [(key, value)] => format!("{key}={value}"),
                    [] => String::new(),
                });
                f.write_str(&runs.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown => f.write_str("shown"),
            Self::Waits(txn) => write!(f, "t{} waits", txn + 1),
            Self::Commits(txn) => write!(f, "t{} commits", txn + 1),
            Self::RollsBack(txn) => write!(f, "t{} rolls back", txn + 1),
            Self::Aborts(txn, None) => write!(f, "t{} aborts", txn + 1),
            Self::Aborts(txn, Some(reason)) => write!(f, "t{} aborts ({})", txn + 1, reason.name()),
        }
    }
}
