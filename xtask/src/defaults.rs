//! Standard values of settings: each setting of each scheme at other values, beside the standard one, on workloads of
//! several kinds. `docs/performance.md` has the figures. Settings that are real numbers or texts have no other values
//! here.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Build, binary};
use crate::house::{House, output};
use crate::new_scheme::Unmade;

/// The form of the words of the command.
pub(crate) const FORM: &str = "[--simulated] [SCHEME|SETTING]..";

/// The rounds of native runs. In each, every value has its turn, in an order that is another one each time.
const ROUNDS: usize = 5;
/// The length of a native run.
const NATIVE: &str = "--workers 2 --seconds 0.5 --warmup 0.1 --no-check --format json";
/// The length of a simulated run, and its machine: one socket.
const SIMULATED: &str =
    "--machine hpe-superdome-flex --cores 28 --txns 150 --warmup-txns 60 --patience 1 --format json";

/// Workloads by name, with the words that make them: one hot spot and ordered indexes; short transactions on skewed
/// records; a few accounts that most transfers meet; and no conflicts to speak of.
const KINDS: [(&str, &str); 4] = [
    ("TPC-C", "tpcc --set tpcc.items=10000"),
    (
        "YCSB, hot",
        "ycsb --set ycsb.theta=0.95 --set ycsb.ops_per_txn=10 --set ycsb.records=100000 --set ycsb.value_bytes=104",
    ),
    (
        "SmallBank, hot",
        "smallbank --set smallbank.choice=hotspot --set smallbank.hotspot_accounts=20 --set smallbank.accounts=100000",
    ),
    (
        "YCSB, uniform",
        "ycsb --set ycsb.theta=0 --set ycsb.ops_per_txn=10 --set ycsb.records=100000 --set ycsb.value_bytes=104",
    ),
];

/// Measures all settings of the named schemes, or of all, and prints a table.
pub(crate) fn measure(house: &House, words: &[&str]) -> Result<(), Unmade> {
    let (is_simulated, names) = match words {
        ["--simulated", names @ ..] => (true, names),
        names => (false, names),
    };
    let contend = binary(house, Build::Released).map_err(Unmade::Failed)?;
    let [schemes, mut settings] = ["schemes", "settings"].map(|what| listed(&contend, what));
    let schemes = schemes.map_err(Unmade::Failed)?;
    let settings = settings.as_mut().map_err(|says| Unmade::Failed(says.clone()))?;
    let is_of = |setting: &Value, name: &str| setting["name"] == *name || setting["owner"] == *name;
    settings.retain(|setting| setting["of"] == "scheme" && !of_setting(setting).is_empty());
    if let Some(unknown) = names.iter().find(|name| settings.iter().all(|setting| !is_of(setting, name))) {
        let says = format!(
            "`{unknown}` is no scheme and no setting with other values: `cargo xtask defaults {FORM}`"
        );
        return Err(Unmade::Refused(says));
    }
    settings.retain(|setting| names.is_empty() || names.iter().any(|name| is_of(setting, name)));
    let heads: Vec<String> = KINDS.iter().map(|(name, _)| format!("{name:>22}")).collect();
    println!("{:<44}{}", "setting", heads.join(""));
    for scheme in schemes.iter().filter_map(|scheme| scheme["name"].as_str()) {
        let changes = changes(settings, scheme);
        if changes.is_empty() {
            continue;
        }
        let mut cells = vec![String::new(); changes.len()];
        for (_, workload) in KINDS {
            let ratios =
                ratios(&contend, scheme, workload, &changes, is_simulated).map_err(Unmade::Failed)?;
            for (cell, of) in cells.iter_mut().zip(&ratios) {
                cell.extend([format!("{:>22}", told(of))]);
            }
        }
        for ((name, value), cell) in changes.iter().zip(&cells) {
            println!("{:<44}{cell}", format!("{name}={value}"));
        }
    }
    Ok(())
}

/// Returns what a list of the command has.
fn listed(contend: &Path, what: &str) -> Result<Vec<Value>, String> {
    let listed = output(Command::new(contend).args(["list", what, "--format", "json"]))?;
    serde_json::from_str(&listed).map_err(|error| format!("no JSON ({error}): {listed}"))
}

/// Returns the other values of the settings of a scheme, by the name of the setting.
fn changes(settings: &[Value], scheme: &str) -> Vec<(String, String)> {
    let own = settings.iter().filter(|setting| setting["owner"] == *scheme);
    own.flat_map(of_setting).collect()
}

