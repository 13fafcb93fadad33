//! Runs in separate processes: each run starts with fresh memory, and the results of the others are kept when one
//! fails.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use lab::sweep::{self, HostLock, Measuring, Unit};
use lab::{Catalogue, Refusal};
use results::{Line, Run};
use sync::{Latched, waiter, workers};

use crate::live::{self, is_stopped};
use crate::out::Out;

/// Returns the identity of the build, so that results of one build are not taken for those of another: a commit if it
/// identifies the sources, otherwise a digest of the program. No commit identifies the sources of added schemes.
pub(crate) fn build(catalogue: Catalogue) -> Result<String, Refusal> {
    let is_committed = option_env!("CONTEND_IS_CHANGED") == Some("false") && !catalogue.is_extended();
    if let Some(commit) = option_env!("CONTEND_COMMIT").filter(|_| is_committed) {
        return Ok(commit.to_owned());
    }
    let program = std::env::current_exe().and_then(fs::read);
    let program = program.map_err(|error| {
        Refusal(format!("the program cannot read itself ({error}): start it by its path"))
    })?;
    Ok(sweep::digest(&program))
}

/// Makes a run; `None` if the user asked to stop, if nobody reads the output any more, or if the run was interrupted.
///
/// # Errors
/// The run cannot be made. The refusal names its command.
pub(crate) fn run_unless_stopped(unit: &Unit, label: &str, out: &Out) -> Result<Option<Run>, Refusal> {
    if is_stopped() || out.is_closed() { Ok(None) } else { run(unit, label) }
}

/// Nanoseconds between two looks of a process that waits until the host is free. Every process first waits twice this
/// time before it asks for the host, so that a process that has just measured leaves the host to one that waits.
const LOOK_EVERY_NS: u64 = 3_000_000;

/// Locks the host for a timed run, as soon as nobody else measures on it; `None` if the user asked to stop.
fn take_host(label: &str) -> Result<Option<File>, Refusal> {
    let path = std::env::var_os("CONTEND_LOCK").map(PathBuf::from);
    let lock = HostLock::new(path.as_deref());
    waiter::pause_ns(2 * LOOK_EVERY_NS);
    if let Some(held) = lock.take()? {
        return Ok(Some(held));
    }
    let wait = || {
        while !is_stopped() {
            if let Some(held) = lock.take()? {
                return Ok(Some(held));
            }
            waiter::pause_ns(LOOK_EVERY_NS);
        }
        Ok(None)
    };
    live::watched(wait, || format!("waiting for another sweep on this host; next: {label}"), || ())
}

/// The variable that tells a process the id of the process whose point of a study it simulates: it ends when that is
/// gone, so that no simulation of hours goes on for nobody.
const OF: &str = "CONTEND_POINT_OF";

/// Whether this process simulates a point for another one that has ended.
pub(crate) fn is_orphan() -> bool {
    let parent = std::env::var(OF).ok().and_then(|id| id.parse::<u32>().ok());
    parent.is_some_and(|parent| std::os::unix::process::parent_id() != parent)
}

/// The processes that simulate points, by the point. They can be ended at any time.
#[derive(Debug, Default)]
pub(crate) struct Points(Latched<BTreeMap<usize, Child>>);

