//! The watch over a run under way: the line on the terminal, and the way to stop the run.

use std::io::{IsTerminal, stderr};

use lab::{Monitor, Plan, Record, Refusal, RunPhase, remove_scratch_log, text};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Bell, Latched, clock, workers};

use crate::out::complain;
use crate::process::is_orphan;

/// Whether the user asked to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Nanoseconds between two looks of the watcher whether a run must be stopped.
const LOOK_EVERY_NS: u64 = 20_000_000;
/// The number of looks between two updates of the line.
const DRAW_EVERY: u64 = 10;

/// Installs the handler of interrupts (Ctrl-C): the first one ends the run under way early, the second one the program.
pub(crate) fn take_interrupts() {
    // An error is ignored: without the handler an interrupt ends the program.
    let _ = ctrlc::set_handler(|| {
        // Relaxed: the flag orders nothing else.
        if STOP.swap(true, Ordering::Relaxed) {
            remove_scratch_log();
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
    });
}

/// Whether the user asked to stop.
pub(crate) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed) // Relaxed: as above.
}

/// Does some work while a second thread draws a line about it, if there is a terminal. If the user asks to stop, the
/// second thread calls `interrupt`.
pub(crate) fn watched<T: Send>(
    work: impl Fn() -> T + Sync,
    line: impl Fn() -> String + Sync,
    interrupt: impl Fn() + Sync,
) -> T {
    watched_by(work, line, interrupt, || false)
}

/// Does the same as [`watched`], and ends the program if nobody is there for whom it works.
fn watched_by<T: Send>(
    work: impl Fn() -> T + Sync,
    line: impl Fn() -> String + Sync,
    interrupt: impl Fn() + Sync,
    is_orphan: fn() -> bool,
) -> T {
    let over = Over::default();
    let mut ended = workers::run(2, false, |index| {
        if index == 0 {
            let _ends = Ends(&over);
            return Some(work());
        }
        watch(&over, &line, &interrupt, is_orphan);
        None
    });
    ended.swap_remove(0).expect("the first of the two works")
}

/// Whether the work is over. The watcher sleeps until then, or until its next look.
#[derive(Default)]
struct Over {
    is_over: AtomicBool,
    bell: Bell,
}

/// Tells the watcher that the work is over, even if it ends in a panic.
struct Ends<'o>(&'o Over);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed); // Relaxed: the flag orders nothing else.
        self.0.bell.ring();
    }
}

fn watch(over: &Over, line: impl Fn() -> String, interrupt: impl Fn(), is_orphan: fn() -> bool) {
    let is_terminal = stderr().is_terminal();
    let mut looks = 0;
    loop {
        if is_stopped() {
            interrupt();
        }
        if is_orphan() {
            std::process::exit(i32::from(crate::INTERRUPTED));
        }
        if is_terminal && looks % DRAW_EVERY == 0 {
            complain(&format!("\r\x1b[K{}", line()));
        }
        looks += 1;
        // Relaxed: as in `Ends`.
        let look_at = clock::now_ns() + LOOK_EVERY_NS;
        if over.bell.wait_until(Some(look_at), || over.is_over.load(Ordering::Relaxed)) {
            break;
        }
    }
    if is_terminal {
        complain("\r\x1b[K");
    }
}

/// Makes the run at a position of the plan while a second thread watches it. Returns `None` if the user asked to stop
/// before all rows were loaded.
pub(crate) fn measure(plan: &Plan, position: usize) -> Result<Option<Record>, Refusal> {
    let monitor = Monitor::new(plan.job.workers);
    let line = Latched::new(Line::new(plan, position));
    if plan.simulation.is_some() {
        let begun_ns = clock::now_ns();
        let line = || line.lock().simulating((clock::now_ns() - begun_ns) as f64 / 1e9);
        return watched_by(|| plan.measure(position, &monitor), line, || (), is_orphan);
    }
    watched(|| plan.measure(position, &monitor), || line.lock().now(&monitor), || monitor.control.interrupt())
}

/// The live line of a run. Throughput and abort rate are those since the line was drawn last.
struct Line {
    label: String,
    /// The time when the line was drawn last, and the commits and aborts until then.
    last: (u64, u64, u64),
    started_ns: Option<u64>,
    /// The length of the run.
    length: Length,
}

