//! STUB

use engine::{Abort, Transaction};

use super::super::input::SecurityDetail;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn security_detail<T: Transaction>(
        &self,
        _input: &SecurityDetail,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
