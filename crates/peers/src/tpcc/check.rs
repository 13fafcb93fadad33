//! Consistency after a run (TPC-C 3.3.2, whose numbers the conditions have), and agreement with the clients' commits.

use super::procedures::{customer_key, district_key, of_district, order_key, stock_key, warehouse_key};
use super::rows::{customer, get_i64, get_u32, get_u64, order, order_line, stock};
use super::{DISTRICTS, FIRST_PAYMENT, Ledger, Tpcc};
use crate::peer::{Session, read_keys, read_range};
use crate::tables::{
    CUSTOMER, DISTRICT_NEXT, DISTRICT_YTD, NEW_ORDER, ORDER, ORDER_LINE, STOCK, WAREHOUSE_YTD,
};

/// The sums over a district.
#[derive(Clone, Debug, Default)]
struct Area {
    ytd: i64,
    next_order: u32,
    /// The first and the last undelivered order, and the number of undelivered orders.
    queued: (u32, u32, u64),
    /// The number of order lines, the sum of the amounts of delivered lines, and the number of undelivered lines.
    lines: u64,
    delivered_amount: i64,
    lines_undelivered: u64,
}

/// Checks all warehouses.
pub(super) fn check(of: &Tpcc, session: &mut impl Session, ledger: &Ledger) -> Result<(), String> {
    let (mut paid, mut orders, mut lines, mut queued) = (0, 0, 0, 0);
    let settings = of.settings;
    for number in 1..=settings.warehouses {
        let mut ytd = 0;
        read_keys(session, WAREHOUSE_YTD, [warehouse_key(number)], &mut |_, row| {
            ytd = row.map_or(0, |row| get_i64(row, 0));
        })?;
        let mut of_districts = 0;
        for area in 1..=DISTRICTS {
            let found = check_district(of, session, number, area)?;
            of_districts += found.ytd;
            orders += u64::from(found.next_order - 1 - settings.customers);
            lines += found.lines;
            queued += found.queued.2;
        }
        expect("1: W_YTD is the sum of D_YTD", ytd, of_districts)?;
        paid += ytd;
    }
    let districts = i64::from(settings.warehouses) * i64::from(DISTRICTS);
    let before = districts * i64::from(settings.customers) * FIRST_PAYMENT;
    expect("W_YTD grew by what was paid", paid - before, ledger.paid)?;
    expect("as many orders as New-Orders committed", orders, ledger.new_orders)?;
    let loaded = districts as u64 * u64::from(of.undelivered());
    expect("the queue is what was ordered and not delivered", queued, loaded + orders - ledger.delivered)?;
    check_stock(of, session, ledger)?;
    let mut counted = 0_u64;
    for (number, area) in of.districts() {
        let keys = (1..=settings.customers).map(|customer| customer_key(number, area, customer));
        read_keys(session, CUSTOMER, keys, &mut |_, row| {
            counted += row.map_or(0, |row| u64::from(get_u32(row, customer::PAYMENT_CNT)));
        })?;
    }
    let first = districts as u64 * u64::from(settings.customers);
    expect("C_PAYMENT_CNT grew by the payments", counted - first, ledger.payments)?;
    if lines == 0 { Err("there are no order lines".into()) } else { Ok(()) }
}

fn check_district(of: &Tpcc, session: &mut impl Session, number: u16, area: u8) -> Result<Area, String> {
    let mut found = Area::default();
    read_keys(session, DISTRICT_YTD, [district_key(number, area)], &mut |_, row| {
        found.ytd = row.map_or(0, |row| get_i64(row, 0));
    })?;
    read_keys(session, DISTRICT_NEXT, [district_key(number, area)], &mut |_, row| {
        found.next_order = row.map_or(0, |row| get_u32(row, 0));
    })?;
    read_range(session, NEW_ORDER, of_district(NEW_ORDER, number, area), &mut |_, row| {
        let order = get_u32(row, 0);
        let (first, _, count) = found.queued;
        found.queued = (if count == 0 { order } else { first }, order, count + 1);
    })?;
    let (first, last, count) = found.queued;
    if count > 0 {
        expect("2: D_NEXT_O_ID - 1 is the last NO_O_ID", found.next_order - 1, last)?;
        expect("3: NO_O_IDs are without a gap", u64::from(last - first + 1), count)?;
    }
    read_range(session, ORDER_LINE, of_district(ORDER_LINE, number, area), &mut |_, row| {
        found.lines += 1;
        if get_u64(row, order_line::DELIVERY_DATE) == 0 {
            found.lines_undelivered += 1;
        } else {
            found.delivered_amount += i64::from(get_u32(row, order_line::AMOUNT));
        }
    })?;
    // One key beyond the last order, which must not exist.
    let keys = (1..=found.next_order).map(|order| order_key(number, area, order));
    let (mut orders, mut of_orders, mut undelivered, mut lines_undelivered) = (0, 0, 0, 0);
    read_keys(session, ORDER, keys, &mut |_, row| {
        let Some(row) = row else { return };
        orders += 1;
        of_orders += u64::from(row[order::LINES]);
        if row[order::CARRIER] == 0 {
            undelivered += 1;
            lines_undelivered += u64::from(row[order::LINES]);
        }
    })?;
    expect("2: D_NEXT_O_ID - 1 is the last O_ID, and none is missing", found.next_order - 1, orders)?;
    expect("4: the sum of O_OL_CNT is the number of order lines", of_orders, found.lines)?;
    expect("5: orders without a carrier are those of NEW-ORDER", undelivered, count)?;
    expect(
        "7: lines without a date are those of orders without a carrier",
        lines_undelivered,
        found.lines_undelivered,
    )?;
    let keys = (1..=of.settings.customers).map(|customer| customer_key(number, area, customer));
    let mut balances = 0;
    read_keys(session, CUSTOMER, keys, &mut |_, row| {
        balances +=
            row.map_or(0, |row| get_i64(row, customer::BALANCE) + get_i64(row, customer::YTD_PAYMENT));
    })?;
    expect(
        "12: C_BALANCE + C_YTD_PAYMENT is the sum of delivered OL_AMOUNT",
        balances,
        found.delivered_amount,
    )?;
    Ok(found)
}

fn check_stock(of: &Tpcc, session: &mut impl Session, ledger: &Ledger) -> Result<(), String> {
    let (mut quantity, mut lines) = (0_u64, 0_u64);
    for number in 1..=of.settings.warehouses {
        let keys = (1..=of.settings.items).map(|item| stock_key(number, item));
        read_keys(session, STOCK, keys, &mut |_, row| {
            let Some(row) = row else { return };
            quantity += u64::from(get_u32(row, stock::YTD));
            lines += u64::from(get_u32(row, stock::ORDER_CNT));
        })?;
    }
    expect("S_YTD is what was ordered", quantity, ledger.quantity)?;
    expect("S_ORDER_CNT is the number of lines that were ordered", lines, ledger.lines)
}

fn expect<T: Copy + PartialEq + std::fmt::Display>(claim: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{claim}: {found}, not {wanted}")) }
}
