//! Tests of thousands of crashes: random transactions on a simulated disk whose power is cut at any operation, also
//! while a crash is being recovered, checked against the oracle of `case.rs`.
//!
//! `cargo test -p contend-durability --test crash -- --ignored` runs for a night.

mod case;
mod cuts;
mod model;

use std::panic::{AssertUnwindSafe, catch_unwind};

use case::{Case, Seen};
use durability::LogPlant;

/// Runs cases until there were `cuts` power cuts, and returns the counts of their events.
fn crashes(from: u64, cuts: u64) -> Seen {
    let (mut seen, mut seed) = (Seen::default(), from);
    while seen.cuts < cuts {
        match Case::new(seed, None).run() {
            Ok(more) => seen.add(more),
            Err(broken) => panic!("seed {seed}: {broken}"),
        }
        seed += 1;
    }
    seen
}

#[test]
fn no_acknowledged_commit_is_lost_and_none_is_half_there() {
    let seen = crashes(0, 50_000);
    // The search is not blind: it has met the events that it is made for.
    assert!(seen.recoveries_cut > 1_000, "{seen:?}");
    assert!(seen.torn > 1_000, "{seen:?}");
    assert!(seen.checkpoints > 1_000, "{seen:?}");
    assert!(seen.closed > 1_000, "{seen:?}");
    assert!(seen.poisoned > 500, "{seen:?}");
}

#[test]
#[ignore = "takes minutes"]
fn nor_in_a_million_crashes() {
    crashes(1 << 40, 1_000_000);
}

#[test]
fn rot_is_refused_or_was_in_the_tail() {
    let (mut refused, mut cut) = (0, 0);
    for seed in 0..6_000 {
        match Case::new(seed, None).rot() {
            Ok(true) => refused += 1,
            Ok(false) => cut += 1,
            Err(broken) => panic!("seed {seed}: {broken}"),
        }
    }
    assert!(refused > 1_000 && cut > 100, "{refused} refused, {cut} in the tail");
}

#[test]
fn garbage_with_right_checksums_is_refused_or_read_and_panics_nowhere() {
    let refused = (0..20_000).filter(|seed| {
        Case::new(*seed, None).garbage().unwrap_or_else(|broken| panic!("seed {seed}: {broken}"))
    });
    assert!(refused.count() > 1_000);
}

/// The number of the first seed that finds a planted bug, among the first `most`; `None` if none of them does.
fn seeds_to_find(plant: LogPlant, most: u64) -> Option<u64> {
    (0..most).find(|seed| {
        let run = catch_unwind(AssertUnwindSafe(|| Case::new(*seed, Some(plant)).run().map(|_| ())));
        let rot = || catch_unwind(AssertUnwindSafe(|| Case::new(*seed, Some(plant)).rot().map(|_| ())));
        !matches!(run, Ok(Ok(()))) || !matches!(rot(), Ok(Ok(())))
    })
}

macro_rules! finds {
    ($($name:ident: $plant:ident;)+) => {
        $(
            #[test]
            fn $name() {
                assert!(seeds_to_find(LogPlant::$plant, 3_000).is_some());
            }
        )+
    };
}

finds! {
    finds_an_acknowledgement_before_the_sync: AcknowledgesBeforeSync;
    finds_seals_after_the_sync: SealsAfterSync;
    finds_skipped_seals: SkipsSeals;
    finds_ignored_checksums: IgnoresChecksums;
    finds_a_cut_in_the_middle: CutsAnywhere;
    finds_a_segment_whose_name_is_not_synced: SkipsDirectorySync;
    finds_a_manifest_whose_name_is_not_synced: RenamesWithoutSync;
    finds_a_manifest_that_is_overwritten: OverwritesManifest;
    finds_a_manifest_that_is_not_synced: RenamesUnsynced;
    finds_a_sync_that_is_tried_again: RetriesSync;
    finds_belief_in_one_device: BelievesOneDevice;
    finds_an_epoch_that_is_sealed_early: SealsEarly;
    finds_an_order_by_place: OrdersByPlace;
    finds_forgotten_deletions: ForgetsDeletions;
    finds_a_log_that_is_truncated_early: TruncatesEarly;
    finds_a_length_that_is_not_looked_at: IgnoresLengths;
    finds_a_segment_that_the_manifest_does_not_name: LeavesSegmentsUnnamed;
    finds_parts_that_are_not_synced: LeavesPartsUnsynced;
}
