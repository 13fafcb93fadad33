//! The manifest: names the valid files of a directory. It is replaced as a whole: written under another name, synced,
//! renamed, and the directory synced, before any file that it no longer names is removed.
//!
//! ```text
//! 0   magic: "CNTDMAN\n"
//! 8   u32  version
//! 12  u32  checksum of the file from byte 16 to its end
//! 16  u64  number of the database
//! 24  u64  incarnation: how often the database was opened to write
//! 32  u64  epoch with which the incarnation began: earlier incarnations count up to it
//! 40  u64  number of the checkpoint, 0 if there is none
//! 48  u64  epoch of the checkpoint
//! 56  u8   whether the log was closed
//! 57  u32  devices; for each of them
//!          u64  number of the first segment that counts
//!          u64  number of the last segment: none up to it may be missing
//!          u64  position at which the log was closed, if it was
//!     u32  parts of the checkpoint; for each of them
//!          u64  bytes
//!          u32  CRC-32C of all bytes
//!     u32  tables; for each of them
//!          u32  bytes of the name, and the name
//!          u8   whether it is a heap
//!          u8   words of a key
//!          u32  column groups, and for each the words of a row as u32
//!     u32  bytes of the program's note, and the note
//! then zeroes to the end of the page
//! ```

use std::io::{ErrorKind, Result};

use crate::disk::{Directory, read_all, write_all};
use crate::error::{Corruption, OpenError, Operation};
use crate::format::{Bytes, Headless, decode_manifest, encode_manifest};
use crate::layout::Layouts;
use crate::plants::LogPlant;

/// The name of the manifest.
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The name of a manifest before it is complete.
pub(crate) const NEW: &str = "MANIFEST.new";
/// The name of a backup's manifest while its files are being copied: a directory with this file is an incomplete copy.
pub(crate) const BACKUP: &str = "BACKUP";

/// The valid segments of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// The first valid segment.
    pub(crate) first: u64,
    /// The last segment, which is named before it has a commit. For logs with segments of version 1, the first segment
    /// of the incarnation.
    pub(crate) current: u64,
    /// The position at which the log was closed.
    pub(crate) end: u64,
}

/// The size and the checksum of a part of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartSum {
    pub(crate) bytes: u64,
    pub(crate) checksum: u32,
}

/// The fields of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) database: u64,
    pub(crate) incarnation: u64,
    pub(crate) epoch: u64,
    pub(crate) checkpoint: u64,
    pub(crate) checkpoint_epoch: u64,
    pub(crate) is_closed: bool,
    pub(crate) devices: Vec<Named>,
    pub(crate) parts: Vec<PartSum>,
    pub(crate) layouts: Layouts,
    /// The program's note; the log does not interpret it.
    pub(crate) note: Vec<u8>,
}

