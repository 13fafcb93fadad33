//! The format of the files, byte by byte. The chapter `Durability` of the book has the same in tables.
//!
//! A file of the log, a *segment*, or of a checkpoint, a *part*, is a page with a head, then blocks. Everything is
//! little-endian, and covered by a checksum: CRC-32C over a whole head or block except the checksum itself. The
//! checksum of a block starts with the number of the database, so that no other database's bytes are taken for its own.

/// The size of a page in bytes: the unit in which a device writes, so that no page with durable bytes is written again.
pub(crate) const PAGE: usize = 4096;
/// The number of bytes of a block before its payload.
pub(crate) const BLOCK: usize = 48;
/// The version of manifests and of parts of checkpoints.
pub(crate) const VERSION: u32 = 1;
/// The version of segments that are written. Segments of version 1, which do not record their length, can be read.
pub(crate) const SEGMENT_VERSION: u32 = 2;

pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"CNTDLOG\n";
pub(crate) const PART_MAGIC: [u8; 8] = *b"CNTDPRT\n";
pub(crate) const MANIFEST_MAGIC: [u8; 8] = *b"CNTDMAN\n";
const BLOCK_MAGIC: u32 = 0x6b6c_6243;

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// Transactions of one epoch, or of several that follow each other.
    Commits = 1,
    /// Only zeroes up to the end of its page: all commits up to its epoch stand before it.
    Seal = 2,
    /// Like a seal, and the log was closed behind it.
    Close = 3,
    /// Rows of a part of a checkpoint.
    Rows = 4,
    /// The end of a part; its epoch is the number of rows.
    End = 5,
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        [Self::Commits, Self::Seal, Self::Close, Self::Rows, Self::End]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }
}

/// A reader that takes values off the front of bytes, as long as there are enough.
#[derive(Clone, Debug)]
pub(crate) struct Bytes<'b>(pub(crate) &'b [u8]);

impl<'b> Bytes<'b> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

/// CRC-32C, begun with the number of a database.
pub(crate) fn checksum(database: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&database.to_le_bytes()), bytes)
}

/// The head of a block.
///
/// ```text
/// 0   u32  magic: 43 62 6c 6b
/// 4   u32  checksum of the block from byte 8 to its end
/// 8   u64  position: where the block begins, in bytes of blocks of the device since the database was made
/// 16  u64  synced: up to which position all was durable when the block was written
/// 24  u64  epoch
/// 32  u32  bytes of the payload, a multiple of 8
/// 36  u32  kind
/// 40  u32  checksum of the block before, or of the file's head
/// 44  u32  incarnation: how often the database had been opened to write, the lowest 32 bits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHead {
    pub(crate) checksum: u32,
    pub(crate) position: u64,
    pub(crate) synced: u64,
    pub(crate) epoch: u64,
    pub(crate) payload: usize,
    pub(crate) kind: Kind,
    pub(crate) chain: u32,
    pub(crate) incarnation: u32,
}

/// Begins a block: its payload is appended behind it, and [`end_block`] ends it. Returns its offset.
pub(crate) fn begin_block(to: &mut Vec<u8>) -> usize {
    let at = to.len();
    to.resize(at + BLOCK, 0);
    at
}

