//! SmallBank: customers with a savings and a checking account each, and six short programs over them (Alomari, Cahill,
//! Fekete, Roehm: The cost of serializability on platforms that use snapshot isolation, ICDE 2008; the sixth,
//! `SendPayment`, is from H-Store).
//!
//! TABLES       ACCOUNT maps a name to a customer; SAVINGS and CHECKING map a customer to a balance in cents. All are
//!              read by single keys only.
//! PROGRAMS     Balance reads both accounts; `DepositChecking` pays into the checking account; `TransactSavings` adds
//!              to the savings or takes from them; Amalgamate moves all money of one customer to another; `WriteCheck`
//!              takes a check, with a penalty of one unit if both accounts together do not cover it; `SendPayment` pays
//!              from one checking account into another. An unknown name, a negative deposit, a withdrawal that the
//!              savings do not cover and a payment that is not covered roll back.
//! CHECKS       Balances are the loaded ones plus the committed changes, by account, in each of 64 parts of the
//!              customers; all money is what was loaded, deposited and withdrawn, penalties included; savings are never
//!              negative; names lead to their customers.
//! ISOLATION    Under snapshot isolation a `WriteCheck` that reads the savings before a `TransactSavings` withdraws
//!              them can escape a penalty although a Balance has already seen the withdrawal. No serial order has both
//!              (Fekete, O'Neil, O'Neil: A read-only transaction anomaly under snapshot isolation, SIGMOD Record 33(3),
//!              2004). Snapshot isolation permits this, and the checks do not detect it: each program's own effect is
//!              accounted for, so that the checks are exact under snapshot isolation, too. `contend check`, which has
//!              the anomaly among its scripts, decides whether a scheme may show it.
//! DEPARTURES   (1) The published programs only withdraw from savings, so that fewer and fewer savings are left; here
//!              `TransactSavings` deposits as often as it withdraws. (2) The amounts are H-Store's, fixed. (3) The
//!              definitions are those of the paper where `BenchBase` has others: its Amalgamate empties other accounts
//!              than it takes from, and its penalty is paid to the customer.

mod check;
mod forecast;
mod input;
mod procedures;
mod rows;
mod settings;
#[cfg(test)]
mod tests;

use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, ClientId, Drive, Forecast, Homes, InputFootprint, Loader, Lookup, Quiesced, Schema, Share, Table,
    Transaction, TxnType, Violation, Workload,
};
use stdx::Rng;

use check::Sums;
use input::{Kind, People};
use procedures::PENALTY_CENTS;
use rows::{Account, Checking, Customer, Savings};
use settings::{SETTINGS, Settings};

pub use input::Input;

/// The number of parts in which accounts are checked. A customer's part is the id modulo this number.
const PARTS: usize = 64;

/// The tables.
#[derive(Clone, Copy, Debug)]
struct Tables {
    account: Table<Account>,
    savings: Table<Savings>,
    checking: Table<Checking>,
}

/// The workload.
#[derive(Debug)]
pub struct SmallBank {
    settings: Settings,
    drive: Drive,
    people: People,
    tables: Tables,
}

/// The result of a transaction: balances read and changes made, in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The sum of both accounts that Balance read.
    seen: i64,
    /// The change of the first customer's savings.
    savings: i64,
    /// The change of the first customer's checking account.
    checking: i64,
    /// The change of the second customer's checking account.
    received: i64,
    /// `true` if a check was not covered.
    has_penalty: bool,
    /// `true` if a name led to another customer, or a row lay under another's id.
    is_wrong: bool,
}

/// A worker's counts of its commits.
#[derive(Debug)]
pub struct Ledger {
    /// The changes of the accounts, by part of the customers.
    changed: [Sums; PARTS],
    /// The money that came into the bank minus the money that left it, computed from requests and penalties.
    flown: i64,
    wrong: u64,
    digest: i64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { changed: [Sums::default(); PARTS], flown: 0, wrong: 0, digest: 0 }
    }
}

impl Ledger {
    fn change(&mut self, customer: u64, sums: Sums) {
        let part = &mut self.changed[customer as usize % PARTS];
        *part = part.plus(sums);
    }
}

