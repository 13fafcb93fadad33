//! The logs of a plan's runs: their directories, their descriptions, and their removal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engine::setting::Values;
use results::Described;
use runs::{Durability, LockedDirectories, Logging};

use crate::{Plan, Refusal, Request, json};

/// The file beside a log that describes the run that wrote it.
pub(crate) const DESCRIPTION: &str = "run.json";

/// The file whose lock holds a directory.
const LOCK: &str = "LOCK";

/// The logs of a plan's runs. Each run begins a new log in the same directories.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    /// One directory for each device. The first also has the checkpoints.
    directories: Vec<PathBuf>,
    /// Whether the user gave no directory for the log, so that it is removed after each run.
    is_scratch: bool,
    durability: Durability,
    epoch_ns: u64,
    checkpoint_ns: u64,
}

impl Logs {
    /// Returns the logs that a request asks for; `None` if nothing is logged.
    ///
    /// # Errors
    /// A path that is a nonempty directory or no directory; a directory for a log although nothing is logged.
    pub(crate) fn new(request: &Request, values: &Values) -> Result<Option<Self>, Refusal> {
        let durability = match values.text("run.durability") {
            "async" => Durability::Async,
            "group" => Durability::Group,
            _ => Durability::None,
        };
        if durability == Durability::None {
            let is_idle = request.log.is_empty();
            let says = "`--log`: nothing is logged under `--durability none`: give `--durability async` or \
                        `--durability group`, or leave `--log` out";
            return if is_idle { Ok(None) } else { Err(Refusal(says.to_owned())) };
        }
        for (nth, path) in request.log.iter().enumerate() {
            refuse_what_has_files(path)?;
            if request.log[..nth].contains(path) {
                let path = path.display();
                return Err(Refusal(format!("`--log`: `{path}` is given twice: each device has its own")));
            }
        }
        let is_scratch = request.log.is_empty();
        Ok(Some(Self {
            directories: if is_scratch { vec![scratch()] } else { request.log.clone() },
            is_scratch,
            durability,
            epoch_ns: values.int("run.log_epoch_us") * 1_000,
            checkpoint_ns: values.int("run.checkpoint_ms") * 1_000_000,
        }))
    }

    pub(crate) fn logging(&self) -> Logging<'_> {
        let Self { directories, durability, epoch_ns, checkpoint_ns, .. } = self;
        let (durability, epoch_ns, checkpoint_ns) = (*durability, *epoch_ns, *checkpoint_ns);
        Logging { directories, durability, epoch_ns, checkpoint_ns }
    }

    /// Prepares the directories for the log of the run at a position of the plan, and writes a description of the run
    /// there. Removes the log of an earlier run.
    pub(crate) fn begin(&self, plan: &Plan, position: usize) -> Result<Begun<'_>, Refusal> {
        let refused = |path: &Path, error: io::Error| {
            Refusal(format!(
                "`{}`: no log can be written there ({error}): give another directory with `--log`",
                path.display()
            ))
        };
        for path in &self.directories {
            fs::create_dir_all(path).map_err(|error| refused(path, error))?;
        }
        let begun = Begun { logs: self, held: LockedDirectories::to_write(&self.directories)? };
        if position > 0 || self.is_scratch {
            for path in &self.directories {
                remove_files(path).map_err(|error| refused(path, error))?;
            }
        }
        let path = self.directories[0].join(DESCRIPTION);
        self.describe(plan, position, None).map_err(|error| refused(&path, error))?;
        Ok(begun)
    }

    /// Writes the description of a run beside its log. `digest` is the digest of the rows, once the run has ended.
    fn describe(&self, plan: &Plan, position: usize, digest: Option<u64>) -> io::Result<()> {
        let choices = json::choices(plan, plan.order[position].0);
        let description = Described { choices, digest: digest.map(json::hex) };
        let text = format!("{description}\n");
        fs::write(self.directories[0].join(DESCRIPTION), text)
    }

    /// Returns a note for readers of the results about the place of the log.
    pub(crate) fn note(&self) -> String {
        let names: Vec<String> = self.directories.iter().map(|path| path.display().to_string()).collect();
        let stays = if self.is_scratch { ", removed after each run" } else { "" };
        let kinds: Vec<Option<String>> = self.directories.iter().map(|path| file_system(path)).collect();
        let in_memory = if kinds.iter().flatten().any(|kind| is_in_memory(kind)) {
            "; it is in memory, so that no device was waited for: give another place with `--log`"
        } else {
            ""
        };
        let kinds: Vec<&str> = kinds.iter().flatten().map(String::as_str).collect();
        format!("log: {} ({}{stays}){in_memory}", names.join(", "), kinds.join(", "))
    }

    /// Returns the kinds of file system of the directories; `None` where the kind is unknown.
    pub(crate) fn file_systems(&self) -> Vec<Option<String>> {
        self.directories.iter().map(|path| file_system(path)).collect()
    }
}

