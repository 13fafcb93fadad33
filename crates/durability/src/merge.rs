//! What commits have left: of each row the last writes, over what the checkpoint before had of it. The same code
//! recovers and makes checkpoints.
//!
//! Rows are divided by a hash of table and key into as many parts as the checkpoint has, each of which is merged by
//! itself, in the order of tables and keys. The result depends on the log alone: not on the number of workers, and not
//! on how often it was tried.

use core::cmp::Ordering as Order;

use engine::AnyKey;
use storage::TableId;
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Latched, workers};

use crate::checkpoint::PartReader;
use crate::entry::{self, ALL, Head, key_of};
use crate::error::{Corruption, OpenError};
use crate::format::{Kind, words};
use crate::layout::Layouts;
use crate::plants::Plant;
use crate::reader::Stream;

/// What was restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Rows that there are.
    pub rows: u64,
    /// Transactions of the log that were read.
    pub transactions: u64,
    /// Bytes of the log and of the checkpoint that were read.
    pub bytes: u64,
}

impl Restored {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.transactions += other.transactions;
        self.bytes += other.bytes;
    }
}

/// The commits of a segment, as words.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    words: Vec<u64>,
    /// For messages: the file, where its first block begins, and for each block where its words begin among these.
    file: String,
    blocks: Vec<(usize, usize)>,
}

impl Commits {
    /// Those of all segments of a device, as far as they stand before `end`.
    pub(crate) fn of(stream: &Stream, end: u64, place: &str) -> Vec<Self> {
        let segments = stream.segments.iter().map(|segment| {
            let mut commits = Self {
                file: format!("{place}/{}", crate::format::segment_name(segment.number)),
                ..Self::default()
            };
            for block in &segment.blocks {
                if block.head.kind == Kind::Commits && block.head.position < end {
                    commits.blocks.push((commits.words.len(), block.at));
                    commits.words.extend(words(&segment.bytes[block.at..block.at + block.head.payload]));
                }
            }
            commits
        });
        segments.collect()
    }

    fn corrupt(&self, at: usize) -> Corruption {
        let block = self.blocks.iter().rev().find(|(first, _)| *first <= at);
        let offset = block.map_or(0, |(first, offset)| offset + (at - first) * 8) as u64;
        Corruption { file: self.file.clone(), offset, found: "a transaction makes no sense".to_owned() }
    }
}

/// A write, by where it is.
#[derive(Clone, Copy, Debug)]
struct Place {
    table: u16,
    group: u16,
    is_gone: bool,
    key_words: u8,
    /// The first word of the key, which tells most keys apart.
    first: u64,
    epoch: u64,
    order: u64,
    source: u32,
    key_at: u32,
}

/// A row as a part of a checkpoint has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'w> {
    pub(crate) table: u16,
    pub(crate) key: &'w [u64],
    pub(crate) groups: &'w [u64],
}

/// Which part a row belongs to: a part of the format.
pub(crate) fn part_of(table: u16, key: &[u64], parts: usize) -> usize {
    // Finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), over one word after the other.
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let hash = key
        .iter()
        .fold(u64::from(table), |hash, word| mix((hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15)));
    (hash % parts as u64) as usize
}

/// The log, sorted out by parts.
#[derive(Debug)]
pub(crate) struct Merge<'m> {
    layouts: &'m Layouts,
    commits: &'m [Commits],
    /// By worker that read, by part.
    places: Vec<Vec<Vec<Place>>>,
    parts: usize,
    plant: Option<Plant>,
    pub(crate) read: Restored,
}

