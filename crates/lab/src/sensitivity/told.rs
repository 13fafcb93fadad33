//! The findings of a study, as text for people and as an object for programs.

use serde_json::{Value, json};
use stats::Interval;

use super::{Analysis, Effect, Method, Response, Study, StudyMeasurements, VarianceShare};
use crate::json::SCHEMA;
use crate::text::{Lines, Table, percent, plural};

/// The share of the variance below which a surrogate predicts too little for its shares to be reliable.
const PREDICTED_MIN: f64 = 0.5;

impl Study {
    /// Returns the question as text, before anything runs.
    pub fn text(&self) -> String {
        let mut lines = Lines::default();
        let question = &self.question;
        let schemes = self.schemes.join(", ");
        lines.add(format!(
            "which settings of {} change the throughput of {schemes}, and their ranking",
            question.workload
        ));
        self.ground.space.items().iter().for_each(|item| lines.add(format!("  {item}")));
        let fixed: Vec<String> =
            self.ground.fixed().iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.add(match fixed.as_slice() {
            [] => "fixed: all standard".to_owned(),
            fixed => format!("fixed: {}; the others standard", fixed.join(" ")),
        });
        self.ground.simulated().iter().for_each(|sentence| lines.add(sentence));
        let along = match question.method {
            Method::Morris => format!(
                "{} of {}, and then points that fill the space",
                trajectories(self.trajectories.len()),
                plural(self.ground.axes.len() + 2, "point")
            ),
            Method::Sobol => "points that fill the space".to_owned(),
        };
        let limit = question.points.map_or_else(String::new, |points| format!(" or {points} points"));
        lines.add(format!(
            "{along}, for {} minutes{limit}; {} s after {} s each",
            question.budget_minutes, question.seconds, question.warmup
        ));
        lines.0
    }
}

fn trajectories(count: usize) -> String {
    if count == 1 { "1 trajectory".to_owned() } else { format!("{count} trajectories") }
}

impl Analysis {
    /// Returns the analysis as a table and sentences.
    pub fn text(&self, study: &Study, measured: &StudyMeasurements) -> String {
        let mut table = Table::default();
        let head = ["of", "setting", "factor", "(interval)", "p of all", "more than chance"];
        table.row(head.into_iter().chain(["explains alone", "with others", "(interval)"]));
        for outcome in &self.outcomes {
            for (at, axis) in study.ground.axes.iter().enumerate() {
                let mut row = vec![outcome.name.clone(), axis.clone()];
                row.extend(screened(outcome.effects.get(at)));
                row.extend(explained(outcome.shares.get(at)));
                table.row(row);
            }
        }
        let mut lines = Lines(table.render());
        self.outcomes.iter().for_each(|outcome| lines.add(sentence(study, outcome)));
        lines.add(self.notes(study, measured).trim_end());
        lines.0
    }

    fn notes(&self, study: &Study, measured: &StudyMeasurements) -> String {
        let mut lines = Lines::default();
        lines.add(format!(
            "measured: {}, {} of them different, {}; {} starved",
            plural(measured.samples.len(), "point"),
            self.points,
            trajectories(measured.trajectories),
            plural(measured.starved, "run")
        ));
        study.ground.simulated().iter().for_each(|sentence| lines.add(sentence));
        if measured.starved > 0 {
            lines.add("starved runs count by commits a second of processor time, unless they wait by design");
        }
        if measured.is_interrupted {
            lines.add("INTERRUPTED: start the command again to continue.");
        }
        if let Some(command) = &measured.failed {
            lines.add(format!("CHECK FAILED: `{command}`; its run is no result, and the study ended there."));
        }
        if self.outcomes.iter().all(|outcome| outcome.shares.is_empty()) {
            lines.add("too few points, or too little variance, for shares of the variance");
        }
        lines.add(format!(
            "only these settings and values were examined: {}",
            study.ground.space.items().join(", ")
        ));
        lines.add(
            "factor: by how much a setting changes the throughput or the ratio across its range, on average over the \
             other settings; chance is measured by steps on which nothing changes; intervals at 90%, p adjusted for \
             all settings (Holm)",
        );
        lines.0
    }

    /// Returns the analysis as an object for programs.
    pub fn json(&self, study: &Study, measured: &StudyMeasurements) -> Value {
        let evidence: Vec<&String> = measured.samples.iter().flat_map(|sample| &sample.runs).collect();
        json!({
            "schema": SCHEMA,
            "kind": "sensitivity",
            "workload": study.question.workload,
            "schemes": study.schemes,
            "method": study.question.method.name(),
            "space": study.ground.space.result(),
            "settings": study.ground.fixed(),
            "points": measured.samples.len(),
            "different_points": self.points,
            "trajectories": measured.trajectories,
            "starved": measured.starved,
            "interrupted": measured.is_interrupted,
            "failed": measured.failed,
            "outcomes": self.outcomes.iter().map(|of| outcome(study, of)).collect::<Vec<_>>(),
            "evidence": evidence,
            "seed": study.question.seed,
            "build": study.ground.build,
        })
    }
}

