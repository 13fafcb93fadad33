//! Finds out whether a level allows an outcome, by trying all orders of the transactions on a plain map.
//!
//! A transaction that the scheme aborted did not happen. A transaction that rolled back has read, but written nothing:
//! a rollback is confirmed, so its reads must fit in as well.

use engine::Isolation;

use super::play::{Ending, ScriptOutcome};
use super::{Keys, Script, ScriptAction, ScriptOp, ScriptRows, ScriptStep, Seen, TableName, TxnOutcome};

/// A transaction that took effect.
struct Happened<'s> {
    /// Its operations, and the result that each saw where that matters.
    ops: Vec<(&'s ScriptOp, Option<&'s Seen>)>,
    writes: bool,
    began: u32,
    ended: u32,
}

/// The transactions in the order that is being tried.
struct Tried<'s> {
    level: Isolation,
    txns: Vec<Happened<'s>>,
    is_placed: Vec<bool>,
    /// The rows after each number of transactions, and the keys that the last of these transactions wrote.
    states: Vec<(ScriptRows, Vec<(TableName, u64)>)>,
    order: Vec<usize>,
    /// Whether rows may be the rows in the end.
    fits: &'s dyn Fn(&ScriptRows) -> bool,
}

impl ScriptOutcome {
    /// Whether an order of the transactions that the level allows explains all that they saw, and the rows in the end.
    pub fn is_explained_at(&self, level: Isolation, script: &Script) -> bool {
        let txn = |(number, txn): (usize, &TxnOutcome)| {
            let writes = match txn.ending? {
                Ending::Committed => true,
                Ending::RolledBack => false,
                Ending::Aborted(_) => return None,
            };
            let ops = script.steps_of(number).filter_map(|(step, ScriptStep { act, .. })| match act {
                ScriptAction::Do(op) => Some((op, self.steps[step].seen.as_ref())),
                _ => None,
            });
            Some(Happened { ops: ops.collect(), writes, began: txn.began, ended: txn.ended })
        };
        let txns = self.txns.iter().enumerate().filter_map(txn).collect();
        explains(level, script, txns, &|rows| *rows == self.rows)
    }
}

impl Script {
    /// Whether the level allows the told history.
    pub fn is_allowed_at(&self, level: Isolation) -> bool {
        let txns = (0..self.txns()).map(|txn| {
            let steps: Vec<_> = self.steps_of(txn).collect();
            let (began, ended) = (steps[0].0 as u32, steps[steps.len() - 1].0 as u32);
            let writes = steps.iter().any(|(_, step)| step.act == ScriptAction::Commit);
            let ops = steps.into_iter().filter_map(|(_, ScriptStep { act, sees, .. })| match act {
                ScriptAction::Do(op) => Some((op, sees.as_ref())),
                _ => None,
            });
            Happened { ops: ops.collect(), writes, began, ended }
        });
        explains(level, self, txns.collect(), &|rows| self.ends_with(rows))
    }

    /// Whether these may be the rows in the end.
    pub(super) fn ends_with(&self, rows: &ScriptRows) -> bool {
        self.end.as_ref().is_none_or(|(tables, end)| {
            rows.iter().filter(|((table, _), _)| tables.contains(table)).eq(end.iter())
        })
    }
}

fn explains(
    level: Isolation,
    script: &Script,
    txns: Vec<Happened<'_>>,
    fits: &dyn Fn(&ScriptRows) -> bool,
) -> bool {
    let is_placed = vec![false; txns.len()];
    let states = vec![(script.load.clone(), Vec::new())];
    Tried { level, txns, is_placed, states, order: Vec::new(), fits }.goes_on()
}

