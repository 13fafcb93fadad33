//! Trade-Order (TPC-E 3.3.7): a customer, or somebody with the customer's permission, orders to buy or to sell.
//!
//! It reads CUSTOMER_ACCOUNT, CUSTOMER, BROKER and ACCOUNT_PERMISSION, SECURITY, COMPANY and LAST_TRADE, the
//! position of the account in HOLDING_SUMMARY and HOLDING, and the rates of taxes, commissions and charges. It
//! inserts into TRADE and TRADE_HISTORY, and an order with a limit also into TRADE_REQUEST.
//!
//! LAST_TRADE is hot: Market-Feed writes it, and an order reads it. An order with a limit meets the scans of
//! TRADE_REQUEST by Market-Feed and Broker-Volume. Nothing else is contended, because an order changes no row that
//! there was before.

#[cfg(test)]
mod tests;

use core::convert::Infallible;
use core::iter;
use core::ops::ControlFlow;

use engine::{Abort, Direction, Text, Transaction};

use super::super::fees;
use super::super::input::TradeOrder;
use super::super::keys::{
    AccountKey, BrokerKey, ChargeKey, CompanyKey, CustomerKey, IssueKey, PermissionKey, SecurityKey,
    SummaryKey, TradeHistoryKey, TradeKey, TradeTypeKey,
};
use super::super::names::{self, Person};
use super::super::positions::close;
use super::super::rows::{StatusId, Trade, TradeExecutor, TradeHistory, TradeRequest};
use super::super::scale::{self, company_of_security};
use super::super::{Output, Scratch, Tpce, done, found};
use super::assets::{add_positions, prefetch_prices, value_of};
use super::trading::{Change, Commissioned, is_taxed, read_tax, signed_quantity};
use super::{find_named, show};

/// The account of an order, with its owner and its broker (frame 1).
#[derive(Clone, Copy, Debug)]
struct Client {
    customer: u64,
    broker: u32,
    tax_status: u8,
    tier: u8,
    person: Person,
}

/// The security of an order (frame 3).
#[derive(Clone, Copy, Debug)]
struct Asked {
    security: u32,
    exchange: u8,
    is_sell: bool,
    is_market: bool,
    /// The limit, or the last price if there is none.
    price: u32,
}

impl Tpce {
    /// Places an order.
    #[inline(never)]
    pub(in super::super) fn trade_order<T: Transaction>(
        &self,
        input: &TradeOrder,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let customer = scale::customer_id(scale::customer_of_account(input.account));
        txn.prefetch(tables.customer, iter::once(CustomerKey::new(customer)));
        if !input.by_company {
            txn.prefetch(tables.security, iter::once(SecurityKey::new(input.security)));
        }
        txn.prefetch(tables.last_trade, iter::once(SecurityKey::new(input.security)));

        let client = self.client(input.account, txn)?;
        // The one who gives the order knows his own names and his tax identifier.
        let executor = Person::customer(self.settings.scale, input.executor);
        if executor != client.person && !self.is_permitted(input.account, &executor, txn)? {
            return Err(Abort::Rollback);
        }
        if !input.rolls_back {
            txn.decided();
        }

        let asked = self.asked(input, txn)?;
        let tax = self.estimated_tax(input, &client, &asked, scratch, txn)?;
        let (tier, kind, quantity) = (client.tier, input.kind, input.quantity);
        let commissioned =
            Commissioned { tier, kind, exchange: asked.exchange, quantity, price: asked.price };
        let commission = commissioned.read(tables, txn)?;
        let charge = found(txn.read(tables.charge, ChargeKey::new(kind, tier), |row| row.charge)?)?;
        let assets = if input.is_margin { self.assets(input.account, scratch, txn)? } else { 0 };

        let trade = Trade {
            time: input.time,
            account: input.account,
            charge,
            commission,
            // The tax of an order is an estimate, which is not stored: Trade-Result computes the tax.
            tax: 0,
            security: asked.security,
            quantity,
            bid_price: asked.price,
            trade_price: 0,
            status: if asked.is_market { StatusId::Submitted } else { StatusId::Pending } as u8,
            kind: kind as u8,
            is_cash: u8::from(!input.is_margin),
            is_lifo: u8::from(input.is_lifo),
            pad: [0; 4],
        };
        self.insert_order(input.trade, &trade, executor.full_name(), txn)?;
        if !asked.is_market {
            self.insert_request(input.trade, &trade, client.broker, txn)?;
        }
        if input.rolls_back {
            return Err(Abort::Rollback);
        }
        Ok(Output::TradeOrder { price: asked.price, tax, commission, assets })
    }

    /// Reads the account, its owner and its broker (frame 1).
    fn client<T: Transaction>(&self, account: u64, txn: &mut T) -> Result<Client, Abort> {
        let tables = &self.tables;
        let account = found(txn.read(tables.account, AccountKey::new(account), |row| *row)?)?;
        let client = txn.read(tables.customer, CustomerKey::new(account.customer), |row| Client {
            customer: account.customer,
            broker: account.broker,
            tax_status: account.tax_status,
            tier: row.tier,
            person: Person { tax_id: row.tax_id, last_name: row.last_name, first_name: row.first_name },
        })?;
        let broker = txn.read(tables.broker, BrokerKey::new(account.broker), |row| row.name)?;
        show((account.name, found(broker)?));
        found(client)
    }

