//! Tests of the loaded rows as a whole: numbers of rows, the same rows for any shares, and the consistency conditions
//! of TPC-E.

use std::collections::{BTreeMap, BTreeSet};

use engine::setting::Values;
use engine::{Drive, Groups, Key, Loader, Quiesced, Row, Schema, Share, Table, Workload};

use super::super::keys::{
    AccountKey, AddressKey, BrokerKey, CompanyKey, CustomerKey, ExchangeKey, PermissionKey, SecurityKey,
    SummaryKey, TradeHistoryKey, TradeKey,
};
use super::super::market::answer_delay;
use super::super::names::Person;
use super::super::rows::{HoldingHistory, StatusId, Trade, TradeType};
use super::super::scale::{broker_of_account, customer_of_account, customer_of_id, tier};
use super::super::settings::SETTINGS;
use super::super::time::{PRICE_MAX, PRICE_MIN, calendar, date, price};
use super::super::{Tpce, fees};
use super::customers::taxrates;
use super::*;
use crate::mock::{DRIVE, Mock};

/// Few customers, and about 3,000 trades.
const SMALL: &str = "customers=200 scale_factor=2000";

/// A loader that only counts rows, by table.
struct Counter {
    rows: Vec<usize>,
}

impl Loader for Counter {
    fn insert<G: Groups>(&mut self, table: G, _: G::Key, _: G::Rows<'_>) {
        self.rows[usize::from(table.id().0)] += 1;
    }
}

impl Counter {
    fn of<R: Row + ?Sized>(&self, table: Table<R>) -> usize {
        self.rows[usize::from(table.id().0)]
    }
}

/// Declares the workload with settings without their prefix.
fn declared(given: &str, seed: u64) -> (Tpce, Schema) {
    let pairs = given.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    let given: Vec<_> = pairs.map(|(name, value)| (format!("tpce.{name}"), value.to_owned())).collect();
    let mut schema = Schema::new();
    let values = Values::new(SETTINGS, &given).unwrap();
    (Tpce::declare(&values, Drive { seed, ..DRIVE }, &mut schema).unwrap(), schema)
}

/// Counts the rows that are loaded with these settings.
fn counted(given: &str) -> (Tpce, Counter) {
    let (tpce, schema) = declared(given, 1);
    let mut counter = Counter { rows: vec![0; schema.names().count()] };
    tpce.load(Share::WHOLE, &mut counter);
    (tpce, counter)
}

fn loaded(seed: u64, shares: &[usize]) -> (Tpce, Mock) {
    let (tpce, schema) = declared(SMALL, seed);
    let mut mock = Mock::new(&schema, &["assets_history"]);
    for &index in shares {
        tpce.load(Share { index, of: shares.len() }, &mut mock);
    }
    (tpce, mock)
}

/// Returns all rows of a table.
fn rows<R: Row + Copy>(mock: &Mock, table: Table<R>) -> Vec<(R::Key, R)> {
    let mut rows = Vec::new();
    mock.rows(table, Share::WHOLE, |key, row| rows.push((key, *row)));
    rows
}

fn read<R: Row + Copy>(mock: &Mock, table: Table<R>, key: R::Key) -> Option<R> {
    mock.read(table, key, |row| *row)
}

/// Returns all trades with their identifiers, in the order in which they were done.
fn trades(tpce: &Tpce, mock: &Mock) -> Vec<(u64, Trade)> {
    let trades = rows(mock, tpce.tables.trade).into_iter();
    let mut trades: Vec<_> = trades.map(|(key, trade)| (key.id(), trade)).collect();
    trades.sort_by_key(|&(id, trade)| (trade.time, id));
    trades
}

#[test]
fn any_shares_load_the_same_rows() {
    let (whole, parts) = (loaded(1, &[0]).1, loaded(1, &[2, 0, 1]).1);
    assert!(whole == parts);
}

