//! Files of a log: one file is replaced or damaged, and the database is opened and recovered.
//!
//! A small database is written: a checkpoint in two parts and a log after it, in several segments. The first byte of
//! an input selects if the log is closed or ends without being closed, the damage to the file, and if checksums are
//! verified. The second byte selects the file among the files of its kind. Two more bytes are a place in the file.
//! The kinds of damage are:
//!
//! 0. the file is the rest of the input;
//! 1. the rest of the input is pieces that overwrite the file: a place of two bytes, a length of one, the bytes;
//! 2. one byte of the file is changed;
//! 3. the file ends at the place.
//!
//! Claims: nothing panics, and nothing is refused for another reason than the bytes. If checksums are verified: after
//! 2, the restored rows are those that the commits up to some epoch have left; for a log that was closed, all
//! commits. After 2, no epoch is missing that was durable when a later write was made. After 3, nothing is restored:
//! a truncated file is refused. (After 0 and 1 the file may be valid: the fuzzer finds checksums.)

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};

use durability::disk::{Directory, File};
use durability::{Layouts, LogPlant, OpenError, Options, Order, Store, TableLayout};
use engine::{AnyKey, TableId};
use sync::{Arc, Latched};

use crate::bytes::Bytes;

/// Reads an input as a replacement of a segment.
///
/// # Panics
/// When a claim fails.
pub fn segment(input: &[u8]) {
    judge("log-", input);
}

/// Reads an input as a replacement of a part of a checkpoint.
///
/// # Panics
/// When a claim fails.
pub fn part(input: &[u8]) {
    judge("checkpoint-", input);
}

/// Reads an input as a replacement of a manifest.
///
/// # Panics
/// When a claim fails.
pub fn manifest(input: &[u8]) {
    judge("MANIFEST", input);
}

/// A file in memory.
#[derive(Debug, Default)]
struct LockedDirectories(Latched<Vec<u8>>);

