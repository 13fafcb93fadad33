//! Verdicts on a script that was played: whether its outcome is allowed, with the outcome beside each line.

use core::fmt;

use engine::Isolation;

use super::play::{Ending, ScriptOutcome};
use super::{Fact, Script, ScriptAction, ScriptClaim, Seen, TableName};

/// The scheme on which a script was played.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The name of the scheme.
    pub scheme: &'a str,
    /// The level that it promises under its settings.
    pub level: Isolation,
    /// The exact outcomes under its settings, by script: see [`Entry::outcomes`](engine::entry::Entry::outcomes).
    pub outcomes: &'a [(&'a str, &'a str)],
}

/// The verdict on an outcome.
#[derive(Clone, Debug)]
pub struct ScriptVerdict {
    /// The errors, a sentence each.
    pub wrong: Vec<String>,
    /// The script, with the outcome beside each line.
    told: String,
}

/// Checks an outcome against the claims of its script and the level of the scheme.
pub fn judge(script: &Script, outcome: &ScriptOutcome, subject: Subject<'_>) -> ScriptVerdict {
    let Subject { scheme, level, outcomes } = subject;
    let mut wrong = Vec::new();
    let told = format!("{} under {scheme} ({}):\n{}", script.name, level.name(), beside(script, outcome));
    if let Some(broken) = &outcome.broken {
        wrong.push(format!("it was cut off: {broken}"));
        return ScriptVerdict { wrong, told };
    }
    for (txn, _) in outcome.txns.iter().enumerate().filter(|(_, txn)| txn.ending.is_none()) {
        wrong.push(format!("t{} has not ended", txn + 1));
    }
    if !outcome.is_explained_at(level, script) {
        wrong.push("no order of the transactions that the level allows explains what they saw".to_owned());
    }
    for claim in &script.claims {
        match claim {
            ScriptClaim::Never(levels) if levels.contains(&level) && script.has_come_about(outcome) => {
                wrong.push("the told history came about, which the level forbids".to_owned());
            }
            ScriptClaim::Shown(levels) if levels.contains(&level) && !script.has_come_about(outcome) => {
                wrong.push("the told history did not come about".to_owned());
            }
            _ => {}
        }
    }
    for (_, facts) in outcomes.iter().filter(|(name, _)| *name == script.name) {
        match script.facts(facts) {
            Ok(facts) => {
                let missed = facts.iter().filter(|fact| !script.is_fact(outcome, fact));
                wrong.extend(missed.map(|fact| format!("it is not so that {fact}")));
            }
            Err(error) => wrong.push(format!("the outcome in the entry of {scheme} cannot be read: {error}")),
        }
    }
    ScriptVerdict { wrong, told }
}

impl fmt::Display for ScriptVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)?;
        self.wrong.iter().try_for_each(|wrong| writeln!(f, "WRONG: {wrong}"))
    }
}

impl Script {
    /// Whether the outcome is the history that the script tells, including its order. If other steps passed a waiting
    /// step, another history came about, even if both see the same values.
    pub fn has_come_about(&self, outcome: &ScriptOutcome) -> bool {
        let is_seen = self.steps.iter().zip(&outcome.steps).all(|(step, made)| match step.act {
            _ if made.was_passed => false,
            ScriptAction::Begin => true,
            ScriptAction::Commit => outcome.txns[step.txn].ending == Some(Ending::Committed),
            ScriptAction::Rollback => outcome.txns[step.txn].ending == Some(Ending::RolledBack),
            ScriptAction::Do(_) => step.sees.is_none() || step.sees == made.seen,
        });
        is_seen && self.ends_with(&outcome.rows)
    }

    /// Whether a fact is true of the outcome.
    pub fn is_fact(&self, outcome: &ScriptOutcome, fact: &Fact) -> bool {
        let ending = |txn: usize| outcome.txns[txn].ending;
        match *fact {
            Fact::Shown => self.has_come_about(outcome),
            Fact::Waits(txn) => self.steps_of(txn).any(|(number, _)| outcome.steps[number].has_waited),
            Fact::Commits(txn) => ending(txn) == Some(Ending::Committed),
            Fact::RollsBack(txn) => ending(txn) == Some(Ending::RolledBack),
            Fact::Aborts(txn, Some(reason)) => ending(txn) == Some(Ending::Aborted(reason)),
            Fact::Aborts(txn, None) => matches!(ending(txn), Some(Ending::Aborted(_))),
        }
    }
}

