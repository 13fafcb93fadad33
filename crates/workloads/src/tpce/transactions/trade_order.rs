//! STUB

use engine::{Abort, Transaction};

use super::super::input::TradeOrder;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn trade_order<T: Transaction>(
        &self,
        _input: &TradeOrder,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
