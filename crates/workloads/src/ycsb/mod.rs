//! YCSB: one table of key and value, read and written by key (Cooper et al., 2010), with the suite's workloads A
//! to F and with transactions of several operations, as in studies of schemes.
//!
//! TABLE        `usertable`, one column group; a hash index, or an ordered index if there are scans.
//! OPERATIONS   A read looks at all columns; an update overwrites one 8-byte column and adds 1 to the row's
//!              version counter, or overwrites the row blindly; an insert adds a whole row; a scan reads up to
//!              100 rows in key order.
//! CHECKS       The suite has none. Here each row has a version counter. In each of 64 parts of the table, the
//!              sum of the counters equals the number of committed read-modify-writes. A row carries its key, so
//!              that a read of another key's row is detected. A blind write marks every column, so that a mixture
//!              of two writes is detected. Scans are ordered and complete. Rows are those loaded and inserted.
//! DEPARTURES   (1) New keys are dealt to clients in advance: a client's n-th insert has a key of its own, so
//!              that inputs do not depend on the schedule. (2) Hence "latest" means the latest records for this
//!              client: its own inserts, the newest first, then the loaded records. The suite's clients see all
//!              inserts. (3) Inserts are dealt, one to each twenty operations of a client, instead of being drawn
//!              with 5%, for the same reason. (4) Zipf's distribution is over the loaded records, by a
//!              permutation without collisions if hot records are scattered; the suite hashes ranks of a larger
//!              population onto the records, which flattens the head of the distribution. (5) Updates are
//!              read-modify-writes unless `ycsb.write=blind`: without a read no lost update can be detected, and
//!              transactional studies do the same.

mod forecast;
mod input;
mod keys;
mod settings;

use core::marker::PhantomData;
use core::ops::ControlFlow;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, InputFootprint, Loader, Lookup, Quiesced, Schema,
    Share, Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::clock;

use input::{Generator, Kind, Op};
use keys::{Places, fill, is_at, is_whole, overwrite, row_of};
use settings::{SETTINGS, Settings};

/// Instructions of an operation: its draw, its calls, and for each word of its row.
const OP_INSTRUCTIONS: u64 = 300;
const WORD_INSTRUCTIONS: u64 = 2;

pub use input::Input;
pub use keys::{LongKey, RecordKey, ShortKey};

/// The number of parts in which the table is checked. The top bits of a record's place select the part.
const PARTS: usize = 64;

/// YCSB over keys of one width.
#[derive(Debug)]
pub struct Ycsb<K: RecordKey> {
    settings: Settings,
    drive: Drive,
    places: Places,
    generator: Generator,
    table: Table<K::Row>,
    key: PhantomData<K>,
}

/// The result of a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output {
    /// The sum of all columns that were read. It prevents the compiler from removing the reads.
    digest: u64,
    /// The number of rows under another's key, of inserts of an existing key, and of scans that were out of order
    /// or incomplete.
    wrong: u32,
    /// The number of loaded records that were not found.
    missing: u32,
}

/// A worker's counts of its commits.
#[derive(Debug)]
pub struct Ledger {
    writes: [u64; PARTS],
    inserts: u64,
    wrong: u64,
    missing: u64,
    digest: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { writes: [0; PARTS], inserts: 0, wrong: 0, missing: 0, digest: 0 }
    }
}

/// Returns the part of the table to which a place belongs.
fn part_of(place: u64) -> usize {
    (place >> (u64::BITS - PARTS.ilog2())) as usize
}

impl<K: RecordKey> Ycsb<K> {
    /// Prefetches the rows of all operations at once: their keys are known before the first access.
    fn prefetch(&self, ops: &[Op], txn: &mut impl Transaction) {
        let present =
            ops.iter().filter(|op| matches!(op.kind, Kind::Read | Kind::Update | Kind::ReadModifyWrite));
        txn.prefetch(self.table, present.map(|op| K::of(op.place)));
    }

    fn read(&self, op: Op, output: &mut Output, txn: &mut impl Transaction) -> Result<(), Abort> {
        let seen = txn.read(self.table, K::of(op.place), |row| look(row.as_ref(), op.place))?;
        match seen {
            Some((digest, is_right)) => output.saw(digest, is_right),
            // A client's own insert is missing if the client gave up the request.
            None => output.missing += u32::from(self.places.is_loaded(op.place)),
        }
        Ok(())
    }

