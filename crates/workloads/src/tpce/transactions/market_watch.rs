//! STUB

use engine::{Abort, Transaction};

use super::super::input::MarketWatch;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn market_watch<T: Transaction>(
        &self,
        _input: &MarketWatch,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
