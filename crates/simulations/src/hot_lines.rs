//! Names of cache lines: the row, or the part of the scheme, whose words are in a line; and the parts whose lines
//! together were waited for longest.

use std::collections::BTreeMap;

use engine::Violation;
use sim::{Spent, StuckWorkers};

use crate::HotLine;
use crate::database::SimulatedDatabase;

/// The number of lines that are named.
const COUNT: usize = 8;
/// The number of lines that are counted for the part that they are of.
pub(crate) const COUNTED: usize = 4_096;

/// Tells that workers wait for each other for ever, and at which line.
pub(crate) fn livelock(
    db: &dyn SimulatedDatabase,
    stuck: StuckWorkers,
    workers: usize,
    line_bytes: usize,
) -> Violation {
    let line = stuck.line.map_or_else(String::new, |(line, lookers)| {
        format!(", {lookers} of them at a cache line of {}", db.part(line, line_bytes))
    });
    let left = stuck.workers;
    let found = format!(
        "{left} of {workers} workers were still in a transaction long after the end of the run{line}"
    );
    Violation { condition: "livelock", found }
}

/// Names the lines at these addresses, for which threads have waited so many picoseconds, the longest first. Returns
/// the lines that were waited for longest, and the parts of the database that were waited for longest by all these
/// lines.
pub(crate) fn name(
    db: &dyn SimulatedDatabase,
    hottest: &[(usize, u64)],
    line_bytes: usize,
    spent: &Spent,
) -> (Vec<HotLine>, Vec<HotLine>) {
    let part = |line: usize| db.part(line, line_bytes);
    let all = spent.accesses().max(1) as f64;
    let hot = |name: String, ps: u64| HotLine { name, share: ps as f64 / all };
    let lines: Vec<usize> = hottest.iter().take(COUNT).map(|(line, _)| *line).collect();
    let mut rows: Vec<Option<String>> = vec![None; lines.len()];
    db.each_record(&mut |table, number, record| {
        for (line, name) in lines.iter().zip(&mut rows) {
            if record.start < line + line_bytes && record.end > *line && name.is_none() {
                *name = Some(format!("{table} row {number}"));
            }
        }
    });
    let named = rows.into_iter().zip(hottest);
    let lines = named.map(|(row, (line, ps))| hot(row.unwrap_or_else(|| part(*line)), *ps)).collect();
    let mut waited: BTreeMap<String, u64> = BTreeMap::new();
    for (line, ps) in hottest {
        *waited.entry(without_numbers(&part(*line))).or_default() += ps;
    }
    let mut parts: Vec<HotLine> = waited.into_iter().map(|(name, ps)| hot(name, ps)).collect();
    parts.sort_by(|one, other| other.share.total_cmp(&one.share));
    parts.truncate(COUNT);
    (lines, parts)
}

/// Returns the name of a kind of part: the name of one without its number.
fn without_numbers(name: &str) -> String {
    let words = name.split(' ').filter(|word| word.parse::<u64>().is_err());
    words.collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_kind_have_one_name() {
        assert_eq!(without_numbers("session 12 in the epoch of memory"), "session in the epoch of memory");
        assert_eq!(without_numbers("order_line rows"), "order_line rows");
    }
}
