//! STUB

use engine::{Abort, Transaction};

use super::super::input::BrokerVolume;
use super::super::{Output, Scratch, Tpce};

impl Tpce {
    /// Executes it.
    pub(in super::super) fn broker_volume<T: Transaction>(
        &self,
        _input: &BrokerVolume,
        _scratch: &mut Scratch,
        _txn: &mut T,
    ) -> Result<Output, Abort> {
        Err(Abort::Rollback)
    }
}
