//! Fees: what a trade costs, what its tax is, and what is settled (TPC-E 3.3.7, 3.3.8).
//!
//! The loader, Trade-Order and Trade-Result compute with these functions, so that loaded trades are as those of a run.
//! Arguments may be those of rows that change while they are read: sums wrap, and no argument panics.

use engine::Text;

use super::names;
use super::rows::{EXCHANGES, TradeType};
use super::scale::{COMPANIES, SECURITIES};

/// The tiers of customers.
pub(super) const TIERS: u8 = 3;

/// `CH_CHRG` in cents, by tier.
const MARKET_CHARGES: [i64; TIERS as usize] = [500, 450, 250];
/// See [`MARKET_CHARGES`].
const STOP_LOSS_CHARGES: [i64; TIERS as usize] = [650, 550, 350];
/// See [`MARKET_CHARGES`].
const LIMIT_CHARGES: [i64; TIERS as usize] = [600, 500, 300];

/// The bands of quantities: `CR_FROM_QTY` and `CR_TO_QTY`.
const QUANTITIES: [(u32, u32); 4] = [(1, 200), (201, 500), (501, 1_000), (1_001, 9_999_999)];
/// The rates of orders without a limit on the first exchange for the least quantities, by tier, in 1/100,000.
const BASE_RATES: [u32; TIERS as usize] = [400, 360, 310];
/// The discounts of the bands of quantities, in 1/100,000.
const DISCOUNTS: [u32; QUANTITIES.len()] = [0, 40, 90, 150];
/// A rate of 1 is 100,000 in rows.
const RATE_UNIT: u64 = 100_000;

/// A row of COMMISSION_RATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub(super) tier: u8,
    pub(super) kind: TradeType,
    pub(super) exchange: u8,
    /// `CR_FROM_QTY`.
    pub(super) from: u32,
    /// `CR_TO_QTY`.
    pub(super) to: u32,
    /// `CR_RATE`, in 1/100,000 of the price.
    pub(super) rate: u32,
}

/// Returns the charge of an order in cents: `CH_CHRG`.
#[inline]
pub(super) fn charge(kind: TradeType, tier: u8) -> i64 {
    let charges = match kind {
        TradeType::MarketBuy | TradeType::MarketSell => MARKET_CHARGES,
        TradeType::StopLoss => STOP_LOSS_CHARGES,
        TradeType::LimitSell | TradeType::LimitBuy => LIMIT_CHARGES,
    };
    charges[place_of_tier(tier)]
}

/// Returns the rate of the commission, in 1/100,000 of the price: `CR_RATE`. It falls with the tier and with the
/// quantity.
#[inline]
pub(super) fn commission_rate(tier: u8, kind: TradeType, exchange: u8, quantity: u32) -> u32 {
    let band = QUANTITIES.iter().position(|&(_, to)| quantity <= to).unwrap_or(QUANTITIES.len() - 1);
    let of_kind = match kind {
        TradeType::MarketBuy | TradeType::MarketSell => 0,
        TradeType::LimitSell | TradeType::LimitBuy => 15,
        TradeType::StopLoss => 25,
    };
    BASE_RATES[place_of_tier(tier)] + of_kind + 5 * u32::from(exchange % EXCHANGES) - DISCOUNTS[band]
}

/// Returns the rows of COMMISSION_RATE.
pub(super) fn bands() -> impl Iterator<Item = Band> {
    let orders = (1..=TIERS)
        .flat_map(|tier| TradeType::ALL.into_iter().map(move |(kind, ..)| (tier, kind)))
        .flat_map(|(tier, kind)| (0..EXCHANGES).map(move |exchange| (tier, kind, exchange)));
    orders.flat_map(|(tier, kind, exchange)| {
        QUANTITIES.into_iter().map(move |(from, to)| Band {
            tier,
            kind,
            exchange,
            from,
            to,
            rate: commission_rate(tier, kind, exchange, from),
        })
    })
}

/// Returns the commission of a trade in cents, for a rate in 1/100,000 and a price in cents.
#[inline]
pub(super) fn commission(rate: u32, quantity: u32, price: u32) -> i64 {
    let value = u64::from(quantity) * u64::from(price);
    (value.wrapping_mul(u64::from(rate)).wrapping_add(RATE_UNIT / 2) / RATE_UNIT) as i64
}

/// Returns the tax on a gain, both in cents, for the sum of the rates of the customer in 1/100,000. A loss has no tax.
#[inline]
pub(super) fn tax(gain_cents: i64, rates_sum: u32) -> i64 {
    let gain = gain_cents.max(0) as u64;
    (gain.wrapping_mul(u64::from(rates_sum)).wrapping_add(RATE_UNIT / 2) / RATE_UNIT) as i64
}

/// Returns `SE_AMT` before taxes, in cents: what a sale brings, or, below 0, what a purchase costs.
#[inline]
pub(super) fn settlement_amount(
    is_sell: bool,
    quantity: u32,
    price: u32,
    charge: i64,
    commission: i64,
) -> i64 {
    let value = i64::from(quantity).wrapping_mul(i64::from(price));
    let fees = charge.wrapping_add(commission);
    if is_sell { value.wrapping_sub(fees) } else { value.wrapping_add(fees).wrapping_neg() }
}