impl Tried<'_> {
    /// Whether the remaining transactions can be placed.
    fn goes_on(&mut self) -> bool {
        if self.order.len() == self.txns.len() {
            return (self.fits)(&self.states.last().expect("there is a first state").0);
        }
        for txn in 0..self.txns.len() {
            if self.is_placed[txn] || self.must_wait(txn) {
                continue;
            }
            let Some(next) = self.place(txn) else { continue };
            self.states.push(next);
            self.order.push(txn);
            self.is_placed[txn] = true;
            if self.goes_on() {
                return true;
            }
            self.is_placed[txn] = false;
            self.order.pop();
            self.states.pop();
        }
        false
    }

    /// Whether, at a level that respects real time, a transaction that is not placed yet ended before this one began.
    fn must_wait(&self, txn: usize) -> bool {
        self.level != Isolation::Serializable
            && (0..self.txns.len()).any(|other| !self.is_placed[other] && self.is_before(other, txn))
    }

    fn is_before(&self, one: usize, other: usize) -> bool {
        self.txns[one].ended < self.txns[other].began
    }

    /// The state after this transaction if it comes next; `None` if it cannot.
    fn place(&self, txn: usize) -> Option<(ScriptRows, Vec<(TableName, u64)>)> {
        let last = self.order.len();
        let first = if self.level == Isolation::Snapshot {
            // The snapshot contains all transactions that had committed when it was taken.
            self.order.iter().rposition(|other| self.is_before(*other, txn)).map_or(0, |place| place + 1)
        } else {
            last
        };
        (first..=last).find_map(|snapshot| {
            let (view, written) = self.txns[txn].replay(&self.states[snapshot].0)?;
            let is_first =
                self.states[snapshot + 1..].iter().flat_map(|(_, own)| own).all(|at| !written.contains(at));
            if !is_first {
                return None;
            }
            let mut rows = self.states[last].0.clone();
            for at in &written {
                match view.get(at) {
                    Some(value) => _ = rows.insert(*at, *value),
                    None => _ = rows.remove(at),
                }
            }
            Some((rows, written))
        })
    }
}

impl Happened<'_> {
    /// The rows after the transaction if it began with `rows`, and the keys that it wrote; `None` if it would have seen
    /// something else.
    fn replay(&self, rows: &ScriptRows) -> Option<(ScriptRows, Vec<(TableName, u64)>)> {
        let (mut rows, mut written) = (rows.clone(), Vec::new());
        for (op, seen) in &self.ops {
            let sees = op.replay(&mut rows, &mut written);
            if seen.is_some_and(|seen| *seen != sees) {
                return None;
            }
        }
        if !self.writes {
            written.clear();
        }
        Some((rows, written))
    }
}

impl ScriptOp {
    /// Executes the operation on the rows, and returns what it sees.
    fn replay(&self, rows: &mut ScriptRows, written: &mut Vec<(TableName, u64)>) -> Seen {
        let mut write = |rows: &mut ScriptRows, at: (TableName, u64), value: Option<u64>| {
            written.push(at);
            match value {
                Some(value) => rows.insert(at, value),
                None => rows.remove(&at),
            }
        };
        match *self {
            Self::Read(table, key) => Seen::Value(rows.get(&(table, key)).copied()),
            Self::Update(table, key, change) => {
                let before = rows.get(&(table, key)).copied();
                Seen::Value(before.and_then(|before| write(rows, (table, key), Some(change.of(before)))))
            }
            Self::Add(table, key, amount) => {
                let before = rows.get(&(table, key)).copied();
                let sum = before.map(|before| before.wrapping_add(amount));
                Seen::Done(sum.is_some_and(|sum| write(rows, (table, key), Some(sum)).is_some()))
            }
            Self::Replace(table, key, value) => {
                let is_there = rows.contains_key(&(table, key));
                Seen::Done(is_there && write(rows, (table, key), Some(value)).is_some())
            }
            Self::Delete(table, key) => {
                Seen::Done(rows.contains_key(&(table, key)) && write(rows, (table, key), None).is_some())
            }
            Self::Insert(Keys { table, from, to }, value) => Seen::Done((from..=to).all(|key| {
                let is_there = rows.contains_key(&(table, key));
                !is_there && write(rows, (table, key), Some(value)).is_none()
            })),
            Self::Scan { keys, is_forward, limit } => Seen::Rows(scan(rows, keys, is_forward, limit)),
        }
    }
}

