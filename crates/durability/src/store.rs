//! The directories of a database: their contents, how they are opened, and how a checkpoint replaces the log before it.

use core::{fmt, mem};
use std::io::{self, ErrorKind};

use engine::AnyKey;
use storage::TableId;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Arc, Latched, clock};

use crate::checkpoint::{PartReader, PartWriter};
use crate::disk::Directory;
use crate::error::{Corruption, LogError, OpenError, Operation};
use crate::format::{PartHead, part_name, part_number, segment_name, segment_number};
use crate::layout::Layouts;
use crate::log::{Log, Rounds, Sizes};
use crate::manifest::{BACKUP, MANIFEST, Manifest, NEW, Named, PartSum};
use crate::merge::{Commits, Merge, Restored, all_parts, named};
use crate::plants::LogPlant;
use crate::reader::{Scan, Stream, without_zeroes};
use crate::writer::{Course, Device, End};

/// The source of the order of the commits of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The processor's time stamp counter. Only where [`clock::ticks_are_shared`].
    Ticks,
    /// A counter that all sessions share.
    Counter,
}

/// Options for opening a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// The largest number of sessions at a time, loaders included.
    pub sessions: usize,
    /// The length of an epoch in nanoseconds, if the devices keep up.
    pub epoch_ns: u64,
    /// The source of the order of the commits of an epoch.
    pub order: Order,
    /// The size of all rings together, in bytes. A session's ring has at least 8 KiB and at most 2 MiB: the commits of
    /// a session during one sync of a device should fit.
    pub ring_bytes: usize,
    /// The number of bytes that may wait beside the rings, of all sessions together, before sessions wait.
    pub backlog_bytes: usize,
    /// The largest size of a segment in bytes, unless one round is larger. A segment has its whole length from its
    /// beginning on; the first ones are shorter, and each is twice as long as the part of the one before that was used.
    pub segment_bytes: u64,
    /// The number of parts of a checkpoint, if there is none yet.
    pub parts: usize,
    /// The number of a new database, which distinguishes its files from those of other databases.
    pub database: u64,
    /// Whether a log that was not closed is refused with [`OpenError::Unclosed`].
    pub require_closed: bool,
    /// The program's note in the manifest: see [`Store::note`].
    pub note: Vec<u8>,
    /// A planted bug, for tests.
    #[doc(hidden)]
    pub plant: Option<LogPlant>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sessions: 64,
            epoch_ns: 1_000_000,
            order: if clock::ticks_are_shared() { Order::Ticks } else { Order::Counter },
            ring_bytes: 128 << 20,
            backlog_bytes: 256 << 20,
            segment_bytes: 64 << 20,
            parts: 16,
            database: clock::now_ns(),
            require_closed: false,
            note: Vec::new(),
            plant: None,
        }
    }
}

/// The largest size of a segment in bytes, whatever is asked for: the place of a write in it is a 32-bit number of
/// words, and a round may be as large as a block.
const SEGMENT_BYTES_MAX: u64 = 16 << 30;

/// Bytes behind the end of a log that was not closed: a part of what was being written when the log ended. None of it
/// was acknowledged, unless the device has lost bytes that it had reported as durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The directory and the file.
    pub file: String,
    /// The number of the segment, which is also the number of the file.
    pub segment: u64,
    /// The offset in the file at which they begin, in bytes.
    pub offset: u64,
    /// The number of bytes, up to the last one that is not zero.
    pub bytes: u64,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bytes from byte {} on", self.file, self.bytes, self.offset)
    }
}

/// The point from which the log continues in new segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// All commits up to this epoch stand before the cut.
    pub(crate) epoch: u64,
    /// By device, the first segment behind the cut.
    pub(crate) segments: Vec<u64>,
}

/// The directories, and their current manifest.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) directories: Vec<Arc<dyn Directory>>,
    /// The manifest; locked while it is replaced.
    pub(crate) manifest: Latched<Manifest>,
    /// The number of the last checkpoint that was begun.
    tried: AtomicU64,
    is_busy: AtomicBool,
    parts: usize,
    plant: Option<LogPlant>,
}

/// Functions that open directories.
#[derive(Debug)]
pub enum Store {}