/// The number of times that the removal of a temporary log is tried.
const REMOVALS: u32 = 8;

/// Returns the directory of the log of a run whose user gave none.
fn scratch() -> PathBuf {
    std::env::temp_dir().join(format!("contend-log-{}", std::process::id()))
}

/// Removes the temporary log of this process, if there is one: the process is about to end in the middle of a run.
pub fn remove_scratch_log() {
    // The log's thread may create a file meanwhile, so that the directory is not empty in the end.
    for _ in 0..REMOVALS {
        match fs::remove_dir_all(scratch()) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => break,
        }
    }
}

/// The log of a run. If the user gave no directory for it, dropping this value removes it.
pub(crate) struct Begun<'l> {
    logs: &'l Logs,
    #[expect(dead_code, reason = "nobody reads what the run still writes")]
    held: LockedDirectories,
}

impl Begun<'_> {
    /// Adds the digest of the rows to the description, after the run has ended.
    pub(crate) fn end(&self, plan: &Plan, position: usize, digest: u64) -> Result<(), Refusal> {
        self.logs.describe(plan, position, Some(digest)).map_err(|error| {
            let place = self.logs.directories[0].display();
            Refusal(format!(
                "`{place}`: the description of the run cannot be written beside its log ({error}): make room there"
            ))
        })
    }

    /// Removes the log of a run that was not made, so that the directories can have another one.
    pub(crate) fn discard(&self) {
        // If the removal fails, the next run refuses the directory and says why.
        self.logs.directories.iter().for_each(|path| _ = remove_files(path));
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if self.logs.is_scratch {
            // If the removal fails, only a temporary file is left in the directory of temporary files.
            self.logs.directories.iter().for_each(|path| _ = fs::remove_dir_all(path));
        }
    }
}

fn refuse_what_has_files(path: &Path) -> Result<(), Refusal> {
    let name = path.display();
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(Refusal(format!(
                "`--log {name}`: cannot be looked into ({error}): give a directory that is empty or not there"
            )));
        }
        // A lock is left behind by a log that was given up.
        Ok(entries) => {
            entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() != LOCK)).count()
        }
    };
    if entries == 0 {
        return Ok(());
    }
    Err(Refusal(format!(
        "`--log {name}`: has files, which a log would not go well with: give a directory that is empty or not \
         there; a log is read by `contend recover {name}`"
    )))
}

/// Removes all files except the locked one. If that file were removed, two processes could each lock a file of this
/// name.
fn remove_files(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if !path.ends_with(LOCK) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns the kind of file system that a directory is in, from the system's list of mounts.
fn file_system(path: &Path) -> Option<String> {
    // The directory itself may already be removed.
    let there = path.ancestors().find_map(|path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::canonicalize(path).ok()
    })?;
    kind_of(&fs::read_to_string("/proc/self/mounts").ok()?, &there)
}

/// Returns the kind of the innermost mount that contains a path. Of two mounts in the same place, the later one counts.
fn kind_of(mounts: &str, path: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (_, at, kind) = (words.next()?, words.next()?, words.next()?);
        path.starts_with(at).then(|| (Path::new(at).components().count(), kind.to_owned()))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

fn is_in_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs")
}

#[cfg(test)]
mod tests {
    use runs::{CheckVerdict, RecoveryProgress};

    use super::*;
    use crate::Recovery;
    use crate::registry::tests::catalogue;

    fn request(durability: &str, log: &[&Path]) -> Request {
        let set = ["ycsb.records=100".to_owned(), format!("run.durability={durability}")].to_vec();
        let log = log.iter().map(|path| path.to_path_buf()).collect();
        let schemes = Some("silo".to_owned());
        Request { schemes, set, log, seconds: 0.1, warmup: 0.0, ..Request::new("ycsb") }
    }

    fn refusal(request: &Request) -> String {
        Plan::new(catalogue(), request).expect_err("refused").0
    }

    fn measure(plan: &Plan, position: usize) -> crate::Record {
        let monitor = crate::Monitor::new(plan.job.workers);
        plan.measure(position, &monitor).expect("possible").expect("nobody interrupts it")
    }