impl<'m> Merge<'m> {
    /// Reads the log.
    pub(crate) fn new(
        layouts: &'m Layouts,
        commits: &'m [Commits],
        parts: usize,
        workers: usize,
        plant: Option<Plant>,
    ) -> Result<Self, OpenError> {
        let next = AtomicUsize::new(0);
        let read = |_| {
            let (mut places, mut read) = (vec![Vec::new(); parts], Restored::default());
            loop {
                // Relaxed: only counts.
                let source = next.fetch_add(1, Ordering::Relaxed);
                let Some(commits) = commits.get(source) else { return Ok((places, read)) };
                read.add(sort_out(commits, source as u32, layouts, &mut places)?);
            }
        };
        let all = each(workers, read)?;
        let mut total = Restored::default();
        let places = all.into_iter().map(|(places, read)| {
            total.add(read);
            places
        });
        let places = places.collect();
        Ok(Self { layouts, commits, places, parts, plant, read: total })
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    fn key(&self, place: &Place) -> &'m [u64] {
        let at = place.key_at as usize;
        &self.commits[place.source as usize].words[at..at + usize::from(place.key_words)]
    }

    fn row(&self, place: &Place) -> &'m [u64] {
        let at = place.key_at as usize + usize::from(place.key_words);
        let width = self.layouts.width(usize::from(place.table), place.group).expect("it was looked at");
        &self.commits[place.source as usize].words[at..at + width]
    }

    #[inline]
    fn compare(&self, a: &Place, b: &Place) -> Order {
        let by_first = (a.table, a.first).cmp(&(b.table, b.first));
        // Of a table, all keys have one width, and most have one word: the others are further away.
        if by_first.is_ne() || a.key_words == 1 { by_first } else { self.key(a).cmp(self.key(b)) }
    }

    /// Merges a part: `before` are the rows that the checkpoint has, in their order.
    pub(crate) fn part(
        &self,
        part: usize,
        before: &mut PartReader,
        see: &mut dyn FnMut(Row<'_>) -> Result<(), OpenError>,
    ) -> Result<u64, OpenError> {
        let is_heap = |table: u16| self.layouts.0[usize::from(table)].is_heap;
        let all = self.places.iter().flat_map(|worker| &worker[part]).copied();
        let (heaps, mut keyed): (Vec<_>, Vec<_>) = all.partition(|place| is_heap(place.table));
        keyed.sort_unstable_by(|a, b| {
            let by_place = self.plant == Some(Plant::OrdersByPlace);
            let order = |place: &Place| if by_place { (0, 0) } else { (place.epoch, place.order) };
            self.compare(a, b).then_with(|| order(a).cmp(&order(b)))
        });
        let mut out = Out { merge: self, see, row: Vec::new(), known: Vec::new(), rows: 0 };
        let mut groups = keyed.chunk_by(|a, b| self.compare(a, b) == Order::Equal).peekable();
        while let Some(table) = before.next(self.layouts)? {
            let words = before.row();
            let key_words = self.layouts.0[usize::from(table)].key_words as usize;
            let key = &words[..key_words];
            if is_heap(table) {
                out.put(Some((table, words)), &[])?;
                continue;
            }
            while let Some(group) =
                groups.next_if(|group| (group[0].table, self.key(&group[0])) < (table, key))
            {
                out.put(None, group)?;
            }
            let writes = groups.next_if(|group| group[0].table == table && self.key(&group[0]) == key);
            out.put(Some((table, words)), writes.unwrap_or_default())?;
        }
        for group in groups {
            out.put(None, group)?;
        }
        for place in &heaps {
            out.put(None, core::slice::from_ref(place))?;
        }
        Ok(out.rows)
    }

    /// A row that was left with some of its column groups.
    fn half(&self, place: Option<&Place>) -> OpenError {
        let corrupt = place.map(|place| self.commits[place.source as usize].corrupt(place.key_at as usize));
        let mut corrupt =
            corrupt.unwrap_or(Corruption { file: String::new(), offset: 0, found: String::new() });
        "a row has some of its column groups only".clone_into(&mut corrupt.found);
        corrupt.into()
    }
}

/// Puts rows together.
struct Out<'o, 'm> {
    merge: &'o Merge<'m>,
    see: &'o mut dyn FnMut(Row<'_>) -> Result<(), OpenError>,
    row: Vec<u64>,
    /// By column group: whether it has a value.
    known: Vec<bool>,
    rows: u64,
}

