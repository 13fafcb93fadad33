//! The initial rows (TPC-E 2.6). Each row is a pure function of (seed, table, key), so that any number of loaders makes
//! the same rows.
//!
//! Our own generator replaces the specification's. It keeps what decides how many rows are read and which of them are
//! read or written by many: numbers of rows, the skew of customers, the securities of accounts, types and quantities of
//! trades, and positions, which follow from the trades as during a run. Texts and figures that only have a length are
//! random.
//!
//! A table is divided among loaders by its own keys, and trades by brokers: the trades of one broker's accounts change
//! nothing of another's. TRADE_REQUEST and the log of the analytic transaction are empty.

mod customers;
mod dimensions;
mod market;
mod orders;
mod texts;
mod trades;

#[cfg(test)]
mod tests;

use engine::{Loader, Share};

use super::Tpce;
use super::rows::COUNTRY_RATES;
use super::scale::{Scale, Stream};

/// The greatest amount of `CA_BAL`, in cents.
const BALANCE_MAX: u64 = 999_999_999;
/// The rates of countries, US1 to US5 and CN1 to CN4, in 1/100,000.
const COUNTRIES: [u32; COUNTRY_RATES as usize] =
    [15_000, 27_500, 30_500, 35_500, 39_100, 16_000, 22_000, 26_000, 29_000];

/// Loads a share of the initial rows.
pub(super) fn load(tpce: &Tpce, share: Share, loader: &mut impl Loader) {
    dimensions::load(tpce, share, loader);
    market::load(tpce, share, loader);
    customers::load(tpce, share, loader);
    trades::load(tpce, share, loader);
}

/// Returns `CA_BAL` of an account after loading, in cents, which does not depend on the loaded trades. Four in five
/// accounts have money, and one in five has debts.
pub(super) fn initial_balance(scale: Scale, account: u64) -> i64 {
    let rng = &mut scale.stream(Stream::Account, &[account, 0]);
    let amount = rng.between(0, BALANCE_MAX) as i64;
    if rng.below(5) == 0 { -amount } else { amount }
}

/// Returns `CA_TAX_ST` of an account: 0 for 20% of the accounts, 1 for 50%, 2 for 30%.
pub(super) fn tax_status(scale: Scale, account: u64) -> u8 {
    match scale.stream(Stream::Account, &[account, 1]).below(100) {
        0..20 => 0,
        20..70 => 1,
        _ => 2,
    }
}

/// Returns `TX_RATE` of the tax rate with a number, in 1/100,000. The rates of countries are the first ones.
pub(super) fn taxrate(number: u16) -> u32 {
    match COUNTRIES.get(usize::from(number)) {
        Some(&rate) => rate,
        // Rates of divisions are from 0.5% to 9.5%.
        None => 500 + u32::from(number) * 617 % 9_001,
    }
}
