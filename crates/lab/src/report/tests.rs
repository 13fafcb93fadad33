//! Tests of reports as a whole: from files to text, pages, plots and tables.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::registry::tests::catalogue;

/// A script that must never run in a page, whatever text a result contains.
const HOSTILE: &str = "</script><script>window.intruder=1</script>";

/// A directory of results that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, runs: &[Value]) -> Self {
        let path = std::env::temp_dir().join(format!("contend-report-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("runs")).expect("writable");
        for (nth, run) in runs.iter().enumerate() {
            fs::write(path.join("runs").join(format!("{nth:03}.json")), format!("{run}\n"))
                .expect("writable");
        }
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    fn read(&self) -> Report {
        Report::read(catalogue(), &self.0, None).expect("readable")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("its own directory");
    }
}

fn run(scheme: &str, theta: f64, seed: u64, throughput: f64) -> Value {
    json!({
        "kind": "run", "workload": "ycsb", "scheme": scheme, "workers": 2, "clients_asked": 2, "retry": "same",
        "pinned": false, "warmup_s": 0.1, "asked_s": 1.0, "seed": seed, "round": 0, "build": "b1",
        "settings": { "ycsb.theta": theta, "ycsb.records": 1000 },
        "throughput_txn_s": throughput, "abort_rate": 0.25, "commits": 900, "user_aborts": 0, "measured_s": 1.0,
        "aborts": { "lock_busy": 300 }, "check": { "verdict": "passed" }, "starved": false, "cpu_share": 0.99,
        "latency_us": { "mean": 2.0, "p50": 1.5, "p95": 4.0, "p99": 9.0, "p999": 20.0, "max": 90.0 },
        "by_type": { "read": { "commits": 600, "aborts": {}, "user_aborts": 0, "latency_us": null },
                     "update": { "commits": 300, "aborts": { "lock_busy": 300 }, "user_aborts": 0,
                     "latency_us": null } },
        "breakdown": { "useful": 0.75, "wait": 0.25 }, "machine": { "cpu": "a cpu", "cores": 2, "load_average": 0.5 },
        "command": format!("contend run ycsb --scheme {scheme} --seed {seed}"),
    })
}

/// Six runs of each of two schemes at two points; another scheme is ahead at each point.
fn crossing() -> Vec<Value> {
    let of = |seed: u64| {
        let base = 1_000.0 * seed as f64;
        let points = [("no_wait", 0.5, 1.3), ("silo", 0.5, 1.0), ("no_wait", 0.9, 0.7), ("silo", 0.9, 1.0)];
        points.map(|(scheme, theta, factor)| run(scheme, theta, seed, base * (factor + 0.001 * seed as f64)))
    };
    (1..=6).flat_map(of).collect()
}

const RECIPE: &str = "title = \"Does skew decide?\"\nworkload = \"ycsb\"\nschemes = [\"silo\", \"no_wait\"]\nrepeat = \
6\n\
                      seconds = 1.0\n[settings]\n\"ycsb.records\" = 1000\n[vary]\n\"ycsb.theta\" = [0.9, 0.5]\n\
                      [why]\n\"ycsb.records\" = \"loads quickly\"\n\"ycsb.theta\" = \"the question\"\n";

#[test]
fn who_is_ahead_is_said_with_its_condition() {
    let report = Folder::new("crossing", &crossing()).read();
    let study = &report.studies[0];
    assert_eq!((study.axes.len(), study.axes[0].name.as_str(), study.lines.len()), (1, "ycsb.theta", 4));
    let leaders: Vec<(&str, &str)> =
        study.leaders.iter().map(|leader| (leader.point[0].as_str(), leader.scheme.as_str())).collect();
    assert_eq!(leaders, [("0.5", "no_wait"), ("0.9", "silo")]);
    let text = text(&report);
    assert!(text.contains("the winner changes with the settings: no_wait at 1, silo at 1"), "{text}");
    assert!(
        text.contains("no_wait has 1.30 times the throughput of silo (1.30 .. 1.30) at ycsb.theta = 0.5"),
        "{text}"
    );
    assert!(!text.contains("up to"), "{text}");
}

#[test]
fn a_recipe_gives_title_order_and_reasons_and_says_what_is_missing() {
    let mut runs = crossing();
    runs.pop();
    // A run of another build, and a run that the recipe does not ask for, are kept out of the recipe's study.
    let mut other = run("silo", 0.5, 1, 5.0);
    other["build"] = "b2".into();
    runs.extend([other, run("silo", 0.7, 1, 7.0)]);
    let folder = Folder::new("recipe", &runs);
    folder.write("recipe-1.toml", RECIPE);
    folder.write("recipe-2.toml", "title = 7");
    let report = folder.read();
    let told: Vec<(bool, usize, usize)> =
        report.studies.iter().map(|study| (study.is_of_recipe, study.runs.len(), study.missing)).collect();
    assert_eq!(told, [(true, 23, 1), (true, 1, 23), (false, 1, 0)]);
    let study = &report.studies[0];
    assert_eq!(study.title, "Does skew decide? (build b1)");
    assert_eq!(
        (study.first.as_str(), study.axes[0].values[0].as_str()),
        ("silo", "0.9"),
        "in the recipe's order"
    );
    assert!(report.remarks[0].starts_with("recipe-2.toml is no recipe"), "{:?}", report.remarks);
    let text = text(&report);
    assert!(text.contains("UNFINISHED: 1 run that"), "{text}");
    let page = page(&report);
    assert!(page.contains("<td>ycsb.records *</td><td>1000</td>") && page.contains("<td>loads quickly</td>"));
}

#[test]
fn simulated_runs_belong_to_a_recipe_whatever_its_seconds_are() {
    let mut runs = crossing();
    for run in &mut runs {
        (run["simulated"], run["asked_s"]) = (true.into(), 10.0.into());
    }
    let folder = Folder::new("simulated-recipe", &runs);
    folder.write("recipe-1.toml", RECIPE);
    let report = folder.read();
    let told: Vec<(bool, usize, usize)> =
        report.studies.iter().map(|study| (study.is_of_recipe, study.runs.len(), study.missing)).collect();
    assert_eq!(told, [(true, 24, 0)]);
}

#[test]
fn curves_by_the_number_of_workers_show_their_knee() {
    let of = |(workers, throughput): (u64, f64)| {
        let mut run = run("silo", 0.5, 1, throughput);
        run["workers"] = workers.into();
        run
    };
    // The step to eight workers adds less than half of what each had.
    let runs = [(1, 100.0), (2, 200.0), (4, 380.0), (8, 500.0), (16, 490.0)].map(of);
    let folder = Folder::new("knees", &runs);
    let page = page(&folder.read());
    assert_eq!(page.matches("a knee: the next number of workers adds little").count(), 1);
    let knee = page.split("workers = 4").nth(1).expect("the point has a tooltip");
    assert!(knee.find("adds little") < knee.find("workers = 8"), "the knee is at four workers");
    assert!(page.contains("A hollow marker is a knee"));
}

#[test]
fn reports_tell_of_each_knee_where_the_time_of_the_cores_goes() {
    let of = |(workers, theta, seed, throughput, contention): (u64, f64, u64, f64, f64)| {
        let mut run = run("silo", theta, seed, throughput);
        (run["workers"], run["simulated"]) = (workers.into(), true.into());
        run["simulation"] = json!({
            "spent": { "memory": 1.0 - contention, "contention": contention },
            "hot_parts": [{ "name": format!("part of seed {seed}"), "share": 0.25 }],
        });
        run
    };
    // At theta 0.9 the step to four workers has a knee in the middle one of three repetitions; at 0.5 there is none.
    let runs = [
        (1, 0.5, 1, 100.0, 0.0),
        (2, 0.5, 1, 200.0, 0.0),
        (4, 0.5, 1, 400.0, 0.0),
        (1, 0.9, 1, 100.0, 0.0),
        (2, 0.9, 1, 200.0, 0.0),
        (4, 0.9, 1, 20.0, 0.0),
        (4, 0.9, 2, 250.0, 0.5),
        (4, 0.9, 3, 1_000.0, 0.0),
    ];
    let report = Folder::new("told-knees", &runs.map(of)).read();
    let text = text(&report);
    let told = text.split("knees: ").nth(1).expect("a table");
    let rows: Vec<Vec<&str>> = told.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..4], ["ycsb.theta", "scheme", "knee", "next"], "{told}");
    let (knee, rest) = ("0.9 silo 2 4 10000.00 16000.00 contention 100.0%", "part of seed 2");
    assert!(rows[1].join(" ").starts_with(knee) && rows[1].join(" ").ends_with(rest), "{told}");
    assert_eq!(told.matches(" silo ").count(), 1, "{told}");
    assert!(page(&report).contains("<caption>knees: the first number of cores"));
    assert!(!text_of_crossing().contains("knees"), "workers do not vary there");
}

