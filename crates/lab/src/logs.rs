//! The logs of a plan's runs: where they are, how they begin, and which of them stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engine::Violation;
use engine::setting::Values;
use runs::{Durability, Logging, Recovered, Verdict};
use serde_json::{Map, Value, json};

use crate::registry::Catalogue;
use crate::text::{self, Lines};
use crate::{Plan, Refusal, Request, json};

/// What says of a log which run has written it.
const DESCRIPTION: &str = "run.json";

/// The logs of a plan's runs. Each run begins one anew in the same place.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    /// One for each device; the first has the checkpoints, too.
    directories: Vec<PathBuf>,
    /// Whether nobody has asked for the log itself, so that none stays.
    is_scratch: bool,
    durability: Durability,
    epoch_ns: u64,
    checkpoint_ns: u64,
}

impl Logs {
    /// Those that are asked for, if any are.
    ///
    /// # Errors
    /// A directory that has files, or is none; a place for a log that there will not be.
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
        let scratch = || std::env::temp_dir().join(format!("contend-log-{}", std::process::id()));
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

    /// Makes room for the log of the run at a position of the plan, and says beside it what the run is. What a run
    /// before it has left goes.
    pub(crate) fn begin(&self, plan: &Plan, position: usize) -> Result<Begun<'_>, Refusal> {
        let begun = Begun(self);
        let refused = |path: &Path, error: io::Error| {
            Refusal(format!(
                "`{}`: no log can be written there ({error}): give another directory with `--log`",
                path.display()
            ))
        };
        for path in &self.directories {
            if position > 0 || self.is_scratch {
                remove_files(path).map_err(|error| refused(path, error))?;
            }
            fs::create_dir_all(path).map_err(|error| refused(path, error))?;
        }
        let path = self.directories[0].join(DESCRIPTION);
        self.describe(plan, position, None).map_err(|error| refused(&path, error))?;
        Ok(begun)
    }

    /// Says beside the log of a run what the run is, and once it has ended what its rows came to.
    fn describe(&self, plan: &Plan, position: usize, digest: Option<u64>) -> io::Result<()> {
        let mut description = json::conditions(plan, plan.order[position].0);
        description.insert("digest".to_owned(), digest.map(json::hex).into());
        let text = format!("{}\n", Value::Object(description));
        fs::write(self.directories[0].join(DESCRIPTION), text)
    }

    /// What a reader of the results must know of where the log was.
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

    /// The file systems of the directories, as far as they are known.
    pub(crate) fn file_systems(&self) -> Vec<Option<String>> {
        self.directories.iter().map(|path| file_system(path)).collect()
    }
}

/// The log of a run: gone when this is, if nobody has asked for it.
pub(crate) struct Begun<'l>(&'l Logs);

impl Begun<'_> {
    /// The run has ended with these rows.
    pub(crate) fn end(&self, plan: &Plan, position: usize, digest: u64) -> Result<(), Refusal> {
        self.0.describe(plan, position, Some(digest)).map_err(|error| {
            let place = self.0.directories[0].display();
            Refusal(format!(
                "`{place}`: what the run was cannot be kept beside its log ({error}): make room there"
            ))
        })
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if self.0.is_scratch {
            // What cannot be removed is a file too much in a place for such.
            self.0.directories.iter().for_each(|path| _ = fs::remove_dir_all(path));
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
        Ok(entries) => entries.count(),
    };
    if entries == 0 {
        return Ok(());
    }
    Err(Refusal(format!(
        "`--log {name}`: has files, which a log would not go well with: give a directory that is empty or not \
         there; a log is read by `contend recover {name}`"
    )))
}

fn remove_files(directory: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

/// What kind of file system a directory is in, as the system lists its mounts.
fn file_system(path: &Path) -> Option<String> {
    // The directory itself may not be there any more.
    let there = path.ancestors().find_map(|path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::canonicalize(path).ok()
    })?;
    kind_of(&fs::read_to_string("/proc/self/mounts").ok()?, &there)
}

/// The kind of the innermost mount that has a path; of two in the same place the later one counts.
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

/// A recovery that was asked for.
#[derive(Debug)]
pub struct Recovery {
    plan: Plan,
    directories: Vec<PathBuf>,
    workers: usize,
    /// What the rows came to at the end of the run, if it has come to its end.
    digest: Option<u64>,
}

