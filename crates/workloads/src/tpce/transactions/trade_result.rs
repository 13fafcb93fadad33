//! STUB

use engine::{Abort, Transaction};

use super::super::input::TradeResult;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn trade_result<T: Transaction>(
        &self,
        _input: &TradeResult,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
