//! The result of commits: for each row the last writes, over the row's value in the checkpoint before. The same code
//! recovers and makes checkpoints.
//!
//! Rows are divided by a hash of table and key into as many parts as the checkpoint has. Each part is merged
//! separately, in the order of tables and keys. The result depends on the log alone: not on the number of workers, and
//! not on the number of tries.

use core::cmp::Ordering as Order;
use core::ops::Range;

use engine::AnyKey;
use storage::TableId;
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Latched, hint, workers};

use crate::checkpoint::PartReader;
use crate::entry::{self, ALL, copy_words, key_of};
use crate::error::{Corruption, OpenError};
use crate::format::{Kind, words};
use crate::layout::Layouts;
use crate::plants::LogPlant;
use crate::reader::{Block, Stream};

/// The number of writes that a prefetch is ahead of the merge: about as many misses as a core can have outstanding.
const AHEAD: usize = 8;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// The largest number of cache lines prefetched of one write: the processor itself detects how a long row continues.
const PREFETCHED_LINES: usize = 4;

/// Totals of a recovery or of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The number of rows in the result.
    pub rows: u64,
    /// The number of transactions of the log that were read.
    pub transactions: u64,
    /// The number of bytes of the log and of the checkpoint that were read.
    pub bytes: u64,
}

impl Restored {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.transactions += other.transactions;
        self.bytes += other.bytes;
    }
}

/// The commits of a segment.
#[derive(Debug)]
pub(crate) struct Commits<'s> {
    bytes: &'s [u8],
    /// The byte ranges of the payloads of the blocks.
    blocks: Vec<Range<usize>>,
    /// The file name, for messages.
    file: String,
}

impl<'s> Commits<'s> {
    /// The commits of all segments of a device, as far as they stand before `end`.
    pub(crate) fn of(stream: &'s Stream, end: u64, place: &str) -> Vec<Self> {
        let segments = stream.segments.iter().map(|segment| {
            let counts = |block: &&Block| block.head.kind == Kind::Commits && block.head.position < end;
            let counted = segment.blocks.iter().filter(counts);
            Self {
                bytes: &segment.bytes,
                blocks: counted.map(|block| block.at..block.at + block.head.payload).collect(),
                file: format!("{place}/{}", crate::format::segment_name(segment.number)),
            }
        });
        segments.collect()
    }

    fn corrupt(&self, at: usize) -> Corruption {
        let found = "a transaction makes no sense".to_owned();
        Corruption { file: self.file.clone(), offset: at as u64, found }
    }
}

/// The location of a write.
#[derive(Clone, Copy, Debug)]
struct Place {
    table: u16,
    group: u16,
    is_gone: bool,
    key_words: u8,
    /// The first word of the key, which distinguishes most keys.
    first: u64,
    epoch: u64,
    order: u64,
    source: u32,
    /// The index at which the key begins, in words from the start of the segment.
    key_at: u32,
}

/// The writes of a part.
#[derive(Clone, Debug, Default)]
struct Places {
    /// The writes of heaps, in no order.
    heaps: Vec<Place>,
    keyed: Vec<Place>,
}

/// A row in the form of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'w> {
    pub(crate) table: u16,
    pub(crate) key: &'w [u64],
    pub(crate) groups: &'w [u64],
}

/// The part to which a row belongs. This function belongs to the file format.
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

/// The writes of the log, sorted by parts.
#[derive(Debug)]
pub(crate) struct Merge<'m> {
    layouts: &'m Layouts,
    commits: &'m [Commits<'m>],
    /// By part, and by the worker that read them. The worker that merges a part takes them.
    places: Vec<Latched<Vec<Places>>>,
    plant: Option<LogPlant>,
    pub(crate) read: Restored,
}

