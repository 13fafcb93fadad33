//! Requirements for every store, at its stated isolation: both workloads pass their checks, and transfers
//! conserve money.

use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use peers::peer::{Body, Durability, Expected, Key, Peer, Place, Session, Stop, Txn, read_keys};
use peers::peers::{Visit, with};
use peers::tables::{ACCOUNT, TableId};
use peers::work::{Client, Length, Outcome, Workload, load, run};
use peers::{tpcc, ycsb};
use stdx::Rng;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed); // Relaxed: distinct is all that it is.
        let path = std::env::temp_dir().join(format!("contend-peers-test-{}-{number}", process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Visits a store and runs a workload on it.
struct Run<'w, W> {
    work: &'w W,
    durability: Durability,
    requests: u64,
}

impl<W: Workload> Visit for Run<'_, W> {
    type Out = Option<Outcome>;

    fn visit<P: Peer>(self) -> Option<Outcome> {
        P::gives(self.durability).ok()?;
        let folder = Folder::new();
        let place = Place { dir: folder.0.clone(), postgres: std::env::var("CONTEND_PEERS_POSTGRES").ok() };
        if P::NAME == "postgres" && place.postgres.is_none() {
            return None;
        }
        let peer = P::open(&place, self.durability, &self.work.tables()).expect("it opens");
        Some(run(&peer, self.work, 2, Length::Requests(self.requests)).expect("it runs and passes its check"))
    }
}

/// Runs a workload on a store at every durability that the store gives.
fn at_all_durabilities<W: Workload>(name: &str, work: impl Fn() -> W, requests: u64) {
    let mut are_some = false;
    for durability in Durability::ALL {
        // Fewer requests with syncs: each sync takes milliseconds.
        let requests = if durability == Durability::Group { requests / 10 } else { requests };
        let outcome = with(name, Run { work: &work(), durability, requests }).expect("it is in this build");
        if let Some(outcome) = outcome {
            assert_eq!(outcome.completed, 2 * requests, "{name}");
            are_some = true;
        }
    }
    assert!(are_some || name == "postgres", "{name} has no durability");
}

fn all(name: &str) {
    let small = tpcc::Settings { warehouses: 2, items: 200, customers: 60, clients: 2, seed: 3 };
    at_all_durabilities(name, || tpcc::Tpcc::new(small).expect("legal"), 300);
    let hot = ycsb::Settings { records: 50, row_bytes: 100, ..ycsb::Settings::default() };
    at_all_durabilities(name, || ycsb::Ycsb::new(hot).expect("legal"), 300);
    at_all_durabilities(name, || Bank { accounts: 5 }, 300);
}

macro_rules! peers {
    ($($(#[$attribute:meta])* $test:ident $name:literal;)+) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $test() {
                all($name);
            }
        )+
    };
}

peers! {
    contend_runs_all_and_conserves_money "contend";
    lmdb_runs_all_and_conserves_money "lmdb";
    redb_runs_all_and_conserves_money "redb";
    fjall_runs_all_and_conserves_money "fjall";
    sqlite_in_memory_runs_all_and_conserves_money "sqlite-memory";
    sqlite_with_a_log_runs_all_and_conserves_money "sqlite-wal";
    #[cfg(feature = "rocksdb")]
    rocksdb_optimistic_runs_all_and_conserves_money "rocksdb-optimistic";
    #[cfg(feature = "rocksdb")]
    rocksdb_pessimistic_runs_all_and_conserves_money "rocksdb-pessimistic";
    // Without the variable `CONTEND_PEERS_POSTGRES` there is no server, and nothing runs.
    postgres_runs_all_and_conserves_money "postgres";
}

#[test]
fn a_name_that_is_none_is_refused_with_those_that_are() {
    struct Nothing;
    impl Visit for Nothing {
        type Out = ();
        fn visit<P: Peer>(self) {}
    }
    let says = with("leveldb", Nothing).unwrap_err();
    assert!(says.contains("lmdb"), "{says}");
}

/// A workload whose clients count requests as committed that nobody executed. Its check must fail.
struct Lossy<W>(W);

impl<W: Workload> Visit for Lossy<W> {
    type Out = Result<(), String>;

