//! Tests of machine files: what is read, what is refused and where, and that a scaled machine differs in one constant.

use super::{Basis, Machine};

fn machine(name: &str) -> Machine {
    Machine::read(Machine::of_name(name).unwrap(), name).unwrap()
}

fn all() -> Vec<Machine> {
    Machine::built_in().into_iter().map(|(name, _)| machine(name)).collect()
}

/// The canonical text of a machine of two sockets, in which each constant has a line of its own.
fn sample() -> String {
    machine("epyc").text()
}

/// Returns the number of the line of a constant, or of a section's head, from 1.
fn line_of(text: &str, path: &str) -> usize {
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut hop = 0;
    let mut at = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line == "[[hops]]" {
            at = format!("hops.{hop}");
            hop += 1;
        } else if let Some(head) = line.strip_prefix('[') {
            at = head.trim_end_matches(']').to_owned();
        }
        let is_here = at == section && line.starts_with(&format!("{name} = "));
        if is_here || (at == path && line.starts_with('[')) {
            return number;
        }
    }
    panic!("no line of {path}");
}

/// Returns the sample with another line in place of a constant's.
fn with(path: &str, line: &str) -> String {
    let text = sample();
    let at = line_of(&text, path) - 1;
    let replaced = text.lines().enumerate().map(|(number, old)| if number == at { line } else { old });
    replaced.collect::<Vec<_>>().join("\n")
}

/// Returns the sample with another value of a constant.
fn with_value(path: &str, value: &str) -> String {
    let name = path.rsplit('.').next().unwrap();
    let key = if name == "distance" { "matrix" } else { "value" };
    with(path, &format!("{name} = {{ {key} = {value}, basis = \"assumed\", source = \"a test\" }}"))
}

/// Asserts that a text is refused at the line of a constant, with a sentence.
#[track_caller]
fn refused(text: &str, at: &str, says: &str) {
    let error = Machine::read(text, "m.toml").expect_err("the text contradicts itself");
    let line = if at.is_empty() { 0 } else { line_of(text, at) };
    let shown = error.to_string();
    assert_eq!(error.line(), line, "{shown}");
    let start = if line == 0 { "m.toml: ".to_owned() } else { format!("m.toml, line {line}: ") };
    assert!(shown.starts_with(&start) && shown.contains(says), "{shown}");
}

#[test]
fn the_files_of_the_program_read_and_bear_their_names() {
    for (name, title) in Machine::built_in() {
        let read = machine(name);
        assert_eq!((read.name.as_str(), &read.title), (name, &title));
        assert_eq!(read.constants.len(), read.values().len(), "{name}: each constant has an origin");
    }
}

#[test]
fn the_machines_have_the_threads_that_their_studies_name() {
    let threads: Vec<u32> = all().iter().map(Machine::threads).collect();
    assert_eq!(threads, [1_568, 1_536, 1_152, 256, 2]);
}

#[test]
fn blocks_give_the_distances_of_the_machine_of_28_sockets() {
    let distance = machine("hpe-superdome-flex").topology.distance;
    assert_eq!(distance[0][..9], [0, 1, 2, 2, 3, 3, 3, 3, 3]);
    assert_eq!(distance[27][22..], [3, 3, 2, 2, 1, 0]);
}

#[test]
fn only_gains_of_threads_of_power_come_from_results_and_ways_between_sockets_are_as_the_study_measured_them()
{
    for name in ["hpe-superdome-flex", "power9", "power8"] {
        for constant in machine(name).constants {
            let is_gain = constant.path == "core.smt_speedup" && name != "hpe-superdome-flex";
            assert_eq!(constant.basis == Basis::Fitted, is_gain, "{name}: {}", constant.path);
            let is_between = constant.path.starts_with("hops.") && !constant.path.starts_with("hops.0.");
            let is_measured = constant.basis == Basis::Published && constant.source.contains("tudatalib");
            assert!(!is_between || is_measured, "{name}: {}", constant.path);
        }
    }
}

#[test]
fn what_is_written_reads_back_to_the_same_machine() {
    for mut machine in all() {
        machine.title = "a \"title\" with \\ and\ttabs".to_owned();
        assert_eq!(Machine::read(&machine.text(), "written").unwrap(), machine);
        machine.compared = Some("ratios agreed within 10%".to_owned());
        assert_eq!(Machine::read(&machine.text(), "written").unwrap(), machine);
    }
}

#[test]
fn a_constant_may_stand_in_a_section_of_its_own() {
    let head = "latency_ns = { value = 1.5, basis = \"assumed\", source = \"a test\" }";
    let table = "[l1.latency_ns]\nvalue = 1.5\nbasis = \"assumed\"\nsource = \"a test\"";
    let apart = with("l1.latency_ns", table);
    assert_eq!(Machine::read(&apart, "apart"), Machine::read(&with("l1.latency_ns", head), "head"));
}