/// The length of a run, beside which the live line shows how far the run is.
enum Length {
    Seconds(f64),
    Requests(u64),
}

impl Line {
    fn new(plan: &Plan, position: usize) -> Self {
        let scheme = plan.subjects[plan.order[position].0].scheme.name;
        let label = format!("[{}/{}] {} {scheme}", position + 1, plan.order.len(), plan.workload.name);
        let requests = plan.all_requests();
        let length = if requests > 0 { Length::Requests(requests) } else { Length::Seconds(plan.lasts_s()) };
        Self { label, last: (clock::now_ns(), 0, 0), started_ns: None, length }
    }

    /// Returns the line of a simulated run, whose progress is not known before its end.
    fn simulating(&self, elapsed_s: f64) -> String {
        let label = &self.label;
        let stop = if is_stopped() { "; it ends the command, or press Ctrl-C again" } else { "" };
        format!("{label}: simulating for {elapsed_s:.1} s{stop}")
    }

    fn now(&mut self, monitor: &Monitor) -> String {
        let label = &self.label;
        match monitor.phase() {
            RunPhase::Load => return format!("{label}: loading"),
            RunPhase::Check => return format!("{label}: checking"),
            RunPhase::Run => {}
        }
        let now_ns = clock::now_ns();
        let (commits, aborts) = monitor.control.progress();
        let (then_ns, commits_then, aborts_then) =
            core::mem::replace(&mut self.last, (now_ns, commits, aborts));
        let (committed, aborted) = (commits - commits_then, aborts - aborts_then);
        let p99 = monitor.control.latency_ns_p99().map_or_else(|| "-".to_owned(), text::duration);
        let running_s = (now_ns - *self.started_ns.get_or_insert(then_ns)) as f64 / 1e9;
        let throughput = committed as f64 * 1e9 / (now_ns - then_ns).max(1) as f64;
        let abort_rate = aborted as f64 / (committed + aborted).max(1) as f64;
        let (throughput, abort_rate) = (text::count(throughput), text::percent(abort_rate));
        let done = match self.length {
            Length::Seconds(lasts_s) => format!("{running_s:.1} of {lasts_s:.1} s"),
            Length::Requests(all) => {
                format!("{} of {} commits", text::count(commits as f64), text::count(all as f64))
            }
        };
        format!("{label}: {done}, {throughput} txn/s, aborts {abort_rate}, p99 {p99}")
    }
}

#[cfg(test)]
mod tests {
    use lab::{Catalogue, Request};

    use super::*;

    #[test]
    fn the_line_says_where_the_run_is_and_a_latency_once_there_is_one() {
        let set = vec!["ycsb.records=100".to_owned(), "ycsb.value_bytes=64".to_owned()];
        let request =
            Request { schemes: Some("silo".to_owned()), workers: Some(1), set, ..Request::new("ycsb") };
        let request = Request { seconds: 0.2, warmup: 0.0, ..request };
        let plan = Plan::new(Catalogue::new(instances::all()), &request).expect("possible");
        let monitor = Monitor::new(1);
        let mut line = Line::new(&plan, 0);
        assert_eq!(line.now(&monitor), "[1/1] ycsb silo: loading");
        monitor.enter(RunPhase::Run);
        let before = line.now(&monitor);
        assert!(before.ends_with(" of 0.2 s, 0 txn/s, aborts 0.0%, p99 -"), "{before}");
        plan.measure(0, &monitor).expect("possible");
        assert_eq!(line.now(&monitor), "[1/1] ycsb silo: checking");
        monitor.enter(RunPhase::Run);
        let after = line.now(&monitor);
        assert!(after.ends_with('s') && !after.contains("p99 -"), "{after}");
        let plan = Plan::new(Catalogue::new(instances::all()), &Request { txns: Some(1_500), ..request });
        let mut line = Line::new(&plan.expect("possible"), 0);
        let monitor = Monitor::new(1);
        monitor.enter(RunPhase::Run);
        let before = line.now(&monitor);
        assert!(before.contains(": 0 of 1,500 commits, 0 txn/s"), "{before}");
    }
}
