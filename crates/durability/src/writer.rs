//! One device of the log: appends rounds to segments.

use std::io::Result;

use sync::Arc;

use crate::disk::{Directory, File, write_all};
use crate::format::{BLOCK, BlockHead, Kind, PAGE, SegmentHead, begin_block, end_block, segment_name};
use crate::plants::Plant;

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
    pub(crate) plant: Option<Plant>,
}

/// One device of the log.
#[derive(Debug)]
pub(crate) struct Device {
    directory: Arc<dyn Directory>,
    course: Course,
    file: Arc<dyn File>,
    number: u64,
    /// Bytes of the segment.
    bytes: u64,
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
        let (file, chain) = begin_segment(&*directory, &course, end, epoch)?;
        Ok(Self {
            directory,
            course,
            file,
            number: end.segment + 1,
            bytes: PAGE as u64,
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

    /// Bytes of the present segment.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn place(&self) -> String {
        self.directory.name()
    }

    /// Goes on in a new segment; all is synced.
    pub(crate) fn roll(&mut self, epoch: u64) -> Result<()> {
        let (file, chain) = begin_segment(&*self.directory, &self.course, self.end(), epoch)?;
        self.file = file;
        self.chain = chain;
        self.number += 1;
        self.bytes = PAGE as u64;
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
        write_all(&*self.file, self.bytes, &self.round)?;
        self.bytes += self.round.len() as u64;
        self.position += self.round.len() as u64;
        self.round.clear();
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

/// Makes a segment, whose head and name are durable before it has anything else. The file, and the checksum that its
/// first block repeats.
fn begin_segment(
    directory: &dyn Directory,
    course: &Course,
    end: End,
    epoch: u64,
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
    };
    let file = directory.create(&segment_name(head.number))?;
    write_all(&*file, 0, &head.encode())?;
    file.sync()?;
    if course.plant != Some(Plant::SkipsDirectorySync) {
        directory.sync()?;
    }
    Ok((file, head.checksum()))
}
