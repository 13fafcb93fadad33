//! The functions that the fuzzer calls: each reads any input as a test case, and panics when a claim fails.
//!
//! The functions are here, and not beside the fuzz targets in `fuzz/`, so that `cargo test` replays the
//! committed inputs through the same code on the stable toolchain (`tests/replay.rs`).
#![forbid(unsafe_code)]

pub mod arguments;
mod bytes;
pub mod index;
pub mod log;
pub mod orders;
pub mod settings;

pub use lab::Catalogue;

/// The catalogue that inputs of [`arguments`] and [`settings`] are read against.
pub fn catalogue() -> Catalogue {
    Catalogue::new(instances::all())
}
