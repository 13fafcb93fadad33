//! Names of cache lines: the row, or the part of the scheme, whose words are in a line; and the parts whose lines
//! together were waited for longest.

use std::collections::BTreeMap;

use engine::Violation;
use engine_sim::{Database, Scheme};
use sim::{Spent, StuckWorkers};
use storage_sim::TableStore;

use crate::HotLine;

/// The number of lines that are named.
const COUNT: usize = 8;
/// The number of lines that are counted for the part that they are of.
pub(crate) const COUNTED: usize = 4_096;

/// Tells that workers wait for each other for ever, and at which line.
pub(crate) fn livelock<S: Scheme>(
    db: &Database<S>,
    stuck: StuckWorkers,
    workers: usize,
    line_bytes: usize,
) -> Violation {
    let line = stuck.line.map_or_else(String::new, |(line, lookers)| {
        format!(", {lookers} of them at a cache line of {}", part(db, line, line_bytes))
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
pub(crate) fn name<S: Scheme>(
    db: &Database<S>,
    hottest: &[(usize, u64)],
    line_bytes: usize,
    spent: &Spent,
) -> (Vec<HotLine>, Vec<HotLine>) {
    let part = |line: usize| part(db, line, line_bytes);
    let all = spent.sum().max(1) as f64;
    let hot = |name: String, ps: u64| HotLine { name, share: ps as f64 / all };
    let lines: Vec<usize> = hottest.iter().take(COUNT).map(|(line, _)| *line).collect();
    let mut rows: Vec<Option<String>> = vec![None; lines.len()];
    db.tables().iter().for_each(|table| note_rows(table, &lines, line_bytes, &mut rows));
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

/// Returns the name of the part of the database or of the scheme whose words are in the line at an address.
fn part<S: Scheme>(db: &Database<S>, line: usize, line_bytes: usize) -> String {
    let scheme = core::ptr::from_ref(db.scheme()).addr();
    let has_scheme = scheme < line + line_bytes && scheme + size_of::<S>() > line;
    let of_scheme = has_scheme.then(|| "words of the scheme itself".to_owned());
    let part = of_scheme.or_else(|| db.tables().part_at(line));
    part.unwrap_or_else(|| "memory of the scheme or of its driver".to_owned())
}

/// Returns the name of a kind of part: the name of one without its number.
fn without_numbers(name: &str) -> String {
    let words = name.split(' ').filter(|word| word.parse::<u64>().is_err());
    words.collect::<Vec<&str>>().join(" ")
}

/// Names the lines that have words of a table's rows, unless they have a name.
fn note_rows<S: Scheme>(
    table: &TableStore<S>,
    lines: &[usize],
    line_bytes: usize,
    names: &mut [Option<String>],
) {
    let mut number = 0_u64;
    table.for_each_row(0, 1, |row| {
        for record in row.records() {
            // The header stands in front of the words.
            let (start, bytes) = (record.id(), (1 + record.width()) * size_of::<u64>());
            for (line, name) in lines.iter().zip(&mut *names) {
                if start < line + line_bytes && start + bytes > *line && name.is_none() {
                    *name = Some(format!("{} row {number}", table.name()));
                }
            }
        }
        number += 1;
    });
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
