//! A bank: transfers between accounts, some refused for lack of money, and audits that add everything up in a
//! read-only transaction. Deposits do not look at the account's balance. Money is conserved, and every audit
//! sees all of it.

use core::ops::ControlFlow;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Direction, Drive, Forecast, Homes, Loader, Lookup, Quiesced, Schema, Share, Table,
    Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;
use sync::waiter;

use super::{Cell, Place, no_forecast, violation};

const HOMES: u64 = 4;
const ACCOUNTS: u64 = 40;
const BALANCE: u64 = 20;
const TOTAL: u64 = ACCOUNTS * BALANCE;
/// The number of the type of transaction that audits.
pub(crate) const AUDIT: usize = 1;

/// The workload.
#[derive(Debug)]
pub(crate) struct Bank {
    accounts: Table<Cell>,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Moves an amount from one account to another.
    Transfer {
        /// Account to take from.
        from: u64,
        /// Account to give to.
        to: u64,
        /// How much.
        amount: u64,
    },
    /// Adds everything up.
    Audit(Direction),
}

fn place(account: u64) -> Place {
    Place::new(account / (ACCOUNTS / HOMES), account)
}

impl Workload for Bank {
    const NAME: &'static str = "bank";
    const TYPES: &'static [TxnType] =
        &[TxnType { name: "transfer", read_only: false }, TxnType { name: "audit", read_only: true }];
    const SETTINGS: &'static [Setting] = &[];
    type Input = Input;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        Ok(Self { accounts: schema.table("accounts", Lookup::Ordered, 0).group() })
    }

    fn forecast(&self) -> Forecast {
        no_forecast()
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for account in share.of_range(ACCOUNTS) {
            loader.insert(self.accounts, place(account), &Cell::new(BALANCE));
        }
    }

    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Input {
        match rng.below(8) {
            0 => Input::Audit(Direction::Forward),
            1 => Input::Audit(Direction::Backward),
            _ => {
                let from = rng.below(ACCOUNTS);
                let to = (from + 1 + rng.below(ACCOUNTS - 1)) % ACCOUNTS;
                Input::Transfer { from, to, amount: 1 + rng.below(BALANCE) }
            }
        }
    }

    fn kind(&self, input: &Input) -> usize {
        usize::from(matches!(input, Input::Audit(_)))
    }

    fn homes(&self, input: &Input) -> Homes {
        let mut homes = Homes::new();
        match input {
            Input::Transfer { from, to, .. } => {
                homes.add(place(*from).at());
                homes.add(place(*to).at());
            }
            Input::Audit(_) => (0..HOMES).for_each(|home| homes.add(home)),
        }
        homes
    }

    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<(), Abort> {
        match *input {
            Input::Transfer { from, to, amount } => {
                // The deposit comes first, so that a refusal has something to undo.
                txn.add(self.accounts, place(to), |cell| cell.set(amount))?;
                waiter::give_way();
                let balance = txn.read(self.accounts, place(from), Cell::value)?;
                let left = balance.and_then(|balance| balance.checked_sub(amount)).ok_or(Abort::Rollback)?;
                txn.update(self.accounts, place(from), |cell| cell.set(left))?;
                Ok(())
            }
            Input::Audit(direction) => {
                let mut total = 0;
                txn.scan(self.accounts, place(0)..=place(ACCOUNTS - 1), direction, |_, cell| {
                    total += cell.value();
                    ControlFlow::Continue(())
                })?;
                // A rollback of an audit that saw something inconsistent must not be believed.
                if total == TOTAL { Ok(()) } else { Err(Abort::Rollback) }
            }
        }
    }

    fn check(&self, view: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        let mut total = 0;
        view.scan(self.accounts, place(0)..=place(ACCOUNTS - 1), |_, cell| {
            total += cell.value();
            ControlFlow::Continue(())
        });
        if total == TOTAL { Ok(()) } else { violation("money is conserved", format!("{total}, not {TOTAL}")) }
    }
}
