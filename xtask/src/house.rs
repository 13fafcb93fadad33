//! The checkout: its path, the metadata of cargo, and the execution of its programs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;

/// The result of a command of the house: success, or a sentence that tells the user what to do.
pub(crate) type Checked = Result<(), String>;

/// One step of a command, with the name that it prints.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&House) -> Checked,
}

/// A checkout: the one from which xtask was built, or a clone of it.
pub(crate) struct House {
    pub(crate) root: PathBuf,
    /// The folder into which cargo builds, if it is not cargo's choice.
    target: Option<PathBuf>,
}

/// A package of the workspace, with the properties that steps need.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) binaries: Vec<String>,
}

impl House {
    pub(crate) fn find() -> Result<Self, String> {
        let xtask =
            std::env::var_os("CARGO_MANIFEST_DIR").ok_or("run it as `cargo xtask`, inside the checkout")?;
        let root = PathBuf::from(xtask).parent().map(PathBuf::from);
        Ok(Self { root: root.ok_or("xtask has no folder above it")?, target: None })
    }

    /// A copy of the checkout, which builds into a folder of its own whatever the environment says. In a common one
    /// cargo takes what one checkout has built for up to date in the other, because it goes by times and by paths below
    /// the root.
    pub(crate) fn copy_at(root: PathBuf) -> Self {
        let target = Some(root.join("target"));
        Self { root, target }
    }

    /// Returns a command that runs cargo, with the output on the terminal.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).current_dir(&self.root).stdin(Stdio::null());
        if let Some(target) = &self.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }

    /// Returns the packages of the workspace, and the folder into which cargo builds.
    pub(crate) fn members(&self) -> Result<(Vec<Member>, PathBuf), String> {
        let metadata = self.metadata(&["--no-deps"])?;
        let target =
            metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory")?;
        let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
        Ok((packages.iter().filter_map(member).collect(), PathBuf::from(target)))
    }

    /// Returns the nightly toolchain.
    ///
    /// # Errors
    /// If it is not installed.
    pub(crate) fn nightly(&self) -> Result<Nightly<'_>, String> {
        let asked = Nightly { house: self, host: String::new() }.cargo(&["--version", "--verbose"]).output();
        let says = asked.ok().filter(|asked| asked.status.success()).map(|asked| asked.stdout);
        let host = says.and_then(|says| {
            String::from_utf8_lossy(&says)
                .lines()
                .find_map(|line| Some(line.strip_prefix("host: ")?.to_owned()))
        });
        let host =
            host.ok_or("the nightly toolchain is not there: run `rustup toolchain install nightly`")?;
        Ok(Nightly { house: self, host })
    }

    /// Returns the number of commits, as a seed for choices that change with each commit; 0 without
    /// a repository.
    pub(crate) fn commits(&self) -> u64 {
        let mut git = Command::new("git");
        git.args(["rev-list", "--count", "HEAD"]).current_dir(&self.root);
        output(&mut git).ok().and_then(|count| count.trim().parse().ok()).unwrap_or_default()
    }

    /// Returns the output of `cargo metadata`.
    pub(crate) fn metadata(&self, args: &[&str]) -> Result<Value, String> {
        let output =
            output(self.cargo(&["metadata", "--format-version", "1"]).args(args).stderr(Stdio::inherit()))?;
        serde_json::from_str(&output).map_err(|e| format!("cannot read what cargo metadata says: {e}"))
    }
}

/// The nightly toolchain, for flags that the stable toolchain does not have.
pub(crate) struct Nightly<'h> {
    house: &'h House,
    /// The target for which the toolchain builds.
    pub(crate) host: String,
}

impl Nightly<'_> {
    /// Returns a command that runs cargo of this toolchain. It is found by its name, because the
    /// cargo in `CARGO`, which runs xtask, belongs to one toolchain.
    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command.arg("+nightly").args(args).current_dir(&self.house.root).stdin(Stdio::null());
        command
    }
}

fn member(package: &Value) -> Option<Member> {
    let targets = package["targets"].as_array()?.iter();
    let binaries =
        targets.filter(|target| target["kind"].as_array().is_some_and(|kind| kind.contains(&"bin".into())));
    Some(Member {
        name: package["name"].as_str()?.to_owned(),
        folder: PathBuf::from(package["manifest_path"].as_str()?).parent()?.to_owned(),
        binaries: binaries.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect(),
    })
}

/// Runs every step, also after a failure. Prints a summary with the seconds of each step.
pub(crate) fn run_all(house: &House, steps: &[Step]) -> Checked {
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    for step in steps {
        println!("== {}", step.name);
        let start = Instant::now();
        let outcome = (step.run)(house);
        let seconds = start.elapsed().as_secs_f64();
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        lines.push(format!("{verdict:>8} {seconds:7.1} s  {}", step.name));
        if let Err(says) = outcome {
            println!("{}: {says}", step.name);
            failed.push(format!("{}: {says}", step.name));
        }
    }
    println!("==\n{}", lines.join("\n"));
    // The reasons again, last: of a long output, often only the end is kept.
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("\n"))) }
}

/// A program that runs beside this one. Its output goes to a file, and is printed when it has ended.
pub(crate) struct Beside {
    child: Child,
    shown: String,
    output: PathBuf,
}

impl Beside {
    /// Starts a program whose output goes to a new file at `output`.
    pub(crate) fn start(command: &mut Command, output: PathBuf) -> Result<Self, String> {
        let shown = shown(command);
        let cannot =
            |e: io::Error| format!("cannot start {shown} with its output in {}: {e}", output.display());
        let file = File::create(&output).map_err(cannot)?;
        let errors = file.try_clone().map_err(cannot)?;
        let child = command.stdout(file).stderr(errors).spawn().map_err(cannot)?;
        Ok(Self { child, shown, output })
    }

    /// Waits for the end of the program, and prints its output.
    pub(crate) fn end(mut self) -> Checked {
        let status = self.child.wait().map_err(|e| format!("cannot wait for {}: {e}", self.shown))?;
        let output =
            fs::read(&self.output).map_err(|e| format!("cannot read {}: {e}", self.output.display()))?;
        print!("{}", String::from_utf8_lossy(&output));
        if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", self.shown)) }
    }
}

/// Runs a program that reports its own failures.
pub(crate) fn run(command: &mut Command) -> Checked {
    let status = command.status().map_err(|e| format!("cannot start {}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs a program and returns its output. Its standard error goes to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start {}: {e}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} prints no text", shown(command)))
}

/// Returns the flags in the environment variable `variable`, with `flag` appended.
pub(crate) fn added_flags(variable: &str, flag: &str) -> String {
    match std::env::var(variable) {
        Ok(flags) if !flags.is_empty() => format!("{flags} {flag}"),
        _ => flag.to_owned(),
    }
}

/// Formats a command as a user would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words: Vec<_> =
        std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}
