//! A simulated disk in memory that behaves as badly as the rules allow, decided by a seed: when the power goes,
//! unsynced bytes may be kept or lost, in pieces, in any order, and names may lead to files of another time.
//!
//! RULES
//! (1) Every operation that changes something counts as a step. Power is cut at a step, faults happen at steps.
//! (2) A file has durable bytes and pending writes. When the power goes, each sector of each pending write is kept or
//!     lost independently, some in part; lost bytes below the file's new end are zeroes or garbage.
//! (3) Names are durable when their directory was synced. Any of the changes since then may be lost.
//! (4) A full disk takes writes to sectors that have room already: sectors that were written before. A sector that
//!     was skipped has no room, even if the file is longer.
//! (5) A sync that fails leaves its writes readable, but forgets that they are to become durable, as Linux does: the
//!     next sync reports success.

use core::mem;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};

use stdx::Rng;
use sync::{Arc, Latched};

use super::{Directory, File};

/// The number of bytes of a sector, the usual unit of a write.
const SECTOR: usize = 512;

/// A fault that happens at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device fails; if the step is a sync, its writes are lost.
    Fails,
    /// The device is full, from now on.
    Full,
    /// The call is interrupted before it has done anything.
    Interrupted,
    /// A write takes only a part of the bytes.
    Short,
    /// A write goes to another place of the file, and reports success.
    Misdirected,
}

/// The power of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// The disk answers.
    On,
    /// The disk does not answer until it is restarted.
    Off,
}

/// A simulated disk: several directories on one machine, whose power is cut at once.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Latched<State>>);

/// The place where bytes have rotted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotten {
    /// The number of the directory.
    pub directory: usize,
    /// The file.
    pub file: String,
    /// The offset of the first changed byte.
    pub offset: u64,
    /// Whether everything behind that offset is gone.
    pub is_truncated: bool,
}

/// A directory of a simulated disk.
#[derive(Debug)]
pub struct SimulatedDirectory {
    disk: SimulatedDisk,
    number: usize,
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    inode: usize,
    /// The number of restarts when it was opened: a file does not outlive a power cut.
    boots: u64,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    directories: Vec<Names>,
    inodes: Vec<Inode>,
    steps: u64,
    cut_at: Option<u64>,
    faults: Vec<(u64, Fault)>,
    is_off: bool,
    is_full: bool,
    boots: u64,
}

/// The names of a directory.
#[derive(Debug, Default)]
struct Names {
    live: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Add(String, usize),
    Rename(String, String, usize),
    Remove(String),
}

/// The bytes of a file.
#[derive(Debug, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Writes that are not durable, in order: the offset and the bytes of each.
    pending: Vec<(usize, Vec<u8>)>,
    /// The sectors that have room on the disk.
    allocated: BTreeSet<usize>,
}

impl Names {
    fn apply(names: &mut BTreeMap<String, usize>, change: Change) {
        match change {
            Change::Add(name, inode) => _ = names.insert(name, inode),
            Change::Rename(from, to, inode) => {
                names.remove(&from);
                names.insert(to, inode);
            }
            Change::Remove(name) => _ = names.remove(&name),
        }
    }

    fn change(&mut self, change: Change) {
        Self::apply(&mut self.live, change.clone());
        self.pending.push(change);
    }

    /// Cuts the power: `keeps` decides for each pending change whether it is kept.
    fn cut(&mut self, mut keeps: impl FnMut() -> bool) {
        for change in mem::take(&mut self.pending) {
            if keeps() {
                Self::apply(&mut self.durable, change);
            }
        }
        self.live = self.durable.clone();
    }
}

fn put(to: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if to.len() < offset + bytes.len() {
        to.resize(offset + bytes.len(), 0);
    }
    to[offset..offset + bytes.len()].copy_from_slice(bytes);
}

impl Inode {
    /// The number of bytes from an offset on that have room.
    fn room(&self, offset: usize) -> usize {
        let first = offset / SECTOR;
        let mut end = first;
        while self.allocated.contains(&end) {
            end += 1;
        }
        (end * SECTOR).saturating_sub(offset)
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        put(&mut self.live, offset, bytes);
        self.allocated.extend(offset / SECTOR..(offset + bytes.len()).div_ceil(SECTOR));
        self.pending.push((offset, bytes.to_vec()));
    }