/// Writes the head of the block that begins at `at` and ends where the bytes do, and returns its checksum. The fields
/// `payload` and `checksum` of `head` are computed here.
pub(crate) fn end_block(bytes: &mut [u8], at: usize, head: BlockHead, database: u64) -> u32 {
    let block = &mut bytes[at..];
    let payload = block.len() - BLOCK;
    assert!(payload.is_multiple_of(8), "a block is a whole number of words");
    block[0..4].copy_from_slice(&BLOCK_MAGIC.to_le_bytes());
    block[8..16].copy_from_slice(&head.position.to_le_bytes());
    block[16..24].copy_from_slice(&head.synced.to_le_bytes());
    block[24..32].copy_from_slice(&head.epoch.to_le_bytes());
    let payload = u32::try_from(payload).expect("a block is below 4 GiB");
    block[32..36].copy_from_slice(&payload.to_le_bytes());
    block[36..40].copy_from_slice(&(head.kind as u32).to_le_bytes());
    block[40..44].copy_from_slice(&head.chain.to_le_bytes());
    block[44..48].copy_from_slice(&head.incarnation.to_le_bytes());
    let checksum = checksum(database, &block[8..]);
    block[4..8].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The head of the block at the start of `bytes`, if there is one whose checksum is right. Without `checks` the
/// checksum is not verified.
pub(crate) fn read_block(bytes: &[u8], database: u64, checks: bool) -> Option<BlockHead> {
    let mut head = Bytes(bytes);
    if head.u32()? != BLOCK_MAGIC {
        return None;
    }
    let found = head.u32()?;
    let (position, synced, epoch) = (head.u64()?, head.u64()?, head.u64()?);
    let payload = head.u32()? as usize;
    let kind = Kind::of(head.u32()?)?;
    let (chain, incarnation) = (head.u32()?, head.u32()?);
    if !payload.is_multiple_of(8) {
        return None;
    }
    let all = bytes.get(8..BLOCK + payload)?;
    let is_right = !checks || checksum(database, all) == found;
    is_right.then_some(BlockHead {
        checksum: found,
        position,
        synced,
        epoch,
        payload,
        kind,
        chain,
        incarnation,
    })
}

/// The words of a payload.
pub(crate) fn words(payload: &[u8]) -> impl Iterator<Item = u64> + '_ {
    payload.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}

/// The head of a segment.
///
/// ```text
/// 0   magic: "CNTDLOG\n"
/// 8   u32  version: 2, or 1 without the length
/// 12  u32  checksum of the page from byte 16 to its end
/// 16  u64  number of the database
/// 24  u32  device, from 0
/// 28  u32  devices
/// 32  u64  number of the segment, from 1
/// 40  u64  incarnation
/// 48  u64  position of the first block; what the segment before has from there on does not count
/// 56  u64  epoch: all commits up to it stand before this segment or in a checkpoint, and none after it do
/// 64  u32  checksum of the block before, 0 if there is none
/// 68  u64  bytes of the file
/// 76       zeroes
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHead {
    pub(crate) database: u64,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    pub(crate) number: u64,
    pub(crate) incarnation: u64,
    pub(crate) base: u64,
    pub(crate) epoch: u64,
    pub(crate) chain: u32,
    /// The length of the file, which it has before its first block is written; `None` in version 1.
    pub(crate) bytes: Option<u64>,
}

/// The fault of a file's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headless {
    /// The head differs from what was written.
    Torn,
    /// The file has a version that this program does not read.
    Version(u32),
}

/// A head page, with the version and the checksum filled in.
fn page(magic: [u8; 8], version: u32, database: u64, fields: &[u8]) -> Vec<u8> {
    let mut page = Vec::with_capacity(PAGE);
    page.extend(magic);
    page.extend(version.to_le_bytes());
    page.extend([0; 4]);
    page.extend(database.to_le_bytes());
    page.extend(fields);
    page.resize(page.len().next_multiple_of(PAGE), 0);
    let checksum = checksum(0, &page[16..]);
    page[12..16].copy_from_slice(&checksum.to_le_bytes());
    page
}

/// Reads a head page: the version, which is at most `newest`, the number of the database, and the fields.
fn open_page(
    bytes: &[u8],
    magic: [u8; 8],
    newest: u32,
    checks: bool,
) -> Result<(u32, u64, Bytes<'_>), Headless> {
    let mut head = Bytes(bytes);
    let found = head.take(8).ok_or(Headless::Torn)?;
    let version = head.u32().ok_or(Headless::Torn)?;
    let sum = head.u32().ok_or(Headless::Torn)?;
    if found != magic || checks && checksum(0, head.0) != sum {
        return Err(Headless::Torn);
    }
    if !(1..=newest).contains(&version) {
        return Err(Headless::Version(version));
    }
    Ok((version, head.u64().ok_or(Headless::Torn)?, head))
}

