//! Backups: copies of a database while it runs, which are databases themselves.
//!
//! The log continues in new segments, as for a checkpoint. Everything before them does not change any more and is
//! durable, so it is copied file by file: the checkpoint, the segments behind it, and the head of the first new
//! segment, which says where the segment before ends. The copy's manifest comes last, and says that the log is closed
//! there. Until then a marker file says that the copy is incomplete.

use core::fmt;
use std::io::{self, ErrorKind};

use sync::Arc;

use crate::disk::{Directory, File, LOCK, write_all};
use crate::error::{Corruption, LogError, OpenError, Operation};
use crate::format::{PAGE, SegmentHead, part_name, segment_name};
use crate::log::Log;
use crate::manifest::{BACKUP, MANIFEST, Manifest};
use crate::reader::Scan;
use crate::store::Cut;

/// The number of bytes that are copied at a time.
const CHUNK: usize = 1 << 20;

/// Totals of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// The last epoch whose commits are in the copy.
    pub epoch: u64,
    /// The number of files, the manifest included.
    pub files: u64,
    /// The number of bytes, without those of the manifest.
    pub bytes: u64,
}

/// The reason for which no backup was made. The database continues, unless its log says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupError {
    /// The directory contains files already: give an empty one.
    NotEmpty {
        /// The directory.
        place: String,
    },
    /// The log has failed.
    Log(LogError),
    /// A checkpoint or another backup is being made: wait for it.
    Busy,
    /// The files that were to be copied are corrupt: keep the directory, and restore an older copy.
    Read(OpenError),
    /// The copy could not be written: remove the cause, and try again with an empty directory.
    Write {
        /// The file or the directory.
        place: String,
        /// The error of the system.
        kind: ErrorKind,
    },
}

impl BackupError {
    fn write(place: impl Into<String>) -> impl Fn(io::Error) -> Self {
        let place = place.into();
        move |error| Self::Write { place: place.clone(), kind: error.kind() }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEmpty { place } => {
                write!(f, "{place}: is not empty: give a directory that is, or that is not there")
            }
            Self::Log(error) => error.fmt(f),
            Self::Busy => f.write_str("a checkpoint or another backup is being made: wait for it"),
            Self::Read(error) => write!(f, "{error}: no backup was made; keep an older one"),
            Self::Write { place, kind } => {
                write!(f, "{place}: no backup was made ({kind}): see to it, and give an empty directory")
            }
        }
    }
}

impl core::error::Error for BackupError {}

impl Log {
    /// Copies the database as it is at a moment between the call and its end: all transactions that had committed
    /// before the call, and a part of those that commit meanwhile, which depends on no other transactions. Transactions
    /// run on; checkpoints are refused as busy meanwhile. The directories, one for each device, must be empty, except
    /// for a lock. The log needs a thread of its own.
    ///
    /// # Errors
    /// No backup was made. The files of the attempt are removed, as far as the system allows.
    ///
    /// # Panics
    /// When the number of directories is not the number of the log's devices.
    pub fn backup(&self, to: &[Arc<dyn Directory>]) -> Result<Copied, BackupError> {
        assert_eq!(to.len(), self.0.home.directories.len(), "each device has a directory");
        self.0.home.alone(|| self.backup_alone(to)).unwrap_or(Err(BackupError::Busy))
    }

    fn backup_alone(&self, to: &[Arc<dyn Directory>]) -> Result<Copied, BackupError> {
        for directory in to {
            let files = directory.files().map_err(BackupError::write(directory.name()))?;
            if files.iter().any(|file| file != LOCK) {
                return Err(BackupError::NotEmpty { place: directory.name() });
            }
        }
        // A commit in an epoch that is not durable yet would stand behind a cut that is made now.
        self.wait(self.present()).map_err(BackupError::Log)?;
        let cut = self.roll().map_err(BackupError::Log)?;
        let manifest = self.0.home.manifest.lock().clone();
        let copied = Copy { from: &self.0.home.directories, to, manifest, cut: &cut }.make();
        if copied.is_err() {
            forget(to);
        }
        copied
    }
}

/// Removes the files of a failed backup. The marker file goes last.
fn forget(to: &[Arc<dyn Directory>]) {
    for directory in to.iter().rev() {
        let files = directory.files().unwrap_or_default();
        let ours = files.iter().filter(|file| *file != LOCK && *file != BACKUP);
        ours.for_each(|file| _ = directory.remove(file));
        _ = directory.remove(BACKUP);
    }
}

/// A backup in progress.
struct Copy<'c> {
    from: &'c [Arc<dyn Directory>],
    to: &'c [Arc<dyn Directory>],
    manifest: Manifest,
    cut: &'c Cut,
}

