//! Bans: code that may be written only in certain crates, with the code to write instead.

use std::collections::BTreeSet;

use super::source::{Source, has_word};
use super::{Findings, Tree, crate_of};

/// Code that may be written only in a few crates.
struct Ban {
    /// Paths or words of code.
    what: &'static [&'static str],
    /// The code to write instead, and the reason.
    instead: &'static str,
    /// The crates, or folders of crates, in which the code may be written.
    only_in: &'static [&'static str],
    /// `true` if the ban applies to unit tests, too.
    in_tests: bool,
}

/// The crate `sync`: the door to atomics, threads and time, which itself uses the machine.
const DOOR: &str = "sync";

/// The crate `storage`: it lends memory, and has the invariants that make that sound.
const STORAGE: &str = "storage";

/// The crate `durability`: the door to files.
const DURABILITY: &str = "durability";

/// The crate `lab`: it reads specifications and writes results.
const LAB: &str = "lab";

/// The crate `cli`: it communicates with users.
const CLI: &str = "cli";

/// The crate `peers`: it runs other stores, which have their own threads, clocks and files.
const PEERS: &str = "peers";
/// The programs that the fuzzer runs: nothing of them is simulated.
const FUZZ: &str = "fuzz";

/// The schemes outside of the workspace: their commands are started, and their tests start them.
const EXAMPLES: &str = "examples";

/// The tests across crates: they read their scripts and start the binary.
const TESTS: &str = "tests";

/// The tests of the library: programs that use it, with directories, and with processes to kill.
const PROGRAMS: &str = "contend/tests";

/// The crate `xtask`: it starts programs, reads the tree, times its steps and reports. It is never
/// simulated.
const TOOL: &str = "xtask";

const BANS: &[Ban] = &[
    Ban {
        what: &["std::sync", "core::sync", "alloc::sync"],
        instead: "take atomics from `sync::atomic`, a locked value from `sync::Latched`, the rest from `sync`: what \
                  does not pass through that door is invisible to the simulator",
        only_in: &[DOOR, PEERS, FUZZ],
        in_tests: true,
    },
    Ban {
        what: &["std::thread", "thread_local!"],
        instead: "start threads with `sync::workers::run` and keep a worker's state in the worker: simulated workers \
                  are fibers of one thread",
        only_in: &[DOOR, PEERS],
        in_tests: true,
    },
    Ban {
        what: &["std::time", "core::time", "Instant", "SystemTime"],
        instead: "read `sync::clock` and count in nanoseconds: simulated time is virtual",
        only_in: &[DOOR, TOOL, PEERS],
        in_tests: true,
    },
    Ban {
        what: &["std::hint::spin_loop", "core::hint::spin_loop", "std::arch", "core::arch"],
        instead: "use `sync::hint`, `sync::clock::ticks` or `sync::Backoff`: a spin is a step of the simulator",
        only_in: &[DOOR, PEERS],
        in_tests: true,
    },
    Ban {
        what: &["HashMap", "HashSet", "RandomState", "std::hash::DefaultHasher"],
        instead: "use `BTreeMap` or a sorted `Vec`: a hash map's order changes from run to run, and the same seed \
                  must bring back the same run",
        only_in: &[TOOL, LAB, CLI],
        in_tests: false,
    },
    Ban {
        what: &["print!", "println!", "eprint!", "eprintln!", "dbg!"],
        instead: "return the value and let `cli` print it: nothing below `lab` prints",
        only_in: &[TOOL, LAB, CLI],
        in_tests: true,
    },
    Ban {
        what: &["std::env", "std::process"],
        instead: "take it as a setting: nothing below `lab` reads the environment",
        only_in: &[TOOL, LAB, CLI, EXAMPLES, TESTS, PROGRAMS, PEERS],
        in_tests: true,
    },
    Ban {
        what: &["std::fs", "std::net"],
        instead: "take the data or a trait: below `lab` only `durability` knows files",
        // `sync` reads the topology of the machine from files of the system.
        only_in: &[DOOR, DURABILITY, TOOL, LAB, CLI, EXAMPLES, TESTS, PROGRAMS, PEERS],
        in_tests: true,
    },
    Ban {
        what: &["unsafe"],
        instead: "use what `sync` and `storage` offer, or extend them: unsafe code lives in these two only",
        // A memory map of a file is unsafe to open, and LMDB is such a map.
        only_in: &[DOOR, STORAGE, PEERS],
        in_tests: true,
    },
];

/// Code that workloads may not use, beyond the permitted dependencies.
const ABOVE_THE_TRANSACTION: Ban = Ban {
    what: &["RecordRef", "LeafRef", "VersionRef", "KeyIndex", "sync::workers", "sync::fiber"],
    instead: "say it through `Transaction`: a workload names no scheme, no record, no index, no thread",
    only_in: &[],
    in_tests: false,
};

