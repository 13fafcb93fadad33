//! Checkpoints: the rows that the log up to an epoch produces, in parts.
//!
//! A checkpoint is made from the checkpoint before and the segments written since, and not from the tables: no
//! transaction is affected, no scheme has to provide a state behind which its snapshots may lag, and the result is what
//! recovery would have restored. (FOEDUS makes its snapshots in this way; Kimura, SIGMOD 2015.)

use std::io;

use sync::Arc;

use crate::disk::{Directory, File, read_all, write_all};
use crate::error::{Corruption, OpenError, Operation};
use crate::format::{
    BLOCK, BlockHead, Headless, Kind, PAGE, PartHead, begin_block, end_block, part_name, read_block, words,
};
use crate::layout::Layouts;
use crate::manifest::{Manifest, PartSum};
use crate::merge::Row;

/// The approximate number of bytes of rows in a block.
const BLOCK_BYTES: usize = 1 << 20;

/// Writes a part.
#[derive(Debug)]
pub(crate) struct PartWriter {
    file: Arc<dyn File>,
    head: PartHead,
    buffer: Vec<u8>,
    /// The offset in the buffer at which the open block begins.
    block: usize,
    sum: PartSum,
    chain: u32,
    rows: u64,
}

impl PartWriter {
    pub(crate) fn new(directory: &dyn Directory, head: PartHead) -> io::Result<Self> {
        let file = directory.create(&part_name(head.checkpoint, head.part))?;
        let mut buffer = head.encode();
        let chain = crc32c::crc32c(&buffer);
        let block = begin_block(&mut buffer);
        Ok(Self { file, head, buffer, block, sum: PartSum::default(), chain, rows: 0 })
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: Row<'_>) -> io::Result<()> {
        self.buffer.extend((u64::from(row.table)).to_le_bytes());
        row.key.iter().chain(row.groups).for_each(|word| self.buffer.extend(word.to_le_bytes()));
        self.rows += 1;
        if self.buffer.len() - self.block >= BLOCK_BYTES {
            self.end(Kind::Rows, self.head.epoch);
            self.put()?;
            self.block = begin_block(&mut self.buffer);
        }
        Ok(())
    }

    fn end(&mut self, kind: Kind, epoch: u64) {
        let head = BlockHead {
            checksum: 0,
            position: self.sum.bytes + self.block as u64,
            synced: 0,
            epoch,
            payload: 0,
            kind,
            chain: self.chain,
            incarnation: self.head.part,
        };
        self.chain = end_block(&mut self.buffer, self.block, head, self.head.database);
    }

    fn put(&mut self) -> io::Result<()> {
        write_all(&*self.file, self.sum.bytes, &self.buffer)?;
        self.sum.checksum = crc32c::crc32c_append(self.sum.checksum, &self.buffer);
        self.sum.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the part; the caller must sync the file.
    pub(crate) fn finish(mut self) -> io::Result<(PartSum, Arc<dyn File>)> {
        self.end(Kind::Rows, self.head.epoch);
        self.block = begin_block(&mut self.buffer);
        self.end(Kind::End, self.rows);
        self.put()?;
        Ok((self.sum, self.file))
    }
}

/// The rows of a part, one after the other.
#[derive(Debug, Default)]
pub(crate) struct PartReader {
    place: String,
    bytes: Vec<u8>,
    /// The payloads of the blocks, as start and end offsets.
    blocks: Vec<(usize, usize)>,
    next: usize,
    /// The words of the block, and the range of the row in them.
    words: Vec<u64>,
    row: core::ops::Range<usize>,
}

impl PartReader {
    /// Reads and checks a part; the part has no rows if the manifest has no checkpoint.
    pub(crate) fn open(
        directory: &dyn Directory,
        manifest: &Manifest,
        part: usize,
        checks: bool,
    ) -> Result<Self, OpenError> {
        let Some(sum) = manifest.parts.get(part) else { return Ok(Self::default()) };
        let name = part_name(manifest.checkpoint, part as u32);
        let place = format!("{}/{name}", directory.name());
        let file = directory.open(&name).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                let found = "the part of the checkpoint is missing".to_owned();
                return Corruption { file: place.clone(), offset: 0, found }.into();
            }
            OpenError::io(Operation::Open, place.clone())(error)
        })?;
        let bytes = read_all(&*file).map_err(OpenError::io(Operation::Read, place.clone()))?;
        let mut reader = Self { place, bytes, ..Self::default() };
        let head = match PartHead::decode(&reader.bytes, checks) {
            Ok(head) => head,
            Err(Headless::Version(found)) => return Err(OpenError::Version { file: reader.place, found }),
            Err(Headless::Torn) => return Err(reader.corrupt(0, "the head is not what was written")),
        };
        let expected = PartHead {
            database: manifest.database,
            checkpoint: manifest.checkpoint,
            epoch: manifest.checkpoint_epoch,
            part: part as u32,
            parts: manifest.parts.len() as u32,
        };
        if head != expected {
            return Err(reader.corrupt(0, "this is another part, or of another checkpoint"));
        }
        reader.find_blocks(head, checks)?;
        let is_right = reader.bytes.len() as u64 == sum.bytes
            && (!checks || crc32c::crc32c(&reader.bytes) == sum.checksum);
        if is_right { Ok(reader) } else { Err(reader.corrupt(0, "the part is not the one of the manifest")) }
    }

    fn corrupt(&self, offset: usize, found: &str) -> OpenError {
        Corruption { file: self.place.clone(), offset: offset as u64, found: found.to_owned() }.into()
    }

    fn find_blocks(&mut self, head: PartHead, checks: bool) -> Result<(), OpenError> {
        let (mut at, mut chain) = (PAGE, crc32c::crc32c(&self.bytes[..PAGE]));
        loop {
            let read = self.bytes.get(at..).and_then(|rest| read_block(rest, head.database, checks));
            let fits = read.filter(|block| {
                block.position == at as u64
                    && (block.chain == chain || !checks)
                    && block.incarnation == head.part
            });
            let Some(block) = fits else {
                return Err(self.corrupt(at, "a block is not what was written"));
            };
            (at, chain) = (at + BLOCK, block.checksum);
            match block.kind {
                Kind::Rows => self.blocks.push((at, at + block.payload)),
                _ => return Ok(()),
            }
            at += block.payload;
        }
    }

    /// The number of bytes of the part.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Goes on to the next row, and returns its table.
    pub(crate) fn next(&mut self, layouts: &Layouts) -> Result<Option<u16>, OpenError> {
        while self.row.end == self.words.len() {
            let Some((from, to)) = self.blocks.get(self.next).copied() else { return Ok(None) };
            self.words.clear();
            self.words.extend(words(&self.bytes[from..to]));
            self.row = 0..0;
            self.next += 1;
        }
        let table = self.words[self.row.end] as u16;
        let layout = layouts.0.get(usize::from(table));
        let width = layout.map(|layout| layout.key_words as usize + layout.row_words());
        let start = self.row.end + 1;
        let end = width.map(|width| start + width).filter(|end| *end <= self.words.len());
        let Some(end) = end else {
            let (from, _) = self.blocks[self.next - 1];
            return Err(self.corrupt(from, "a row makes no sense"));
        };
        self.row = start..end;
        Ok(Some(table))
    }

    /// The words of the row's key and of its column groups.
    pub(crate) fn row(&self) -> &[u64] {
        &self.words[self.row.clone()]
    }
}
