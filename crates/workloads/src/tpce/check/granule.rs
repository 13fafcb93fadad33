//! The conditions of the accounts, trades and brokers of a granule.

use core::ops::ControlFlow;

use engine::{Quiesced, Violation};

use super::super::keys::{AccountKey, AccountTradeKey, BrokerKey, TradeHistoryKey, TradeKey};
use super::super::load::initial_balance;
use super::super::rows::{StatusId, Trade, TradeRequest, TradeType};
use super::super::scale::{
    BROKERS, CUSTOMERS, account_id, account_ids, account_slot, number_of_trade, trade_id,
};
use super::{Check, ensure, while_ok};

/// The identifiers of accounts of a granule, used or not.
const ACCOUNT_SLOTS: usize = CUSTOMERS as usize * 10;

/// A granule, read into memory.
pub(super) struct Granule {
    pub(super) number: u32,
    /// The accounts by their place in the granule.
    accounts: Vec<Option<Owner>>,
    /// The trades of these accounts, in the order of their identifiers.
    pub(super) trades: Vec<Traded>,
}

/// An account.
#[derive(Clone, Copy)]
struct Owner {
    broker: u32,
    tax_status: u8,
    balance: i64,
}

/// A trade, and what other tables say of it.
pub(super) struct Traded {
    pub(super) id: u64,
    pub(super) row: Trade,
    /// The states that it had: the bit of each.
    states: u8,
    /// When it got the last of them.
    time: u64,
    /// By how much it has changed lots.
    pub(super) changed: i64,
}

impl Traded {
    pub(super) fn is(&self, status: StatusId) -> bool {
        self.row.status == status as u8
    }

    /// The quantity by which it changes lots when it is completed.
    fn signed_quantity(&self) -> i64 {
        let quantity = i64::from(self.row.quantity);
        if TradeType::of(self.row.kind).is_sell() { -quantity } else { quantity }
    }

    /// The states that lead to the present one, or `None` if there is no such state.
    fn states_due(&self) -> Option<u8> {
        let bit = |status: StatusId| 1_u8 << status as u8;
        let (pending, submitted) = (bit(StatusId::Pending), bit(StatusId::Submitted));
        let kind = TradeType::of(self.row.kind);
        let before = if kind.is_market() { 0 } else { pending };
        let is_known = self.row.kind == kind as u8 && self.row.status == StatusId::of(self.row.status) as u8;
        match StatusId::of(self.row.status) {
            _ if !is_known => None,
            StatusId::Pending if !kind.is_market() => Some(pending),
            StatusId::Submitted => Some(before | submitted),
            status @ (StatusId::Completed | StatusId::Canceled) => Some(before | submitted | bit(status)),
            StatusId::Pending | StatusId::Active => None,
        }
    }
}

impl Granule {
    fn account(&self, account: u64) -> Option<&Owner> {
        let first = account_slot(account_id(self.number * CUSTOMERS, 0));
        self.accounts.get(account_slot(account).wrapping_sub(first) as usize)?.as_ref()
    }

    /// The place of a trade among those of the granule.
    pub(super) fn place_of(&self, trade: u64) -> Option<usize> {
        self.trades.binary_search_by_key(&trade, |traded| traded.id).ok()
    }
}

