//! STUB

use engine::{Homes, InputFootprint};

use super::input::Input;
use super::schema::Tables;
use super::settings::Settings;

/// Returns the homes of the granules that the request touches.
pub(super) fn homes(_settings: &Settings, _input: &Input) -> Homes {
    Homes::new()
}

/// Adds the rows of a request.
pub(super) fn add(_tables: &Tables, _input: &Input, _footprint: &mut InputFootprint) {}
