//! Panics that are caught, and of which it is known only later whether they count: the panic hook hears of them then,
//! or never.
//!
//! A hook of this module stands before the one that it has found. Of a panic within [`hold`] it notes what is to be
//! said, and the hook before is called when somebody [tells](Reports::tell) it. That hook takes nothing but a panic, so
//! it is given one of its own, whose text has the message and the place of the first.

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::fmt::Write as _;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, panic_any, set_hook, take_hook};
use std::sync::Once;

static INSTALLED: Once = Once::new();

thread_local! {
    /// How many times the thread is within `hold`.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// How many reports it keeps: spares a look at those, which are behind a destructor.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// The messages of its panics within `hold`, in their order.
    static KEPT: RefCell<Vec<Report>> = const { RefCell::new(Vec::new()) };
}

/// The message of a panic.
#[derive(Debug)]
struct Report {
    message: String,
    place: Option<String>,
    backtrace: Backtrace,
}

/// The messages that the hook was to print of panics that were caught. It is forgotten if nobody [tells](Self::tell)
/// it.
#[derive(Debug, Default)]
#[must_use = "what nobody tells is forgotten"]
pub struct Reports(Vec<Report>);

/// Puts the hook of this module before the one that the program has, once for all. A hook that is set later hears of
/// all panics at once, unless it asks [`is_held`].
pub fn install() {
    // The system's hooks cannot be changed by a thread that panics; a later call does it.
    if !std::thread::panicking() {
        INSTALLED.call_once(|| {
            let before = take_hook();
            set_hook(Box::new(move |info| {
                if !keep(info) {
                    before(info);
                }
            }));
        });
    }
}

/// Whether the calling thread is within [`hold`].
pub fn is_held() -> bool {
    // A thread that ends has lost it, and is within nothing.
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Calls `body` and catches its panic. What the hook would have said, of that and of panics which the body has caught
/// itself, comes along.
pub fn hold<T>(body: impl FnOnce() -> T) -> (Result<T, Box<dyn Any + Send>>, Reports) {
    let before = COUNT.get();
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(body));
    DEPTH.set(DEPTH.get() - 1);
    let reports = if COUNT.get() == before { Reports::default() } else { take_from(before) };
    (result, reports)
}

#[cold]
fn take_from(before: usize) -> Reports {
    COUNT.set(before);
    KEPT.with_borrow_mut(|kept| Reports(kept.split_off(before)))
}

impl Reports {
    /// Has the hook of the program say it. Within another [`hold`] it is kept, and becomes a part of what that returns.
    pub fn tell(self) {
        if is_held() {
            return keep_all(self.0);
        }
        for report in self.0 {
            let text = report.text();
            // What is thrown has been said, and ends here.
            _ = catch_unwind(|| panic_any(text));
        }
    }
}

fn keep_all(reports: Vec<Report>) {
    COUNT.set(COUNT.get() + reports.len());
    KEPT.with_borrow_mut(|kept| kept.extend(reports));
}

/// Keeps back what a panic has to say, if the thread is within `hold`.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    if !is_held() {
        return false;
    }
    let message = info.payload_as_str().unwrap_or("Box<dyn Any>").to_owned();
    if ends_the_process(&message) {
        say_all();
        return false;
    }
    let place = info.location().map(ToString::to_string);
    keep_all(vec![Report { message, place, backtrace: Backtrace::capture() }]);
    true
}

/// Whether a panic is not caught by anybody, but ends the process when its hook returns: the two that the language has
/// for a panic which meets another, or which leaves a function that must not panic.
fn ends_the_process(message: &str) -> bool {
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"].contains(&message)
}

/// Says what is kept, before the process ends: a hook that runs cannot be called with another panic.
fn say_all() {
    KEPT.with_borrow(|kept| {
        for report in kept {
            // Whoever has no such output any more has lost the process, too.
            _ = writeln!(std::io::stderr(), "panicked: {}", report.text());
        }
    });
}

impl Report {
    fn text(&self) -> String {
        let mut text = self.message.clone();
        let mut add = |more: &dyn core::fmt::Display| {
            write!(text, "\n{more}").expect("a text grows");
        };
        if let Some(place) = &self.place {
            add(&format_args!("at {place}, within a transaction"));
        }
        if self.backtrace.status() == BacktraceStatus::Captured {
            add(&format_args!("the stack then:\n{}", self.backtrace));
        }
        text
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The kept parts of a panic, without a hook: those of a test program are its own.
    fn report(message: &str) -> Report {
        Report { message: message.into(), place: Some("a.rs:1:2".into()), backtrace: Backtrace::disabled() }
    }

    #[test]
    fn what_is_kept_within_is_told_to_who_is_around_it() {
        let (result, outer) = hold(|| {
            assert!(is_held());
            let (result, inner) = hold(|| keep_all(vec![report("inner")]));
            result.expect("it returns");
            keep_all(vec![report("between")]);
            inner.tell();
        });
        result.expect("it returns");
        assert!(!is_held());
        let texts: Vec<_> = outer.0.iter().map(Report::text).collect();
        let of = |message: &str| format!("{message}\nat a.rs:1:2, within a transaction");
        assert_eq!(texts, [of("between"), of("inner")]);
    }

    #[test]
    fn what_is_not_told_is_forgotten() {
        let (_, reports) = hold(|| keep_all(vec![report("nobody believes it")]));
        drop(reports);
        let (_, reports) = hold(|| ());
        assert!(reports.0.is_empty() && COUNT.get() == 0);
    }
}