impl Out<'_, '_> {
    /// One row: what it was, and what was written since.
    fn put(&mut self, before: Option<(u16, &[u64])>, writes: &[Place]) -> Result<(), OpenError> {
        let Some(table) = before.map(|(table, _)| table).or(writes.first().map(|place| place.table)) else {
            return Ok(());
        };
        let layout = &self.merge.layouts.0[usize::from(table)];
        let key_words = layout.key_words as usize;
        self.row.clear();
        self.known.clear();
        self.known.resize(layout.groups.len(), before.is_some());
        match before {
            Some((_, words)) => self.row.extend_from_slice(&words[key_words..]),
            None => self.row.resize(layout.row_words(), 0),
        }
        for write in writes {
            if write.is_gone && self.merge.plant == Some(Plant::ForgetsDeletions) {
                continue;
            }
            let mut at = 0;
            for (group, (known, width)) in self.known.iter_mut().zip(&layout.groups).enumerate() {
                let width = *width as usize;
                if write.group == ALL || usize::from(write.group) == group {
                    *known = !write.is_gone;
                    if !write.is_gone {
                        let row = self.merge.row(write);
                        let from = if write.group == ALL { &row[at..at + width] } else { row };
                        self.row[at..at + width].copy_from_slice(from);
                    }
                }
                at += width;
            }
        }
        if self.known.iter().all(|known| *known) {
            let key = before.map_or_else(|| self.merge.key(&writes[0]), |(_, words)| &words[..key_words]);
            self.rows += 1;
            return (self.see)(Row { table, key, groups: &self.row });
        }
        if self.known.iter().any(|known| *known) && self.merge.plant.is_none() {
            return Err(self.merge.half(writes.last()));
        }
        Ok(())
    }
}

/// Sorts the writes of a segment out by parts.
fn sort_out(
    commits: &Commits,
    source: u32,
    layouts: &Layouts,
    parts: &mut [Vec<Place>],
) -> Result<Restored, OpenError> {
    let (mut at, mut transactions) = (0, 0);
    let count = parts.len();
    while at < commits.words.len() {
        let rest = &commits.words[at..];
        let head = Head::of(rest).ok_or_else(|| commits.corrupt(at))?;
        let seen = entry::writes(rest, layouts, |write| {
            let key = &rest[write.key_at..write.key_at + write.key_words];
            parts[part_of(write.table, key, count)].push(Place {
                table: write.table,
                group: write.group,
                is_gone: write.is_gone,
                key_words: write.key_words as u8,
                first: key.first().copied().unwrap_or_default(),
                epoch: head.epoch,
                order: head.order,
                source,
                key_at: (at + write.key_at) as u32,
            });
        });
        seen.ok_or_else(|| commits.corrupt(at))?;
        at += head.words;
        transactions += 1;
    }
    Ok(Restored { rows: 0, transactions, bytes: at as u64 * 8 })
}

/// What each of several workers returns, or the first error.
pub(crate) fn each<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, OpenError> + Sync,
) -> Result<Vec<T>, OpenError> {
    if count == 1 {
        return Ok(vec![work(0)?]);
    }
    workers::run(count, false, work).into_iter().collect()
}

/// Merges all parts, each by one of several workers; `work` is given the number of the part. What was restored.
pub(crate) fn all_parts(
    merge: &Merge<'_>,
    workers: usize,
    work: impl Fn(usize, usize) -> Result<Restored, OpenError> + Sync,
) -> Result<Restored, OpenError> {
    let next = AtomicUsize::new(0);
    let total = Latched::new(merge.read);
    each(workers.min(merge.parts()), |worker| {
        loop {
            // Relaxed: only counts.
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= merge.parts() {
                return Ok(());
            }
            let restored = work(worker, part)?;
            total.lock().add(restored);
        }
    })?;
    Ok(total.into_inner())
}

/// A row's table and key, typed as far as that is known.
pub(crate) fn named(row: &Row<'_>) -> Option<(TableId, AnyKey)> {
    Some((TableId(row.table), key_of(row.key)?))
}