/// Reports code that bypasses the doors to the world, or uses them without permission. Examples and
/// benchmarks are programs of their own and are not checked.
pub(super) fn doors_are_used(tree: &Tree, findings: &mut Findings) {
    let is_program = |path: &str| path.contains("/examples/") || path.contains("/benches/");
    for (path, source) in tree.sources.iter().filter(|(path, _)| !is_program(path)) {
        let name = crate_of(path);
        let extra = (name == "workloads").then_some(&ABOVE_THE_TRANSACTION);
        for ban in BANS.iter().chain(extra) {
            let is_there = |place: &&str| *place == name || path.starts_with(&format!("crates/{place}/"));
            if ban.only_in.iter().any(is_there) {
                continue;
            }
            for (line, what) in uses(source, ban) {
                findings.add(path, line, format!("`{what}`: {}", ban.instead));
            }
        }
    }
}

/// Reports a crate above `storage` that does not forbid unsafe code.
pub(super) fn unsafe_is_forbidden_above(tree: &Tree, findings: &mut Findings) {
    for (path, text) in &tree.texts {
        let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        let name = crate_of(path);
        let may = [DOOR, STORAGE].contains(&name.as_str());
        // `peers` may lift the lint, with a reason, if a store is unsafe to open.
        let denies = name == PEERS && text.contains("#![deny(unsafe_code)]");
        if is_root && !may && !denies && !text.contains("#![forbid(unsafe_code)]") {
            findings.add(
                path,
                0,
                "write `#![forbid(unsafe_code)]` below the header: only `sync` and `storage` may do without",
            );
        }
    }
}

/// Reports a scheme's name below the catalogue, and a workload's name in a scheme.
pub(super) fn names_stay_above(tree: &Tree, findings: &mut Findings) {
    let schemes: BTreeSet<&str> = tree.schemes().map(|(_, _, name)| name).collect();
    let workloads: BTreeSet<&str> =
        tree.sources.iter().flat_map(|(path, source)| workloads(path, source)).collect();
    for (path, source) in &tree.sources {
        let name = crate_of(path);
        let names_no_scheme = ["storage", "engine", "workloads"].contains(&name.as_str());
        let names_no_workload = ["storage", "engine", "schemes"].contains(&name.as_str());
        for (number, line) in source.numbered() {
            for string in &line.strings {
                if names_no_scheme && schemes.contains(string.as_str()) {
                    let says = format!(
                        "\"{string}\" is a scheme: ask its `INFO` for the property that matters here"
                    );
                    findings.add(path, number, says);
                }
                if names_no_workload && workloads.contains(string.as_str()) {
                    findings.add(
                        path,
                        number,
                        format!("\"{string}\" is a workload: only `runs` and above know one by name"),
                    );
                }
            }
        }
    }
}

/// Returns the names of the workloads that a file declares: `const NAME: &'static str = "..";`.
fn workloads<'a>(path: &str, source: &'a Source) -> impl Iterator<Item = &'a str> {
    let lines = if crate_of(path) == "workloads" { &source.lines[..source.tests_at] } else { &[] };
    lines
        .iter()
        .filter(|line| line.code.trim_start().starts_with("const NAME:"))
        .flat_map(|line| line.strings.iter().map(String::as_str))
}

/// Returns the lines of a file that contain banned code. `use` declarations are expanded.
fn uses(source: &Source, ban: &Ban) -> BTreeSet<(usize, &'static str)> {
    let code = source.numbered().map(|(number, line)| (number, line.code.clone()));
    code.chain(imports(source))
        .filter(|(line, _)| ban.in_tests || *line <= source.tests_at)
        .flat_map(|(line, code)| {
            ban.what.iter().filter(move |what| has_word(&code, what)).map(move |what| (line, *what))
        })
        .collect()
}

/// Returns every path that a `use` declaration imports, in full, with the declaration's line.
pub(super) fn imports(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = source.numbered();
    while let Some((number, line)) = lines.next() {
        let Some((before, first)) = line.code.split_once("use ") else { continue };
        let visibility = before.trim();
        if !(visibility.is_empty() || visibility == "pub" || visibility.starts_with("pub(")) {
            continue;
        }
        let mut declaration = first.to_owned();
        while !declaration.contains(';') {
            let Some((_, line)) = lines.next() else { break };
            declaration.push_str(line.code.trim());
        }
        let tree = declaration.split(';').next().unwrap_or_default();
        write_out("", tree, &mut |path| found.push((number, path)));
    }
    found
}

