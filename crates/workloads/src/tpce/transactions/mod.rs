//! The stored procedures, one file each, in the order of TPC-E 3.3.

mod analytic;
mod broker_volume;
mod customer_position;
mod data_maintenance;
mod market_feed;
mod market_watch;
mod security_detail;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_writes;
mod texts;
mod trade_cleanup;
mod trade_lookup;
mod trade_order;
mod trade_result;
mod trade_status;
mod trade_update;
mod trades;
mod trading;

/// Shows what a transaction has read beside its output. There are no terminals, so that all it does is to keep the
/// compiler from leaving out columns that nothing else needs.
#[inline]
fn show<S>(seen: &S) {
    core::hint::black_box(seen);
}
