//! Positions: how a trade changes the lots that an account holds of a security (TPC-E 3.3.8, frame 2).
//!
//! A sale closes lots that were bought, a purchase closes lots that were sold short, in the order in which they are
//! given: oldest first, or newest first. The rest of the trade opens a lot of its own.

/// A lot: a part of a position that one trade has opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lot {
    /// `H_DTS`.
    pub(super) time: u64,
    /// `H_T_ID`: the trade that opened it.
    pub(super) trade: u64,
    /// `H_PRICE`, in cents.
    pub(super) price: u32,
    /// `H_QTY`: negative if it was sold short.
    pub(super) quantity: i32,
}

/// The result of a trade for the lots of its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Closing {
    /// For how much the closed lots were bought, in cents.
    pub(super) buy_value: i64,
    /// For how much the closed lots were sold, in cents.
    pub(super) sell_value: i64,
    /// The quantity that is left and opens a lot: negative for a sale.
    pub(super) opened: i32,
}

impl Closing {
    /// Returns the gain of the closed lots, in cents.
    pub(super) fn gain(&self) -> i64 {
        self.sell_value - self.buy_value
    }
}

/// Closes lots by a trade of a signed quantity, negative for a sale, at a price. Tells `change` each lot that is
/// touched, and its quantity afterwards, 0 if it is closed as a whole. Lots of the trade's own sign are left alone.
///
/// # Errors
/// Those of `change`.
pub(super) fn close<E>(
    lots: impl IntoIterator<Item = Lot>,
    quantity: i32,
    price: u32,
    mut change: impl FnMut(&Lot, i32) -> Result<(), E>,
) -> Result<Closing, E> {
    let mut closing = Closing { opened: quantity, ..Closing::default() };
    for lot in lots {
        if closing.opened == 0 {
            break;
        }
        if lot.quantity.signum() != -quantity.signum() {
            continue;
        }
        let taken = lot.quantity.unsigned_abs().min(closing.opened.unsigned_abs());
        let (at_lot, at_trade) =
            (i64::from(taken) * i64::from(lot.price), i64::from(taken) * i64::from(price));
        let (bought, sold) = if quantity < 0 { (at_lot, at_trade) } else { (at_trade, at_lot) };
        closing.buy_value += bought;
        closing.sell_value += sold;
        let taken = taken as i32 * quantity.signum();
        closing.opened -= taken;
        change(&lot, lot.quantity + taken)?;
    }
    Ok(closing)
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use super::*;

    fn closed(lots: &[(i32, u32)], quantity: i32, price: u32) -> (Closing, Vec<i32>) {
        let lots = lots.iter().map(|&(quantity, price)| Lot { price, quantity, ..Lot::default() });
        let mut after = Vec::new();
        let Ok::<_, Infallible>(closing) = close(lots, quantity, price, |_, left| {
            after.push(left);
            Ok(())
        });
        (closing, after)
    }

    #[test]
    fn a_sale_closes_bought_lots_in_order() {
        let (closing, after) = closed(&[(100, 2_000), (400, 2_100)], -300, 2_500);
        assert_eq!(after, [0, 200]);
        let buy_value = 100 * 2_000 + 200 * 2_100;
        assert_eq!(closing, Closing { buy_value, sell_value: 300 * 2_500, opened: 0 });
        assert_eq!(closing.gain(), 300 * 2_500 - buy_value);
    }

    #[test]
    fn a_purchase_closes_lots_sold_short_and_opens_the_rest() {
        let (closing, after) = closed(&[(-100, 2_600)], 400, 2_500);
        assert_eq!(after, [0]);
        assert_eq!(closing, Closing { buy_value: 250_000, sell_value: 260_000, opened: 300 });
    }

    #[test]
    fn lots_of_the_same_sign_stay() {
        let (closing, after) = closed(&[(100, 2_000)], 200, 2_500);
        assert_eq!((closing, after), (Closing { opened: 200, ..Closing::default() }, vec![]));
        let (closing, _) = closed(&[], -800, 2_500);
        assert_eq!(closing.opened, -800);
    }
}
