//! Mix: small transactions of every kind of operation over few rows, made to conflict. Mix measures nothing: its
//! purpose is to produce recorded histories, natively and under schedules that a seed decides.
//!
//! Three tables: one for point lookups, one that is ordered, and one with two column groups and a secondary index
//! whose keys change. About half of the keys are present at any time. The words of a row are equal unless the row
//! is torn.

mod given;
mod op;

use engine::setting::{Range, Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Drive, Facet, Forecast, Home, Homes, Index, IndexOn, InputFootprint, Key, Loader,
    Lookup, Quiesced, Row, Schema, Share, Table, Transaction, TxnType, Violation, Workload, additive,
};
use stdx::Rng;
use sync::atomic::{AtomicU64, Ordering};
use sync::waiter;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use given::{Act, LoadedRows};
pub use op::{At, MixOp};

/// The maximum number of operations of a transaction.
pub const OPS_MAX: usize = 8;
/// The number of bits of a key's number within its home.
const NUMBER_BITS: u32 = 20;
/// The number of different labels.
const LABELS: u64 = 4;

/// A key: a home, and a number within the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MixKey(u64);

impl MixKey {
    /// Creates the key with this number at this home.
    pub const fn new(home: u64, number: u64) -> Self {
        Self(home << NUMBER_BITS | number)
    }

    const fn at(self) -> u64 {
        self.0 >> NUMBER_BITS
    }

    const fn number(self) -> u64 {
        self.0 & ((1 << NUMBER_BITS) - 1)
    }
}

impl Key for MixKey {
    type Ordered = u64;
    // The prefix is the home alone, so that ranges cross from leaf to leaf.
    const SUFFIX_BITS: u32 = NUMBER_BITS;

    fn ordered(self) -> u64 {
        self.0
    }

    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    fn home(self) -> Home {
        Home::At(self.at())
    }
}

/// A row that supports additions. All its words are equal.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct CounterRow([u64; 3]);

additive!(CounterRow of MixKey { 0 });

impl CounterRow {
    const fn new(value: u64) -> Self {
        Self([value; 3])
    }

    /// Returns the row's value, or `None` if the row is torn.
    fn value(&self) -> Option<u64> {
        (self.0 == [self.0[0]; 3]).then_some(self.0[0])
    }
}

/// A row with a label. A secondary index finds rows by label.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Labelled {
    label: u64,
    /// A copy of the label: a difference shows a torn row.
    echo: u64,
}

impl Labelled {
    const fn new(label: u64) -> Self {
        Self { label, echo: label }
    }
}

impl Row for Labelled {
    type Key = MixKey;
    type Indexes = (ByLabel,);
}

/// The other column group of a labelled row: like a [`CounterRow`], but without additions.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Note([u64; 2]);

impl Row for Note {
    type Key = MixKey;
    type Indexes = ();
}

/// The index of the labels.
#[derive(Debug)]
pub struct ByLabel;

/// A key of [`ByLabel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelKey {
    home: u64,
    label: u64,
    number: u64,
}

impl Key for LabelKey {
    type Ordered = u128;

    fn ordered(self) -> u128 {
        u128::from(self.home) << 64 | u128::from(self.label) << NUMBER_BITS | u128::from(self.number)
    }

    fn from_ordered(ordered: u128) -> Self {
        let spot = MixKey(ordered as u64);
        Self { home: (ordered >> 64) as u64, label: spot.at(), number: spot.number() }
    }

    fn home(self) -> Home {
        Home::At(self.home)
    }
}

impl IndexOn<Labelled> for ByLabel {
    type Key = LabelKey;

    fn key(key: MixKey, row: &Labelled) -> LabelKey {
        LabelKey { home: key.at(), label: row.label % LABELS, number: key.number() }
    }

    fn primary(key: LabelKey) -> MixKey {
        MixKey::new(key.home, key.number)
    }
}

/// The tables.
#[derive(Clone, Copy, Debug)]
struct Tables {
    points: Table<CounterRow>,
    ordered: Table<CounterRow>,
    labelled: Table<Labelled>,
    notes: Table<Note>,
    by_label: Index<Labelled, ByLabel>,
}

