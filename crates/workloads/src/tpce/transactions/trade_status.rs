//! Trade-Status (TPC-E 3.3.9): the latest trades of an account, whatever their status. The most frequent type.
//!
//! It reads `TRADE` by account, against the order of time, STATUS_TYPE, TRADE_TYPE, `SECURITY` and `EXCHANGE` for
//! each trade, and CUSTOMER_ACCOUNT, `CUSTOMER` and `BROKER`. Its conflicts are at the end of the account's trades:
//! Trade-Orders insert there, and Trade-Results and Market-Feeds move what is there, since the order of time is that of
//! the last change of the status. All else is written by nobody.

use core::ops::ControlFlow;

use engine::{Abort, Direction, Transaction};

use super::super::input::TradeStatus;
use super::super::keys::{
    AccountKey, AccountTradeKey, BrokerKey, CustomerKey, ExchangeKey, SecurityKey, StatusKey, TradeKey,
    TradeTypeKey,
};
use super::super::rows::{StatusId, TradeType};
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce, found};
use super::show;
use super::trades::TIME_MAX;

/// The number of trades that are shown (TPC-E 3.3.9).
const TRADES_MAX: usize = 50;

/// A trade, as far as it leads to other tables.
#[derive(Clone, Copy, Debug)]
struct Line {
    trade: u64,
    security: u32,
    status: StatusId,
    kind: TradeType,
}

const NO_LINE: Line = Line { trade: 0, security: 0, status: StatusId::Active, kind: TradeType::MarketBuy };

impl Tpce {
    /// Reads the latest trades of an account. An account without trades is shown, too.
    #[inline(never)]
    pub(in super::super) fn trade_status<T: Transaction>(
        &self,
        input: &TradeStatus,
        _: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let tables = &self.tables;
        let mut lines = [NO_LINE; TRADES_MAX];
        let mut len = 0;
        let all = AccountTradeKey::of_account(input.account, 0, TIME_MAX);
        txn.scan_by(tables.trade_by_account, all, Direction::Backward, |key, row| {
            let Some(line) = lines.get_mut(len) else { return ControlFlow::Break(()) };
            show((row.time, row.quantity, row.charge));
            *line = Line {
                trade: key.trade(),
                security: row.security,
                status: StatusId::of(row.status),
                kind: TradeType::of(row.kind),
            };
            len += 1;
            // No row beyond the last one is read.
            if len < TRADES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let lines = &lines[..len];
        txn.prefetch(tables.trade_executor, lines.iter().map(|line| TradeKey::new(line.trade)));
        txn.prefetch(tables.security, lines.iter().map(|line| SecurityKey::new(line.security)));
        for line in lines {
            read_names(tables, line, txn)?;
        }

        let account =
            txn.read(tables.account, AccountKey::new(input.account), |row| (row.customer, row.broker))?;
        let (customer, broker) = found(account)?;
        let key = CustomerKey::new(customer);
        found(txn.read(tables.customer, key, |row| show((row.first_name, row.last_name)))?)?;
        found(txn.read(tables.broker, BrokerKey::new(broker), |row| show(row.name))?)?;
        let latest = lines.first().map_or(0, |line| line.trade);
        Ok(Output::TradeStatus { found: len as u8, latest })
    }
}

/// Reads what a trade's numbers stand for.
fn read_names<T: Transaction>(tables: &Tables, line: &Line, txn: &mut T) -> Result<(), Abort> {
    found(txn.read(tables.trade_executor, TradeKey::new(line.trade), |row| show(row.name))?)?;
    found(txn.read(tables.status_type, StatusKey::new(line.status), |row| show(row.name))?)?;
    found(txn.read(tables.trade_type, TradeTypeKey::new(line.kind), |row| show(row.name))?)?;
    let exchange = found(txn.read(tables.security, SecurityKey::new(line.security), |row| {
        show((row.symbol, row.name));
        row.exchange
    })?)?;
    found(txn.read(tables.exchange, ExchangeKey::new(exchange), |row| show(row.name))?)
}

#[cfg(test)]
mod tests {
    use super::super::super::Input;
    use super::super::super::scale::customer_id;
    use super::super::testing::{House, ORDERED_AT};
    use super::*;

    const TRADE: u64 = 200_000_000_000_000;

    /// Customer 1 with an account at broker 1, and the securities 3 and 4.
    fn house() -> House {
        let mut house = House::new();
        house.exchange();
        house.broker(1);
        house.customer(1);
        house.account_of(1, 0, 1);
        house.security(3, 0, 2_500);
        house.security(4, 0, 2_500);
        house
    }

    fn ask(house: &mut House) -> Result<Output, Abort> {
        house.execute(&Input::TradeStatus(TradeStatus { account: House::account(1) }))
    }

    #[test]
    fn the_latest_fifty_trades_are_found() {
        let mut house = house();
        assert_eq!(ask(&mut house), Ok(Output::TradeStatus { found: 0, latest: 0 }));
        // The latest trade has the smallest number.
        for number in 0..60 {
            house.completed_trade(
                TRADE + number,
                1,
                3 + number as u32 % 2,
                ORDERED_AT + 1_000 - number,
                true,
            );
            let found = (number as u8 + 1).min(50);
            assert_eq!(ask(&mut house), Ok(Output::TradeStatus { found, latest: TRADE }));
        }
        house.completed_trade(TRADE + 99, 2, 3, ORDERED_AT + 9_000, true);
        assert_eq!(ask(&mut house), Ok(Output::TradeStatus { found: 50, latest: TRADE }));
    }

    #[test]
    fn names_of_trades_beyond_the_fiftieth_are_not_needed() {
        let mut house = house();
        house.completed_trade(TRADE, 1, 77, ORDERED_AT, true);
        assert_eq!(ask(&mut house), Err(Abort::ReadChanged));
        for number in 1..=50 {
            house.completed_trade(TRADE + number, 1, 3, ORDERED_AT + number, true);
        }
        assert_eq!(ask(&mut house), Ok(Output::TradeStatus { found: 50, latest: TRADE + 50 }));
    }

    #[test]
    fn each_row_is_needed() {
        macro_rules! assert_needed {
            ($($table:ident: $key:expr),* $(,)?) => {$(
                let mut damaged = house();
                damaged.completed_trade(TRADE, 1, 3, ORDERED_AT, true);
                let tables = damaged.tpce.tables;
                assert_eq!(damaged.mock.attempt(|txn| txn.delete(tables.$table, $key)), Ok(true));
                assert_eq!(ask(&mut damaged), Err(Abort::ReadChanged), stringify!($table: $key));
            )*};
        }
        assert_needed!(
            account: AccountKey::new(House::account(1)),
            customer: CustomerKey::new(customer_id(1)),
            broker: BrokerKey::new(1),
            status_type: StatusKey::new(StatusId::Completed),
            trade_type: TradeTypeKey::new(TradeType::MarketBuy),
            security: SecurityKey::new(3),
            exchange: ExchangeKey::new(0),
        );
    }
}