    fn sync(&mut self) {
        for (offset, bytes) in self.pending.drain(..) {
            put(&mut self.durable, offset, &bytes);
        }
    }

    /// Cuts the power. `kept` is the percentage of sectors that are kept.
    fn cut(&mut self, rng: &mut Rng, kept: u64) {
        let pending = mem::take(&mut self.pending);
        for (offset, bytes) in &pending {
            let mut at = 0;
            while at < bytes.len() {
                let next = (at + SECTOR - (offset + at) % SECTOR).min(bytes.len());
                let is_torn = rng.below(64) == 0;
                if rng.below(100) < kept {
                    let end = if is_torn { at + rng.below((next - at) as u64 + 1) as usize } else { next };
                    put(&mut self.durable, offset + at, &bytes[at..end]);
                }
                at = next;
            }
        }
        // The length may be longer than the bytes that were kept: then old bytes of the device show.
        let end = pending.iter().map(|(offset, bytes)| offset + bytes.len()).max().unwrap_or(0);
        if end > self.durable.len() && rng.below(2) == 0 {
            let from = self.durable.len();
            self.durable.resize(from + rng.below((end - from) as u64 + 1) as usize, 0);
            if rng.below(2) == 0 {
                self.durable[from..].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
            }
        }
        self.live.clone_from(&self.durable);
    }
}

impl State {
    fn off() -> Error {
        Error::other("the power is off")
    }

    /// Begins a step, and returns its fault, if it has one. When the power goes, the step may still take effect.
    fn step(&mut self) -> Result<Option<Fault>> {
        if self.is_off {
            return Err(Self::off());
        }
        self.steps += 1;
        let steps = self.steps;
        let fault = self.faults.iter().find(|(at, _)| *at == steps).map(|(_, fault)| *fault);
        match fault {
            Some(Fault::Interrupted) => Err(ErrorKind::Interrupted.into()),
            Some(Fault::Full) => {
                self.is_full = true;
                Ok(fault)
            }
            _ => Ok(fault),
        }
    }

    /// Ends a step; fails if the power has gone meanwhile.
    fn end(&mut self) -> Result<()> {
        if self.cut_at.is_some_and(|cut_at| self.steps >= cut_at) {
            self.is_off = true;
            return Err(Self::off());
        }
        Ok(())
    }

    /// Whether the power goes at this step before the step has had any effect.
    fn goes_before(&mut self) -> bool {
        self.cut_at == Some(self.steps) && self.rng.below(2) == 0
    }

    fn change(&mut self, directory: usize, change: Change) -> Result<()> {
        match self.step()? {
            Some(Fault::Fails) => return Err(Error::other("planted: the device fails")),
            _ if self.is_full && matches!(change, Change::Add(..)) => {
                return Err(ErrorKind::StorageFull.into());
            }
            _ => {}
        }
        if !self.goes_before() {
            self.directories[directory].change(change);
        }
        self.end()
    }

    fn write(&mut self, inode: usize, offset: usize, bytes: &[u8]) -> Result<usize> {
        let fault = self.step()?;
        if fault == Some(Fault::Fails) {
            return Err(Error::other("planted: the device fails"));
        }
        let mut bytes = bytes;
        if self.is_full {
            let room = self.inodes[inode].room(offset); // Rule (4).
            if room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            bytes = &bytes[..room.min(bytes.len())];
        }
        if fault == Some(Fault::Short) {
            bytes = &bytes[..bytes.len().div_ceil(2)];
        }
        let mut at = offset;
        if fault == Some(Fault::Misdirected) {
            at = self.rng.below((offset / SECTOR) as u64 + 2) as usize * SECTOR;
        }
        if !self.goes_before() {
            self.inodes[inode].write(at, bytes);
        }
        self.end()?;
        Ok(bytes.len())
    }

