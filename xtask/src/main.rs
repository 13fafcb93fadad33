//! The index of all commands that a person or CI runs beside cargo's own: `cargo xtask COMMAND`.
//! The index is a program and not a script, so that it runs wherever cargo does, with nothing to
//! install.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a tool talks to a terminal and times its steps; nothing of it is ever simulated"
)]

mod bench;
mod bloat;
mod check;
mod defaults;
mod facade;
mod fidelity;
mod fuzz;
mod house;
mod isolation;
mod models;
mod new_scheme;
mod outside;
mod path_length;
mod report_browser;
mod sanitize;
mod settings;
mod sim;
mod tidy;

use std::process::{self, ExitCode, Stdio};

use house::{Beside, Checked, House, Step, run, run_all};
use new_scheme::Unmade;

/// A command: its name, its description, and the function that executes it.
struct Command {
    name: &'static str,
    says: &'static str,
    run: Run,
}

/// The arguments of a command.
enum Run {
    Alone(fn(&House) -> Checked),
    /// One required argument, with its placeholder.
    With(&'static str, fn(&House, &str) -> Checked),
    /// One optional argument, with its placeholder.
    Perhaps(&'static str, fn(&House, Option<&str>) -> Checked),
    /// All words after it, with their form. The command refuses words that it cannot use.
    Words(&'static str, fn(&House, &[&str]) -> Result<(), Unmade>),
}

use Run::{Alone, Perhaps, With, Words};

const COMMANDS: &[Command] = &[
    Command {
        name: "tidy",
        says: "the rules of the house: arrows, bans, shape, headings",
        run: Alone(tidy::run),
    },
    Command { name: "check", says: "format, tidy, licences, lints, documentation", run: Alone(check::check) },
    Command {
        name: "loom",
        says: "the loom models of all crates, except those that take long",
        run: Alone(models::loom),
    },
    Command {
        name: "sim",
        says: "every scheme under the schedule of a seed, twice: hash, commits, aborts",
        run: With("SEED", sim::explore),
    },
    Command {
        name: "facade",
        says: "the native `sync` costs nothing: instructions compared",
        run: Alone(facade::facade),
    },
    Command {
        name: "bench",
        says: "a moment of every scheme on small data, checked",
        run: Alone(bench::short),
    },
    Command {
        name: "bloat",
        says: "code size and build seconds by scheme and workload",
        run: Alone(bloat::bloat),
    },
    Command {
        name: "path-length",
        says: "instructions and cache misses of a transaction under each scheme; needs valgrind",
        run: Words(path_length::FORM, path_length::count),
    },
    Command {
        name: "defaults",
        says: "every setting of a scheme at other values, beside the standard one, on four workloads",
        run: Words(defaults::FORM, defaults::measure),
    },
    Command {
        name: "fidelity",
        says: "the book's table of the authors' claims, from the claims that `contend reproduce` kept below a folder",
        run: With("DIR", fidelity::write),
    },
    Command {
        name: "isolation",
        says: "every scheme and variant held to its promise: scripts, searches, schedules, threads",
        run: Alone(isolation::check),
    },
    Command {
        name: "mutants",
        says: "planted bugs, all or a tenth that changes with each commit: each must be caught",
        run: Perhaps("[tenth]", isolation::mutants),
    },
    Command {
        name: "outside",
        says: "the schemes under examples/, which are outside of the workspace: manifests and lints",
        run: Alone(outside::check),
    },
    Command {
        name: "settings",
        says: "short runs under settings drawn by chance, of a seed or of one that changes with each commit",
        run: Perhaps("[SEED]", settings::draw),
    },
    Command {
        name: "sanitize",
        says: "every scheme under the thread and the address sanitizer; needs nightly",
        run: Alone(sanitize::sanitize),
    },
    Command {
        name: "fuzz",
        says: "the fuzz targets, a minute or so many seconds each; needs nightly and cargo-fuzz",
        run: Perhaps("[SECONDS]", fuzz::fuzz),
    },
    Command {
        name: "report-browser",
        says: "a small report in headless Chromium; screenshots to a folder if one is named",
        run: Perhaps("[FOLDER]", report_browser::look),
    },
    Command {
        name: "cluster",
        says: "sweeps on two nodes of Ray, one of which is killed, and of Slurm; needs Python, PyPI and root",
        run: Alone(cluster),
    },
    Command {
        name: "new-scheme",
        says: "a new scheme that compiles and runs, and protects nothing until it is written",
        run: Words(new_scheme::FORM, new_scheme::run),
    },
    Command {
        name: "ci",
        says: "all that .ci/run runs after the tests, or a half of it: check, loom, bench, isolation, mutants, ..",
        run: Perhaps("[sources|schemes]", ci),
    },
    Command {
        name: "nightly",
        says: "what takes hours, or one of its steps: tests, isolation, mutants, crashes, sanitizers, fuzzing, ..",
        run: Perhaps("[STEP]", nightly),
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let [] | ["help" | "-h" | "--help"] = args[..] {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == args[0]) else {
        return refuse(&format!("no command `{}`", args[0]));
    };
    let outcome = match (&command.run, &args[1..]) {
        (Alone(run), []) => House::find().and_then(|house| run(&house)),
        (With(_, run), [word]) => House::find().and_then(|house| run(&house, word)),
        (Perhaps(_, run), []) => House::find().and_then(|house| run(&house, None)),
        (Perhaps(_, run), [word]) => House::find().and_then(|house| run(&house, Some(word))),
        (Words(_, run), words) => match House::find().map(|house| run(&house, words)) {
            Ok(Err(Unmade::Refused(says))) => {
                eprintln!("xtask: {says}");
                return ExitCode::from(2);
            }
            Ok(Err(Unmade::Failed(says))) | Err(says) => Err(says),
            Ok(Ok(())) => Ok(()),
        },
        (Alone(_), _) => return refuse(&format!("`{}` takes nothing after it", command.name)),
        (With(what, _) | Perhaps(what, _), _) => {
            return refuse(&format!("write `cargo xtask {} {what}`", command.name));
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(says) => {
            eprintln!("xtask: {says}");
            ExitCode::FAILURE
        }
    }
}

fn refuse(says: &str) -> ExitCode {
    eprintln!("xtask: {says}\n\n{}", help());
    ExitCode::from(2)
}

fn help() -> String {
    let line = |Command { name, says, run }: &Command| {
        let typed = match run {
            Alone(_) => (*name).to_owned(),
            With(what, _) | Perhaps(what, _) | Words(what, _) => format!("{name} {what}"),
        };
        format!("  {typed:<30} {says}\n")
    };
    let lines: String = COMMANDS.iter().map(line).collect();
    format!("cargo xtask COMMAND\n\n{lines}")
}

/// The checks of a change that read or compile the sources.
const SOURCES: &[Step] = &[
    Step { name: "check", run: check::check },
    Step { name: "facade", run: facade::facade },
    Step { name: "outside", run: outside::check },
];

/// The checks of a change that run schemes, or models of their parts. The program that they run is built for the tests,
/// too, and the models are built in a folder of their own, so that `.ci/run` can start them beside the tests.
const SCHEMES: &[Step] = &[
    Step { name: "isolation", run: isolation::check_a_change },
    Step { name: "mutants", run: |house| isolation::mutants(house, Some("tenth")) },
    Step { name: "bench", run: bench::short },
    Step { name: "settings", run: |house| settings::draw(house, None) },
    Step { name: "loom", run: models::loom },
];

/// Runs all checks that every change must pass, or a half of them. The tests, which include the simulator's smoke
/// tests, are run by `cargo test --workspace` and are not repeated here.
///
/// Most checks use one core at a time. So the halves run side by side, and the output of one follows that of the other.
fn ci(house: &House, half: Option<&str>) -> Checked {
    match half {
        Some("sources") => run_all(house, SOURCES),
        Some("schemes") => run_all(house, SCHEMES),
        Some(other) => Err(format!("no half `{other}`: there are sources, schemes")),
        None => {
            let this = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
            let mut schemes = process::Command::new(this);
            schemes.args(["ci", "schemes"]).stdin(Stdio::null());
            let (_, target) = house.members()?;
            let schemes = Beside::start(&mut schemes, target.join("ci-schemes.txt"))?;
            let sources = run_all(house, SOURCES);
            let schemes = schemes.end();
            sources.and(schemes)
        }
    }
}

/// The checks that take too long for every change.
const NIGHTLY: &[Step] = &[
    // The tests as users run them, optimised.
    Step { name: "tests", run: optimised_tests },
    // The tests of a feature that CI does not build.
    Step { name: "parquet", run: parquet_tests },
    // The library under every scheme.
    Step { name: "library", run: library_tests },
    Step { name: "loom", run: models::loom_at_length },
    Step { name: "isolation", run: isolation::check_at_length },
    Step { name: "mutants", run: |house| isolation::mutants(house, None) },
    Step { name: "crashes", run: crashes },
    Step { name: "sanitizers", run: sanitize::sanitize },
    Step { name: "fuzzing", run: |house| fuzz::fuzz(house, Some("300")) },
    // The packages outside of the workspace, as their authors build them.
    Step { name: "outside", run: outside::test },
    Step { name: "browser", run: |house| report_browser::look(house, None) },
    Step { name: "cluster", run: cluster },
    Step { name: "soak", run: bench::soak },
    Step { name: "bloat", run: bloat::bloat },
    // Instructions of a transaction beside the recorded ones.
    Step { name: "path-lengths", run: path_length::compare },
    // Every template of a new scheme, in a clone.
    Step { name: "new-scheme", run: new_scheme::try_all },
];

/// Runs the checks that take too long for every change, or one of them.
fn nightly(house: &House, step: Option<&str>) -> Checked {
    let Some(name) = step else { return run_all(house, NIGHTLY) };
    let Some(step) = NIGHTLY.iter().find(|step| step.name == name) else {
        let names: Vec<&str> = NIGHTLY.iter().map(|step| step.name).collect();
        return Err(format!("no step `{name}`: there are {}", names.join(", ")));
    };
    run_all(house, core::slice::from_ref(step))
}

fn cluster(house: &House) -> Checked {
    ["ray.sh", "slurm.sh"].into_iter().try_for_each(|script| {
        let script = house.root.join("tests/cluster").join(script);
        run(process::Command::new("bash").arg(script).stdin(Stdio::null()))
    })
}

/// Runs the library's tests with all schemes. The workspace's tests build the library with its
/// standard scheme alone, as users do.
fn library_tests(house: &House) -> Checked {
    let mut arguments = vec!["test", "--package", "contend", "--features", "all-schemes"];
    for test in ["transactions", "views", "starving"] {
        arguments.extend(["--test", test]);
    }
    arguments.extend(["--example", "brokerage"]);
    run(&mut house.cargo(&arguments))
}

/// Runs the crash tests of the log, simulated and real, in the number that a release requires.
fn crashes(house: &House) -> Checked {
    let simulated =
        ["test", "--release", "--package", "contend-durability", "--test", "crash", "--", "--ignored"];
    run(&mut house.cargo(&simulated))?;
    let real = ["test", "--release", "--package", "contend-tests", "--test", "kills", "--", "--ignored"];
    run(&mut house.cargo(&real))
}

fn parquet_tests(house: &House) -> Checked {
    run(&mut house.cargo(&["test", "--package", "contend-lab", "--features", "parquet", "parquet"]))
}

fn optimised_tests(house: &House) -> Checked {
    run(&mut house.cargo(&["test", "--workspace", "--release"]))
}
