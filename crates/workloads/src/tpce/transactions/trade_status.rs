//! STUB

use engine::{Abort, Transaction};

use super::super::input::TradeStatus;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn trade_status<T: Transaction>(
        &self,
        _input: &TradeStatus,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
