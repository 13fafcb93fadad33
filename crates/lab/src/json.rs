//! Results as JSON: one object a line, with a version. Names and units do not change within a version; new names may be
//! added. [`results`] has the types.

use std::collections::BTreeMap;

use engine::entry::{Entry, Given, Variant};
use engine::setting::Range;
use engine::{Abort, Insight, OrderedBatch};
use results::{
    BatchPicture, Check, Choice, Choices, Counts, Histogram, Index, Latency, Log, Retries, Run, RunInsight,
    Series, Simulation, Spread, StageMean, Summary, Table, Turns, TypeStarved,
};
use runs::{CheckVerdict, Logged, Phase, TableMemory};
use serde_json::{Map, Value, json};
use simulations::HotLine;
use stdx::RetryCounts;
use trials::{CampaignReport, Replay, TrialSubject, TrialViolation};

use crate::logs::Logs;
use crate::machine::Cache;
use crate::measure::{Totals, abort_rate};
use crate::registry::SettingOf;
use crate::simulation::{PATIENCE, WARMUP_TXNS};
use crate::steady::Steadiness;
use crate::traffic::{Arrival, rate_txn_s};
use crate::{Catalogue, Machine, Plan, Record, Results, Starvation, StarvedType};

pub use results::SCHEMA;

/// Returns the result of a run.
pub fn run(plan: &Plan, record: &Record, machine: &Machine) -> Run {
    let measured = &record.measured;
    let may_queue = plan.job.traffic.may_queue();
    let is_result = record.is_result();
    let totals = record.totals();
    let of_type = |(info, tally): (&engine::TxnType, _)| {
        (info.name.to_owned(), counts(&Totals::from(tally), may_queue, is_result))
    };
    let of_mix = |(info, share): (&engine::TxnType, &f64)| (info.name.to_owned(), *share);
    let (series, offer, [worker, database]) = (&measured.series, record.offer(plan), measured.turns);
    Run {
        choices: choices(plan, record.subject),
        round: record.round as u64,
        load_s: seconds(measured.load_ns),
        measured_s: seconds(measured.measured_ns),
        check_s: seconds(measured.check_ns),
        is_interrupted: measured.is_interrupted,
        check: check(&measured.verdict),
        peak_rss_bytes: record.peak_rss_bytes,
        memory_loaded: measured.memory_loaded.iter().map(table).collect(),
        memory: measured.memory.iter().map(table).collect(),
        log: measured.logged.as_ref().map(|logged| log(plan, logged)),
        is_starved: record.is_starved(),
        cpu_share: record.cpu_share(),
        machine: self::machine(machine),
        throughput_txn_s: record.throughput(),
        abort_rate: is_result.then(|| abort_rate(totals.commits, &totals.aborts)),
        by_type: plan.workload.types.iter().zip(&measured.types).map(of_type).collect(),
        mix: plan.workload.types.iter().zip(&record.mix).map(of_mix).collect(),
        starved_types: is_result.then(|| starved_types([record], plan)),
        breakdown: is_result.then(|| breakdown(&measured.phase_ticks)).flatten(),
        insight: is_result.then(|| insight(&measured.insight)).flatten(),
        offered_txn_s: offer.map(|offer| offer.offered_txn_s),
        skipped: offer.map(|offer| offer.skipped),
        is_target_sustained: offer.map(|offer| offer.is_sustained),
        warmed_up_s: seconds(series.warmup_ns),
        is_warmup_steady: series.is_warm,
        turns: Turns { worker, database },
        is_steady: record.steadiness().map(|steadiness| steadiness == Steadiness::Steady),
        series: is_result.then(|| Series {
            interval_s: seconds(series.interval_ns),
            warmup_txn_s: series.warmup_txn_s.clone(),
            measured_txn_s: series.measured_txn_s.clone(),
        }),
        counts: counts(&totals, may_queue, is_result),
        tuned: plan.tuned(&plan.subjects[record.subject]).collect(),
        simulation: simulation(plan, record),
        ..Run::default()
    }
}

