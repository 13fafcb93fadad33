//! Inputs: what a customer asks the bank for.

use engine::Homes;
use stdx::{Permutation, Rng};

use super::rows::Name;
use super::settings::Settings;

/// The amounts of H-Store's program, in cents.
const DEPOSIT_CENTS: i64 = 130;
const TRANSACT_CENTS: i64 = 2_020;
const CHECK_CENTS: i64 = 500;
const PAYMENT_CENTS: i64 = 500;

/// Draws of the second customer until it is not the first: then it is the next one, which happens only where almost
/// all choices are of one customer.
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

    /// Whether it is about two customers.
    pub(super) fn is_of_two(self) -> bool {
        matches!(self, Self::Amalgamate | Self::SendPayment)
    }

    /// What is paid, in cents.
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

/// A customer, as a request names him.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party {
    pub(super) name: Name,
    /// The id that ACCOUNT has for the name, of which a request says no more than where it lives.
    pub(super) id: u64,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub(super) kind: Kind,
    pub(super) first: Party,
    /// The one who is paid; the first where there is none.
    pub(super) second: Party,
    /// In cents; negative where savings are withdrawn, and in a deposit that is to be refused.
    pub(super) amount: i64,
}

impl Input {
    /// Where the accounts are that it touches.
    pub(super) fn homes(&self) -> Homes {
        let mut homes = Homes::new();
        homes.add(self.first.id);
        homes.add(self.second.id);
        homes
    }
}

/// Who has which id. The numbers of customers are in the order of how busy they are, and their ids in none, so that
/// busy ones are no neighbours.
#[derive(Clone, Debug)]
pub(super) struct People(Permutation);

impl People {
    pub(super) fn new(customers: u64, seed: u64) -> Self {
        Self(Permutation::new(customers, seed))
    }

    /// The customer with a number.
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
    // A deposit or a withdrawal.
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

/// The number of a customer who is not the first.
fn other(settings: &Settings, first: u64, rng: &mut Rng) -> u64 {
    let drawn = (0..DRAWS).map(|_| settings.customer(rng)).find(|&number| number != first);
    drawn.unwrap_or((first + 1) % settings.customers)
}