impl SegmentHead {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        fields.extend(self.device.to_le_bytes());
        fields.extend(self.devices.to_le_bytes());
        fields.extend(self.number.to_le_bytes());
        fields.extend(self.incarnation.to_le_bytes());
        fields.extend(self.base.to_le_bytes());
        fields.extend(self.epoch.to_le_bytes());
        fields.extend(self.chain.to_le_bytes());
        fields.extend(self.bytes.iter().flat_map(|bytes| bytes.to_le_bytes()));
        let version = if self.bytes.is_some() { SEGMENT_VERSION } else { 1 };
        page(SEGMENT_MAGIC, version, self.database, &fields)
    }

    pub(crate) fn decode(bytes: &[u8], checks: bool) -> Result<Self, Headless> {
        let bytes = bytes.get(..PAGE).ok_or(Headless::Torn)?;
        let (version, database, mut head) = open_page(bytes, SEGMENT_MAGIC, SEGMENT_VERSION, checks)?;
        let mut fields = || {
            Some(Self {
                database,
                device: head.u32()?,
                devices: head.u32()?,
                number: head.u64()?,
                incarnation: head.u64()?,
                base: head.u64()?,
                epoch: head.u64()?,
                chain: head.u32()?,
                bytes: if version == 1 { None } else { Some(head.u64()?) },
            })
        };
        fields().ok_or(Headless::Torn)
    }

    /// The checksum that the first block repeats.
    pub(crate) fn checksum(&self) -> u32 {
        checksum(0, &self.encode()[16..])
    }
}

/// The head of a part of a checkpoint.
///
/// ```text
/// 0   magic: "CNTDPRT\n"
/// 8   u32  version
/// 12  u32  checksum of the page from byte 16 to its end
/// 16  u64  number of the database
/// 24  u64  number of the checkpoint
/// 32  u64  epoch: the part has what commits up to it have left
/// 40  u32  part, from 0
/// 44  u32  parts
/// 48       zeroes
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartHead {
    pub(crate) database: u64,
    pub(crate) checkpoint: u64,
    pub(crate) epoch: u64,
    pub(crate) part: u32,
    pub(crate) parts: u32,
}

impl PartHead {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        fields.extend(self.checkpoint.to_le_bytes());
        fields.extend(self.epoch.to_le_bytes());
        fields.extend(self.part.to_le_bytes());
        fields.extend(self.parts.to_le_bytes());
        page(PART_MAGIC, VERSION, self.database, &fields)
    }

    pub(crate) fn decode(bytes: &[u8], checks: bool) -> Result<Self, Headless> {
        let bytes = bytes.get(..PAGE).ok_or(Headless::Torn)?;
        let (_, database, mut head) = open_page(bytes, PART_MAGIC, VERSION, checks)?;
        let mut fields = || {
            Some(Self {
                database,
                checkpoint: head.u64()?,
                epoch: head.u64()?,
                part: head.u32()?,
                parts: head.u32()?,
            })
        };
        fields().ok_or(Headless::Torn)
    }
}

/// A manifest as bytes: a page or more.
pub(crate) fn encode_manifest(database: u64, fields: &[u8]) -> Vec<u8> {
    page(MANIFEST_MAGIC, VERSION, database, fields)
}

/// The number of the database, and the fields of a manifest.
pub(crate) fn decode_manifest(bytes: &[u8], checks: bool) -> Result<(u64, Bytes<'_>), Headless> {
    open_page(bytes, MANIFEST_MAGIC, VERSION, checks).map(|(_, database, fields)| (database, fields))
}

/// The name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("log-{number:012}")
}

/// The number of the segment with this name; `None` if the name is not that of a segment.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("log-").filter(|number| number.len() == 12)?.parse().ok()
}

/// The name of a part of a checkpoint.
pub(crate) fn part_name(checkpoint: u64, part: u32) -> String {
    format!("checkpoint-{checkpoint:08}-{part:04}")
}

/// The number of the checkpoint, if this is the name of a part of one.
pub(crate) fn part_number(name: &str) -> Option<u64> {
    let (checkpoint, _) = name.strip_prefix("checkpoint-")?.split_once('-')?;
    checkpoint.parse().ok()
}