/// Returns the summary of all runs of a scheme.
pub fn summary(plan: &Plan, results: &Results, machine: &Machine, subject: usize) -> Summary {
    let ratio = results.ratio_to_first(plan, machine, subject);
    Summary {
        choices: choices(plan, subject),
        results: results.of(subject).len() as u64,
        throughput_txn_s: results.throughput(subject).map(Spread::from),
        ratio_to_first: ratio.map(|ratio| ratio.spread.into()),
        ratio_basis: ratio.map(|ratio| ratio.basis),
        ratio_to_first_wall_time: ratio.map(|ratio| ratio.by_wall.into()),
        first: plan.subjects[0].scheme.name.to_owned(),
        is_interrupted: results.is_interrupted(),
        is_starved: results.of(subject).iter().any(|record| record.is_starved()),
        starved_types: starved_types(results.of(subject), plan),
        ..Summary::default()
    }
}

/// Returns the schemes of the catalogue.
pub fn schemes(catalogue: Catalogue) -> Value {
    let variant =
        |Variant { name, says, given }: &Variant| json!({ "name": name, "says": says, "set": set(given) });
    let scheme = |Entry { info, variants, .. }: &Entry| {
        json!({
            "name": info.name,
            "title": info.title,
            "family": info.family.name(),
            "isolation": info.isolation.name(),
            "paper": info.paper,
            "idea": info.idea,
            "one_worker_only": info.workers == engine::Admits::One,
            "variants": variants.iter().map(variant).collect::<Vec<_>>(),
        })
    };
    catalogue.schemes().map(scheme).collect()
}

/// Returns settings that differ from the standard ones, as `--set` takes them.
fn set(given: Given) -> Vec<String> {
    given.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Returns the workloads of the catalogue.
pub fn workloads() -> Value {
    let workload = |info: &runs::WorkloadInfo| {
        let types: Vec<Value> =
            info.types.iter().map(|of| json!({ "name": of.name, "read_only": of.read_only })).collect();
        json!({ "name": info.name, "idea": info.idea, "types": types })
    };
    runs::WORKLOADS.iter().map(workload).collect()
}

/// Returns the settings of the catalogue.
pub fn settings(catalogue: Catalogue) -> Value {
    let setting = |(of, setting): (SettingOf, &engine::setting::Setting)| {
        let (kind, owner) = match of {
            SettingOf::Run => ("run", None),
            SettingOf::Workload(name) => ("workload", Some(name)),
            SettingOf::Scheme(name) => ("scheme", Some(name)),
        };
        json!({
            "name": setting.name,
            "of": kind,
            "owner": owner,
            "standard": setting.default,
            "range": setting.range.to_string(),
            "unit": setting.unit,
            "doc": setting.doc,
            "stresses": setting.stresses,
            "published": catalogue.published_as(setting.name).map(|published| published.value),
            "published_in": catalogue.published_as(setting.name).map(|published| published.place),
        })
    };
    catalogue.settings().map(setting).collect()
}

/// Returns the result of checking a scheme's isolation.
pub fn report(report: &CampaignReport) -> Value {
    let violation = |violation: &TrialViolation| {
        let (kind, seed, name, schedule) = match &violation.replay {
            Replay::Explored(TrialSubject::Seed(seed), schedule) => {
                ("explored", Some(seed), None, Some(schedule.to_string()))
            }
            Replay::Explored(TrialSubject::Program(program), schedule) => {
                ("search", None, Some(program.name), Some(schedule.to_string()))
            }
            Replay::Script(name) => ("script", None, Some(*name), None),
            Replay::Native(seed) => ("native", Some(seed), None, None),
        };
        json!({
            "what": violation.what,
            "story": violation.story,
            "trial": kind,
            "seed": seed,
            "name": name,
            "schedule": schedule,
        })
    };
    json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "kind": "check",
        "scheme": report.scheme,
        "promise": report.promise.name(),
        "transactions": report.transactions,
        "schedules": report.schedules,
        "scripts": report.scripts,
        "searches": report.searches,
        "undecided": report.undecided,
        "violations": report.violations.iter().map(violation).collect::<Vec<_>>(),
        "permitted_shown": report.permitted_shown.keys().collect::<Vec<_>>(),
        "blind": report.is_blind(),
        "interrupted": report.is_interrupted,
    })
}

/// Returns the bugs that can be planted.
pub fn plants(catalogue: Catalogue) -> Value {
    let of_scheme = |entry: &'static Entry| {
        let planted = move |planted: &'static trials::Planted| {
            json!({
                "scheme": entry.info.name,
                "name": planted.plant.name,
                "says": planted.plant.says,
                "under": set(planted.under),
                "may_be_missed": planted.may_be_missed,
            })
        };
        catalogue.listed(entry.info.name).trial.plants().iter().map(planted)
    };
    catalogue.schemes().flat_map(of_scheme).collect()
}

