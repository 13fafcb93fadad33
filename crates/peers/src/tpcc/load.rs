//! The initial rows (TPC-C 4.3.3). Each row is a function of the seed, the table and the key.

use stdx::{Permutation, Rng};

use super::procedures::{
    customer_key, customer_order_key, district_key, line_key, order_key, stock_key, warehouse_key,
};
use super::rows::{
    customer, history, item, order, order_line, set_i32, set_i64, set_u16, set_u32, set_u64, site, stock,
};
use super::{DISTRICTS, FIRST_PAYMENT, LOADED_AT_MS, Tpcc};
use crate::peer::Key;
use crate::tables::{
    CUSTOMER, CUSTOMER_NAME, DISTRICT, DISTRICT_NEXT, DISTRICT_YTD, HISTORY, ITEM, NEW_ORDER, ORDER,
    ORDER_CUSTOMER, ORDER_LINE, STOCK, TableId, WAREHOUSE, WAREHOUSE_YTD,
};

/// The purpose of the streams of random numbers: the second part of their seeds, after the seed of the run.
const STREAM: u64 = 0x7470_6363;
/// The client number in the keys of loaded HISTORY rows. No client has this number.
const LOADER: u16 = u16::MAX;
/// The number of last names (TPC-C 4.3.2.3).
const NAMES: u64 = 1_000;

type Give<'g> = &'g mut dyn FnMut(TableId, Key, Vec<u8>) -> Result<(), String>;

impl Tpcc {
    /// Passes all rows to `give`, table after table.
    pub(super) fn load(&self, give: Give<'_>) -> Result<(), String> {
        let settings = self.settings;
        for number in 1..=settings.items {
            let mut row = vec![0; ITEM.table().value_bytes];
            let rng = &mut self.stream(ITEM, &[u64::from(number)]);
            set_u32(&mut row, item::PRICE, rng.between(100, 10_000) as u32);
            set_u32(&mut row, item::IMAGE, rng.between(1, 10_000) as u32);
            letters(rng, &mut row[item::NAME..item::DATA], 14);
            data(rng, &mut row[item::DATA..]);
            give(ITEM, Key::new().u32(number), row)?;
        }
        for number in 1..=settings.warehouses {
            let mut row = vec![0; WAREHOUSE.table().value_bytes];
            let rng = &mut self.stream(WAREHOUSE, &[u64::from(number)]);
            site(rng, &mut row);
            give(WAREHOUSE, warehouse_key(number), row)?;
            let paid = i64::from(DISTRICTS) * i64::from(settings.customers) * FIRST_PAYMENT;
            give(WAREHOUSE_YTD, warehouse_key(number), paid.to_le_bytes().to_vec())?;
        }
        for supplier in 1..=settings.warehouses {
            for number in 1..=settings.items {
                let mut row = vec![0; STOCK.table().value_bytes];
                let rng = &mut self.stream(STOCK, &[u64::from(supplier), u64::from(number)]);
                set_i32(&mut row, stock::QUANTITY, rng.between(10, 100) as i32);
                letters(rng, &mut row[stock::DIST..stock::DATA], 240);
                data(rng, &mut row[stock::DATA..]);
                give(STOCK, stock_key(supplier, number), row)?;
            }
        }
        for (at, number) in self.districts() {
            let mut row = vec![0; DISTRICT.table().value_bytes];
            let rng = &mut self.stream(DISTRICT, &[u64::from(at), u64::from(number)]);
            site(rng, &mut row);
            give(DISTRICT, district_key(at, number), row)?;
            let paid = i64::from(settings.customers) * FIRST_PAYMENT;
            give(DISTRICT_YTD, district_key(at, number), paid.to_le_bytes().to_vec())?;
            let next = u64::from(settings.customers) + 1;
            give(DISTRICT_NEXT, district_key(at, number), next.to_le_bytes().to_vec())?;
        }
        self.load_customers(give)?;
        self.load_orders(give)
    }

