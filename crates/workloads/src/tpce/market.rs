//! The market: it answers orders with Trade-Results and tells prices with Market-Feeds (TPC-E 6.4, the market exchange
//! emulator).
//!
//! The market has a *desk* for each client, which answers the orders that the client sent, so that clients share
//! nothing. Its time is trading time (see `time`), and goes on by the same step with each order that the client sends:
//! a run has the delays and the prices of the specification, however fast it is and on whatever machine.
//!
//! An order without a limit is answered after a second in the mean. An order with a limit is *triggered* first: when
//! the price crosses the limit, the desk puts it on the ticker, and a Market-Feed with its price finds the order in
//! TRADE_REQUEST and submits it. The desk of the client that sent this Market-Feed then answers the order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use stdx::Rng;

use super::rows::TradeType;
use super::scale::Stream;
use super::time::{price, triggered_at};

/// The entries of a Market-Feed.
pub(super) const FEED_ENTRIES: usize = 20;
/// The trades that a Market-Feed follows from: each puts two entries on the ticker.
const FEED_TRADES: u32 = FEED_ENTRIES as u32 / 2;

/// The mean delay of an answer, in milliseconds of trading time.
const ANSWER_MEAN_MS: f64 = 1_000.0;
/// The longest delay of an answer.
const ANSWER_MAX_MS: f64 = 5_000.0;
/// The quantity of an entry of the ticker that is there to trigger an order.
const TRIGGER_QUANTITY: u32 = 375;
/// The quantities of an entry of the ticker that concerns nobody.
const OTHER_QUANTITIES: [u32; 2] = [325, 425];

/// An order as the market knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarketOrder {
    /// `T_ID`.
    pub trade: u64,
    /// The security.
    pub security: u32,
    /// The quantity.
    pub quantity: u32,
}

/// An entry of the ticker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quote {
    /// The security.
    pub security: u32,
    /// The price, in cents.
    pub price: u32,
    /// The quantity that was traded.
    pub quantity: u32,
}

/// A request of the market.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "it lives for a moment, and only becomes an input")]
pub(super) enum MarketRequest {
    /// Trade-Result: an order was executed at a price.
    Result { order: MarketOrder, price: u32 },
    /// Market-Feed: prices.
    Feed([Quote; FEED_ENTRIES]),
}

/// Something that happens at a trading time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    order: MarketOrder,
    /// `true` if the order is answered, `false` if its price is reached.
    is_answer: bool,
}

/// The state of the market for one client.
#[derive(Debug)]
pub(super) struct Desk {
    /// The trading time.
    now: u64,
    due: BinaryHeap<Reverse<Due>>,
    /// Orders whose prices were reached, for which the ticker has no entry yet.
    reached: VecDeque<Due>,
    ticker: VecDeque<Quote>,
}

impl Desk {
    /// Creates a desk that opens at a trading time.
    pub(super) fn new(opening: u64) -> Self {
        Self {
            now: opening,
            due: BinaryHeap::with_capacity(256),
            reached: VecDeque::with_capacity(64),
            ticker: VecDeque::with_capacity(2 * FEED_ENTRIES),
        }
    }

    /// Puts entries on the ticker as if trades had ended before the run, two for each as in [`next`](Self::next). Their
    /// number differs from desk to desk, so that the first Market-Feeds of the desks are spread as all later ones are,
    /// and do not all come late.
    pub(super) fn open(mut self, number: u32, desks: u32, securities: u32, rng: &mut Rng) -> Self {
        let trades = if desks < FEED_TRADES { number * FEED_TRADES / desks } else { number % FEED_TRADES };
        for _ in 0..2 * trades {
            let quote = self.other_quote(securities, rng);
            self.ticker.push_back(quote);
        }
        self
    }

    /// The trading time.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Lets trading time go on, because the client sends an order.
    pub(super) fn advance(&mut self, ms: u64) {
        self.now += ms;
    }

    /// Takes an order without a limit, or one that a Market-Feed has submitted: it will be answered.
    pub(super) fn submit(&mut self, seed: u64, order: MarketOrder) {
        let at = self.now + answer_delay(seed, order.trade);
        self.due.push(Reverse(Due { at, order, is_answer: true }));
    }

    /// Takes an order with a limit: when its price is reached, it will be on the ticker.
    pub(super) fn watch(&mut self, order: MarketOrder, kind: TradeType, limit: u32) {
        let at = triggered_at(kind, limit, order.security, self.now);
        self.due.push(Reverse(Due { at, order, is_answer: false }));
    }

