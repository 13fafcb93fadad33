//! The conditions of a district's customers and of their payments.

use engine::{Key, Quiesced, Violation};

use super::super::keys::CustomerNameKey;
use super::super::rows::{Customer, CustomerInfo};
use super::{Check, District, Paid, ensure, while_ok};

impl<V: Quiesced> Check<'_, V> {
    /// The rows of a district's customers, by number from 1.
    pub(super) fn customers(&self, at: District) -> Result<Vec<Customer>, Violation> {
        let row = |number| self.row("TPC-C 3.3.2.12", self.tpcc.tables.customer, at.customer(number));
        (1..=self.tpcc.settings.customers).map(row).collect()
    }

    /// Checks 3.3.2.9, 10, 12 and plus 13, 21.
    pub(super) fn money(
        &self,
        at: District,
        customers: &[Customer],
        delivered: &[i64],
        paid: &Paid,
    ) -> Result<(), Violation> {
        let ytd = self.row("TPC-C 3.3.2.9", self.tpcc.tables.district_ytd, at.key())?.ytd;
        let (cents, rows) = paid.district(at);
        ensure("TPC-C 3.3.2.9", ytd == cents, || format!("{at}: D_YTD is {ytd}, HISTORY says {cents}"))?;
        if let Some(commits) = self.commits(at) {
            let due = u64::from(self.tpcc.settings.customers) + commits.payments;
            ensure("TPC-C plus 21", rows == due, || {
                format!("{at}: {rows} HISTORY rows, {due} were loaded or committed")
            })?;
        }

        let said = delivered.iter().zip(paid.customers(at));
        for (number, (customer, (&delivered, &(cents, rows)))) in (1..).zip(customers.iter().zip(said)) {
            let Customer { balance, ytd_payment, payment_cnt, .. } = *customer;
            ensure("TPC-C 3.3.2.12", balance + ytd_payment == delivered, || {
                format!(
                    "{at}, customer {number}: balance {balance}, paid {ytd_payment}, delivered for {delivered}"
                )
            })?;
            ensure("TPC-C 3.3.2.10", balance == delivered - cents, || {
                format!(
                    "{at}, customer {number}: balance {balance}, delivered for {delivered}, HISTORY says paid {cents}"
                )
            })?;
            ensure("TPC-C plus 13", payment_cnt == rows as u32, || {
                format!("{at}, customer {number}: C_PAYMENT_CNT is {payment_cnt}, HISTORY has {rows} rows")
            })?;
        }
        Ok(())
    }

    /// Checks plus 20 for the index of customers by name.
    pub(super) fn customers_by_name(&self, at: District) -> Result<(), Violation> {
        let (mut count, mut before, mut result) = (0, None, Ok(()));
        let entries = CustomerNameKey::all_in(at.warehouse, at.district);
        self.view.scan_by(self.tpcc.tables.customer_by_name, entries, |entry, row| {
            count += 1;
            let is_it = |row: &CustomerInfo| (row.person.last, row.person.first) == (entry.last, entry.first);
            let own = self.view.read(self.tpcc.tables.customer_info, at.customer(entry.customer), is_it);
            let is_right = before < Some(entry.ordered()) && is_it(row) && own == Some(true);
            before = Some(entry.ordered());
            result = ensure("TPC-C plus 20", is_right, || format!("{entry:?} leads to {row:?}"));
            while_ok(&result)
        });
        result?;
        let customers = self.tpcc.settings.customers;
        ensure("TPC-C plus 20", count == customers, || {
            format!("{at}: {customers} customers, {count} in the index by name")
        })
    }
}
