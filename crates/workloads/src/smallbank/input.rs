//! Inputs: the requests of customers.

use engine::Homes;
use stdx::{Permutation, Rng};

use super::rows::Name;
use super::settings::Settings;

/// The amounts of H-Store's program, in cents.
const DEPOSIT_CENTS: i64 = 130;
const TRANSACT_CENTS: i64 = 2_020;
const CHECK_CENTS: i64 = 500;
const PAYMENT_CENTS: i64 = 500;

/// The maximum number of draws of a second customer who differs from the first. Then the next customer is taken,
/// which happens only if almost all choices fall on one customer.
const DRAWS: u32 = 64;

/// The types of transaction, in the order of Alomari et al., and `SendPayment`, which H-Store added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Balance,
    DepositChecking,
    TransactSavings,
    Amalgamate,
    WriteCheck,
    SendPayment,
}

impl Kind {
    pub(super) const COUNT: usize = 6;
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Balance,
        Self::DepositChecking,
        Self::TransactSavings,
        Self::Amalgamate,
        Self::WriteCheck,
        Self::SendPayment,
    ];

    /// Returns `true` if the type involves two customers.
    pub(super) fn is_of_two(self) -> bool {
        matches!(self, Self::Amalgamate | Self::SendPayment)
    }

    /// Returns the amount, in cents.
    fn amount(self) -> i64 {
        match self {
            Self::Balance | Self::Amalgamate => 0,
            Self::DepositChecking => DEPOSIT_CENTS,
            Self::TransactSavings => TRANSACT_CENTS,
            Self::WriteCheck => CHECK_CENTS,
            Self::SendPayment => PAYMENT_CENTS,
        }
    }
}

/// A customer as a request names the customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party {
    pub(super) name: Name,
    /// The id that ACCOUNT has for the name. A request tells the scheme only the home of the id.
    pub(super) id: u64,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub(super) kind: Kind,
    pub(super) first: Party,
    /// The customer who is paid; the first customer if the type has no second.
    pub(super) second: Party,
    /// The amount in cents: negative for a withdrawal from savings, and for a deposit that is to be refused.
    pub(super) amount: i64,
}

impl Input {
    /// Returns the homes of the accounts that the request touches.
    pub(super) fn homes(&self) -> Homes {
        let mut homes = Homes::new();
        homes.add(self.first.id);
        homes.add(self.second.id);
        homes
    }
}

/// The mapping from customers' numbers to ids. Numbers are in the order of how busy the customers are. Ids are in
/// random order, so that busy customers are not adjacent.
#[derive(Clone, Debug)]
pub(super) struct People(Permutation);

impl People {
    pub(super) fn new(customers: u64, seed: u64) -> Self {
        Self(Permutation::new(customers, seed))
    }

    /// Returns the customer with a number.
    pub(super) fn party(&self, number: u64) -> Party {
        Party { name: Name::of(number), id: self.0.apply(number) }
    }
}

/// Draws a request.
pub(super) fn generate(settings: &Settings, people: &People, rng: &mut Rng) -> Input {
    let kind = settings.kind(rng);
    let number = settings.customer(rng);
    let mut first = people.party(number);
    let second = if kind.is_of_two() { people.party(other(settings, number, rng)) } else { first };
    let mut amount = kind.amount();
    // A request is a deposit or a withdrawal.
    if kind == Kind::TransactSavings && rng.below(2) == 0 {
        amount = -amount;
    }
    if rng.percent(settings.refused_pct) {
        if kind == Kind::DepositChecking {
            amount = -amount;
        } else {
            first.name = Name::of(settings.customers + number);
        }
    }
    Input { kind, first, second, amount }
}

/// Returns the number of a customer other than the first.
fn other(settings: &Settings, first: u64, rng: &mut Rng) -> u64 {
    let drawn = (0..DRAWS).map(|_| settings.customer(rng)).find(|&number| number != first);
    drawn.unwrap_or((first + 1) % settings.customers)
}
