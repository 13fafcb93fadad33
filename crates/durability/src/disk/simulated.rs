//! A disk in memory that does its worst, as a seed decides: what was not synced when the power goes may be there or
//! not, in pieces, in any order, and names may lead to files of another time.
//!
//! RULES
//! (1) Every operation that changes something counts as a step. Power is cut at a step, faults happen at steps.
//! (2) A file has bytes that are durable and writes that are not. When the power goes, each sector of each of those
//!     is kept or lost by itself, some in part; what was lost and is below the file's new end is zeroes or garbage.
//! (3) Names are durable when their directory was synced. Of the changes since then any may be lost.
//! (4) A full disk takes what has room already: sectors that were written before. One that was skipped has none,
//!     though the file be longer.
//! (5) A sync that fails leaves its writes to be read, but forgets that they are to become durable, as Linux does: the
//!     next one says that all is well.

use core::mem;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};

use stdx::Rng;
use sync::{Arc, Latched};

use super::{Directory, File};

/// Bytes that are written at a time, mostly.
const SECTOR: usize = 512;

/// What goes wrong at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device fails: of a sync, with the writes lost.
    Fails,
    /// The device is full, from now on.
    Full,
    /// The call is interrupted before it has done anything.
    Interrupted,
    /// A write takes only a part of the bytes.
    Short,
    /// A write goes to another place of the file, and says that all is well.
    Misdirected,
}

/// Whether the disk answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It does.
    On,
    /// It does not, until it is started again.
    Off,
}

/// Several directories on one machine, whose power is cut at once.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Latched<State>>);

/// Where bytes have rotted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotten {
    /// The number of the directory.
    pub directory: usize,
    /// The file.
    pub file: String,
    /// The first byte concerned.
    pub offset: u64,
    /// Whether all that was behind it is gone.
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
    /// A file does not outlive the power.
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
    /// Writes that are not durable: offset and length, in order. Their bytes as of their time.
    pending: Vec<(usize, Vec<u8>)>,
    /// Sectors that have room on the disk.
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

    /// The power has gone: `keeps` says of each change whether it has come that far.
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
    /// Bytes from an offset on that have room.
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

    /// The power has gone. `kept` is the share of sectors that have come that far, in percent.
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
        // The length may be longer than what there is: then old bytes of the device show.
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

    /// A step begins: its fault, if it has one. When the power goes, a step may still have been taken.
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

    /// The step has been taken: whether the power has gone meanwhile.
    fn end(&mut self) -> Result<()> {
        if self.cut_at.is_some_and(|cut_at| self.steps >= cut_at) {
            self.is_off = true;
            return Err(Self::off());
        }
        Ok(())
    }

    /// Whether the power goes at this step before it has had any effect.
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
        // Few crashes keep a half of everything: mostly all or nothing is the interesting case.
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

    /// The directory of a number.
    pub fn directory(&self, number: usize) -> Arc<dyn Directory> {
        let mut state = self.0.lock();
        while state.directories.len() <= number {
            state.directories.push(Names::default());
        }
        Arc::new(SimulatedDirectory { disk: self.clone(), number })
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.0.lock().steps
    }

    /// Cuts the power at a step, counted from the beginning.
    pub fn cut_at(&self, step: u64) {
        self.0.lock().cut_at = Some(step);
    }

    /// Has something go wrong at a step.
    pub fn fault_at(&self, step: u64, fault: Fault) {
        self.0.lock().faults.push((step, fault));
    }

    /// Whether it answers.
    pub fn power(&self) -> Power {
        if self.0.lock().is_off { Power::Off } else { Power::On }
    }

    /// Cuts the power, if it is on, and gives it back: what was not durable has become what it may.
    pub fn restart(&self) {
        self.0.lock().restart();
    }

    /// The bytes of a file as whoever opens it finds them, if it is there.
    pub fn bytes(&self, directory: usize, file: &str) -> Option<Vec<u8>> {
        let state = self.0.lock();
        let inode = state.directories.get(directory)?.live.get(file)?;
        Some(state.inodes[*inode].live.clone())
    }

    /// Puts other bytes in place of those of a file, for good, as a tool may that somebody has mistaken for another.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn replace(&self, directory: usize, file: &str, bytes: Vec<u8>) {
        let mut state = self.0.lock();
        let inode = state.directories.get(directory).and_then(|names| names.live.get(file));
        let inode = *inode.expect("a file that is there");
        state.inodes[inode] = Inode { durable: bytes.clone(), live: bytes, ..Inode::default() };
    }

    /// Changes some of the bytes that are there, as a disk may that has aged: a bit, a sector that is zero, or that of
    /// another place or file, or a tail that is gone. What it was, if there is any file.
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