/// The money that a transaction brings into the bank, in cents. Negative if the transaction takes money out.
fn flow(input: &Input, has_penalty: bool) -> i64 {
    match input.kind {
        Kind::DepositChecking | Kind::TransactSavings => input.amount,
        Kind::WriteCheck => -input.amount - if has_penalty { PENALTY_CENTS } else { 0 },
        Kind::Balance | Kind::Amalgamate | Kind::SendPayment => 0,
    }
}

impl Workload for SmallBank {
    const NAME: &'static str = "smallbank";
    const TYPES: &'static [TxnType] = &[
        TxnType { name: "balance", read_only: true },
        TxnType { name: "deposit_checking", read_only: false },
        TxnType { name: "transact_savings", read_only: false },
        TxnType { name: "amalgamate", read_only: false },
        TxnType { name: "write_check", read_only: false },
        TxnType { name: "send_payment", read_only: false },
    ];
    const SETTINGS: &'static [Setting] = SETTINGS;
    type Input = Input;
    type Scratch = ();
    type Output = Output;
    type Ledger = Ledger;

    fn declare(values: &Values, drive: Drive, schema: &mut Schema) -> Result<Self, SettingError> {
        let settings = Settings::new(values)?;
        let customers = settings.customers as usize;
        let account = schema.table("account", Lookup::Point, customers).group();
        let savings = schema.table("savings", Lookup::Point, customers).group();
        let checking = schema.table("checking", Lookup::Point, customers).group();
        let people = People::new(settings.customers, drive.seed);
        Ok(Self { settings, drive, people, tables: Tables { account, savings, checking } })
    }

    fn forecast(&self) -> Forecast {
        forecast::of(&self.settings, self.drive)
    }

    fn load(&self, share: Share, loader: &mut impl Loader) {
        for number in share.of_range(self.settings.customers) {
            let party = self.people.party(number);
            let customer = Customer(party.id);
            loader.insert(self.tables.account, party.name, &Account { customer: party.id });
            loader.insert(self.tables.savings, customer, &Savings::loaded(self.drive.seed, party.id));
            loader.insert(self.tables.checking, customer, &Checking::loaded(self.drive.seed, party.id));
        }
    }

    #[inline]
    fn generate(&self, _: ClientId, _: u64, rng: &mut Rng) -> Input {
        input::generate(&self.settings, &self.people, rng)
    }

    #[inline]
    fn kind(&self, input: &Input) -> usize {
        input.kind as usize
    }

    fn homes(&self, input: &Input) -> Homes {
        input.homes()
    }

    fn footprint(&self, input: &Input, footprint: &mut InputFootprint) {
        let Tables { account, savings, checking } = self.tables;
        let [first, second] = [input.first, input.second].map(|party| Customer(party.id));
        footprint.read_fixed(account, input.first.name);
        if input.kind.is_of_two() {
            footprint.read_fixed(account, input.second.name);
        }
        match input.kind {
            Kind::Balance => {
                footprint.read(savings, first);
                footprint.read(checking, first);
            }
            Kind::DepositChecking => footprint.write(checking, first),
            Kind::TransactSavings => footprint.write(savings, first),
            Kind::Amalgamate => {
                footprint.write(savings, first);
                footprint.write(checking, first);
                footprint.write(checking, second);
            }
            Kind::WriteCheck => {
                footprint.read(savings, first);
                footprint.write(checking, first);
            }
            Kind::SendPayment => {
                footprint.write(checking, first);
                footprint.write(checking, second);
            }
        }
        footprint.complete();
    }

    #[inline]
    fn execute<T: Transaction>(&self, input: &Input, (): &mut (), txn: &mut T) -> Result<Output, Abort> {
        self.run(input, txn)
    }

    #[inline]
    fn committed(&self, ledger: &mut Ledger, input: &Input, output: &Output) {
        ledger.change(input.first.id, Sums { savings: output.savings, checking: output.checking });
        ledger.change(input.second.id, Sums { savings: 0, checking: output.received });
        ledger.flown = ledger.flown.wrapping_add(flow(input, output.has_penalty));
        ledger.wrong += u64::from(output.is_wrong);
        ledger.digest = ledger.digest.wrapping_add(output.seen);
    }

    fn check(&self, view: &impl Quiesced, share: Share, ledgers: &[Ledger]) -> Result<(), Violation> {
        check::check(self, view, share, Some(ledgers))
    }

    fn check_state(&self, view: &impl Quiesced, share: Share) -> Result<(), Violation> {
        check::check(self, view, share, None)
    }
}