/// The contents of the directories of a database.
#[derive(Debug)]
pub struct Found {
    directories: Vec<Arc<dyn Directory>>,
    manifest: Option<Manifest>,
    layouts: Layouts,
    options: Options,
    streams: Vec<Stream>,
    ends: Vec<End>,
    /// The bytes that a start cuts off, for each device that has any.
    torn: Vec<Torn>,
    epoch: u64,
}

impl Store {
    /// The note that the program which last opened the database has left in its manifest; `None` if there is no
    /// database. Nothing is changed.
    ///
    /// # Errors
    /// The manifest cannot be read or is corrupt.
    pub fn note(directory: &dyn Directory) -> Result<Option<Vec<u8>>, OpenError> {
        let manifest = Manifest::read(directory, true)?;
        Ok(manifest.filter(|manifest| manifest.incarnation > 0).map(|manifest| manifest.note))
    }

    /// The tables of a database as they were when it was last opened, for a caller that does not know them; `None` if
    /// there is no database. Nothing is changed.
    ///
    /// # Errors
    /// The manifest cannot be read or is corrupt.
    pub fn layouts(directory: &dyn Directory) -> Result<Option<Layouts>, OpenError> {
        let manifest = Manifest::read(directory, true)?;
        Ok(manifest.filter(|manifest| manifest.incarnation > 0).map(|manifest| manifest.layouts))
    }

    /// Reads the contents of the directories of a database, one directory for each device of its log; the first also
    /// has the manifest and the checkpoints. Nothing is changed.
    ///
    /// # Errors
    /// The contents are corrupt, or do not match the layouts, the devices or the options.
    pub fn open(
        directories: Vec<Arc<dyn Directory>>,
        layouts: &Layouts,
        options: Options,
    ) -> Result<Found, OpenError> {
        assert!(!directories.is_empty(), "a log has a device");
        let plant = options.plant;
        let manifest = Manifest::read(&*directories[0], plant != Some(LogPlant::IgnoresChecksums))?;
        let mut found = Found {
            directories,
            manifest: None,
            layouts: layouts.clone(),
            options,
            streams: Vec::new(),
            ends: Vec::new(),
            torn: Vec::new(),
            epoch: 0,
        };
        let Some(manifest) = manifest else {
            found.is_empty()?;
            found.ends = vec![End { segment: 0, position: 0, chain: 0 }; found.directories.len()];
            return Ok(found);
        };
        if manifest.devices.len() != found.directories.len() {
            let (made, given) = (manifest.devices.len(), found.directories.len());
            let found = format!("the log was made with {made} devices, and {given} are given");
            return Err(OpenError::Devices { found });
        }
        if let Some(mismatch) = manifest.layouts.compare(layouts) {
            return Err(OpenError::Schema(mismatch));
        }
        for (device, directory) in found.directories.iter().enumerate() {
            let scan = Scan { directory, manifest: &manifest, device, until: None, plant };
            found.streams.push(scan.stream()?);
        }
        found.find_end(&manifest)?;
        found.manifest = Some(manifest);
        if found.options.require_closed && !found.was_closed() {
            let (file, offset) = found.place_of(0, found.ends[0]);
            return Err(OpenError::Unclosed { file, offset, torn: found.torn });
        }
        Ok(found)
    }
}

impl Found {
    /// Fails if there is a file of a database without a manifest.
    fn is_empty(&self) -> Result<(), OpenError> {
        for directory in &self.directories {
            let place = directory.name();
            let files = directory.files().map_err(OpenError::io(Operation::List, place.clone()))?;
            if files.iter().any(|name| name == BACKUP) {
                let file = format!("{place}/{BACKUP}");
                let found = "a backup was not completed here: remove what there is of it, and make another";
                return Err(Corruption { file, offset: 0, found: found.to_owned() }.into());
            }
            let is_ours = |name: &&String| segment_number(name).is_some() || part_number(name).is_some();
            if let Some(file) = files.iter().find(is_ours) {
                let file = format!("{place}/{file}");
                let found = format!("the database of this file has no {MANIFEST}");
                return Err(Corruption { file, offset: 0, found }.into());
            }
        }
        Ok(())
    }

