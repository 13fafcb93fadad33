//! Tests of Trade-Order.

use super::super::super::input::Input;
use super::super::super::rows::{Permission, Summary, TradeType};
use super::super::super::scale::broker_of_account;
use super::super::testing::{House, zeroed};
use super::super::testing_writes::{BALANCE, NOW, PRICE, order, trade};
use super::*;

fn places(house: &mut House, order: &TradeOrder) -> Output {
    house.commits(&Input::TradeOrder(order.clone()))
}

fn trade_row(house: &House, number: u64) -> Trade {
    house.row(house.tpce.tables.trade, TradeKey::new(trade(number))).expect("inserted")
}

fn tax_of(output: &Output) -> i64 {
    let Output::TradeOrder { tax, .. } = *output else { panic!("a Trade-Order") };
    tax
}

#[test]
fn an_order_without_a_limit_is_submitted_at_the_last_price() {
    let mut house = House::trading("");
    let tables = house.tpce.tables;
    let output = places(&mut house, &order(9, 0, TradeType::MarketBuy));
    assert_eq!(output, Output::TradeOrder { price: PRICE, tax: 0, commission: 1_000, assets: 0 });
    let expected = Trade {
        time: NOW,
        account: House::account(0),
        charge: 7,
        commission: 1_000,
        tax: 0,
        security: 1,
        quantity: 100,
        bid_price: PRICE,
        trade_price: 0,
        status: StatusId::Submitted as u8,
        kind: TradeType::MarketBuy as u8,
        is_cash: 1,
        is_lifo: 0,
        pad: [0; 4],
    };
    assert_eq!(trade_row(&house, 9), expected);
    assert_eq!(house.states(trade(9)), [(StatusId::Submitted, NOW)]);
    assert_eq!(house.row(tables.trade_request, TradeKey::new(trade(9))), None);
    let executor = house.row(tables.trade_executor, TradeKey::new(trade(9))).unwrap();
    assert_eq!(executor.name, Person::customer(house.tpce.settings.scale, 0).full_name());
}

#[test]
fn an_order_with_a_limit_waits_for_its_price() {
    let mut house = House::trading("");
    for (number, kind) in
        [TradeType::LimitBuy, TradeType::LimitSell, TradeType::StopLoss].into_iter().enumerate()
    {
        let number = number as u64;
        let output = places(&mut house, &TradeOrder { is_lifo: true, ..order(number, 1, kind) });
        assert_eq!(output, Output::TradeOrder { price: 2_200, tax: 0, commission: 880, assets: 0 });
        let row = trade_row(&house, number);
        assert_eq!((row.status, row.bid_price, row.is_lifo), (StatusId::Pending as u8, 2_200, 1));
        assert_eq!(house.states(trade(number)), [(StatusId::Pending, NOW)]);
        let expected = TradeRequest {
            security: 1,
            quantity: 100,
            bid_price: 2_200,
            broker: broker_of_account(House::account(1)),
            kind: kind as u8,
            pad: [0; 7],
        };
        let key = TradeKey::new(trade(number));
        assert_eq!(house.row(house.tpce.tables.trade_request, key), Some(expected));
    }
}

#[test]
fn a_security_is_found_by_the_name_of_its_company_and_its_issue() {
    let mut house = House::trading("");
    // Both are issues of company 1.
    for (number, security) in [(7, 1), (8, 101)] {
        let order = TradeOrder { security, by_company: true, ..order(number, 0, TradeType::MarketBuy) };
        places(&mut house, &order);
        assert_eq!(trade_row(&house, number).security, security);
    }
}

#[test]
fn only_those_with_a_permission_give_orders_for_others() {
    let mut house = House::trading("");
    let by_other = TradeOrder { executor: 2, ..order(9, 0, TradeType::MarketBuy) };
    house.rolls_back(&Input::TradeOrder(by_other.clone()));

    let person = Person::customer(house.tpce.settings.scale, 2);
    let key = PermissionKey { account: House::account(0), tax_id: person.tax_id };
    let mut row = Permission { last_name: person.last_name, ..zeroed() };
    house.load(house.tpce.tables.permission, key, &row);
    house.rolls_back(&Input::TradeOrder(by_other.clone()));

    row.first_name = person.first_name;
    house.change(house.tpce.tables.permission, key, |old| *old = row);
    places(&mut house, &by_other);
    let executor = house.row(house.tpce.tables.trade_executor, TradeKey::new(trade(9))).unwrap();
    assert_eq!(executor.name, person.full_name());
}