impl Points {
    /// Simulates a point in a separate process, beside others; `None` if it was ended.
    ///
    /// # Errors
    /// The process cannot be started, or ends without a result. The refusal names its command.
    pub(crate) fn simulate(&self, point: usize, words: &[String]) -> Result<Option<Run>, Refusal> {
        let failed = |says: String| Refusal(format!("`contend {}`: {says}", words.join(" ")));
        let unstarted = |error: io::Error| failed(format!("cannot be started ({error})"));
        let mut command = Command::new(std::env::current_exe().map_err(unstarted)?);
        command.args(words).env(OF, std::process::id().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(unstarted)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        self.0.lock().insert(point, child);
        // A point says nothing on its standard error before its end, so the two are read one after the other.
        let mut said = [String::new(), String::new()];
        let all = stdout.map(|mut all| all.read_to_string(&mut said[0]));
        let complaint = stderr.map(|mut all| all.read_to_string(&mut said[1]));
        all.into_iter().chain(complaint).collect::<io::Result<Vec<_>>>().map_err(unstarted)?;
        let ended = self.0.lock().remove(&point).map(|mut child| child.wait());
        let Some(status) = ended.transpose().map_err(unstarted)? else { return Ok(None) };
        match results::parse(&said[0]) {
            Ok(Some(Line::Run(run))) => Ok(Some(*run)),
            _ if is_stopped() => Ok(None),
            _ => Err(failed(format!("ended with {status} and no result: {}", said[1].trim()))),
        }
    }

    /// Ends all processes.
    pub(crate) fn end(&self) {
        let mut all = core::mem::take(&mut *self.0.lock());
        for child in all.values_mut() {
            // An error means that the process has ended.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Returns the number of points that are simulated side by side: as many as were asked for, or else one for each core
/// of this host, if they fit its memory. Never more than there are points.
pub(crate) fn side_by_side(jobs: Option<usize>, fits: usize, points: usize) -> usize {
    jobs.unwrap_or_else(|| workers::cores().min(fits)).min(points)
}

/// Makes the missing runs of a sweep: `jobs` of the simulated ones side by side, and then the others, each alone on the
/// host. Ends early if the user asks to stop, or if there is no time left. The progress line of simulated runs begins
/// with `about`.
///
/// # Errors
/// A run that cannot be made; results that cannot be written. The results before the error are kept.
pub(crate) fn make_all(
    mut measuring: Measuring<'_>,
    jobs: Option<usize>,
    about: &str,
    out: &Out,
) -> Result<(), Refusal> {
    let simulated = measuring.take_simulated();
    let jobs = side_by_side(jobs, simulated.fits(), simulated.count());
    if simulated.count() > 0 {
        let points = Points::default();
        let simulate = |number: usize, unit: &Unit| {
            if is_stopped() { Ok(None) } else { points.simulate(number, &unit.command()) }
        };
        let work = || workers::run(jobs, false, |_| simulated.make(simulate));
        let ended = live::watched(work, || format!("{about}{}", simulated.line()), || points.end());
        ended.into_iter().collect::<Result<(), Refusal>>()?;
    }
    if simulated.is_complete() {
        measuring.all(|unit, label| run_unless_stopped(unit, label, out))?;
    }
    Ok(())
}

/// Makes a run in a separate process, alone on the host; `None` if the run was interrupted.
fn run(unit: &Unit, label: &str) -> Result<Option<Run>, Refusal> {
    let words = unit.command();
    let failed =
        |says: String| Refusal(format!("`contend {}`: {says}; the results so far are kept", words.join(" ")));
    let program = std::env::current_exe();
    let program = program.map_err(|error| failed(format!("cannot be started ({error})")))?;
    let Some(host) = take_host(label)? else { return Ok(None) };
    let mut command = Command::new(&program);
    if unit.is_log_in_memory {
        // A run without `--log` has its log where temporary files go.
        command.env("TMPDIR", sweep::MEMORY);
    }
    // The run's standard input is the lock file of the host, which is empty: the run keeps the host even if this
    // process is killed.
    command.args(&words).stdin(Stdio::from(host)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn();
    drop(command);
    let run = Latched::new(Some(run));
    let work = || run.lock().take().expect("waited for once").and_then(Child::wait_with_output);
    let output = live::watched(work, || label.to_owned(), || ());
    let Output { status, stdout, stderr } =
        output.map_err(|error| failed(format!("cannot be started ({error})")))?;
    match results::parse(&String::from_utf8_lossy(&stdout)) {
        Ok(Some(Line::Run(run))) => Ok((!run.is_interrupted).then_some(*run)),
        _ if is_stopped() => Ok(None),
        _ => {
            let says = String::from_utf8_lossy(&stderr);
            Err(failed(format!("ended with {status} and no result: {}", says.trim())))
        }
    }
}