    /// Finds the last epoch that all devices have sealed, and the place behind it where the log continues.
    fn find_end(&mut self, manifest: &Manifest) -> Result<(), OpenError> {
        let last = self.streams.iter().map(|stream| stream.seals.last().map_or(0, |seal| seal.epoch));
        let believes_one = self.options.plant == Some(LogPlant::BelievesOneDevice);
        let epoch = if believes_one { last.max() } else { last.min() };
        self.epoch = epoch.expect("a log has a device");
        for (device, stream) in self.streams.iter().enumerate() {
            let seal = stream.seals.iter().rfind(|seal| seal.epoch <= self.epoch);
            let none = End { segment: 0, position: 0, chain: 0 };
            let end = seal.map_or(none, |seal| seal.end);
            if manifest.is_closed {
                // A backup ends with the head of a segment.
                let is_close = seal.is_some_and(|seal| seal.is_close || seal.is_head);
                if !is_close || end.position != manifest.devices[device].end {
                    return Err(self.lost(device, end, "the log was closed behind this, and lacks its end"));
                }
            }
            self.ends.push(end);
        }
        if self.epoch < manifest.checkpoint_epoch || self.epoch < manifest.epoch {
            let end = self.ends[0];
            return Err(self.lost(0, end, "the log lacks commits that were durable"));
        }
        self.torn = (0..self.ends.len()).filter_map(|device| self.find_torn(device)).collect();
        Ok(())
    }

    /// The bytes behind the end of a device's log, if there are any. A segment is begun when everything before it is
    /// valid, so these bytes are all in one segment.
    fn find_torn(&self, device: usize) -> Option<Torn> {
        let end = self.ends[device];
        let mut segments =
            self.streams[device].segments.iter().filter(|segment| segment.number >= end.segment);
        segments.find_map(|segment| {
            let is_last = segment.number == end.segment;
            let offset = if is_last { segment.offset(end.position) } else { segment.offset(segment.base) };
            let behind = segment.bytes.get(offset as usize..).unwrap_or_default();
            let bytes = without_zeroes(behind).len() as u64;
            let file = format!("{}/{}", self.directories[device].name(), segment_name(segment.number));
            (bytes > 0).then_some(Torn { file, segment: segment.number, offset, bytes })
        })
    }

    /// The file in which a device's log ends, and the offset of the end.
    fn place_of(&self, device: usize, end: End) -> (String, u64) {
        let file = format!("{}/{}", self.directories[device].name(), segment_name(end.segment));
        let last = self.streams[device].segments.iter().find(|segment| segment.number == end.segment);
        (file, last.map_or(0, |segment| segment.offset(end.position)))
    }

    fn lost(&self, device: usize, end: End, found: &str) -> OpenError {
        let (file, offset) = self.place_of(device, end);
        Corruption { file, offset, found: found.to_owned() }.into()
    }

    /// Whether there is no database yet.
    pub fn is_new(&self) -> bool {
        self.manifest.as_ref().is_none_or(|manifest| manifest.incarnation == 0)
    }

