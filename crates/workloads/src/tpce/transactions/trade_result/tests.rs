//! Tests of Trade-Result.

use engine::Abort;

use super::super::super::input::{Input, TradeOrder};
use super::super::super::scale::broker_of_account;
use super::super::testing::House;
use super::super::testing_writes::{BALANCE, NOW, order, trade};
use super::*;

/// Places an order of a customer, and lets the market execute it at a price.
fn executed(house: &mut House, order: &TradeOrder, price: u32) -> Output {
    let input = house.submitted(order, price);
    house.commits(&input)
}

fn sale(customer: u32, quantity: u32) -> TradeOrder {
    TradeOrder { quantity, ..order(9, customer, TradeType::MarketSell) }
}

#[test]
fn a_first_purchase_opens_a_position_and_is_settled() {
    let mut house = House::trading("");
    let tables = house.tpce.tables;
    let output = executed(&mut house, &order(9, 0, TradeType::MarketBuy), 2_600);
    // 100 at 26.00, with a commission of 0.4% and a charge of 7 cents.
    let amount = -(260_000 + 1_040 + 7);
    assert_eq!(output, Output::TradeResult { balance: BALANCE + amount, gain: 0 });
    assert_eq!((house.lots(0), house.position_of(0)), (vec![(trade(9), 2_600, 100)], Some(100)));
    assert_eq!(house.changes(trade(9)), [(trade(9), 0, 100)]);
    let key = HoldingKey::new(House::account(0), 1, NOW, trade(9));
    assert!(house.row(tables.holding, key).is_some(), "a lot has the time of its trade");

    let key = TradeKey::new(trade(9));
    let row = house.row(tables.trade, key).unwrap();
    assert_eq!((row.time, row.status, row.trade_price), (NOW, StatusId::Completed as u8, 2_600));
    assert_eq!((row.commission, row.charge, row.tax), (1_040, 7, 0));
    let states: Vec<_> = house.states(trade(9)).into_iter().map(|(status, _)| status).collect();
    assert_eq!(states, [StatusId::Submitted, StatusId::Completed]);
    assert_eq!(house.states(trade(9))[1].1, NOW);
    let settlement = house.row(tables.settlement, key).unwrap();
    // 5 January 2005: two days after the trade.
    assert_eq!((settlement.amount, settlement.due_date), (amount, 12_788));
    assert_eq!(settlement.cash_type.as_bytes(), b"Cash Account");
    let cash = house.row(tables.cash_transaction, key).unwrap();
    assert_eq!((cash.amount, cash.time), (amount, NOW));
    assert_eq!(cash.name.as_bytes(), b"Market-Buy 100 shares of COMMON of AAAAB");
    let balance = house.row(tables.account_balance, AccountKey::new(House::account(0))).unwrap();
    assert_eq!(balance.balance, BALANCE + amount);
}

#[test]
fn a_broker_gets_the_trade_and_its_commission_by_adding_or_by_updating() {
    for commutative in ["on", "off"] {
        let mut house = House::trading(&format!("tpce.commutative={commutative}"));
        let broker = broker_of_account(House::account(0));
        executed(&mut house, &order(9, 0, TradeType::MarketBuy), 2_500);
        let totals = |broker| {
            let row = house.row(house.tpce.tables.broker_totals, BrokerKey::new(broker)).unwrap();
            (row.trades, row.commission)
        };
        assert_eq!(totals(broker), (11, 2_000), "commutative {commutative}");
        assert_eq!(totals(1 - broker), (10, 1_000), "commutative {commutative}");
    }
}

#[test]
fn a_sale_closes_the_oldest_lots_first() {
    let mut house = House::trading("");
    house.lot(0, 1, 2_000, 100);
    house.lot(0, 2, 2_200, 100);
    let output = executed(&mut house, &sale(0, 150), 2_500);
    let gain = 150 * 2_500 - (100 * 2_000 + 50 * 2_200);
    assert_eq!(output, Output::TradeResult { balance: BALANCE + 375_000 - 1_500 - 7, gain });
    assert_eq!((house.lots(0), house.position_of(0)), (vec![(trade(2), 2_200, 50)], Some(50)));
    assert_eq!(house.changes(trade(9)), [(trade(1), 100, 0), (trade(2), 100, 50)]);
}

#[test]
fn a_sale_of_the_newest_first_closes_them_from_the_end() {
    let mut house = House::trading("");
    house.lot(0, 1, 2_000, 100);
    house.lot(0, 2, 2_200, 100);
    let Output::TradeResult { gain, .. } =
        executed(&mut house, &TradeOrder { is_lifo: true, ..sale(0, 150) }, 2_500)
    else {
        panic!("a Trade-Result")
    };
    assert_eq!(gain, 150 * 2_500 - (100 * 2_200 + 50 * 2_000));
    assert_eq!(house.lots(0), [(trade(1), 2_000, 50)]);
    assert_eq!(house.changes(trade(9)), [(trade(1), 100, 50), (trade(2), 100, 0)]);
}

