//! Steps that Trade-Order and Trade-Result have in common: Trade-Order estimates what Trade-Result does (TPC-E 3.3.7
//! and 3.3.8).
//!
//! They read HOLDING, CUSTOMER_TAXRATE, TAXRATE and COMMISSION_RATE. Only HOLDING is written during a run, apart
//! from rare changes by Data-Maintenance, and each account has its own lots.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::fees;
use super::super::found;
use super::super::keys::{CommissionKey, CustomerTaxrateKey, HoldingKey, TaxrateKey};
use super::super::positions::Lot;
use super::super::rows::TradeType;
use super::super::schema::Tables;

/// `CA_TAX_ST` of accounts whose taxes are withheld.
const WITHHELD: u8 = 1;
/// `CA_TAX_ST` of accounts that are taxed, but whose taxes are not withheld.
const NOT_WITHHELD: u8 = 2;

/// Returns `true` if gains of an account with a `CA_TAX_ST` are taxed.
pub(super) fn is_taxed(tax_status: u8) -> bool {
    matches!(tax_status, WITHHELD | NOT_WITHHELD)
}

/// Returns `true` if taxes of an account with a `CA_TAX_ST` are taken from what is settled.
pub(super) fn is_withheld(tax_status: u8) -> bool {
    tax_status == WITHHELD
}

/// Returns the quantity by which a trade changes a position: negative for a sale.
pub(super) fn signed_quantity(is_sell: bool, quantity: u32) -> i32 {
    let quantity = quantity as i32;
    if is_sell { quantity.wrapping_neg() } else { quantity }
}

/// A trade that changes a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// `CA_ID`.
    pub(super) account: u64,
    /// The security.
    pub(super) security: u32,
    /// The quantity, negative for a sale.
    pub(super) quantity: i32,
    /// `true` if the newest lots are closed first.
    pub(super) is_lifo: bool,
}

impl Change {
    /// Collects the lots that the trade may close into the emptied buffer, in the order in which they are closed, and
    /// reads no more of them than it needs. A position of the trade's own sign, or none, has no such lots.
    pub(super) fn collect_lots<T: Transaction>(
        &self,
        tables: &Tables,
        position: i64,
        lots: &mut Vec<Lot>,
        txn: &mut T,
    ) -> Result<(), Abort> {
        lots.clear();
        if position.signum() != -i64::from(self.quantity.signum()) {
            return Ok(());
        }
        let direction = if self.is_lifo { Direction::Backward } else { Direction::Forward };
        let mut needed = self.quantity.unsigned_abs();
        let keys = HoldingKey::of_position(self.account, self.security);
        txn.scan(tables.holding, keys, direction, |key, row| {
            let (time, trade) = (key.time(), key.trade());
            lots.push(Lot { time, trade, price: row.price, quantity: row.quantity });
            if row.quantity.signum() != self.quantity.signum() {
                needed = needed.saturating_sub(row.quantity.unsigned_abs());
            }
            if needed > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    }
}

/// Returns the tax on the gain of a customer, both in cents: by the sum of the customer's rates. `rates` is a buffer.
pub(super) fn read_tax<T: Transaction>(
    tables: &Tables,
    customer: u64,
    gain: i64,
    rates: &mut Vec<(u32, i64)>,
    txn: &mut T,
) -> Result<i64, Abort> {
    rates.clear();
    let keys = CustomerTaxrateKey::of_customer(customer);
    txn.scan(tables.customer_taxrate, keys, Direction::Forward, |key, _| {
        rates.push((u32::from(key.rate()), 0));
        ControlFlow::Continue(())
    })?;
    let mut sum = 0_u32;
    for &(rate, _) in &*rates {
        let key = TaxrateKey::new(rate as u16);
        sum = sum.wrapping_add(found(txn.read(tables.taxrate, key, |row| row.rate)?)?);
    }
    Ok(fees::tax(gain, sum))
}

/// An order, as far as its commission depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commissioned {
    /// `C_TIER`.
    pub(super) tier: u8,
    /// The type.
    pub(super) kind: TradeType,
    /// The exchange of the security.
    pub(super) exchange: u8,
    /// The quantity.
    pub(super) quantity: u32,
    /// The price, in cents.
    pub(super) price: u32,
}

impl Commissioned {
    /// Returns the commission in cents, by the rate of the band of quantities.
    pub(super) fn read<T: Transaction>(&self, tables: &Tables, txn: &mut T) -> Result<i64, Abort> {
        let mut rate = None;
        let keys = CommissionKey::up_to(self.tier, self.kind, self.exchange, self.quantity);
        txn.scan(tables.commission_rate, keys, Direction::Backward, |_, row| {
            rate = Some(row.rate);
            ControlFlow::Break(())
        })?;
        Ok(fees::commission(found(rate)?, self.quantity, self.price))
    }
}