    fn modify(
        &self,
        op: Op,
        stamp: u64,
        output: &mut Output,
        txn: &mut impl Transaction,
    ) -> Result<(), Abort> {
        let seen = txn.update(self.table, K::of(op.place), |row| {
            let words = row.as_mut();
            let seen = look(words, op.place);
            words[0] = words[0].wrapping_add(1);
            if op.detail != 0 {
                words[usize::from(op.detail)] = stamp ^ op.place;
            }
            seen
        })?;
        match seen {
            Some((digest, is_right)) => output.saw(digest, is_right),
            None => output.missing += 1,
        }
        Ok(())
    }

    fn replace(
        &self,
        op: Op,
        stamp: u64,
        words: &mut [u64],
        output: &mut Output,
        txn: &mut impl Transaction,
    ) -> Result<(), Abort> {
        overwrite(words, stamp, op.place);
        let was_there = txn.replace(self.table, K::of(op.place), row_of::<K::Row>(words))?;
        output.missing += u32::from(!was_there);
        Ok(())
    }

    fn insert(
        &self,
        op: Op,
        words: &mut [u64],
        output: &mut Output,
        txn: &mut impl Transaction,
    ) -> Result<(), Abort> {
        fill(words, self.drive.seed, op.place);
        let is_new = txn.insert(self.table, K::of(op.place), row_of::<K::Row>(words))?;
        output.wrong += u32::from(!is_new);
        Ok(())
    }