/// Returns the other values of a setting, with its name.
fn of_setting(setting: &Value) -> Vec<(String, String)> {
    let text = |key: &str| setting[key].as_str().unwrap_or_default().to_owned();
    let (name, standard) = (text("name"), text("standard"));
    others(&standard, &text("range")).into_iter().map(|value| (name.clone(), value)).collect()
}

/// Returns other values than the standard one: all choices, or a whole number a quarter and four times as large, and
/// the least one; where the standard is 0, they are 16, 64 and 256. A real number or a text has none.
fn others(standard: &str, range: &str) -> Vec<String> {
    let found: Vec<String> = if let Some(choices) = range.strip_prefix("one of ") {
        choices.split(", ").map(str::to_owned).collect()
    } else if range == "true or false" {
        vec!["true".to_owned(), "false".to_owned()]
    } else if let Some(bounds) = range.strip_prefix("a whole number from ") {
        let (Some((least, most)), Ok(number)) = (bounds.split_once(" to "), standard.parse::<u64>()) else {
            return Vec::new();
        };
        let (least, most) = (least.parse().unwrap_or(0), most.parse().unwrap_or(u64::MAX));
        // Zero stands for a size that the scheme chooses, or for no wait.
        let around = if number == 0 { [16, 64, 256] } else { [least, number / 4, number * 4] };
        around.into_iter().map(|number| number.clamp(least, most).to_string()).collect()
    } else {
        Vec::new()
    };
    let mut values: Vec<String> = found.into_iter().filter(|value| value != standard).collect();
    values.dedup();
    values
}

/// Returns the ratios of each change's throughput to the standard's, one for each round.
fn ratios(
    contend: &Path,
    scheme: &str,
    workload: &str,
    changes: &[(String, String)],
    is_simulated: bool,
) -> Result<Vec<Vec<f64>>, String> {
    let mut ratios = vec![Vec::new(); changes.len()];
    for round in 0..if is_simulated { 1 } else { ROUNDS } {
        let throughput = |change: Option<&(String, String)>| {
            let mut command = Command::new(contend);
            let (verb, length) = if is_simulated { ("simulate", SIMULATED) } else { ("run", NATIVE) };
            command.arg(verb).args(workload.split(' ')).args(["--scheme", scheme]).args(length.split(' '));
            if let Some((name, value)) = change {
                command.args(["--set", &format!("{name}={value}")]);
            }
            let lines = output(&mut command)?;
            let of_run = |line: &str| {
                let run: Value = serde_json::from_str(line).ok()?;
                (run["kind"] == "run").then(|| run["throughput_txn_s"].as_f64())?
            };
            lines.lines().find_map(of_run).ok_or_else(|| format!("no run among what was printed: {lines}"))
        };
        // Each round begins with another one, the standard among them, so that a slow moment does not always fall on
        // the same.
        let mut throughputs = vec![0.0; changes.len() + 1];
        for at in 0..throughputs.len() {
            let turn = (at + round) % throughputs.len();
            throughputs[turn] = throughput(turn.checked_sub(1).map(|change| &changes[change]))?;
        }
        for (ratios, changed) in ratios.iter_mut().zip(&throughputs[1..]) {
            ratios.push(changed / throughputs[0]);
        }
    }
    Ok(ratios)
}

/// Formats the median of ratios, with the least and the greatest if there are several.
fn told(ratios: &[f64]) -> String {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted[..] {
        [] => String::new(),
        [one] => format!("{one:.2}"),
        [least, .., most] => format!("{:.2} ({least:.2} .. {most:.2})", sorted[sorted.len() / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_values_follow_from_the_range() {
        assert_eq!(others("on", "one of off, on"), ["off"]);
        assert_eq!(others("true", "true or false"), ["false"]);
        assert_eq!(others("64", "a whole number from 0 to 1000000"), ["0", "16", "256"]);
        assert_eq!(others("1", "a whole number from 0 to 1000"), ["0", "4"]);
        assert_eq!(others("0", "a whole number from 0 to 100"), ["16", "64", "100"]);
        assert!(others("1", "one to 16 whole numbers").is_empty());
    }

    #[test]
    fn a_ratio_has_its_spread() {
        assert_eq!(told(&[1.0]), "1.00");
        assert_eq!(told(&[1.2, 0.9, 1.0]), "1.00 (0.90 .. 1.20)");
    }
}
