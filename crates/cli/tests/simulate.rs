//! Simulated runs as scripts use them: what is refused, that they are deterministic, and what their results say.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A workload that is loaded and simulated in a moment.
const TINY: &str = "--set ycsb.records=500 --set ycsb.value_bytes=64 --set ycsb.ops_per_txn=4 --txns 40";

fn output(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(line.split_whitespace());
    command.output().expect("the binary starts")
}

/// Asserts that a request is refused, that no result is printed, and that the refusal contains `says`.
fn assert_refused(line: &str, says: &str) {
    let refused = output(line);
    let complaint = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "`{line}`: {complaint}");
    assert!(complaint.contains(says), "`{line}` does not say `{says}`: {complaint}");
    assert!(refused.stdout.is_empty(), "`{line}` printed a result");
}

/// Returns the lines of results that a command prints.
fn lines(line: &str) -> Vec<Value> {
    let ended = output(line);
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "`{line}`: {complaint}");
    assert!(complaint.is_empty(), "silent in a pipe: {complaint}");
    let text = String::from_utf8(ended.stdout).expect("JSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn point(scheme: &str, more: &str) -> String {
    format!("simulate ycsb --machine epyc --scheme {scheme} {TINY} --format json {more}")
}

#[test]
fn wrong_simulations_are_refused_with_the_way_out() {
    assert_refused("simulate ycsb --machine epcy --cores 2", "did you mean `epyc`");
    assert_refused("simulate ycsb --machine no/such.toml --cores 2", "docs/book/machines.md");
    assert_refused(
        "simulate ycsb --machine epyc@memory.latency*2 --cores 2",
        "`memory.latency` is no constant of",
    );
    assert_refused("simulate ycsb --machine epyc@memory.latency_ns --cores 2", "epyc@memory.latency_ns*1.3");
    assert_refused("simulate ycsb --machine epyc@topology.sockets*2 --cores 2", "write another file");
    assert_refused("simulate ycsb --machine epcy@memory.latency_ns*2 --cores 2", "did you mean `epyc`");
    assert_refused("simulate ycsb --machine epyc --cores 2 --constants 1", "--constants 0.7,1.3");
    assert_refused(
        "simulate ycsb --machine epyc --cores 2 --scheme silo --constants 2",
        "one point is no conclusion",
    );
    assert_refused(
        "simulate ycsb --machine epyc --cores 1,2 --lookahead-ns 25 --constants 0.7",
        "--lookahead-ns",
    );
    assert_refused("simulate ycsb --machine epyc --cores 0", "from 1 to 256");
    assert_refused("simulate ycsb --machine epyc --cores 2,257", "from 1 to 256");
    assert_refused("simulate ycsb --machine epyc --cores 2,4,2", "2 is given twice");
    assert_refused("simulate ycsb --machine epyc --cores two", "--cores");
    assert_refused("simulate ycsb --machine epyc", "--cores");
    assert_refused("simulate ycsb --machine epyc --cores 2 --scheme sillo", "did you mean `silo`");
    assert_refused("simulate ycsb --machine epyc --cores 2 --jobs 0", "from 1 to");
    assert_refused("simulate ycsb --machine epyc --cores 2 --smt 3", "from 1 to 2 on epyc");
    assert_refused("simulate ycsb --machine epyc --cores 200 --smt 1", "from 1 to 128");
    assert_refused("simulate ycsb --machine epyc --cores 2 --txns 0", "from 1 to");
    assert_refused("simulate ycsb --machine epyc --cores 2 --lookahead-ns 1000", "from 0 to 25");
    assert_refused("simulate ycsb --machine epyc --cores 2 --placement random", "cores_first");
    assert_refused("simulate ycsb --machine epyc --cores 2 --memory near", "interleaved");
    assert_refused(
        "simulate ycsb --machine epyc --cores 2 --memory distance_9",
        "epyc has `distance_1` alone",
    );
    assert_refused("simulate ycsb --machine epyc --cores 1..4", "--cores 1,2,4,8");
    assert_refused("simulate ycsb --machine epyc --cores 2 --scheme silo,silo", "name it once");
    assert_refused("simulate ycsb --machine epyc --cores 2 --scheme silo,all", "`all` stands alone");
    assert_refused("simulate ycsb --machine /dev/zero --cores 2", "no regular file");
    assert_refused(
        "simulate ycsb --machine epyc --cores 2 --set run.durability=group",
        "no device for a log",
    );
    assert_refused(
        "simulate ycsb --machine epyc --cores 2 --out /dev/null/results",
        "--out /dev/null/results",
    );
    assert_refused("simulate ycsb --machine epyc --cores 2 --scheme uncontrolled,silo", "--cores 1");
}

