//! The six programs. Each begins with a look-up of the name.
//!
//! Balances are added with wrapping: the values that an attempt reads may be of different moments.

use core::iter;

use engine::{Abort, Transaction};

use super::input::{Input, Kind, Party};
use super::rows::{Checking, Customer};
use super::{Output, SmallBank};

/// The penalty for a check that is not covered: one unit of money.
pub(super) const PENALTY_CENTS: i64 = 100;

impl SmallBank {
    #[inline]
    pub(super) fn run<T: Transaction>(&self, input: &Input, txn: &mut T) -> Result<Output, Abort> {
        let mut output = Output::default();
        match input.kind {
            Kind::Balance => self.balance(input, &mut output, txn),
            Kind::DepositChecking => self.deposit_checking(input, &mut output, txn),
            Kind::TransactSavings => self.transact_savings(input, &mut output, txn),
            Kind::Amalgamate => self.amalgamate(input, &mut output, txn),
            Kind::WriteCheck => self.write_check(input, &mut output, txn),
            Kind::SendPayment => self.send_payment(input, &mut output, txn),
        }?;
        Ok(output)
    }

    /// Reads the sum of both accounts of the customer.
    fn balance<T: Transaction>(&self, input: &Input, output: &mut Output, txn: &mut T) -> Result<(), Abort> {
        let customer = self.customer(input.first, output, txn)?;
        self.prefetch(customer, txn);
        let savings = self.savings(customer, output, txn)?;
        let checking = txn.read(self.tables.checking, customer, |row| (row.customer, row.balance))?;
        let (owner, checking) = found(checking)?;
        output.is_wrong |= owner != customer.0;
        output.seen = savings.wrapping_add(checking);
        Ok(())
    }

    /// Pays into the checking account. A negative amount rolls back.
    fn deposit_checking<T: Transaction>(
        &self,
        input: &Input,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let customer = self.customer(input.first, output, txn)?;
        if input.amount < 0 {
            return Err(Abort::Rollback);
        }
        txn.decided();
        output.checking = input.amount;
        self.pay_in(customer, input.amount, txn)
    }

    /// Adds to the savings or takes from them. Rolls back if the savings do not cover the withdrawal.
    fn transact_savings<T: Transaction>(
        &self,
        input: &Input,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let customer = self.customer(input.first, output, txn)?;
        let is_covered = txn.update(self.tables.savings, customer, |row| {
            let after = row.balance.wrapping_add(input.amount);
            let is_covered = after >= 0;
            if is_covered {
                row.balance = after;
            }
            is_covered
        })?;
        if !found(is_covered)? {
            return Err(Abort::Rollback);
        }
        output.savings = input.amount;
        Ok(())
    }

    /// Moves all money of the first customer to the second.
    fn amalgamate<T: Transaction>(
        &self,
        input: &Input,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let (first, second) = self.both(input, output, txn)?;
        txn.decided();
        self.prefetch(first, txn);
        let savings =
            found(txn.update(self.tables.savings, first, |row| core::mem::take(&mut row.balance))?)?;
        let checking =
            found(txn.update(self.tables.checking, first, |row| core::mem::take(&mut row.balance))?)?;
        output.savings = savings.wrapping_neg();
        output.checking = checking.wrapping_neg();
        output.received = savings.wrapping_add(checking);
        self.pay_in(second, output.received, txn)
    }

    /// Pays a check from the checking account, with a penalty if both accounts together do not cover it. The savings
    /// are read and the checking account is written. Together with `TransactSavings`, which writes the savings, that is
    /// where snapshot isolation permits an anomaly (ISOLATION in the header of the module).
    fn write_check<T: Transaction>(
        &self,
        input: &Input,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let customer = self.customer(input.first, output, txn)?;
        txn.decided();
        self.prefetch(customer, txn);
        let savings = self.savings(customer, output, txn)?;
        let is_covered = txn.update(self.tables.checking, customer, |row| {
            let is_covered = savings.wrapping_add(row.balance) >= input.amount;
            let penalty = if is_covered { 0 } else { PENALTY_CENTS };
            row.balance = row.balance.wrapping_sub(input.amount + penalty);
            is_covered
        })?;
        output.has_penalty = !found(is_covered)?;
        output.checking = -input.amount - if output.has_penalty { PENALTY_CENTS } else { 0 };
        Ok(())
    }

    /// Pays from one checking account into another. Rolls back if the first does not cover the payment.
    fn send_payment<T: Transaction>(
        &self,
        input: &Input,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let (first, second) = self.both(input, output, txn)?;
        let is_covered = txn.update(self.tables.checking, first, |row| {
            let is_covered = row.balance >= input.amount;
            if is_covered {
                row.balance -= input.amount;
            }
            is_covered
        })?;
        if !found(is_covered)? {
            return Err(Abort::Rollback);
        }
        txn.decided();
        output.checking = -input.amount;
        output.received = input.amount;
        self.pay_in(second, input.amount, txn)
    }

    /// Returns the customer with a name. An unknown name rolls back.
    fn customer<T: Transaction>(
        &self,
        party: Party,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<Customer, Abort> {
        let id = txn.read(self.tables.account, party.name, |row| row.customer)?.ok_or(Abort::Rollback)?;
        output.is_wrong |= id != party.id;
        Ok(Customer(id))
    }

    /// Returns both customers.
    fn both<T: Transaction>(
        &self,
        input: &Input,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<(Customer, Customer), Abort> {
        txn.prefetch(self.tables.account, [input.first.name, input.second.name].into_iter());
        let customers = (self.customer(input.first, output, txn)?, self.customer(input.second, output, txn)?);
        txn.prefetch(self.tables.checking, [customers.0, customers.1].into_iter());
        Ok(customers)
    }

    /// Prefetches both rows of a customer.
    fn prefetch<T: Transaction>(&self, customer: Customer, txn: &mut T) {
        txn.prefetch(self.tables.savings, iter::once(customer));
        txn.prefetch(self.tables.checking, iter::once(customer));
    }

    /// Reads a customer's savings.
    fn savings<T: Transaction>(
        &self,
        customer: Customer,
        output: &mut Output,
        txn: &mut T,
    ) -> Result<i64, Abort> {
        let seen = txn.read(self.tables.savings, customer, |row| (row.customer, row.balance))?;
        let (owner, savings) = found(seen)?;
        output.is_wrong |= owner != customer.0;
        Ok(savings)
    }

    /// Adds to a checking account.
    fn pay_in<T: Transaction>(&self, customer: Customer, amount: i64, txn: &mut T) -> Result<(), Abort> {
        let checking = self.tables.checking;
        let was_there = if self.settings.is_commutative {
            txn.add(checking, customer, |row: &mut Checking| row.balance = amount)?.then_some(())
        } else {
            txn.update(checking, customer, |row| row.balance = row.balance.wrapping_add(amount))?
        };
        found(was_there)
    }
}

/// Returns a row that must exist. A missing row means that the data is damaged, which the checks detect.
#[inline]
fn found<O>(row: Option<O>) -> Result<O, Abort> {
    row.ok_or(Abort::ReadChanged)
}