#[test]
fn another_seed_loads_other_rows() {
    let ((tpce, one), (_, other)) = (loaded(1, &[0]), loaded(2, &[0]));
    assert_eq!(one.count(tpce.tables.trade), other.count(tpce.tables.trade));
    let first = |mock: &Mock| rows(mock, tpce.tables.trade)[..20].to_vec();
    assert_ne!(first(&one), first(&other));
    assert_ne!(rows(&one, tpce.tables.daily_market), rows(&other, tpce.tables.daily_market));
    assert_ne!(rows(&one, tpce.tables.customer), rows(&other, tpce.tables.customer));
}

#[test]
fn a_load_unit_has_the_rows_of_the_specification() {
    let (tpce, counter) = counted("customers=1000");
    let tables = &tpce.tables;
    let fixed = [
        (counter.of(tables.customer), 1_000),
        (counter.of(tables.account), 5_000),
        (counter.of(tables.customer_taxrate), 2_000),
        (counter.of(tables.watch_list), 1_000),
        (counter.of(tables.broker), 10),
        (counter.of(tables.charge), 15),
        (counter.of(tables.commission_rate), 240),
        (counter.of(tables.settlement), 57_600),
        (counter.of(tables.trade), 57_600),
        (counter.of(tables.trade_request), 0),
        (counter.of(tables.trade_type), 5),
        (counter.of(tables.company), 500),
        (counter.of(tables.competitor), 1_500),
        (counter.of(tables.daily_market), 685 * 1_305),
        (counter.of(tables.exchange), 4),
        (counter.of(tables.exchange_description), 4),
        (counter.of(tables.financial), 10_000),
        (counter.of(tables.industry), 102),
        (counter.of(tables.last_trade), 685),
        (counter.of(tables.news), 1_000),
        (counter.of(tables.company_news), 1_000),
        (counter.of(tables.sector), 12),
        (counter.of(tables.security), 685),
        (counter.of(tables.address), 1_504),
        (counter.of(tables.status_type), 5),
        (counter.of(tables.taxrate), 320),
        (counter.of(tables.taxrate_name), 320),
        (counter.of(tables.zip_code), 14_741),
        (counter.of(tables.assets_history), 0),
    ];
    for (place, (rows, expected)) in fixed.into_iter().enumerate() {
        assert_eq!(rows, expected, "entry {place}");
    }
    let ratio = |rows: usize, of: usize| rows as f64 / of as f64;
    let permissions = ratio(counter.of(tables.permission), 5_000);
    assert!((permissions - 1.42).abs() < 0.03, "{permissions}");
    let watched = ratio(counter.of(tables.watch_item), 1_000);
    assert!((watched - 100.0).abs() < 3.0, "{watched}");
    let histories = ratio(counter.of(tables.trade_history), 57_600);
    assert!((histories - 2.4).abs() < 0.02, "{histories}");
    let cash = ratio(counter.of(tables.cash_transaction), 57_600);
    assert!((cash - 0.92).abs() < 0.01, "{cash}");
}

#[test]
fn many_trades_leave_the_positions_of_the_specification() {
    let (tpce, counter) = counted("customers=200 scale_factor=10");
    let trades = counter.of(tpce.tables.trade) as f64;
    let changes = counter.of(tpce.tables.holding_history) as f64 / trades;
    assert!((changes - 1.34).abs() < 0.03, "{changes}");
    // 9.956 after 300 days; fewer positions are closed at any moment the more trades there were.
    let positions = counter.of(tpce.tables.summary) as f64 / counter.of(tpce.tables.account) as f64;
    assert!((9.4..10.2).contains(&positions), "{positions}");
    assert!(counter.of(tpce.tables.holding) >= counter.of(tpce.tables.summary));
}

