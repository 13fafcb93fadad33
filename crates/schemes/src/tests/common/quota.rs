//! A quota: each home never has more than a fixed number of rows, because each insert looks first. The
//! quota holds only under schemes that exclude write skew over ranges.

use core::ops::ControlFlow;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, Loader, Lookup, Quiesced, Schema, Share, Table,
    Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;

use super::{Cell, Place, at_home, no_forecast, violation};

const HOMES: u64 = 2;
const KEYS: u64 = 64;
const QUOTA: usize = 3;

/// The workload.
#[derive(Debug)]
pub(crate) struct Quota {
    table: Table<Cell>,
}

impl Workload for Quota {
    const NAME: &'static str = "quota";
    const TYPES: &'static [TxnType] = &[TxnType { name: "insert_or_delete", read_only: false }];
    const SETTINGS: &'static [Setting] = &[];
    /// The key that may be inserted.
    type Input = Place;
    type Scratch = ();
    /// The number of rows that there were.
    type Output = usize;
    /// The maximum number of rows that a committed transaction saw.
    type Ledger = usize;

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        Ok(Self { table: schema.table("quota", Lookup::Ordered, 0).group() })
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, _: Share, _: &mut impl Loader) {}

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Place {
        Place::new(rng.below(HOMES), rng.below(KEYS))
    }

    fn kind(&self, _: &Place) -> usize {
        0
    }

    fn homes(&self, input: &Place) -> Homes {
        at_home(input.at())
    }

    fn execute<T: Transaction>(&self, input: &Place, (): &mut (), txn: &mut T) -> Result<usize, Abort> {
        let all = Place::new(input.at(), 0)..=Place::new(input.at(), KEYS - 1);
        let (mut rows, mut first) = (0, None);
        txn.scan(self.table, all, Direction::Forward, |key, _| {
            first = first.or(Some(key));
            rows += 1;
            ControlFlow::Continue(())
        })?;
        waiter::give_way();
        match first {
            Some(key) if rows >= QUOTA => _ = txn.delete(self.table, key)?,
            _ => _ = txn.insert(self.table, *input, &Cell::new(1))?,
        }
        Ok(rows)
    }

    fn committed(&self, most: &mut usize, _: &Place, rows: &usize) {
        *most = (*most).max(*rows);
    }

    fn check(&self, _: &impl Quiesced, _: Share, ledgers: &[usize]) -> Result<(), Violation> {
        let most = ledgers.iter().copied().max().unwrap_or(0);
        if most <= QUOTA { Ok(()) } else { violation("a quota is kept", format!("{most} rows, not {QUOTA}")) }
    }
}