impl File for LockedDirectories {
    fn bytes(&self) -> Result<u64> {
        Ok(self.0.lock().len() as u64)
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize> {
        let bytes = self.0.lock();
        let from = bytes.get(offset as usize..).unwrap_or_default();
        let count = from.len().min(to.len());
        to[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, from: &[u8]) -> Result<usize> {
        let (mut bytes, end) = (self.0.lock(), offset as usize + from.len());
        let len = bytes.len().max(end);
        bytes.resize(len, 0);
        bytes[offset as usize..end].copy_from_slice(from);
        Ok(from.len())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// A directory in memory.
#[derive(Debug, Default)]
struct Folder(Latched<BTreeMap<String, Arc<LockedDirectories>>>);

impl Folder {
    fn take(&self, file: &str) -> Result<Arc<LockedDirectories>> {
        self.0.lock().remove(file).ok_or_else(|| Error::from(ErrorKind::NotFound))
    }
}

impl Directory for Folder {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn files(&self) -> Result<Vec<String>> {
        Ok(self.0.lock().keys().cloned().collect())
    }

    fn create(&self, file: &str) -> Result<Arc<dyn File>> {
        let made = Arc::new(LockedDirectories::default());
        self.0.lock().insert(file.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    fn open(&self, file: &str) -> Result<Arc<dyn File>> {
        let found = self.0.lock().get(file).cloned();
        Ok(found.ok_or_else(|| Error::from(ErrorKind::NotFound))?)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let file = self.take(from)?;
        self.0.lock().insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, file: &str) -> Result<()> {
        self.take(file).map(drop)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// Rows by table and key. The rows of the heap have the key and their words in place of a key.
type Rows = BTreeMap<(u16, Vec<u64>), Vec<u64>>;

/// The files of a database, with its expected contents.
struct Written {
    files: BTreeMap<String, Vec<u8>>,
    /// The rows that the commits up to each epoch have left.
    states: BTreeMap<u64, Rows>,
    /// The last epoch that was known to be durable when a later write was made.
    confirmed: u64,
    is_closed: bool,
}

/// The index of the heap among the tables.
const HEAP: u16 = 2;

fn layouts() -> Layouts {
    let table = |name: &str, is_heap, key_words, groups: &[u32]| TableLayout {
        name: name.to_owned(),
        is_heap,
        key_words,
        groups: groups.to_vec(),
    };
    Layouts(vec![
        table("plain", false, 1, &[2]),
        table("grouped", false, 2, &[1, 2]),
        table("heap", true, 1, &[2]),
        table("wide", false, 6, &[40]),
    ])
}

fn options(plant: Option<LogPlant>) -> Options {
    let (order, database) = (Order::Counter, 77);
    Options {
        sessions: 1,
        order,
        ring_bytes: 0,
        segment_bytes: 12 << 10,
        parts: 2,
        database,
        plant,
        ..Options::default()
    }
}

impl Written {
    /// Writes a database: commits for some epochs, with a checkpoint after some of them.
    fn new(is_closed: bool) -> Self {
        let folder = Arc::new(Folder::default());
        let home: Arc<dyn Directory> = Arc::<Folder>::clone(&folder);
        let found = Store::open(vec![home], &layouts(), options(None)).expect("it is empty");
        let mut rounds = found.start().expect("memory works");
        let log = rounds.log();
        let mut sink = log.plain_sink();
        let (mut states, mut rows, mut confirmed) = (BTreeMap::new(), Rows::new(), 0);
        states.insert(0, rows.clone());
        for round in 0..12_u64 {
            sink.open();
            for number in 0..3 {
                let (table, key) = [
                    (0, AnyKey::One(round % 5)),
                    (1, AnyKey::Two(u128::from(round % 3) << 64 | u128::from(number))),
                    (HEAP, AnyKey::One(round)),
                    (3, AnyKey::Six([round, 0, 0, 0, 0, number])),
                ][(round + number) as usize % 4];
                let width = [2, 3, 2, 40][usize::from(table)];
                let row: Vec<u64> = (0..width).map(|word| round * 100 + word).collect();
                let words = match key {
                    AnyKey::One(key) if table == HEAP => vec![key, row[0], row[1]],
                    AnyKey::One(key) => vec![key],
                    AnyKey::Two(key) => vec![(key >> 64) as u64, key as u64],
                    AnyKey::Six(key) => key.to_vec(),
                };
                if table == 0 && round > 6 {
                    sink.write(TableId(table), None, key, None);
                    rows.remove(&(table, words));
                } else {
                    sink.write(TableId(table), None, key, Some(&row));
                    rows.insert((table, words), row);
                }
            }
            sink.close();
            let epoch = rounds.end_epoch();
            confirmed = states.keys().next_back().copied().unwrap_or_default();
            states.insert(epoch, rows.clone());
            rounds.write(epoch).expect("memory works");
            if round == 4 {
                let cut = rounds.roll().expect("memory works");
                log.glean(&cut, 1).expect("memory works");
            }
        }
        drop(sink);
        if is_closed {
            rounds.close().expect("memory works");
        }
        let files =
            folder.0.lock().iter().map(|(name, file)| (name.clone(), file.0.lock().clone())).collect();
        Self { files, states, confirmed, is_closed }
    }

    /// Recovers the database with other bytes in place of a file. Returns the epoch and the rows.
    fn recover(
        &self,
        name: &str,
        bytes: Vec<u8>,
        plant: Option<LogPlant>,
    ) -> core::result::Result<(u64, Rows), OpenError> {
        let mut files: BTreeMap<String, Arc<LockedDirectories>> = self
            .files
            .iter()
            .map(|(name, bytes)| (name.clone(), Arc::new(LockedDirectories(Latched::new(bytes.clone())))))
            .collect();
        files.insert(name.to_owned(), Arc::new(LockedDirectories(Latched::new(bytes))));
        let home: Arc<dyn Directory> = Arc::new(Folder(Latched::new(files)));
        let found = Store::open(vec![home], &layouts(), options(plant))?;
        let rows = Latched::new(Rows::new());
        let put = |table: TableId, key: AnyKey, row: &[u64]| {
            let key = match key {
                AnyKey::One(key) if table.0 == HEAP => vec![key, row[0], row[1]],
                AnyKey::One(key) => vec![key],
                AnyKey::Two(key) => vec![(key >> 64) as u64, key as u64],
                AnyKey::Six(key) => key.to_vec(),
            };
            rows.lock().insert((table.0, key), row.to_vec());
        };
        found.restore(1, |_| put)?;
        Ok((found.epoch(), rows.into_inner()))
    }
}

/// Reads an input as a replacement of a file whose name begins with `kind`, and checks the claims.
fn judge(kind: &str, input: &[u8]) {
    let mut input = Bytes(input);
    let how = input.next();
    let written = Written::new(how & 1 == 1);
    let names: Vec<_> = written.files.keys().filter(|name| name.starts_with(kind)).collect();
    let name = names[usize::from(input.next()) % names.len()];
    let (plant, how) = ((how & 8 == 8).then_some(LogPlant::IgnoresChecksums), how >> 1 & 3);
    let place = usize::from(input.next_u16());
    let mut bytes = written.files[name].clone();
    match how {
        0 => bytes = input.0.to_vec(),
        1 => {
            while !input.are_over() {
                let (place, count) = (usize::from(input.next_u16()) % bytes.len(), input.next());
                for byte in bytes[place..].iter_mut().take(usize::from(count)) {
                    *byte = input.next();
                }
            }
        }
        2 => {
            let place = place % bytes.len();
            bytes[place] ^= input.next().max(1);
        }
        _ => bytes.truncate(place % bytes.len()),
    }
    match written.recover(name, bytes, plant) {
        Err(error @ OpenError::Io { .. }) => panic!("{error}"),
        Err(error) => assert!(error.to_string().len() > 10, "a refusal is a sentence: {error}"),
        Ok((epoch, _)) if how == 3 && plant.is_none() => {
            panic!("{name}: was cut off and believed up to {epoch}")
        }
        Ok((epoch, rows)) if how == 2 && plant.is_none() => {
            let (_, expected) = written.states.range(..=epoch).next_back().expect("there is one of epoch 0");
            assert!(rows == *expected, "{name}: {rows:?} up to {epoch}, instead of {expected:?}");
            let last = written.states.keys().next_back().copied().unwrap_or_default();
            let least = if written.is_closed { last } else { written.confirmed };
            assert!(epoch >= least, "{name}: what was durable up to {least} is there up to {epoch}");
        }
        Ok(_) => {}
    }
}