#[test]
fn brokers_have_the_sums_of_their_trades() {
    let (tpce, mock) = loaded(1, &[0]);
    let mut sums = BTreeMap::new();
    for (_, trade) in trades(&tpce, &mock) {
        assert_eq!(trade.status, StatusId::Completed as u8);
        let broker = read(&mock, tpce.tables.account, AccountKey::new(trade.account)).unwrap().broker;
        assert_eq!(broker, broker_of_account(trade.account));
        let (count, commission) = sums.entry(broker).or_insert((0, 0));
        (*count, *commission) = (*count + 1, *commission + trade.commission);
    }
    assert_eq!(sums.len(), 2);
    for (broker, sum) in sums {
        let totals = read(&mock, tpce.tables.broker_totals, BrokerKey::new(broker)).unwrap();
        assert_eq!((totals.trades, totals.commission), sum);
    }
}

#[test]
fn positions_are_the_sums_of_their_lots_and_never_zero() {
    let (tpce, mock) = loaded(1, &[0]);
    let mut sums: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    for (key, lot) in rows(&mock, tpce.tables.holding) {
        let position = SummaryKey::new(key.account(), key.security()).ordered();
        sums.entry(position).or_default().push(i64::from(lot.quantity));
    }
    let positions = rows(&mock, tpce.tables.summary);
    assert_eq!(positions.len(), sums.len());
    for (key, row) in positions {
        let lots = &sums[&key.ordered()];
        assert_eq!(row.quantity, lots.iter().sum::<i64>());
        assert!(lots.iter().all(|&lot| lot != 0 && lot.signum() == row.quantity.signum()));
        assert!(tpce.settings.scale.basket(key.account()).as_slice().contains(&key.security()));
    }
}

#[test]
fn a_trade_closes_the_oldest_or_the_newest_lots_and_opens_what_is_left() {
    let (tpce, mock) = loaded(1, &[0]);
    let mut changes: BTreeMap<u64, BTreeMap<u64, HoldingHistory>> = BTreeMap::new();
    for (key, row) in rows(&mock, tpce.tables.holding_history) {
        changes.entry(key.trade()).or_default().insert(key.lot(), row);
    }
    let mut open: BTreeMap<(u64, u32), Vec<(u64, i32)>> = BTreeMap::new();
    for (id, trade) in trades(&tpce, &mock) {
        let lots = open.entry((trade.account, trade.security)).or_default();
        let mut of_trade = changes.remove(&id).unwrap();
        let sum: i32 = of_trade.values().map(|change| change.after - change.before).sum();
        let sign = if TradeType::of(trade.kind).is_sell() { -1 } else { 1 };
        assert_eq!(sum, sign * trade.quantity as i32);
        let opened = of_trade.remove(&id);
        let touched = of_trade.len();
        // Lots are closed from one end, and only the last of them may be left in part.
        for number in 0..touched {
            let end = if trade.is_lifo == 1 { lots.len() - 1 } else { 0 };
            let (lot, quantity) = lots[end];
            let change = of_trade.remove(&lot).unwrap();
            assert_eq!(change.before, quantity);
            if change.after == 0 {
                lots.remove(end);
            } else {
                assert!(number + 1 == touched && opened.is_none());
                lots[end].1 = change.after;
            }
        }
        if let Some(opened) = opened {
            assert!(opened.before == 0 && opened.after.signum() == sign);
            assert!(lots.iter().all(|&(_, quantity)| quantity.signum() == sign));
            lots.push((id, opened.after));
        }
    }
    assert!(changes.is_empty());
    let left = open.into_iter().flat_map(|((account, security), lots)| {
        lots.into_iter().map(move |(lot, quantity)| (account, security, lot, quantity))
    });
    let holdings = rows(&mock, tpce.tables.holding).into_iter();
    let held = holdings.map(|(key, lot)| (key.account(), key.security(), key.trade(), lot.quantity));
    assert_eq!(left.collect::<BTreeSet<_>>(), held.collect());
}

