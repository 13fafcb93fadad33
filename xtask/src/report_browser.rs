//! Reports in a real browser: runs a small sweep, makes its report, and tests in headless Chromium what a reader sees.
//! The tests are in `tests/report/browser.mjs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::house::{Checked, House, run};

/// A sweep that takes seconds and produces all kinds of plots.
const RECIPE: &str = r#"title = "Does skew decide between silo, no_wait and mvto?"
workload = "ycsb"
schemes = ["silo", "no_wait", "mvto"]
repeat = 3
seconds = 0.05
warmup = 0.0
[settings]
workers = 1
"ycsb.workload" = "custom"
"ycsb.records" = 2000
"ycsb.value_bytes" = 100
[vary]
"ycsb.theta" = [0.0, 0.6, 0.99]
"ycsb.read_pct" = [50, 95]
[why]
"ycsb.workload" = "the share of reads varies"
"ycsb.records" = "loads in a moment"
"ycsb.value_bytes" = "loads in a moment"
"ycsb.theta" = "a plot needs an axis"
"ycsb.read_pct" = "a map needs two"
"#;

/// The names of Chromium and of browsers based on it.
const CHROMIUMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Makes reports and tests them in a browser. Screenshots go to the folder `shots`, if it is given.
pub(crate) fn look(house: &House, shots: Option<&str>) -> Checked {
    let chromium = chromium()?;
    if !is_there("node") {
        return Err(
            "node is not there: install Node 18 or later (on Debian: apt-get install nodejs)".to_owned()
        );
    }
    run(&mut house.cargo(&["build", "--package", "contend-cli"]))?;
    let (_, target) = house.members()?;
    let contend = target.join("debug").join(format!("contend{}", std::env::consts::EXE_SUFFIX));
    let folder = target.join("tmp").join("report-browser");
    // The files of an earlier run would be mistaken for those of this run.
    drop(std::fs::remove_dir_all(&folder));
    let pages = folder.join("pages").join("sweep");
    std::fs::create_dir_all(&pages).map_err(|error| format!("cannot make {}: {error}", pages.display()))?;
    make(&contend, &folder, &pages)?;
    let mut browser = offline("node");
    browser.arg(house.root.join("tests/report/browser.mjs")).arg(chromium).arg(folder.join("pages"));
    run(browser.args(shots).stdin(Stdio::null()))
}

/// Makes a sweep, its page and its plots.
fn make(contend: &Path, folder: &Path, pages: &Path) -> Checked {
    let recipe = folder.join("sweep.toml");
    std::fs::write(&recipe, RECIPE).map_err(|error| format!("cannot write {}: {error}", recipe.display()))?;
    run(Command::new(contend).arg("sweep").arg(&recipe).stdout(Stdio::null()))?;
    let report = |format: &str, out: PathBuf| {
        let mut command = Command::new(contend);
        command.arg("report").arg(folder.join("sweep")).args(["--format", format, "--out"]).arg(out);
        run(command.stdout(Stdio::null()))
    };
    report("html", pages.join("report.html"))?;
    report("svg", pages.join("plots"))
}

/// Returns the name of a browser. Installs Debian's if there is none and the permissions suffice.
fn chromium() -> Result<&'static str, String> {
    let found = || CHROMIUMS.into_iter().find(|name| is_there(name));
    if let Some(name) = found() {
        return Ok(name);
    }
    println!("no Chromium is there: installing Debian's");
    let install = ["install", "--yes", "--no-install-recommends", "chromium"];
    let installed = run(Command::new("apt-get").args(install));
    found().ok_or_else(|| {
        let why = installed.err().unwrap_or_default();
        format!(
            "Chromium cannot be installed ({why}): as root run `apt-get update && apt-get install chromium`"
        )
    })
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns a command that runs a program without a network, if the system permits that. In any case the browser
/// resolves no names.
fn offline(program: &str) -> Command {
    let mut probe = Command::new("unshare");
    probe.args(["--net", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command.args(["--net", program]);
    command
}