/// The lines of a script from `load:` on, with the outcome of each.
fn beside(script: &Script, outcome: &ScriptOutcome) -> String {
    let first = script.lines.iter().position(|line| line.starts_with("load:")).unwrap_or(0);
    let lines = (1..).zip(&script.lines).skip(first).map(|(number, line)| {
        let steps = script.steps.iter().enumerate().filter(|(_, step)| step.line == number);
        let came: Vec<String> = steps.map(|(step, _)| came_of(script, outcome, step)).collect();
        format!("{number:>3}  {line:<56}  {}", came.join("; ")).trim_end().to_owned()
    });
    let mut lines: Vec<String> = lines.collect();
    if outcome.broken.is_none() {
        let tables = TableName::ALL.map(|table| {
            let rows = outcome.rows.iter().filter(|((of, _), _)| *of == table);
            let rows = Seen::Rows(rows.map(|((_, key), value)| (*key, *value)).collect());
            format!("{} {rows}", table.name())
        });
        lines.push(format!("     in the end: {}", tables.join("; ")));
    }
    lines.join("\n") + "\n"
}

/// The text of a step's outcome.
fn came_of(script: &Script, outcome: &ScriptOutcome, number: usize) -> String {
    let (step, made) = (&script.steps[number], &outcome.steps[number]);
    let txn = &outcome.txns[step.txn];
    if !made.is_made {
        return if txn.ending.is_some() { "-".to_owned() } else { "not come to".to_owned() };
    }
    let what = match (&made.seen, txn.ending) {
        (Some(seen), _) => seen.to_string(),
        (None, _) if step.act == ScriptAction::Begin => "begins".to_owned(),
        (None, Some(Ending::Committed)) => "commits".to_owned(),
        (None, Some(Ending::RolledBack)) => "rolls back".to_owned(),
        (None, Some(Ending::Aborted(reason))) => format!("aborts ({})", reason.name()),
        (None, None) => "has not ended".to_owned(),
    };
    let fell_back =
        txn.fell_back.filter(|_| matches!(step.act, ScriptAction::Commit | ScriptAction::Rollback));
    let fell_back = fell_back.map(|reason| format!(" in the fallback, after {}", reason.name()));
    let waits = if made.has_waited { "waits, " } else { "" };
    format!("{waits}{what}{}", fell_back.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::ScriptRows;
    use crate::script::play::{StepOutcome, TxnOutcome};

    #[test]
    fn a_history_of_which_a_step_let_others_pass_is_another_one() {
        let text = "Title\nfrom: nobody\n\nStory.\n\nload: point 1=0\n\nt1: read point 1 -> 0\n\
                    t2: update point 1 = 1; commit\nt1: commit\n\nnever: any\n";
        let script = Script::parse("test", text).expect("it is right");
        let steps = script.steps.iter().map(|step| StepOutcome {
            is_made: true,
            seen: step.sees.clone(),
            ..StepOutcome::default()
        });
        let txn =
            |began, ended| TxnOutcome { ending: Some(Ending::Committed), fell_back: None, began, ended };
        let rows = ScriptRows::from([((TableName::Point, 1), 1)]);
        let (steps, txns) = (steps.collect(), vec![txn(0, 3), txn(1, 2)]);
        let told = ScriptOutcome { steps, txns, rows, broken: None, is_stuck: false };
        assert!(script.has_come_about(&told));
        let mut waits = told;
        waits.steps[1].has_waited = true;
        assert!(script.has_come_about(&waits), "nothing happened meanwhile");
        // The second waited until the first had ended.
        waits.steps[1].was_passed = true;
        assert!(!script.has_come_about(&waits));
        assert!(!script.is_fact(&waits, &Fact::Shown) && script.is_fact(&waits, &Fact::Waits(1)));
    }
}