#[test]
fn the_digest_is_of_the_values_and_of_nothing_else() {
    let machine = machine("epyc");
    let mut renamed = machine.clone();
    renamed.name = "another".to_owned();
    renamed.constants[0].source = "another".to_owned();
    assert_eq!(machine.digest(), renamed.digest());
    assert_eq!(machine.digest().len(), 16);
    let digests: std::collections::BTreeSet<_> = all().iter().map(Machine::digest).collect();
    assert_eq!(digests.len(), all().len());
}

#[test]
fn scaling_changes_exactly_the_constant_that_is_named() {
    for machine in all() {
        let mut unscaled = Vec::new();
        for (path, value) in machine.values() {
            for factor in [0.7, 1.3, 3.0] {
                let Ok(scaled) = machine.scaled(&path, factor) else {
                    unscaled.push(path.clone());
                    continue;
                };
                let values = scaled.values();
                let changed: Vec<_> =
                    machine.values().into_iter().zip(values).filter(|(a, b)| a != b).collect();
                assert_eq!(changed.len(), 1, "{path}");
                assert_eq!(changed[0].0, (path.clone(), value.clone()));
                assert_eq!(changed[0].1.0, path);
                assert_ne!(scaled.digest(), machine.digest());
                // All that has no value stays, too.
                assert_eq!((&scaled.name, &scaled.constants), (&machine.name, &machine.constants));
            }
        }
        unscaled.dedup();
        let mut shape: Vec<&str> = vec![
            "line_bytes",
            "topology.sockets",
            "topology.groups_per_socket",
            "topology.cores_per_group",
            "topology.threads_per_core",
            "topology.distance",
        ];
        // One thread has no speed-up.
        shape.extend((machine.topology.threads_per_core == 1).then_some("core.smt_speedup"));
        shape.extend(["l1.ways", "l2.ways", "l3.ways"]);
        // Zero stays zero.
        shape.extend((machine.hops[0].round_trip_ps == 0).then_some("hops.0.round_trip_ns"));
        shape.push("hops.0.bytes_per_ns");
        assert_eq!(unscaled, shape, "{}", machine.name);
    }
}

#[test]
fn scaling_is_by_the_factor() {
    let machine = machine("epyc");
    let scaled = |path: &str, factor| machine.scaled(path, factor).unwrap();
    assert_eq!(scaled("hops.1.round_trip_ns", 1.3).hops[1].round_trip_ps, 173_810);
    assert_eq!(scaled("memory.bytes_per_ns", 0.5).memory.bytes_per_ns.to_string(), "102.4");
    assert_eq!(scaled("core.misses_max", 0.7).core.misses_max, 15);
    assert_eq!(scaled("core.smt_speedup", 0.5).core.smt_speedup, [1.0, 1.15]);
    let l2 = scaled("l2.size_kib", 0.7).l2;
    assert_eq!((l2.bytes, l2.bytes % (64 * 8)), (367_104, 0));
}

#[test]
fn a_factor_or_a_path_that_makes_no_sense_is_refused() {
    let machine = machine("epyc");
    for factor in [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY] {
        assert!(machine.scaled("l1.latency_ns", factor).is_err());
    }
    for path in ["name", "l1", "l1.latency", "hops.2.round_trip_ns", "hops.x.round_trip_ns", "hops.1", ""] {
        let error = machine.scaled(path, 1.3).unwrap_err().to_string();
        assert!(error.contains("no constant"), "{error}");
    }
    let error = machine.scaled("topology.sockets", 1.3).unwrap_err().to_string();
    assert!(error.contains("shape"), "{error}");
}

#[test]
fn a_text_that_is_not_toml_is_refused_at_its_line() {
    let error = Machine::read("name = \"a\"\ntitle = [\n", "m.toml").unwrap_err();
    assert_eq!(error.line(), 2, "{error}");
    assert!(error.to_string().contains("not TOML"), "{error}");
}

#[test]
fn what_is_missing_is_named() {
    refused(&with("l1.latency_ns", ""), "l1", "`l1.latency_ns` is missing (the time of a load that hits)");
    refused(&with("hops.1.bytes_per_ns", ""), "hops.1", "`hops.1.bytes_per_ns` is missing");
    refused(&sample().replace("name = \"epyc\"", ""), "", "`name` is missing");
    let text = sample();
    let log = line_of(&text, "log") - 1;
    let without: Vec<&str> = text.lines().take(log).chain(text.lines().skip(log + 3)).collect();
    refused(&without.join("\n"), "", "the section `[log]` is missing");
    let hops = text.find("[[hops]]").unwrap();
    refused(&text[..hops], "", "`[[hops]]` is missing");
}