#[test]
fn transactions_that_wait_for_each_other_are_told_with_their_line() {
    // The search for deadlocks begins after the longest time that a run is waited for.
    let deadlocks = "simulate ycsb --machine epyc --cores 4 --scheme dl_detect --set ycsb.workload=custom \
                     --set ycsb.records=100 --set ycsb.read_pct=0 --set ycsb.theta=0.9 --set ycsb.ops_per_txn=8 \
                     --set dl_detect.delay_us=1000000 --seed 2";
    let ended = output(deadlocks);
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("CHECK FAILED: dl_detect with 4 cores: livelock: "), "{said}");
    assert!(said.contains("at a cache line of "), "{said}");
}

#[test]
fn conclusions_are_tested_again_on_machines_that_differ_in_a_constant() {
    let ended =
        output(&format!("simulate ycsb --machine epyc --scheme silo {TINY} --cores 1,2 --constants 1.3"));
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    let line = said.lines().find(|line| line.starts_with("silo peaks on 2 cores")).expect("a conclusion");
    let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let [_, ratio, lowest, highest, stands, undecided, unknown, reversed] = cells[..] else {
        panic!("{line}")
    };
    let number = |cell: &str| cell.parse::<f64>().expect("a number");
    // A larger constant may move the ratio in one direction only.
    assert!(number(lowest) <= number(ratio) && number(ratio) <= number(highest), "{line}");
    assert!(number(lowest) < number(highest), "{line}");
    assert!(number(stands) > 20.0 && [undecided, unknown, reversed] == ["0", "0", "-"], "{line}");
}

#[test]
fn wrong_simulated_runs_are_refused_with_the_way_out() {
    assert_refused("run ycsb --machine epyc --workers 257", "from 1 to 256 on epyc");
    assert_refused("run ycsb --machine epyc --pin", "--placement");
    assert_refused("run ycsb --machine epyc --durability async", "no device for a log");
    assert_refused("run ycsb --machine epyc --set run.reserve_mb=10", "leave it out");
    assert_refused("run ycsb --machine epyc --seconds 1", "--seconds");
    assert_refused("run ycsb --placement scatter", "--machine NAME");
    assert_refused("run ycsb --warmup-txns 10", "--machine NAME");
    assert_refused("run ycsb --machine epyc --repeat 2", "the same each time");
    assert_refused("run ycsb --machine epyc --machine-digest 0123456789abcdef", "not 0123456789abcdef");
    assert_refused("run ycsb --machine-digest 0123456789abcdef", "--machine");
    assert_refused("run ycsb --memory local", "--machine NAME");
}

#[test]
fn a_point_is_the_same_in_every_process() {
    let all = |more: &str| -> Vec<(String, u64, f64)> {
        let figures = |line: &Value| {
            let throughput = line["throughput_txn_s"].as_f64().expect("a result");
            (line["scheme"].to_string(), line["workers"].as_u64().expect("a number"), throughput)
        };
        lines(&point("silo,no_wait", more)).iter().map(figures).collect()
    };
    let first = all("--cores 1,4 --jobs 1");
    let places: Vec<(&str, u64)> = first.iter().map(|(scheme, cores, _)| (scheme.as_str(), *cores)).collect();
    assert_eq!(places, [("\"silo\"", 1), ("\"no_wait\"", 1), ("\"silo\"", 4), ("\"no_wait\"", 4)]);
    assert_eq!(first, all("--cores 1,4 --jobs 3"), "whatever is simulated beside it");
}