impl Recovery {
    /// Recovers the log that a run has left in directories, one for each device, under its own scheme or another.
    ///
    /// # Errors
    /// No run has left one there, or not one that this version can read.
    pub fn new(
        directories: &[PathBuf],
        scheme: Option<&str>,
        workers: Option<u64>,
        check: bool,
    ) -> Result<Self, Refusal> {
        let path = directories[0].join(DESCRIPTION);
        let name = path.display();
        let text = fs::read_to_string(&path).map_err(|error| {
            Refusal(format!(
                "`{name}`: cannot be read ({error}): give the directory that `contend run --log` was given, and of \
                 several the first one first"
            ))
        })?;
        let unknown = |what: &str| {
            Refusal(format!("`{name}`: {what}: give the directory of a log as `contend run --log` left it"))
        };
        let told: Value = serde_json::from_str(&text).map_err(|_| unknown("is no description of a run"))?;
        let word = |key: &str| told[key].as_str().ok_or_else(|| unknown(&format!("has no `{key}`")));
        let number = |key: &str| told[key].as_u64().ok_or_else(|| unknown(&format!("has no `{key}`")));
        let workload = Catalogue.workload(word("workload")?)?;
        let settings = told["settings"].as_object().ok_or_else(|| unknown("has no `settings`"))?;
        let of_rows = |name: &str| {
            let is_of_workload = workload.settings.iter().any(|setting| setting.name == name);
            // What else there is says how the run was made, and not what its rows are.
            is_of_workload || name == "run.splitting"
        };
        let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let set = settings.iter().filter(|(name, _)| of_rows(name));
        let request = Request {
            schemes: Some(scheme.map_or_else(|| word("scheme"), Ok)?.to_owned()),
            workers: Some(number("workers")?),
            clients: Some(number("clients_asked")?),
            seed: number("seed")?,
            set: set.map(|(name, of)| format!("{name}={}", value(of))).collect(),
            check,
            ..Request::new(workload.name)
        };
        let plan = Plan::for_any_scheme(&request)?;
        if plan.subjects.len() != 1 {
            return Err(Refusal("`--scheme`: give one scheme to recover under".to_owned()));
        }
        let workers = crate::plan::workers(workers)?;
        let digits = told["digest"].as_str().and_then(|text| text.strip_prefix("0x"));
        let digest = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        Ok(Self { plan, directories: directories.to_vec(), workers, digest })
    }

    /// Recovers.
    ///
    /// # Errors
    /// What there is cannot be read or believed.
    pub fn recover(&self) -> Result<Recovered, Refusal> {
        let spec = self.plan.spec(&self.plan.subjects[0]);
        let mut recovered = runs::recover(&spec, &self.directories, self.workers)?;
        let is_other = self.digest.is_some_and(|digest| digest != recovered.digest);
        if is_other && recovered.verdict != Verdict::Skipped {
            let condition = "what is recovered are the rows that the run has ended with";
            let [found, wanted] = [recovered.digest, self.digest.unwrap_or(0)].map(json::hex);
            let found = format!("they come to {found}, not to {wanted}");
            let violation = Violation { condition, found };
            match &mut recovered.verdict {
                Verdict::Failed(violations) => violations.push(violation),
                verdict => *verdict = Verdict::Failed(vec![violation]),
            }
        }
        Ok(recovered)
    }

    /// What came of it, for people.
    pub fn text(&self, recovered: &Recovered) -> String {
        let Recovered { rows, transactions, bytes, checkpoint, was_closed, torn_bytes, .. } = recovered;
        let mut lines = Lines::default();
        let (workload, scheme) = (self.plan.workload.name, self.plan.subjects[0].scheme.name);
        lines.add(format!(
            "{workload} under {scheme}: {} rows from {}",
            text::count(*rows as f64),
            text::bytes(*bytes)
        ));
        let from = match checkpoint {
            0 => "no checkpoint".to_owned(),
            number => format!("checkpoint {number}"),
        };
        lines.add(format!(
            "{from}, and {} transactions of the log behind it",
            text::count(*transactions as f64)
        ));
        let seconds = |ns: u64| ns as f64 / 1e9;
        lines.add(format!(
            "read and checked in {:.2} s, rows and indexes made in {:.2} s by {}: {} rows a second and worker",
            seconds(recovered.read_ns),
            seconds(recovered.restore_ns),
            text::plural(self.workers, "worker"),
            text::count(self.rate(recovered))
        ));
        lines.add(match (was_closed, torn_bytes) {
            (true, _) => "the log was closed: all that was committed is there".to_owned(),
            (false, 0) => "the log was not closed: all that was durable is there".to_owned(),
            (false, torn) => format!(
                "the log was not closed: all that was durable is there; {} behind it do not count",
                text::bytes(*torn)
            ),
        });
        match &recovered.verdict {
            Verdict::Passed if self.digest.is_some() => {
                lines.add("check: passed; the rows are those that the run has ended with");
            }
            Verdict::Passed => {
                lines.add("check: passed, of what holds whichever requests were committed");
            }
            Verdict::Skipped => lines.add("check: skipped"),
            Verdict::Failed(violations) => {
                violations.iter().for_each(|violation| lines.add(format!("CHECK FAILED: {violation}")));
            }
        }
        lines.0
    }

