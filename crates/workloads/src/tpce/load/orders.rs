//! The initial orders: who ordered what at which time, and when the market answered. An order is a pure function of the
//! seed and its number in its granule, and is drawn like the orders of a run (see `input`).
//!
//! A granule sends its orders one after the other at fixed times: the random delays of the answers mix the trades
//! anyway, so that the specification's small random shifts of these times are left out. An order without a limit is
//! answered after its delay. An order with a limit is submitted when the price reaches the limit, and answered after
//! its delay. So orders are not completed in the order in which they are sent. [`Completions`] gives them as they are
//! completed, and has only those in memory that are under way.

use core::ops::Range;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::Text;
use stdx::Rng;

use super::super::market::answer_delay;
use super::super::names::Person;
use super::super::rows::TradeType;
use super::super::scale::{
    self, BROKERS, Basket, CUSTOMERS, Scale, Stream, account_id, account_ids, account_slot,
    broker_of_account, granule_of_account, trade_id,
};
use super::super::settings::{Settings, is_skipped};
use super::super::time::{PRICE_MAX, PRICE_MIN, price, triggered_at};
use super::customers::taxrates;
use super::{tax_status, taxrate};

/// An initial order. Times are trading times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    /// The time at which the trade is done. Orders compare by it first.
    pub(super) completed: u64,
    /// `T_ID`, which distinguishes orders that end at the same time.
    pub(super) trade: u64,
    /// The time at which the customer sent the order.
    pub(super) sent: u64,
    /// The time at which the order was submitted to the market.
    pub(super) submitted: u64,
    /// `CA_ID`.
    pub(super) account: u64,
    pub(super) security: u32,
    /// The place of the security in the basket of the account.
    pub(super) place: u8,
    /// `T_BID_PRICE`.
    pub(super) bid_price: u32,
    pub(super) quantity: u32,
    /// The customer who gave the order.
    pub(super) executor: u32,
    pub(super) kind: TradeType,
    pub(super) is_lifo: bool,
    pub(super) is_margin: bool,
}

/// The accounts of a broker.
#[derive(Debug)]
pub(super) struct Book {
    granule: u32,
    /// By the place of the account in the granule; `None` for the accounts of other brokers.
    accounts: Vec<Option<AccountFacts>>,
}

/// The facts about an account that its trades depend on.
#[derive(Debug)]
pub(super) struct AccountFacts {
    basket: Basket,
    pub(super) owner: u32,
    others: [u32; 2],
    others_count: usize,
    pub(super) owner_name: Text<49>,
    pub(super) tier: u8,
    pub(super) tax_status: u8,
    /// The sum of the rates of the owner, in 1/100,000.
    pub(super) rates_sum: u32,
}

impl Book {
    /// Collects the accounts of a broker.
    pub(super) fn new(scale: Scale, broker: u32) -> Self {
        let granule = broker / BROKERS;
        let mut book = Self { granule, accounts: Vec::new() };
        for account in (granule * CUSTOMERS..(granule + 1) * CUSTOMERS).flat_map(account_ids) {
            book.accounts.resize_with(place_of_account(account) + 1, || None);
            if broker_of_account(account) == broker {
                book.accounts[place_of_account(account)] = Some(AccountFacts::new(scale, account));
            }
        }
        book
    }

    /// The number of places of accounts.
    pub(super) fn places(&self) -> usize {
        self.accounts.len()
    }

    /// Returns the facts about an account, or `None` if it has another broker.
    pub(super) fn facts(&self, account: u64) -> Option<&AccountFacts> {
        self.accounts.get(place_of_account(account))?.as_ref()
    }

    /// Returns the accounts of the broker with their securities.
    pub(super) fn baskets(&self) -> impl Iterator<Item = (u64, &[u32])> {
        let first = account_id(self.granule * CUSTOMERS, 0);
        let accounts = (first..).zip(&self.accounts);
        accounts.filter_map(|(account, facts)| Some((account, facts.as_ref()?.basket.as_slice())))
    }