impl<'m> Merge<'m> {
    /// Reads the log.
    pub(crate) fn new(
        layouts: &'m Layouts,
        commits: &'m [Commits<'m>],
        parts: usize,
        workers: usize,
        plant: Option<LogPlant>,
    ) -> Result<Self, OpenError> {
        let next = AtomicUsize::new(0);
        let read = |_| {
            let (mut places, mut read) = (vec![Places::default(); parts], Restored::default());
            loop {
                // Relaxed: only counts.
                let source = next.fetch_add(1, Ordering::Relaxed);
                let Some(commits) = commits.get(source) else { return Ok((places, read)) };
                read.add(sort_out(commits, source as u32, layouts, &mut places)?);
            }
        };
        let all = each(workers, read)?;
        let mut total = Restored::default();
        let mut places: Vec<Vec<Places>> = vec![Vec::new(); parts];
        for (of_worker, read) in all {
            total.add(read);
            places.iter_mut().zip(of_worker).for_each(|(part, of_worker)| part.push(of_worker));
        }
        let places = places.into_iter().map(Latched::new).collect();
        Ok(Self { layouts, commits, places, plant, read: total })
    }

    /// The number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.places.len()
    }

    /// The key of a write, as bytes.
    fn key(&self, place: &Place) -> &'m [u8] {
        let at = place.key_at as usize * 8;
        &self.commits[place.source as usize].bytes[at..at + usize::from(place.key_words) * 8]
    }

    /// The row of a write, as bytes.
    fn row(&self, place: &Place) -> &'m [u8] {
        let at = (place.key_at as usize + usize::from(place.key_words)) * 8;
        let width = self.layouts.width(usize::from(place.table), place.group).expect("it was looked at");
        &self.commits[place.source as usize].bytes[at..at + width * 8]
    }

    /// Prefetches the memory of the key of a write, and of the row behind it.
    #[inline]
    fn prefetch(&self, place: &Place) {
        let bytes = self.commits[place.source as usize].bytes;
        let at = place.key_at as usize * 8;
        let width = self.layouts.width(usize::from(place.table), place.group).unwrap_or_default();
        let end = at + (usize::from(place.key_words) + width) * 8;
        // A deletion has no row, and may be the last write.
        for line in bytes.get(at..end).unwrap_or_default().chunks(LINE_BYTES).take(PREFETCHED_LINES) {
            hint::prefetch(line.as_ptr());
        }
    }

    #[inline]
    fn compare(&self, a: &Place, b: &Place) -> Order {
        let by_first = (a.table, a.first).cmp(&(b.table, b.first));
        // All keys of a table have one width, and most have one word: the further words are in other memory.
        if by_first.is_ne() || a.key_words == 1 { by_first } else { self.compare_keys(a, b) }
    }

    fn compare_keys(&self, a: &Place, b: &Place) -> Order {
        words(self.key(a)).cmp(words(self.key(b)))
    }

    /// Compares the key of a write with a key of a checkpoint.
    #[inline]
    fn compare_with(&self, place: &Place, table: u16, key: &[u64]) -> Order {
        let by_first = (place.table, Some(&place.first)).cmp(&(table, key.first()));
        if by_first.is_ne() || key.len() == 1 {
            by_first
        } else {
            words(self.key(place)).cmp(key.iter().copied())
        }
    }

    /// The writes of a part, in order.
    fn take(&self, part: usize) -> Places {
        let mut of_workers = core::mem::take(&mut *self.places[part].lock()).into_iter();
        let mut places = of_workers.next().unwrap_or_default();
        for more in of_workers {
            places.heaps.extend(more.heaps);
            places.keyed.extend(more.keyed);
        }
        let by_place = self.plant == Some(LogPlant::OrdersByPlace);
        places.keyed.sort_unstable_by(|a, b| {
            let order = |place: &Place| if by_place { (0, 0) } else { (place.epoch, place.order) };
            self.compare(a, b).then_with(|| order(a).cmp(&order(b)))
        });
        places
    }

    /// Merges a part, once: `before` has the rows of the checkpoint, in their order.
    pub(crate) fn part(
        &self,
        part: usize,
        before: &mut PartReader,
        see: &mut dyn FnMut(Row<'_>) -> Result<(), OpenError>,
    ) -> Result<u64, OpenError> {
        let is_heap = |table: u16| self.layouts.0[usize::from(table)].is_heap;
        let Places { heaps, keyed } = self.take(part);
        let mut out = Out { merge: self, see, key: Vec::new(), row: Vec::new(), known: Vec::new(), rows: 0 };
        let mut groups = Groups { merge: self, left: &keyed };
        while let Some(table) = before.next(self.layouts)? {
            let words = before.row();
            let key_words = self.layouts.0[usize::from(table)].key_words as usize;
            let key = &words[..key_words];
            if is_heap(table) {
                out.put(Some((table, words)), &[])?;
                continue;
            }
            while groups.next_is(|place| self.compare_with(place, table, key).is_lt()) {
                out.put(None, groups.next())?;
            }
            let has_more = groups.next_is(|place| self.compare_with(place, table, key).is_eq());
            let writes = if has_more { groups.next() } else { &[] };
            out.put(Some((table, words)), writes)?;
        }
        while !groups.left.is_empty() {
            out.put(None, groups.next())?;
        }
        let mut heaps = &heaps[..];
        while let Some((place, left)) = heaps.split_first() {
            if let Some(ahead) = left.get(AHEAD) {
                self.prefetch(ahead);
            }
            out.put(None, core::slice::from_ref(place))?;
            heaps = left;
        }
        Ok(out.rows)
    }

    /// The error for a row that has values for only some of its column groups.
    fn half(&self, place: Option<&Place>) -> OpenError {
        let corrupt =
            place.map(|place| self.commits[place.source as usize].corrupt(place.key_at as usize * 8));
        let mut corrupt =
            corrupt.unwrap_or(Corruption { file: String::new(), offset: 0, found: String::new() });
        "a row has some of its column groups only".clone_into(&mut corrupt.found);
        corrupt.into()
    }
}

