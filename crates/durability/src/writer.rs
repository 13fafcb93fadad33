//! One device of the log: appends rounds to segments.

use std::io::Result;

use sync::Arc;

use crate::disk::{Directory, File, write_all};
use crate::format::{BLOCK, BlockHead, Kind, PAGE, SegmentHead, begin_block, end_block, segment_name};
use crate::plants::LogPlant;

/// The shortest segment is the longest one divided by this.
const SHORTEST: u64 = 1 << 8;
/// The largest number of zeroes, in bytes, that are written ahead of the rounds at a time.
const AHEAD_BYTES: u64 = 256 << 10;

/// The end of a device's log, where it continues: found by a reader, or left by a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The number of the last segment.
    pub(crate) segment: u64,
    /// The position behind the last seal.
    pub(crate) position: u64,
    /// The checksum of the last block, or of the head before it.
    pub(crate) chain: u32,
}

/// The properties that all segments of an incarnation share.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) database: u64,
    pub(crate) incarnation: u64,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    /// The size of the longest segment, unless one round is longer.
    pub(crate) segment_bytes: u64,
    pub(crate) plant: Option<LogPlant>,
}

impl Course {
    /// The length of the next segment, if `used` bytes of the segment before were used and there must be room for a
    /// round of `round` bytes: long enough that there are few segments, and no longer than is worth reading if the
    /// segment stays empty.
    fn length(&self, used: u64, round: u64) -> u64 {
        let shortest = (self.segment_bytes / SHORTEST).max(2 * PAGE as u64);
        let suited = used.saturating_mul(2).clamp(shortest, self.segment_bytes.max(shortest));
        suited.max(PAGE as u64 + round).next_multiple_of(PAGE as u64)
    }
}

/// The size of a round with `commits` bytes of commits.
fn round_bytes(commits: usize) -> u64 {
    let commits = if commits > 0 { BLOCK + commits } else { 0 };
    (commits + BLOCK).next_multiple_of(PAGE) as u64
}

/// The number of zero bytes that are written at a time in a segment of this length.
fn ahead_of(length: u64) -> u64 {
    (length / 4).next_multiple_of(PAGE as u64).min(AHEAD_BYTES)
}

/// One device of the log.
#[derive(Debug)]
pub(crate) struct Device {
    directory: Arc<dyn Directory>,
    course: Course,
    file: Arc<dyn File>,
    number: u64,
    /// The number of bytes of the segment that are in use: the next round begins there.
    bytes: u64,
    /// The length of the file in bytes, which its head repeats.
    length: u64,
    /// The offset up to which the file was written, zeroes included.
    filled: u64,
    /// The position of the next block.
    position: u64,
    synced: u64,
    chain: u32,
    /// The round that is being written.
    round: Vec<u8>,
}

impl Device {
    /// Begins the segment after `end`. Everything up to `epoch` stands before it.
    pub(crate) fn begin(directory: Arc<dyn Directory>, course: Course, end: End, epoch: u64) -> Result<Self> {
        let length = course.length(0, 0);
        let (file, chain) = begin_segment(&*directory, &course, end, epoch, length)?;
        Ok(Self {
            directory,
            course,
            file,
            number: end.segment + 1,
            bytes: PAGE as u64,
            length,
            filled: PAGE as u64 + ahead_of(length),
            position: end.position,
            synced: end.position,
            chain,
            round: Vec::new(),
        })
    }

    /// The end of the log, where it continues.
    pub(crate) fn end(&self) -> End {
        End { segment: self.number, position: self.position, chain: self.chain }
    }

    /// Whether the segment has room for a round with `commits` bytes of commits.
    pub(crate) fn has_room(&self, commits: usize) -> bool {
        self.bytes + round_bytes(commits) <= self.length
    }

    pub(crate) fn place(&self) -> String {
        self.directory.name()
    }

