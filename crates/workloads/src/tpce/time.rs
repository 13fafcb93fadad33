//! Trading time, dates, and the price of a security at each moment (TPC-E 2.6.4, 6.5).
//!
//! *Trading time* is in milliseconds from the first of the initial trades on, without nights and weekends. A run goes
//! on where the initial trades end. Trading time advances with the orders that are sent, and not with the clock: see
//! `market`. Columns have calendar time, in milliseconds since 1970.

use super::rows::TradeType;

/// The trading time of a day: eight hours.
pub(super) const DAY_MS: u64 = 8 * 3_600_000;
/// The trading time between the last initial order and the start of the run, in which all initial trades end: a price
/// crosses each limit within a period, and an answer takes five seconds at most.
pub(super) const PAUSE_MS: u64 = PERIOD_MS + 100_000;
/// The period of the price of a security.
pub(super) const PERIOD_MS: u64 = 900_000;
/// The lowest price, in cents.
pub(super) const PRICE_MIN: u32 = 2_000;
/// The highest price, in cents.
pub(super) const PRICE_MAX: u32 = 3_000;

/// The milliseconds in which a price changes by one cent.
const CENT_MS: u64 = PERIOD_MS / 2 / (PRICE_MAX - PRICE_MIN) as u64;
/// The day of the first trade, Monday, 3 January 2005, in days since 1970.
const FIRST_DAY: u64 = 12_786;
/// The hour at which trading begins.
const OPENING_MS: u64 = 9 * 3_600_000;
const CALENDAR_DAY_MS: u64 = 24 * 3_600_000;
/// The first day of DAILY_MARKET, Monday, 3 January 2000, in days since 1970.
const FIRST_MARKET_DAY: u32 = 10_959;
/// The days of DAILY_MARKET: five years of 261 days.
pub(super) const MARKET_DAYS: u32 = 1_305;

/// Returns the calendar time of a trading time, in milliseconds since 1970.
pub(super) fn calendar(trading_ms: u64) -> u64 {
    let (day, within) = (trading_ms / DAY_MS, trading_ms % DAY_MS);
    (FIRST_DAY + day / 5 * 7 + day % 5) * CALENDAR_DAY_MS + OPENING_MS + within
}

/// Returns the date of a calendar time, in days since 1970.
pub(super) fn date(calendar_ms: u64) -> u32 {
    (calendar_ms / CALENDAR_DAY_MS) as u32
}

/// Returns the date of a day of DAILY_MARKET, in days since 1970: Mondays to Fridays.
pub(super) fn market_date(day: u32) -> u32 {
    FIRST_MARKET_DAY + day / 5 * 7 + day % 5
}

/// Returns the price of a security in cents: a triangle between the lowest and the highest price, with another phase
/// for each security.
pub(super) fn price(security: u32, trading_ms: u64) -> u32 {
    let phase = phase(security, trading_ms);
    PRICE_MIN + (phase.min(PERIOD_MS - phase) / CENT_MS) as u32
}

fn phase(security: u32, trading_ms: u64) -> u64 {
    (trading_ms + u64::from(security) * 556_237 + 253_791) % PERIOD_MS
}

/// Returns `true` if an order of a type with a limit is executed at a price (TPC-E 3.3.3).
pub(super) fn is_triggered(kind: TradeType, limit: u32, price: u32) -> bool {
    match kind {
        TradeType::MarketBuy | TradeType::MarketSell => true,
        TradeType::StopLoss | TradeType::LimitBuy => price <= limit,
        TradeType::LimitSell => price >= limit,
    }
}

/// Returns the trading time at which the price of a security first triggers an order, from a time on.
pub(super) fn triggered_at(kind: TradeType, limit: u32, security: u32, from: u64) -> u64 {
    let phase = phase(security, from);
    if is_triggered(kind, limit, price(security, from)) {
        return from;
    }
    let cents = |limit: u32| u64::from(limit.clamp(PRICE_MIN, PRICE_MAX) - PRICE_MIN);
    let target = match kind {
        // On the way up the price has the limit first at this phase.
        TradeType::LimitSell => cents(limit) * CENT_MS,
        // On the way down the price is below the next cent just after this phase.
        _ => PERIOD_MS - (cents(limit) + 1) * CENT_MS + 1,
    };
    from + (target + PERIOD_MS - phase) % PERIOD_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_from_monday_to_friday() {
        let days: Vec<u32> = (0..6).map(|day| date(calendar(day * DAY_MS))).collect();
        assert_eq!(days, [12_786, 12_787, 12_788, 12_789, 12_790, 12_793]);
        assert_eq!(calendar(1) - calendar(0), 1);
        assert!(calendar(DAY_MS) - calendar(DAY_MS - 1) > 16 * 3_600_000);
        assert_eq!([0, 4, 5].map(market_date), [10_959, 10_963, 10_966]);
    }

    #[test]
    fn prices_are_a_triangle() {
        let at_zero = PERIOD_MS - 253_791;
        assert_eq!(price(0, at_zero), 2_000);
        assert_eq!(price(0, at_zero + PERIOD_MS / 2), 3_000);
        assert_eq!(price(0, at_zero + 450), 2_001);
        assert_eq!(price(0, at_zero + PERIOD_MS - 450), 2_001);
        assert_ne!(price(0, 0), price(1, 0));
    }

    #[test]
    fn orders_are_triggered_at_the_first_moment() {
        for kind in [TradeType::StopLoss, TradeType::LimitBuy, TradeType::LimitSell] {
            for limit in [2_000, 2_001, 2_500, 2_999, 3_000] {
                for from in (0..PERIOD_MS).step_by(98_765) {
                    let at = triggered_at(kind, limit, 3, from);
                    assert!(at - from <= PERIOD_MS);
                    assert!(is_triggered(kind, limit, price(3, at)), "{kind:?} {limit} {from}");
                    assert!(
                        at == from || !is_triggered(kind, limit, price(3, at - 1)),
                        "{kind:?} {limit} {from}"
                    );
                }
            }
        }
        assert_eq!(triggered_at(TradeType::MarketBuy, 0, 3, 77), 77);
    }
}