#[test]
fn a_sale_of_the_whole_position_leaves_no_row() {
    let mut house = House::trading("");
    house.lot(0, 1, 2_000, 100);
    executed(&mut house, &sale(0, 100), 2_500);
    assert_eq!((house.lots(0), house.position_of(0)), (vec![], None));
}

#[test]
fn a_sale_of_more_than_there_is_opens_a_short_position() {
    let mut house = House::trading("");
    house.lot(0, 1, 2_000, 100);
    executed(&mut house, &sale(0, 400), 2_500);
    assert_eq!((house.lots(0), house.position_of(0)), (vec![(trade(9), 2_500, -300)], Some(-300)));
    assert_eq!(house.changes(trade(9)), [(trade(1), 100, 0), (trade(9), 0, -300)]);
}

#[test]
fn a_purchase_closes_what_was_sold_short() {
    let mut house = House::trading("");
    house.lot(0, 1, 2_600, -100);
    house.lot(0, 2, 2_700, -300);
    let Output::TradeResult { gain, .. } =
        executed(&mut house, &TradeOrder { quantity: 200, ..order(9, 0, TradeType::MarketBuy) }, 2_500)
    else {
        panic!("a Trade-Result")
    };
    assert_eq!(gain, 100 * 100 + 100 * 200);
    assert_eq!((house.lots(0), house.position_of(0)), (vec![(trade(2), 2_700, -200)], Some(-200)));
}

#[test]
fn trades_in_the_direction_of_the_position_add_a_lot() {
    let mut house = House::trading("");
    house.lot(0, 1, 2_000, 100);
    executed(&mut house, &order(9, 0, TradeType::LimitBuy), 2_500);
    assert_eq!(house.position_of(0), Some(200));
    assert_eq!(house.lots(0), [(trade(1), 2_000, 100), (trade(9), 2_500, 100)]);
}

#[test]
fn gains_are_taxed_by_the_status_of_the_account() {
    // 15% of a gain of 500.00. Taxes are withheld by status 1 only.
    for (customer, tax, withheld) in [(0, 0, 0), (1, 7_500, 7_500), (2, 7_500, 0)] {
        let mut house = House::trading("");
        house.lot(customer, 1, 2_000, 100);
        let output = executed(&mut house, &sale(customer, 100), 2_500);
        let balance = BALANCE + 250_000 - 1_000 - 7 - withheld;
        assert_eq!(output, Output::TradeResult { balance, gain: 50_000 });
        let row = house.row(house.tpce.tables.trade, TradeKey::new(trade(9))).unwrap();
        assert_eq!(row.tax, tax, "tax status {customer}");
    }
}

#[test]
fn a_loss_is_not_taxed() {
    let mut house = House::trading("");
    house.lot(1, 1, 2_600, 100);
    let output = executed(&mut house, &sale(1, 100), 2_500);
    let balance = BALANCE + 250_000 - 1_000 - 7;
    assert_eq!(output, Output::TradeResult { balance, gain: -10_000 });
    assert_eq!(house.row(house.tpce.tables.trade, TradeKey::new(trade(9))).unwrap().tax, 0);
}

#[test]
fn the_rate_of_the_commission_is_that_of_the_band_of_the_quantity() {
    for (quantity, commission) in [(200, 2_000), (201, 1_508)] {
        let mut house = House::trading("");
        executed(&mut house, &sale(0, quantity), 2_500);
        let row = house.row(house.tpce.tables.trade, TradeKey::new(trade(9))).unwrap();
        assert_eq!(row.commission, commission, "{quantity}");
    }
}

#[test]
fn a_trade_on_margin_is_settled_without_cash() {
    let mut house = House::trading("");
    let tables = house.tpce.tables;
    let output =
        executed(&mut house, &TradeOrder { is_margin: true, ..order(9, 0, TradeType::MarketBuy) }, 2_500);
    assert_eq!(output, Output::TradeResult { balance: BALANCE, gain: 0 });
    let key = TradeKey::new(trade(9));
    let settlement = house.row(tables.settlement, key).unwrap();
    assert_eq!((settlement.amount, settlement.cash_type.as_bytes()), (-251_007, &b"Margin"[..]));
    assert_eq!(house.row(tables.cash_transaction, key), None);
    let balance = house.row(tables.account_balance, AccountKey::new(House::account(0))).unwrap();
    assert_eq!(balance.balance, BALANCE);
}

#[test]
fn an_order_that_is_not_submitted_rolls_back() {
    let mut house = House::trading("");
    let input = house.submitted(&order(9, 0, TradeType::LimitBuy), 2_500);
    for status in [StatusId::Canceled, StatusId::Pending, StatusId::Completed] {
        let table = house.tpce.tables.trade;
        house.change(table, TradeKey::new(trade(9)), |row| row.status = status as u8);
        house.rolls_back(&input);
    }
    let Input::TradeResult(mut unknown) = input else { panic!("a Trade-Result") };
    unknown.order.trade = trade(8);
    assert_eq!(house.execute(&Input::TradeResult(unknown)), Err(Abort::ReadChanged));
}
