//! Twins: two tables that hold the same keys, because every transaction inserts into both or deletes
//! from both. A transaction that looks at both, key by key, by ranges or through a secondary index,
//! sees the same keys.

use core::ops::{ControlFlow, RangeInclusive};

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, Index, Loader, Lookup, Quiesced, Schema, Share,
    Table, Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;

use super::{ByName, Cell, NameKey, Named, Place, at_home, dawdle, no_forecast, violation};

const HOMES: u64 = 2;
const KEYS: u64 = 24;

/// The workload.
#[derive(Debug)]
pub(crate) struct Twins {
    left: Table<Cell>,
    right: (Table<Named>, Table<Cell>, Table<Cell>),
    right_by_name: Index<Named, ByName>,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Inserts the key into both tables if it is missing, else deletes it from both.
    Toggle(Place),
    /// Looks for the key in both tables.
    Peek(Place),
    /// Looks through both tables, at one home.
    Compare(u64, Direction),
    /// Looks through the right table by key and by name, at one home.
    CompareNames(u64),
}

/// All keys of a home.
fn all(home: u64) -> RangeInclusive<Place> {
    Place::new(home, 0)..=Place::new(home, KEYS - 1)
}

/// The name of a row. Names descend as keys ascend.
fn name(key: Place) -> u64 {
    KEYS - 1 - key.number()
}

/// A set of keys that grows by one; `None` when the key was in it.
fn with(set: u64, number: u64) -> Option<u64> {
    (set & 1 << number == 0).then_some(set | 1 << number)
}

impl Twins {
    fn toggle<T: Transaction>(&self, key: Place, txn: &mut T) -> Result<bool, Abort> {
        let value = Cell::new(key.number());
        if txn.insert(self.left, key, &value)? {
            waiter::give_way();
            return txn.insert(self.right, key, (&Named(name(key)), &value, &value));
        }
        Ok(txn.delete(self.right.0, key)? && txn.delete(self.left, key)?)
    }

    fn compare<T: Transaction>(&self, home: u64, direction: Direction, txn: &mut T) -> Result<bool, Abort> {
        let (mut left, mut right) = (Some(0), Some(0));
        txn.scan(self.left, all(home), direction, |key, cell| {
            assert_eq!(cell.value(), key.number(), "a row stands under its key");
            left = left.and_then(|set| with(set, key.number()));
            ControlFlow::Continue(())
        })?;
        dawdle();
        txn.scan(self.right.1, all(home), direction, |key, _| {
            right = right.and_then(|set| with(set, key.number()));
            ControlFlow::Continue(())
        })?;
        Ok(left.is_some() && left == right)
    }

    fn compare_names<T: Transaction>(&self, home: u64, txn: &mut T) -> Result<bool, Abort> {
        let (mut by_key, mut by_name) = (Some(0), Some(0));
        txn.scan_by(self.right_by_name, NameKey::all(home, 0..=KEYS), Direction::Forward, |key, named| {
            assert_eq!(key.name, named.0, "a row stands under its name");
            by_name = by_name.and_then(|set| with(set, key.name));
            ControlFlow::Continue(())
        })?;
        dawdle();
        txn.scan(self.right.1, all(home), Direction::Backward, |key, _| {
            by_key = by_key.and_then(|set| with(set, name(key)));
            ControlFlow::Continue(())
        })?;
        Ok(by_key.is_some() && by_key == by_name)
    }
}

impl Workload for Twins {
    const NAME: &'static str = "twins";
    const TYPES: &'static [TxnType] = &[
        TxnType { name: "toggle", read_only: false },
        TxnType { name: "peek", read_only: true },
        TxnType { name: "compare", read_only: true },
        TxnType { name: "compare_names", read_only: true },
    ];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Input;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let left = schema.table("left", Lookup::Ordered, 0).group();
        let mut table = schema.table("right", Lookup::Ordered, 0);
        let right = (table.constant_group(), table.group(), table.group());
        let right_by_name = table.index(right.0, "right_by_name");
        Ok(Self { left, right, right_by_name })
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for number in share.of_range(KEYS).filter(|number| number.is_multiple_of(3)) {
            for key in (0..HOMES).map(|home| Place::new(home, number)) {
                let value = Cell::new(number);
                loader.insert(self.left, key, &value);
                loader.insert(self.right, key, (&Named(name(key)), &value, &value));
            }
        }
    }

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Input {
        let (home, number) = (rng.below(HOMES), rng.below(KEYS));
        match rng.below(8) {
            0..4 => Input::Toggle(Place::new(home, number)),
            4 => Input::Peek(Place::new(home, number)),
            5 => Input::Compare(home, Direction::Forward),
            6 => Input::Compare(home, Direction::Backward),
            _ => Input::CompareNames(home),
        }
    }

    fn kind(&self, input: &Input) -> usize {
        match input {
            Input::Toggle(_) => 0,
            Input::Peek(_) => 1,
            Input::Compare(..) => 2,
            Input::CompareNames(_) => 3,
        }
    }

    fn homes(&self, input: &Input) -> Homes {
        match *input {
            Input::Toggle(key) | Input::Peek(key) => at_home(key.at()),
            Input::Compare(home, _) | Input::CompareNames(home) => at_home(home),
        }
    }

    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<(), Abort> {
        let is_right = match *input {
            Input::Toggle(key) => self.toggle(key, txn)?,
            Input::Peek(key) => {
                let left = txn.read(self.left, key, Cell::value)?;
                dawdle();
                left == txn.read(self.right.1, key, Cell::value)?
            }
            Input::Compare(home, direction) => self.compare(home, direction, txn)?,
            Input::CompareNames(home) => self.compare_names(home, txn)?,
        };
        // A rollback of a transaction that saw something inconsistent must not be believed.
        if is_right { Ok(()) } else { Err(Abort::Rollback) }
    }

    fn check(&self, view: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        for home in 0..HOMES {
            let (mut left, mut right, mut names) = (Vec::new(), Vec::new(), Vec::new());
            view.scan(self.left, all(home), |key, _| {
                left.push(key);
                ControlFlow::Continue(())
            });
            view.scan(self.right.0, all(home), |key, _| {
                right.push(key);
                ControlFlow::Continue(())
            });
            view.scan_by(self.right_by_name, NameKey::all(home, 0..=KEYS), |key, _| {
                names.push(key.place());
                ControlFlow::Continue(())
            });
            names.reverse();
            if left != right || left != names {
                return violation("twins are alike", format!("{left:?}, {right:?} and by name {names:?}"));
            }
        }
        Ok(())
    }
}