#[test]
fn what_is_not_known_is_refused_with_what_is() {
    let text = with_value("l1.ways", "8").replace("[l2]", "wayz = 8\n[l2]");
    refused(&text, "l1.wayz", "`l1.wayz` is not known here; the names are ");
    let text =
        with("log.flush_ns", "flush_ns = { value = 1, basis = \"assumed\", source = \"a\", unit = \"s\" }");
    refused(
        &text,
        "log.flush_ns",
        "`log.flush_ns.unit` is not known here; the names are value, basis, source",
    );
}

#[test]
fn a_constant_without_an_origin_is_refused() {
    let flush = |line: &str| with("log.flush_ns", line);
    refused(&flush("flush_ns = 20.0"), "log.flush_ns", "`log.flush_ns` has no basis and no source: write ");
    refused(
        &flush("flush_ns = { value = 1, source = \"a\" }"),
        "log.flush_ns",
        "`log.flush_ns.basis` is missing",
    );
    refused(
        &flush("flush_ns = { value = 1, basis = \"guessed\", source = \"a\" }"),
        "log.flush_ns",
        "the basis `guessed` is none of measured, published, fitted, assumed",
    );
    refused(
        &flush("flush_ns = { value = 1, basis = \"assumed\" }"),
        "log.flush_ns",
        "`log.flush_ns.source` is missing",
    );
    refused(
        &flush("flush_ns = { value = 1, basis = \"assumed\", source = \" \" }"),
        "log.flush_ns",
        "`log.flush_ns.source` is no text, or empty",
    );
    refused(&flush("flush_ns = { basis = \"assumed\", source = \"a\" }"), "log.flush_ns", "needs one value");
    let twice = "distance = { blocks = [], matrix = [[0, 1], [1, 0]], basis = \"assumed\", source = \"a\" }";
    refused(&with("topology.distance", twice), "topology.distance", "needs one value: `blocks` or `matrix`");
}

#[test]
fn a_misspelt_constant_is_named_beside_the_one_that_is_missing() {
    let text =
        with("core.instruction_ns", "instructions_ns = { value = 1, basis = \"assumed\", source = \"a\" }");
    let error = Machine::read(&text, "m.toml").unwrap_err().to_string();
    assert!(error.contains("`core.instruction_ns` is missing"), "{error}");
    assert!(
        error.contains("; `instructions_ns` in line ") && error.contains(" is not known here"),
        "{error}"
    );
    let error = Machine::read(&with("core.instruction_ns", ""), "m.toml").unwrap_err().to_string();
    assert!(!error.contains("not known here"), "{error}");
}

#[test]
fn a_name_is_one_word() {
    for name in ["epyc@l1.ways*2", "two words", "line\\nbreak"] {
        let text = with("name", &format!("name = \"{name}\""));
        let error = Machine::read(&text, "m.toml").unwrap_err().to_string();
        assert!(error.contains("may have letters, digits"), "{error}");
    }
}

#[test]
fn impossible_values_are_refused() {
    for (path, value, says) in [
        ("l1.latency_ns", "-1.0", "the value is -1, and must be above zero"),
        ("l1.latency_ns", "0", "the value is 0, and must be above zero"),
        ("l1.latency_ns", "0.0001", "less than a picosecond"),
        ("l1.latency_ns", "nan", "nan is no number"),
        ("l1.latency_ns", "inf", "inf is no number"),
        ("l1.latency_ns", "\"4 cycles\"", "\"4 cycles\" is no number"),
        ("l1.latency_ns", "2e9", "more than 1000000000"),
        ("core.fence_ns", "-0.5", "cannot be below zero"),
        ("core.ghz", "0.0", "must be above zero"),
        ("memory.bytes_per_ns", "0", "must be above zero"),
        ("memory.bytes_per_ns", "1e-9", "less than 0.001"),
        ("line_bytes", "512", "512 is no whole number from 32 to 256"),
        ("hops.1.bytes_per_ns", "0", "must be above zero"),
        ("hops.1.round_trip_ns", "0", "must be above zero"),
        ("hops.0.bytes_per_ns", "-1", "cannot be below zero"),
        ("topology.sockets", "0", "0 is no whole number from 1 to 1024"),
        ("topology.sockets", "2.0", "2.0 is no whole number"),
        ("topology.sockets", "100000", "no whole number from 1 to 1024"),
        ("core.misses_max", "0", "no whole number"),
        ("core.smt_speedup", "1.3", "1.3 is not a list of speed-ups"),
        ("core.smt_speedup", "[1.0, \"x\"]", "\"x\" is no number"),
        ("topology.distance", "[0, 1]", "0 is not a list of rows"),
        ("topology.distance", "[[0, 300], [300, 0]]", "300 is no whole number from 0 to 255"),
    ] {
        refused(&with_value(path, value), path, &format!("`{path}`: "));
        refused(&with_value(path, value), path, says);
    }
}

