//! STUB

use engine::{Drive, Forecast};

use super::settings::Settings;

/// The forecast of a run.
pub(super) fn forecast(_settings: &Settings, _drive: Drive) -> Forecast {
    Forecast::default()
}
