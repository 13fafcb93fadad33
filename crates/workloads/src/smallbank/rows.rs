//! Names and customers, and the rows of the three tables.

use engine::{Home, Key, Row, additive};
use stdx::Rng;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The range of balances after loading, in cents: so high that accounts do not soon become empty, as in the programs of
/// H-Store and `BenchBase`.
const LOADED_CENTS: (u64, u64) = (1_000_000, 5_000_000);
/// The number of uniform random numbers whose sum is a balance, which makes balances approximately normal.
const SUMMANDS: u64 = 4;

/// A customer's name: a number in decimal digits, padded with zeros to 16 letters, as the published programs make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u128);

impl Name {
    /// Creates the name with a number.
    pub(super) fn of(number: u64) -> Self {
        let mut letters = [b'0'; size_of::<u128>()];
        let mut rest = number;
        for letter in letters.iter_mut().rev() {
            *letter += (rest % 10) as u8;
            rest /= 10;
        }
        Self(u128::from_be_bytes(letters))
    }
}

impl Key for Name {
    type Ordered = u128;

    #[inline]
    fn ordered(self) -> u128 {
        self.0
    }

    #[inline]
    fn from_ordered(ordered: u128) -> Self {
        Self(ordered)
    }

    /// Names never change, so every partition may look them up.
    #[inline]
    fn home(self) -> Home {
        Home::Everywhere
    }
}

/// A customer's id. Each customer is a home, which contains both accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Customer(pub(super) u64);

impl Key for Customer {
    type Ordered = u64;

    #[inline]
    fn ordered(self) -> u64 {
        self.0
    }

    #[inline]
    fn from_ordered(ordered: u64) -> Self {
        Self(ordered)
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(self.0)
    }
}

/// ACCOUNT: maps a name to its customer.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Account {
    pub(super) customer: u64,
}

impl Row for Account {
    type Key = Name;
    type Indexes = ();
}

/// SAVINGS.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Savings {
    /// A copy of the key, which shows a row that is found under another's key.
    pub(super) customer: u64,
    /// The balance in cents; never negative.
    pub(super) balance: i64,
}

impl Row for Savings {
    type Key = Customer;
    type Indexes = ();
}

/// CHECKING.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Checking {
    /// A copy of the key, as in [`Savings`].
    pub(super) customer: u64,
    /// The balance in cents; negative after checks that were not covered.
    pub(super) balance: i64,
}

additive!(Checking of Customer { customer, balance });

impl Savings {
    /// Returns the loaded savings of a customer.
    pub(super) fn loaded(seed: u64, customer: u64) -> Self {
        const TABLE: u64 = 0x7361_7669_6e67;
        Self { customer, balance: balance(&mut Rng::from_path(&[seed, TABLE, customer])) }
    }
}

impl Checking {
    /// Returns the loaded checking account of a customer.
    pub(super) fn loaded(seed: u64, customer: u64) -> Self {
        const TABLE: u64 = 0x6368_6563_6b69;
        Self { customer, balance: balance(&mut Rng::from_path(&[seed, TABLE, customer])) }
    }
}

fn balance(rng: &mut Rng) -> i64 {
    let (least, most) = LOADED_CENTS;
    let step = (most - least) / SUMMANDS;
    let above: u64 = (0..SUMMANDS).map(|_| rng.between(0, step)).sum();
    (least + above) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_padded_numbers_in_their_order() {
        assert_eq!(Name::of(1_204).ordered().to_be_bytes(), *b"0000000000001204");
        assert!(Name::of(9).ordered() < Name::of(10).ordered());
        assert_eq!(Name::from_ordered(Name::of(7).ordered()), Name::of(7));
    }

    #[test]
    fn balances_are_in_their_range_and_about_normal() {
        let balances: Vec<i64> = (0..20_000).map(|customer| Savings::loaded(1, customer).balance).collect();
        assert!(balances.iter().all(|balance| (1_000_000..=5_000_000).contains(balance)));
        let near = balances.iter().filter(|balance| balance.abs_diff(3_000_000) < 577_350).count();
        // 68% of a normal distribution are within one standard deviation of the mean.
        assert!(near.abs_diff(13_400) < 600, "{near} of 20,000");
        assert_ne!(Savings::loaded(1, 5).balance, Checking::loaded(1, 5).balance);
    }
}
