//! Deferred reports of panics: a panic is caught, and only later it is known whether it counts. The panic hook is told
//! of it then, or never.
//!
//! A hook of this module stands in front of the hook that it found. It notes the message of a panic within [`hold`],
//! and calls the hook behind it when somebody [tells](Reports::tell) the reports. A panic hook takes nothing but a
//! panic, so it is given a new panic whose text has the message and the place of the first.

use core::any::Any;
use core::cell::{Cell, RefCell};
use core::fmt::Write as _;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, panic_any, set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

static INSTALLED: Once = Once::new();

thread_local! {
    /// How many times the thread is within `hold`.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The number of reports that the thread keeps. It spares a look at `KEPT`, which is behind a destructor.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// The messages of the thread's panics within `hold`, in their order.
    static KEPT: RefCell<Vec<Report>> = const { RefCell::new(Vec::new()) };
}

/// The message of a panic.
#[derive(Debug)]
struct Report {
    message: String,
    place: Option<String>,
    backtrace: Backtrace,
}

/// The messages of caught panics that the hook has not printed. They are forgotten if nobody [tells](Self::tell) them.
#[derive(Debug, Default)]
#[must_use = "what nobody tells is forgotten"]
pub struct Reports(Vec<Report>);

/// Puts the hook of this module in front of the program's hook, once for the whole process. A hook that is set later
/// hears of all panics at once, unless it asks [`is_held`].
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
    // A thread that ends has lost its depth, and is within no `hold`.
    DEPTH.try_with(Cell::get).is_ok_and(|depth| depth > 0)
}

/// Calls `body` and catches its panic. Also returns what the hook would have printed of that panic, and of panics that
/// the body has caught itself.
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
    /// Makes the program's hook print the messages. Within another [`hold`] the messages are kept, and become a part of
    /// what that returns.
    pub fn tell(self) {
        if is_held() {
            return keep_all(self.0);
        }
        for report in self.0 {
            let text = report.text();
            // The hook prints the panic that is thrown here; then it ends here.
            _ = catch_unwind(|| panic_any(text));
        }
    }
}

fn keep_all(reports: Vec<Report>) {
    COUNT.set(COUNT.get() + reports.len());
    KEPT.with_borrow_mut(|kept| kept.extend(reports));
}

/// Keeps the message of a panic back, if the thread is within `hold`. Returns whether it does.
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

/// Whether a panic is caught by nobody and ends the process when its hook returns. The language has two such panics:
/// for a panic that meets another, and for a panic that leaves a function that must not panic.
fn ends_the_process(message: &str) -> bool {
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"].contains(&message)
}

/// Prints the kept messages before the process ends: a hook that runs cannot be called with another panic.
fn say_all() {
    KEPT.with_borrow(|kept| {
        for report in kept {
            // A process without standard error has no place left to print to.
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

/// The places of panics of which the hook [`remember`] has heard, by message.
static PLACES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// The maximum number of messages of which places are remembered: a search may cause panics without end.
const PLACES_MAX: usize = 64;

/// A panic hook that prints nothing, and remembers the place of the panic for [`with_place`].
pub fn remember(info: &PanicHookInfo<'_>) {
    let (Some(message), Some(place)) = (info.payload_as_str(), info.location()) else { return };
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    if places.len() < PLACES_MAX {
        places.entry(message.to_owned()).or_insert_with(|| place.to_string());
    }
}

/// Returns the message of a panic, with the place where a panic with this message happened first, if the hook
/// [`remember`] has heard of one.
pub fn with_place(message: String) -> String {
    let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    match places.get(&message) {
        Some(place) => format!("{message} ({place})"),
        None => message,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_panic_is_told_with_its_place() {
        let before = take_hook();
        set_hook(Box::new(remember));
        let panicked = catch_unwind(|| panic_any("somewhere"));
        set_hook(before);
        assert!(panicked.is_err());
        let told = with_place("somewhere".to_owned());
        assert!(told.starts_with("somewhere (") && told.contains("panics.rs:"), "{told}");
        assert_eq!(with_place("elsewhere".to_owned()), "elsewhere");
    }

    /// The kept parts of a panic, made without a hook: the hooks of a test program are its own.
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
