//! The selection of a customer by number or by name, which Payment and Order-Status share (TPC-C
//! 2.5.2.2, 2.6.2.2).

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::input::Who;
use super::keys::{CustomerKey, CustomerNameKey};
use super::{Scratch, Tpcc, found};

impl Tpcc {
    /// Finds a customer and copies the customer's columns to the screen. Returns the customer's
    /// number.
    pub(super) fn select<T: Transaction>(
        &self,
        (warehouse, district): (u16, u8),
        who: &Who,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<u32, Abort> {
        match *who {
            Who::Number(customer) => {
                let key = CustomerKey::new(warehouse, district, customer);
                found(txn.read(self.tables.customer_info, key, |row| scratch.screen.customer = row.person)?)?;
                Ok(customer)
            }
            Who::Name(last) => {
                let keys = CustomerNameKey::all_named(warehouse, district, last);
                let named_so = &mut scratch.customers;
                named_so.clear();
                txn.scan_by(self.tables.customer_by_name, keys, Direction::Forward, |key, row| {
                    named_so.push((key.customer, row.person));
                    ControlFlow::Continue(())
                })?;
                // The scan returns customers in the order of their first names. The result is at
                // position n/2, rounded up, counted from 1.
                let middle = named_so.len().div_ceil(2).wrapping_sub(1);
                let (customer, person) = named_so.get(middle).ok_or(Abort::ReadChanged)?;
                scratch.screen.customer = *person;
                Ok(*customer)
            }
        }
    }
}
