//! STUB

use engine::{Abort, Transaction};

use super::super::input::TradeCleanup;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn trade_cleanup<T: Transaction>(
        &self,
        _input: &TradeCleanup,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