    fn load_customers(&self, give: Give<'_>) -> Result<(), String> {
        let mut names = Vec::new();
        for (at, area) in self.districts() {
            for number in 1..=self.settings.customers {
                let row = self.customer(at, area, number);
                let key = district_key(at, area).bytes(&row[customer::LAST..customer::PHONE]).u32(number);
                names.push((key, number.to_le_bytes().to_vec()));
                give(CUSTOMER, customer_key(at, area, number), row)?;
            }
        }
        // The rows are sorted, for stores that append fast.
        names.sort_unstable_by_key(|(key, _)| key.to_vec());
        names.into_iter().try_for_each(|(key, row)| give(CUSTOMER_NAME, key, row))?;
        for (nth, (at, area)) in self.districts().enumerate() {
            for number in 1..=self.settings.customers {
                let mut row = vec![0; HISTORY.table().value_bytes];
                let rng = &mut self.stream(HISTORY, &[u64::from(at), u64::from(area), u64::from(number)]);
                set_u64(&mut row, history::DATE, LOADED_AT_MS);
                set_u32(&mut row, history::AMOUNT, FIRST_PAYMENT as u32);
                set_u32(&mut row, history::CUSTOMER, number);
                set_u16(&mut row, history::CUSTOMER_WAREHOUSE, at);
                set_u16(&mut row, history::WAREHOUSE, at);
                row[history::CUSTOMER_DISTRICT] = area;
                row[history::DISTRICT] = area;
                letters(rng, &mut row[history::DATA..], 12);
                let sequence = nth as u32 * self.settings.customers + number;
                give(HISTORY, Key::new().u16(at).u16(LOADER).u32(sequence), row)?;
            }
        }
        Ok(())
    }

    fn customer(&self, at: u16, area: u8, number: u32) -> Vec<u8> {
        let mut row = vec![0; CUSTOMER.table().value_bytes];
        let rng = &mut self.stream(CUSTOMER, &[u64::from(at), u64::from(area), u64::from(number)]);
        set_i64(&mut row, customer::BALANCE, -FIRST_PAYMENT);
        set_i64(&mut row, customer::YTD_PAYMENT, FIRST_PAYMENT);
        set_u32(&mut row, customer::PAYMENT_CNT, 1);
        set_u64(&mut row, customer::SINCE, LOADED_AT_MS);
        set_i64(&mut row, customer::CREDIT_LIM, 5_000_000);
        set_u32(&mut row, customer::DISCOUNT, rng.below(5_001) as u32);
        let is_bad = rng.below(10) == 0;
        row[customer::CREDIT..customer::MIDDLE].copy_from_slice(if is_bad { b"BC" } else { b"GC" });
        row[customer::MIDDLE..customer::LAST].copy_from_slice(b"OE");
        // The first 1,000 customers have the 1,000 names, so that every name is in use (TPC-C 4.3.3.1). The names of
        // the other customers are non-uniform with the load's constant, A = 255 (TPC-C 2.1.6.1).
        let name = if u64::from(number) <= NAMES {
            u64::from(number) - 1
        } else {
            ((rng.below(256) | rng.below(NAMES)) + 157) % NAMES
        };
        last_name(name, &mut row[customer::LAST..customer::FIRST]);
        letters(rng, &mut row[customer::FIRST..customer::PHONE], 8);
        letters(rng, &mut row[customer::PHONE..customer::ADDRESS], 16);
        address(rng, &mut row[customer::ADDRESS..customer::DATA]);
        letters(rng, &mut row[customer::DATA..], 300);
        row
    }

