//! The parser of scripts. An error names the line, and what was expected there.

use core::fmt;
use std::collections::BTreeMap;

use engine::{Abort, Isolation};

use super::{
    Change, Fact, Keys, LEVELS, Script, ScriptAction, ScriptClaim, ScriptOp, ScriptRows, ScriptStep, Seen,
    TXNS_MAX, TableName,
};

/// A syntax error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The file.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// The expected text, and the text that was found.
    pub what: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl core::error::Error for ScriptError {}

/// A result whose error says what was expected and what was found.
type Parsed<T> = Result<T, String>;

/// The largest number of keys of one insert.
const INSERTED_MAX: u64 = 100;

fn expected<T>(what: &str, found: &str) -> Parsed<T> {
    let found = if found.trim().is_empty() { "nothing".to_owned() } else { format!("`{}`", found.trim()) };
    Err(format!("expected {what}, found {found}"))
}

impl Script {
    /// Parses a script; `name` is the name of its file, without `.txt`.
    ///
    /// # Errors
    /// The first wrong line, and what was expected there.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut script = Self {
            name: name.to_owned(),
            title: String::new(),
            from: String::new(),
            story: String::new(),
            load: ScriptRows::new(),
            steps: Vec::new(),
            end: None,
            claims: Vec::new(),
            lines: lines.clone(),
        };
        for (number, line) in (1..).zip(&lines) {
            let parsed = script.line(number, line.trim());
            parsed.map_err(|what| ScriptError { file: format!("{name}.txt"), line: number, what })?;
        }
        let whole = script.is_whole();
        whole.map_err(|what| ScriptError { file: format!("{name}.txt"), line: lines.len(), what })?;
        Ok(script)
    }

    fn line(&mut self, number: usize, line: &str) -> Parsed<()> {
        if line.is_empty() {
            return Ok(());
        }
        if self.title.is_empty() {
            line.clone_into(&mut self.title);
            return Ok(());
        }
        if self.from.is_empty() {
            let Some(from) = line.strip_prefix("from: ") else {
                return expected("`from: WHERE IT WAS TOLD FIRST`", line);
            };
            from.clone_into(&mut self.from);
            return Ok(());
        }
        let has_begun = !self.load.is_empty() || !self.steps.is_empty();
        match line.split_once(':') {
            Some(("load", rows)) if !has_begun => self.load = table_rows(rows)?.1,
            Some(("end", rows)) => self.end = Some(table_rows(rows)?),
            Some(("never", names)) => self.claims.push(ScriptClaim::Never(forbidden(&levels(names)?))),
            Some(("shown", names)) => self.claims.push(ScriptClaim::Shown(levels(names)?)),
            Some((txn, steps)) if is_txn(txn) => {
                let txn = self.txn(txn)?;
                for step in steps.split(';') {
                    self.step(number, txn, step)?;
                }
            }
            _ if !has_begun => {
                self.story += line;
                self.story += "\n";
            }
            _ => {
                return expected("`tN: STEP; STEP`, `end:`, `never:` or `shown:`", line);
            }
        }
        Ok(())
    }

    /// The index of a transaction that is known, or that is the next one.
    fn txn(&self, text: &str) -> Parsed<usize> {
        let known = self.txns();
        match text[1..].parse::<usize>() {
            Ok(number) if (1..=TXNS_MAX).contains(&number) && number <= known + 1 => Ok(number - 1),
            _ => expected(&format!("a transaction from `t1` to `t{}`", TXNS_MAX.min(known + 1)), text),
        }
    }

    fn step(&mut self, line: usize, txn: usize, text: &str) -> Parsed<()> {
        let (text, sees) = match text.split_once("->") {
            Some((act, sees)) => (act, Some(sees.trim())),
            None => (text, None),
        };
        let act = act(text)?;
        if self
            .steps_of(txn)
            .any(|(_, step)| matches!(step.act, ScriptAction::Commit | ScriptAction::Rollback))
        {
            return expected(&format!("nothing more of t{}, which has ended", txn + 1), text);
        }
        if act == ScriptAction::Begin && self.steps_of(txn).next().is_some() {
            return expected("`begin` as a first step only", text);
        }
        let sees = sees.map(|sees| seen(&act, sees)).transpose()?;
        self.steps.push(ScriptStep { line, txn, act, sees });
        Ok(())
    }

    /// Parses facts about an outcome of this script, with commas between them.
    ///
    /// # Errors
    /// The first text that is no fact, and what was expected there.
    pub fn facts(&self, text: &str) -> Result<Vec<Fact>, String> {
        text.split(',').map(|fact| self.fact(fact.trim())).collect()
    }

    fn fact(&self, text: &str) -> Parsed<Fact> {
        if text == "shown" {
            return Ok(Fact::Shown);
        }
        let what = "`shown`, `tN waits`, `tN commits`, `tN rolls back`, `tN aborts` or `tN aborts (REASON)`";
        let Some((txn, fact)) = text.split_once(' ').filter(|(txn, _)| is_txn(txn)) else {
            return expected(what, text);
        };
        let txn = self.txn(txn)?;
        if txn >= self.txns() {
            return expected("a transaction of the script", text);
        }
        Ok(match fact {
            "waits" => Fact::Waits(txn),
            "commits" => Fact::Commits(txn),
            "rolls back" => Fact::RollsBack(txn),
            "aborts" => Fact::Aborts(txn, None),
            _ => {
                let reason = fact.strip_prefix("aborts (").and_then(|rest| rest.strip_suffix(')'));
                let Some(name) = reason else { return expected(what, text) };
                let Some(reason) = Abort::ALL.into_iter().find(|abort| abort.name() == name) else {
                    return expected("the name of a reason, as reports have it", name);
                };
                Fact::Aborts(txn, Some(reason))
            }
        })
    }

    /// Fails if a part of the script is missing.
    fn is_whole(&self) -> Parsed<()> {
        if self.story.is_empty() {
            return expected("a paragraph that tells the story", "");
        }
        if self.steps.is_empty() {
            return expected("steps", "");
        }
        for txn in 0..self.txns() {
            let ends = |act: &ScriptAction| matches!(act, ScriptAction::Commit | ScriptAction::Rollback);
            if !self.steps_of(txn).any(|(_, step)| ends(&step.act)) {
                return expected(&format!("`commit` or `rollback` of t{}", txn + 1), "");
            }
        }
        Ok(())
    }
}

