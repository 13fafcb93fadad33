//! The five transactions (TPC-C 2.4 to 2.8). A store that shows rows of different moments must prevent the commit of a
//! transaction that read them. So a missing row that must exist ends the attempt.

use std::iter;

use workloads::tpcc::{Delivery, NewOrder, OrderStatus, Payment, StockLevel, Who};

use super::rows::{
    add_i64, add_u32, customer, get_i32, get_u32, history, item, order, order_line, set_i32, set_u16,
    set_u32, set_u64, site, stock,
};
use crate::peer::{Key, Stop, Txn};
use crate::tables::{
    CUSTOMER, CUSTOMER_BALANCE, CUSTOMER_NAME, CUSTOMER_PERSON, DISTRICT, DISTRICT_NEXT, DISTRICT_YTD,
    HISTORY, ITEM, NEW_ORDER, ORDER, ORDER_CUSTOMER, ORDER_LINE, STOCK, STOCK_INFO, STOCK_LEVEL, TableId,
    WAREHOUSE, WAREHOUSE_YTD,
};

/// The number of orders that a Stock-Level reads (TPC-C 2.8.2.2).
const RECENT_ORDERS: u32 = 20;
/// The width of `C_DATA` in bytes.
const CUSTOMER_DATA_BYTES: usize = 500;

/// A client's buffers, and the data that a terminal would show, so that the data must be read.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lines: Vec<Line>,
    customers: Vec<u32>,
    items: Vec<u32>,
    shown: Vec<u8>,
}

/// A line of the order in progress.
#[derive(Clone, Copy, Debug)]
struct Line {
    item: u32,
    supply_warehouse: u16,
    quantity: u16,
    amount: u32,
    dist_info: [u8; 24],
}

pub(super) fn warehouse_key(warehouse: u16) -> Key {
    Key::new().u16(warehouse)
}

pub(super) fn district_key(warehouse: u16, district: u8) -> Key {
    Key::new().u16(warehouse).u8(district)
}

pub(super) fn customer_key(warehouse: u16, district: u8, customer: u32) -> Key {
    district_key(warehouse, district).u32(customer)
}

/// Returns the key of ORDER and of NEW-ORDER.
pub(super) fn order_key(warehouse: u16, district: u8, order: u32) -> Key {
    district_key(warehouse, district).u32(order)
}

pub(super) fn line_key(warehouse: u16, district: u8, order: u32, line: u8) -> Key {
    order_key(warehouse, district, order).u8(line)
}

pub(super) fn stock_key(warehouse: u16, item: u32) -> Key {
    Key::new().u16(warehouse).u32(item)
}

/// Returns the key of the index of orders by customer. Later orders come before earlier orders.
pub(super) fn customer_order_key(warehouse: u16, district: u8, customer: u32, order: u32) -> Key {
    customer_key(warehouse, district, customer).u32(!order)
}

/// Accepts a row that must exist. A missing row ends the attempt.
fn found(is_there: bool, what: &'static str) -> Result<(), Stop> {
    if is_there { Ok(()) } else { Err(Stop::Missing(what)) }
}

