//! Trade-Update (TPC-E 3.3.10): small corrections of trades of the past, which are then read as Trade-Lookup reads
//! them.
//!
//! Frame 1 writes TRADE of some trades, the name of the one who gave the order; frame 2 SETTLEMENT of trades of an
//! account; frame 3 `CASH_TRANSACTION` of trades of a security. Each correction turns a text into another, and the same
//! correction turns it back, so that texts do not grow. All found rows are changed, up to twenty.
//!
//! Nothing is hot: trades are drawn from a long history, with a skew.

use engine::{Abort, Text, Transaction};

use super::super::input::{TRADES_ASKED, TradeUpdate};
use super::super::keys::TradeKey;
use super::super::schema::Tables;
use super::super::{Output, Scratch, Tpce};
use super::show;
use super::texts::{find, spliced, swap_word};
use super::trade_result::{CASH, MARGIN};
use super::trades::{prefetch_trades, read_trade, read_type, trades_of_account, trades_of_security};

/// The other `SE_CASH_TYPE` of a trade that is not on margin.
const CASH_SHORT: &[u8] = b"Cash";
/// The other `SE_CASH_TYPE` of a trade on margin.
const MARGIN_LONG: &[u8] = b"Margin Account";

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    Executors,
    Settlements,
    CashTransactions,
}

impl Tpce {
    /// Corrects trades. Rolls back if there is nothing to correct.
    pub(in super::super) fn trade_update<T: Transaction>(
        &self,
        input: &TradeUpdate,
        scratch: &mut Scratch,
        txn: &mut T,
    ) -> Result<Output, Abort> {
        let (tables, trades) = (&self.tables, &mut scratch.trades);
        let frame = match *input {
            TradeUpdate::Trades(ref asked) => {
                trades.clear();
                trades.extend(asked.iter().map(|&trade| (trade, 0)));
                Frame::Executors
            }
            TradeUpdate::Account { account, from, to } => {
                trades_of_account(tables, account, from, to, TRADES_ASKED, trades, txn)?;
                Frame::Settlements
            }
            TradeUpdate::Security { security, from, to } => {
                trades_of_security(tables, security, from, to, TRADES_ASKED, trades, txn)?;
                Frame::CashTransactions
            }
        };
        prefetch_trades(tables, trades.iter().map(|&(trade, _)| trade), txn);
        let mut changed = 0;
        for &(trade, _) in &*trades {
            if frame.correct(tables, TradeKey::new(trade), txn)? {
                if changed == 0 {
                    txn.decided();
                }
                changed += 1;
            }
            let Some(seen) = read_trade(tables, trade, txn)? else { continue };
            show(&seen);
            if frame != Frame::Settlements {
                show(&read_type(tables, &seen.trade, txn)?);
            }
        }
        if changed == 0 {
            return Err(Abort::Rollback);
        }
        Ok(Output::TradeUpdate { changed })
    }
}

impl Frame {
    /// Corrects a trade. Returns `false` if it has nothing to be corrected.
    fn correct<T: Transaction>(self, tables: &Tables, key: TradeKey, txn: &mut T) -> Result<bool, Abort> {
        let is_changed = match self {
            Self::Executors => txn.update(tables.trade_executor, key, |row| swap_middle(&mut row.name))?,
            Self::Settlements => {
                txn.update(tables.settlement, key, |row| swap_cash_type(&mut row.cash_type))?
            }
            Self::CashTransactions => {
                // A trade on margin has no row, and must not read that there is none.
                if txn.read(tables.trade, key, |row| row.is_cash != 0)? != Some(true) {
                    return Ok(false);
                }
                let swap = |name: &mut Text<100>| swap_word(name, b"shares of", b"Shares of");
                txn.update(tables.cash_transaction, key, |row| swap(&mut row.name))?
            }
        };
        Ok(is_changed == Some(true))
    }
}

/// Puts an initial between the names of a person, or takes it away. Returns `false` if there is only one name.
fn swap_middle(name: &mut Text<49>) -> bool {
    let (with, without) = (b" X ", b" ");
    let other = if let Some(at) = find(name.as_bytes(), with) {
        spliced(*name, at, with.len(), without)
    } else if let Some(at) = find(name.as_bytes(), without) {
        spliced(*name, at, without.len(), with)
    } else {
        return false;
    };
    *name = other;
    true
}

/// Turns the long name of a type of settlement into the short one, or the other way round.
fn swap_cash_type(name: &mut Text<40>) -> bool {
    let other = match name.as_bytes() {
        CASH => CASH_SHORT,
        CASH_SHORT => CASH,
        MARGIN => MARGIN_LONG,
        MARGIN_LONG => MARGIN,
        _ => return false,
    };
    *name = Text::new(other);
    true
}
