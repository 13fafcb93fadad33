//! Names of cache lines: the row, or the part of the scheme, whose words are in a line.

use engine_sim::{Database, Scheme};
use sim::Spent;
use storage_sim::TableStore;

use crate::HotLine;

/// The number of lines that are named.
pub(crate) const COUNT: usize = 8;

/// Names the lines at these addresses, for which threads have waited so many picoseconds.
pub(crate) fn name<S: Scheme>(
    db: &Database<S>,
    hottest: &[(usize, u64)],
    line_bytes: usize,
    spent: &Spent,
) -> Vec<HotLine> {
    let lines: Vec<usize> = hottest.iter().map(|(address, _)| *address).collect();
    let mut names: Vec<Option<String>> = vec![None; lines.len()];
    let scheme = core::ptr::from_ref(db.scheme()).addr();
    note(&lines, line_bytes, (scheme, size_of::<S>()), &mut names, &|| {
        "words of the scheme itself".to_owned()
    });
    db.tables().iter().for_each(|table| note_rows(table, &lines, line_bytes, &mut names));
    for (line, name) in lines.iter().zip(&mut names) {
        *name = name.take().or_else(|| db.tables().part_at(*line));
    }
    let all = spent.sum().max(1) as f64;
    let hot = |(name, (_, ps)): (Option<String>, &(usize, u64))| HotLine {
        name: name.unwrap_or_else(|| "memory of the scheme or of its driver".to_owned()),
        share: *ps as f64 / all,
    };
    names.into_iter().zip(hottest).map(hot).collect()
}

/// Names the lines that have words of a table's rows.
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
            let range = (record.id(), (1 + record.width()) * size_of::<u64>());
            note(lines, line_bytes, range, names, &|| format!("{} row {number}", table.name()));
        }
        number += 1;
    });
}

/// Names the lines that have bytes of a range, which is its address and its size, unless they have a name.
fn note(
    lines: &[usize],
    line_bytes: usize,
    (start, bytes): (usize, usize),
    names: &mut [Option<String>],
    says: &dyn Fn() -> String,
) {
    for (line, name) in lines.iter().zip(names) {
        if start < line + line_bytes && start + bytes > *line && name.is_none() {
            *name = Some(says());
        }
    }
}
