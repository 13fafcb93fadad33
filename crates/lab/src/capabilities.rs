//! The combinations of scheme, workload and option that can be run. A [`Plan`] decides each combination, so that the
//! list agrees with the refusals of real runs.

use engine::entry::Entry;
use runs::WorkloadInfo;
use serde_json::{Value, json};

use crate::text::{Lines, Table};
use crate::{Arrival, Catalogue, ClientCount, ClientMode, Plan, Refusal, Request, Retry};

/// The number of clients in the options that need many clients.
const MANY: u64 = 64;

/// An option beside the scheme and the workload: its name, and the function that sets it in a request.
type Choice = (&'static str, fn(Request) -> Request);

const OPTIONS: &[Choice] = &[
    ("workers=2", |request| Request { workers: Some(2), ..request }),
    ("clients=64", |request| Request { clients: Some(ClientCount::All(MANY)), ..request }),
    ("mode=interactive", |request| Request { mode: ClientMode::Interactive, rtt_us: Some(50), ..request }),
    ("retry=drop", |request| Request { retry: Retry::Drop, ..request }),
    ("arrivals=poisson", |request| Request { arrivals: Arrival::Poisson, rate: Some(1_000.0), ..request }),
    ("batch=8", |request| Request { clients: Some(ClientCount::All(MANY)), batch: 8, ..request }),
    ("run.index=ordered", |request| Request { set: vec!["run.index=ordered".to_owned()], ..request }),
    ("run.versions=apart", |request| Request { set: vec!["run.versions=apart".to_owned()], ..request }),
    ("run.splitting=off", |request| Request { set: vec!["run.splitting=off".to_owned()], ..request }),
    ("run.reorder=keep", |request| Request {
        clients: Some(ClientCount::All(MANY)),
        set: vec!["run.reorder=keep".to_owned()],
        ..request
    }),
    ("run.durability=group", |request| Request { set: vec!["run.durability=group".to_owned()], ..request }),
    (UNHINTED, |request| Request { set: vec![UNHINTED.to_owned()], ..request }),
];

/// The option that turns read-for-update hints off.
const UNHINTED: &str = "run.read_for_update=off";
/// The reason why this option makes no difference to a scheme.
const AS_IT_IS: &str =
    "runs as it is: it does not lock records by mode when they are accessed, so the hint has no effect";

/// A scheme, a workload and an option, with the answer whether they can be run together.
#[derive(Clone, Debug)]
struct Pair {
    scheme: &'static str,
    workload: &'static str,
    option: &'static str,
    /// The reason of the refusal; `None` if the combination can be run.
    refused: Option<String>,
    /// The reason why the option makes no difference to the scheme; `None` if it makes one.
    idle: Option<&'static str>,
}

/// Returns all combinations as tables for people. Workloads with the same answers share one table.
pub fn text(catalogue: Catalogue) -> String {
    let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
    for workload in catalogue.workloads() {
        let told = told(&pairs(catalogue, workload));
        match groups.iter_mut().find(|(_, other)| *other == told) {
            Some((names, _)) => names.push(workload.name),
            None => groups.push((vec![workload.name], told)),
        }
    }
    let mut lines = Lines::default();
    for (names, told) in groups {
        lines.add(format!("{}:", names.join(", ")));
        lines.add(told);
    }
    lines.0
}

/// Returns all combinations as objects for programs.
pub fn json(catalogue: Catalogue) -> Value {
    let pairs = catalogue.workloads().iter().flat_map(|workload| pairs(catalogue, workload));
    let object = |Pair { scheme, workload, option, refused, idle }: Pair| {
        json!({
            "scheme": scheme,
            "workload": workload,
            "option": option,
            "runs": refused.is_none(),
            "refused": refused,
            "makes_no_difference": idle,
        })
    };
    pairs.map(object).collect()
}

fn pairs(catalogue: Catalogue, workload: &WorkloadInfo) -> Vec<Pair> {
    let of = |entry: &'static Entry| {
        let scheme = entry.info.name;
        OPTIONS.iter().map(move |(option, change)| {
            let plain =
                Request { schemes: Some(scheme.to_owned()), workers: Some(1), ..Request::new(workload.name) };
            let refused = Plan::new(catalogue, &change(plain)).err().map(|Refusal(says)| says);
            let idle = (*option == UNHINTED && !entry.upgrades).then_some(AS_IT_IS);
            Pair { scheme, workload: workload.name, option, refused, idle }
        })
    };
    catalogue.schemes().flat_map(of).collect()
}

