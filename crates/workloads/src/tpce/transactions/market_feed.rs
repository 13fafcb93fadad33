//! STUB

use engine::{Abort, Transaction};

use super::super::input::MarketFeed;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn market_feed<T: Transaction>(
        &self,
        _input: &MarketFeed,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