/// Returns the programs that are searched.
pub fn searches() -> Value {
    trials::SEARCHES.iter().map(|program| json!({ "name": program.name, "says": program.says })).collect()
}

/// Returns the JSON Schema of results.
pub fn schema() -> Value {
    results::schema().into()
}

/// Returns the choices for the runs of a scheme in a plan as an object.
pub(crate) fn conditions(plan: &Plan, subject: usize) -> Map<String, Value> {
    let Ok(Value::Object(object)) = serde_json::to_value(choices(plan, subject)) else {
        panic!("choices are an object, whose keys are text")
    };
    object
}

/// Returns all choices for the runs of a scheme in a plan.
pub(crate) fn choices(plan: &Plan, subject: usize) -> Choices {
    let subject = &plan.subjects[subject];
    let [warmup_s, asked_s, cooldown_s] = plan.times_s();
    let (traffic, simulation) = (&plan.job.traffic, plan.simulation.as_ref());
    Choices {
        schema: results::Version::default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workload: plan.workload.name.to_owned(),
        scheme: subject.scheme.name.to_owned(),
        isolation: subject.isolation().name().to_owned(),
        workers: plan.job.workers as u64,
        clients: subject.clients as u64,
        clients_asked: plan.job.clients as u64,
        retry: plan.job.retry.name().to_owned(),
        is_pinned: plan.job.pin,
        seed: plan.job.seed,
        repeat: plan.repeat as u64,
        warmup_s,
        is_warmup_auto: plan.job.is_steady.is_some(),
        asked_s,
        cooldown_s,
        mode: traffic.mode.name().to_owned(),
        rtt_us: traffic.rtt_ns / 1_000,
        batch: traffic.batch,
        arrivals: Arrival::of(traffic).name().to_owned(),
        rate_txn_s: rate_txn_s(traffic),
        is_simulated: simulation.is_some(),
        simulated_on: simulation.map(|simulation| simulation.asked.clone()),
        machine_digest: simulation.map(|simulation| simulation.digest.clone()),
        placement: simulation.map(|simulation| simulation.placement.name().to_owned()),
        memory: simulation.map(|simulation| simulation.memory.name()),
        smt: simulation.and_then(|simulation| simulation.smt.map(u64::from)),
        txns: simulation.map(|simulation| simulation.txns).or(plan.requests),
        warmup_txns: simulation.map(|it| it.warmup_txns).filter(|txns| *txns != WARMUP_TXNS),
        patience: simulation.map(|it| it.patience).filter(|times| *times != PATIENCE),
        lookahead_ns: simulation.map(|simulation| simulation.lookahead_ps / 1_000),
        settings: subject
            .values
            .iter()
            .map(|(name, value)| (name.to_owned(), setting(plan.catalogue, name, value)))
            .collect(),
    }
}

/// Returns a setting's value: as a number or a switch if the setting's range is one, else as text.
fn setting(catalogue: Catalogue, name: &str, value: &str) -> Choice {
    let found = catalogue.settings().find(|(_, setting)| setting.name == name);
    match found.map(|(_, setting)| setting.range) {
        Some(Range::Int(..) | Range::Real(..) | Range::Switch) => Choice::of_text(value),
        _ => value.into(),
    }
}

/// Returns the counts, and the latencies if the run is a result. If no request may wait before it is served, the
/// service time equals the latency, and its histogram is not written a second time.
fn counts(totals: &Totals, may_queue: bool, is_result: bool) -> Counts {
    let reasons = Abort::ALL.into_iter().zip(totals.aborts).filter(|(_, count)| *count > 0);
    let service_ns = if may_queue { &totals.service_ns } else { &totals.latency_ns };
    Counts {
        commits: totals.commits,
        user_aborts: totals.user_aborts,
        aborts: reasons.map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
        retries: retries(&totals.retries),
        latency_us: is_result.then(|| latency(&totals.latency_ns)).flatten(),
        service_us: is_result.then(|| latency(service_ns)).flatten(),
        latency_histogram: is_result.then(|| histogram(&totals.latency_ns)),
        service_histogram: (is_result && may_queue).then(|| histogram(&totals.service_ns)),
    }
}