#[test]
fn results_say_that_they_are_simulated_and_on_which_machine() {
    let folder = std::env::temp_dir().join(format!("contend-simulate-{}", std::process::id()));
    let printed = lines(&point("silo", &format!("--cores 4 --placement scatter --out {}", folder.display())));
    let [run] = printed.as_slice() else { panic!("a point, and no more") };
    let choices =
        ["simulated", "simulated_on", "placement", "workers", "txns", "kind"].map(|name| &run[name]);
    assert_eq!(choices.map(Value::to_string), ["true", "\"epyc\"", "\"scatter\"", "4", "40", "\"run\""]);
    assert_eq!(run["check"]["verdict"], "passed");
    let simulation = &run["simulation"];
    assert_eq!(simulation["digest"], run["machine_digest"]);
    assert_eq!((&simulation["basis"], &simulation["threads"]), (&"assumed".into(), &256.into()));
    assert!(simulation["trust"].as_str().is_some_and(|trust| trust.contains("no absolute figure")));
    for name in ["accesses", "host_s", "slowdown", "half_width"] {
        assert!(simulation[name].as_f64().is_some_and(|figure| figure > 0.0), "{name}: {simulation}");
    }
    let share = |of: &str| simulation[of][0]["share"].as_f64().expect("a hottest one");
    assert!(0.0 < share("hot_lines") && share("hot_lines") <= share("hot_parts"), "{simulation}");
    assert!(simulation["hot_parts"].to_string().contains("\"usertable rows\""), "{simulation}");
    let shares = simulation["spent"].as_object().expect("by part").values().filter_map(Value::as_f64);
    assert!((shares.sum::<f64>() - 1.0).abs() < 1e-6, "{simulation}");
    let files: Vec<_> = std::fs::read_dir(&folder).expect("written").collect();
    assert_eq!(files.len(), 1);
    let file = std::fs::read_to_string(files[0].as_ref().expect("a file").path()).expect("text");
    assert_eq!(serde_json::from_str::<Value>(&file).expect("JSON"), *run);
    std::fs::remove_dir_all(folder).expect("its own directory");
}

#[test]
fn text_has_the_tables_and_says_how_far_to_trust_them() {
    let ended = output(&point("silo,aria", "--cores 1,2 --tuned").replace("json", "text"));
    let text = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(0), "{text}");
    for says in [
        "SIMULATED: Two AMD EPYC 7742",
        " assumed (docs/book/machines.md)",
        "no absolute figure before calibration",
        "tuned: silo.write_order=written, as published address",
        "1 core",
        "2 cores",
        "contention",
        "timestamp",
        "hottest parts",
        "check: passed by 4 of 4 points",
    ] {
        assert!(text.contains(says), "no `{says}`: {text}");
    }
}

#[test]
fn a_single_run_can_be_simulated_and_is_the_same_again() {
    let line = format!("run ycsb --machine epyc --workers 2 --clients 3 --scheme silo {TINY} --format json");
    let (first, second) = (lines(&line), lines(&line));
    let of =
        |lines: &[Value]| ["throughput_txn_s", "commits", "clients"].map(|name| lines[0][name].to_string());
    assert_eq!(of(&first), of(&second));
    assert_eq!((&first[0]["simulated"], &first[0]["workers"]), (&true.into(), &2.into()));
    let text = output(&line.replace("json", "text"));
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(
        text.contains("SIMULATED: ") && text.contains("95% interval") && text.contains("simulated by: "),
        "{text}"
    );
}

#[test]
fn waits_of_clients_are_simulated_however_long_they_are() {
    let tiny = "--set tpcc.items=200 --set tpcc.customers_per_district=30";
    for waits in
        ["--set tpcc.terminals=on", "--mode interactive --rtt-us 15000", "--arrivals poisson --rate 20"]
    {
        let line = format!("run tpcc --machine epyc --workers 2 --clients 10 --scheme silo {tiny} {waits}");
        let run = &lines(&format!("{line} --txns 20 --warmup-txns 5 --format json"))[0];
        let (commits, seconds) = (run["commits"].as_u64(), run["measured_s"].as_f64());
        // A terminal keys and thinks for some 20 seconds a transaction.
        assert!(commits >= Some(40) && seconds > Some(0.5), "{waits}: {commits:?} in {seconds:?} s");
        assert_eq!(run["simulation"]["stalled_s"], 0.0, "{waits}");
    }
    let line = format!("simulate tpcc --machine epyc --cores 2 --scheme silo --set tpcc.terminals=on {tiny}");
    let hour = &lines(&format!("{line} --txns 500 --warmup-txns 200 --format json"))[0];
    assert!(
        hour["measured_s"].as_f64() > Some(1_000.0),
        "a warehouse makes half a transaction a second: {hour}"
    );
}