    /// Returns `true` if somebody who does not own the account may give orders for it (frame 2).
    fn is_permitted<T: Transaction>(
        &self,
        account: u64,
        executor: &Person,
        txn: &mut T,
    ) -> Result<bool, Abort> {
        let key = PermissionKey { account, tax_id: executor.tax_id };
        let permitted = txn.read(self.tables.permission, key, |row| {
            show(row.acl);
            row.last_name == executor.last_name && row.first_name == executor.first_name
        })?;
        Ok(permitted == Some(true))
    }

    /// Finds the security and its price (frame 3).
    fn asked<T: Transaction>(&self, input: &TradeOrder, txn: &mut T) -> Result<Asked, Abort> {
        let tables = &self.tables;
        let security = if input.by_company { self.by_company(input.security, txn)? } else { input.security };
        let key = SecurityKey::new(security);
        let (company, exchange, name) =
            found(txn.read(tables.security, key, |row| (row.company, row.exchange, row.name))?)?;
        let company = found(txn.read(tables.company, CompanyKey::new(company), |row| row.name)?)?;
        show((company, name));
        let last_price = found(txn.read(tables.last_trade, key, |row| row.price)?)?;
        let kind = txn.read(tables.trade_type, TradeTypeKey::new(input.kind), |row| {
            (row.is_sell != 0, row.is_market != 0)
        })?;
        let (is_sell, is_market) = found(kind)?;
        let price = if is_market { last_price } else { input.limit };
        Ok(Asked { security, exchange, is_sell, is_market, price })
    }

    /// Finds a security by the name of its company and its issue.
    fn by_company<T: Transaction>(&self, security: u32, txn: &mut T) -> Result<u32, Abort> {
        let tables = &self.tables;
        let name = names::company(company_of_security(security));
        let (company, ()) = found(find_named(tables.company_by_name, name.as_bytes(), txn, |_| ())?)?;
        let issue = IssueKey::of_issue(company as u32, fees::issue_of_security(security));
        let mut issued = None;
        txn.scan_by(tables.security_by_company, issue, Direction::Forward, |key, _| {
            issued = Some(key.security());
            ControlFlow::Break(())
        })?;
        found(issued)
    }

    /// Estimates the tax on the gain of the lots that the order would close now, which stay as they are (frame 3).
    fn estimated_tax<T: Transaction>(
        &self,
        input: &TradeOrder,
        client: &Client,
        asked: &Asked,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<i64, Abort> {
        let tables = &self.tables;
        let key = SummaryKey::new(input.account, asked.security);
        let position = txn.read(tables.summary, key, |row| row.quantity)?.unwrap_or(0);
        let change = Change {
            account: input.account,
            security: asked.security,
            quantity: signed_quantity(asked.is_sell, input.quantity),
            is_lifo: input.is_lifo,
        };
        change.collect_lots(tables, position, &mut scratch.lots, txn)?;
        let lots = scratch.lots.iter().copied();
        let Ok::<_, Infallible>(closing) = close(lots, change.quantity, asked.price, |_, _| Ok(()));
        if closing.gain() <= 0 || !is_taxed(client.tax_status) {
            return Ok(0);
        }
        read_tax(tables, client.customer, closing.gain(), &mut scratch.positions, txn)
    }

    /// Returns the balance of an account and the value of its positions together (frame 3, orders on margin).
    fn assets<T: Transaction>(&self, account: u64, scratch: &mut Scratch, txn: &mut T) -> Result<i64, Abort> {
        let tables = &self.tables;
        let key = AccountKey::new(account);
        let balance = found(txn.read(tables.account_balance, key, |row| row.balance)?)?;
        let positions = &mut scratch.positions;
        positions.clear();
        add_positions(tables, account, positions, txn)?;
        prefetch_prices(tables, positions, txn);
        Ok(balance.wrapping_add(value_of(tables, positions, txn)?))
    }

    /// Inserts the order with its first status (frame 4).
    fn insert_order<T: Transaction>(
        &self,
        id: u64,
        trade: &Trade,
        executor: Text<49>,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let tables = &self.tables;
        let executor = TradeExecutor { name: executor, pad: [0; 7] };
        let key = TradeKey::new(id);
        done(txn.insert((tables.trade, tables.trade_executor), key, (trade, &executor))?)?;
        let key = TradeHistoryKey::new(id, StatusId::of(trade.status));
        done(txn.insert(tables.trade_history, key, &TradeHistory { time: trade.time })?)
    }

    /// Inserts an order with a limit among those that wait for their price (frame 4).
    fn insert_request<T: Transaction>(
        &self,
        id: u64,
        trade: &Trade,
        broker: u32,
        txn: &mut T,
    ) -> Result<(), Abort> {
        let request = TradeRequest {
            security: trade.security,
            quantity: trade.quantity,
            bid_price: trade.bid_price,
            broker,
            kind: trade.kind,
            pad: [0; 7],
        };
        done(txn.insert(self.tables.trade_request, TradeKey::new(id), &request)?)
    }
}