/// The workload.
#[derive(Debug)]
pub struct Mix {
    tables: Tables,
    homes: u64,
    keys: u64,
    ops_max: u64,
    read_pct: u64,
    read_only_pct: u64,
    rollback_pct: u64,
    pause_pct: u64,
    /// The rows to load, if they are given.
    rows: Option<&'static [LoadedRows]>,
    /// The transactions that the sessions send, if they are given.
    act: Option<Act>,
    noticed: Noticed,
}

/// A request: a list of operations.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    len: usize,
    ops: [MixOp; OPS_MAX],
    is_read_only: bool,
    rolls_back: bool,
    /// `true` if the request names the homes of all its keys.
    tells_homes: bool,
    /// A bit for each operation: set if other clients get a turn after the operation.
    pauses: u8,
    /// The length of that turn in nanoseconds. With 0 the worker's other clients get one turn.
    pause_ns: u64,
}

/// The name of a table in the recorded histories of the mix.
pub fn name_of(number: u16) -> &'static str {
    let Facet { table, group, index } = Facet::from_number(number);
    match (table.0, group, index) {
        (0, ..) => "points",
        (1, ..) => "ordered",
        (_, 0, None) => "labelled",
        (_, _, None) => "notes",
        (_, _, Some(_)) => "by_label",
    }
}

impl Input {
    /// The operations.
    pub fn ops(&self) -> &[MixOp] {
        &self.ops[..self.len]
    }
}

/// Defects that attempts detect themselves, aborted attempts included: an attempt may read rows that are out of
/// date, but no row that is torn or under a wrong key.
#[derive(Debug, Default)]
struct Noticed {
    /// The number of rows whose words were not equal.
    torn: AtomicU64,
    /// The number of rows that an index returned under a key that is not theirs.
    misplaced: AtomicU64,
}

impl Noticed {
    fn row(&self, is_whole: bool) {
        if !is_whole {
            self.torn.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
        }
    }

    fn entry(&self, is_right: bool) {
        if !is_right {
            self.misplaced.fetch_add(1, Ordering::Relaxed); // Relaxed: a count.
        }
    }
}

const fn pct(name: &'static str, default: &'static str, doc: &'static str) -> Setting {
    Setting { name, default, range: Range::Int(0, 100), unit: "%", doc, stresses: "which operations meet" }
}

impl Mix {
    /// Returns the same workload with these rows to load.
    #[must_use]
    pub fn with_rows(self, rows: &'static [LoadedRows]) -> Self {
        Self { rows: Some(rows), ..self }
    }

    /// Makes the sessions send these transactions from now on.
    pub fn enter(&mut self, act: Act) {
        self.act = Some(act);
    }

    fn load_row(&self, at: At, key: MixKey, value: u64, loader: &mut impl Loader) {
        let Tables { points, ordered, labelled, notes, .. } = self.tables;
        match at {
            At::Points => loader.insert(points, key, &CounterRow::new(value)),
            At::Ordered => loader.insert(ordered, key, &CounterRow::new(value)),
            At::Labelled | At::Notes => {
                let rows = (&Labelled::new(value % LABELS), &Note([value; 2]));
                loader.insert((labelled, notes), key, rows);
            }
        }
    }
}