/// Places an order (TPC-C 2.4).
pub(super) fn new_order(input: &NewOrder, scratch: &mut Scratch, txn: &mut impl Txn) -> Result<(), Stop> {
    let (warehouse, district) = (input.warehouse, input.district);
    let customer_at = customer_key(warehouse, district, input.customer);
    txn.expect(CUSTOMER, iter::once(customer_at));
    txn.expect(ITEM, input.lines().iter().map(|line| Key::new().u32(line.item)));
    txn.expect(STOCK, input.lines().iter().map(|line| stock_key(line.supply_warehouse, line.item)));
    let (mut taxes, mut discount) = (0, 0);
    let seen = txn.get(WAREHOUSE, &warehouse_key(warehouse), |row| taxes = get_u32(row, site::TAX))?;
    found(seen, "a warehouse")?;
    let seen =
        txn.get(DISTRICT, &district_key(warehouse, district), |row| taxes += get_u32(row, site::TAX))?;
    found(seen, "a district")?;
    let seen = txn.get_part(CUSTOMER_PERSON, &customer_at, |person| {
        discount = get_u32(person, customer::DISCOUNT - customer::PERSON);
    })?;
    found(seen, "a customer")?;
    scratch.lines.clear();
    for line in input.lines() {
        let mut at_hand = None;
        // An unused item number is the customer's mistake. The order is rolled back, but only after the work for the
        // other lines (TPC-C 2.4.2.3).
        let is_used = txn.get(ITEM, &Key::new().u32(line.item), |row| {
            at_hand = Some((get_u32(row, item::PRICE), is_original(&row[item::DATA..])));
        })?;
        let (true, Some((price, _))) = (is_used, at_hand) else { return Err(Stop::Rollback) };
        let mut dist_info = [0; 24];
        let is_remote = line.supply_warehouse != warehouse;
        let at = stock_key(line.supply_warehouse, line.item);
        let is_there = txn.update_part(STOCK_LEVEL, Some(STOCK_INFO), &at, |level, info| {
            // TPC-C 2.4.2.2: if less than 10 would be left, 91 are added.
            let left = get_i32(level, stock::QUANTITY).wrapping_sub(i32::from(line.quantity));
            set_i32(level, stock::QUANTITY, if left >= 10 { left } else { left.wrapping_add(91) });
            add_u32(level, stock::YTD, u32::from(line.quantity));
            add_u32(level, stock::ORDER_CNT, 1);
            add_u32(level, stock::REMOTE_CNT, u32::from(is_remote));
            let dist = stock::DIST - stock::INFO + 24 * (usize::from(district) - 1);
            dist_info.copy_from_slice(&info[dist..dist + 24]);
        })?;
        found(is_there, "a stock")?;
        scratch.lines.push(Line {
            item: line.item,
            supply_warehouse: line.supply_warehouse,
            quantity: line.quantity,
            amount: u32::from(line.quantity) * price,
            dist_info,
        });
    }
    // The hottest row comes last, as in the laboratory.
    let mut number = 0;
    let is_there = txn.update(DISTRICT_NEXT, &district_key(warehouse, district), |row| {
        number = add_u32(row, 0, 1).wrapping_sub(1);
    })?;
    found(is_there, "a district")?;
    let sum: u64 = scratch.lines.iter().map(|line| u64::from(line.amount)).sum();
    let total_cents = sum * u64::from(10_000 - discount) * u64::from(10_000 + taxes) / 100_000_000;
    scratch.shown.clear();
    scratch.shown.extend_from_slice(&total_cents.to_le_bytes());
    write_order(input, number, &scratch.lines, txn)
}

fn write_order(input: &NewOrder, number: u32, lines: &[Line], txn: &mut impl Txn) -> Result<(), Stop> {
    let (warehouse, district) = (input.warehouse, input.district);
    let mut row = [0; 15];
    set_u64(&mut row, order::ENTRY_DATE, input.date);
    set_u32(&mut row, order::CUSTOMER, input.customer);
    row[order::LINES] = lines.len() as u8;
    row[order::ALL_LOCAL] = u8::from(input.is_all_local());
    txn.insert(ORDER, &order_key(warehouse, district, number), &row)?;
    let by_customer = customer_order_key(warehouse, district, input.customer, number);
    txn.insert(ORDER_CUSTOMER, &by_customer, &number.to_le_bytes())?;
    txn.insert(NEW_ORDER, &order_key(warehouse, district, number), &number.to_le_bytes())?;
    for (at, line) in (1..).zip(lines) {
        let mut row = [0; 44];
        set_u32(&mut row, order_line::ITEM, line.item);
        set_u32(&mut row, order_line::AMOUNT, line.amount);
        set_u16(&mut row, order_line::SUPPLY_WAREHOUSE, line.supply_warehouse);
        set_u16(&mut row, order_line::QUANTITY, line.quantity);
        row[order_line::DIST_INFO..].copy_from_slice(&line.dist_info);
        txn.insert(ORDER_LINE, &line_key(warehouse, district, number, at), &row)?;
    }
    Ok(())
}