    fn visit<P: Peer>(self) -> Self::Out {
        let folder = Folder::new();
        let place = Place { dir: folder.0.clone(), postgres: None };
        let peer = P::open(&place, Durability::None, &self.0.tables()).expect("it opens");
        load(&peer, &self.0).expect("it loads");
        let mut session = peer.session().expect("it gives sessions");
        self.0.check(&mut session, &[]).expect("what was loaded is right");
        let mut client = self.0.client(0);
        // 20 requests contain at least one that writes.
        for _ in 0..20 {
            client.draw();
            client.committed();
        }
        self.0.check(&mut session, &[client])
    }
}

#[test]
fn checks_find_what_is_lost() {
    let hot = ycsb::Settings { records: 50, ..ycsb::Settings::default() };
    let says = with("contend", Lossy(ycsb::Ycsb::new(hot).expect("legal"))).expect("it is in every build");
    assert!(says.unwrap_err().contains("updates committed"));
    let small = tpcc::Settings { items: 200, customers: 60, ..tpcc::Settings::default() };
    let says = with("contend", Lossy(tpcc::Tpcc::new(small).expect("legal"))).expect("it is in every build");
    assert!(says.unwrap_err().contains("W_YTD grew by what was paid"));
}

/// The initial balance of every account.
const FIRST: u64 = 1_000;

/// A workload of transfers between accounts.
struct Bank {
    accounts: u64,
}

/// A client that sends transfers and, from time to time, sums all accounts. The sum must be the total.
struct Teller {
    accounts: u64,
    rng: Rng,
    is_audit: bool,
    from: u64,
    to: u64,
    amount: u64,
    sum: u64,
}

impl Workload for Bank {
    type Client = Teller;

    fn tables(&self) -> Vec<Expected> {
        vec![Expected { table: ACCOUNT, rows: self.accounts as usize }]
    }

    fn rows(&self, give: &mut dyn FnMut(TableId, Key, Vec<u8>) -> Result<(), String>) -> Result<(), String> {
        (0..self.accounts).try_for_each(|id| give(ACCOUNT, Key::new().u64(id), FIRST.to_le_bytes().to_vec()))
    }

    fn client(&self, number: u32) -> Teller {
        let rng = Rng::from_path(&[7, u64::from(number)]);
        Teller { accounts: self.accounts, rng, is_audit: false, from: 0, to: 0, amount: 0, sum: 0 }
    }

    fn check(&self, session: &mut impl Session, _: &[Teller]) -> Result<(), String> {
        let mut sum = 0;
        read_keys(session, ACCOUNT, (0..self.accounts).map(|id| Key::new().u64(id)), &mut |_, row| {
            sum += balance(row.expect("no account is closed"));
        })?;
        if sum == self.accounts * FIRST { Ok(()) } else { Err(format!("{sum} is all money")) }
    }
}

fn balance(row: &[u8]) -> u64 {
    u64::from_le_bytes(row.try_into().expect("a balance has eight bytes"))
}

impl Client for Teller {
    fn draw(&mut self) {
        self.is_audit = self.rng.below(10) == 0;
        self.from = self.rng.below(self.accounts);
        self.to = (self.from + 1 + self.rng.below(self.accounts - 1)) % self.accounts;
        self.amount = self.rng.between(1, 300);
    }

    fn committed(&mut self) {
        assert!(!self.is_audit || self.sum == self.accounts * FIRST, "an audit saw {}", self.sum);
    }
}

impl Body for Teller {
    fn is_read_only(&self) -> bool {
        self.is_audit
    }

    fn run(&mut self, txn: &mut impl Txn) -> Result<(), Stop> {
        if self.is_audit {
            self.sum = 0;
            for id in 0..self.accounts {
                txn.get(ACCOUNT, &Key::new().u64(id), |row| self.sum += balance(row))?;
            }
            return Ok(());
        }
        // The balance is read before the update, so that a store that does not isolate reads loses updates.
        let mut left = 0;
        txn.get(ACCOUNT, &Key::new().u64(self.from), |row| left = balance(row))?;
        if left < self.amount {
            return Err(Stop::Rollback);
        }
        let amount = self.amount;
        let mut add = |id: u64, amount: i64| {
            txn.update(ACCOUNT, &Key::new().u64(id), |row| {
                let left = balance(row).wrapping_add_signed(amount);
                row.copy_from_slice(&left.to_le_bytes());
            })
        };
        add(self.from, -(amount as i64))?;
        add(self.to, amount as i64)?;
        Ok(())
    }
}