    /// Reads `count` rows from a record on. The range ends where `count` loaded records end, so that the homes
    /// that it touches are known in advance. Inserted rows only make the scan end earlier.
    fn scan(&self, op: Op, output: &mut Output, txn: &mut impl Transaction) -> Result<(), Abort> {
        let count = u64::from(op.detail);
        let keys = K::of(op.place)..=K::of(self.places.end_of_scan(op.place, count));
        let mut seen = 0;
        let mut next = op.place;
        let (mut is_ordered, may_miss_first) = (true, !self.places.is_loaded(op.place));
        txn.scan(self.table, keys, Direction::Forward, |key, row: &K::Row| {
            let place = key.place();
            let (digest, is_right) = look(row.as_ref(), place);
            output.saw(digest, is_right);
            is_ordered &= place >= next && (seen > 0 || may_miss_first || place == op.place);
            next = place.saturating_add(1);
            seen += 1;
            if seen < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let is_complete = (self.places.available(op.place, count)..=count).contains(&seen);
        output.wrong += u32::from(!(is_ordered && is_complete));
        Ok(())
    }

    /// Checks a share, against the commits if they are known.
    fn check_share(
        &self,
        view: &impl Quiesced,
        share: Share,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        for part in share.of_range(PARTS as u64) {
            self.check_part(part as usize, view, ledgers)?;
        }
        if share.index == 0 { self.check_whole(view, ledgers) } else { Ok(()) }
    }

    /// Checks the loaded records of one part against the commits counted for it.
    fn check_part(
        &self,
        part: usize,
        view: &impl Quiesced,
        ledgers: Option<&[Ledger]>,
    ) -> Result<(), Violation> {
        let mut versions = 0_u64;
        for position in self.places.positions(part as u64, PARTS as u64) {
            let place = self.places.at(position);
            let found = view.read(self.table, K::of(place), |row| {
                let words = row.as_ref();
                let is_intact = is_at(words, place) && (!self.settings.is_blind || is_whole(words));
                (words[0], is_intact)
            });
            let Some((version, is_intact)) = found else {
                return violation("loaded records stay", format!("record {position} is gone"));
            };
            if !is_intact {
                let found = format!("record {position} carries another key, or columns of several writes");
                return violation("a row is the value of one write of its key", found);
            }
            let written = u64::from(version != 0);
            versions = versions.wrapping_add(if self.settings.is_blind { written } else { version });
        }
        let Some(ledgers) = ledgers else { return Ok(()) };
        let writes = ledgers.iter().fold(0_u64, |sum, ledger| sum.wrapping_add(ledger.writes[part]));
        let agrees = if self.settings.is_blind { versions <= writes } else { versions == writes };
        if agrees {
            return Ok(());
        }
        let found = format!("part {part} of {PARTS} shows {versions} writes, but {writes} were committed");
        violation("version counters equal committed writes", found)
    }

    /// Checks the conditions of the whole table: the number of rows, their order, and the results of
    /// transactions.
    fn check_whole(&self, view: &impl Quiesced, ledgers: Option<&[Ledger]>) -> Result<(), Violation> {
        let (mut rows, mut misplaced, mut next) = (0_u64, 0_u64, 0);
        let is_ordered = self.settings.lookup() == Lookup::Ordered;
        let mut count = |key: K, row: &K::Row| {
            rows += 1;
            misplaced += u64::from(!is_at(row.as_ref(), key.place()) || is_ordered && key.place() < next);
            next = key.place() + 1;
        };
        if is_ordered {
            view.scan(self.table, .., |key, row| {
                count(key, row);
                ControlFlow::Continue(())
            });
        } else {
            view.rows(self.table, Share::WHOLE, count);
        }
        let sum = |of: fn(&Ledger) -> u64| ledgers.unwrap_or_default().iter().map(of).sum::<u64>();
        let expected = self.settings.records + sum(|ledger| ledger.inserts);
        let is_expected = if ledgers.is_some() { rows == expected } else { rows >= expected };
        if !is_expected {
            let found = format!("{rows} rows, but {expected} were loaded or inserted");
            return violation("rows equal loaded and inserted records", found);
        }
        for (condition, count) in [
            ("rows lie under their keys, in order", misplaced),
            ("transactions see rows under their keys and whole scans", sum(|ledger| ledger.wrong)),
            ("transactions find every loaded record", sum(|ledger| ledger.missing)),
        ] {
            if count > 0 {
                return violation(condition, format!("violated {count} times"));
            }
        }
        Ok(())
    }
}

impl Output {
    fn saw(&mut self, digest: u64, is_right: bool) {
        self.digest = self.digest.wrapping_add(digest);
        self.wrong += u32::from(!is_right);
    }
}

/// Reads all columns. Returns their sum, and `true` if the row lies under its key.
#[inline]
fn look(words: &[u64], place: u64) -> (u64, bool) {
    clock::compute(WORD_INSTRUCTIONS * words.len() as u64);
    (words.iter().fold(0, |sum, &word| sum.wrapping_add(word)), is_at(words, place))
}

fn violation(condition: &'static str, found: String) -> Result<(), Violation> {
    Err(Violation { condition, found })
}

impl<K: RecordKey> Workload for Ycsb<K> {
    const NAME: &'static str = "ycsb";
    const TYPES: &'static [TxnType] = &[
        TxnType { name: "read", read_only: true },
        TxnType { name: "update", read_only: false },
        TxnType { name: "read_modify_write", read_only: false },
        TxnType { name: "insert", read_only: false },
        TxnType { name: "scan", read_only: true },
        TxnType { name: "mixed", read_only: false },
    ];
    const SETTINGS: &'static [Setting] = SETTINGS;
    type Input = Input;
    type Scratch = Vec<u64>;
    type Output = Output;
    type Ledger = Ledger;

    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let settings = Settings::new(values)?;
        assert_eq!(settings.key_bytes, K::BYTES, "the width of keys chooses the type");
        let places =
            Places::new(settings.records, u64::from(drive.clients), drive.seed, settings.is_scattered);
        let generator = Generator::new(settings.clone(), drive.seed);
        schema.set_homes(keys::HOMES as usize);
        let lookup = settings.lookup();
        // Inserts are a twentieth of the operations. A quarter more rows is room for five operations a record.
        let room = if settings.mix.inserts { settings.records / 4 } else { 0 };
        let table = schema
            .table::<K>("usertable", lookup, (settings.records + room) as usize)
            .group_of_words::<K::Row>(settings.words);
        Ok(Self { settings, drive, places, generator, table, key: PhantomData })
    }

    fn forecast(&self) -> Forecast {
        forecast::of(&self.settings, &self.generator, self.drive)
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        let mut words = vec![0; self.settings.words];
        for position in share.of_range(self.settings.records) {
            let place = self.places.at(position);
            fill(&mut words, self.drive.seed, place);
            loader.insert(self.table, K::of(place), row_of::<K::Row>(&words));
        }
    }

    fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
        self.generator.generate(&self.places, client, sequence, rng)
    }

    fn kind(&self, input: &Input) -> usize {
        input.kind()
    }

    fn homes(&self, input: &Input) -> Homes {
        input.homes(&self.places)
    }

    /// Of a scan, the first row only.
    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        for op in input.ops() {
            match op.kind {
                Kind::Insert => footprint.insert(self.table, K::of(op.place)),
                kind => footprint.access(self.table, K::of(op.place), kind.writes()),
            }
        }
        if input.ops().iter().all(|op| op.kind != Kind::Scan) {
            footprint.complete();
        }
    }

    fn execute<T: Transaction>(
        &self,
        input: &Input,
        scratch: &mut Vec<u64>,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        // Allocates only once: the width is the same for all transactions.
        scratch.resize(self.settings.words, 0);
        let mut output = Output::default();
        let ops = input.ops();
        if ops.len() > 1 {
            self.prefetch(ops, txn);
        }
        txn.decided();
        for &op in ops {
            clock::compute(OP_INSTRUCTIONS);
            match op.kind {
                Kind::Read => self.read(op, &mut output, txn),
                Kind::Update if self.settings.is_blind => {
                    self.replace(op, input.stamp, scratch, &mut output, txn)
                }
                Kind::Update | Kind::ReadModifyWrite => self.modify(op, input.stamp, &mut output, txn),
                Kind::Insert => self.insert(op, scratch, &mut output, txn),
                Kind::Scan => self.scan(op, &mut output, txn),
            }?;
        }
        Ok(output)
    }

    fn committed(&self, ledger: &mut Ledger, input: &Input, output: &Output) {
        for op in input.ops() {
            // Without a branch: no processor predicts which operations write.
            ledger.writes[part_of(op.place)] += u64::from(op.kind.writes());
            ledger.inserts += u64::from(op.kind == Kind::Insert);
        }
        ledger.wrong += u64::from(output.wrong);
        ledger.missing += u64::from(output.missing);
        ledger.digest = ledger.digest.wrapping_add(output.digest);
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Ledger]) -> Result<(), Violation> {
        self.check_share(view, share, Some(ledgers))
    }

    fn check_state(&self, view: &impl Quiesced, share: Share) -> Result<(), Violation> {
        self.check_share(view, share, None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::mock::Mock;

    const DRIVE: Drive = Drive { workers: 2, clients: 3, seed: 11 };

    fn values(settings: &str) -> Values {
        let small = "ycsb.records=500 ycsb.value_bytes=64 ycsb.scan_max=20";
        let mut given = BTreeMap::new();
        for setting in small.split(' ').chain(settings.split_whitespace()) {
            let (name, value) = setting.split_once('=').expect("name=value");
            given.insert(name.to_owned(), value.to_owned());
        }
        Values::new(SETTINGS, &given.into_iter().collect::<Vec<_>>()).expect("legal settings")
    }

    fn refusal(settings: &str) -> String {
        let declared = Ycsb::<ShortKey>::declare(&values(settings), DRIVE, &mut Schema::new());
        declared.expect_err("contradictory").0
    }

    /// A loaded database, its workload, and the ledger of what was committed.
    struct Fixture<K: RecordKey> {
        workload: Ycsb<K>,
        mock: Mock,
        ledger: Ledger,
        sequence: u64,
    }

    impl<K: RecordKey> Fixture<K> {
        fn new(settings: &str) -> Self {
            let mut schema = Schema::new();
            let workload = Ycsb::declare(&values(settings), DRIVE, &mut schema).expect("legal settings");
            let mut mock = Mock::new(&schema, &[]);
            (0..3).for_each(|index| workload.load(Share { index, of: 3 }, &mut mock));
            Self { workload, mock, ledger: Ledger::default(), sequence: 0 }
        }

        fn inputs(&mut self, count: u64) -> Vec<Input> {
            let sequences = self.sequence..self.sequence + count;
            self.sequence += count;
            let input = |client, sequence| {
                let mut rng = Rng::from_path(&[DRIVE.seed, u64::from(client), sequence]);
                self.workload.generate(ClientId(client), sequence, &mut rng)
            };
            sequences
                .flat_map(|sequence| (0..DRIVE.clients).map(move |client| input(client, sequence)))
                .collect()
        }

        fn run(&mut self, count: u64) {
            for input in self.inputs(count) {
                let mut scratch = Vec::new();
                let output = self.mock.attempt(|txn| self.workload.execute(&input, &mut scratch, txn));
                let output = output.expect("one transaction at a time commits");
                self.workload.committed(&mut self.ledger, &input, &output);
            }
        }

        fn check(&self) -> Result<(), Violation> {
            let ledgers = core::slice::from_ref(&self.ledger);
            (0..3).try_for_each(|index| self.workload.check(&self.mock, Share { index, of: 3 }, ledgers))
        }

        fn corrupt(&mut self, number: u64, change: impl FnOnce(&mut [u64])) {
            let key = K::of(self.workload.places.loaded(number));
            let table = self.workload.table;
            self.mock
                .attempt(|txn| txn.update(table, key, |row| change(row.as_mut())))
                .expect("one transaction at a time commits")
                .expect("loaded");
        }

        fn assert_found(&self, condition: &str) {
            let violation = self.check().expect_err("the corruption is found");
            assert!(violation.condition.contains(condition), "{violation}");
        }
    }

    #[test]
    fn every_workload_keeps_its_invariants() {
        let shapes = [
            "ycsb.ops_per_txn=1",
            "ycsb.ops_per_txn=16",
            "ycsb.ops_per_txn=16 ycsb.distinct=false ycsb.hot_placement=adjacent",
            "ycsb.ops_per_txn=3 ycsb.value_bytes=8 ycsb.distribution=uniform",
            "ycsb.ops_per_txn=2 ycsb.value_bytes=17 ycsb.theta=0 ycsb.distribution=latest",
            "ycsb.ops_per_txn=1 ycsb.records=1",
            "ycsb.ops_per_txn=4 ycsb.hot_row=middle",
        ];
        for letter in ["a", "b", "c", "d", "e", "f", "custom"] {
            // What inserts has no hot row.
            let inserts = matches!(letter, "d" | "e");
            for shape in shapes.into_iter().filter(|shape| !(inserts && shape.contains("hot_row"))) {
                let mut fixture = Fixture::<ShortKey>::new(&format!("ycsb.workload={letter} {shape}"));
                fixture.check().expect("the loaded state is consistent");
                fixture.run(300);
                if let Err(violation) = fixture.check() {
                    panic!("{letter}, {shape}: {violation}");
                }
            }
        }
    }

    #[test]
    fn one_operation_of_each_transaction_updates_the_hot_row() {
        for (hot_row, at) in [("first", 0), ("middle", 4), ("last", 7)] {
            let settings = format!(
                "ycsb.workload=custom ycsb.read_pct=100 ycsb.ops_per_txn=8 ycsb.records=20 ycsb.hot_row={hot_row}"
            );
            let mut fixture = Fixture::<ShortKey>::new(&settings);
            let hot = fixture.workload.places.loaded(0);
            for input in fixture.inputs(100) {
                assert_eq!((input.ops()[at].place, input.ops()[at].kind), (hot, Kind::Update));
                assert_eq!(input.ops().iter().filter(|op| op.place == hot).count(), 1);
                assert_eq!(input.ops().iter().filter(|op| op.kind == Kind::Read).count(), 7);
            }
            let told = fixture.workload.forecast().sentences.join(" ");
            assert!(told.contains(&format!("Operation {} of the 8", at + 1)), "{told}");
            assert!(told.contains("reads only, beside an update of the hot row"), "{told}");
            assert!(told.contains("Beside the hot row: "), "{told}");
        }
        assert!(refusal("ycsb.workload=d ycsb.hot_row=first").contains("workload custom"));
    }

    #[test]
    fn long_keys_and_blind_writes_keep_the_invariants() {
        for letter in ["a", "e"] {
            let settings = format!(
                "ycsb.workload={letter} ycsb.key_bytes=48 ycsb.write=blind ycsb.ops_per_txn=5 ycsb.distribution=latest"
            );
            let mut fixture = Fixture::<LongKey>::new(&settings);
            fixture.run(300);
            fixture.check().expect("consistent");
        }
    }

    #[test]
    fn a_lost_and_an_invented_update_are_found() {
        for change in [|version: &mut u64| *version -= 1, |version: &mut u64| *version += 1] {
            let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=a");
            fixture.run(300);
            fixture.corrupt(0, |words| change(&mut words[0]));
            fixture.assert_found("version counters");
        }
    }

    #[test]
    fn a_value_under_another_key_is_found_in_place_and_when_read() {
        let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=c");
        let own = fixture.workload.places.loaded(0);
        fixture.corrupt(0, |words| words[1] = 1);
        fixture.assert_found("one write of its key");
        fixture.run(300);
        fixture.corrupt(0, |words| words[1] = own);
        fixture.assert_found("transactions see rows under their keys");
    }

    #[test]
    fn a_lost_row_is_found_in_place_and_when_missed() {
        for letter in ["a", "e"] {
            let mut fixture = Fixture::<ShortKey>::new(&format!("ycsb.workload={letter}"));
            let (table, place) = (fixture.workload.table, fixture.workload.places.loaded(0));
            fixture.mock.attempt(|txn| txn.delete(table, ShortKey::of(place))).expect("deleted");
            fixture.assert_found("loaded records stay");
            fixture.run(300);
            let mut words = vec![0; 8];
            fill(&mut words, DRIVE.seed, place);
            fixture
                .mock
                .attempt(|txn| txn.insert(table, ShortKey::of(place), row_of(&words)))
                .expect("inserted");
            assert!(fixture.check().is_err(), "{letter}");
        }
    }

    #[test]
    fn lost_and_invented_inserts_are_found() {
        let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=d");
        fixture.run(300);
        fixture.check().expect("consistent");
        let (table, first) = (fixture.workload.table, fixture.workload.places.inserted(0, 0));
        let mut words = vec![0; 8];
        fill(&mut words, DRIVE.seed, first);
        fixture.mock.attempt(|txn| txn.delete(table, ShortKey::of(first))).expect("deleted");
        fixture.assert_found("rows equal");
        let stray = fixture.workload.places.inserted(2, 99);
        fill(&mut words, DRIVE.seed, stray);
        for place in [first, stray] {
            fixture
                .mock
                .attempt(|txn| txn.insert(table, ShortKey::of(place), row_of(&words)))
                .expect("inserted");
        }
        fixture.assert_found("rows equal");
    }

    #[test]
    fn a_mixture_of_blind_writes_and_an_uncounted_one_are_found() {
        let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=a ycsb.write=blind");
        fixture.corrupt(7, |words| words[0] = 5);
        fixture.assert_found("one write of its key");
        let place = fixture.workload.places.loaded(7);
        fixture.corrupt(7, |words| overwrite(words, 5, place));
        fixture.assert_found("version counters");
    }

    #[test]
    fn any_number_of_loaders_loads_the_same() {
        let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=a");
        let mut schema = Schema::new();
        let workload = Ycsb::<ShortKey>::declare(&values("ycsb.workload=a"), DRIVE, &mut schema)
            .expect("legal settings");
        let mut mock = Mock::new(&schema, &[]);
        workload.load(Share::WHOLE, &mut mock);
        assert!(mock == fixture.mock);
        fixture.corrupt(3, |words| words[4] += 1);
        assert!(mock != fixture.mock);
    }

    #[test]
    fn shares_of_operations_are_the_suites() {
        use Kind::{Insert, Read, ReadModifyWrite, Scan, Update};
        for (letter, shares) in [
            ("a", [(Read, 50.0), (Update, 50.0)]),
            ("b", [(Read, 95.0), (Update, 5.0)]),
            ("c", [(Read, 100.0), (Update, 0.0)]),
            ("d", [(Read, 95.0), (Insert, 5.0)]),
            ("e", [(Scan, 95.0), (Insert, 5.0)]),
            ("f", [(Read, 50.0), (ReadModifyWrite, 50.0)]),
        ] {
            let mut fixture = Fixture::<ShortKey>::new(&format!("ycsb.workload={letter}"));
            let inputs = fixture.inputs(5_000);
            for (kind, share) in shares {
                let count = inputs.iter().filter(|input| input.kind() == kind as usize).count();
                let found = 100.0 * count as f64 / inputs.len() as f64;
                // Four standard deviations of 15,000 draws are at most 1.7 points.
                assert!((found - share).abs() < 1.7, "{letter}: {kind:?} {found}%");
            }
        }
    }

    #[test]
    fn keys_within_a_transaction_differ_even_when_all_are_needed() {
        let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=f ycsb.ops_per_txn=64 ycsb.records=64");
        for input in fixture.inputs(50) {
            let mut seen: Vec<u64> = input.ops().iter().map(|op| op.place).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 64);
        }
    }

    #[test]
    fn the_hottest_record_is_as_frequent_as_forecast() {
        for placement in ["scattered", "adjacent"] {
            let mut fixture =
                Fixture::<ShortKey>::new(&format!("ycsb.workload=c ycsb.hot_placement={placement}"));
            let hottest = fixture.workload.places.loaded(0);
            let inputs = fixture.inputs(10_000);
            let hits = inputs.iter().filter(|input| input.ops()[0].place == hottest).count();
            let found = hits as f64 / inputs.len() as f64;
            assert!((found - fixture.workload.generator.hottest(1)).abs() < 0.01, "{placement}: {found}");
        }
    }

    #[test]
    fn latest_reads_find_the_clients_own_inserts_first() {
        let mut fixture = Fixture::<ShortKey>::new("ycsb.workload=d");
        fixture.run(2_000);
        assert_eq!(fixture.ledger.missing, 0);
        let inputs = fixture.inputs(2_000);
        let reads = inputs.iter().filter(|input| input.kind() == Kind::Read as usize);
        let own =
            reads.clone().filter(|input| !fixture.workload.places.is_loaded(input.ops()[0].place)).count();
        // 100 to 200 of 500 ranks are the client's own inserts by now, and these ranks are the hottest.
        let share = own as f64 / reads.count() as f64;
        assert!((0.7..0.9).contains(&share), "{share}");
        fixture.check().expect("consistent");
    }

    #[test]
    fn homes_are_those_of_all_rows_touched() {
        for letter in ["a", "d", "e"] {
            let mut fixture = Fixture::<ShortKey>::new(&format!(
                "ycsb.workload={letter} ycsb.records=50 ycsb.ops_per_txn=4 ycsb.scan_max=30"
            ));
            for input in fixture.inputs(500) {
                let homes = fixture.workload.homes(&input);
                for op in input.ops() {
                    let rows = if op.kind == Kind::Scan { u64::from(op.detail) } else { 1 };
                    let end = fixture.workload.places.end_of_scan(op.place, rows);
                    let last = if op.kind == Kind::Scan { end } else { op.place };
                    for place in [op.place, last] {
                        let engine::Home::At(home) = engine::Key::home(ShortKey::of(place)) else {
                            panic!("records have homes")
                        };
                        assert!(homes.listed().is_some_and(|homes| homes.contains(&home)), "{letter}");
                    }
                }
            }
        }
    }

    #[test]
    fn contradictions_are_refused_with_the_way_out() {
        assert!(refusal("ycsb.workload=a ycsb.read_pct=80").contains("ycsb.workload=custom"));
        assert!(refusal("ycsb.workload=f ycsb.write=blind").contains("workload a"));
        assert!(refusal("ycsb.records=10 ycsb.ops_per_txn=16").contains("ycsb.distinct=false"));
    }

    #[test]
    fn the_forecast_names_the_hot_set_and_the_data() {
        let settings = "ycsb.workload=custom ycsb.records=1000000 ycsb.ops_per_txn=16 ycsb.value_bytes=100";
        let workload =
            Ycsb::<ShortKey>::declare(&values(settings), DRIVE, &mut Schema::new()).expect("legal settings");
        let forecast = workload.forecast();
        assert_eq!((forecast.rows, forecast.row_bytes), (1_000_000, 104_000_000));
        let text = forecast.sentences.join("\n");
        // 256 pairs, of which 3/4 contain a write, collide with probability zeta(1.98) / zeta(0.99)^2 each.
        for part in ["50% reads", "16 operations", "6.5%", "27%", "in about 74% of the cases"] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }

    #[test]
    fn footprints_have_all_rows_that_are_touched() {
        for letter in ["a", "b", "f"] {
            let given = format!("ycsb.workload={letter} ycsb.records=50 ycsb.ops_per_txn=4");
            let mut fixture = crate::mock::Fixture::<Ycsb<ShortKey>>::new(&given);
            assert_eq!(fixture.compare_footprints(200), [600, 0, 0], "{letter}");
        }
    }

    #[test]
    fn requests_that_do_not_scan_state_all() {
        for (letter, stating) in [("a", 300), ("d", 300), ("e", 0), ("f", 300)] {
            let given = format!("ycsb.workload={letter} ycsb.records=50 ycsb.ops_per_txn=8");
            let mut fixture = crate::mock::Fixture::<Ycsb<ShortKey>>::new(&given);
            assert_eq!(fixture.stated_footprints(100), [300, stating], "{letter}");
        }
    }
}