/// Returns a table with one row for each scheme and one column for each option. A cell that is refused, or whose option
/// makes no difference, has the number of its reason; the reasons are listed below the table.
fn told(pairs: &[Pair]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let mut table = Table::default();
    table.row(["scheme".to_owned()].into_iter().chain(OPTIONS.iter().map(|(name, _)| (*name).to_owned())));
    for row in pairs.chunks(OPTIONS.len()) {
        let cells = row.iter().map(|pair| {
            let Some(told) = pair.refused.as_deref().or(pair.idle) else { return "yes".to_owned() };
            // The scheme's name is removed, so that several schemes can share one reason.
            let says = told.strip_prefix(pair.scheme).unwrap_or(told).trim_start_matches([':', ' ']);
            let at = reasons.iter().position(|reason| *reason == says).unwrap_or(reasons.len());
            if at == reasons.len() {
                reasons.push(says);
            }
            let runs = if pair.refused.is_some() { "no" } else { "yes" };
            format!("{runs} ({})", at + 1)
        });
        let cells: Vec<String> = cells.collect();
        table.row([row[0].scheme.to_owned()].into_iter().chain(cells));
    }
    let mut lines = Lines(table.render());
    for (at, reason) in reasons.iter().enumerate() {
        lines.add(format!("({}) {reason}", at + 1));
    }
    lines.0
}

#[cfg(test)]
mod tests {
    use engine::Admits;

    use super::*;
    use crate::registry::tests::catalogue;

    #[test]
    fn every_pair_is_told_and_refused_only_with_a_way_out() {
        let all = catalogue().schemes().len() * catalogue().workloads().len() * OPTIONS.len();
        let Value::Array(told) = json(catalogue()) else { panic!("a list") };
        assert_eq!(told.len(), all);
        for pair in &told {
            let refused = pair["refused"].as_str();
            assert_eq!(pair["runs"], refused.is_none(), "{pair}");
            assert!(refused.is_none_or(|says| says.contains("give `--")), "{pair}");
        }
        let admits = |scheme: &str, option: &str| {
            let of = |pair: &&Value| pair["scheme"] == scheme && pair["option"] == option;
            told.iter().filter(of).all(|pair| pair["runs"] == true)
        };
        assert!(admits("silo", "mode=interactive") && !admits("aria", "mode=interactive"));
        assert!(admits("silo", UNHINTED) && admits("no_wait", UNHINTED));
        let upgrades = |scheme: &str| catalogue().listed(scheme).entry().upgrades;
        for pair in told.iter().filter(|pair| pair["option"] == UNHINTED) {
            let scheme = pair["scheme"].as_str().expect("a name");
            assert_eq!(pair["makes_no_difference"].is_null(), upgrades(scheme), "{pair}");
        }
        assert!(upgrades("no_wait") && !upgrades("silo"));
    }

    #[test]
    fn whoever_protects_transactions_from_each_other_runs_every_workload_with_two_workers() {
        let catalogue = catalogue();
        let all = catalogue.workloads().iter().flat_map(|workload| pairs(catalogue, workload));
        for pair in all.filter(|pair| pair.option == "workers=2") {
            let info = catalogue.scheme(pair.scheme).expect("catalogued");
            assert_eq!(pair.refused.is_none(), info.workers == Admits::Any, "{pair:?}");
        }
    }

    #[test]
    fn reasons_are_told_once_below_their_numbers() {
        let text = text(catalogue());
        let first = text.find("\n(1) ").expect("a reason");
        assert!(text[..first].contains("yes (1)") && text[..first].contains("no (2)"), "{text}");
        assert_eq!(text.matches("can be no dialogue").count(), 1, "{text}");
    }
}
