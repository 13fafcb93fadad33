//! STUB

use engine::{Abort, Transaction};

use super::super::input::TradeUpdate;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn trade_update<T: Transaction>(
        &self,
        _input: &TradeUpdate,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