/// Returns the text of a study in which two schemes cross.
fn text_of_crossing() -> String {
    text(&Folder::new("no-knees", &crossing()).read())
}

#[test]
fn figures_of_many_schemes_are_large_and_stand_alone() {
    let of = |schemes: usize| {
        let names = catalogue().schemes().map(|entry| entry.info.name).cycle();
        let runs: Vec<Value> = names
            .take(schemes)
            .enumerate()
            .flat_map(|(nth, name)| [1, 2].map(|seed| (nth, name, seed)))
            .flat_map(|(nth, name, seed)| [0.5, 0.9].map(|theta| run(name, theta, seed, 100.0 + nth as f64)))
            .collect();
        let report = Folder::new(&format!("many-{schemes}"), &runs).read();
        report.figures().into_iter().find(|figure| figure.title == "Throughput").expect("drawn")
    };
    let (few, many) = (of(2), of(20));
    assert_eq!((few.columns, many.columns), (3, 1));
    assert!(
        many.panels[0].width > 1.5 * few.panels[0].width,
        "{} {}",
        few.panels[0].width,
        many.panels[0].width
    );
}

#[test]
fn variants_are_points_of_their_own() {
    let of = |workers: u64, records: u64, seed: u64| {
        let mut run = run("silo", 0.5, seed, (1_000 * workers + seed) as f64);
        (run["workers"], run["settings"]["ycsb.records"]) = (workers.into(), records.into());
        run
    };
    // The last run mixes the settings of both variants, so it belongs to neither.
    let runs = [of(1, 1000, 1), of(1, 1000, 2), of(2, 2000, 1), of(2, 2000, 2), of(2, 1000, 1)];
    let folder = Folder::new("variants", &runs);
    folder.write(
        "recipe-1.toml",
        "title = \"Do workers help?\"\nworkload = \"ycsb\"\nschemes = [\"silo\"]\nrepeat = 2\nseconds = 1.0\n\
         [[variants]]\nname = \"one\"\nworkers = 1\n\"ycsb.records\" = 1000\n\
         [[variants]]\nname = \"two\"\nworkers = 2\n\"ycsb.records\" = 2000\n\
         [vary]\n\"ycsb.theta\" = [0.5]\n\
         [why]\n\"ycsb.records\" = \"grow with workers\"\n\"ycsb.theta\" = \"not the question\"\n",
    );
    let report = folder.read();
    let told: Vec<(bool, usize, usize)> =
        report.studies.iter().map(|study| (study.is_of_recipe, study.runs.len(), study.missing)).collect();
    assert_eq!(told, [(true, 4, 0), (false, 1, 0)]);
    let study = &report.studies[0];
    let lines: Vec<(&str, usize)> =
        study.lines.iter().map(|line| (line.line.point[0].as_str(), line.runs)).collect();
    assert_eq!(lines, [("one", 2), ("two", 2)]);
    let text = text(&report);
    assert!(text.contains("one") && text.contains("two"), "{text}");
    assert!(page(&report).contains("variant"));
}

