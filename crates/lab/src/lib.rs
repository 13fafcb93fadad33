//! The laboratory: plans runs, measures them, and reports the results and the conditions under which they hold.
#![forbid(unsafe_code)]

mod constants;
mod ground;
mod inquiry;
mod logs;
mod machine;
mod measure;
mod mix;
mod own;
mod partial;
mod plan;
mod recovery;
mod registry;
mod scaling;
mod simulation;
mod space;
mod speed;
mod starvation;
mod steady;
mod traffic;

pub mod calibration;
pub mod capabilities;
pub mod compare;
pub mod conditions;
pub mod json;
mod knees;
pub mod machines;
pub mod probe;
pub mod report;
pub mod reproduce;
pub mod sensitivity;
pub mod sweep;
pub mod text;

use core::fmt;

pub use constants::ConstantChange;
pub use engine::driver::{ClientMode, Retry};
pub use ground::Ground;
pub use inquiry::{Inquiry, Question};
pub use logs::remove_scratch_log;
pub use machine::{Cache, Machine};
pub use measure::{Record, Results};
pub use partial::Partial;
pub use plan::{ClientCount, Plan, PlannedScheme, Request, StandardValues, WarmUpLength};
pub use recovery::Recovery;
pub use registry::{Catalogue, Listed, SettingOf};
pub use runs::{CheckVerdict, Monitor, Recovered, RecoveryProgress, RunPhase};
pub use scaling::{Scaling, ScalingQuestion};
pub use simulation::{MemoryPolicy, Placement, SimulationCosts, SimulationPlan, machine_of};
pub use space::Space;
pub use speed::{Basis, Ratios};
pub use starvation::{Starvation, StarvedType};
pub use stats::Spread;
pub use traffic::{Arrival, rtt_us};
pub use trials::CampaignReport;

/// The reason why something was refused before anything was loaded. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Refusal {}

impl From<runs::RunError> for Refusal {
    fn from(error: runs::RunError) -> Self {
        Self(error.0)
    }
}

impl From<simulations::SimulationError> for Refusal {
    fn from(error: simulations::SimulationError) -> Self {
        Self(error.0)
    }
}

impl From<engine::setting::SettingError> for Refusal {
    fn from(error: engine::setting::SettingError) -> Self {
        Self(error.0)
    }
}
