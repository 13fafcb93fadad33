//! YCSB with transactions of several operations (Cooper et al., 2010), as in the laboratory: ten operations on one
//! table, half of them read-modify-writes, keys by Zipf's distribution.
//!
//! The words of a row are, as in the laboratory: 0 the version counter, to which an update adds 1; 1 the key, which
//! shows a row that was read under another's key; the rest columns. The sum of the counters equals the number of
//! committed updates.

use stdx::{Permutation, Rng, Zipf};

use crate::peer::{Body, Expected, Key, Session, Stop, Txn, read_keys};
use crate::tables::{TableId, USERTABLE_100, USERTABLE_1000};
use crate::work::{Client, Workload};

/// The purposes of streams of random numbers.
const STREAM_REQUESTS: u64 = 1;
const STREAM_ROWS: u64 = 2;
const STREAM_PLACES: u64 = 3;

/// The settings of the workload.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of rows.
    pub records: u64,
    /// The bytes of a row: 100, which are rounded up to 104, or 1,000.
    pub row_bytes: usize,
    /// The number of operations of a transaction, on different rows.
    pub ops: usize,
    /// Percentage of operations that are updates.
    pub update_pct: u64,
    /// Exponent of Zipf's distribution; 0 is uniform.
    pub theta: f64,
    /// The seed. The same seed makes the same requests.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { records: 100_000, row_bytes: 1_000, ops: 10, update_pct: 50, theta: 0.99, seed: 1 }
    }
}

/// The workload.
pub struct Ycsb {
    settings: Settings,
    table: TableId,
    zipf: Option<Zipf>,
    /// Maps ranks to keys, so that hot rows are not adjacent.
    places: Permutation,
}

impl Ycsb {
    /// Creates the workload with these settings.
    ///
    /// # Errors
    /// The invalid setting and its remedy, as text.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let Settings { records, row_bytes, ops, update_pct, theta, seed } = settings;
        let table = match row_bytes {
            100 => USERTABLE_100,
            1_000 => USERTABLE_1000,
            other => return Err(format!("`--row-bytes {other}`: take 100 or 1000")),
        };
        if ops == 0 || records < ops as u64 {
            return Err(format!(
                "{ops} operations on different rows of {records}: take `--ops` from 1 to `--records`"
            ));
        }
        if update_pct > 100 {
            return Err(format!("`--update-pct {update_pct}`: take a percentage, 0 to 100"));
        }
        if !(0.0..1.0).contains(&theta) {
            return Err(format!("`--theta {theta}`: take 0, which is uniform, to 0.999"));
        }
        let zipf = (theta > 0.0).then(|| Zipf::new(records, theta));
        let places = Permutation::new(records, Rng::from_path(&[seed, STREAM_PLACES]).next_u64());
        Ok(Self { settings, table, zipf, places })
    }
}

fn key(record: u64) -> Key {
    Key::new().u64(record)
}

fn word(row: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(row[at * 8..at * 8 + 8].try_into().expect("eight bytes are a word"))
}

impl Workload for Ycsb {
    type Client = Requests;

    fn tables(&self) -> Vec<Expected> {
        vec![Expected { table: self.table, rows: self.settings.records as usize }]
    }

    fn rows(&self, give: &mut dyn FnMut(TableId, Key, Vec<u8>) -> Result<(), String>) -> Result<(), String> {
        let words = self.table.table().value_bytes / 8;
        for record in 0..self.settings.records {
            let mut rng = Rng::from_path(&[self.settings.seed, STREAM_ROWS, record]);
            let columns = (2..words).map(|_| rng.next_u64());
            let row = [0, record].into_iter().chain(columns).flat_map(u64::to_le_bytes).collect();
            give(self.table, key(record), row)?;
        }
        Ok(())
    }

    fn client(&self, number: u32) -> Requests {
        Requests {
            table: self.table,
            settings: self.settings,
            zipf: self.zipf.clone(),
            places: self.places.clone(),
            rng: Rng::from_path(&[self.settings.seed, STREAM_REQUESTS, u64::from(number)]),
            ops: Vec::with_capacity(self.settings.ops),
            updates: 0,
            digest: 0,
        }
    }

    fn check(&self, session: &mut impl Session, clients: &[Requests]) -> Result<(), String> {
        let (mut counted, mut wrong) = (0, 0_u64);
        read_keys(session, self.table, (0..self.settings.records).map(key), &mut |at, row| match row {
            Some(row) if key(word(row, 1))[..] == *at => counted += word(row, 0),
            _ => wrong += 1,
        })?;
        let updates: u64 = clients.iter().map(|client| client.updates).sum();
        if wrong > 0 || counted != updates {
            return Err(format!("{updates} updates committed, {counted} are there; {wrong} rows are wrong"));
        }
        Ok(())
    }
}

/// An operation.
#[derive(Clone, Copy, Debug)]
struct Op {
    record: u64,
    is_update: bool,
    column: usize,
    value: u64,
}

/// A client, which draws requests.
pub struct Requests {
    table: TableId,
    settings: Settings,
    zipf: Option<Zipf>,
    places: Permutation,
    rng: Rng,
    ops: Vec<Op>,
    updates: u64,
    /// A sum of all columns read. It prevents the compiler from removing the reads.
    digest: u64,
}

impl Client for Requests {
    fn draw(&mut self) {
        self.ops.clear();
        let words = self.table.table().value_bytes / 8;
        while self.ops.len() < self.settings.ops {
            let rank = match &self.zipf {
                Some(zipf) => zipf.rank(&mut self.rng),
                None => self.rng.below(self.settings.records),
            };
            let record = self.places.apply(rank);
            if self.ops.iter().any(|op| op.record == record) {
                continue;
            }
            self.ops.push(Op {
                record,
                is_update: self.rng.below(100) < self.settings.update_pct,
                column: self.rng.between(2, words as u64 - 1) as usize,
                value: self.rng.next_u64(),
            });
        }
    }

    fn committed(&mut self) {
        self.updates += self.ops.iter().filter(|op| op.is_update).count() as u64;
    }
}

impl Body for Requests {
    fn is_read_only(&self) -> bool {
        self.ops.iter().all(|op| !op.is_update)
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        let mut digest = 0;
        let mut look = |row: &[u8]| {
            let (words, _) = row.as_chunks();
            digest = words.iter().fold(digest, |digest, word| digest ^ u64::from_le_bytes(*word));
        };
        txn.expect(self.table, self.ops.iter().map(|op| key(op.record)));
        for op in &self.ops {
            let key = key(op.record);
            let is_there = if op.is_update {
                txn.update(self.table, &key, |row| {
                    look(row);
                    let counter = word(row, 0).wrapping_add(1);
                    row[..8].copy_from_slice(&counter.to_le_bytes());
                    row[op.column * 8..op.column * 8 + 8].copy_from_slice(&op.value.to_le_bytes());
                })
            } else {
                txn.get(self.table, &key, &mut look)
            };
            if !is_there? {
                return Err(Stop::Missing("a record"));
            }
        }
        self.digest ^= std::hint::black_box(digest);
        Ok(())
    }
}
