//! Tests of Data-Maintenance, one for each table.

use engine::Abort;

use super::super::super::input::Input;
use super::super::super::keys::{
    CompanyNewsKey, DailyMarketKey, ExchangeDescriptionKey, FinancialKey, NewsKey, TaxrateNameKey,
    WatchListKey,
};
use super::super::super::names::tax_id;
use super::super::super::rows::{
    Address, CompanyNews, DailyMarket, ExchangeDescription, Financial, News, NewsBody, Permission,
    TaxrateName, WatchItem, WatchList,
};
use super::super::super::time::market_date;
use super::super::testing::{House, ORDERED_AT, zeroed};
use super::market::stamped;
use super::*;

fn changes(house: &mut House, input: DataMaintenance) -> u32 {
    let Output::DataMaintenance { changed } = house.commits(&Input::DataMaintenance(input)) else {
        panic!("a Data-Maintenance")
    };
    changed
}

fn watches(house: &mut House, securities: impl Iterator<Item = u32>) {
    let tables = house.tpce.tables;
    let list = customer_id(1);
    house.load(tables.watch_list, WatchListKey::new(list), &WatchList { customer: list });
    for security in securities {
        let row = WatchItem { security: u64::from(security) };
        house.load(tables.watch_item, WatchItemKey::new(list, security), &row);
    }
}

fn watched(house: &House) -> Vec<u32> {
    let mut items = Vec::new();
    let keys = WatchItemKey::of_list(customer_id(1));
    engine::Quiesced::scan(&house.mock, house.tpce.tables.watch_item, keys, |key, row| {
        assert_eq!(row.security, u64::from(key.security()));
        items.push(key.security());
        ControlFlow::Continue(())
    });
    items
}

#[test]
fn the_greatest_rights_to_an_account_become_all_rights_and_then_fewer() {
    let mut house = House::trading("");
    let table = house.tpce.tables.permission;
    let account = House::account(0);
    let scale = house.tpce.settings.scale;
    let key = |customer| PermissionKey { account, tax_id: tax_id(scale, customer) };
    house.load(table, key(7), &Permission { acl: Text::new(b"0011"), ..zeroed() });
    house.load(table, key(8), &Permission { acl: Text::new(b"0001"), ..zeroed() });
    let rights = |house: &House| [0, 7, 8].map(|customer| house.row(table, key(customer)).unwrap().acl);
    for expected in [b"1111", b"0011", b"1111"] {
        assert_eq!(changes(&mut house, DataMaintenance::AccountPermission { account }), 1);
        assert_eq!(rights(&house), [Text::new(b"0000"), Text::new(expected), Text::new(b"0001")]);
    }
    let unknown = DataMaintenance::AccountPermission { account: House::account(9) };
    house.rolls_back(&Input::DataMaintenance(unknown));
}

#[test]
fn an_address_a_rating_and_a_mail_address_change_to_and_fro() {
    let mut house = House::trading("");
    let tables = house.tpce.tables;
    house.load(tables.address, AddressKey::new(7), &Address { line_2: Text::new(b"Suite 1"), ..zeroed() });
    let key = CustomerKey::new(customer_id(1));
    house.change(tables.customer_email, key, |row| row.email_2 = Text::new(b"ada@example.org"));
    for (line, rating, email) in [
        ("Apt. 10C", "ABA", "ada@mindspring.com"),
        ("Apt. 22", "AAA", "ada@earthlink.com"),
        ("Apt. 10C", "ABA", "ada@mindspring.com"),
    ] {
        assert_eq!(changes(&mut house, DataMaintenance::Address { address: 7 }), 1);
        let row = house.row(tables.address, AddressKey::new(7)).unwrap();
        assert_eq!(row.line_2.as_bytes(), line.as_bytes());
        assert_eq!(changes(&mut house, DataMaintenance::Company { company: 1 }), 1);
        let row = house.row(tables.company_rating, CompanyKey::new(1)).unwrap();
        assert_eq!(row.rating.as_bytes(), rating.as_bytes());
        assert_eq!(changes(&mut house, DataMaintenance::Customer { customer: 1 }), 1);
        let row = house.row(tables.customer_email, key).unwrap();
        assert_eq!(row.email_2.as_bytes(), email.as_bytes());
    }
    let unknown = Input::DataMaintenance(DataMaintenance::Address { address: 8 });
    assert_eq!(house.execute(&unknown), Err(Abort::ReadChanged));
}