/// Returns the columns of the screening for a setting.
fn screened(effect: Option<&Effect>) -> [String; 4] {
    let Some(Effect { elementary, interval, p_adjusted, matters }) = effect else {
        return ["-", "-", "-", "-"].map(str::to_owned);
    };
    [
        format!("{:.2}", elementary.mu_star.exp()),
        interval.map_or_else(|| "-".to_owned(), |of| range(&of.map(f64::exp))),
        format!("{p_adjusted:.3}"),
        if *matters { "yes" } else { "not shown" }.to_owned(),
    ]
}

fn explained(share: Option<&VarianceShare>) -> [String; 3] {
    let Some(VarianceShare { indices, interval }) = share else { return ["-", "-", "-"].map(str::to_owned) };
    [
        format!("{:.2}", indices.first.max(0.0)),
        format!("{:.2}", indices.total),
        interval.map_or_else(|| "-".to_owned(), |of| range(&of)),
    ]
}

fn range(interval: &Interval) -> String {
    format!("({:.2} .. {:.2})", interval.low, interval.high)
}

/// Returns a sentence with the settings that move a figure, in descending order of their effects.
fn sentence(study: &Study, outcome: &Response) -> String {
    let what = if outcome.is_ranking { "the ranking" } else { "throughput" };
    let mut moving: Vec<(&String, &Effect)> =
        study.ground.axes.iter().zip(&outcome.effects).filter(|(_, effect)| effect.matters).collect();
    moving.sort_by(|a, b| b.1.elementary.mu_star.total_cmp(&a.1.elementary.mu_star));
    let names: Vec<String> =
        moving.iter().map(|(name, of)| format!("{name} ({:.2})", of.elementary.mu_star.exp())).collect();
    let text = match outcome.chance {
        None => format!("{} was not screened: see the shares", outcome.name),
        Some(chance) if names.is_empty() => {
            format!(
                "{}: no setting is shown to change {what} by more than chance ({:.2})",
                outcome.name,
                chance.exp()
            )
        }
        Some(chance) => {
            format!("{}: {what} is changed by {}; chance {:.2}", outcome.name, names.join(", "), chance.exp())
        }
    };
    text + &outcome.predicted.map_or_else(String::new, surrogate)
}

/// Returns half a sentence about the quality of the surrogate, which limits the use of its shares.
fn surrogate(predicted: f64) -> String {
    let little = if predicted < PREDICTED_MIN { ", too little for its shares to be reliable" } else { "" };
    format!("; the surrogate predicts {} of the variance{little}", percent(predicted.max(0.0)))
}

fn outcome(study: &Study, outcome: &Response) -> Value {
    let interval = |of: &Interval| json!({ "low": of.low, "high": of.high, "confidence": of.confidence });
    let setting = |(at, name): (usize, &String)| {
        let effect = outcome.effects.get(at);
        let share = outcome.shares.get(at);
        json!({
            "name": name,
            "mu": effect.map(|of| of.elementary.mu),
            "mu_star": effect.map(|of| of.elementary.mu_star),
            "mu_star_interval": effect.and_then(|of| of.interval.as_ref().map(interval)),
            "sigma": effect.map(|of| of.elementary.sigma),
            "p_adjusted": effect.map(|of| of.p_adjusted),
            "matters": effect.map(|of| of.matters),
            "first": share.map(|of| of.indices.first),
            "total": share.map(|of| of.indices.total),
            "total_interval": share.and_then(|of| of.interval.as_ref().map(interval)),
        })
    };
    json!({
        "of": outcome.name,
        "kind": if outcome.is_ranking { "ratio" } else { "throughput" },
        "chance_mu_star": outcome.chance,
        "predicted_share": outcome.predicted,
        "settings": study.ground.axes.iter().enumerate().map(setting).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::analysis::tests::planted;
    use super::*;

    #[test]
    fn what_moves_the_ranking_is_said_and_so_is_what_was_not_looked_at() {
        let (study, measured) = planted(Method::Morris, 0.05);
        let analysis = Analysis::new(&study, &measured);
        let text = analysis.text(&study, &measured);
        let says = "no_wait/silo: the ranking is changed by ycsb.read_pct (1.6";
        assert!(text.contains(says), "{text}");
        assert!(text.contains("only these settings and values were examined: ycsb.theta=0..0.9"), "{text}");
        let object = analysis.json(&study, &measured);
        assert_eq!(object["outcomes"][2]["settings"][1]["matters"], true);
        assert_eq!(object["evidence"].as_array().map(Vec::len), Some(240));
        assert!(study.text().contains("10 trajectories of 4 points"), "{}", study.text());
    }

    #[test]
    fn what_is_not_known_is_a_dash_and_null() {
        let (study, mut measured) = planted(Method::Sobol, 0.05);
        measured.samples.truncate(5);
        let analysis = Analysis::new(&study, &measured);
        assert!(analysis.text(&study, &measured).contains("too few points"));
        let object = analysis.json(&study, &measured);
        let setting = &object["outcomes"][0]["settings"][0];
        assert!(setting["mu_star"].is_null() && setting["total"].is_null() && setting.get("sigma").is_some());
    }
}