#[test]
fn skipped_deliveries_do_not_wait_for_the_one_that_runs() {
    let [all_work, one_works] = ["one_transaction", "skip_if_running"].map(|delivery| {
        let line = format!(
            "simulate tpcc --machine epyc --cores 8 --scheme wait_die --txns 20 --warmup-txns 5 --format json --set \
             tpcc.items=200 --set tpcc.customers_per_district=600 --set tpcc.mix=0,0,0,1,0 --set \
             tpcc.delivery={delivery}"
        );
        lines(&line)[0]["throughput_txn_s"].as_f64().expect("a rate")
    });
    // Of eight Deliveries of a warehouse one works, and the others do nothing.
    assert!(one_works > 4.0 * all_work, "{one_works} and {all_work} a second");
}

/// The instructions of a transaction that cachegrind counts (`cargo xtask path-length`), for rows of 104 bytes.
const COUNTED: [(&str, f64); 4] =
    [("silo", 17_026.0), ("mvto", 19_742.0), ("calvin", 27_096.0), ("reorder", 25_455.0)];

#[test]
fn simulated_instructions_are_about_those_that_are_executed() {
    let machines = lines("list machines --format json");
    let machines = machines[0].as_array().expect("a list");
    let epyc = machines.iter().find(|machine| machine["name"] == "epyc").expect("built in");
    let constants = epyc["constants"].as_array().expect("a list");
    let named = constants.iter().find(|constant| constant["name"] == "core.instruction_ns");
    let instruction_ns: f64 =
        named.and_then(|constant| constant["value"].as_str()?.parse().ok()).expect("a time");
    for (scheme, counted) in COUNTED {
        let runs = lines(&format!(
            "simulate ycsb --machine epyc --cores 1 --scheme {scheme} --txns 200 --no-check --format json --set \
             ycsb.records=2000 --set ycsb.value_bytes=104 --set ycsb.ops_per_txn=16 --set ycsb.read_pct=50"
        ));
        let share = runs[0]["simulation"]["spent"]["instructions"].as_f64().expect("a share");
        let each = share * 1e9 / runs[0]["throughput_txn_s"].as_f64().expect("a rate") / instruction_ns;
        assert!((0.8..1.25).contains(&(each / counted)), "{scheme}: {each:.0}, counted {counted}");
    }
}

/// A reader under `wound_wait` adds itself to a word, and one under `bamboo` to a ring of all readers.
#[test]
fn readers_under_bamboo_do_not_look_at_all_others() {
    let runs = lines(
        "simulate ycsb --machine epyc --cores 16 --scheme bamboo,wound_wait --txns 60 --warmup-txns 20 --no-check \
         --format json --set ycsb.workload=c --set ycsb.records=1000 --set ycsb.theta=0.99 --set ycsb.ops_per_txn=16",
    );
    let [bamboo, wound_wait] = ["bamboo", "wound_wait"].map(|scheme| {
        let run = runs.iter().find(|run| run["scheme"] == scheme).expect("both are simulated");
        run["throughput_txn_s"].as_f64().expect("a rate")
    });
    assert!(
        bamboo > 0.8 * wound_wait,
        "{bamboo:.0} transactions a second, {wound_wait:.0} under `wound_wait`"
    );
}

#[test]
fn an_interrupted_study_keeps_the_points_that_are_done() {
    // The first point is done in a moment; the others take longer than anybody waits.
    let cores: Vec<String> = (0..250).map(|less| (256 - less).to_string()).collect();
    let line = format!(
        "simulate ycsb --machine epyc --scheme silo {} --jobs 2 --format json --cores 1,{}",
        TINY.replace("--txns 40", "--txns 2000"),
        cores.join(",")
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut printed = BufReader::new(child.stdout.take().expect("piped"));
    let mut first = String::new();
    printed.read_line(&mut first).expect("text");
    assert!(first.contains("\"simulated\":true") && first.contains("\"workers\":1,"), "{first}");
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.expect("there is a shell").success());
    assert_eq!(child.wait().expect("it was started").code(), Some(130));
}