/// Returns a whole histogram: for each nonempty bucket its longest duration and its count. Durations beyond the last
/// bucket are counted separately.
fn histogram(ns: &stdx::Histogram) -> Histogram {
    Histogram { unit: "ns".to_owned(), buckets: ns.buckets().collect(), beyond_range: ns.overflows() }
}

fn latency(ns: &stdx::Histogram) -> Option<Latency> {
    let us = |ns: u64| ns as f64 / 1e3;
    (ns.count() > 0).then(|| Latency {
        mean: ns.mean() / 1e3,
        p50: us(ns.quantile(0.5)),
        p95: us(ns.quantile(0.95)),
        p99: us(ns.quantile(0.99)),
        p999: us(ns.quantile(0.999)),
        max: us(ns.max()),
        beyond_range: ns.overflows(),
    })
}

/// Returns the share of each phase in the sampled time; `None` if nothing was sampled.
fn breakdown(ticks: &[u64; Phase::COUNT]) -> Option<BTreeMap<String, f64>> {
    let sum: u64 = ticks.iter().sum();
    let shares = Phase::NAMES.into_iter().zip(ticks);
    (sum > 0).then(|| shares.map(|(name, &ticks)| (name.to_owned(), ticks as f64 / sum as f64)).collect())
}

/// Returns the retries of committed transactions; `None` if there are none of these.
fn retries(counts: &RetryCounts) -> Option<Retries> {
    (counts.count() > 0).then(|| Retries {
        mean: counts.mean(),
        p50: counts.quantile(0.5).into(),
        p99: counts.quantile(0.99).into(),
        max: counts.max().into(),
        buckets: counts.buckets().map(|(retries, count)| (retries.into(), count)).collect(),
    })
}

/// Returns the observations that only the scheme could make; `None` if it made none.
fn insight(insight: &Insight) -> Option<RunInsight> {
    let Insight { stages, batch } = insight;
    let sampled = stages.as_ref().map_or(0, |stages| stages.transactions);
    let mean = |&(stage, ns): &(&str, u64)| {
        let time_us_mean = ns as f64 / 1e3 / sampled.max(1) as f64;
        StageMean { stage: stage.to_owned(), time_us_mean }
    };
    let stages: Vec<StageMean> = stages.iter().flat_map(|stages| &stages.ns).map(mean).collect();
    let batch = batch.as_ref().map(picture);
    (!stages.is_empty() || batch.is_some()).then_some(RunInsight { sampled, stages, batch })
}

fn picture(batch: &OrderedBatch) -> BatchPicture {
    let OrderedBatch { stale, retries, edges, victims, order } = batch.clone();
    BatchPicture { stale, retries, edges, victims, order }
}

pub(crate) fn check(verdict: &CheckVerdict) -> Check {
    let (verdict, violations) = match verdict {
        CheckVerdict::Passed => (results::CheckVerdict::Passed, &[][..]),
        CheckVerdict::Skipped => (results::CheckVerdict::Skipped, &[][..]),
        CheckVerdict::Failed(violations) => (results::CheckVerdict::Failed, &violations[..]),
    };
    Check { verdict, details: violations.iter().map(ToString::to_string).collect() }
}

/// Returns the starved types of transaction of these runs of a scheme, taken together.
fn starved_types<'r>(records: impl IntoIterator<Item = &'r Record>, plan: &Plan) -> Vec<TypeStarved> {
    let mut starvation = Starvation::default();
    records.into_iter().for_each(|record| record.add_to(plan, &mut starvation));
    let told = starvation.types().into_iter();
    told.map(|StarvedType { name, commits, expected, .. }| TypeStarved { name, commits, expected }).collect()
}

