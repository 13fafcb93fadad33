//! STUB

use engine::{Abort, Transaction};

use super::super::input::DataMaintenance;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn data_maintenance<T: Transaction>(
        &self,
        _input: &DataMaintenance,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
