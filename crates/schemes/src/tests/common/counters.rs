//! Counters: transactions that each increment three of a few counters, some by what they read and some without
//! reading. No increment is lost, none is counted twice.

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Drive, Forecast, Homes, Loader, Lookup, Quiesced, Schema, Share, Table, Transaction,
    TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;

use super::{Cell, Place, no_forecast, violation};

const HOMES: u64 = 4;
const COUNTERS: u64 = 8;

/// The workload. Without `DECLARED`, each input names its first home only.
#[derive(Debug)]
pub(crate) struct Counters<const DECLARED: bool = true> {
    table: Table<Cell>,
}

fn place(counter: u64) -> Place {
    Place::new(counter % HOMES, counter)
}

impl<const DECLARED: bool> Workload for Counters<DECLARED> {
    const NAME: &'static str = "counters";
    const TYPES: &'static [TxnType] = &[TxnType { name: "increment", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    /// Three different counters.
    type Input = [u64; 3];
    type Scratch = ();
    type Output = ();
    /// Committed increments by counter.
    type Ledger = [u64; COUNTERS as usize];

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        Ok(Self { table: schema.table("counters", Lookup::Point, 8).group() })
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for counter in share.of_range(COUNTERS) {
            loader.insert(self.table, place(counter), &Cell::new(0));
        }
    }

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> [u64; 3] {
        let first = rng.below(COUNTERS);
        let second = (first + 1 + rng.below(3)) % COUNTERS;
        let third = (first + 4 + rng.below(4)) % COUNTERS;
        [first, second, third]
    }

    fn kind(&self, _: &[u64; 3]) -> usize {
        0
    }

    fn homes(&self, input: &[u64; 3]) -> Homes {
        let mut homes = Homes::new();
        let named = if DECLARED { &input[..] } else { &input[..1] };
        for &counter in named {
            homes.add(place(counter).at());
        }
        homes
    }

    fn execute<T: Transaction>(&self, input: &[u64; 3], (): &mut (), txn: &mut T) -> Result<(), Abort> {
        // The first is read first, which upgrades; the second is incremented twice, once without reading; the
        // third without reading.
        let [upgraded, twice, blind] = input.map(place);
        txn.read(self.table, upgraded, Cell::value)?;
        let is_read_first = input[0] < input[1];
        let steps =
            [(upgraded, 2, true), (twice, 1, is_read_first), (blind, 2, false), (twice, 1, !is_read_first)];
        for (counter, amount, is_read) in steps {
            waiter::give_way();
            let found = if is_read {
                txn.update(self.table, counter, |cell| cell.set(cell.value() + amount))?.is_some()
            } else {
                txn.add(self.table, counter, |cell| cell.set(amount))?
            };
            assert!(found, "counters are never deleted");
        }
        Ok(())
    }

    fn committed(&self, ledger: &mut Self::Ledger, input: &[u64; 3], (): &()) {
        for &counter in input {
            ledger[counter as usize] += 2;
        }
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Self::Ledger]) -> Result<(), Violation> {
        for counter in share.of_range(COUNTERS) {
            let expected: u64 = ledgers.iter().map(|ledger| ledger[counter as usize]).sum();
            let found = view.read(self.table, place(counter), Cell::value);
            if found != Some(expected) {
                return violation(
                    "a counter counts commits",
                    format!("{counter}: {found:?}, not {expected}"),
                );
            }
        }
        Ok(())
    }
}
