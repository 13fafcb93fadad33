//! Claims about `reorder`.

crate::tests::conformance!(
    crate::reordering::reorder::entry::ENTRY:
    base, batching_only, in_small_batches, with_a_short_history
);
