//! Payment (TPC-C 2.5): a customer pays at a warehouse, in 15 of 100 cases at another than the
//! customer's own.

use core::iter;

use engine::{Abort, Text, Transaction};

use super::input::{Payment, Who};
use super::keys::{CustomerKey, DistrictKey, WarehouseKey};
use super::rows::{CUSTOMER_DATA_BYTES, CustomerData, History};
use super::settings::Ytd;
use super::{Output, Scratch, Tpcc, found};

/// The number of bytes of `C_DATA` that a terminal shows (TPC-C 2.5.3.3).
pub(super) const DATA_SHOWN_BYTES: usize = 200;

impl Tpcc {
    /// Executes a Payment.
    pub(super) fn payment<T: Transaction>(
        &self,
        input: &Payment,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let amount = i64::from(input.amount);
        if let Who::Number(customer) = input.who {
            let key = CustomerKey::new(input.customer_warehouse, input.customer_district, customer);
            txn.prefetch((tables.customer, tables.customer_info), iter::once(key));
        }

        txn.decided();
        if !self.settings.is_hot_last {
            self.add_to_site(input, txn)?;
        }
        let key = WarehouseKey::new(input.warehouse);
        found(txn.read(tables.warehouse_info, key, |row| scratch.screen.warehouse = row.site)?)?;
        let key = DistrictKey::new(input.warehouse, input.district);
        found(txn.read(tables.district_info, key, |row| scratch.screen.district = row.site)?)?;

        let of = (input.customer_warehouse, input.customer_district);
        let customer = self.select(of, &input.who, scratch, txn)?;
        let screen = &mut scratch.screen;
        let key = CustomerKey::new(input.customer_warehouse, input.customer_district, customer);
        let balance_cents = found(txn.update(tables.customer, key, |row| {
            row.balance = row.balance.wrapping_sub(amount);
            row.ytd_payment = row.ytd_payment.wrapping_add(amount);
            row.payment_cnt = row.payment_cnt.wrapping_add(1);
            row.balance
        })?)?;
        if screen.customer.credit.padded() == b"BC" {
            let note = Note::new(input, customer);
            found(txn.update(tables.customer_data, key, |row| {
                note.prepend(row);
                screen.customer_data.copy_from_slice(&row.data[..DATA_SHOWN_BYTES]);
            })?)?;
        }

        let row = History {
            date: input.date,
            amount: input.amount,
            customer,
            customer_warehouse: input.customer_warehouse,
            warehouse: input.warehouse,
            customer_district: input.customer_district,
            district: input.district,
            data: history_data(screen.warehouse.name, screen.district.name),
            pad: [0; 2],
        };
        // An insert into a heap always succeeds.
        txn.insert(tables.history, WarehouseKey::new(input.warehouse), &row)?;
        if self.settings.is_hot_last {
            self.add_to_site(input, txn)?;
        }
        Ok(Output::Payment { customer, balance_cents })
    }

    /// Adds the amount to the district and to the warehouse. The warehouse is the hottest row of all: it comes last if
    /// hot rows come last, and otherwise first, in the order of the standard's text (TPC-C 2.5.2.2).
    fn add_to_site<T: Transaction>(&self, input: &Payment, txn: &mut T) -> Result<(), Abort> {
        if self.settings.is_hot_last {
            self.add_to_district(input, txn)?;
            self.add_to_warehouse(input, txn)
        } else {
            self.add_to_warehouse(input, txn)?;
            self.add_to_district(input, txn)
        }
    }

    fn add_to_warehouse<T: Transaction>(&self, input: &Payment, txn: &mut T) -> Result<(), Abort> {
        let (table, key) = (self.tables.warehouse, WarehouseKey::new(input.warehouse));
        let amount = i64::from(input.amount);
        let is_there = match self.settings.ytd {
            Ytd::Added => txn.add(table, key, |row| row.ytd = amount)?,
            Ytd::Updated => txn.update(table, key, |row| row.ytd = row.ytd.wrapping_add(amount))?.is_some(),
        };
        found(is_there.then_some(()))
    }

    fn add_to_district<T: Transaction>(&self, input: &Payment, txn: &mut T) -> Result<(), Abort> {
        let (table, key) = (self.tables.district_ytd, DistrictKey::new(input.warehouse, input.district));
        let amount = i64::from(input.amount);
        let is_there = match self.settings.ytd {
            Ytd::Added => txn.add(table, key, |row| row.ytd = amount)?,
            Ytd::Updated => txn.update(table, key, |row| row.ytd = row.ytd.wrapping_add(amount))?.is_some(),
        };
        found(is_there.then_some(()))
    }
}

/// Returns `H_DATA` (TPC-C 2.5.2.2): both names with four spaces between them.
fn history_data(warehouse: Text<10>, district: Text<10>) -> Text<24> {
    let (warehouse, district) = (warehouse.as_bytes(), district.as_bytes());
    let mut data = [0; 24];
    let (name, rest) = data.split_at_mut(warehouse.len());
    name.copy_from_slice(warehouse);
    rest[..4].fill(b' ');
    rest[4..4 + district.len()].copy_from_slice(district);
    Text::new(&data)
}

/// The text that is added to `C_DATA` of a customer with bad credit (TPC-C 2.5.2.2): six numbers.
struct Note {
    bytes: [u8; Self::LONGEST],
    len: usize,
}

impl Note {
    /// The maximum length: six numbers of at most ten digits, each followed by a space.
    const LONGEST: usize = 6 * 11;

    fn new(input: &Payment, customer: u32) -> Self {
        let mut note = Self { bytes: [0; Self::LONGEST], len: 0 };
        note.push(customer);
        note.push(u32::from(input.customer_district));
        note.push(u32::from(input.customer_warehouse));
        note.push(u32::from(input.district));
        note.push(u32::from(input.warehouse));
        note.push(input.amount);
        note
    }

    fn push(&mut self, number: u32) {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut rest = number;
        for byte in self.bytes[self.len..self.len + digits].iter_mut().rev() {
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes[self.len + digits] = b' ';
        self.len += digits + 1;
    }

    /// Inserts the note before the data. The data beyond the column's end is lost.
    fn prepend(&self, row: &mut CustomerData) {
        row.data.copy_within(..CUSTOMER_DATA_BYTES - self.len, self.len);
        row.data[..self.len].copy_from_slice(&self.bytes[..self.len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_first_and_the_end_falls_off() {
        let input = Payment {
            warehouse: 4_096,
            district: 10,
            customer_district: 1,
            customer_warehouse: 7,
            who: Who::Number(0),
            amount: 500_000,
            date: 0,
        };
        let mut row = CustomerData { data: [b'x'; CUSTOMER_DATA_BYTES], pad: [0; 4] };
        row.data[CUSTOMER_DATA_BYTES - 1] = b'y';
        Note::new(&input, 3_000).prepend(&mut row);
        assert!(row.data.starts_with(b"3000 1 7 10 4096 500000 xxx"));
        assert!(row.data.ends_with(b"xxx"));
    }

    #[test]
    fn the_longest_note_has_room() {
        let mut note = Note { bytes: [0; Note::LONGEST], len: 0 };
        (0..6).for_each(|_| note.push(u32::MAX));
        assert_eq!(note.len, Note::LONGEST);
    }

    #[test]
    fn history_data_holds_both_names() {
        assert_eq!(history_data(Text::new(b"West"), Text::new(b"North")).as_bytes(), b"West    North");
        let longest = history_data(Text::new(b"0123456789"), Text::new(b"abcdefghij"));
        assert_eq!(longest.as_bytes(), b"0123456789    abcdefghij");
    }
}