    /// The last epoch whose commits are present.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the log was closed by its writer, or is a backup, which is complete, too.
    pub fn was_closed(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.is_closed)
    }

    /// The bytes that a crash has left behind the last complete epoch, which are not valid; one entry for each device
    /// that has any.
    pub fn torn(&self) -> &[Torn] {
        &self.torn
    }

    /// The total number of these bytes.
    pub fn torn_bytes(&self) -> u64 {
        self.torn.iter().map(|torn| torn.bytes).sum()
    }

    /// The number of bytes of the log behind the checkpoint.
    pub fn log_bytes(&self) -> u64 {
        let segments = self.streams.iter().flat_map(|stream| &stream.segments);
        segments.map(|segment| segment.bytes.len() as u64).sum()
    }

    /// The number of the checkpoint, 0 if there is none, and its epoch.
    pub fn checkpoint(&self) -> (u64, u64) {
        self.manifest.as_ref().map_or((0, 0), |manifest| (manifest.checkpoint, manifest.checkpoint_epoch))
    }

    /// Restores all rows by several workers. For each row, the worker calls the function that `make` returned for it,
    /// which puts the row into the database: it gets a table, a key and the words of its column groups, one after the
    /// other. Each row comes once. The log is unchanged: whatever happens, the next try restores the same rows.
    ///
    /// # Errors
    /// The contents are corrupt. Some rows may have been restored.
    pub fn restore<E: FnMut(TableId, AnyKey, &[u64])>(
        &self,
        workers: usize,
        make: impl Fn(usize) -> E + Sync,
    ) -> Result<Restored, OpenError> {
        let Some(manifest) = &self.manifest else { return Ok(Restored::default()) };
        let streams = self.streams.iter().zip(&self.ends).zip(&self.directories);
        let commits: Vec<Commits<'_>> = streams
            .flat_map(|((stream, end), directory)| Commits::of(stream, end.position, &directory.name()))
            .collect();
        let plant = self.options.plant;
        let parts = if manifest.parts.is_empty() { self.options.parts } else { manifest.parts.len() };
        let merge = Merge::new(&self.layouts, &commits, parts, workers, plant)?;
        all_parts(&merge, workers, |worker, part| {
            let mut put = make(worker);
            let checks = plant != Some(LogPlant::IgnoresChecksums);
            let mut before = PartReader::open(&*self.directories[0], manifest, part, checks)?;
            let bytes = before.len();
            let rows = merge.part(part, &mut before, &mut |row| {
                if let Some((table, key)) = named(&row) {
                    put(table, key, row.groups);
                }
                Ok(())
            })?;
            Ok(Restored { rows, transactions: 0, bytes })
        })
    }

    /// Continues the log: cuts off what a crash has torn, removes files that are not valid, and begins new segments.
    ///
    /// # Errors
    /// The system refuses an operation. Nothing is lost: opening may be tried again.
    pub fn start(self) -> Result<Rounds, OpenError> {
        let Self { directories, manifest, layouts, mut options, ends, epoch, .. } = self;
        let plant = options.plant;
        let home = &directories[0];
        let named = || OpenError::io(Operation::Write, format!("{}/{MANIFEST}", home.name()));
        let mut manifest = if let Some(manifest) = manifest {
            manifest
        } else {
            let devices = vec![Named::default(); directories.len()];
            let (database, layouts) = (options.database, layouts.clone());
            let made = Manifest { database, devices, layouts, ..Manifest::default() };
            made.replace(&**home, plant).map_err(named())?;
            made
        };
        for (device, directory) in directories.iter().enumerate() {
            let kept = manifest.devices[device].first.max(1)..=ends[device].segment;
            clear(&**directory, &manifest, kept)
                .map_err(OpenError::io(Operation::Remove, directory.name()))?;
        }
        let mut writers = Vec::new();
        for (device, directory) in directories.iter().enumerate() {
            let course = Course {
                database: manifest.database,
                incarnation: manifest.incarnation + 1,
                device: device as u32,
                devices: directories.len() as u32,
                segment_bytes: options.segment_bytes.min(SEGMENT_BYTES_MAX),
                plant,
            };
            let begun = Device::begin(Arc::clone(directory), course, ends[device], epoch);
            let file = format!("{}/{}", directory.name(), segment_name(ends[device].segment + 1));
            writers.push(begun.map_err(OpenError::io(Operation::Write, file))?);
        }
        manifest.incarnation += 1;
        manifest.epoch = epoch;
        manifest.is_closed = false;
        manifest.layouts = layouts;
        manifest.note = mem::take(&mut options.note);
        for (named, writer) in manifest.devices.iter_mut().zip(&writers) {
            named.current = writer.end().segment;
            if named.first == 0 {
                named.first = named.current;
            }
        }
        manifest.replace(&**home, plant).map_err(named())?;
        let sizes = Sizes {
            sessions: options.sessions,
            ring_bytes: options.ring_bytes,
            backlog_bytes: options.backlog_bytes,
            epoch_ns: options.epoch_ns,
        };
        let home = Home {
            directories,
            tried: AtomicU64::new(manifest.checkpoint),
            is_busy: AtomicBool::new(false),
            manifest: Latched::new(manifest),
            parts: options.parts,
            plant,
        };
        let log = Log::new(epoch + 1, &sizes, options.order, home);
        Ok(Rounds::new(log, writers, epoch, plant))
    }
}

