//! The forecast of SmallBank: the load that the settings cause, computed before anything runs.

use engine::{Drive, Forecast};

use super::input::Kind;
use super::rows::{Account, Checking, Savings};
use super::settings::{Choice, Settings};
use crate::text::{self, at_least_one, percent};

/// The access of a transaction to an account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Nothing,
    Read,
    Write,
}

use Access::{Nothing, Read, Write};

impl Access {
    fn conflicts(self, other: Self) -> bool {
        self != Nothing && other != Nothing && (self == Write || other == Write)
    }
}

/// The accesses of a transaction type to the savings and the checking account of each of its customers.
fn accesses(kind: Kind) -> &'static [(Access, Access)] {
    match kind {
        Kind::Balance => &[(Read, Read)],
        Kind::DepositChecking => &[(Nothing, Write)],
        Kind::TransactSavings => &[(Write, Nothing)],
        Kind::Amalgamate => &[(Write, Write), (Nothing, Write)],
        Kind::WriteCheck => &[(Read, Write)],
        Kind::SendPayment => &[(Nothing, Write), (Nothing, Write)],
    }
}

/// The forecast for `contend explain`.
pub(super) fn of(settings: &Settings, drive: Drive) -> Forecast {
    let row_bytes = (size_of::<Account>() + size_of::<Savings>() + size_of::<Checking>()) as u64;
    let conflicts = expected_conflicts(settings) * others(drive);
    Forecast {
        sentences: vec![
            mix(settings),
            data(settings, row_bytes),
            busiest(settings),
            told_conflicts(settings, drive),
            rollbacks(settings),
            "A customer is a home: schemes that own partitions find both accounts at one, and two in an Amalgamate or \
             a SendPayment. Names never change and are readable from everywhere."
                .to_owned(),
        ],
        row_bytes: settings.customers * row_bytes,
        rows: 3 * settings.customers,
        growth_bytes: 0,
        growth_rows: 0.0,
        implicit: None,
        idle: text::idle([("smallbank.commutative", pays_in(settings))]),
        features: vec![
            ("writes a transaction", writes(settings)),
            ("read-only share", settings.share(Kind::Balance)),
            ("two-customer share", two_customers(settings)),
            ("conflicting transactions in flight", conflicts),
        ],
    }
}

fn mix(settings: &Settings) -> String {
    format!(
        "SmallBank: {} of the transactions only read, {} are about two customers; each looks up names first, and reads \
         or writes one to three balances.",
        percent(100.0 * settings.share(Kind::Balance)),
        percent(100.0 * two_customers(settings))
    )
}

fn data(settings: &Settings, row_bytes: u64) -> String {
    format!(
        "{} customers with a name and two accounts each, {row_bytes} bytes together before headers and indexes.",
        settings.customers
    )
}

fn busiest(settings: &Settings) -> String {
    let [first, first_32] = [1, 32].map(|count| percent(100.0 * settings.hottest(count)));
    let shares = format!("the busiest gets {first} of the choices, the busiest 32 get {first_32}");
    match &settings.choice {
        Choice::Uniform => format!("All customers are equally busy: each gets {first} of the choices."),
        Choice::Zipf(_) => format!("Zipf with theta {}: {shares}.", settings.theta),
        Choice::Hotspot { customers, pct } => {
            format!("{pct}% of the choices fall on a hot spot of {customers} customers: {shares}.")
        }
    }
}

fn two_customers(settings: &Settings) -> f64 {
    Kind::ALL.into_iter().filter(|kind| kind.is_of_two()).map(|kind| settings.share(kind)).sum()
}

/// Returns `true` if a type of transaction pays into a checking account.
fn pays_in(settings: &Settings) -> bool {
    let kinds = [Kind::DepositChecking, Kind::Amalgamate, Kind::SendPayment];
    kinds.into_iter().any(|kind| settings.share(kind) > 0.0)
}

/// The mean number of balances that a transaction writes.
fn writes(settings: &Settings) -> f64 {
    let of = |kind: Kind| {
        let accounts = accesses(kind).iter().flat_map(|(savings, checking)| [savings, checking]);
        accounts.filter(|&&access| access == Write).count() as f64
    };
    Kind::ALL.into_iter().map(|kind| settings.share(kind) * of(kind)).sum()
}

/// The mean number of pairs of customers of two transactions that are the same customer and conflict. Rollbacks are
/// ignored, and additions count as writes.
fn expected_conflicts(settings: &Settings) -> f64 {
    let pairs = |a: Kind, b: Kind| {
        let all = accesses(a).iter().flat_map(|a| accesses(b).iter().map(move |b| (a, b)));
        all.filter(|(a, b)| a.0.conflicts(b.0) || a.1.conflicts(b.1)).count() as f64
    };
    let of = |a: Kind| {
        Kind::ALL.into_iter().map(|b| settings.share(a) * settings.share(b) * pairs(a, b)).sum::<f64>()
    };
    settings.collision() * Kind::ALL.into_iter().map(of).sum::<f64>()
}

/// The number of other transactions in flight beside one.
fn others(drive: Drive) -> f64 {
    f64::from(drive.clients.saturating_sub(1))
}

fn told_conflicts(settings: &Settings, drive: Drive) -> String {
    let expected = expected_conflicts(settings);
    if expected == 0.0 {
        return "No two transactions conflict.".to_owned();
    }
    let happens = |expected: f64| percent(100.0 * at_least_one(expected));
    format!(
        "Two transactions in flight conflict on an account in about {} of the cases; with {} clients a transaction \
         meets such another in about {}.",
        happens(expected),
        drive.clients,
        happens(expected * others(drive))
    )
}

fn rollbacks(settings: &Settings) -> String {
    let refused = percent(settings.refused_pct);
    format!(
        "{refused} of the requests are refused; beyond that, withdrawals from savings and payments roll back where an \
         account does not cover them, which an Amalgamate leaves behind: rollbacks are counted apart."
    )
}
