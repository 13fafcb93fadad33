//! The condition of the secondary indexes, and of rows that belong to trades.

use core::ops::{ControlFlow, RangeBounds};

use engine::{Index, IndexOn, Quiesced, Row, Share, Violation};

use super::super::keys::{
    AccountTradeKey, BrokerRequestKey, CustomerAccountKey, CustomerWatchListKey, HoldingHistoryByTradeKey,
    IssueKey, LimitKey, SecurityTradeKey, TradeKey,
};
use super::super::rows::{StatusId, Trade, TradeType};
use super::super::scale::{
    BROKERS, COMPANIES, CUSTOMERS, SECURITIES, account_id, customer_id, granule_of_account, granule_of_trade,
    trade_id,
};
use super::{Check, ensure, while_ok};

impl<V: Quiesced> Check<'_, V> {
    /// Checks plus 10 for a share of the rows of each table: each row is found by its secondary keys.
    pub(super) fn rows_are_indexed(&self, share: Share) -> Result<(), Violation> {
        let tables = &self.tpce.tables;
        self.rows_are_in(tables.customer_by_tax_id, share)?;
        self.rows_are_in(tables.account_by_customer, share)?;
        self.rows_are_in(tables.holding_history_by_trade, share)?;
        self.rows_are_in(tables.watch_list_by_customer, share)?;
        self.rows_are_in(tables.broker_by_name, share)?;
        self.rows_are_in(tables.trade_by_account, share)?;
        self.rows_are_in(tables.trade_by_security, share)?;
        self.rows_are_in(tables.request_by_limit, share)?;
        self.rows_are_in(tables.request_by_broker, share)?;
        self.rows_are_in(tables.company_by_name, share)?;
        self.rows_are_in(tables.company_by_industry, share)?;
        self.rows_are_in(tables.industry_by_sector, share)?;
        self.rows_are_in(tables.sector_by_name, share)?;
        self.rows_are_in(tables.security_by_company, share)
    }

    /// Checks plus 10 for the indexes whose entries are in no order of granules.
    pub(super) fn small_indexes(&self) -> Result<(), Violation> {
        let tables = &self.tpce.tables;
        self.entries_lead(tables.customer_by_tax_id, ..)?;
        self.entries_lead(tables.broker_by_name, ..)?;
        self.entries_lead(tables.company_by_name, ..)?;
        self.entries_lead(tables.company_by_industry, ..)?;
        self.entries_lead(tables.industry_by_sector, ..)?;
        self.entries_lead(tables.sector_by_name, ..)
    }

    /// Checks plus 10 for the entries of a granule: each leads to the row that has its columns.
    pub(super) fn indexes_of_granule(&self, granule: u32) -> Result<(), Violation> {
        let tables = &self.tpce.tables;
        let [customer, broker, company, security] = [CUSTOMERS, BROKERS, COMPANIES, SECURITIES]
            .map(|count| (granule * count, (granule + 1) * count - 1));
        let account = (account_id(customer.0, 0), account_id(customer.1, 9));
        let trade = (trade_id(granule, 0), trade_id(granule, u64::MAX));
        let (first, last) = (CustomerAccountKey::new(account.0), CustomerAccountKey::new(account.1));
        self.entries_lead(tables.account_by_customer, first..=last)?;
        let (first, last) = (
            CustomerWatchListKey::new(customer_id(customer.0), 0),
            CustomerWatchListKey::new(customer_id(customer.1), u64::MAX),
        );
        self.entries_lead(tables.watch_list_by_customer, first..=last)?;
        let (first, last) =
            (HoldingHistoryByTradeKey::new(trade.0, 0), HoldingHistoryByTradeKey::new(trade.1, u64::MAX));
        self.entries_lead(tables.holding_history_by_trade, first..=last)?;
        let (first, last) =
            (AccountTradeKey::new(account.0, 0, 0), AccountTradeKey::new(account.1, u64::MAX, u64::MAX));
        self.entries_lead(tables.trade_by_account, first..=last)?;
        let (first, last) =
            (SecurityTradeKey::new(security.0, 0, 0), SecurityTradeKey::new(security.1, u64::MAX, u64::MAX));
        self.entries_lead(tables.trade_by_security, first..=last)?;
        let (first, last) = (
            LimitKey::new(security.0, TradeType::MarketBuy, 0, 0),
            LimitKey::new(security.1, TradeType::LimitBuy, u32::MAX, u64::MAX),
        );
        self.entries_lead(tables.request_by_limit, first..=last)?;
        let (first, last) =
            (*BrokerRequestKey::of_broker(broker.0).start(), *BrokerRequestKey::of_broker(broker.1).end());
        self.entries_lead(tables.request_by_broker, first..=last)?;
        let (first, last) =
            (*IssueKey::of_company(company.0).start(), *IssueKey::of_company(company.1).end());
        self.entries_lead(tables.security_by_company, first..=last)
    }

    fn rows_are_in<R: Row + PartialEq, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        share: Share,
    ) -> Result<(), Violation> {
        let mut result = Ok(());
        self.view.rows(index.rows(), share, |key, row| {
            if result.is_err() {
                return;
            }
            let (entry, mut is_there) = (I::key(key, row), false);
            self.view.scan_by(index, entry..=entry, |_, found| {
                is_there = found == row;
                ControlFlow::Break(())
            });
            result = ensure("TPC-E plus 10", is_there, || format!("{key:?} is not found by {entry:?}"));
        });
        result
    }

    fn entries_lead<R: Row + PartialEq, I: IndexOn<R>>(
        &self,
        index: Index<R, I>,
        entries: impl RangeBounds<I::Key>,
    ) -> Result<(), Violation> {
        let mut result = Ok(());
        self.view.scan_by(index, entries, |entry, row| {
            let is_it = || self.view.read(index.rows(), I::primary(entry), |there| there == row);
            let is_right = I::holds(entry, row) && is_it() == Some(true);
            result = ensure("TPC-E plus 10", is_right, || format!("{entry:?} does not lead to its row"));
            while_ok(&result)
        });
        result
    }

    /// Checks plus 5 and plus 6 for a share of the rows: none is of a trade that is not there, or in another state, or
    /// of no account.
    pub(super) fn belong_to_trades(&self, share: Share) -> Result<(), Violation> {
        let (tables, granules) = (&self.tpce.tables, self.tpce.settings.scale.granules());
        let mut result = Ok(());
        let mut expect =
            |condition: &'static str, key: TradeKey, expected: fn(&Trade) -> bool, table: &str| {
                if result.is_ok() {
                    let is_right = self.view.read(tables.trade, key, expected) == Some(true);
                    result =
                        ensure(condition, is_right, || format!("{key:?} is in {table} against its trade"));
                }
            };
        let is_done = |row: &Trade| row.status == StatusId::Completed as u8;
        self.view.rows(tables.settlement, share, |key, _| expect("TPC-E plus 5", key, is_done, "SETTLEMENT"));
        let is_cash = |row: &Trade| row.status == StatusId::Completed as u8 && row.is_cash != 0;
        self.view.rows(tables.cash_transaction, share, |key, _| {
            expect("TPC-E plus 5", key, is_cash, "CASH_TRANSACTION");
        });
        let is_pending = |row: &Trade| row.status == StatusId::Pending as u8;
        self.view.rows(tables.trade_request, share, |key, _| {
            expect("TPC-E plus 6", key, is_pending, "TRADE_REQUEST");
        });
        self.view.rows(tables.trade, share, |key, row| {
            let granule = granule_of_account(row.account);
            if result.is_ok() {
                let is_at_home = granule < granules && granule_of_trade(key.id()) == granule;
                result =
                    ensure("TPC-E plus 5", is_at_home, || format!("{key:?} is of account {}", row.account));
            }
        });
        result
    }
}