    /// Draws the order of the granule with a number, unless its account has another broker.
    fn draw(&self, settings: &Settings, number: u64) -> Option<Order> {
        let (scale, trade) = (settings.scale, trade_id(self.granule, number));
        let rng = &mut scale.stream(Stream::Trade, &[0, trade]);
        let customer = Scale::draw_customer_of_granule(self.granule, rng);
        let account = account_id(customer, rng.below(u64::from(scale::accounts(customer))) as u32);
        let facts = self.facts(account)?;
        let basket = facts.basket.as_slice();
        let place = rng.below(basket.len() as u64);
        let security = basket[place as usize];
        let kind = match rng.below(10) {
            0..3 => TradeType::MarketBuy,
            3..6 => TradeType::MarketSell,
            6 | 7 => TradeType::LimitBuy,
            8 => TradeType::LimitSell,
            _ => TradeType::StopLoss,
        };
        let sent = settings.slot_time(number);
        let limit = rng.between(u64::from(PRICE_MIN), u64::from(PRICE_MAX)) as u32;
        let bid_price = if kind.is_market() { price(security, sent) } else { limit };
        let submitted = triggered_at(kind, bid_price, security, sent);
        Some(Order {
            completed: submitted + answer_delay(scale.seed, trade),
            trade,
            sent,
            submitted,
            account,
            security,
            place: place as u8,
            bid_price,
            quantity: 100 << rng.below(4),
            executor: facts.executor(rng),
            kind,
            is_lifo: rng.percent(35.0),
            is_margin: !kind.is_sell() && rng.percent(16.0),
        })
    }
}

impl AccountFacts {
    fn new(scale: Scale, account: u64) -> Self {
        let owner = scale::customer_of_account(account);
        let (others, others_count) = scale.permitted(account);
        Self {
            basket: scale.basket(account),
            owner,
            others,
            others_count,
            owner_name: Person::customer(scale, owner).full_name(),
            tier: scale::tier(owner),
            tax_status: tax_status(scale, account),
            rates_sum: taxrates(scale, owner).map(taxrate).iter().sum(),
        }
    }

    /// Draws who gives an order: the owner, if nobody else has access to the account, and else in three of four cases.
    fn executor(&self, rng: &mut Rng) -> u32 {
        match self.others[..self.others_count] {
            [] => self.owner,
            _ if rng.percent(75.0) => self.owner,
            ref others => others[rng.below(others.len() as u64) as usize],
        }
    }
}

/// Returns the place of an account among the identifiers of its granule, used or not.
pub(super) fn place_of_account(account: u64) -> usize {
    let first = account_id(granule_of_account(account) * CUSTOMERS, 0);
    (account_slot(account) - account_slot(first)) as usize
}

/// The initial orders of a broker's accounts, in the order in which they are completed.
#[derive(Debug)]
pub(super) struct Completions<'b> {
    settings: &'b Settings,
    book: &'b Book,
    /// The numbers of the orders that are not sent yet.
    numbers: Range<u64>,
    under_way: BinaryHeap<Reverse<Order>>,
}

impl<'b> Completions<'b> {
    /// Creates the iterator over all initial orders.
    pub(super) fn new(settings: &'b Settings, book: &'b Book) -> Self {
        Self { settings, book, numbers: 0..settings.slots_of_granule(), under_way: BinaryHeap::new() }
    }
}

impl Iterator for Completions<'_> {
    type Item = Order;

    fn next(&mut self) -> Option<Order> {
        loop {
            let are_all_sent = self.numbers.is_empty();
            let next_sent = self.settings.slot_time(self.numbers.start);
            let first = self.under_way.peek();
            if are_all_sent || first.is_some_and(|Reverse(order)| order.completed <= next_sent) {
                return self.under_way.pop().map(|Reverse(order)| order);
            }
            let number = self.numbers.next()?;
            if !is_skipped(number) {
                self.under_way.extend(self.book.draw(self.settings, number).map(Reverse));
            }
        }
    }
}