/// Returns `CT_NAME` of a trade, for example `Market-Buy 100 shares of COMMON of AAAAB`.
pub(super) fn cash_name(kind: TradeType, quantity: u32, security: u32) -> Text<100> {
    let (_, _, name) = TradeType::ALL[kind as usize];
    let mut line = Line::<100>::default();
    line.push(name.as_bytes());
    line.push(b" ");
    line.push_number(quantity);
    line.push(b" shares of ");
    line.push(security_name(security).as_bytes());
    line.text()
}

/// Returns `S_NAME` of a security: its issue and its symbol.
pub(super) fn security_name(security: u32) -> Text<70> {
    let mut line = Line::<70>::default();
    line.push(if issue_of_security(security) == 0 { b"COMMON of " } else { b"PREF_A of " });
    line.push(names::symbol(security).as_bytes());
    line.text()
}

/// Returns the number of the issue of a security of its company: `S_ISSUE`.
pub(super) fn issue_of_security(security: u32) -> u8 {
    (security % SECURITIES / COMPANIES) as u8
}

/// Returns the exchange of a security: `S_EX_ID`, with exchanges numbered from 0.
#[inline]
pub(super) fn exchange_of_security(security: u32) -> u8 {
    (security % u32::from(EXCHANGES)) as u8
}

fn place_of_tier(tier: u8) -> usize {
    usize::from(tier.clamp(1, TIERS) - 1)
}

/// A text that is put together without memory of its own. What has no room is cut off.
struct Line<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Line<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Line<N> {
    fn push(&mut self, text: &[u8]) {
        let len = text.len().min(N - self.len);
        self.bytes[self.len..][..len].copy_from_slice(&text[..len]);
        self.len += len;
    }

    fn push_number(&mut self, mut number: u32) {
        let mut digits = [0; 10];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.push(&digits[first..]);
    }

    fn text(&self) -> Text<N> {
        Text::new(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn charges_are_those_of_the_specification() {
        let of = |kind| [1, 2, 3].map(|tier| charge(kind, tier));
        assert_eq!(of(TradeType::MarketBuy), [500, 450, 250]);
        assert_eq!(of(TradeType::MarketSell), [500, 450, 250]);
        assert_eq!(of(TradeType::StopLoss), [650, 550, 350]);
        assert_eq!(of(TradeType::LimitSell), [600, 500, 300]);
        assert_eq!(of(TradeType::LimitBuy), [600, 500, 300]);
    }

    #[test]
    fn bands_cover_all_quantities_and_agree_with_the_rate() {
        let all: Vec<Band> = bands().collect();
        assert_eq!(all.len(), 240);
        let keys: BTreeSet<_> =
            all.iter().map(|band| (band.tier, band.kind, band.exchange, band.from)).collect();
        assert_eq!(keys.len(), 240);
        for of_order in all.chunks(4) {
            assert_eq!((of_order[0].from, of_order[3].to), (1, 9_999_999));
            assert!(of_order.windows(2).all(|two| two[0].to + 1 == two[1].from && two[0].rate > two[1].rate));
        }
        for band in all {
            for quantity in [band.from, band.to] {
                assert_eq!(commission_rate(band.tier, band.kind, band.exchange, quantity), band.rate);
            }
            if band.tier > 1 {
                assert!(band.rate < commission_rate(band.tier - 1, band.kind, band.exchange, band.from));
            }
            assert!(band.rate > 0);
        }
    }

    #[test]
    fn amounts_are_rounded_to_cents() {
        // 100 shares at 25.01, of which 0.4% are 10.004.
        assert_eq!(commission(400, 100, 2_501), 1_000);
        assert_eq!(commission(400, 100, 2_502), 1_001);
        assert_eq!(tax(1_000, 42_550), 426);
        assert_eq!(tax(1_000, 42_549), 425);
        assert_eq!(tax(-1_000, 42_549), 0);
    }

    #[test]
    fn a_sale_brings_its_value_less_the_fees_and_a_purchase_costs_both() {
        assert_eq!(settlement_amount(true, 100, 2_500, 500, 1_000), 248_500);
        assert_eq!(settlement_amount(false, 100, 2_500, 500, 1_000), -251_500);
    }

    #[test]
    fn no_argument_panics() {
        assert!(commission(u32::MAX, u32::MAX, u32::MAX) != 1);
        assert!(tax(i64::MAX, u32::MAX) != 1);
        assert!(settlement_amount(false, u32::MAX, u32::MAX, i64::MIN, i64::MIN) != 1);
        assert_eq!(charge(TradeType::MarketBuy, 0), charge(TradeType::MarketBuy, 1));
        assert_eq!(
            commission_rate(u8::MAX, TradeType::LimitBuy, 3, u32::MAX),
            commission_rate(3, TradeType::LimitBuy, 3, 5_000)
        );
    }

    #[test]
    fn a_cash_transaction_is_named_after_its_trade() {
        let name = cash_name(TradeType::MarketBuy, 100, 1);
        assert_eq!(name.as_bytes(), b"Market-Buy 100 shares of COMMON of AAAAB");
        let longest = cash_name(TradeType::MarketSell, u32::MAX, 136);
        assert_eq!(longest.as_bytes(), b"Market-Sell 4294967295 shares of PREF_A of AAAFG");
    }

    #[test]
    fn exchanges_have_about_as_many_securities_each() {
        let of = |exchange| (0..685).filter(|&security| exchange_of_security(security) == exchange).count();
        assert!((0..EXCHANGES).all(|exchange| (171..=172).contains(&of(exchange))));
    }
}