/// Executes a Payment (TPC-C 2.5).
pub(super) fn payment(
    input: &Payment,
    history_key: &Key,
    scratch: &mut Scratch,
    txn: &mut impl Txn,
) -> Result<(), Stop> {
    let amount = i64::from(input.amount);
    let of = (input.customer_warehouse, input.customer_district);
    let number = select(of, &input.who, scratch, txn)?;
    let customer_at = customer_key(of.0, of.1, number);
    txn.expect(CUSTOMER, iter::once(customer_at));
    let shown = &mut scratch.shown;
    shown.clear();
    let is_there = txn.update(CUSTOMER, &customer_at, |row| {
        add_i64(row, customer::BALANCE, -amount);
        add_i64(row, customer::YTD_PAYMENT, amount);
        add_u32(row, customer::PAYMENT_CNT, 1);
        if &row[customer::CREDIT..customer::CREDIT + 2] == b"BC" {
            let (note, data) = (note(input, number), &mut row[customer::DATA..]);
            data.copy_within(..CUSTOMER_DATA_BYTES - note.len(), note.len());
            data[..note.len()].copy_from_slice(note.as_bytes());
        }
        shown.extend_from_slice(&row[..customer::DATA + 200]);
    })?;
    found(is_there, "a customer")?;
    let mut names = [[0; 10]; 2];
    let (at, area) = (warehouse_key(input.warehouse), district_key(input.warehouse, input.district));
    let seen = txn.get(WAREHOUSE, &at, |row| names[0].copy_from_slice(&row[site::NAME..site::ADDRESS]))?;
    found(seen, "a warehouse")?;
    let seen = txn.get(DISTRICT, &area, |row| names[1].copy_from_slice(&row[site::NAME..site::ADDRESS]))?;
    found(seen, "a district")?;
    found(txn.add(DISTRICT_YTD, &area, amount)?, "a district")?;
    found(txn.add(WAREHOUSE_YTD, &at, amount)?, "a warehouse")?;

    let mut row = [0; 46];
    set_u64(&mut row, history::DATE, input.date);
    set_u32(&mut row, history::AMOUNT, input.amount);
    set_u32(&mut row, history::CUSTOMER, number);
    set_u16(&mut row, history::CUSTOMER_WAREHOUSE, of.0);
    set_u16(&mut row, history::WAREHOUSE, input.warehouse);
    row[history::CUSTOMER_DISTRICT] = of.1;
    row[history::DISTRICT] = input.district;
    // TPC-C 2.5.2.2: both names with four spaces between them.
    row[history::DATA..history::DATA + 10].copy_from_slice(&names[0]);
    row[history::DATA + 10..history::DATA + 14].fill(b' ');
    row[history::DATA + 14..].copy_from_slice(&names[1]);
    txn.insert(HISTORY, history_key, &row)
}

/// Returns the text that is added to `C_DATA` of a customer with bad credit (TPC-C 2.5.2.2).
fn note(input: &Payment, customer: u32) -> String {
    let Payment { customer_district, customer_warehouse, district, warehouse, amount, .. } = input;
    format!("{customer} {customer_district} {customer_warehouse} {district} {warehouse} {amount} ")
}

/// Returns a customer's number, given directly or found by name (TPC-C 2.5.2.2, 2.6.2.2).
fn select(
    (warehouse, district): (u16, u8),
    who: &Who,
    scratch: &mut Scratch,
    txn: &mut impl Txn,
) -> Result<u32, Stop> {
    let last = match who {
        Who::Number(number) => return Ok(*number),
        Who::Name(last) => last.padded(),
    };
    let named_so = &mut scratch.customers;
    named_so.clear();
    let from = district_key(warehouse, district).bytes(last);
    let (from, to) = (from.bytes(&[0; 20]), from.bytes(&[u8::MAX; 20]));
    txn.scan(CUSTOMER_NAME, &from, &to, usize::MAX, |_, row| named_so.push(get_u32(row, 0)))?;
    // The scan returns customers in the order of their first names. The result is at position n/2, rounded up, counted
    // from 1.
    let middle = named_so.len().div_ceil(2).wrapping_sub(1);
    named_so.get(middle).copied().ok_or(Stop::Missing("a customer of this name"))
}

/// Reads the state of a customer's last order (TPC-C 2.6).
pub(super) fn order_status(
    input: &OrderStatus,
    scratch: &mut Scratch,
    txn: &mut impl Txn,
) -> Result<(), Stop> {
    let (warehouse, district) = (input.warehouse, input.district);
    let number = select((warehouse, district), &input.who, scratch, txn)?;
    let shown = &mut scratch.shown;
    shown.clear();
    let seen = txn.get(CUSTOMER, &customer_key(warehouse, district, number), |row| {
        shown.extend_from_slice(&row[..customer::ADDRESS]);
    })?;
    found(seen, "a customer")?;
    let mut last = None;
    let from = customer_order_key(warehouse, district, number, u32::MAX);
    let to = customer_order_key(warehouse, district, number, 0);
    txn.scan(ORDER_CUSTOMER, &from, &to, 1, |_, row| last = Some(get_u32(row, 0)))?;
    let last = last.ok_or(Stop::Missing("a customer's last order"))?;
    let seen = txn.get(ORDER, &order_key(warehouse, district, last), |row| shown.extend_from_slice(row))?;
    found(seen, "an order")?;
    let (from, to) = (line_key(warehouse, district, last, 0), line_key(warehouse, district, last, u8::MAX));
    txn.scan(ORDER_LINE, &from, &to, usize::MAX, |_, row| {
        shown.extend_from_slice(&row[..order_line::DIST_INFO]);
    })
}