/// Removes files that are not valid: segments that are not `kept`, parts of other checkpoints, a manifest that was not
/// completed.
fn clear(
    directory: &dyn Directory,
    manifest: &Manifest,
    kept: core::ops::RangeInclusive<u64>,
) -> io::Result<()> {
    let mut has_removed = false;
    for name in directory.files()? {
        let is_left = segment_number(&name).is_some_and(|number| !kept.contains(&number))
            || part_number(&name).is_some_and(|number| number != manifest.checkpoint)
            || name == NEW;
        if is_left {
            directory.remove(&name)?;
            has_removed = true;
        }
    }
    if has_removed { directory.sync() } else { Ok(()) }
}

/// The reason for which no checkpoint was made. The log continues, unless the error says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointError {
    /// The log has failed.
    Log(LogError),
    /// Another checkpoint is being made: wait for it.
    Busy,
    /// The log or the checkpoint that was to be read is corrupt: keep the directory, and restore a copy.
    Read(OpenError),
    /// The checkpoint could not be written: remove the cause, and try again.
    Write {
        /// The file or the directory.
        place: String,
        /// The error of the system.
        kind: ErrorKind,
    },
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => error.fmt(f),
            Self::Busy => f.write_str("another checkpoint is being made: wait for it"),
            Self::Read(error) => error.fmt(f),
            Self::Write { place, kind } => write!(f, "{place}: no checkpoint was made: {kind}"),
        }
    }
}

impl core::error::Error for CheckpointError {}

impl Log {
    /// Makes a checkpoint of everything that is durable now, by several workers, and removes the log before it.
    /// Transactions run meanwhile and are not affected.
    ///
    /// # Errors
    /// No checkpoint was made; the one before stays.
    pub fn checkpoint(&self, workers: usize) -> Result<Restored, CheckpointError> {
        let cut = self.roll().map_err(CheckpointError::Log)?;
        self.glean(&cut, workers)
    }

    /// Like [`checkpoint`](Self::checkpoint), of everything before a cut, which [`Rounds::roll`] has made.
    ///
    /// # Errors
    /// The same.
    pub fn glean(&self, cut: &Cut, workers: usize) -> Result<Restored, CheckpointError> {
        self.0.home.alone(|| self.glean_alone(cut, workers)).unwrap_or(Err(CheckpointError::Busy))
    }

    fn glean_alone(&self, cut: &Cut, workers: usize) -> Result<Restored, CheckpointError> {
        let home = &self.0.home;
        let number = home.tried.fetch_add(1, Ordering::Relaxed) + 1; // Relaxed: only one gleans.
        let old = home.manifest.lock().clone();
        let made = home.make_parts(&old, cut, number, workers);
        let (parts, restored) = match made {
            Ok(made) => made,
            Err(error) => {
                home.forget_parts(number);
                return Err(error);
            }
        };
        let change = |new: &mut Manifest| {
            new.checkpoint = number;
            new.checkpoint_epoch = cut.epoch;
            new.parts = parts;
            for (named, segment) in new.devices.iter_mut().zip(&cut.segments) {
                named.first = *segment;
                named.current = named.current.max(*segment);
            }
        };
        if home.plant == Some(LogPlant::TruncatesEarly) {
            home.truncate(&old, cut);
        }
        // After an error it is unknown which manifest is there: either may be read, as long as nothing is removed and
        // nothing is sealed that only one of them would find.
        if let Err(error) = home.change(change) {
            let place = format!("{}/{MANIFEST}", home.directories[0].name());
            return Err(CheckpointError::Log(self.fail(LogError::write(place, &error))));
        }
        home.truncate(&old, cut);
        Ok(restored)
    }
}