fn scan(
    rows: &ScriptRows,
    Keys { table, from, to }: Keys,
    is_forward: bool,
    limit: usize,
) -> Vec<(u64, u64)> {
    let all = rows.range((table, 0)..=(table, u64::MAX)).map(|(&(_, key), &value)| (key, value));
    let mut found: Vec<_> = if table == TableName::Indexed {
        let mut found: Vec<_> = all.filter(|(_, value)| (from..=to).contains(value)).collect();
        found.sort_by_key(|&(key, value)| (value, key));
        found
    } else {
        all.filter(|(key, _)| (from..=to).contains(key)).collect()
    };
    if !is_forward {
        found.reverse();
    }
    found.truncate(limit);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::LEVELS;

    /// Whether a history is allowed at each level: strictly serializable, serializable, snapshot isolation.
    fn allowed(history: &str) -> [bool; 3] {
        let text = format!("Title\nfrom: nobody\n\nStory.\n\n{history}\nnever: any\n");
        let script = Script::parse("test", &text).expect("it is right");
        LEVELS.map(|level| script.is_allowed_at(level))
    }

    #[test]
    fn what_was_read_fits_some_order() {
        let history = |seen: &str| {
            format!("load: point 1=0\nt1: read point 1 -> {seen}\nt2: update point 1 = 5; commit\nt1: commit")
        };
        assert_eq!(allowed(&history("0")), [true; 3]);
        assert_eq!(allowed(&history("5")), [true; 3]);
        assert_eq!(allowed(&history("3")), [false; 3]);
    }

    #[test]
    fn only_serializable_histories_may_go_against_time() {
        let stale = "load: point 1=0\nt1: update point 1 = 5; commit\nt2: read point 1 -> 0; commit";
        assert_eq!(allowed(stale), [false, true, false]);
    }

    #[test]
    fn of_two_snapshots_that_write_one_row_one_is_forbidden() {
        let skew = "load: point 1=0 2=0\nt1: read point 1 -> 0; read point 2 -> 0\n\
                    t2: read point 1 -> 0; replace point 2 = 5; commit\nt1: replace point 1 = 6; commit";
        assert_eq!(allowed(skew), [false, false, true]);
        let both = skew.replace("replace point 2 = 5", "replace point 2 = 5; replace point 1 = 7");
        assert_eq!(allowed(&both), [false; 3]);
    }

    #[test]
    fn what_rolled_back_has_read_and_not_written() {
        let history = |seen: &str, later: &str| {
            format!(
                "load: point 1=0\nt1: update point 1 + 1 -> {seen}; rollback\nt2: read point 1 -> {later}; commit"
            )
        };
        assert_eq!(allowed(&history("0", "0")), [true; 3]);
        assert_eq!(allowed(&history("0", "1")), [false; 3]);
        assert_eq!(allowed(&history("7", "0")), [false; 3]);
    }

    #[test]
    fn rows_in_the_end_count() {
        let history = "load: point 1=0; ordered 1=0\nt1: update point 1 + 1; commit\n\nend: point 1=";
        assert_eq!(allowed(&format!("{history}1")), [true; 3]);
        assert_eq!(allowed(&format!("{history}0")), [false; 3]);
        assert_eq!(allowed(&format!("{history}1; ordered 1=0 2=0")), [false; 3]);
    }

    #[test]
    fn operations_see_what_maps_hold() {
        let history = "load: ordered 1=10 3=30; indexed 1=30 2=10\n\
            t1: scan ordered 0..9 backward limit 1 -> 3=30; insert ordered 2..4 = 5 -> there\n\
            t1: scan ordered 0..9 -> 1=10 2=5 3=30\n\
            t1: scan_by indexed 10..30 -> 2=10 1=30; delete indexed 2 -> done; delete indexed 2 -> none\n\
            t1: add ordered 1 + 5 -> done; replace ordered 1 = 7 -> done; replace ordered 9 = 7 -> none\n\
            t1: update ordered 1 + 1 -> 7; update ordered 9 + 1 -> none; read ordered 1 -> 8; commit\n\
            end: ordered 1=8 2=5 3=30; indexed 1=30";
        assert_eq!(allowed(history), [true; 3]);
        for (right, wrong) in [
            ("3=30; insert", "1=10; insert"),
            ("2=10 1=30", "1=30 2=10"),
            ("read ordered 1 -> 8", "read ordered 1 -> 7"),
        ] {
            assert_eq!(allowed(&history.replacen(right, wrong, 1)), [false; 3], "{wrong}");
        }
    }
}