/// Returns the simulated machine and the costs of a run; `None` if the run is native.
fn simulation(plan: &Plan, record: &Record) -> Option<Simulation> {
    let (of, costs) = (plan.simulation.as_ref()?, record.simulated.as_ref()?);
    let constants = of.constants().into_iter();
    let spent_s = costs.parts().into_iter().map(|(name, ps)| (name.to_owned(), ps as f64 / 1e12));
    let shares = costs.shares(plan, record).into_iter();
    Some(Simulation {
        machine: of.machine.name.clone(),
        title: of.machine.title.clone(),
        digest: of.digest.clone(),
        threads: of.machine.threads().into(),
        placement: of.placement.name().to_owned(),
        constants: constants.map(|(basis, count)| (basis.name().to_owned(), count as u64)).collect(),
        basis: of.weakest().name().to_owned(),
        trust: of.trust(),
        half_width: record.measured.series.half_width(),
        stalled_s: seconds(record.measured.series.stalled_ns),
        accesses: costs.counts.accesses,
        implicit_rows: costs.implicit_rows,
        host_s: seconds(costs.host_ns),
        slowdown: costs.slowdown(record),
        spent_s: spent_s.collect(),
        spent: shares.map(|(name, share)| (name.to_owned(), share)).collect(),
        hot_lines: costs.hottest.iter().map(hottest).collect(),
        hot_parts: costs.hot_parts.iter().map(hottest).collect(),
    })
}

fn hottest(line: &HotLine) -> results::HottestLine {
    results::HottestLine { name: line.name.clone(), share: line.share }
}

/// Returns the figures of the log, and the file systems that it was written to.
fn log(plan: &Plan, logged: &Logged) -> Log {
    let Logged { bytes, rounds, checkpoints, checkpoint_ns, digest } = *logged;
    let file_systems = plan.logs.as_ref().map(Logs::file_systems);
    Log {
        bytes,
        rounds,
        checkpoints,
        checkpoint_s: seconds(checkpoint_ns),
        digest: hex(digest),
        file_systems,
    }
}

/// Returns a 64-bit number as hexadecimal text: many readers of JSON keep only 53 bits of a number.
pub(crate) fn hex(number: u64) -> String {
    format!("{number:#018x}")
}

fn table(table: &TableMemory) -> Table {
    let index = |&(name, entries, bytes): &(&str, usize, usize)| Index {
        index: name.to_owned(),
        entries: entries as u64,
        bytes: bytes as u64,
    };
    Table {
        table: table.name.to_owned(),
        entries: table.entries as u64,
        row_bytes: table.row_bytes as u64,
        row_bytes_free: table.row_bytes_free as u64,
        version_bytes: table.version_bytes as u64,
        version_bytes_free: table.version_bytes_free as u64,
        index_bytes: table.index_bytes as u64,
        secondary: table.secondary.iter().map(index).collect(),
    }
}

/// Returns a machine and its state.
pub(crate) fn machine(machine: &Machine) -> results::Machine {
    let Machine { cpu, kernel, clock_source, governor, huge_pages, .. } = machine.clone();
    results::Machine {
        cpu,
        cores: machine.cores as u64,
        memory_bytes: machine.memory_bytes,
        cache_bytes: machine.cache_bytes,
        kernel,
        is_virtual: machine.is_virtual,
        threads_per_core: machine.threads_per_core as u64,
        physical_cores: machine.physical_cores as u64,
        numa_nodes: machine.numa_nodes as u64,
        caches: machine.caches.iter().map(cache).collect(),
        clock_source,
        cpu_quota: machine.cpu_quota,
        memory_limit_bytes: machine.memory_limit_bytes,
        governor,
        huge_pages,
        is_numa_balanced: machine.is_numa_balanced,
        load_average: Some(machine.load_average),
        memory_available_bytes: Some(machine.memory_available_bytes),
    }
}