#[test]
fn a_trade_has_the_amounts_of_a_trade_result() {
    let (tpce, mock) = loaded(1, &[0]);
    let (tables, scale) = (&tpce.tables, tpce.settings.scale);
    // By trade: for how much it sold more than it bought.
    let mut gains: BTreeMap<u64, i64> = BTreeMap::new();
    for (key, change) in rows(&mock, tables.holding_history) {
        if key.lot() != key.trade() {
            let of = |trade| i64::from(read(&mock, tables.trade, TradeKey::new(trade)).unwrap().trade_price);
            let closed = i64::from(change.before - change.after);
            *gains.entry(key.trade()).or_default() += closed * (of(key.trade()) - of(key.lot()));
        }
    }
    let mut taxed = 0;
    for (id, trade) in trades(&tpce, &mock) {
        let (owner, kind) = (customer_of_account(trade.account), TradeType::of(trade.kind));
        assert_eq!(trade.charge, fees::charge(kind, tier(owner)));
        let exchange = read(&mock, tables.security, SecurityKey::new(trade.security)).unwrap().exchange;
        let rate = fees::commission_rate(tier(owner), kind, exchange, trade.quantity);
        assert_eq!(trade.commission, fees::commission(rate, trade.quantity, trade.trade_price));
        let status = tax_status(scale, trade.account);
        let gain = gains.get(&id).copied().unwrap_or(0);
        let rates = taxrates(scale, owner).map(taxrate).iter().sum();
        let tax = if status > 0 && gain > 0 { fees::tax(gain, rates) } else { 0 };
        assert_eq!(trade.tax, tax);
        taxed += usize::from(tax > 0);
        let (quantity, price) = (trade.quantity, trade.trade_price);
        let before = fees::settlement_amount(kind.is_sell(), quantity, price, trade.charge, trade.commission);
        let amount = before - if status == 1 { tax } else { 0 };
        let settlement = read(&mock, tables.settlement, TradeKey::new(id)).unwrap();
        assert_eq!((settlement.amount, settlement.due_date), (amount, date(trade.time) + 2));
        let cash = read(&mock, tables.cash_transaction, TradeKey::new(id));
        assert_eq!(
            cash.map(|cash| (cash.time, cash.amount)),
            (trade.is_cash == 1).then_some((trade.time, amount))
        );
        let cash_type: &[u8] = if trade.is_cash == 1 { b"Cash Account" } else { b"Margin" };
        assert_eq!(settlement.cash_type.as_bytes(), cash_type);
        assert!(trade.is_cash == 1 || !kind.is_sell());
        assert!((PRICE_MIN..=PRICE_MAX).contains(&trade.trade_price));
    }
    assert!(taxed > 100, "{taxed}");
}

#[test]
fn a_trade_has_its_states_in_order_and_ends_before_the_run_begins() {
    let (tpce, mock) = loaded(1, &[0]);
    let opening = calendar(tpce.settings.opening());
    let mut waited = 0;
    for (id, trade) in trades(&tpce, &mock) {
        let at = |status| {
            read(&mock, tpce.tables.trade_history, TradeHistoryKey::new(id, status)).map(|row| row.time)
        };
        let (pending, submitted) = (at(StatusId::Pending), at(StatusId::Submitted).unwrap());
        assert_eq!(at(StatusId::Completed), Some(trade.time));
        assert_eq!(at(StatusId::Canceled), None);
        assert_eq!(pending.is_none(), TradeType::of(trade.kind).is_market());
        assert!(pending.is_none_or(|pending| pending <= submitted));
        // Some trades go on after a night.
        let delay = trade.time - submitted;
        assert!(delay == answer_delay(1, id) || delay > 16 * 3_600_000, "{delay}");
        assert!(trade.time < opening);
        waited += usize::from(pending.is_some_and(|pending| pending < submitted));
    }
    assert!(waited > 200, "{waited}");
}