#[test]
fn all_forms_tell_the_same_figures_and_the_same_bytes_again() {
    let folder = Folder::new("forms", &crossing());
    let report = folder.read();
    let line = &report.studies[0].lines[0];
    let median = line.line.median().expect("measured");
    let (count, ratio) = (crate::text::count(median), "1.30");
    let (text, page) = (text(&report), page(&report));
    for form in [&text, &page] {
        assert!(form.contains(&count) && form.contains(ratio), "{form}");
    }
    let csv = lines_csv(&report);
    // Fields are counted from the right, because the title contains a comma.
    let place = |line: usize, text: &str| csv.lines().nth(line)?.rsplit(',').position(|field| field == text);
    assert!(place(1, &median.to_string()).is_some(), "{csv}");
    assert_eq!(place(1, &median.to_string()), place(0, "throughput_txn_s"), "{csv}");
    let plots = report.plots();
    assert!(plots[0].svg.contains(&format!("{count} txn/s")));
    assert_eq!(page, super::page(&folder.read()));
    assert_eq!(plots, folder.read().plots());
}

#[test]
fn every_figure_has_plots_with_names_and_a_table_of_the_same_lines() {
    let report = Folder::new("figures", &crossing()).read();
    let figures = report.figures();
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(
        ids,
        ["throughput-1", "ratio-1", "leaders-1", "latency-1", "breakdown-1", "aborts-1", "types-1"]
    );
    for figure in &figures {
        assert!(
            figure.panels.iter().all(|panel| !panel.name.is_empty() && panel.body.len() > 200),
            "{}",
            figure.id
        );
        assert!(!figure.grid.rows.is_empty(), "{}", figure.id);
        let width = figure.grid.head.len();
        assert!(figure.grid.rows.iter().all(|(_, cells)| cells.len() == width), "{}", figure.id);
    }
}

