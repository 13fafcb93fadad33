//! STUB

use engine::{Loader, Share};

use super::Tpce;

/// Loads a share of the initial rows.
pub(super) fn load(_tpce: &Tpce, _share: Share, _loader: &mut impl Loader) {}
