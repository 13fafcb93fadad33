//! Reads a device's log: finds its end, and distinguishes a tail that a crash has torn from bytes that were lost later.
//!
//! A crash may lose any part of what was written since the last sync, and nothing else. So a block that cannot be read
//! is the end of the log if everything after it was written before the next sync. If anything was written later, by a
//! writer that knew that the block was durable, then the block was lost since. A later writer shows this by `synced` in
//! its blocks, and by the segments that follow, which are begun when everything before them is durable.
//!
//! A segment has its whole length before the manifest names it, and the manifest names it before it has a commit. So a
//! named segment that is missing, has no head, or is shorter than its head says was damaged, however little of it is
//! left. The bytes behind its last block are zeroes, unless a crash has torn the block that came next.

use sync::Arc;

use crate::disk::{Directory, read_all};
use crate::error::{Corruption, OpenError, Operation};
use crate::format::{
    BLOCK, BlockHead, Headless, Kind, PAGE, SegmentHead, read_block, segment_name, segment_number,
};
use crate::manifest::{Manifest, Named};
use crate::plants::LogPlant;
use crate::writer::End;

/// A block that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// The offset in the segment at which its payload begins.
    pub(crate) at: usize,
    pub(crate) head: BlockHead,
}

/// A segment, and its valid blocks.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    /// The position of its first block.
    pub(crate) base: u64,
    /// Its bytes, without the zeroes at its end.
    pub(crate) bytes: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
}

impl Segment {
    /// The offset of a position in the file, in bytes.
    pub(crate) fn offset(&self, position: u64) -> u64 {
        PAGE as u64 + position.wrapping_sub(self.base)
    }
}

/// A seal, and the place behind it where the log would continue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal {
    pub(crate) epoch: u64,
    pub(crate) end: End,
    pub(crate) is_close: bool,
    /// Whether this is the head of a segment, which seals everything before it.
    pub(crate) is_head: bool,
}

/// A device's log.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) segments: Vec<Segment>,
    /// The last seals: the heads of the segments, and the seals of the last incarnation.
    pub(crate) seals: Vec<Seal>,
}

/// The parameters of reading a device's log.
#[derive(Debug)]
pub(crate) struct Scan<'s> {
    pub(crate) directory: &'s Arc<dyn Directory>,
    pub(crate) manifest: &'s Manifest,
    pub(crate) device: usize,
    /// If given, only segments before this one are read; its head says where they end.
    pub(crate) until: Option<u64>,
    pub(crate) plant: Option<LogPlant>,
}