/// Results of a scheme that tells what only it can see of a run, beside one that tells nothing.
fn insightful() -> Vec<Value> {
    let mut runs = crossing();
    for run in runs.iter_mut().filter(|run| run["scheme"] == "silo") {
        run["retries"] = json!({ "mean": 0.5, "p50": 0, "p99": 9, "max": 12, "buckets": [[0, 90], [9, 10]] });
        run["insight"] = json!({
            "sampled": 10,
            "stages": [{ "stage": "waiting in line", "time_us_mean": 30.0 },
                       { "stage": "copying", "time_us_mean": 10.0 }],
            "batch": { "stale": 1, "retries": [0, 2, 0], "edges": [[0, 1], [1, 0], [2, 0]], "victims": [1],
                       "order": [2, 0] },
        });
    }
    runs
}

#[test]
fn a_scheme_that_tells_more_of_a_run_has_more_figures() {
    let folder = Folder::new("insight", &insightful());
    let report = folder.read();
    let figures = report.figures();
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids[4..], ["breakdown-1", "stages-1", "aborts-1", "retries-1", "types-1", "batch-1"]);
    let rows = |id: &str| &figures.iter().find(|figure| figure.id == id).expect("drawn").grid.rows;
    let of_silo = |at: &str, cells: &[&str]| -> Vec<String> {
        [at, "silo"].iter().chain(cells).map(|&cell| cell.to_owned()).collect()
    };
    assert_eq!(rows("stages-1").len(), 2, "a line for each point of the one scheme");
    assert_eq!(rows("stages-1")[0].1, of_silo("0.5", &["30.0 us", "10.0 us"]));
    assert_eq!(rows("retries-1")[0].1, of_silo("0.5", &["90.0%", "0.50", "0", "9", "12"]));
    assert_eq!(rows("batch-1").len(), 6);
    assert_eq!(rows("batch-1")[1].1, of_silo("0.5", &["2", "2", "1", "1", "victim"]));
    let page = page(&report);
    for said in [
        "waiting in line",
        "A batch before and after",
        "<desc>silo, ycsb.theta = 0.5, before: 3 transactions",
    ] {
        assert!(page.contains(said), "{said}");
    }
    assert_eq!(
        page.matches("class=\"arc back").count(),
        2 * 2,
        "two arcs in each batch before, and none after"
    );
    assert_eq!(page, super::page(&folder.read()), "the same results give the same bytes");
    let batch = report.plots().into_iter().find(|plot| plot.name == "batch-1.svg").expect("a file");
    assert!(batch.svg.contains("class=\"arc fore s0\"") && batch.svg.contains("stroke-dasharray"));
}

#[test]
fn a_batch_that_contradicts_itself_is_not_drawn() {
    let mut runs = insightful();
    runs.iter_mut().filter(|run| run["scheme"] == "silo").for_each(|run| {
        run["insight"]["batch"]["order"] = json!([2, 7]);
    });
    let page = page(&Folder::new("unsound", &runs).read());
    assert!(page.contains("waiting in line") && !page.contains("A batch before and after"));
}