#[test]
fn tax_rates_of_countries_go_round() {
    let rates = |first| {
        let mut rate = first;
        core::iter::from_fn(move || {
            rate = next_rate(rate);
            Some(rate)
        })
    };
    assert_eq!(rates(0).take(6).collect::<Vec<_>>(), [1, 2, 3, 4, 0, 1]);
    assert_eq!(rates(5).take(5).collect::<Vec<_>>(), [6, 7, 8, 5, 6]);
}

#[test]
fn a_customer_gets_another_rate_of_the_country_and_keeps_that_of_the_division() {
    let mut house = House::trading("");
    let table = house.tpce.tables.customer_taxrate;
    let rates = |house: &House| {
        let row = |rate| house.row(table, CustomerTaxrateKey::new(customer_id(1), rate));
        (0..20).filter_map(|rate| row(rate).map(|row| (rate, row.rate))).collect::<Vec<_>>()
    };
    assert_eq!(rates(&house), [(0, 0), (9, 9)]);
    assert_eq!(changes(&mut house, DataMaintenance::CustomerTaxrate { customer: 1 }), 1);
    assert_eq!(rates(&house), [(1, 1), (9, 9)]);
    house.rolls_back(&Input::DataMaintenance(DataMaintenance::CustomerTaxrate { customer: 9 }));
    // Without a rate of a country there is nothing to change.
    house.load(table, CustomerTaxrateKey::new(customer_id(9), 9), &CustomerTaxrate { rate: 9 });
    house.rolls_back(&Input::DataMaintenance(DataMaintenance::CustomerTaxrate { customer: 9 }));
}

#[test]
fn volumes_change_on_one_day_of_all_months() {
    let mut house = House::new();
    let table = house.tpce.tables.daily_market;
    for (security, day) in (0..60).flat_map(|day| [(3, day), (4, day)]) {
        let row = DailyMarket { volume: 10, ..zeroed() };
        house.load(table, DailyMarketKey::new(security, market_date(day)), &row);
    }
    // The days are Mondays to Fridays from 3 January 2000 to 24 March 2000.
    let input = |day_of_month| DataMaintenance::DailyMarket { security: 3, day_of_month, change: -3 };
    assert_eq!(changes(&mut house, input(3)), 3);
    let dates = [10_959, 10_990, 11_019];
    for date in (0..60).map(market_date) {
        let volume = |security| house.row(table, DailyMarketKey::new(security, date)).unwrap().volume;
        assert_eq!((volume(3), volume(4)), (if dates.contains(&date) { 7 } else { 10 }, 10), "{date}");
    }
    assert_eq!(changes(&mut house, input(29)), 1);
    house.rolls_back(&Input::DataMaintenance(input(30)));
}

#[test]
fn all_exchanges_are_stamped_with_the_last_time_only() {
    let mut house = House::new();
    let table = house.tpce.tables.exchange_description;
    for exchange in 0..4 {
        let row = ExchangeDescription { description: Text::new(b"An exchange"), ..zeroed() };
        house.load(table, ExchangeDescriptionKey::new(exchange), &row);
    }
    assert_eq!(changes(&mut house, DataMaintenance::Exchange { time: ORDERED_AT - 5_000 }), 4);
    assert_eq!(changes(&mut house, DataMaintenance::Exchange { time: ORDERED_AT }), 4);
    for exchange in 0..4 {
        let row = house.row(table, ExchangeDescriptionKey::new(exchange)).unwrap();
        assert_eq!(row.description.as_bytes(), b"An exchange Changed at 2005-01-03 09:00:00");
    }
}

#[test]
fn a_long_description_makes_room_for_its_time() {
    let long = stamped(Text::new(&[b'x'; 150]), ORDERED_AT);
    assert_eq!(long.as_bytes().len(), 150);
    assert!(long.as_bytes().ends_with(b"x Changed at 2005-01-03 09:00:00"));
    assert_eq!(stamped(long, ORDERED_AT), long);
}