impl<V: Quiesced> Check<'_, V> {
    /// Checks all conditions of the accounts of a granule, of their trades and of their brokers.
    pub(super) fn granule(&self, number: u32) -> Result<(), Violation> {
        let mut granule =
            Granule { number, accounts: self.accounts(number)?, trades: self.trades_of_accounts(number) };
        self.states(&mut granule)?;
        for traded in &granule.trades {
            self.documents(&granule, traded)?;
        }
        let open = self.lots(&mut granule)?;
        self.positions(number, &open)?;
        for traded in &granule.trades {
            let due = if traded.is(StatusId::Completed) { traded.signed_quantity() } else { 0 };
            ensure("TPC-E plus 11", traded.changed == due, || {
                format!("trade {} changed lots by {}, {due} is due", traded.id, traded.changed)
            })?;
        }
        self.money(&granule)?;
        self.brokers(&granule)
    }

    fn accounts(&self, granule: u32) -> Result<Vec<Option<Owner>>, Violation> {
        let tables = &self.tpce.tables;
        let mut accounts = vec![None; ACCOUNT_SLOTS];
        let customers = granule * CUSTOMERS..(granule + 1) * CUSTOMERS;
        let first = account_slot(account_id(customers.start, 0));
        for account in customers.flat_map(account_ids) {
            let key = AccountKey::new(account);
            let row = self.row("TPC-E plus 8", tables.account, key)?;
            let balance = self.row("TPC-E plus 8", tables.account_balance, key)?.balance;
            let is_served = row.broker / BROKERS == granule;
            ensure("TPC-E 1", is_served, || format!("account {account} has broker {}", row.broker))?;
            let owner = Owner { broker: row.broker, tax_status: row.tax_status, balance };
            accounts[(account_slot(account) - first) as usize] = Some(owner);
        }
        Ok(accounts)
    }

    /// Returns the trades of the accounts of a granule, in the order of their identifiers.
    fn trades_of_accounts(&self, granule: u32) -> Vec<Traded> {
        let first = AccountTradeKey::new(account_id(granule * CUSTOMERS, 0), 0, 0);
        let last = AccountTradeKey::new(account_id((granule + 1) * CUSTOMERS - 1, 9), u64::MAX, u64::MAX);
        let mut trades = Vec::new();
        self.view.scan_by(self.tpce.tables.trade_by_account, first..=last, |entry, row| {
            trades.push(Traded { id: entry.trade(), row: *row, states: 0, time: 0, changed: 0 });
            ControlFlow::Continue(())
        });
        trades.sort_unstable_by_key(|traded| traded.id);
        trades
    }

    /// Checks the part of plus 5 and plus 16 that is about states.
    fn states(&self, granule: &mut Granule) -> Result<(), Violation> {
        let first = *TradeHistoryKey::of_trade(trade_id(granule.number, 0)).start();
        let last = *TradeHistoryKey::of_trade(trade_id(granule.number, u64::MAX)).end();
        let (mut trades, mut result) = (granule.trades.iter_mut().peekable(), Ok(()));
        self.view.scan(self.tpce.tables.trade_history, first..=last, |key, row| {
            while trades.next_if(|traded| traded.id < key.trade()).is_some() {}
            match trades.peek_mut().filter(|traded| traded.id == key.trade()) {
                Some(traded) => {
                    traded.states |= 1 << key.status() as u8;
                    traded.time = row.time;
                }
                None => result = ensure("TPC-E plus 5", false, || format!("{key:?} is of no trade")),
            }
            while_ok(&result)
        });
        result?;
        for traded in &granule.trades {
            ensure("TPC-E plus 5", traded.states_due() == Some(traded.states), || {
                format!("trade {} had the states {:#b}: {:?}", traded.id, traded.states, traded.row)
            })?;
            ensure("TPC-E plus 16", traded.row.time == traded.time, || {
                let (id, time) = (traded.id, traded.row.time);
                format!("trade {id}: T_DTS is {time}, its last state is of {}", traded.time)
            })?;
        }
        Ok(())
    }

    /// Checks plus 6, and the part of plus 5 that is about accounts, prices, settlements and cash transactions.
    fn documents(&self, granule: &Granule, traded: &Traded) -> Result<(), Violation> {
        let (tables, row, key) = (&self.tpce.tables, &traded.row, TradeKey::new(traded.id));
        let Some(owner) = granule.account(row.account) else {
            let found = format!("trade {} is of account {}", traded.id, row.account);
            return Err(Violation { condition: "TPC-E plus 5", found });
        };
        let is_done = traded.is(StatusId::Completed);
        let has = [
            row.trade_price != 0,
            self.read(tables.settlement, key).is_some(),
            self.read(tables.cash_transaction, key).is_some(),
        ];
        ensure("TPC-E plus 5", has == [is_done, is_done, is_done && row.is_cash != 0], || {
            format!("trade {}: price, SETTLEMENT, CASH_TRANSACTION {has:?}: {row:?}", traded.id)
        })?;
        let request = self.read(tables.trade_request, key);
        let due = TradeRequest {
            security: row.security,
            quantity: row.quantity,
            bid_price: row.bid_price,
            broker: owner.broker,
            kind: row.kind,
            pad: [0; 7],
        };
        ensure("TPC-E plus 6", request == traded.is(StatusId::Pending).then_some(due), || {
            format!("trade {}: {row:?}, but {request:?}", traded.id)
        })
    }

    /// Checks plus 8, 9 and 15.
    fn money(&self, granule: &Granule) -> Result<(), Violation> {
        let tables = &self.tpce.tables;
        let before_run = self.tpce.settings.slots_of_granule();
        let mut received = vec![0_i64; ACCOUNT_SLOTS];
        let customers = granule.number * CUSTOMERS..(granule.number + 1) * CUSTOMERS;
        let first = account_slot(account_id(customers.start, 0));
        for traded in granule.trades.iter().filter(|traded| traded.is(StatusId::Completed)) {
            let key = TradeKey::new(traded.id);
            let amount = self.row("TPC-E plus 5", tables.settlement, key)?.amount;
            let due = granule.account(traded.row.account).map(|owner| amount_due(&traded.row, owner));
            ensure("TPC-E plus 15", Some(amount) == due, || {
                format!("trade {}: SE_AMT is {amount}, {due:?} is due: {:?}", traded.id, traded.row)
            })?;
            if traded.row.is_cash != 0 {
                let cash = self.row("TPC-E plus 5", tables.cash_transaction, key)?.amount;
                ensure("TPC-E plus 9", amount == cash, || {
                    format!("trade {}: SE_AMT is {amount}, CT_AMT {cash}", traded.id)
                })?;
                if number_of_trade(traded.id) >= before_run {
                    let sum = &mut received[(account_slot(traded.row.account) - first) as usize];
                    *sum = sum.wrapping_add(amount);
                }
            }
        }
        for account in customers.flat_map(account_ids) {
            let initial = initial_balance(self.tpce.settings.scale, account);
            let since = received[(account_slot(account) - first) as usize];
            let balance = granule.account(account).map(|owner| owner.balance);
            ensure("TPC-E plus 8", balance == Some(initial.wrapping_add(since)), || {
                format!("account {account}: CA_BAL is {balance:?}, was {initial}, and got {since} since")
            })?;
        }
        Ok(())
    }

    /// Checks 1 and 2.
    fn brokers(&self, granule: &Granule) -> Result<(), Violation> {
        let first = granule.number * BROKERS;
        let mut sums = [(0_i64, 0_i64); BROKERS as usize];
        for traded in granule.trades.iter().filter(|traded| traded.is(StatusId::Completed)) {
            if let Some(owner) = granule.account(traded.row.account) {
                let (trades, commission) = &mut sums[(owner.broker - first) as usize];
                *trades += 1;
                *commission = commission.wrapping_add(traded.row.commission);
            }
        }
        for (broker, (trades, commission)) in (first..).zip(sums) {
            let row = self.row("TPC-E 1", self.tpce.tables.broker_totals, BrokerKey::new(broker))?;
            ensure("TPC-E 1", row.trades == trades, || {
                format!("broker {broker}: B_NUM_TRADES is {}, completed were {trades}", row.trades)
            })?;
            ensure("TPC-E 2", row.commission == commission, || {
                format!("broker {broker}: B_COMM_TOTAL is {}, trades say {commission}", row.commission)
            })?;
        }
        Ok(())
    }
}

/// Returns the `SE_AMT` that a completed trade makes (TPC-E 3.3.8, frame 6).
fn amount_due(trade: &Trade, owner: &Owner) -> i64 {
    let value = i64::from(trade.quantity).wrapping_mul(i64::from(trade.trade_price));
    let costs = trade.charge.wrapping_add(trade.commission);
    let value = if TradeType::of(trade.kind).is_sell() { value } else { value.wrapping_neg() };
    // Only status 1 withholds the tax.
    let withheld = if owner.tax_status == 1 { trade.tax } else { 0 };
    value.wrapping_sub(costs).wrapping_sub(withheld)
}