impl Copy<'_> {
    fn make(mut self) -> Result<Copied, BackupError> {
        let home = &self.to[0];
        let mark = home.create(BACKUP).and_then(|_| home.sync());
        mark.map_err(BackupError::write(home.name()))?;
        let mut copied = Copied { epoch: self.cut.epoch, files: 1, bytes: 0 };
        for part in 0..self.manifest.parts.len() {
            let sum = self.manifest.parts[part];
            let name = part_name(self.manifest.checkpoint, part as u32);
            let (bytes, checksum) = self.copy(0, &name, &mut copied)?;
            if (bytes, checksum) != (sum.bytes, sum.checksum) {
                let file = format!("{}/{name}", self.from[0].name());
                let found = "the part is not the one of the manifest".to_owned();
                return Err(BackupError::Read(Corruption { file, offset: 0, found }.into()));
            }
        }
        for device in 0..self.to.len() {
            let behind = self.cut.segments[device];
            for number in self.manifest.devices[device].first..behind {
                self.copy(device, &segment_name(number), &mut copied)?;
            }
            let end = self.end_with(device, &segment_name(behind), &mut copied)?;
            // None of the segments up to this one may be missing.
            self.manifest.devices[device].current = behind;
            self.manifest.devices[device].end = end;
            self.to[device].sync().map_err(BackupError::write(self.to[device].name()))?;
        }
        self.manifest.is_closed = true;
        self.read_back()?;
        let place = format!("{}/{MANIFEST}", home.name());
        self.manifest.replace_by(BACKUP, &**home, None).map_err(BackupError::write(place))?;
        Ok(copied)
    }

    /// Copies a file, and makes it durable. Returns the number of its bytes, and their checksum.
    fn copy(&self, device: usize, name: &str, copied: &mut Copied) -> Result<(u64, u32), BackupError> {
        let source = format!("{}/{name}", self.from[device].name());
        let read = |operation| {
            let refused = OpenError::io(operation, source.as_str());
            move |error: io::Error| BackupError::Read(refused(error))
        };
        let write = BackupError::write(format!("{}/{name}", self.to[device].name()));
        let from = self.from[device].open(name).map_err(read(Operation::Open))?;
        let to = self.to[device].create(name).map_err(&write)?;
        let mut chunk = vec![0; CHUNK];
        let (mut at, mut checksum) = (0, 0);
        loop {
            let count = read_some(&*from, at, &mut chunk).map_err(read(Operation::Read))?;
            if count == 0 {
                break;
            }
            write_all(&*to, at, &chunk[..count]).map_err(&write)?;
            checksum = crc32c::crc32c_append(checksum, &chunk[..count]);
            at += count as u64;
        }
        to.sync().map_err(&write)?;
        copied.files += 1;
        copied.bytes += at;
        Ok((at, checksum))
    }

    /// Ends the log of a device with the head of this segment, as a segment without blocks. Returns the position of the
    /// end.
    fn end_with(&self, device: usize, name: &str, copied: &mut Copied) -> Result<u64, BackupError> {
        let source = format!("{}/{name}", self.from[device].name());
        let from = self.from[device].open(name).map_err(OpenError::io(Operation::Open, source.as_str()));
        let mut page = vec![0; PAGE];
        read_some(&*from.map_err(BackupError::Read)?, 0, &mut page)
            .map_err(|error| BackupError::Read(OpenError::io(Operation::Read, source.as_str())(error)))?;
        let head = SegmentHead::decode(&page, true).map_err(|_| {
            let found = "the head of the segment is not what was written".to_owned();
            BackupError::Read(Corruption { file: source, offset: 0, found }.into())
        })?;
        let write = BackupError::write(format!("{}/{name}", self.to[device].name()));
        let to = self.to[device].create(name).map_err(&write)?;
        let alone = SegmentHead { bytes: Some(PAGE as u64), ..head };
        write_all(&*to, 0, &alone.encode()).and_then(|()| to.sync()).map_err(&write)?;
        copied.files += 1;
        copied.bytes += PAGE as u64;
        Ok(head.base)
    }

    /// Reads the copied log as a later open will read it: a copy of corrupt files is not a backup.
    fn read_back(&self) -> Result<(), BackupError> {
        for (device, directory) in self.to.iter().enumerate() {
            let scan = Scan { directory, manifest: &self.manifest, device, until: None, plant: None };
            scan.stream().map_err(BackupError::Read)?;
        }
        Ok(())
    }
}