    fn sync(&mut self, inode: usize) -> Result<()> {
        if self.step()? == Some(Fault::Fails) {
            self.inodes[inode].pending.clear(); // Rule (5).
            return Err(Error::other("planted: the device fails"));
        }
        if !self.goes_before() {
            self.inodes[inode].sync();
        }
        self.end()
    }

    fn sync_names(&mut self, directory: usize) -> Result<()> {
        if self.step()? == Some(Fault::Fails) {
            return Err(Error::other("planted: the device fails"));
        }
        if !self.goes_before() {
            let names = &mut self.directories[directory];
            names.durable = names.live.clone();
            names.pending.clear();
        }
        self.end()
    }

    fn restart(&mut self) {
        // Crashes that keep a half of everything are few: mostly all or nothing is the interesting case.
        let kept = [0, 0, 50, 90, 100][self.rng.below(5) as usize];
        for inode in &mut self.inodes {
            inode.cut(&mut self.rng, kept);
        }
        let kept = [0, 50, 100][self.rng.below(3) as usize];
        for names in &mut self.directories {
            names.cut(|| self.rng.below(100) < kept);
        }
        self.is_off = false;
        self.is_full = false;
        self.cut_at = None;
        self.faults.clear();
        self.boots += 1;
    }
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Latched::new(State {
            rng: Rng::from_path(&[0x6469_736b, seed]),
            directories: Vec::new(),
            inodes: Vec::new(),
            steps: 0,
            cut_at: None,
            faults: Vec::new(),
            is_off: false,
            is_full: false,
            boots: 0,
        })))
    }

    /// The directory with this number.
    pub fn directory(&self, number: usize) -> Arc<dyn Directory> {
        let mut state = self.0.lock();
        while state.directories.len() <= number {
            state.directories.push(Names::default());
        }
        Arc::new(SimulatedDirectory { disk: self.clone(), number })
    }

    /// The number of steps that were taken.
    pub fn steps(&self) -> u64 {
        self.0.lock().steps
    }

    /// Cuts the power at a step, counted from the beginning.
    pub fn cut_at(&self, step: u64) {
        self.0.lock().cut_at = Some(step);
    }

    /// Plants a fault at a step.
    pub fn fault_at(&self, step: u64, fault: Fault) {
        self.0.lock().faults.push((step, fault));
    }

    /// The state of the power.
    pub fn power(&self) -> Power {
        if self.0.lock().is_off { Power::Off } else { Power::On }
    }

    /// Cuts the power, if it is on, and restores it: the fate of everything that was not durable is decided.
    pub fn restart(&self) {
        self.0.lock().restart();
    }

    /// The bytes of a file as a reader finds them; `None` if there is no such file.
    pub fn bytes(&self, directory: usize, file: &str) -> Option<Vec<u8>> {
        let state = self.0.lock();
        let inode = state.directories.get(directory)?.live.get(file)?;
        Some(state.inodes[*inode].live.clone())
    }

    /// Replaces the bytes of a file durably, as a tool may that somebody has used on the wrong file.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn replace(&self, directory: usize, file: &str, bytes: Vec<u8>) {
        let mut state = self.0.lock();
        let inode = state.directories.get(directory).and_then(|names| names.live.get(file));
        let inode = *inode.expect("a file that is there");
        state.inodes[inode] = Inode { durable: bytes.clone(), live: bytes, ..Inode::default() };
    }

    /// Changes some bytes of a file, as an aged disk may: flips a bit, zeroes a sector, fills it from another place or
    /// file, or truncates the file. Returns the change; `None` if there is no file with bytes.
    pub fn rot(&self) -> Option<Rotten> {
        let mut state = self.0.lock();
        let State { rng, directories, inodes, .. } = &mut *state;
        let named = directories.iter().enumerate().flat_map(|(directory, names)| {
            names.live.iter().map(move |(name, inode)| (directory, name.clone(), *inode))
        });
        let all: Vec<_> = named.filter(|(_, _, inode)| !inodes[*inode].live.is_empty()).collect();
        if all.is_empty() {
            return None;
        }
        let (directory, name, inode) = all[rng.below(all.len() as u64) as usize].clone();
        let other = all[rng.below(all.len() as u64) as usize].2;
        let bytes = inodes[inode].live.len();
        let at = rng.below(bytes as u64) as usize;
        let sector = at / SECTOR * SECTOR;
        let end = (sector + SECTOR).min(bytes);
        let kind = rng.below(4);
        let first = match kind {
            0 => {
                inodes[inode].live[at] ^= 1 << rng.below(8);
                at
            }
            1 => {
                inodes[inode].live[sector..end].fill(0);
                sector
            }
            2 => {
                let sectors = (inodes[other].live.len() / SECTOR) as u64;
                let from = rng.below(sectors.max(1)) as usize * SECTOR;
                let source = inodes[other].live.iter().skip(from).take(end - sector).copied();
                let source: Vec<u8> = source.collect();
                inodes[inode].live[sector..sector + source.len()].copy_from_slice(&source);
                sector
            }
            _ => {
                inodes[inode].live.truncate(at);
                at
            }
        };
        let inode = &mut inodes[inode];
        inode.durable.clone_from(&inode.live);
        inode.pending.clear();
        Some(Rotten { directory, file: name, offset: first as u64, is_truncated: kind == 3 })
    }
}