impl Home {
    /// Does work on the files that no other such work may overlap; `None` if other work is in progress.
    pub(crate) fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        // Acquire and Release: the second of two works sees what the first has done.
        if self.is_busy.swap(true, Ordering::Acquire) {
            return None;
        }
        let done = work();
        self.is_busy.store(false, Ordering::Release);
        Some(done)
    }

    fn make_parts(
        &self,
        old: &Manifest,
        cut: &Cut,
        number: u64,
        workers: usize,
    ) -> Result<(Vec<PartSum>, Restored), CheckpointError> {
        let streams = self.directories.iter().enumerate().map(|(device, directory)| {
            let until = Some(cut.segments[device]);
            Scan { directory, manifest: old, device, until, plant: None }.stream()
        });
        let streams: Vec<_> = streams.collect::<Result<_, _>>().map_err(CheckpointError::Read)?;
        let of_devices = streams.iter().zip(&self.directories);
        let commits: Vec<_> =
            of_devices.flat_map(|(stream, place)| Commits::of(stream, u64::MAX, &place.name())).collect();
        let count = if old.parts.is_empty() { self.parts } else { old.parts.len() };
        let merge = Merge::new(&old.layouts, &commits, count, workers, self.plant);
        let merge = merge.map_err(CheckpointError::Read)?;
        let directory = &*self.directories[0];
        let parts = Latched::new(vec![PartSum::default(); count]);
        let failed = Latched::new(None);
        let restored = all_parts(&merge, workers, |_, part| {
            let head = PartHead {
                database: old.database,
                checkpoint: number,
                epoch: cut.epoch,
                part: part as u32,
                parts: count as u32,
            };
            let write = |error: io::Error| {
                let place = format!("{}/{}", directory.name(), part_name(number, part as u32));
                *failed.lock() = Some(CheckpointError::Write { place: place.clone(), kind: error.kind() });
                OpenError::io(Operation::Write, place)(error)
            };
            let mut writer = PartWriter::new(directory, head).map_err(write)?;
            let mut before = PartReader::open(directory, old, part, true)?;
            let bytes = before.len();
            let rows = merge.part(part, &mut before, &mut |row| writer.push(row).map_err(write))?;
            let (sum, file) = writer.finish().map_err(write)?;
            if self.plant != Some(LogPlant::LeavesPartsUnsynced) {
                file.sync().map_err(write)?;
            }
            parts.lock()[part] = sum;
            Ok(Restored { rows, transactions: 0, bytes })
        });
        let restored =
            restored.map_err(|error| failed.lock().take().unwrap_or(CheckpointError::Read(error)))?;
        directory
            .sync()
            .map_err(|error| CheckpointError::Write { place: directory.name(), kind: error.kind() })?;
        Ok((parts.into_inner(), restored))
    }

    /// Removes the parts of a checkpoint, as far as that is possible.
    fn forget_parts(&self, number: u64) {
        let directory = &self.directories[0];
        for name in directory.files().unwrap_or_default() {
            if part_number(&name) == Some(number) {
                _ = directory.remove(&name);
            }
        }
    }

    /// Removes files that the manifest names no more. A file that cannot be removed is removed at the next start.
    fn truncate(&self, old: &Manifest, cut: &Cut) {
        for (directory, (old, end)) in self.directories.iter().zip(old.devices.iter().zip(&cut.segments)) {
            (old.first..*end).for_each(|number| _ = directory.remove(&segment_name(number)));
        }
        if old.checkpoint != 0 {
            self.forget_parts(old.checkpoint);
        }
    }

    /// Replaces the manifest.
    fn change(&self, change: impl FnOnce(&mut Manifest)) -> io::Result<()> {
        let mut manifest = self.manifest.lock();
        let mut new = manifest.clone();
        change(&mut new);
        new.replace(&*self.directories[0], self.plant)?;
        *manifest = new;
        Ok(())
    }

    /// Names the segments in which the log continues, one of each device; they are durable.
    pub(crate) fn begin_segments(&self, numbers: &[u64]) -> io::Result<()> {
        self.change(|manifest| {
            for (named, number) in manifest.devices.iter_mut().zip(numbers) {
                named.current = *number;
            }
        })
    }

    /// Names the ends of the log, which was closed.
    pub(crate) fn close(&self, ends: &[End]) -> io::Result<()> {
        self.change(|manifest| {
            manifest.is_closed = true;
            for (named, end) in manifest.devices.iter_mut().zip(ends) {
                named.end = end.position;
            }
        })
    }
}
