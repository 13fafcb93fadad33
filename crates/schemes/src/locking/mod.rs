//! Schemes that lock before they access.

pub mod no_wait;
