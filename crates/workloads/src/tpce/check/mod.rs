//! STUB

use engine::{Quiesced, Share, Violation};

use super::{Ledger, Tpce};

/// Checks.
pub(super) fn check(
    _tpce: &Tpce,
    _view: &impl Quiesced,
    _share: Share,
    _ledgers: Option<&[Ledger]>,
) -> Result<(), Violation> {
    Ok(())
}