#[test]
fn no_text_of_a_result_becomes_markup() {
    let mut runs = crossing();
    for run in &mut runs {
        run["settings"][HOSTILE] =
            run["seed"].as_u64().expect("a number").is_multiple_of(2).to_string().into();
        run["machine"]["cpu"] = HOSTILE.into();
        run["command"] = HOSTILE.into();
        run["aborts"][HOSTILE] = 7.into();
        run["breakdown"][HOSTILE] = 0.5.into();
        run["insight"] = json!({ "sampled": 1, "stages": [{ "stage": HOSTILE, "time_us_mean": 1.0 }] });
        run["by_type"][HOSTILE] = json!({ "commits": 5 });
        if run["scheme"] == "silo" {
            run["scheme"] = HOSTILE.into();
        }
    }
    let folder = Folder::new("hostile", &runs);
    let recipe = RECIPE.replace("Does skew decide?", HOSTILE);
    folder.write("recipe-1.toml", &recipe.replace("[\"silo\", \"no_wait\"]", "[\"no_wait\"]"));
    let report = folder.read();
    let page = page(&report);
    assert_eq!(page.matches("<script").count(), 2, "the data and ours");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("&lt;script&gt;window.intruder=1"));
    let curves = report.curves(&[]).expect("theta varies");
    assert!(report.plots().iter().chain(&curves).all(|plot| !plot.svg.contains("<script")));
    assert!(runs_csv(&report).lines().count() == 25, "a row a run");
}

#[test]
fn runs_that_failed_are_counted_and_their_figures_left_out() {
    let mut runs = crossing();
    runs[0]["throughput_txn_s"] = Value::Null;
    runs[0]["check"]["verdict"] = "failed".into();
    runs[1]["starved"] = true.into();
    let report = Folder::new("failed", &runs).read();
    let line = &report.studies[0].lines[0];
    assert_eq!((line.runs, line.failed, line.line.throughput_txn_s.len()), (6, 1, 5));
    let text = text(&report);
    assert!(text.contains("CHECK FAILED in 1 run") && text.contains("STARVED: in 1 of 24 runs"), "{text}");
    assert!(page(&report).contains("<td class=\"n\">no result</td>"));
}

#[test]
fn a_winner_that_starves_a_type_is_never_named_without_it() {
    let of = |seed: u64| {
        let points = [("silo", 0.5, 1.3), ("no_wait", 0.5, 1.0), ("silo", 0.9, 1.4), ("no_wait", 0.9, 1.0)];
        points.map(|(scheme, theta, factor)| {
            let mut run = run(scheme, theta, seed, 1_000.0 * (factor + 0.001 * seed as f64));
            run["retry"] = "drop".into();
            let updates = if scheme == "silo" { 0 } else { 290 };
            run["by_type"]["update"]["commits"] = updates.into();
            run["mix"] = json!({ "read": 0.5, "update": 0.5 });
            run
        })
    };
    let runs: Vec<Value> = (1..=6).flat_map(of).collect();
    let report = Folder::new("starving", &runs).read();
    assert_eq!(report.studies[0].lines.iter().filter(|line| !line.starved_types.is_empty()).count(), 2);
    let text = text(&report);
    let winner = "silo is ahead of all others at every one, but STARVES: it committed 0 update at 2 of them where its \
                  share would be 3,600.";
    assert!(text.contains(winner), "{text}");
    for line in
        text.lines().filter(|line| line.contains("is ahead of") || line.contains("times the throughput"))
    {
        assert!(line.contains("STARVES"), "{line}");
    }
    let caution =
        "STARVED TYPE: silo committed 0 update at 2 of 2 points, where its share of the mix would be 3,600.";
    assert!(text.contains(caution) && page(&report).contains("STARVED TYPE"), "{text}");
    assert!(
        text.contains("no_wait against silo: slower at 2 of 2 points") == (report.studies[0].first == "silo")
    );
    let against = Report::read(catalogue(), &Folder::new("starving-against", &runs).0, Some("no_wait"))
        .expect("measured");
    let told = super::text(&against);
    let line = told.lines().find(|line| line.contains("silo against no_wait")).expect("compared");
    assert!(line.contains("but silo STARVES"), "{line}");
    assert!(runs_csv(&report).contains("starved_types") && lines_csv(&report).contains(",update,"));
}

#[test]
fn a_setting_of_one_scheme_says_nothing_to_the_others() {
    let mut runs = crossing();
    for run in runs.iter_mut().filter(|run| run["scheme"] == "silo") {
        let epoch = if run["settings"]["ycsb.theta"] == 0.5 { 10 } else { 40 };
        run["settings"]["silo.epoch_ms"] = epoch.into();
    }
    let report = Folder::new("owned", &runs).read();
    let study = &report.studies[0];
    let names: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["silo.epoch_ms", "ycsb.theta"]);
    let of = |scheme: &str| study.lines.iter().filter(|line| line.line.scheme == scheme).count();
    assert_eq!((of("silo"), of("no_wait")), (2, 4), "the other stands beside each of its values");
}