/// Delivers the oldest order of each district (TPC-C 2.7), in one transaction. Returns the number of delivered orders.
pub(super) fn delivery(input: &Delivery, txn: &mut impl Txn) -> Result<u64, Stop> {
    let warehouse = input.warehouse;
    let mut delivered = 0;
    for district in input.districts.clone() {
        let mut oldest = None;
        let (from, to) = (order_key(warehouse, district, 0), order_key(warehouse, district, u32::MAX));
        txn.scan(NEW_ORDER, &from, &to, 1, |_, row| oldest = Some(get_u32(row, 0)))?;
        // A district without an undelivered order is skipped (TPC-C 2.7.4.2).
        let Some(number) = oldest else { continue };
        if !txn.delete(NEW_ORDER, &order_key(warehouse, district, number))? {
            return Err(Stop::Conflict);
        }
        let (mut of, mut lines) = (0, 0);
        let is_there = txn.update(ORDER, &order_key(warehouse, district, number), |row| {
            row[order::CARRIER] = input.carrier;
            (of, lines) = (get_u32(row, order::CUSTOMER), row[order::LINES]);
        })?;
        found(is_there, "an order")?;
        let customer_at = customer_key(warehouse, district, of);
        txn.expect(CUSTOMER, iter::once(customer_at));
        let mut sum = 0;
        for line in 1..=lines {
            let is_there = txn.update(ORDER_LINE, &line_key(warehouse, district, number, line), |row| {
                set_u64(row, order_line::DELIVERY_DATE, input.date);
                sum += i64::from(get_u32(row, order_line::AMOUNT));
            })?;
            found(is_there, "an order line")?;
        }
        let is_there = txn.update_part(CUSTOMER_BALANCE, None, &customer_at, |own, _| {
            add_i64(own, customer::BALANCE, sum);
            add_u32(own, customer::DELIVERY_CNT, 1);
        })?;
        found(is_there, "a customer")?;
        delivered += 1;
    }
    Ok(delivered)
}

/// Counts the items of the last orders that are low in stock (TPC-C 2.8).
pub(super) fn stock_level(input: &StockLevel, scratch: &mut Scratch, txn: &mut impl Txn) -> Result<(), Stop> {
    let (warehouse, district) = (input.warehouse, input.district);
    let mut next = 0;
    let seen = txn.get(DISTRICT_NEXT, &district_key(warehouse, district), |row| next = get_u32(row, 0))?;
    found(seen, "a district")?;
    let items = &mut scratch.items;
    items.clear();
    let from = line_key(warehouse, district, next.saturating_sub(RECENT_ORDERS), 0);
    let to = line_key(warehouse, district, next, 0);
    txn.scan(ORDER_LINE, &from, &to, usize::MAX, |_, row| items.push(get_u32(row, order_line::ITEM)))?;
    items.sort_unstable();
    items.dedup();
    txn.expect(STOCK, items.iter().map(|&item| stock_key(warehouse, item)));
    let mut low = 0_u32;
    for &item in &*items {
        let seen = txn.get_part(STOCK_LEVEL, &stock_key(warehouse, item), |level| {
            low += u32::from(get_i32(level, stock::QUANTITY) < input.threshold);
        })?;
        found(seen, "a stock")?;
    }
    scratch.shown.clear();
    scratch.shown.extend_from_slice(&low.to_le_bytes());
    Ok(())
}

/// Returns `true` if the data of an item or a stock contains `ORIGINAL` (TPC-C 2.4.2.2).
fn is_original(data: &[u8]) -> bool {
    const ORIGINAL: [u8; 8] = *b"ORIGINAL";
    data.array_windows().any(|window| *window == ORIGINAL)
}

/// Returns the first and the last key of a table that begin with this district.
pub(super) fn of_district(table: TableId, warehouse: u16, district: u8) -> (Key, Key) {
    let rest = table.table().key_bytes - 3;
    let key = district_key(warehouse, district);
    (key.bytes(&[0; 37][..rest]), key.bytes(&[u8::MAX; 37][..rest]))
}