/// Whether the text looks like the name of a transaction.
fn is_txn(text: &str) -> bool {
    text.strip_prefix('t')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn levels(text: &str) -> Parsed<Vec<Isolation>> {
    let mut levels = Vec::new();
    for name in text.split(',').map(str::trim) {
        match LEVELS.into_iter().find(|level| level.name() == name) {
            Some(level) => levels.push(level),
            None if name == "any" => levels.extend(LEVELS),
            None => {
                let names: Vec<_> = LEVELS.iter().map(|level| level.name()).collect();
                return expected(&format!("a level: {} or any", names.join(", ")), name);
            }
        }
    }
    Ok(levels)
}

/// Adds strict serializability to serializability: a history that serializable schemes never show, strictly
/// serializable ones never show either.
fn forbidden(levels: &[Isolation]) -> Vec<Isolation> {
    let mut levels = levels.to_vec();
    if levels.contains(&Isolation::Serializable) {
        levels.push(Isolation::StrictlySerializable);
    }
    levels
}

/// Parses rows of tables, `point 1=10 2=20; ordered 1..9=0`; returns the named tables and the rows.
fn table_rows(text: &str) -> Parsed<(Vec<TableName>, ScriptRows)> {
    let (mut tables, mut rows) = (Vec::new(), BTreeMap::new());
    for part in text.split(';') {
        let mut words = part.split_whitespace();
        let table = table(words.next().unwrap_or_default())?;
        tables.push(table);
        for word in words {
            let Some((keys, value)) = word.split_once('=') else { return expected("`KEY=VALUE`", word) };
            let (keys, value) = (range(table, keys)?, number(value)?);
            for key in keys.from..=keys.to {
                if rows.insert((table, key), value).is_some() {
                    return expected("each key once", word);
                }
            }
        }
    }
    Ok((tables, rows))
}

fn number(text: &str) -> Parsed<u64> {
    text.parse().or_else(|_| expected("a number", text))
}

fn table(text: &str) -> Parsed<TableName> {
    let found = TableName::ALL.into_iter().find(|table| table.name() == text);
    found.map_or_else(|| expected("a table: point, ordered or indexed", text), Ok)
}

fn bounds(text: &str) -> Parsed<(u64, u64)> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (number(from)?, number(to)?);
    if from > to { expected("a range that ascends", text) } else { Ok((from, to)) }
}