#[test]
fn trades_are_drawn_as_during_a_run() {
    let (tpce, mock) = loaded(1, &[0]);
    let trades = trades(&tpce, &mock);
    let count = trades.len();
    assert_eq!(count as u64, tpce.settings.initial_trades());
    let share = |counts: &dyn Fn(&Trade) -> bool| {
        trades.iter().filter(|(_, trade)| counts(trade)).count() as f64 / count as f64
    };
    let of_kind = |kind: TradeType| share(&|trade| trade.kind == kind as u8);
    let by_owner = trades.iter().filter(|&&(id, trade)| {
        let owner = Person::customer(tpce.settings.scale, customer_of_account(trade.account));
        let executor = read(&mock, tpce.tables.trade_executor, TradeKey::new(id)).unwrap().name;
        executor == owner.full_name()
    });
    for (share, expected) in [
        (of_kind(TradeType::MarketBuy), 0.3),
        (of_kind(TradeType::MarketSell), 0.3),
        (of_kind(TradeType::LimitBuy), 0.2),
        (of_kind(TradeType::LimitSell), 0.1),
        (of_kind(TradeType::StopLoss), 0.1),
        (share(&|trade| trade.is_lifo == 1), 0.35),
        (share(&|trade| trade.is_cash == 0), 0.08),
        (share(&|trade| trade.quantity == 100), 0.25),
        (share(&|trade| trade.quantity == 800), 0.25),
        (share(&|trade| tier(customer_of_account(trade.account)) == 2), 0.6),
        (by_owner.count() as f64 / count as f64, 0.9),
    ] {
        assert!((share - expected).abs() < 0.03, "{share} instead of {expected}");
    }
}

#[test]
fn rows_lead_to_rows_that_exist() {
    let (tpce, mock) = loaded(1, &[0]);
    let (tables, settings) = (&tpce.tables, &tpce.settings);
    let address = |number| read(&mock, tables.address, AddressKey::new(number)).is_some();
    for (key, customer) in rows(&mock, tables.customer) {
        assert!(address(customer.address));
        assert_eq!(customer.tier, tier(customer_of_id(key.ordered())));
    }
    assert!(rows(&mock, tables.company).iter().all(|(_, company)| address(company.address)));
    assert!(rows(&mock, tables.exchange).iter().all(|(_, exchange)| address(exchange.address)));
    for (key, security) in rows(&mock, tables.security) {
        assert!(read(&mock, tables.company, CompanyKey::new(security.company)).is_some());
        assert!(read(&mock, tables.exchange, ExchangeKey::new(security.exchange)).is_some());
        let last = read(&mock, tables.last_trade, key).unwrap();
        let opening = price(key.security(), settings.opening());
        assert_eq!((last.price, last.open_price, last.volume), (opening, opening, 0));
    }
    for (key, account) in rows(&mock, tables.account) {
        assert!(read(&mock, tables.customer, CustomerKey::new(account.customer)).is_some());
        assert!(read(&mock, tables.broker, BrokerKey::new(account.broker)).is_some());
        let balance = read(&mock, tables.account_balance, key).unwrap().balance;
        assert_eq!(balance, initial_balance(settings.scale, key.id()));
        let owner = Person::customer(settings.scale, customer_of_account(key.id()));
        let key = PermissionKey { account: key.id(), tax_id: owner.tax_id };
        assert_eq!(read(&mock, tables.permission, key).unwrap().acl.as_bytes(), b"0000");
    }
    let listed: u32 = rows(&mock, tables.exchange).iter().map(|(_, exchange)| exchange.securities).sum();
    assert_eq!(listed, settings.scale.securities());
}

#[test]
fn few_trades_are_loaded_whole() {
    let (tpce, counter) = counted("customers=400 scale_factor=100000");
    assert_eq!(counter.of(tpce.tables.trade) as u64, tpce.settings.initial_trades());
    assert!((100..120).contains(&counter.of(tpce.tables.trade)));
}