/// Sorted writes, visited a row at a time.
struct Groups<'g, 'm> {
    merge: &'g Merge<'m>,
    left: &'g [Place],
}

impl<'g> Groups<'g, '_> {
    /// Whether there are more writes, and the next one satisfies `is`.
    #[inline]
    fn next_is(&self, is: impl FnOnce(&Place) -> bool) -> bool {
        self.left.first().is_some_and(is)
    }

    /// The writes of the next row; there must be one.
    #[inline]
    fn next(&mut self) -> &'g [Place] {
        let merge = self.merge;
        let first = &self.left[0];
        let others = self.left[1..].iter().take_while(|place| merge.compare(first, place) == Order::Equal);
        let (next, left) = self.left.split_at(1 + others.count());
        for ahead in left.iter().skip(AHEAD).take(next.len()) {
            merge.prefetch(ahead);
        }
        self.left = left;
        next
    }
}

/// Assembles rows.
struct Out<'o, 'm> {
    merge: &'o Merge<'m>,
    see: &'o mut dyn FnMut(Row<'_>) -> Result<(), OpenError>,
    key: Vec<u64>,
    row: Vec<u64>,
    /// By column group, whether it has a value.
    known: Vec<bool>,
    rows: u64,
}

impl Out<'_, '_> {
    /// Assembles one row from its earlier value and the writes since.
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
            if write.is_gone && self.merge.plant == Some(LogPlant::ForgetsDeletions) {
                continue;
            }
            let mut at = 0;
            for (group, (known, width)) in self.known.iter_mut().zip(&layout.groups).enumerate() {
                let width = *width as usize;
                if write.group == ALL || usize::from(write.group) == group {
                    *known = !write.is_gone;
                    if !write.is_gone {
                        let row = self.merge.row(write);
                        let from = if write.group == ALL { &row[at * 8..(at + width) * 8] } else { row };
                        copy_words(&mut self.row[at..at + width], from);
                    }
                }
                at += width;
            }
        }
        if self.known.iter().all(|known| *known) {
            let key = if let Some((_, words)) = before {
                &words[..key_words]
            } else {
                self.key.resize(key_words, 0);
                copy_words(&mut self.key, self.merge.key(&writes[0]));
                &self.key
            };
            self.rows += 1;
            return (self.see)(Row { table, key, groups: &self.row });
        }
        if self.known.iter().any(|known| *known) && self.merge.plant.is_none() {
            return Err(self.merge.half(writes.last()));
        }
        Ok(())
    }
}

/// Sorts the writes of a segment by parts.
fn sort_out(
    commits: &Commits<'_>,
    source: u32,
    layouts: &Layouts,
    parts: &mut [Places],
) -> Result<Restored, OpenError> {
    let mut read = Restored::default();
    let (count, mut key) = (parts.len(), Vec::new());
    for block in &commits.blocks {
        let mut at = block.start;
        while at < block.end {
            let rest = &commits.bytes[at..block.end];
            let head = entry::writes(rest, layouts, |head, write| {
                key.resize(write.key_words, 0);
                copy_words(&mut key, &rest[write.key_at * 8..(write.key_at + write.key_words) * 8]);
                let part = &mut parts[part_of(write.table, &key, count)];
                let is_heap = layouts.0[usize::from(write.table)].is_heap;
                let places = if is_heap { &mut part.heaps } else { &mut part.keyed };
                places.push(Place {
                    table: write.table,
                    group: write.group,
                    is_gone: write.is_gone,
                    key_words: write.key_words as u8,
                    first: key.first().copied().unwrap_or_default(),
                    epoch: head.epoch,
                    order: head.order,
                    source,
                    key_at: (at / 8 + write.key_at) as u32,
                });
            });
            at += head.ok_or_else(|| commits.corrupt(at))?.words * 8;
            read.transactions += 1;
        }
        read.bytes += block.len() as u64;
    }
    Ok(read)
}

/// Runs `work` on several workers; returns the result of each, or the first error.
pub(crate) fn each<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, OpenError> + Sync,
) -> Result<Vec<T>, OpenError> {
    if count == 1 {
        return Ok(vec![work(0)?]);
    }
    workers::run(count, false, work).into_iter().collect()
}

/// Merges all parts, each by one of several workers; `work` gets the numbers of the worker and of the part. Returns the
/// totals.
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