/// Parses a key of a table, or a range of keys.
fn range(table: TableName, text: &str) -> Parsed<Keys> {
    let (from, to) = bounds(text)?;
    let end = table.keys_end();
    if to >= end {
        return expected(&format!("keys of `{}` below {end}", table.name()), text);
    }
    Ok(Keys { table, from, to })
}

fn key(table: TableName, text: &str) -> Parsed<u64> {
    let keys = range(table, text)?;
    if keys.from == keys.to { Ok(keys.from) } else { expected("one key", text) }
}

fn act(text: &str) -> Parsed<ScriptAction> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["begin"] => ScriptAction::Begin,
        ["commit"] => ScriptAction::Commit,
        ["rollback"] => ScriptAction::Rollback,
        [verb, name, ref rest @ ..] if VERBS.contains(&verb) => {
            ScriptAction::Do(op(text, verb, table(name)?, rest)?)
        }
        _ => return expected(&format!("begin, commit, rollback, {}", VERBS.join(", ")), text),
    })
}

const VERBS: [&str; 8] = ["read", "update", "add", "replace", "insert", "delete", "scan", "scan_by"];

fn op(text: &str, verb: &str, table: TableName, rest: &[&str]) -> Parsed<ScriptOp> {
    Ok(match (verb, rest) {
        ("read", [at]) => ScriptOp::Read(table, key(table, at)?),
        ("update", [at, "=", value]) => ScriptOp::Update(table, key(table, at)?, Change::To(number(value)?)),
        ("update", [at, "+", amount]) => {
            ScriptOp::Update(table, key(table, at)?, Change::By(number(amount)?))
        }
        ("add", [at, "+", amount]) if table != TableName::Indexed => {
            ScriptOp::Add(table, key(table, at)?, number(amount)?)
        }
        ("replace", [at, "=", value]) => ScriptOp::Replace(table, key(table, at)?, number(value)?),
        ("insert", [at, "=", value]) => {
            let keys = range(table, at)?;
            if keys.to - keys.from >= INSERTED_MAX {
                return expected(&format!("at most {INSERTED_MAX} keys"), at);
            }
            ScriptOp::Insert(keys, number(value)?)
        }
        ("delete", [at]) => ScriptOp::Delete(table, key(table, at)?),
        ("scan", [at, how @ ..]) if table == TableName::Ordered => scan(range(table, at)?, how)?,
        ("scan_by", [at, how @ ..]) if table == TableName::Indexed => {
            let (from, to) = bounds(at)?;
            scan(Keys { table, from, to }, how)?
        }
        _ => {
            let form = match verb {
                "read" | "delete" => "`TABLE KEY`",
                "update" => "`TABLE KEY = VALUE` or `TABLE KEY + AMOUNT`",
                "add" => "`TABLE KEY + AMOUNT` of point or ordered: what is indexed is updated",
                "replace" | "insert" => "`TABLE KEY = VALUE`",
                "scan" => "`ordered FROM..TO`, then `backward` and `limit N` or neither",
                _ => "`indexed FROM..TO`, then `backward` and `limit N` or neither",
            };
            return expected(&format!("`{verb}` with {form}"), text);
        }
    })
}