    /// Returns the next request that the market has, if it has one now.
    pub(super) fn next(&mut self, securities: u32, rng: &mut Rng) -> Option<MarketRequest> {
        if self.ticker.len() >= FEED_ENTRIES {
            let mut quotes = [Quote::default(); FEED_ENTRIES];
            quotes.iter_mut().zip(self.ticker.drain(..FEED_ENTRIES)).for_each(|(to, quote)| *to = quote);
            return Some(MarketRequest::Feed(quotes));
        }
        while self.due.peek().is_some_and(|Reverse(due)| due.at <= self.now) {
            let Reverse(due) = self.due.pop()?;
            if !due.is_answer {
                self.reached.push_back(due);
                continue;
            }
            let price = price(due.order.security, due.at);
            self.ticker.push_back(Quote {
                security: due.order.security,
                price,
                quantity: due.order.quantity,
            });
            let other = self.other_quote(securities, rng);
            self.ticker.push_back(other);
            return Some(MarketRequest::Result { order: due.order, price });
        }
        None
    }

    /// Returns the entry that accompanies that of a trade: of an order whose price is reached, else of any security.
    fn other_quote(&mut self, securities: u32, rng: &mut Rng) -> Quote {
        if let Some(Due { at, order, .. }) = self.reached.pop_front() {
            return Quote {
                security: order.security,
                price: price(order.security, at),
                quantity: TRIGGER_QUANTITY,
            };
        }
        let security = rng.below(u64::from(securities)) as u32;
        let quantity = OTHER_QUANTITIES[rng.below(2) as usize];
        Quote { security, price: price(security, self.now), quantity }
    }
}

/// Returns the time from the submission of an order to its answer: distributed exponentially, and the same for a trade
/// whenever it is asked for.
pub(super) fn answer_delay(seed: u64, trade: u64) -> u64 {
    let unit = Rng::from_path(&[seed, Stream::Trade as u64, 1, trade]).unit();
    (-ANSWER_MEAN_MS * (1.0 - unit).ln()).min(ANSWER_MAX_MS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: MarketOrder = MarketOrder { trade: 7, security: 3, quantity: 200 };

    #[test]
    fn desks_open_with_different_numbers_of_entries_and_none_with_a_feed() {
        let opened = |number| Desk::new(1_000).open(number, 11, 10, &mut Rng::new(1));
        let entries: Vec<_> = (0..11).map(|number| opened(number).ticker.len()).collect();
        assert_eq!(entries, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 0]);
        assert_eq!(opened(9).next(10, &mut Rng::new(1)), None);
        let few = |number| Desk::new(1_000).open(number, 2, 10, &mut Rng::new(1)).ticker.len();
        assert_eq!([few(0), few(1)], [0, 10]);
    }

    #[test]
    fn an_order_is_answered_after_its_delay() {
        let (mut desk, rng) = (Desk::new(1_000), &mut Rng::new(1));
        desk.submit(1, ORDER);
        assert_eq!(desk.next(10, rng), None);
        desk.advance(answer_delay(1, 7));
        let Some(MarketRequest::Result { order, price: paid }) = desk.next(10, rng) else {
            panic!("answered")
        };
        assert_eq!((order, paid), (ORDER, price(3, desk.now())));
        assert_eq!(desk.ticker.len(), 2);
        assert_eq!(desk.next(10, rng), None);
    }

    #[test]
    fn delays_have_a_mean_of_a_second_and_an_end() {
        let delays: Vec<u64> = (0..20_000).map(|trade| answer_delay(1, trade)).collect();
        let mean = delays.iter().sum::<u64>() as f64 / 20_000.0;
        // The longest delay takes 0.7% off the mean.
        assert!((970.0..1_015.0).contains(&mean), "{mean}");
        assert!(delays.iter().all(|&delay| delay <= 5_000));
    }

    #[test]
    fn ten_results_make_a_feed_and_a_limit_is_on_the_ticker_at_its_price() {
        let (mut desk, rng) = (Desk::new(0), &mut Rng::new(1));
        let limit = price(3, 0) - 100;
        desk.watch(ORDER, TradeType::LimitBuy, limit);
        let at = triggered_at(TradeType::LimitBuy, limit, 3, 0);
        let (mut feeds, mut triggered) = (0, 0);
        for trade in 100..1_000 {
            desk.submit(1, MarketOrder { trade, security: 5, quantity: 100 });
            desk.advance(1_000);
            while let Some(request) = desk.next(10, rng) {
                let MarketRequest::Feed(quotes) = request else { continue };
                feeds += 1;
                for quote in quotes.iter().filter(|quote| quote.quantity == TRIGGER_QUANTITY) {
                    triggered += 1;
                    assert!(desk.now() >= at && quote.security == 3);
                }
            }
        }
        assert!((85..=90).contains(&feeds), "{feeds}");
        assert_eq!(triggered, 1);
    }
}