#[test]
fn the_tested_region_names_what_was_covered_and_what_was_not() {
    let report = Folder::new("region", &crossing()).read();
    let text = text(&report);
    assert!(text.contains("Tested: ycsb.theta from 0.5 to 0.9 (2 levels), all else fixed."), "{text}");
    let page = page(&report);
    let row = "<td>ycsb.theta</td><td>0.5 to 0.9</td><td>a number from 0 to 0.999</td><td>2</td>";
    assert!(page.contains(row), "the legal range stands beside it");
}

#[test]
fn another_scheme_can_be_what_others_are_compared_with() {
    let folder = Folder::new("against", &crossing());
    let report = Report::read(catalogue(), &folder.0, Some("silo")).expect("measured");
    assert_eq!(report.studies[0].first, "silo");
    let says = Report::read(catalogue(), &folder.0, Some("mvto")).expect_err("not measured").0;
    assert!(says.contains("--against mvto") && says.contains("no_wait, silo"), "{says}");
}

#[test]
fn each_scheme_has_a_curve_beside_those_that_were_asked_for() {
    let report = Folder::new("curves", &crossing()).read();
    let curves = report.curves(&["silo".to_owned()]).expect("theta varies");
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(names, ["no_wait.svg", "silo.svg"]);
    let has = |nth: usize, name: &str| curves[nth].svg.contains(&format!(">{name}</text>"));
    assert!(has(0, "no_wait") && has(0, "silo"), "{}", curves[0].svg);
    assert!(!has(1, "no_wait") && has(1, "silo"), "nobody stands beside itself");
    let points = |nth: usize| curves[nth].svg.matches("<title>").count();
    assert_eq!((points(0), points(1)), (5, 3), "two points a scheme, and the title");
    let says = report.curves(&["mvto".to_owned()]).expect_err("not measured").0;
    assert!(says.contains("--beside mvto") && says.contains("no_wait, silo"), "{says}");
}

#[test]
fn where_nothing_varies_there_is_no_curve() {
    let report = Folder::new("uncurved", &[run("silo", 0.5, 1, 5.0), run("silo", 0.5, 2, 6.0)]).read();
    let says = report.curves(&[]).expect_err("a point is no line").0;
    assert!(says.contains("nothing varies"), "{says}");
}

#[test]
fn conditions_and_claims_are_shown_with_what_they_rest_on() {
    let folder = Folder::new("conditions", &[]);
    let point = |theta: f64, role: &str, class: &str, predicted: Value| {
        json!({ "point": { "ycsb.theta": theta, "workers": 2 }, "features": { "ycsb.theta": theta },
                "role": role, "pairs": 6, "ratio": 1.2,
                "interval": { "low": 1.1, "high": 1.3, "confidence": 0.9 }, "class": class, "predicted": predicted,
                "runs": [] })
    };
    let points = [
        point(0.3, "explored", "level", Value::Null),
        point(0.95, "held_out", "a", "a".into()),
        point(0.9, "held_out", "level", "a".into()),
    ];
    let conditions = json!({
        "schema": 1, "kind": "conditions", "workload": "ycsb", "a": "silo", "b": "no_wait", "margin": 1.1,
        "space": [{ "name": "ycsb.theta", "kind": "linear" }, { "name": "workers", "kind": "integer" }],
        "crossings": [{ "low": 0.8, "high": 0.85, "ahead_from_high": "silo", "unclear": null }],
        "points": points,
    });
    folder.write("conditions.json", &conditions.to_string());
    let held_out = |agree: u64, share: f64| {
        json!({
            "points": 2, "agree": agree, "undecided": 0, "covered": 0, "covered_agree": 0, "share": share,
            "interval": { "low": 0.0, "high": 0.8, "confidence": 0.9 }, "seed": 1,
        })
    };
    let claim = json!({
        "schema": 1, "kind": "claim", "name": "skew", "workload": "ycsb", "metric": "throughput_txn_s",
        "statement": "silo beats no_wait by 1.1x or more when ycsb.theta > 0.8",
        "a": "silo", "b": "no_wait", "winner": "a", "margin": 1.1, "recheck": "contend recheck x",
        "predicate": [[{ "feature": "ycsb.theta", "above": 0.8 }]], "in_words": "ycsb.theta > 0.8",
        "space": [], "settings": {}, "seconds": 1.0, "warmup": 0.0, "pin": false,
        "exploration": { "points": 1, "runs": 2 }, "held_out": held_out(1, 0.5),
        "otherwise": { "retry": "drop", "held_out": held_out(0, 0.0), "verdict": "does_not_hold" },
        "mechanisms": [{
            "name": "backoff", "setting": "retry", "from": "same", "to": "backoff", "says": "nothing", "at": {},
            "gap_before": 1.2, "gap_after": 1.2, "interval": {}, "p_adjusted": 1.0, "share": null,
            "repetitions": 3,
        }],
        "holds_without": [], "evidence": [], "trust": "A", "build": "b1", "machine": {},
    });
    folder.write("claims/skew.json", &claim.to_string());
    let report = folder.read();
    let (text, page) = (text(&report), page(&report));
    for form in [&text, &page] {
        assert!(form.contains("Of 2 held-out points, which were not used to find the rule, 1"), "{form}");
        assert!(
            form.contains("flips between ycsb.theta = 0.8 and 0.85: from there on silo is ahead"),
            "{form}"
        );
        assert!(
            form.contains("1 of 2 held-out points agree (50.0%)") && form.contains("contend recheck x"),
            "{form}"
        );
        assert!(form.contains("with retry=drop"), "{form}");
        assert!(
            form.contains("confidence: does not hold")
                && form.contains("0 of 2 held-out points agree (0.0%)"),
            "{form}"
        );
    }
    assert!(page.contains("The ratio over ycsb.theta"), "what the claim is stated in");
    assert!(
        page.contains("class=\"region\"") && page.contains("NOT AS PREDICTED") && page.contains("backoff")
    );
    assert!(
        text.contains("predicate: ycsb.theta > 0.8") || text.contains("predicate: ycsb.theta &gt; 0.8"),
        "{text}"
    );
}

