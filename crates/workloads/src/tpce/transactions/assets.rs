//! The value of accounts: their positions in HOLDING_SUMMARY at the prices of LAST_TRADE.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::found;
use super::super::keys::{SecurityKey, SummaryKey};
use super::super::schema::Tables;

/// Adds the positions of an account to a buffer: securities, in ascending order, and quantities.
pub(super) fn add_positions<T: Transaction>(
    tables: &Tables,
    account: u64,
    into: &mut Vec<(u32, i64)>,
    txn: &mut T,
) -> Result<(), Abort> {
    let positions = SummaryKey::of_accounts(account, account);
    txn.scan(tables.summary, positions, Direction::Forward, |key, row| {
        into.push((key.security(), row.quantity));
        ControlFlow::Continue(())
    })
}

/// Returns the value of positions at the last prices, in cents. Short positions count negative.
pub(super) fn value_of<T: Transaction>(
    tables: &Tables,
    positions: &[(u32, i64)],
    txn: &mut T,
) -> Result<i64, Abort> {
    let mut value = 0_i64;
    for &(security, quantity) in positions {
        let price = found(txn.read(tables.last_trade, SecurityKey::new(security), |row| row.price)?)?;
        value = value.wrapping_add(quantity.wrapping_mul(i64::from(price)));
    }
    Ok(value)
}

/// Declares that the last prices of positions will be read.
pub(super) fn prefetch_prices<T: Transaction>(tables: &Tables, positions: &[(u32, i64)], txn: &mut T) {
    txn.prefetch(tables.last_trade, positions.iter().map(|&(security, _)| SecurityKey::new(security)));
}
