//! Frames: what the schemes of a family have in common, each a scheme with a rule left open.

pub mod two_phase;
