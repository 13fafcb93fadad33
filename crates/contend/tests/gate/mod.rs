//! A simulated device whose syncs a test can block, or let fail.

use std::io;

use durability::disk::{Directory, File, SimulatedDisk};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Arc, waiter};

/// The states of a gate: a sync passes, waits, or fails.
pub(crate) const OPEN: u64 = 0;
pub(crate) const SHUT: u64 = 1;
pub(crate) const BROKEN: u64 = 2;

/// A gate before the syncs of files: its state, and the number of syncs that wait.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<[AtomicU64; 2]>);

#[derive(Debug)]
struct GatedDirectory {
    inner: Arc<dyn Directory>,
    gate: Gate,
}

#[derive(Debug)]
struct GatedFile {
    inner: Arc<dyn File>,
    gate: Gate,
}

impl Gate {
    pub(crate) fn new() -> (Self, Arc<dyn Directory>) {
        let gate = Self(Arc::default());
        let inner = SimulatedDisk::new(1).directory(0);
        (gate.clone(), Arc::new(GatedDirectory { inner, gate }))
    }

    pub(crate) fn set(&self, state: u64) {
        self.0[0].store(state, Ordering::Relaxed); // Relaxed: nothing else is looked at.
    }

    fn state(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed) // Relaxed: as above.
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.0[1].load(Ordering::Relaxed) > 0 // Relaxed: as above.
    }

    fn file(&self, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(GatedFile { inner, gate: self.clone() })
    }
}

impl Directory for GatedDirectory {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn files(&self) -> io::Result<Vec<String>> {
        self.inner.files()
    }

    fn create(&self, file: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.gate.file(self.inner.create(file)?))
    }

    fn open(&self, file: &str) -> io::Result<Arc<dyn File>> {
        Ok(self.gate.file(self.inner.open(file)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, file: &str) -> io::Result<()> {
        self.inner.remove(file)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

impl File for GatedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<usize> {
        self.inner.read_at(offset, to)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> io::Result<usize> {
        self.inner.write_at(offset, from)
    }

    fn sync(&self) -> io::Result<()> {
        let awaited = &self.gate.0[1];
        awaited.fetch_add(1, Ordering::Relaxed); // Relaxed, here and below: as in the gate.
        waiter::wait_until(None, || self.gate.state() != SHUT);
        awaited.fetch_sub(1, Ordering::Relaxed);
        if self.gate.state() == BROKEN { Err(io::Error::other("planted")) } else { self.inner.sync() }
    }
}