impl Workload for Mix {
    const NAME: &'static str = "mix";
    const TYPES: &'static [TxnType] =
        &[TxnType { name: "change", read_only: false }, TxnType { name: "look", read_only: true }];
    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "mix.homes",
            default: "2",
            range: Range::Int(1, 8),
            unit: "homes",
            doc: "Where keys live, for schemes that own partitions.",
            stresses: "partitions",
        },
        Setting {
            name: "mix.keys",
            default: "16",
            range: Range::Int(1, 1 << NUMBER_BITS),
            unit: "keys",
            doc: "Keys at each home of each table; the fewer, the more transactions meet.",
            stresses: "conflicts",
        },
        Setting {
            name: "mix.ops_max",
            default: "6",
            range: Range::Int(1, OPS_MAX as u64),
            unit: "operations",
            doc: "The most operations of a transaction.",
            stresses: "how long transactions overlap",
        },
        pct("mix.read_pct", "50", "How many operations of transactions that change something only read."),
        pct("mix.read_only_pct", "20", "How many transactions are declared to change nothing."),
        pct("mix.rollback_pct", "5", "How many transactions roll back in the end."),
        pct("mix.pause_pct", "10", "After how many operations the worker's other clients get a turn."),
    ];
    type Input = Input;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(values: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let (homes, keys) = (values.int("mix.homes"), values.int("mix.keys"));
        let points = schema.table("points", Lookup::Point, (homes * keys) as usize).group();
        let ordered = schema.table("ordered", Lookup::Ordered, 0).numbered().group();
        let mut table = schema.table("labelled", Lookup::Ordered, 0);
        let (labelled, notes) = (table.group(), table.group());
        let by_label = table.index(labelled, "by_label");
        Ok(Self {
            tables: Tables { points, ordered, labelled, notes, by_label },
            homes,
            keys,
            ops_max: values.int("mix.ops_max"),
            read_pct: values.int("mix.read_pct"),
            read_only_pct: values.int("mix.read_only_pct"),
            rollback_pct: values.int("mix.rollback_pct"),
            pause_pct: values.int("mix.pause_pct"),
            rows: None,
            act: None,
            noticed: Noticed::default(),
        })
    }

    fn forecast(&self) -> Forecast {
        Forecast { sentences: vec!["It measures nothing.".to_owned()], ..Forecast::default() }
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        if let Some(rows) = self.rows {
            let own = share.of_range(rows.iter().map(|LoadedRows(.., count)| count).sum());
            let keys = rows.iter().flat_map(|rows| rows.keys()).zip(0..);
            for ((at, key), _) in keys.filter(|(_, nth)| own.contains(nth)) {
                self.load_row(at, key, key.number(), loader);
            }
            return;
        }
        for nth in share.of_range(self.homes * self.keys.div_ceil(2)) {
            let key = MixKey::new(nth % self.homes, nth / self.homes * 2);
            for at in [At::Points, At::Ordered, At::Labelled] {
                self.load_row(at, key, nth, loader);
            }
        }
    }

    fn generate(&self, client: ClientId, sequence: u64, rng: &mut Rng) -> Input {
        if let Some(act) = self.act {
            let session = act.get(client.0 as usize).copied().unwrap_or_default();
            return session.get(sequence as usize).copied().unwrap_or(Input::given(&[]));
        }
        let is_read_only = rng.below(100) < self.read_only_pct;
        let len = 1 + rng.below(self.ops_max) as usize;
        let mut input = Input {
            len,
            ops: [MixOp::NONE; OPS_MAX],
            is_read_only,
            rolls_back: !is_read_only && rng.below(100) < self.rollback_pct,
            tells_homes: rng.below(8) > 0,
            pauses: 0,
            pause_ns: 0,
        };
        for nth in 0..len {
            let reads = is_read_only || rng.below(100) < self.read_pct;
            input.ops[nth] = MixOp::random(self, reads, rng);
            input.pauses |= u8::from(rng.below(100) < self.pause_pct) << nth;
        }
        input
    }

    fn kind(&self, input: &Input) -> usize {
        usize::from(input.is_read_only)
    }

    fn homes(&self, input: &Input) -> Homes {
        let mut homes = Homes::new();
        for op in input.ops().iter().take(if input.tells_homes { OPS_MAX } else { 1 }) {
            for home in op.homes() {
                homes.add(home);
            }
        }
        homes
    }

    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        input.ops().iter().for_each(|op| op.footprint(&self.tables, footprint));
        if input.ops().iter().all(|op| op.is_known()) {
            footprint.complete();
        }
    }

    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<(), Abort> {
        // Hint also in attempts that roll back: a wrong hint must do no harm.
        txn.decided();
        for (nth, op) in input.ops().iter().enumerate() {
            op.execute(self, txn)?;
            match input.pauses >> nth & 1 {
                0 => {}
                _ if input.pause_ns > 0 => waiter::pause_ns(input.pause_ns),
                _ => waiter::give_way(),
            }
        }
        if input.rolls_back { Err(Abort::Rollback) } else { Ok(()) }
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        // Relaxed: no worker runs any more.
        let [torn, misplaced] =
            [&self.noticed.torn, &self.noticed.misplaced].map(|count| count.load(Ordering::Relaxed));
        if torn + misplaced == 0 {
            return Ok(());
        }
        let found = format!("{torn} torn rows, and {misplaced} under a key that is not theirs");
        Err(Violation { condition: "attempts see rows whole and in their place", found })
    }
}
