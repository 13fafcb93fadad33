//! The six programs. Each begins with the name.
//!
//! Balances are added up with wrapping: what an attempt reads may turn out to be of different moments.

use core::iter;

use engine::{Abort, Transaction};

use super::input::{Input, Kind, Party};
use super::rows::{Checking, Customer};
use super::{Output, SmallBank};

/// What a check that is not covered costs: one unit of money.
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

    /// What the customer has in both accounts.
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

    /// Pays in; nobody pays in less than nothing.
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

    /// Adds to the savings or takes from them, unless there is less.
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

    /// Moves all that the first customer has to the second.
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

    /// Takes a check from the checking account, which costs more if both accounts together do not cover it. The
    /// savings are read and the checking account is written: with `TransactSavings`, which does it the other way round,
    /// that is where snapshot isolation lets writes be skewed.
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

    /// Pays from one checking account into another, unless there is less in the first.
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

    /// The customer who has a name: a request that names nobody rolls back.
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

    /// Both customers.
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

    /// Asks for both rows of a customer at once.
    fn prefetch<T: Transaction>(&self, customer: Customer, txn: &mut T) {
        txn.prefetch(self.tables.savings, iter::once(customer));
        txn.prefetch(self.tables.checking, iter::once(customer));
    }

    /// What a customer has saved.
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

/// The row that must be there. Where it is not, the data is broken, which the checks will tell.
#[inline]
fn found<O>(row: Option<O>) -> Result<O, Abort> {
    row.ok_or(Abort::ReadChanged)
}