impl Scan<'_> {
    fn named(&self) -> Named {
        self.manifest.devices[self.device]
    }

    fn place(&self, number: u64) -> String {
        format!("{}/{}", self.directory.name(), segment_name(number))
    }

    fn corrupt(&self, number: u64, offset: usize, found: impl Into<String>) -> OpenError {
        Corruption { file: self.place(number), offset: offset as u64, found: found.into() }.into()
    }

    fn checks(&self) -> bool {
        self.plant != Some(LogPlant::IgnoresChecksums)
    }

    fn read(&self, number: u64) -> Result<Vec<u8>, OpenError> {
        let refused = |operation| OpenError::io(operation, self.place(number));
        let file = self.directory.open(&segment_name(number)).map_err(refused(Operation::Open))?;
        read_all(&*file).map_err(refused(Operation::Read))
    }

    /// The numbers of the segments in the directory.
    fn numbers(&self) -> Result<Vec<u64>, OpenError> {
        let names = self.directory.files().map_err(OpenError::io(Operation::List, self.directory.name()))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The heads of the valid segments, in order, with their bytes.
    fn heads(&self) -> Result<Vec<(SegmentHead, Vec<u8>)>, OpenError> {
        let (named, numbers) = (self.named(), self.numbers()?);
        let mut heads = Vec::new();
        let last = self.until.unwrap_or(u64::MAX);
        let mut number = named.first;
        while number <= last && number != 0 {
            let must = number <= named.current.max(self.until.unwrap_or(0));
            if numbers.binary_search(&number).is_err() {
                if must || self.is_followed(number, &numbers)? {
                    return Err(self.corrupt(number, 0, "the segment is missing"));
                }
                break;
            }
            let bytes = self.read(number)?;
            match SegmentHead::decode(&bytes, self.checks()) {
                Err(Headless::Version(found)) if must => {
                    return Err(OpenError::Version { file: self.place(number), found });
                }
                Err(_) => {
                    if must || self.is_followed(number, &numbers)? || self.has_durable(&bytes) {
                        return Err(self.corrupt(
                            number,
                            0,
                            "the head of the segment is not what was written",
                        ));
                    }
                    break;
                }
                // The segment was begun by an incarnation that ended before the manifest named it.
                Ok(head) if head.incarnation > self.manifest.incarnation && !must => break,
                Ok(head) => {
                    self.fits(&head, number)?;
                    if let Some(cut_off) = self.cut_off(&head, bytes.len() as u64) {
                        if must || self.is_followed(number, &numbers)? || self.has_durable(&bytes) {
                            return Err(cut_off);
                        }
                        break;
                    }
                    heads.push((head, bytes));
                }
            }
            number += 1;
        }
        Ok(heads)
    }

    /// The fault in the length of a segment, if there is one.
    fn cut_off(&self, head: &SegmentHead, bytes: u64) -> Option<OpenError> {
        let length =
            head.bytes.filter(|length| bytes != *length && self.plant != Some(LogPlant::IgnoresLengths))?;
        let found = match length.checked_sub(bytes) {
            Some(missing) => format!("the file was cut off: {missing} of its {length} bytes are missing"),
            None => format!("the file has become longer: it was made with {length} bytes, and has {bytes}"),
        };
        Some(self.corrupt(head.number, bytes.min(length) as usize, found))
    }

    /// Whether a later segment of the last incarnation exists.
    fn is_followed(&self, number: u64, numbers: &[u64]) -> Result<bool, OpenError> {
        for later in numbers.iter().filter(|later| **later > number) {
            let head = SegmentHead::decode(&self.read(*later)?, self.checks());
            if head.is_ok_and(|head| {
                head.incarnation == self.manifest.incarnation && head.database == self.manifest.database
            }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a segment without a head has a block that was written when something in the segment was durable: then
    /// the head was durable, too.
    fn has_durable(&self, bytes: &[u8]) -> bool {
        self.blocks_after(bytes, PAGE).next().is_some()
    }

    /// All blocks of the last incarnation that begin at or after an offset.
    fn blocks_after<'b>(
        &'b self,
        bytes: &'b [u8],
        from: usize,
    ) -> impl Iterator<Item = (usize, BlockHead)> + 'b {
        let is_ours = |head: &BlockHead| head.incarnation == self.manifest.incarnation as u32;
        (from..bytes.len().saturating_sub(BLOCK - 1)).step_by(8).filter_map(move |at| {
            let head = read_block(&bytes[at..], self.manifest.database, true).filter(is_ours)?;
            Some((at, head))
        })
    }

    fn fits(&self, head: &SegmentHead, number: u64) -> Result<(), OpenError> {
        let place = self.place(number);
        if head.database != self.manifest.database {
            return Err(OpenError::Devices { found: format!("{place}: belongs to another database") });
        }
        if head.device as usize != self.device || head.devices as usize != self.manifest.devices.len() {
            let (device, devices) = (u64::from(head.device) + 1, head.devices);
            let found =
                format!("{place}: is of device {device} of {devices}: give the devices in their order");
            return Err(OpenError::Devices { found });
        }
        if head.number != number {
            return Err(self.corrupt(number, 32, format!("this is segment {}", head.number)));
        }
        Ok(())
    }

    /// Reads the log.
    pub(crate) fn stream(&self) -> Result<Stream, OpenError> {
        let mut heads = self.heads()?.into_iter().peekable();
        let (mut segments, mut seals) = (Vec::new(), Vec::<Seal>::new());
        let mut expected: Option<(u64, u32)> = None;
        while let Some((head, mut bytes)) = heads.next() {
            let number = head.number;
            if expected.is_some_and(|(position, chain)| position != head.base || chain != head.chain) {
                return Err(self.corrupt(number, 48, "the segment does not go on where the one before ends"));
            }
            let begin = End { segment: number, position: head.base, chain: head.checksum() };
            // The head of a segment repeats the seal of the incarnation before it.
            seals.push(Seal { epoch: head.epoch, end: begin, is_close: false, is_head: true });
            if self.until == Some(number) {
                break;
            }
            let until = heads.peek().map(|(next, _)| (next.base, next.chain));
            let until = until.map(|(base, _)| base);
            // A block ends at the end of a page, and its last bytes may be zeroes.
            let in_use = without_zeroes(&bytes).len().next_multiple_of(PAGE).min(bytes.len());
            bytes.truncate(in_use);
            bytes.shrink_to_fit();
            let blocks = self.blocks(&head, &bytes, until)?;
            let mut chain = begin.chain;
            let mut position = head.base;
            for Block { head: block, .. } in &blocks {
                position = block.position.wrapping_add((BLOCK + block.payload) as u64);
                chain = block.checksum;
                if matches!(block.kind, Kind::Seal | Kind::Close) || self.plant == Some(LogPlant::SkipsSeals)
                {
                    let end = End { segment: number, position, chain };
                    let is_close = block.kind == Kind::Close;
                    seals.push(Seal { epoch: block.epoch, end, is_close, is_head: false });
                }
            }
            expected = Some((position, chain));
            segments.push(Segment { number, base: head.base, bytes, blocks });
        }
        Ok(Stream { segments, seals })
    }

    /// The blocks of a segment, which must reach `until`, if that is given.
    fn blocks(
        &self,
        segment: &SegmentHead,
        bytes: &[u8],
        until: Option<u64>,
    ) -> Result<Vec<Block>, OpenError> {
        let (mut blocks, mut at, mut chain) = (Vec::<Block>::new(), PAGE, segment.checksum());
        let position_of = |at: usize| segment.base.wrapping_add((at - PAGE) as u64);
        let mut epoch = segment.epoch;
        while until.is_none_or(|until| position_of(at) < until) {
            let read =
                bytes.get(at..).and_then(|rest| read_block(rest, self.manifest.database, self.checks()));
            let fits = read.filter(|head| {
                head.position == position_of(at)
                    && head.incarnation == segment.incarnation as u32
                    && (head.chain == chain || !self.checks())
                    && head.epoch >= epoch
                    && matches!(head.kind, Kind::Commits | Kind::Seal | Kind::Close)
            });
            let Some(head) = fits else {
                if self.plant == Some(LogPlant::CutsAnywhere) {
                    break;
                }
                if until.is_some() || self.is_synced_past(segment, bytes, at) {
                    return Err(self.corrupt(segment.number, at, "a block is not what was written"));
                }
                break;
            };
            blocks.push(Block { at: at + BLOCK, head });
            (at, chain, epoch) = (at + BLOCK + head.payload, head.checksum, head.epoch);
        }
        if until.is_some_and(|until| position_of(at) != until) && self.plant != Some(LogPlant::CutsAnywhere) {
            return Err(self.corrupt(segment.number, at, "the next segment begins within a block"));
        }
        Ok(blocks)
    }

    /// Whether a later block was written when it was known that the bytes at this offset were durable.
    fn is_synced_past(&self, segment: &SegmentHead, bytes: &[u8], at: usize) -> bool {
        let position_of = |at: usize| segment.base.wrapping_add((at - PAGE) as u64);
        self.blocks_after(bytes, at)
            .any(|(offset, head)| head.position == position_of(offset) && head.synced > position_of(at))
    }
}

/// The bytes without the zeroes at their end.
pub(crate) fn without_zeroes(bytes: &[u8]) -> &[u8] {
    // A page at a time, since there may be many zeroes.
    let pages =
        bytes.chunks(PAGE).rposition(|page| page != &[0; PAGE][..page.len()]).map_or(0, |last| last + 1);
    let bytes = &bytes[..(pages * PAGE).min(bytes.len())];
    &bytes[..bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
}