    #[test]
    fn a_log_needs_somebody_who_logs_and_an_empty_place() {
        let path = std::env::temp_dir().join(format!("contend-logs-{}", std::process::id()));
        assert!(refusal(&request("none", &[&path])).contains("give `--durability async`"));
        assert!(refusal(&request("group", &[&path, &path])).contains("twice"));
        fs::create_dir_all(&path).expect("writable");
        assert!(Plan::new(catalogue(), &request("group", &[&path])).is_ok());
        fs::write(path.join("diary"), "dear").expect("writable");
        assert!(refusal(&request("group", &[&path])).contains("contend recover"));
        assert!(refusal(&request("group", &[&path.join("diary")])).contains("cannot be looked into"));
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn the_log_of_the_last_run_stays_and_is_recovered_under_any_scheme() {
        let path = std::env::temp_dir().join(format!("contend-recovery-{}", std::process::id()));
        let devices = [path.join("first"), path.join("second")];
        let mut request = request("group", &[&devices[0], &devices[1]]);
        request.set.push("run.checkpoint_ms=20".to_owned());
        request.repeat = 2;
        let plan = Plan::new(catalogue(), &request).expect("possible");
        let records = [measure(&plan, 0), measure(&plan, 1)];
        let logged = records[1].measured.logged.expect("logged");
        assert!(logged.bytes > 0 && logged.rounds > 0 && logged.checkpoints > 0, "{logged:?}");
        let progress = &RecoveryProgress::default();
        for scheme in [None, Some("mvto")] {
            let recovery =
                Recovery::new(catalogue(), &devices, scheme, Some(2), true).expect("there is a log");
            let recovered = recovery.recover(progress).expect("it can be read");
            assert_eq!((recovered.rows(), recovered.was_closed), (100, true));
            assert_eq!(
                (recovered.verdict.clone(), recovered.digest),
                (CheckVerdict::Passed, Some(logged.digest))
            );
            let text = recovery.text(&recovered);
            assert!(text.starts_with("ycsb under ") && text.contains("100 rows from"), "{text}");
            let json = recovery.json(&recovered);
            assert_eq!((&json["rows"], &json["tables"]["usertable"]), (&100.into(), &100.into()), "{json}");
        }
        let described = devices[0].join(DESCRIPTION);
        let told = fs::read_to_string(&described).expect("readable");
        let other = told.replace(&json::hex(logged.digest), &json::hex(logged.digest ^ 1));
        fs::write(&described, other).expect("writable");
        let spoilt = Recovery::new(catalogue(), &devices, None, Some(1), true).expect("there is a log");
        let verdict = spoilt.recover(progress).expect("it can be read").verdict;
        assert!(matches!(verdict, CheckVerdict::Failed(_)), "{verdict:?}");
        let other =
            Recovery::new(catalogue(), &devices, Some("silo,mvto"), None, true).expect_err("one at a time").0;
        assert!(other.contains("one scheme"), "{other}");
        assert!(
            Recovery::new(catalogue(), &devices[1..], None, None, true)
                .expect_err("no database")
                .0
                .contains("first")
        );
        let alone =
            Recovery::new(catalogue(), &devices[..1], None, None, true).expect("described").recover(progress);
        assert!(alone.expect_err("a device is missing").0.contains("2 devices"));
        fs::remove_file(&described).expect("its own directory");
        let refused = Recovery::new(catalogue(), &devices, Some("silo"), None, true)
            .expect_err("no run is described")
            .0;
        assert!(refused.contains("`--scheme silo`: no run"), "{refused}");
        let recovery =
            Recovery::new(catalogue(), &devices, None, Some(2), true).expect("there is a database");
        let recovered = recovery.recover(progress).expect("it can be read");
        assert_eq!((recovered.rows(), recovered.digest), (100, None));
        assert!(recovery.text(&recovered).contains("nothing was changed"), "{}", recovery.text(&recovered));
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn a_log_that_nobody_asked_for_does_not_stay() {
        let plan = Plan::new(catalogue(), &request("async", &[])).expect("possible");
        let logs = plan.logs.clone().expect("logged");
        assert!(measure(&plan, 0).measured.logged.is_some_and(|logged| logged.bytes > 0));
        assert!(!logs.directories[0].exists());
        assert!(logs.note().contains("removed after each run"));
    }

    #[test]
    fn the_innermost_mount_says_what_a_place_is() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/deep xfs rw 0 0\n";
        let kind = |path: &str| kind_of(mounts, Path::new(path));
        assert_eq!(kind("/tmpfile").as_deref(), Some("ext4"));
        assert_eq!((kind("/tmp/x").as_deref(), kind("/tmp/deep/x").as_deref()), (Some("tmpfs"), Some("xfs")));
        assert!(is_in_memory("tmpfs") && !is_in_memory("xfs"));
    }
}