#[test]
fn contradictions_are_refused() {
    for (path, value, says) in [
        ("line_bytes", "48", "48 is no power of two from 32 to 256"),
        ("l1.size_kib", "1024", "the first-level cache is larger than the second-level cache"),
        ("l2.size_kib", "32768", "the second-level cache is larger than the last-level cache"),
        ("l1.size_kib", "32.1", "do not divide into sets of 8 lines of 64 bytes"),
        ("l2.latency_ns", "20", "it is longer than `l3.latency_ns`"),
        ("l3.latency_ns", "200", "it is longer than `memory.latency_ns`"),
        ("core.smt_speedup", "[1.0]", "there are 1 values, and a core has 2 threads"),
        ("core.smt_speedup", "[1.0, 1.2, 1.3]", "there are 3 values, and a core has 2 threads"),
        ("core.smt_speedup", "[1.1, 1.2]", "one thread has 1.1 times its own throughput"),
        ("core.smt_speedup", "[1.0, 0.9]", "0.9 for 2 threads: it must be from 1 to the number of threads"),
        ("core.smt_speedup", "[1.0, 2.1]", "2.1 for 2 threads: it must be from 1 to the number of threads"),
        ("coherence.transfer_ns", "1.5", "sooner than from its own L2"),
        ("coherence.hold_ns", "31", "for longer than another one needs to get it"),
        ("hops.0.bytes_per_ns", "10.0", "links within a socket are not simulated"),
        ("topology.distance", "[[0, 1], [2, 0]]", "1 from socket 0 to 1, and 2 back: not symmetric"),
        ("topology.distance", "[[1, 1], [1, 0]]", "0 is the distance within a socket"),
        ("topology.distance", "[[0, 0], [0, 0]]", "0 is the distance within a socket"),
        ("topology.distance", "[[0, 1]]", "the matrix must have 2 rows of 2 distances"),
        ("topology.distance", "[[0, 1], [1]]", "the matrix must have 2 rows of 2 distances"),
    ] {
        refused(&with_value(path, value), path, says);
    }
}

#[test]
fn too_many_threads_are_refused() {
    let text = with_value("topology.groups_per_socket", "255");
    assert_eq!(Machine::read(&text, "m.toml").map(|most| most.threads()), Ok(4_080));
    let text = text.replace("groups_per_socket = { value = 255,", "groups_per_socket = { value = 256,");
    refused(&text, "topology.sockets", "the machine has 4096 hardware threads, more than 4095");
    refused(&with_value("topology.sockets", "65"), "topology.sockets", "65 sockets, more than 64");
}

#[test]
fn distances_and_hops_must_fit() {
    let text =
        machine("power9").text().replacen("round_trip_ns = { value = 259", "round_trip_ns = { value = 59", 1);
    let error = Machine::read(&text, "m.toml").unwrap_err().to_string();
    assert!(error.contains("a way at distance 2 is shorter than one at distance 1"), "{error}");
    let far = with_value("topology.distance", "[[0, 2], [2, 0]]");
    let error = Machine::read(&far, "m.toml").unwrap_err().to_string();
    assert!(error.contains("`hops`: there are 2, and the distances are 0 to 2: 3 are needed"), "{error}");
    let blocks = |blocks: &str| {
        let line = format!("distance = {{ blocks = {blocks}, basis = \"assumed\", source = \"a\" }}");
        with("topology.distance", &line)
    };
    assert!(Machine::read(&blocks("[]"), "m.toml").is_ok());
    assert!(Machine::read(&blocks("[2, 4]"), "m.toml").is_ok());
    refused(&blocks("[4, 2]"), "topology.distance", "a block of 2 sockets consists of no blocks of 4");
    refused(&blocks("[2, 5]"), "topology.distance", "a block of 5 sockets consists of no blocks of 2");
    refused(&blocks("[1]"), "topology.distance", "1 is no whole number from 2 to 1024");
    refused(&blocks("2"), "topology.distance", "2 is not a list of numbers of sockets");
}

#[test]
fn the_book_names_every_constant_and_every_machine() {
    let page = include_str!("../../../../docs/book/machines.md");
    let machine = machine("epyc");
    for (path, _) in machine.values().into_iter().filter(|(path, _)| !path.starts_with("hops.1")) {
        let named = format!("`{}`", path.replace("hops.0", "hops.N"));
        assert!(page.contains(&named), "the page lacks {named}");
    }
    for (name, _) in Machine::built_in() {
        assert!(page.contains(&format!("`{name}`")), "the page lacks {name}");
    }
}