    /// Continues in a new segment, which has room for a round with `commits` bytes of commits; everything must be
    /// synced. The segment is valid when the manifest names it.
    pub(crate) fn roll(&mut self, epoch: u64, commits: usize) -> Result<()> {
        let length = self.course.length(self.bytes, round_bytes(commits));
        let (file, chain) = begin_segment(&*self.directory, &self.course, self.end(), epoch, length)?;
        self.file = file;
        self.chain = chain;
        self.number += 1;
        self.bytes = PAGE as u64;
        self.length = length;
        self.filled = PAGE as u64 + ahead_of(length);
        Ok(())
    }

    fn block(&mut self, kind: Kind, epoch: u64, payload: impl FnOnce(&mut Vec<u8>)) {
        let at = begin_block(&mut self.round);
        payload(&mut self.round);
        let head = BlockHead {
            checksum: 0,
            position: self.position + at as u64,
            synced: self.synced,
            epoch,
            payload: 0,
            kind,
            chain: self.chain,
            incarnation: self.course.incarnation as u32,
        };
        self.chain = end_block(&mut self.round, at, head, self.course.database);
    }

    /// Writes the commits up to an epoch, and the seal.
    pub(crate) fn write(&mut self, epoch: u64, commits: &[u8], kind: Kind) -> Result<()> {
        self.round.clear();
        if !commits.is_empty() {
            self.block(Kind::Commits, epoch, |to| to.extend_from_slice(commits));
        }
        if self.course.plant == Some(LogPlant::SealsAfterSync) {
            self.put()?;
            self.file.sync()?;
        }
        if self.course.plant != Some(LogPlant::SkipsSeals) {
            let shares = self.course.plant == Some(LogPlant::SharesPages);
            let at = self.bytes as usize + self.round.len() + BLOCK;
            let end = if shares { at } else { at.next_multiple_of(PAGE) };
            self.block(kind, epoch, |to| to.resize(to.len() + (end - at), 0));
        }
        self.put()
    }

    /// Writes the bytes of the round so far into the file.
    fn put(&mut self) -> Result<()> {
        let round = self.round.len() as u64;
        assert!(self.bytes + round <= self.length, "no segment is longer than its head says");
        write_all(&*self.file, self.bytes, &self.round)?;
        self.bytes += round;
        self.position += round;
        self.round.clear();
        self.fill_ahead(round)
    }

    /// Writes zeroes where the next rounds will be, once for many rounds. An overwrite needs no record of the file
    /// system, so that a sync has less to do; and a full device reports that before nothing is left. Rounds that are at
    /// least as long as these zeroes do without them.
    fn fill_ahead(&mut self, round: u64) -> Result<()> {
        let ahead = ahead_of(self.length);
        if self.bytes < self.filled || round >= ahead {
            return Ok(());
        }
        let end = (self.bytes + ahead).min(self.length);
        write_all(&*self.file, self.bytes, &vec![0; (end - self.bytes) as usize])?;
        self.filled = end;
        Ok(())
    }

    /// The file that must be synced after `write`.
    pub(crate) fn file(&self) -> Arc<dyn File> {
        Arc::clone(&self.file)
    }

    /// Notes that everything written so far has been synced.
    pub(crate) fn is_synced(&mut self) {
        self.synced = self.position;
    }
}

/// Makes a segment of `length` bytes; its head, length and name are durable before it contains anything else. Returns
/// the file, and the checksum that its first block repeats.
fn begin_segment(
    directory: &dyn Directory,
    course: &Course,
    end: End,
    epoch: u64,
    length: u64,
) -> Result<(Arc<dyn File>, u32)> {
    let head = SegmentHead {
        database: course.database,
        device: course.device,
        devices: course.devices,
        number: end.segment + 1,
        incarnation: course.incarnation,
        base: end.position,
        epoch,
        chain: end.chain,
        bytes: Some(length),
    };
    let file = directory.create(&segment_name(head.number))?;
    let mut first = head.encode();
    first.resize((PAGE as u64 + ahead_of(length)).min(length) as usize, 0);
    write_all(&*file, 0, &first)?;
    // A file is at least as long as its last written byte requires, on any file system.
    if (first.len() as u64) < length {
        write_all(&*file, length - 1, &[0])?;
    }
    file.sync()?;
    if course.plant != Some(LogPlant::SkipsDirectorySync) {
        directory.sync()?;
    }
    Ok((file, head.checksum()))
}