#[test]
fn quarters_begin_a_day_later_and_then_earlier() {
    let mut house = House::new();
    let table = house.tpce.tables.financial;
    // 1 January and 1 April 2000.
    for (company, quarter, start) in [(5, 1, 10_957), (5, 2, 11_048), (6, 1, 10_957)] {
        let row = Financial { quarter_start: start, ..zeroed() };
        house.load(table, FinancialKey::new(company, 2_000, quarter), &row);
    }
    let starts = |house: &House| {
        [(5, 1), (5, 2), (6, 1)].map(|(company, quarter)| {
            house.row(table, FinancialKey::new(company, 2_000, quarter)).unwrap().quarter_start
        })
    };
    assert_eq!(changes(&mut house, DataMaintenance::Financial { company: 5 }), 2);
    assert_eq!(starts(&house), [10_958, 11_049, 10_957]);
    assert_eq!(changes(&mut house, DataMaintenance::Financial { company: 5 }), 2);
    assert_eq!(starts(&house), [10_957, 11_048, 10_957]);
    house.rolls_back(&Input::DataMaintenance(DataMaintenance::Financial { company: 7 }));
}

#[test]
fn the_news_of_a_company_appear_a_day_later() {
    let mut house = House::new();
    let tables = house.tpce.tables;
    for (company, item) in [(1, 2), (1, 3), (2, 4)] {
        let (news, body): (News, NewsBody) = (News { time: ORDERED_AT, ..zeroed() }, zeroed());
        house.load((tables.news, tables.news_body), NewsKey::new(item), (&news, &body));
        let row = CompanyNews { item: u64::from(item) };
        house.load(tables.company_news, CompanyNewsKey::new(company, item), &row);
    }
    assert_eq!(changes(&mut house, DataMaintenance::NewsItem { company: 1 }), 2);
    let time = |item| house.row(tables.news, NewsKey::new(item)).unwrap().time - ORDERED_AT;
    assert_eq!([2, 3, 4].map(time), [86_400_000, 86_400_000, 0]);
    house.rolls_back(&Input::DataMaintenance(DataMaintenance::NewsItem { company: 9 }));
}

#[test]
fn a_security_is_listed_a_day_later() {
    let mut house = House::trading("");
    let table = house.tpce.tables.security_exchange_date;
    house.change(table, SecurityKey::new(2), |row| row.date = 9_000);
    assert_eq!(changes(&mut house, DataMaintenance::Security { security: 2 }), 1);
    assert_eq!(house.row(table, SecurityKey::new(2)).unwrap().date, 9_001);
}

#[test]
fn a_tax_has_its_name_in_small_letters_and_then_again_as_before() {
    let mut house = House::new();
    let (table, key) = (house.tpce.tables.taxrate_name, TaxrateNameKey::new(9));
    house.load(table, key, &TaxrateName { name: Text::new(b"State Tax of X"), ..zeroed() });
    let before = house.mock.clone();
    assert_eq!(changes(&mut house, DataMaintenance::Taxrate { rate: 9 }), 1);
    assert_eq!(house.row(table, key).unwrap().name.as_bytes(), b"State tax of X");
    assert_eq!(changes(&mut house, DataMaintenance::Taxrate { rate: 9 }), 1);
    assert!(house.mock == before);
    house.change(table, key, |row| row.name = Text::new(b"Duty"));
    house.rolls_back(&Input::DataMaintenance(DataMaintenance::Taxrate { rate: 9 }));
}

#[test]
fn the_middle_of_a_watch_list_is_replaced_by_the_next_security_that_is_not_in_it() {
    for (before, after) in [
        (vec![10, 20, 30], vec![10, 21, 30]),
        (vec![10, 20, 21, 22], vec![10, 21, 22, 23]),
        // The last security is followed by the first one that is not in the list.
        (vec![0, 1, 136], vec![0, 2, 136]),
        (vec![135, 136], vec![0, 136]),
        (vec![7], vec![8]),
    ] {
        let mut house = House::new();
        watches(&mut house, before.iter().copied());
        assert_eq!(changes(&mut house, DataMaintenance::WatchItem { customer: 1 }), 1);
        assert_eq!(watched(&house), after, "{before:?}");
    }
}

#[test]
fn a_watch_list_of_all_securities_or_of_none_stays() {
    for count in [137, 0] {
        let mut house = House::new();
        watches(&mut house, 0..count);
        house.rolls_back(&Input::DataMaintenance(DataMaintenance::WatchItem { customer: 1 }));
        house.rolls_back(&Input::DataMaintenance(DataMaintenance::WatchItem { customer: 2 }));
    }
}