impl SimulatedDirectory {
    fn file(&self, inode: usize, boots: u64) -> Arc<dyn File> {
        Arc::new(SimulatedFile { disk: self.disk.clone(), inode, boots })
    }
}

impl Directory for SimulatedDirectory {
    fn name(&self) -> String {
        format!("directory {}", self.number)
    }

    fn files(&self) -> Result<Vec<String>> {
        let state = self.disk.0.lock();
        if state.is_off {
            return Err(State::off());
        }
        Ok(state.directories[self.number].live.keys().cloned().collect())
    }

    fn create(&self, file: &str) -> Result<Arc<dyn File>> {
        let mut state = self.disk.0.lock();
        if state.directories[self.number].live.contains_key(file) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change(self.number, Change::Add(file.to_owned(), inode))?;
        Ok(self.file(inode, state.boots))
    }

    fn open(&self, file: &str) -> Result<Arc<dyn File>> {
        let state = self.disk.0.lock();
        if state.is_off {
            return Err(State::off());
        }
        let inode = state.directories[self.number].live.get(file).copied();
        Ok(self.file(inode.ok_or(ErrorKind::NotFound)?, state.boots))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = self.disk.0.lock();
        let inode = state.directories[self.number].live.get(from).copied().ok_or(ErrorKind::NotFound)?;
        state.change(self.number, Change::Rename(from.to_owned(), to.to_owned(), inode))
    }

    fn remove(&self, file: &str) -> Result<()> {
        let mut state = self.disk.0.lock();
        if !state.directories[self.number].live.contains_key(file) {
            return Err(ErrorKind::NotFound.into());
        }
        state.change(self.number, Change::Remove(file.to_owned()))
    }

    fn sync(&self) -> Result<()> {
        self.disk.0.lock().sync_names(self.number)
    }
}

impl SimulatedFile {
    fn is_stale(&self, state: &State) -> bool {
        state.is_off || state.boots != self.boots
    }
}

impl File for SimulatedFile {
    fn bytes(&self) -> Result<u64> {
        let state = self.disk.0.lock();
        if self.is_stale(&state) { Err(State::off()) } else { Ok(state.inodes[self.inode].live.len() as u64) }
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize> {
        let state = self.disk.0.lock();
        if self.is_stale(&state) {
            return Err(State::off());
        }
        let bytes = state.inodes[self.inode].live.get(offset as usize..).unwrap_or_default();
        let read = bytes.len().min(to.len());
        to[..read].copy_from_slice(&bytes[..read]);
        Ok(read)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> Result<usize> {
        let mut state = self.disk.0.lock();
        if self.is_stale(&state) {
            return Err(State::off());
        }
        state.write(self.inode, offset as usize, from)
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.disk.0.lock();
        if self.is_stale(&state) {
            return Err(State::off());
        }
        state.sync(self.inode)
    }
}
