//! STUB

use engine::{Abort, Transaction};

use super::super::input::Analytic;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn analytic<T: Transaction>(
        &self,
        _input: &Analytic,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
