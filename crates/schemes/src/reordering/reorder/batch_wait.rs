//! The wait of a request for its batch: shared by the storage and the validator.
//!
//! A batch is closed by the session that finds it due: when it is full, when the worker of one of its requests has
//! nothing else to do, or when one of them has waited long enough.

use sync::{clock, waiter};

/// Waits until `is_over` holds. Meanwhile, whenever `is_due` holds, calls `close`. `is_due` is told whether a batch is
/// due although it is not full.
pub(super) fn wait_for_batch(
    wait_ns: u64,
    is_over: impl Fn() -> bool,
    is_due: impl Fn(bool) -> bool,
    close: impl Fn(),
) {
    let deadline_ns = clock::now_ns() + wait_ns;
    // On a plain thread the first look comes at once: others may be about to send their requests, too.
    let (mut is_late, mut looks) = (false, 0);
    loop {
        waiter::gather_until((!is_late).then_some(deadline_ns), || {
            looks += 1;
            is_over() || is_due(is_late || looks > 1 && waiter::is_idle())
        });
        if is_over() {
            return;
        }
        close();
        is_late = is_late || clock::now_ns() >= deadline_ns;
    }
}
