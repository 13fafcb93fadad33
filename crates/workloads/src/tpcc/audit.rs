//! Audit: checks conditions of TPC-C 3.3.2 while the other transactions run. The audit is not a
//! transaction of the specification, and runs only if `tpcc.audit_pct` asks for it.
//!
//! The checks after a run see the committed rows; an audit sees the rows as a reader sees them. A scheme
//! whose snapshots are torn between two rows, or whose scans lose a row that moves, can still leave a
//! consistent database. The audit detects such a scheme. An audit that found a violation commits with
//! its finding, because only the commit guarantees that the rows read are consistent with each other.

use core::fmt;
use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::input::Audit;
use super::keys::{DistrictKey, NewOrderKey, OrderKey, OrderLineKey, WarehouseKey};
use super::rows::DISTRICTS;
use super::{Output, Tpcc, found};

/// A condition that did not hold for the rows read by a committed audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedCondition {
    /// The condition, for example `3.3.2.1`.
    pub condition: &'static str,
    /// `W_ID`.
    pub warehouse: u16,
    /// `D_ID` of the audited district.
    pub district: u8,
    /// The two numbers that should be equal.
    pub differ: (i64, i64),
}

impl fmt::Display for FailedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, warehouse, district, differ: (said, counted) } = self;
        write!(f, "{condition} in warehouse {warehouse}, district {district}: {said} said, {counted} found")
    }
}

impl Audit {
    fn expect(&self, condition: &'static str, said: i64, counted: i64) -> Option<FailedCondition> {
        let Self { warehouse, district, .. } = *self;
        (said != counted).then_some(FailedCondition {
            condition,
            warehouse,
            district,
            differ: (said, counted),
        })
    }
}

impl Tpcc {
    /// Audits the money of a warehouse, the order numbers of a district, and one order.
    pub(super) fn audit<T: Transaction>(&self, input: &Audit, txn: &mut T) -> Result<Output, Abort> {
        let next = self.read_next_order(input.warehouse, input.district, txn)?;
        let findings = [
            self.audit_money(input, txn)?,
            self.audit_numbers(input, next, txn)?,
            self.audit_lines(input, next, txn)?,
        ];
        Ok(Output::Audit { finding: findings.into_iter().flatten().next() })
    }

    /// Checks 3.3.2.1: `W_YTD` is the sum of `D_YTD`.
    fn audit_money<T: Transaction>(
        &self,
        input: &Audit,
        txn: &mut T,
    ) -> Result<Option<FailedCondition>, Abort> {
        let key = WarehouseKey::new(input.warehouse);
        let ytd = found(txn.read(self.tables.warehouse, key, |row| row.ytd)?)?;
        let mut of_districts: i64 = 0;
        for district in 1..=DISTRICTS {
            let key = DistrictKey::new(input.warehouse, district);
            let own = found(txn.read(self.tables.district_ytd, key, |row| row.ytd)?)?;
            of_districts = of_districts.wrapping_add(own);
        }
        Ok(input.expect("3.3.2.1", ytd, of_districts))
    }

    /// Checks 3.3.2.2 and 3.3.2.3: the greatest order number is the next number minus one, in ORDER and,
    /// unless NEW-ORDER is empty, in NEW-ORDER. NEW-ORDER has no gaps. Not checked with the profile
    /// `eased`, in which districts do not count orders and numbers have holes.
    fn audit_numbers<T: Transaction>(
        &self,
        input: &Audit,
        next: u32,
        txn: &mut T,
    ) -> Result<Option<FailedCondition>, Abort> {
        if self.settings.is_eased {
            return Ok(None);
        }
        let (warehouse, district) = (input.warehouse, input.district);
        let last = next.wrapping_sub(1);
        let mut orders = 0;
        for number in [last, next] {
            let key = OrderKey::new(warehouse, district, number);
            let is_there = txn.read(self.tables.order, key, |_| ())?.is_some();
            orders += i64::from(is_there) * i64::from(number);
        }
        let (mut first_queued, mut last_queued, mut queued) = (0, 0, 0);
        let queue =
            NewOrderKey::new(warehouse, district, 0)..=NewOrderKey::new(warehouse, district, u32::MAX);
        txn.scan(self.tables.new_order, queue, Direction::Forward, |key, _| {
            first_queued = if queued == 0 { key.order() } else { first_queued };
            last_queued = key.order();
            queued += 1;
            ControlFlow::Continue(())
        })?;
        let of_orders = input.expect("3.3.2.2", i64::from(last), orders);
        if queued == 0 {
            return Ok(of_orders);
        }
        Ok(of_orders
            .or_else(|| input.expect("3.3.2.2", i64::from(last), i64::from(last_queued)))
            .or_else(|| input.expect("3.3.2.3", i64::from(last_queued - first_queued) + 1, queued)))
    }