/// Reads at an offset; 0 bytes if the file ends there.
fn read_some(file: &dyn File, offset: u64, to: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read_at(offset, to) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Fault, Power, SimulatedDisk};
    use crate::layout::{Layouts, TableLayout};
    use crate::log::Running;
    use crate::sink::LogSink;
    use crate::store::{Found, Options, Store};
    use engine::{AnyKey, TableId};
    use sync::Latched;

    fn found(disk: &SimulatedDisk, number: usize) -> Result<Found, OpenError> {
        let table = TableLayout { name: "rows".into(), is_heap: false, key_words: 1, groups: vec![1] };
        let options =
            Options { sessions: 1, parts: 2, database: 3, note: b"columns".to_vec(), ..Options::default() };
        Store::open(vec![disk.directory(number)], &Layouts(vec![table]), options)
    }

    fn keys(found: &Found) -> Vec<u64> {
        let keys = Latched::new(Vec::new());
        let see = |_, key, _: &[u64]| {
            let AnyKey::One(key) = key else { panic!("keys have a word") };
            keys.lock().push(key);
        };
        found.restore(1, |_| see).expect("what was written makes sense");
        let mut keys = keys.into_inner();
        keys.sort_unstable();
        keys
    }

    fn commit(sink: &mut LogSink, key: u64) {
        sink.open();
        sink.write(TableId(0), None, AnyKey::One(key), Some(&[key]));
        sink.close();
    }

    /// A running log with some rows in a checkpoint and some behind it.
    fn running(disk: &SimulatedDisk) -> (Running, LogSink) {
        let running = found(disk, 0).expect("an empty disk").start().expect("the disk works").spawn();
        let mut sink = running.log().plain_sink();
        (0..5).for_each(|key| commit(&mut sink, key));
        running.log().wait(sink.ticket()).expect("the disk works");
        running.log().checkpoint(1).expect("the disk works");
        (5..9).for_each(|key| commit(&mut sink, key));
        (running, sink)
    }

    #[test]
    fn a_backup_has_what_had_committed_and_goes_on_by_itself() {
        let disk = SimulatedDisk::new(1);
        let (running, mut sink) = running(&disk);
        let copied = running.log().backup(&[disk.directory(1)]).expect("the disk works");
        assert!(copied.files > 4 && copied.bytes > 0, "{copied:?}");
        commit(&mut sink, 9);
        drop(sink);
        running.close().expect("the disk works");
        assert_eq!(Store::note(&*disk.directory(1)), Ok(Some(b"columns".to_vec())));
        let copy = found(&disk, 1).expect("a database");
        assert_eq!((keys(&copy), copy.was_closed()), ((0..9).collect(), true), "it has its end");
        let going_on = copy.start().expect("the disk works").spawn();
        let mut sink = going_on.log().plain_sink();
        commit(&mut sink, 20);
        drop(sink);
        going_on.close().expect("the disk works");
        assert_eq!(keys(&found(&disk, 1).expect("closed")), [0, 1, 2, 3, 4, 5, 6, 7, 8, 20]);
        assert_eq!(keys(&found(&disk, 0).expect("closed")), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_directory_with_anything_in_it_is_left_alone() {
        let disk = SimulatedDisk::new(1);
        let (running, sink) = running(&disk);
        let to = disk.directory(1);
        to.create("letter").expect("the disk works");
        let refused = running.log().backup(&[Arc::clone(&to)]);
        assert_eq!(refused, Err(BackupError::NotEmpty { place: to.name() }));
        assert_eq!(to.files().expect("the disk works"), ["letter"]);
        drop(sink);
    }

    #[test]
    fn a_copy_that_has_lost_its_last_file_is_refused() {
        let disk = SimulatedDisk::new(1);
        let (running, sink) = running(&disk);
        let to = disk.directory(1);
        running.log().backup(&[Arc::clone(&to)]).expect("the disk works");
        let last = to.files().expect("the disk works").pop().expect("segments");
        to.remove(&last).expect("the disk works");
        assert!(matches!(found(&disk, 1), Err(OpenError::Corrupt(_))));
        drop(sink);
    }

    #[test]
    fn a_backup_that_is_cut_short_at_any_step_is_no_database() {
        let mut completed = 0;
        for after in 1.. {
            let disk = SimulatedDisk::new(after);
            let (running, sink) = running(&disk);
            running.log().wait(sink.ticket()).expect("the disk works");
            disk.cut_at(disk.steps() + after);
            let copied = running.log().backup(&[disk.directory(1)]);
            let is_off = disk.power() == Power::Off;
            drop(sink);
            drop(running);
            disk.restart();
            match found(&disk, 1) {
                Ok(copy) if copy.is_new() => {
                    assert_eq!(disk.directory(1).files().expect("it is on"), [""; 0], "step {after}");
                }
                Ok(copy) => assert_eq!(keys(&copy), (0..9).collect::<Vec<_>>(), "step {after}"),
                Err(OpenError::Corrupt(_)) => assert!(copied.is_err(), "step {after}"),
                Err(error) => panic!("step {after}: {error}"),
            }
            assert_eq!(keys(&found(&disk, 0).expect("it is not touched")), (0..9).collect::<Vec<_>>());
            completed += u32::from(!is_off);
            if completed == 3 {
                return;
            }
        }
    }

    #[test]
    fn a_backup_that_finds_no_room_leaves_nothing_behind() {
        for after in [1, 3, 9, 12] {
            let disk = SimulatedDisk::new(after);
            let (running, sink) = running(&disk);
            running.log().wait(sink.ticket()).expect("the disk works");
            disk.fault_at(disk.steps() + after, Fault::Full);
            let refused = running.log().backup(&[disk.directory(1)]).expect_err("there is no room");
            assert!(matches!(refused, BackupError::Write { .. } | BackupError::Log(_)), "{refused}");
            assert_eq!(disk.directory(1).files().expect("it answers"), [""; 0]);
            drop(sink);
        }
    }
}