fn cache(cache: &Cache) -> results::Cache {
    let Cache { level, ref kind, bytes, shared_by } = *cache;
    results::Cache { level, kind: kind.clone(), bytes, shared_by: shared_by as u64 }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
pub(crate) mod tests {
    use engine::driver::Arrived;

    use super::*;
    use crate::measure::tests::{failed, record};
    use crate::registry::tests::catalogue;
    use crate::{Request, StandardValues};

    /// Returns the run of an object, which need not have all names.
    pub(crate) fn given(object: Value) -> Run {
        serde_json::from_value(object).expect("a run")
    }

    /// Returns the object of a run.
    fn run(plan: &Plan, record: &Record, machine: &Machine) -> Value {
        json!(super::run(plan, record, machine))
    }

    /// Returns the object of a summary.
    fn summary(plan: &Plan, results: &Results, machine: &Machine, subject: usize) -> Value {
        json!(super::summary(plan, results, machine, subject))
    }

    fn plan() -> Plan {
        let set = vec!["ycsb.records=100".to_owned()];
        Plan::new(
            catalogue(),
            &Request { schemes: Some("silo".to_owned()), repeat: 2, set, ..Request::new("ycsb") },
        )
        .expect("legal")
    }

    /// The keys that every object of a run has, whatever its outcome.
    const RELIED_ON: &str = "schema kind workload scheme isolation workers clients retry seed settings load_s \
                             measured_s commits user_aborts aborts throughput_txn_s abort_rate latency_us by_type \
                             mix starved_types breakdown check peak_rss_bytes starved machine version";

    /// Returns the names in an object and in the objects within, as paths. The names of abort reasons are left out,
    /// since they depend on the run.
    fn paths(object: &Value, prefix: &str) -> Vec<String> {
        let own = object.as_object().into_iter().flatten();
        own.flat_map(|(name, value)| {
            let path = format!("{prefix}{name}");
            let within = if name == "aborts" { Vec::new() } else { paths(value, &format!("{path}.")) };
            core::iter::once(path).chain(within)
        })
        .collect()
    }

    #[test]
    fn a_run_has_all_that_scripts_rely_on() {
        let object = run(&plan(), &record(0, 0, 400), &Machine::default());
        for name in RELIED_ON.split_whitespace() {
            assert!(object.get(name).is_some(), "{name} is missing");
        }
        assert_eq!(object["commits"], 400);
        assert_eq!(object["throughput_txn_s"], 400.0);
        assert_eq!(object["abort_rate"], 0.2);
        assert_eq!(object["aborts"], json!({ "read_changed": 100 }));
        assert_eq!(object["settings"]["ycsb.records"], 100);
        assert_eq!(object["settings"]["ycsb.distinct"], true);
        assert_eq!(object["settings"]["ycsb.workload"], "a");
        assert_eq!(object["by_type"]["read"]["latency_us"]["p50"], 2.5);
        assert_eq!(object["by_type"]["scan"]["latency_us"], Value::Null);
        assert!(!object.to_string().contains('\n'));
    }

    #[test]
    fn retries_and_what_only_the_scheme_sees_are_told_and_read_again() {
        let mut record = record(0, 0, 400);
        assert_eq!(super::run(&plan(), &record, &Machine::default()).insight, None);
        let measured = &mut record.measured;
        for retries in [0, 0, 0, 5] {
            measured.types[0].retries.record(retries);
        }
        let ns = vec![("reading", 3_000), ("waiting", 9_000)];
        measured.insight.stages = Some(engine::StageTimes { transactions: 2, ns });
        let batch = OrderedBatch {
            stale: 1,
            retries: vec![0, 2],
            edges: vec![(0, 1), (1, 0)],
            victims: vec![0],
            order: vec![1],
        };
        measured.insight.batch = Some(batch);
        let run = super::run(&plan(), &record, &Machine::default());
        let object = json!(run);
        let retries = json!({ "mean": 1.25, "p50": 0, "p99": 5, "max": 5, "buckets": [[0, 3], [5, 1]] });
        assert_eq!((&object["retries"], &object["by_type"]["read"]["retries"]), (&retries, &retries));
        assert_eq!(object["by_type"]["update"]["retries"], Value::Null);
        let waiting = json!({ "stage": "waiting", "time_us_mean": 4.5 });
        assert_eq!((&object["insight"]["sampled"], &object["insight"]["stages"][1]), (&2.into(), &waiting));
        assert_eq!(object["insight"]["batch"]["edges"], json!([[0, 1], [1, 0]]));
        let Ok(Some(results::Line::Run(again))) = results::parse(&run.to_string()) else {
            panic!("{object}")
        };
        assert_eq!(*again, run);
        record.measured.verdict = failed(0, 0).measured.verdict;
        let failed = super::run(&plan(), &record, &Machine::default());
        assert_eq!((failed.insight, failed.counts.retries), (None, run.counts.retries));
    }

    #[test]
    fn types_that_hardly_commit_are_told_of_a_run_and_of_all_runs_together() {
        // The share of the second type would be nine ends in each round: too few in one round, enough in two.
        let of_round = |round| Record { mix: vec![0.991, 0.009], ..record(0, round, 995) };
        let object = run(&plan(), &of_round(0), &Machine::default());
        assert_eq!(object["starved_types"], json!([]), "none of nine says little");
        assert_eq!(object["mix"], json!({ "read": 0.991, "update": 0.009 }));
        let together =
            summary(&plan(), &Results { records: vec![of_round(0), of_round(1)] }, &Machine::default(), 0);
        let [of] = together["starved_types"].as_array().map(Vec::as_slice).unwrap_or_default() else {
            panic!("{together}")
        };
        assert_eq!((&of["type"], &of["commits"]), (&"update".into(), &0.into()));
        assert!(
            of["expected"].as_f64().is_some_and(|expected| (expected - 2.0 * 0.009 * 996.0).abs() < 1e-9)
        );
    }

    #[test]
    fn a_run_states_the_isolation_that_its_settings_leave() {
        let object = run(&plan(), &record(0, 0, 400), &Machine::default());
        assert_eq!(object["isolation"], "strictly serializable");
        let set = vec!["silo.snapshots=on".to_owned()];
        let relaxed = Plan::new(
            catalogue(),
            &Request { schemes: Some("silo".to_owned()), set, ..Request::new("ycsb") },
        );
        let object = run(&relaxed.expect("legal"), &record(0, 0, 400), &Machine::default());
        assert_eq!(object["isolation"], "serializable");
    }

    #[test]
    fn a_run_states_the_settings_that_its_authors_have_at_other_values() {
        let of = |standard| {
            let request = Request { schemes: Some("silo".to_owned()), standard, ..Request::new("ycsb") };
            run(&Plan::new(catalogue(), &request).expect("legal"), &record(0, 0, 400), &Machine::default())
        };
        let tuned = of(StandardValues::Tuned)["tuned"].as_array().cloned().unwrap_or_default();
        let order = tuned.iter().find(|tuned| tuned["setting"] == "silo.write_order").expect("it differs");
        assert_eq!((&order["value"], &order["published"]), (&json!("written"), &json!("address")));
        assert_eq!(of(StandardValues::Published).get("tuned"), None);
    }

    #[test]
    fn histograms_are_whole_and_service_is_apart_where_requests_may_wait() {
        let closed = run(&plan(), &record(0, 0, 400), &Machine::default());
        let bucket = &closed["latency_histogram"]["buckets"][0];
        assert!(
            bucket[0].as_u64().is_some_and(|ns| (2_500..2_503).contains(&ns)) && bucket[1] == 1,
            "{bucket}"
        );
        assert_eq!(closed["by_type"]["read"]["latency_histogram"], closed["latency_histogram"]);
        assert_eq!(
            (&closed["service_us"], &closed["service_histogram"]),
            (&closed["latency_us"], &Value::Null)
        );
        let set = vec!["ycsb.records=100".to_owned()];
        let (arrivals, rate) = (Arrival::Constant, Some(1e3));
        let request =
            Request { schemes: Some("silo".to_owned()), arrivals, rate, set, ..Request::new("ycsb") };
        let mut record = record(0, 0, 400);
        record.measured.types[0].service_ns.record(1_500);
        record.measured.arrived = Arrived { offered: 405, skipped: 3 };
        let open = run(&Plan::new(catalogue(), &request).expect("legal"), &record, &Machine::default());
        assert_eq!((&open["service_us"]["max"], &open["latency_us"]["max"]), (&1.5.into(), &2.5.into()));
        assert_eq!(open["service_histogram"]["buckets"].as_array().map(Vec::len), Some(1));
        // Of the 405 requests that arrived in the second, 400 committed and one rolled back.
        assert_eq!((&open["target_sustained"], &open["skipped"]), (&true.into(), &3.into()));
        assert_eq!((&open["offered_txn_s"], &open["rate_txn_s"]), (&405.0.into(), &1000.0.into()));
        record.measured.arrived.offered = 406;
        let open = run(&Plan::new(catalogue(), &request).expect("legal"), &record, &Machine::default());
        assert_eq!(open["target_sustained"], false);
        assert_eq!((&closed["target_sustained"], &closed["rate_txn_s"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn memory_is_told_by_table_after_loading_and_at_the_end() {
        let table = |entries| TableMemory {
            name: "order",
            entries,
            row_bytes: 64 * entries,
            row_bytes_free: 64,
            version_bytes: 0,
            version_bytes_free: 0,
            index_bytes: 16 * entries,
            secondary: vec![("order_by_customer", entries, 24 * entries)],
        };
        let mut record = record(0, 0, 100);
        record.measured.memory_loaded = vec![table(10)];
        record.measured.memory = vec![table(30)];
        let object = run(&plan(), &record, &Machine::default());
        assert_eq!(
            (&object["memory_loaded"][0]["entries"], &object["memory"][0]["entries"]),
            (&10.into(), &30.into())
        );
        let secondary = json!([{ "index": "order_by_customer", "entries": 30, "bytes": 720 }]);
        assert_eq!(
            (&object["memory"][0]["row_bytes"], &object["memory"][0]["secondary"]),
            (&1_920.into(), &secondary)
        );
    }

    #[test]
    fn clients_are_those_that_ran_beside_those_that_were_asked_for() {
        let set = vec!["ycsb.records=100".to_owned(), "aria.batch=40".to_owned()];
        let (schemes, workers) = (Some("silo,aria".to_owned()), Some(2));
        let plan = Plan::new(catalogue(), &Request { schemes, workers, set, ..Request::new("ycsb") })
            .expect("legal");
        let clients = |subject| {
            let object = run(&plan, &record(subject, 0, 100), &Machine::default());
            [object["clients"].clone(), object["clients_asked"].clone()]
        };
        assert_eq!((clients(0), clients(1)), ([2.into(), 2.into()], [40.into(), 2.into()]));
    }

    #[test]
    fn a_run_that_failed_its_check_keeps_its_keys_and_has_no_figures() {
        let (passed, failed) = (record(0, 0, 100), failed(0, 0));
        let [passed, failed] = [passed, failed].map(|record| run(&plan(), &record, &Machine::default()));
        assert_eq!(failed["check"]["verdict"], "failed");
        assert_eq!(failed["check"]["details"][0], "money is conserved: 2 is not 3");
        let figures = [
            "throughput_txn_s",
            "abort_rate",
            "latency_us",
            "service_us",
            "latency_histogram",
            "breakdown",
            "series",
            "starved_types",
        ];
        for figure in figures {
            assert!(!passed[figure].is_null() && failed[figure].is_null(), "{figure}");
        }
        assert_eq!(failed["by_type"]["read"]["latency_us"], Value::Null);
        for count in ["commits", "user_aborts", "aborts"] {
            assert_eq!(passed[count], failed[count], "{count}");
            assert_eq!(passed["by_type"]["read"][count], failed["by_type"]["read"][count], "{count}");
        }
        let is_in_a_figure = |path: &String| {
            let figures = ["latency_us.", "service_us.", "_histogram.", "breakdown.", "series."];
            figures.iter().any(|figure| path.contains(figure))
        };
        let mut names = paths(&passed, "");
        names.retain(|path| !is_in_a_figure(path));
        assert_eq!(paths(&failed, ""), names);
    }

    #[test]
    fn a_run_that_measured_nothing_has_no_figures() {
        let mut nothing = record(0, 0, 0);
        nothing.measured.measured_ns = 0;
        let object = run(&plan(), &nothing, &Machine::default());
        assert_eq!((&object["throughput_txn_s"], &object["abort_rate"]), (&Value::Null, &Value::Null));
        assert_eq!(object["commits"], 0);
    }

    #[test]
    fn a_summary_has_the_spread_and_the_ratio() {
        let plan = plan();
        let results = Results { records: vec![record(0, 0, 100), record(0, 1, 300)] };
        let object = summary(&plan, &results, &Machine::default(), 0);
        assert_eq!(object["kind"], "summary");
        assert_eq!(object["throughput_txn_s"], json!({ "median": 200.0, "min": 100.0, "max": 300.0 }));
        assert_eq!(
            (&object["ratio_to_first"]["median"], &object["ratio_basis"]),
            (&1.0.into(), &"wall_time".into())
        );
        let without_results =
            summary(&plan, &Results { records: vec![failed(0, 0)] }, &Machine::default(), 0);
        assert_eq!(without_results["results"], 0);
        assert_eq!(without_results["throughput_txn_s"], Value::Null);
        let names = |object: &Value| object.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
        assert_eq!(names(&without_results), names(&object));
    }

    #[test]
    fn lists_name_everything() {
        assert_eq!(schemes(catalogue()).as_array().map(Vec::len), Some(catalogue().schemes().len()));
        assert_eq!(workloads().as_array().map(Vec::len), Some(catalogue().workloads().len()));
        assert!(
            settings(catalogue())
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["name"] == "ycsb.theta"))
        );
    }
}