fn scan(keys: Keys, how: &[&str]) -> Parsed<ScriptOp> {
    let (is_forward, how) = match how {
        ["backward", rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    let limit = match how {
        [] => usize::MAX,
        ["limit", limit] => match number(limit)? {
            0 => return expected("a limit of one at least", limit),
            limit => limit as usize,
        },
        _ => return expected("`backward`, `limit N`, both in this order, or neither", &how.join(" ")),
    };
    Ok(ScriptOp::Scan { keys, is_forward, limit })
}

/// Parses the result that a step sees.
fn seen(act: &ScriptAction, text: &str) -> Parsed<Seen> {
    match act {
        ScriptAction::Do(ScriptOp::Read(..) | ScriptOp::Update(..)) if text == "none" => {
            Ok(Seen::Value(None))
        }
        ScriptAction::Do(ScriptOp::Read(..) | ScriptOp::Update(..)) => match text.parse() {
            Ok(value) => Ok(Seen::Value(Some(value))),
            Err(_) => expected("a value or `none`", text),
        },
        ScriptAction::Do(ScriptOp::Scan { .. }) if text == "nothing" => Ok(Seen::Rows(Vec::new())),
        ScriptAction::Do(ScriptOp::Scan { .. }) => {
            let mut rows = Vec::new();
            for word in text.split_whitespace() {
                let Some((keys, value)) = word.split_once('=') else {
                    return expected("`KEY=VALUE ..` or `nothing`", text);
                };
                let ((from, to), value) = (bounds(keys)?, number(value)?);
                rows.extend((from..=to).map(|key| (key, value)));
            }
            Ok(Seen::Rows(rows))
        }
        ScriptAction::Do(op) => {
            let not_done = if matches!(op, ScriptOp::Insert(..)) { "there" } else { "none" };
            match text {
                "done" => Ok(Seen::Done(true)),
                _ if text == not_done => Ok(Seen::Done(false)),
                _ => expected(&format!("`done` or `{not_done}`"), text),
            }
        }
        ScriptAction::Begin | ScriptAction::Commit | ScriptAction::Rollback => {
            expected("no result of this step", text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A correct script, line by line.
    const GOOD: &str = "Lost update\nfrom: nobody\n\nA story:\nof two lines.\n\nload: point 1=10\n\n\
                        t1: read point 1 -> 10\nt2: update point 1 + 1 -> 10; commit\nt1: update point 1 = 11\n\
                        t1: commit\n\nend: point 1=11\nnever: serializable, snapshot isolation\n";

    /// The error message of a script in which one line is replaced.
    fn error(line: &str, instead: &str) -> String {
        assert!(GOOD.contains(line), "{line}");
        Script::parse("good", &GOOD.replacen(line, instead, 1)).expect_err(instead).to_string()
    }

    #[test]
    fn a_script_is_read_as_it_is_told() {
        let script = Script::parse("good", GOOD).expect("it is right");
        assert_eq!((script.title.as_str(), script.from.as_str()), ("Lost update", "nobody"));
        assert_eq!(script.story, "A story:\nof two lines.\n");
        assert_eq!(script.load, ScriptRows::from([((TableName::Point, 1), 10)]));
        let told: Vec<_> = (0..script.steps.len()).map(|step| script.text_of(step)).collect();
        let steps = [
            "t1: read point 1",
            "t2: update point 1 + 1",
            "t2: commit",
            "t1: update point 1 = 11",
            "t1: commit",
        ];
        assert_eq!(told, steps);
        assert_eq!(script.steps[1].sees, Some(Seen::Value(Some(10))));
        assert_eq!(
            script.end,
            Some((vec![TableName::Point], ScriptRows::from([((TableName::Point, 1), 11)])))
        );
        let never = vec![Isolation::Serializable, Isolation::Snapshot, Isolation::StrictlySerializable];
        assert_eq!(script.claims, [ScriptClaim::Never(never)]);
        let facts = vec![Fact::Waits(1), Fact::Aborts(0, Some(Abort::LockBusy))];
        assert_eq!(script.facts("t2 waits, t1 aborts (lock_busy)"), Ok(facts));
    }

    #[test]
    fn an_error_names_file_and_line_and_what_was_expected() {
        let text = error("from: nobody", "nobody");
        assert_eq!(text, "good.txt:2: expected `from: WHERE IT WAS TOLD FIRST`, found `nobody`");
        let text = error("t1: commit", "t1: comit");
        assert!(text.starts_with("good.txt:12: expected begin, commit, rollback, read, "), "{text}");
        assert!(text.ends_with("found `comit`"), "{text}");
    }

    #[test]
    fn steps_that_no_table_has_are_refused() {
        let refused = |step: &str| error("read point 1 -> 10", step);
        assert!(refused("read points 1").contains("a table: point, ordered or indexed, found `points`"));
        assert!(refused("read point").contains("`read` with `TABLE KEY`"));
        assert!(refused("read point 1..2").contains("one key, found `1..2`"));
        assert!(refused("read point x").contains("a number, found `x`"));
        assert!(refused("read point 1600").contains("keys of `point` below 1600"));
        assert!(refused("read indexed 100").contains("keys of `indexed` below 100"));
        assert!(refused("update point 1 11").contains("`TABLE KEY = VALUE` or `TABLE KEY + AMOUNT`"));
        assert!(refused("add indexed 1 + 5").contains("what is indexed is updated"));
        assert!(refused("insert ordered 1..101 = 5").contains("at most 100 keys"));
        assert!(refused("scan point 1..9").contains("`ordered FROM..TO`"));
        assert!(refused("scan ordered 9..1").contains("a range that ascends"));
        assert!(refused("scan ordered 1..9 limit 0").contains("a limit of one at least"));
        assert!(refused("scan ordered 1..9 forward").contains("`backward`, `limit N`"));
        assert!(refused("scan_by ordered 1..9").contains("`indexed FROM..TO`"));
    }

    #[test]
    fn results_that_no_step_has_are_refused() {
        let refused = |step: &str| error("read point 1 -> 10", step);
        assert!(refused("read point 1 -> ten").contains("a value or `none`, found `ten`"));
        assert!(refused("delete point 1 -> there").contains("`done` or `none`"));
        assert!(refused("insert point 1 = 1 -> none").contains("`done` or `there`"));
        assert!(refused("scan ordered 1..9 -> 5").contains("`KEY=VALUE ..` or `nothing`"));
        assert!(refused("begin -> 10").contains("no result of this step"));
    }

    #[test]
    fn transactions_come_in_order_and_end_once() {
        assert!(error("t2:", "t3:").contains("a transaction from `t1` to `t2`, found `t3`"));
        assert!(
            error("t1: update point 1 = 11", "t2: read point 1")
                .contains("nothing more of t2, which has ended")
        );
        assert!(error("t1: commit", "t1: begin").contains("`begin` as a first step only"));
        assert!(error("t1: commit\n", "").contains("`commit` or `rollback` of t1, found nothing"));
    }

    #[test]
    fn claims_and_facts_name_levels_transactions_and_reasons_that_there_are() {
        assert!(
            error("snapshot isolation", "snapshots")
                .contains("a level: strictly serializable, serializable, ")
        );
        let script = Script::parse("good", GOOD).expect("it is right");
        let refused = |facts: &str| script.facts(facts).expect_err(facts);
        assert!(
            refused("t1 aborts (busy)").contains("the name of a reason, as reports have it, found `busy`")
        );
        assert!(refused("t2 wait").contains("`tN waits`"));
        assert!(refused("t1 commits, t3 aborts").contains("a transaction of the script, found `t3 aborts`"));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(error("A story:\nof two lines.\n", "").contains("a paragraph that tells the story"));
        assert!(error("point 1=10", "point 1=10 1=11").contains("each key once, found `1=11`"));
        assert!(error("load: point 1=10", "load: point 1").contains("`KEY=VALUE`, found `1`"));
        assert!(
            Script::parse("empty", "Title\nfrom: nobody\n\nStory.\n")
                .expect_err("no steps")
                .what
                .contains("steps")
        );
    }
}
