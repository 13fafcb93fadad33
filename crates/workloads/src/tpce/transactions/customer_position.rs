//! STUB

use engine::{Abort, Transaction};

use super::super::input::CustomerPosition;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn customer_position<T: Transaction>(
        &self,
        _input: &CustomerPosition,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
