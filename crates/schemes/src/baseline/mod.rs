//! Measuring sticks: the slowest correct scheme, and the fastest incorrect one.

pub mod serial;
pub mod uncontrolled;
