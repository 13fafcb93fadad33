//! Claims about every scheme on simulated workers. They are one program, since sessions are compiled once for each
//! scheme and program.

// The small workloads of the schemes' tests name these crates without the suffix `_sim`.
extern crate engine_sim as engine;
extern crate schemes_sim as schemes;
extern crate storage_sim as storage;
extern crate sync_sim as sync;

mod adds;
#[path = "../../crates/schemes/src/tests/common/mod.rs"]
mod common;
#[path = "../explore/mod.rs"]
mod explore;
mod moves;
mod schedules;
#[path = "../explore/small.rs"]
mod small;
mod traffic;
mod twins;
