//! The stored procedures, one file each, in the order of TPC-E 3.3, and what several of them share. Each type is a
//! function that is never inlined, so that a profile tells the types apart.

mod analytic;
mod assets;
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

use core::ops::ControlFlow;

use engine::{Abort, Direction, Index, IndexOn, Row, Text, Transaction};

use super::keys::NameKey;

/// Shows a copy of columns that a transaction reads beside what its output needs. There are no terminals, so that all
/// it does is to keep the compiler from leaving the columns out.
#[inline]
fn show<S: Copy>(seen: S) {
    core::hint::black_box(&seen);
}

/// Finds the row with a name. Returns its number, and what `see` has made of it.
fn find_named<R: Row, I: IndexOn<R, Key = NameKey>, O, T: Transaction>(
    index: Index<R, I>,
    name: &[u8],
    txn: &mut T,
    see: impl Fn(&R) -> O,
) -> Result<Option<(u64, O)>, Abort> {
    let mut row = None;
    txn.scan_by(index, NameKey::named(Text::new(name)), Direction::Forward, |key, columns| {
        row = Some((key.number, see(columns)));
        ControlFlow::Break(())
    })?;
    Ok(row)
}