/// Calls `each` with every path of a `use` tree.
fn write_out(prefix: &str, tree: &str, each: &mut dyn FnMut(String)) {
    let Some((head, rest)) = tree.split_once('{') else {
        return each(format!("{prefix}{}", tree.trim()));
    };
    let prefix = format!("{prefix}{}", head.trim());
    let mut depth = 0;
    let mut part = String::new();
    for c in rest.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth < 0 || (depth == 0 && c == ',') {
            write_out(&prefix, &std::mem::take(&mut part), each);
        } else {
            part.push(c);
        }
        if depth < 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    fn banned(path: &str, text: &str) -> usize {
        found(doors_are_used, &[(path, text)]).len()
    }

    #[test]
    fn a_ban_holds_everywhere_but_in_its_exceptions() {
        for text in [
            "use std::sync::Arc;",
            "let t = std::thread::spawn(f);",
            "let t = Instant::now();",
            "thread_local! {}",
            "core::hint::spin_loop();",
        ] {
            assert_eq!(banned("crates/engine/src/lib.rs", text), 1, "{text}");
            assert_eq!(banned("crates/sync/src/lib.rs", text), 0, "{text}");
        }
        for text in
            ["println!(\"a\");", "let v = std::env::args();", "std::fs::read(p);", "let m = HashMap::new();"]
        {
            assert_eq!(banned("crates/runs/src/lib.rs", text), 1, "{text}");
            assert_eq!(banned("crates/cli/src/main.rs", text), 0, "{text}");
        }
        assert_eq!(banned("crates/schemes/src/lib.rs", "unsafe { f() }"), 1);
        assert_eq!(banned("crates/storage/src/lib.rs", "unsafe { f() }"), 0);
    }

    #[test]
    fn a_ban_sees_through_grouped_imports() {
        assert_eq!(
            banned("crates/engine/src/lib.rs", "use std::{\n    fmt,\n    sync::{Arc, Mutex},\n};"),
            1
        );
        assert_eq!(
            banned("crates/engine/src/lib.rs", "pub(crate) use std::{fmt, mem};\nuse sync::{Latch, atomic};"),
            0
        );
    }

    #[test]
    fn words_in_comments_and_strings_are_free() {
        assert_eq!(banned("crates/engine/src/lib.rs", "// unsafe, std::sync\nlet a = \"std::thread\";\n"), 0);
    }

    #[test]
    fn unit_tests_are_free_where_the_ban_says_so() {
        let tests = "#[cfg(test)]\nmod tests {\n    use std::collections::HashMap;\n}\n";
        assert_eq!(banned("crates/engine/src/lib.rs", tests), 0);
        assert_eq!(banned("crates/engine/src/lib.rs", &tests.replace("collections::HashMap", "thread")), 1);
    }

    #[test]
    fn a_workload_speaks_through_the_transaction() {
        assert_eq!(banned("crates/workloads/src/tpcc/mod.rs", "fn f(r: RecordRef<S>) {}"), 1);
        assert_eq!(banned("crates/workloads/src/tpcc/mod.rs", "use sync::atomic::AtomicU64;"), 0);
    }

    #[test]
    fn a_root_without_forbid_is_caught() {
        let check = |path: &str, text: &str| found(unsafe_is_forbidden_above, &[(path, text)]).len();
        assert_eq!(check("crates/engine/src/lib.rs", "//! The engine.\n"), 1);
        assert_eq!(check("crates/engine/src/lib.rs", "//! The engine.\n#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(check("crates/storage/src/lib.rs", "//! Storage.\n"), 0);
        assert_eq!(check("crates/peers/src/lib.rs", "//! Peers.\n#![deny(unsafe_code)]\n"), 0);
        assert_eq!(check("crates/peers/src/lib.rs", "//! Peers.\n"), 1);
        assert_eq!(check("crates/engine/src/lib.rs", "//! The engine.\n#![deny(unsafe_code)]\n"), 1);
    }

    #[test]
    fn names_of_schemes_and_workloads_are_caught_below() {
        let check = |path: &str, text: &str| {
            let scheme = ("crates/schemes/src/optimistic/silo/mod.rs", "");
            let workload = ("crates/workloads/src/tpcc/mod.rs", "    const NAME: &'static str = \"tpcc\";\n");
            found(names_stay_above, &[scheme, workload, (path, text)]).len()
        };
        assert_eq!(check("crates/engine/src/lib.rs", "if name == \"silo\" {}"), 1);
        assert_eq!(check("crates/engine/src/lib.rs", "if name == \"silos\" {}"), 0);
        assert_eq!(check("crates/schemes/src/lib.rs", "f(\"tpcc\")"), 1);
        assert_eq!(check("crates/cli/src/main.rs", "f(\"tpcc\", \"silo\")"), 0);
    }
}