#[test]
fn the_estimated_tax_is_that_of_the_lots_which_would_be_closed() {
    let sale = |customer| TradeOrder { quantity: 150, ..order(9, customer, TradeType::MarketSell) };
    // 15% of the gain, of accounts that are taxed.
    let oldest_first = 150 * 2_500 - (100 * 2_000 + 50 * 2_200);
    for (customer, tax) in [(0, 0), (1, oldest_first * 15 / 100), (2, oldest_first * 15 / 100)] {
        let mut house = House::trading("");
        house.lot(customer, 1, 2_000, 100);
        house.lot(customer, 2, 2_200, 100);
        let lots = house.lots(customer);
        assert_eq!(tax_of(&places(&mut house, &sale(customer))), tax, "tax status {customer}");
        assert_eq!((house.lots(customer), house.position_of(customer)), (lots, Some(200)));
        assert_eq!(house.changes(trade(9)), []);
        assert_eq!(trade_row(&house, 9).tax, 0);
    }
    let mut house = House::trading("");
    house.lot(1, 1, 2_000, 100);
    house.lot(1, 2, 2_200, 100);
    let newest_first = 150 * 2_500 - (100 * 2_200 + 50 * 2_000);
    let output = places(&mut house, &TradeOrder { is_lifo: true, ..sale(1) });
    assert_eq!(tax_of(&output), newest_first * 15 / 100);
}

#[test]
fn losses_purchases_for_a_long_position_and_first_trades_have_no_estimated_tax() {
    let mut house = House::trading("");
    house.lot(1, 1, 2_600, 100);
    assert_eq!(tax_of(&places(&mut house, &order(7, 1, TradeType::MarketSell))), 0);
    house.lot(2, 1, 2_000, 100);
    assert_eq!(tax_of(&places(&mut house, &order(8, 2, TradeType::MarketBuy))), 0);
    let other = TradeOrder { security: 2, ..order(9, 2, TradeType::MarketSell) };
    assert_eq!(tax_of(&places(&mut house, &other)), 0);
}

#[test]
fn a_purchase_that_closes_a_short_position_may_have_a_gain() {
    let mut house = House::trading("");
    house.lot(1, 1, 2_600, -100);
    let output = places(&mut house, &order(9, 1, TradeType::LimitBuy));
    assert_eq!(tax_of(&output), 100 * (2_600 - 2_200) * 15 / 100);
}

#[test]
fn an_order_on_margin_values_all_positions() {
    let mut house = House::trading("");
    let tables = house.tpce.tables;
    house.lot(0, 1, 2_000, 100);
    let short = SummaryKey::new(House::account(0), 3);
    house.load(tables.summary, short, &Summary { quantity: -10 });
    let of_another = SummaryKey::new(House::account(1), 2);
    house.load(tables.summary, of_another, &Summary { quantity: 1_000 });
    house.change(tables.last_trade, SecurityKey::new(3), |row| row.price = 3_000);
    let output = places(&mut house, &TradeOrder { is_margin: true, ..order(9, 0, TradeType::MarketBuy) });
    let assets = BALANCE + 100 * 2_500 - 10 * 3_000;
    assert_eq!(output, Output::TradeOrder { price: PRICE, tax: 0, commission: 1_000, assets });
    assert_eq!(trade_row(&house, 9).is_cash, 0);
}

#[test]
fn a_canceled_order_leaves_nothing() {
    let mut house = House::trading("");
    // The maps of the test engine are there from the first row on.
    house.pending(&order(1, 0, TradeType::LimitBuy));
    for kind in [TradeType::MarketSell, TradeType::StopLoss] {
        house.rolls_back(&Input::TradeOrder(TradeOrder { rolls_back: true, ..order(9, 0, kind) }));
    }
}
