//! One device of the log: appends rounds to segments.

use std::io::Result;

use sync::Arc;

use crate::disk::{Directory, File, write_all};
use crate::format::{BLOCK, BlockHead, Kind, PAGE, SegmentHead, begin_block, end_block, segment_name};
use crate::plants::Plant;

/// The shortest segment is the longest one divided by this.
const SHORTEST: u64 = 1 << 8;
/// Zeroes that are written at a time where rounds will be, at most.
const AHEAD_BYTES: u64 = 256 << 10;

/// Where a device's log goes on: what a reader found, or a writer left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The number of the last segment.
    pub(crate) segment: u64,
    /// The position behind the last seal.
    pub(crate) position: u64,
    /// The checksum of the last block, or of the head before it.
    pub(crate) chain: u32,
}

/// What all segments of an incarnation have in common.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) database: u64,
    pub(crate) incarnation: u64,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    /// The longest segment, unless one round is longer.
    pub(crate) segment_bytes: u64,
    pub(crate) plant: Option<Plant>,
}

impl Course {
    /// How long the segment is that follows one of which so much was needed, and that has room for a round of so many
    /// bytes: long enough that there are few, and no longer than what is worth reading when it stays empty.
    fn length(&self, used: u64, round: u64) -> u64 {
        let shortest = (self.segment_bytes / SHORTEST).max(2 * PAGE as u64);
        let suited = used.saturating_mul(2).clamp(shortest, self.segment_bytes.max(shortest));
        suited.max(PAGE as u64 + round).next_multiple_of(PAGE as u64)
    }
}

/// Bytes of a round with so many bytes of commits.
fn round_bytes(commits: usize) -> u64 {
    let commits = if commits > 0 { BLOCK + commits } else { 0 };
    (commits + BLOCK).next_multiple_of(PAGE) as u64
}

/// How many bytes of zeroes are written at a time in a segment.
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
    /// Bytes of the segment that are in use: where the next round begins.
    bytes: u64,
    /// Bytes of the file, of which the head tells.
    length: u64,
    /// Up to where something was written, be it zeroes.
    filled: u64,
    /// Where the next block goes.
    position: u64,
    synced: u64,
    chain: u32,
    /// The round that is being written.
    round: Vec<u8>,
}

impl Device {
    /// Begins the segment after `end`. All up to `epoch` stands before it.
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

    /// Where the log goes on.
    pub(crate) fn end(&self) -> End {
        End { segment: self.number, position: self.position, chain: self.chain }
    }

    /// Whether the segment has room for a round with so many bytes of commits.
    pub(crate) fn has_room(&self, commits: usize) -> bool {
        self.bytes + round_bytes(commits) <= self.length
    }

    pub(crate) fn place(&self) -> String {
        self.directory.name()
    }

    /// Goes on in a new segment, which has room for a round with so many bytes of commits; all is synced. It counts
    /// when the manifest names it.
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
        if self.course.plant == Some(Plant::SealsAfterSync) {
            self.put()?;
            self.file.sync()?;
        }
        if self.course.plant != Some(Plant::SkipsSeals) {
            let shares = self.course.plant == Some(Plant::SharesPages);
            let at = self.bytes as usize + self.round.len() + BLOCK;
            let end = if shares { at } else { at.next_multiple_of(PAGE) };
            self.block(kind, epoch, |to| to.resize(to.len() + (end - at), 0));
        }
        self.put()
    }

    /// Puts what there is of the round into the file.
    fn put(&mut self) -> Result<()> {
        let round = self.round.len() as u64;
        assert!(self.bytes + round <= self.length, "no segment is longer than its head says");
        write_all(&*self.file, self.bytes, &self.round)?;
        self.bytes += round;
        self.position += round;
        self.round.clear();
        self.fill_ahead(round)
    }

    /// Once for many rounds, writes zeroes where the next ones will be. To write over something takes the file system
    /// no record of its own, so that a sync has less to do; and a device that is full says so before there is nothing
    /// left. Rounds that are as long as these zeroes do without.
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

    /// The file that is to be synced after `write`.
    pub(crate) fn file(&self) -> Arc<dyn File> {
        Arc::clone(&self.file)
    }

    /// All that was written has been synced.
    pub(crate) fn is_synced(&mut self) {
        self.synced = self.position;
    }
}

/// Makes a segment of so many bytes, whose head, length and name are durable before it has anything else. The file, and
/// the checksum that its first block repeats.
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
    // A file is as long as its last byte says, on any file system.
    if (first.len() as u64) < length {
        write_all(&*file, length - 1, &[0])?;
    }
    file.sync()?;
    if course.plant != Some(Plant::SkipsDirectorySync) {
        directory.sync()?;
    }
    Ok((file, head.checksum()))
}