#[test]
fn a_recipe_has_the_same_results_however_many_runs_are_made_side_by_side() {
    let folder = std::env::temp_dir().join(format!("contend-jobs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let recipe = folder.join("recipe.toml");
    let text = "title = \"jobs\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"no_wait\"]\n[settings]\nmachine = \
                \"epyc\"\ntxns = 40\n\"ycsb.records\" = 1000\n[vary]\nworkers = [1, 2, 3]\n[why]\n\"ycsb.records\" = \
                \"loads in a moment\"\n";
    std::fs::write(&recipe, text).expect("writable");
    let sweep = |jobs: &str| {
        let out = folder.join(jobs);
        let line = format!("sweep {} --out {} --jobs {jobs} --format json", recipe.display(), out.display());
        lines(&line)
    };
    let (alone, together) = (sweep("1"), sweep("4"));
    assert_eq!(alone.len(), 6, "{alone:?}");
    assert_eq!(alone, together);
    let sweep = format!("sweep {}", recipe.display());
    assert_refused(&format!("{sweep} --jobs 0"), "from 1 to");
    assert_refused(&format!("{sweep} --jobs 2 --executor slurm"), "leave it out");
    std::fs::remove_dir_all(folder).expect("its own directory");
}

#[test]
fn machines_are_listed() {
    let text = output("list machines");
    let text = String::from_utf8_lossy(&text.stdout);
    for says in ["hpe-superdome-flex: HPE", "1 to 1568 workers", "here: ", "the path of a file"] {
        assert!(text.contains(says), "no `{says}`: {text}");
    }
    let listed = lines("list machines --format json");
    let machines = listed[0].as_array().expect("a list");
    let power9 = machines.iter().find(|machine| machine["name"] == "power9").expect("listed");
    assert_eq!(power9["threads"], 1536);
    let constants = power9["constants"].as_array().expect("a list");
    assert!(constants.iter().all(|constant| constant["source"].is_string() && constant["value"].is_string()));
}

#[test]
fn the_file_of_a_machine_is_printed_and_reads_back() {
    let folder = std::env::temp_dir().join(format!("contend-machines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let file = folder.join("m.toml");
    std::fs::write(&file, output("list machines power9").stdout).expect("writable");
    let again = lines(&format!("list machines {} --format json", file.display()));
    assert_eq!((&again[0]["name"], &again[0]["threads"]), (&"power9".into(), &1536.into()));
    assert_refused("list machines nosuch", "no machine and no file");
    assert_refused("list schemes silo", "only machines");
    std::fs::remove_dir_all(folder).expect("its own directory");
}

#[test]
fn a_file_of_a_machine_that_changes_makes_other_results() {
    let folder = std::env::temp_dir().join(format!("contend-changes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let at = |name: &str| folder.join(name).display().to_string();
    let text = String::from_utf8(output("list machines epyc").stdout).expect("text");
    std::fs::write(at("m.toml"), &text).expect("writable");
    let recipe = format!(
        "title = \"a test\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"no_wait\"]\nrepeat = 2\n[settings]\n\
         machine = \"{}\"\nworkers = 2\ntxns = 20\nwarmup_txns = 20\npatience = 1\n\"ycsb.records\" = 500\n[why]\n\
         \"ycsb.records\" = \"quick\"\n",
        at("m.toml")
    );
    std::fs::write(at("s.toml"), recipe).expect("writable");
    let sweep = format!("sweep {} --out {} --jobs 1", at("s.toml"), at("s"));
    let ended = output(&sweep);
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let slower = text.replacen("directory_ns = { value = 5", "directory_ns = { value = 50", 1);
    assert_ne!(text, slower);
    std::fs::write(at("m.toml"), slower).expect("writable");
    assert_eq!(output(&sweep).status.code(), Some(0));
    let told = String::from_utf8(output(&format!("report {} --format text", at("s"))).stdout).expect("text");
    let is_apart = told.contains("a test (machine ") && told.contains("and 1 study more");
    assert!(is_apart, "each state of the file is a study: {told}");
    std::fs::remove_dir_all(folder).expect("its own directory");
}

#[test]
fn memory_that_is_placed_otherwise_makes_another_cell() {
    let folder = std::env::temp_dir().join(format!("contend-memory-{}", std::process::id()));
    let at = |name: &str| folder.join(name).display().to_string();
    let far = lines(&point("silo", &format!("--cores 2 --memory distance_1 --out {}", at("far"))));
    let near = lines(&point("silo", &format!("--cores 2 --memory local --out {}", at("near"))));
    assert_eq!([&far, &near].map(|of| &of[0]["memory_policy"]), ["distance_1", "local"]);
    assert!(far[0]["memory"].is_array(), "the use of memory, by table");
    assert_refused(&format!("compare {} {}", at("near"), at("far")), "memory");
    let compared = output(&format!("compare {} {} --across memory", at("near"), at("far")));
    assert_eq!(compared.status.code(), Some(0), "{}", String::from_utf8_lossy(&compared.stderr));
    std::fs::remove_dir_all(folder).expect("its own directory");
}