    fn load_orders(&self, give: Give<'_>) -> Result<(), String> {
        let delivered = self.settings.customers - self.undelivered();
        let (mut by_customer, mut lines) = (Vec::new(), Vec::new());
        for (at, area) in self.districts() {
            let path = [u64::from(at), u64::from(area)];
            let of = Permutation::new(
                u64::from(self.settings.customers),
                self.stream(ORDER_CUSTOMER, &path).next_u64(),
            );
            for number in 1..=self.settings.customers {
                let rng = &mut self.stream(ORDER, &[path[0], path[1], u64::from(number)]);
                let customer = of.apply(u64::from(number) - 1) as u32 + 1;
                let count = rng.between(5, 15) as u8;
                let is_delivered = number <= delivered;
                let mut row = vec![0; ORDER.table().value_bytes];
                set_u64(&mut row, order::ENTRY_DATE, LOADED_AT_MS);
                set_u32(&mut row, order::CUSTOMER, customer);
                row[order::CARRIER] = if is_delivered { rng.between(1, 10) as u8 } else { 0 };
                row[order::LINES] = count;
                row[order::ALL_LOCAL] = 1;
                give(ORDER, order_key(at, area, number), row)?;
                by_customer.push((customer_order_key(at, area, customer, number), number));
                for line in 1..=count {
                    let mut row = vec![0; ORDER_LINE.table().value_bytes];
                    set_u64(&mut row, order_line::DELIVERY_DATE, if is_delivered { LOADED_AT_MS } else { 0 });
                    set_u32(
                        &mut row,
                        order_line::ITEM,
                        rng.between(1, u64::from(self.settings.items)) as u32,
                    );
                    let amount = if is_delivered { 0 } else { rng.between(1, 999_999) as u32 };
                    set_u32(&mut row, order_line::AMOUNT, amount);
                    set_u16(&mut row, order_line::SUPPLY_WAREHOUSE, at);
                    set_u16(&mut row, order_line::QUANTITY, 5);
                    letters(rng, &mut row[order_line::DIST_INFO..], 24);
                    lines.push((line_key(at, area, number, line), row));
                }
            }
        }
        lines.into_iter().try_for_each(|(key, row)| give(ORDER_LINE, key, row))?;
        by_customer.sort_unstable_by_key(|(key, _)| key.to_vec());
        by_customer
            .into_iter()
            .try_for_each(|(key, number)| give(ORDER_CUSTOMER, key, number.to_le_bytes().to_vec()))?;
        for (at, area) in self.districts() {
            for number in delivered + 1..=self.settings.customers {
                give(NEW_ORDER, order_key(at, area, number), number.to_le_bytes().to_vec())?;
            }
        }
        Ok(())
    }

    fn stream(&self, table: TableId, key: &[u64]) -> Rng {
        let mut path = vec![self.settings.seed, STREAM, table.0 as u64];
        path.extend_from_slice(key);
        Rng::from_path(&path)
    }
}

/// Fills with random letters and digits, at least `shortest` of them. The remaining bytes are unchanged.
fn letters(rng: &mut Rng, to: &mut [u8], shortest: usize) {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let len = rng.between(shortest as u64, to.len() as u64) as usize;
    for chunk in to[..len].chunks_mut(8) {
        for (byte, random) in chunk.iter_mut().zip(rng.next_u64().to_le_bytes()) {
            *byte = ALPHABET[(usize::from(random) * ALPHABET.len()) >> 8];
        }
    }
}

/// Fills the data of an item or a stock, in one of ten cases with `ORIGINAL` at a random place (TPC-C 4.3.3.1).
fn data(rng: &mut Rng, to: &mut [u8]) {
    letters(rng, to, 26);
    if rng.below(10) == 0 {
        let at = rng.below(26 - 8) as usize;
        to[at..at + 8].copy_from_slice(b"ORIGINAL");
    }
}

/// Fills the columns that warehouses and districts share.
fn site(rng: &mut Rng, row: &mut [u8]) {
    set_u32(row, site::TAX, rng.below(2_001) as u32);
    letters(rng, &mut row[site::NAME..site::ADDRESS], 6);
    address(rng, &mut row[site::ADDRESS..]);
}

/// Fills an address: two streets, a city, a state and a zip code.
fn address(rng: &mut Rng, to: &mut [u8]) {
    for (street, _) in to[..60].as_chunks_mut::<20>().0.iter_mut().zip(0..) {
        letters(rng, street, 10);
    }
    letters(rng, &mut to[60..62], 2);
    letters(rng, &mut to[62..66], 4);
    to[66..71].copy_from_slice(b"11111");
}

/// Writes the last name of a number from 0 to 999 (TPC-C 4.3.2.3).
fn last_name(number: u64, to: &mut [u8]) {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let name: String =
        [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat();
    to[..name.len()].copy_from_slice(name.as_bytes());
}