#[test]
fn of_points_that_were_drawn_none_is_made_a_finding() {
    let drawn = |nth: u32| {
        let mut run =
            run(["silo", "no_wait"][nth as usize % 2], f64::from(nth / 2) / 20.0, 1, 100.0 + f64::from(nth));
        run["settings"]["ycsb.records"] = (1_000 + nth / 2 * 7 % 9).into();
        run
    };
    let report = Folder::new("drawn", &(0..20).map(drawn).collect::<Vec<Value>>()).read();
    let (text, page) = (text(&report), page(&report));
    assert!(
        text.contains("drawn rather than combined") && page.contains("drawn rather than combined"),
        "{text}"
    );
    assert!(!text.contains("is ahead") && !text.contains("FEW REPETITIONS"), "{text}");
    assert!(text.contains("Tested: "), "{text}");
}

#[test]
fn what_is_no_result_is_refused_with_the_way_out() {
    let refusal = |folder: &Folder| Report::read(catalogue(), &folder.0, None).expect_err("refused").0;
    let folder = Folder::new("odd", &[]);
    assert!(refusal(&folder).contains("contend sweep"), "{}", refusal(&folder));
    folder.write("runs/a.json", "{\"kind\": \"run\", \"work");
    assert!(refusal(&folder).contains("a.json`: is not JSON"), "{}", refusal(&folder));
    folder.write("runs/a.json", "{\"kind\": \"run\", \"scheme\": \"silo\"}");
    assert!(refusal(&folder).contains("has no `workload`"), "{}", refusal(&folder));
    let run =
        |more: &str| format!("{{\"kind\": \"run\", \"scheme\": \"silo\", \"workload\": \"ycsb\", {more}}}");
    folder.write("runs/a.json", &run("\"settings\": 7"));
    let says = refusal(&folder);
    assert!(says.contains("invalid type: integer `7`") && says.contains("move it elsewhere"), "{says}");
    folder.write("runs/a.json", &run("\"schema\": 2"));
    assert!(refusal(&folder).contains("has version 2 of the schema of results"), "{}", refusal(&folder));
    folder.write("runs/a.json", &run("\"schema\": 1, \"colour\": 7"));
    assert_eq!(folder.read().studies[0].lines[0].line.median(), None, "a name that is not known is accepted");
    folder.write("conditions.json", "[]");
    assert!(refusal(&folder).contains("conditions.json"), "{}", refusal(&folder));
    assert!(Report::read(catalogue(), &folder.0.join("nowhere"), None).is_err());
}