    /// The same for programs.
    pub fn json(&self, recovered: &Recovered) -> Value {
        let mut object = Map::new();
        let told = json!({
            "schema": json::SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "kind": "recovery",
            "workload": self.plan.workload.name,
            "scheme": self.plan.subjects[0].scheme.name,
            "workers": self.workers,
            "rows": recovered.rows,
            "transactions": recovered.transactions,
            "bytes": recovered.bytes,
            "checkpoint": recovered.checkpoint,
            "epoch": recovered.epoch,
            "was_closed": recovered.was_closed,
            "torn_bytes": recovered.torn_bytes,
            "read_s": recovered.read_ns as f64 / 1e9,
            "restore_s": recovered.restore_ns as f64 / 1e9,
            "rows_s_worker": self.rate(recovered),
            "digest": json::hex(recovered.digest),
            "check": json::check(&recovered.verdict),
        });
        json::extend(&mut object, told);
        Value::Object(object)
    }

    /// Rows a second and worker, reading included.
    fn rate(&self, recovered: &Recovered) -> f64 {
        let ns = recovered.read_ns + recovered.restore_ns;
        recovered.rows as f64 * 1e9 / ns.max(1) as f64 / self.workers as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(durability: &str, log: &[&Path]) -> Request {
        let set = ["ycsb.records=100".to_owned(), format!("run.durability={durability}")].to_vec();
        let log = log.iter().map(|path| path.to_path_buf()).collect();
        let schemes = Some("silo".to_owned());
        Request { schemes, set, log, seconds: 0.1, warmup: 0.0, ..Request::new("ycsb") }
    }

    fn refusal(request: &Request) -> String {
        Plan::new(request).expect_err("refused").0
    }

    fn measure(plan: &Plan, position: usize) -> crate::Record {
        plan.measure(position, &crate::Monitor::new(plan.job.workers)).expect("possible")
    }

    #[test]
    fn a_log_needs_somebody_who_logs_and_an_empty_place() {
        let path = std::env::temp_dir().join(format!("contend-logs-{}", std::process::id()));
        assert!(refusal(&request("none", &[&path])).contains("give `--durability async`"));
        assert!(refusal(&request("group", &[&path, &path])).contains("twice"));
        fs::create_dir_all(&path).expect("writable");
        assert!(Plan::new(&request("group", &[&path])).is_ok());
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
        let plan = Plan::new(&request).expect("possible");
        let records = [measure(&plan, 0), measure(&plan, 1)];
        let logged = records[1].measured.logged.expect("logged");
        assert!(logged.bytes > 0 && logged.rounds > 0 && logged.checkpoints > 0, "{logged:?}");
        for scheme in [None, Some("mvto")] {
            let recovery = Recovery::new(&devices, scheme, Some(2), true).expect("there is a log");
            let recovered = recovery.recover().expect("it can be read");
            assert_eq!((recovered.rows, recovered.was_closed), (100, true));
            assert_eq!((recovered.verdict.clone(), recovered.digest), (Verdict::Passed, logged.digest));
            assert!(recovery.text(&recovered).contains("100 rows from"), "{}", recovery.text(&recovered));
            assert_eq!(recovery.json(&recovered)["rows"], 100);
        }
        let mut spoilt = Recovery::new(&devices, None, Some(1), true).expect("there is a log");
        spoilt.digest = Some(logged.digest ^ 1);
        let verdict = spoilt.recover().expect("it can be read").verdict;
        assert!(matches!(verdict, Verdict::Failed(_)), "{verdict:?}");
        let other = Recovery::new(&devices, Some("silo,mvto"), None, true).expect_err("one at a time").0;
        assert!(other.contains("one scheme"), "{other}");
        assert!(
            Recovery::new(&devices[1..], None, None, true).expect_err("no description").0.contains("first")
        );
        let alone = Recovery::new(&devices[..1], None, None, true).expect("described").recover();
        assert!(alone.expect_err("a device is missing").0.contains("2 devices"));
        fs::remove_dir_all(path).expect("its own directory");
    }

    #[test]
    fn a_log_that_nobody_asked_for_does_not_stay() {
        let plan = Plan::new(&request("async", &[])).expect("possible");
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
