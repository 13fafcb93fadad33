//! STUB

use engine::{Abort, Transaction};

use super::super::input::TradeLookup;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn trade_lookup<T: Transaction>(
        &self,
        _input: &TradeLookup,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
