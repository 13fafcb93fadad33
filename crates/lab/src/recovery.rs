//! `contend recover`: recovers the log of a run under the scheme of that run or under another one. It also checks
//! whether the directory of a database that another program wrote is intact.

use std::path::{Path, PathBuf};
use std::{fs, io};

use engine::Violation;
use results::Described;
use runs::{CheckVerdict, LockedDirectories, Recovered, RecoveryProgress};
use serde_json::{Map, Value, json};

use crate::logs::DESCRIPTION;
use crate::registry::Catalogue;
use crate::text::{self, Lines, Table};
use crate::{ClientCount, Plan, Refusal, Request, json};

/// A recovery of a log or of a database.
#[derive(Debug)]
pub struct Recovery {
    /// The run that left the log; `None` for a database of another program.
    run: Option<Run>,
    held: LockedDirectories,
    workers: usize,
}

/// The run that left a log, from its description.
#[derive(Debug)]
struct Run {
    plan: Plan,
    /// The digest of the rows at the end of the run; `None` if the run did not reach its end.
    digest: Option<u64>,
}

impl Recovery {
    /// Prepares a recovery from directories, one for each device. They hold the log that a run left, which is recovered
    /// under its own scheme or another; or the database of another program, which is read completely and not kept. The
    /// directories stay locked until this value is dropped: nobody else can open the database or log there.
    ///
    /// # Errors
    /// Directories without a database, with one that this version cannot read, or with one that is open.
    pub fn new(
        catalogue: Catalogue,
        directories: &[PathBuf],
        scheme: Option<&str>,
        workers: Option<u64>,
        check: bool,
    ) -> Result<Self, Refusal> {
        let home = &directories[0];
        let description = home.join(DESCRIPTION);
        let nothing = |error: &io::Error| {
            let name = home.display();
            Refusal(format!(
                "`{name}`: has no database ({error}): give the directory of one, for example as `contend run --log` \
                 was given it, and of several the first one first"
            ))
        };
        // A directory without a database is not locked, and so not changed.
        if !home.join("MANIFEST").is_file() {
            fs::metadata(&description).map_err(|error| nothing(&error))?;
        }
        // The lock is taken before anything is read. Otherwise, a run that ends meanwhile could change the description,
        // and it would not match the log.
        let held = LockedDirectories::to_read(directories)?;
        let run = match fs::read_to_string(&description) {
            Ok(text) => Some(Run::new(catalogue, (&description, &text), scheme, check)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(nothing(&error)),
        };
        if let (None, Some(scheme)) = (&run, scheme) {
            return Err(Refusal(format!(
                "`--scheme {scheme}`: no run has left `{}`, so that its rows can be read and not be loaded: leave it \
                 out",
                home.display()
            )));
        }
        Ok(Self { run, held, workers: crate::plan::workers(workers)? })
    }

    /// Recovers the log, or reads and checks the database.
    ///
    /// # Errors
    /// Files that cannot be read, or that are damaged.
    pub fn recover(&self, progress: &RecoveryProgress) -> Result<Recovered, Refusal> {
        let Some(Run { plan, digest }) = &self.run else {
            return Ok(runs::verify(&self.held, self.workers, progress)?);
        };
        let spec = plan.spec(&plan.subjects[0]);
        let mut recovered = runs::recover(&spec, &self.held, self.workers, progress)?;
        if let (Some(wanted), Some(found)) = (digest, recovered.digest)
            && *wanted != found
            && recovered.verdict != CheckVerdict::Skipped
        {
            let [found, wanted] = [found, *wanted].map(json::hex);
            let violation = Violation {
                condition: "the recovered rows are the same as at the end of the run",
                found: format!("they come to {found}, not to {wanted}"),
            };
            match &mut recovered.verdict {
                CheckVerdict::Failed(violations) => violations.push(violation),
                verdict => *verdict = CheckVerdict::Failed(vec![violation]),
            }
        }
        Ok(recovered)
    }

    /// Returns the result of the recovery as text for people.
    pub fn text(&self, recovered: &Recovered) -> String {
        let mut lines = Lines::default();
        let whose = self.run.as_ref().map_or_else(String::new, |Run { plan, .. }| {
            format!("{} under {}: ", plan.workload.name, plan.subjects[0].scheme.name)
        });
        let (rows, bytes) = (text::count(recovered.rows() as f64), text::bytes(recovered.bytes));
        lines.add(format!("{whose}{rows} rows from {bytes}"));
        let mut table = Table::default();
        for (name, rows) in &recovered.tables {
            table.row([format!("  {name}"), text::count(*rows as f64)]);
        }
        lines.0.push_str(&table.render());
        let from = match recovered.checkpoint {
            0 => "no checkpoint".to_owned(),
            number => format!("checkpoint {number}"),
        };
        let transactions = text::count(recovered.transactions as f64);
        lines.add(format!("{from}, and {transactions} transactions of the log behind it"));
        let [read_s, restore_s] = [recovered.read_ns, recovered.restore_ns].map(|ns| ns as f64 / 1e9);
        let made = if self.run.is_some() { "rows and indexes made" } else { "rows put together" };
        lines.add(format!(
            "read and checked in {read_s:.2} s, {made} in {restore_s:.2} s by {}: {} rows a second and worker",
            text::plural(self.workers, "worker"),
            text::count(self.rate(recovered))
        ));
        tell_end(recovered, &mut lines);
        self.tell_verdict(recovered, &mut lines);
        lines.0
    }

    fn tell_verdict(&self, recovered: &Recovered, lines: &mut Lines) {
        match (&recovered.verdict, &self.run) {
            (_, None) => lines.add(
                "its files are whole; its rows were recovered only for this check, and nothing was \
                                    changed",
            ),
            (CheckVerdict::Skipped, _) => lines.add("check: skipped"),
            (CheckVerdict::Passed, Some(Run { digest: Some(_), .. })) => {
                lines.add("check: passed; the rows are the same as at the end of the run");
            }
            (CheckVerdict::Passed, _) => {
                lines.add(
                    "check: passed, for the conditions that do not depend on which requests were committed",
                );
            }
            (CheckVerdict::Failed(violations), _) => {
                for violation in violations {
                    lines.add(format!("CHECK FAILED: {violation}"));
                }
            }
        }
    }

    /// Returns the result of the recovery as an object for programs.
    pub fn json(&self, recovered: &Recovered) -> Value {
        let plan = self.run.as_ref().map(|run| &run.plan);
        let tables: Map<String, Value> =
            recovered.tables.iter().map(|(name, rows)| (name.clone(), (*rows).into())).collect();
        let torn_bytes: u64 = recovered.torn.iter().map(|torn| torn.bytes).sum();
        let end = |torn: &runs::Torn| {
            let runs::Torn { file, segment, offset, bytes } = torn;
            json!({ "file": file, "segment": segment, "offset": offset, "bytes": bytes })
        };
        let torn: Vec<Value> = recovered.torn.iter().map(end).collect();
        json!({
            "schema": json::SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "kind": "recovery",
            "workload": plan.map(|plan| plan.workload.name),
            "scheme": plan.map(|plan| plan.subjects[0].scheme.name),
            "workers": self.workers,
            "rows": recovered.rows(),
            "tables": tables,
            "transactions": recovered.transactions,
            "bytes": recovered.bytes,
            "checkpoint": recovered.checkpoint,
            "epoch": recovered.epoch,
            "was_closed": recovered.was_closed,
            "torn_bytes": torn_bytes,
            "torn": torn,
            "read_s": recovered.read_ns as f64 / 1e9,
            "restore_s": recovered.restore_ns as f64 / 1e9,
            "rows_s_worker": self.rate(recovered),
            "digest": recovered.digest.map(json::hex),
            "check": json::check(&recovered.verdict),
        })
    }

    /// Returns the recovered rows a second and worker. The time includes reading the files.
    fn rate(&self, recovered: &Recovered) -> f64 {
        let ns = recovered.read_ns + recovered.restore_ns;
        recovered.rows() as f64 * 1e9 / ns.max(1) as f64 / self.workers as f64
    }
}

/// Adds lines about the end of the log: whether it was closed, its last whole epoch, and torn writes.
fn tell_end(recovered: &Recovered, lines: &mut Lines) {
    if recovered.was_closed {
        return lines.add("the log was closed: all commits are there");
    }
    lines.add(format!(
        "the log was not closed: the process that wrote it ended before, and all complete epochs are there, up to \
         epoch {}",
        recovered.epoch
    ));
    for torn in &recovered.torn {
        lines.add(format!("incomplete write, which is cut off when the log is opened: {torn}"));
    }
}

impl Run {
    /// Reads the description that a run left beside its log.
    fn new(
        catalogue: Catalogue,
        (path, text): (&Path, &str),
        scheme: Option<&str>,
        check: bool,
    ) -> Result<Self, Refusal> {
        let unknown = |what: &str| {
            let name = path.display();
            Refusal(format!("`{name}`: {what}: give the directory of a log as `contend run --log` left it"))
        };
        let Described { choices, digest } =
            serde_json::from_str(text).map_err(|_| unknown("is no description of a run"))?;
        let needed = ["workload", "scheme"].into_iter().find(|key| choices.get(key).is_none());
        if let Some(key) = needed.or(choices.settings.is_empty().then_some("settings")) {
            return Err(unknown(&format!("has no `{key}`")));
        }
        let workload = catalogue.workload(&choices.workload)?;
        let of_rows = |name: &str| {
            let is_of_workload = workload.settings.iter().any(|setting| setting.name == name);
            // The other settings say how the run was made, and do not affect its rows.
            is_of_workload || name == "run.splitting"
        };
        let set = choices.settings.iter().filter(|(name, _)| of_rows(name));
        let request = Request {
            schemes: Some(scheme.unwrap_or(&choices.scheme).to_owned()),
            workers: Some(choices.workers),
            clients: Some(ClientCount::All(choices.clients_asked)),
            seed: choices.seed,
            set: set.map(|(name, value)| format!("{name}={value}")).collect(),
            check,
            ..Request::new(workload.name)
        };
        let plan = Plan::for_any_scheme(catalogue, &request)?;
        if plan.subjects.len() != 1 {
            return Err(Refusal("`--scheme`: give one scheme to recover under".to_owned()));
        }
        let digits = digest.as_ref().and_then(|text| text.strip_prefix("0x"));
        let digest = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        Ok(Self { plan, digest })
    }
}