    /// Checks 3.3.2.6 for one order of the district: the order exists, and has as many lines as it
    /// states.
    fn audit_lines<T: Transaction>(
        &self,
        input: &Audit,
        next: u32,
        txn: &mut T,
    ) -> Result<Option<FailedCondition>, Abort> {
        let (warehouse, district) = (input.warehouse, input.district);
        let order = 1 + input.draw % next.saturating_sub(1).max(1);
        let key = OrderKey::new(warehouse, district, order);
        let said = txn.read(self.tables.order, key, |row| row.lines)?;
        let mut lines = 0;
        let all = OrderLineKey::new(warehouse, district, order, 0)
            ..=OrderLineKey::new(warehouse, district, order, u8::MAX);
        txn.scan(self.tables.order_line, all, Direction::Forward, |_, _| {
            lines += 1;
            ControlFlow::Continue(())
        })?;
        // With the profile `eased`, a number that an aborted attempt drew has neither order nor lines.
        let nothing = if self.settings.is_eased { 0 } else { -1 };
        Ok(input.expect("3.3.2.6", said.map_or(nothing, i64::from), lines))
    }
}

#[cfg(test)]
mod tests {
    use engine::{Row, Table, Violation, Workload};

    use super::super::keys::{DistrictKey, NewOrderKey, OrderKey, OrderLineKey, WarehouseKey};
    use super::super::tests::{check, loaded, run};
    use super::super::{Input, Ledger, Scratch};
    use super::*;
    use crate::mock::Mock;

    const SMALL: [(&str, &str); 3] = [("items", "40"), ("customers_per_district", "10"), ("audit_pct", "30")];

    type Corruption = fn(&Tpcc, &mut Mock);

    fn change<R: Row>(mock: &mut Mock, table: Table<R>, key: R::Key, change: impl FnOnce(&mut R)) {
        assert_eq!(mock.attempt(|txn| txn.update(table, key, change)), Ok(Some(())));
    }

    /// Audits the first district. Returns the violated condition, and the ledger for the later check.
    fn audit(tpcc: &Tpcc, mock: &mut Mock) -> (Option<&'static str>, Ledger) {
        // The draw 0 selects the first order.
        let input = Input::Audit(Audit { warehouse: 1, district: 1, draw: 0 });
        let (mut ledger, mut scratch) = (Ledger::default(), Scratch::default());
        let output =
            mock.attempt(|txn| tpcc.execute(&input, &mut scratch, txn)).expect("audits do not abort");
        tpcc.committed(&mut ledger, &input, &output);
        let Output::Audit { finding } = output else { panic!("{output:?} is no audit's") };
        (finding.map(|finding| finding.condition), ledger)
    }

    #[test]
    fn audits_among_other_transactions_find_nothing() {
        for rest in
            [[("profile", "standard"), ("warehouses", "2")], [("profile", "eased"), ("warehouses", "1")]]
        {
            let (tpcc, mut mock) = loaded(&[SMALL.as_slice(), &rest].concat());
            let (ledger, _) = run(&tpcc, &mut mock, 1_500);
            assert!(ledger.audits.0 > 300, "{} audits of 1,500", ledger.audits.0);
            assert_eq!(check(&tpcc, &mock, &[ledger]), Ok(()));
        }
    }

    #[test]
    fn what_does_not_belong_together_is_found_and_remembered_when_it_is_gone() {
        let corruptions: [(&str, Corruption); 6] = [
            ("3.3.2.1", |tpcc, mock| {
                change(mock, tpcc.tables.warehouse, WarehouseKey::new(1), |row| row.ytd += 1);
            }),
            ("3.3.2.1", |tpcc, mock| {
                change(mock, tpcc.tables.district_ytd, DistrictKey::new(1, 9), |row| row.ytd -= 1);
            }),
            ("3.3.2.2", |tpcc, mock| {
                change(mock, tpcc.tables.district_next, DistrictKey::new(1, 1), |row| row.order += 1);
            }),
            ("3.3.2.2", |tpcc, mock| {
                change(mock, tpcc.tables.district_next, DistrictKey::new(1, 1), |row| row.order -= 1);
            }),
            ("3.3.2.3", |tpcc, mock| {
                let key = NewOrderKey::new(1, 1, 9);
                assert_eq!(mock.attempt(|txn| txn.delete(tpcc.tables.new_order, key)), Ok(true));
            }),
            ("3.3.2.6", |tpcc, mock| {
                let key = OrderLineKey::new(1, 1, 1, 2);
                assert_eq!(mock.attempt(|txn| txn.delete(tpcc.tables.order_line, key)), Ok(true));
            }),
        ];
        let (tpcc, mut mock) = loaded(&SMALL);
        let consistent = mock.clone();
        for (condition, corrupt) in corruptions {
            corrupt(&tpcc, &mut mock);
            let (found, ledger) = audit(&tpcc, &mut mock);
            assert_eq!(found, Some(condition));
            mock = consistent.clone();
            let Err(Violation { condition: under, found }) =
                tpcc.check(&mock, engine::Share::WHOLE, &[ledger])
            else {
                panic!("the verdict forgets that {condition} did not hold")
            };
            assert_eq!(under, "TPC-C plus 23");
            assert!(found.contains(condition), "{found}");
            assert_eq!(audit(&tpcc, &mut mock).0, None);
        }
    }

    #[test]
    fn an_order_that_is_gone_is_found() {
        let (tpcc, mut mock) = loaded(&SMALL);
        for (order, condition) in [(10, "3.3.2.2"), (1, "3.3.2.6")] {
            let before = mock.clone();
            let key = OrderKey::new(1, 1, order);
            assert_eq!(mock.attempt(|txn| txn.delete(tpcc.tables.order, key)), Ok(true));
            assert_eq!(audit(&tpcc, &mut mock).0, Some(condition));
            mock = before;
        }
    }
}