impl Manifest {
    fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        for number in [self.incarnation, self.epoch, self.checkpoint, self.checkpoint_epoch] {
            to.extend(number.to_le_bytes());
        }
        to.push(u8::from(self.is_closed));
        to.extend((self.devices.len() as u32).to_le_bytes());
        for Named { first, current, end } in &self.devices {
            to.extend([first, current, end].into_iter().flat_map(|number| number.to_le_bytes()));
        }
        to.extend((self.parts.len() as u32).to_le_bytes());
        for PartSum { bytes, checksum } in &self.parts {
            to.extend(bytes.to_le_bytes());
            to.extend(checksum.to_le_bytes());
        }
        self.layouts.encode(&mut to);
        to.extend((self.note.len() as u32).to_le_bytes());
        to.extend(&self.note);
        encode_manifest(self.database, &to)
    }

    fn decode(database: u64, mut from: Bytes<'_>) -> Option<Self> {
        let [incarnation, epoch, checkpoint, checkpoint_epoch] =
            [from.u64()?, from.u64()?, from.u64()?, from.u64()?];
        let is_closed = from.u8()? != 0;
        let (mut devices, mut parts) = (Vec::new(), Vec::new());
        for _ in 0..from.u32()? {
            devices.push(Named { first: from.u64()?, current: from.u64()?, end: from.u64()? });
        }
        for _ in 0..from.u32()? {
            parts.push(PartSum { bytes: from.u64()?, checksum: from.u32()? });
        }
        let layouts = Layouts::decode(&mut from)?;
        let bytes = from.u32()? as usize;
        let note = from.take(bytes)?.to_vec();
        Some(Self {
            database,
            incarnation,
            epoch,
            checkpoint,
            checkpoint_epoch,
            is_closed,
            devices,
            parts,
            layouts,
            note,
        })
    }

    /// Makes this the manifest of a directory.
    pub(crate) fn replace(&self, directory: &dyn Directory, plant: Option<LogPlant>) -> Result<()> {
        self.replace_by(NEW, directory, plant)
    }

    /// Like `replace`; the caller gives the name that the manifest has before it is complete.
    pub(crate) fn replace_by(
        &self,
        new: &str,
        directory: &dyn Directory,
        plant: Option<LogPlant>,
    ) -> Result<()> {
        let bytes = self.encode();
        if plant == Some(LogPlant::OverwritesManifest) && directory.open(MANIFEST).is_ok() {
            let file = directory.open(MANIFEST)?;
            write_all(&*file, 0, &bytes)?;
            return file.sync();
        }
        match directory.remove(new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = directory.create(new)?;
        write_all(&*file, 0, &bytes)?;
        if plant != Some(LogPlant::RenamesUnsynced) {
            file.sync()?;
        }
        directory.rename(new, MANIFEST)?;
        if plant == Some(LogPlant::RenamesWithoutSync) { Ok(()) } else { directory.sync() }
    }

    /// The manifest of a directory; `None` if it has none.
    pub(crate) fn read(
        directory: &dyn Directory,
        checks: bool,
    ) -> core::result::Result<Option<Self>, OpenError> {
        let place = format!("{}/{MANIFEST}", directory.name());
        let file = match directory.open(MANIFEST) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io(Operation::Open, place)(error)),
        };
        let bytes = read_all(&*file).map_err(OpenError::io(Operation::Read, place.clone()))?;
        let corrupt = || Corruption {
            file: place.clone(),
            offset: 0,
            found: "the manifest is not what was written".to_owned(),
        };
        match decode_manifest(&bytes, checks) {
            Ok((database, fields)) => Ok(Some(Self::decode(database, fields).ok_or_else(corrupt)?)),
            Err(Headless::Torn) => Err(corrupt().into()),
            Err(Headless::Version(found)) => Err(OpenError::Version { file: place, found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SimulatedDisk;
    use crate::layout::TableLayout;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let table = TableLayout { name: "rows".into(), is_heap: true, key_words: 6, groups: vec![1, 700] };
        let manifest = Manifest {
            database: 9,
            incarnation: 3,
            epoch: 8,
            checkpoint: 2,
            checkpoint_epoch: 5,
            is_closed: true,
            devices: vec![Named { first: 1, current: 2, end: 3 }; 2],
            parts: vec![PartSum { bytes: 4, checksum: 5 }],
            layouts: Layouts(vec![table; 300]),
            note: b"columns".to_vec(),
        };
        let disk = SimulatedDisk::new(1);
        let directory = disk.directory(0);
        assert_eq!(Manifest::read(&*directory, true), Ok(None));
        for _ in 0..2 {
            manifest.replace(&*directory, None).expect("the disk works");
            assert_eq!(Manifest::read(&*directory, true), Ok(Some(manifest.clone())));
        }
        assert!((0..100).all(|_| disk.rot().is_some()), "there is a file");
        assert!(matches!(Manifest::read(&*directory, true), Err(OpenError::Corrupt(_))));
    }
}
