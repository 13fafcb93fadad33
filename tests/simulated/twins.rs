//! Claims about the twins: every scheme runs a whole workload, including drivers and indexes, under
//! a schedule that a seed decides, and the seed reproduces the schedule.

use engine_sim::Admits;
use schemes_sim::catalogue;

use crate::explore::{Small, explore};

#[test]
fn a_seed_brings_a_schedule_back_under_every_scheme() {
    for info in catalogue::infos() {
        for workload in Small::ALL {
            let [first, second] = [0; 2].map(|_| explore(info.name, workload, 7));
            assert_eq!(first, second, "{} on {}", info.name, workload.name());
        }
    }
}

#[test]
fn seeds_differ_and_every_schedule_passes_the_check() {
    for info in catalogue::infos().filter(|info| info.workers == Admits::Any) {
        for workload in Small::ALL {
            let mut hashes: Vec<u64> =
                (0..8).map(|seed| explore(info.name, workload, seed).trace.hash).collect();
            hashes.sort_unstable();
            hashes.dedup();
            let (scheme, workload) = (info.name, workload.name());
            assert_eq!(hashes.len(), 8, "{scheme} on {workload}: each seed has a schedule of its own");
        }
    }
}
