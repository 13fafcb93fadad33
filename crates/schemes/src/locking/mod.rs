//! Schemes that lock before they access.

pub mod bamboo;
pub mod dl_detect;
pub mod no_wait;
pub mod wait_die;
pub mod wound_wait;
