//! Histories in the forms that Elle reads (Kingsbury and Alvaro, PVLDB 14(3), 2020), so that another checker can
//! judge the same run.
//!
//! An attempt is an `invoke` and, at the moment of its response, an `ok`, a `fail`, or an `info` for an unknown
//! outcome. Versions are numbered; the loaded version is 1, and a transaction that comes before all others writes it.
//!
//! - As registers, a write writes its version's number, a deletion writes nil, and an absence is read as nil. This says
//!   no more than what transactions saw: the other checker has to find out the order of versions.
//! - As lists, a write appends its version's number, and a read returns the versions up to the one it saw. These lists
//!   are put together from what installs replaced, so this copy rests on the recorded order of versions. That order has
//!   a gap where an insert does not say which of the key's absences it ended: there the key continues as another list,
//!   `key@` with the number of its first version. A deletion appends its number, too; reads of an absence without a
//!   known deletion are left out. Edges between the lists of a key are lost, and none is invented.
//!
//! Scans become reads of the rows that they returned; the absence of other rows is left out. The length of a list is
//! the number of writes of its key, which makes copies of long histories of few keys large.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use stdx::history::{AttemptOutcome, History, Key, Op, RecordedAttempt, SessionLog, Version};

/// The kind of object that a key becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Registers, which are read and written.
    RwRegister,
    /// Lists, which are read and appended to.
    ListAppend,
}

/// The notation of the output, one event per line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Maps of EDN.
    Edn,
    /// Objects of JSON.
    Json,
}

/// The numbers of the loaded version and of no version.
const LOADED: u64 = 1;
const NONE: u64 = 0;

/// One event: its time, its place among the events of that time, its log, its attempt, and whether it is the response.
type Event = (u64, u32, usize, usize, bool);

/// The exported form of an operation.
#[derive(Clone, Copy)]
enum Act {
    Read(Version),
    /// A read whose value is not exported.
    Unread,
    Write(u64),
    Delete,
}

/// A history that is being exported.
struct Export<'e, W> {
    history: &'e History,
    form: Form,
    notation: Notation,
    /// The name of a table.
    name: &'e dyn Fn(u16) -> String,
    out: W,
    /// The number of the first version of each attempt, by session.
    firsts: BTreeMap<u32, Vec<u64>>,
    /// By version, the version of the same key before it.
    before: Vec<u64>,
    /// By version, the earliest version before it to which the order is known; the version itself if there is none.
    roots: Vec<u64>,
    /// Keys that were ever deleted; each of them becomes several lists.
    deleted: BTreeSet<(u16, &'e [u64])>,
    index: u64,
}

/// Writes a history for Elle; `name` returns the names of tables.
///
/// # Errors
/// The errors of the writer.
pub fn export(
    history: &History,
    (form, notation): (Form, Notation),
    name: &dyn Fn(u16) -> String,
    out: impl Write,
) -> io::Result<()> {
    let (firsts, before) = number(history);
    let (roots, deleted, index) = (Vec::new(), BTreeSet::new(), 0);
    let mut export = Export { history, form, notation, name, out, firsts, before, roots, deleted, index };
    if form == Form::ListAppend {
        export.chain();
    }
    export.load()?;
    let sessions = history.logs().len() as u64;
    let mut crashes = vec![0; history.logs().len()];
    for (time, _, log, at, is_response) in events(history) {
        let attempt = history.logs()[log].attempt(at);
        // A process that was cut off does not come back: its session continues under another process number.
        let process = log as u64 + sessions * crashes[log];
        let kind = match (is_response, attempt.outcome) {
            (false, _) => "invoke",
            (true, AttemptOutcome::Committed(_)) => "ok",
            (true, AttemptOutcome::Aborted) => "fail",
            (true, AttemptOutcome::Unknown) => "info",
        };
        crashes[log] += u64::from(kind == "info");
        export.line(kind, process, time, attempt)?;
    }
    Ok(())
}

/// Numbers the versions; those of an attempt are consecutive.
fn number(history: &History) -> (BTreeMap<u32, Vec<u64>>, Vec<u64>) {
    let mut next = LOADED + 1;
    let mut firsts = BTreeMap::new();
    for log in history.logs() {
        let mut of_log = Vec::with_capacity(log.attempts().len() + 1);
        for attempt in log.attempts() {
            of_log.push(next);
            next += u64::from(attempt.versions);
        }
        of_log.push(next);
        firsts.insert(log.session(), of_log);
    }
    (firsts, vec![NONE; next as usize])
}

/// The events in order. At one moment invocations come before responses, except in the same session.
fn events(history: &History) -> Vec<Event> {
    let attempts = || history.logs().iter().flat_map(SessionLog::attempts);
    let told = attempts().map(|attempt| match attempt.outcome {
        AttemptOutcome::Unknown => attempt.invoked,
        _ => attempt.responded,
    });
    let end = told.max().unwrap_or_default();
    let mut events: Vec<Event> = Vec::new();
    for (nth, log) in history.logs().iter().enumerate() {
        let mut last: Option<(u64, u32)> = None;
        for (at, attempt) in log.attempts().enumerate() {
            let next_begins = (at + 1 < log.attempts().len()).then(|| log.attempt(at + 1).invoked);
            // The response of an attempt that was cut off is set to the moment when its session continues, or to the
            // end.
            let responded = match attempt.outcome {
                AttemptOutcome::Unknown => next_begins.unwrap_or(end),
                _ => attempt.responded,
            };
            for (time, is_response) in [(attempt.invoked, false), (responded, true)] {
                let place = match last {
                    Some((moment, place)) if moment == time => place + 1,
                    _ => u32::from(is_response),
                };
                last = Some((time, place));
                events.push((time, place, nth, at, is_response));
            }
        }
    }
    events.sort_unstable();
    events
}

impl<'e, W: Write> Export<'e, W> {
    /// Finds the order of the versions of each key, and the keys that were deleted.
    fn chain(&mut self) {
        let history = self.history;
        for attempt in history.logs().iter().flat_map(SessionLog::attempts) {
            let mut own: BTreeMap<(u16, &[u64]), (Version, Version)> = BTreeMap::new();
            for op in attempt.ops() {
                match op {
                    Op::Write { key, to } => {
                        if to.is_absent() {
                            self.deleted.insert((key.table, key.words));
                        }
                        let place = own.entry((key.table, key.words)).or_insert((to, to));
                        if place.1 != to {
                            self.put(to, place.1);
                            place.1 = to;
                        }
                    }
                    Op::Install { key, before, .. } => {
                        if let Some((first, _)) = own.get(&(key.table, key.words)) {
                            self.put(*first, before);
                        }
                    }
                    Op::Read { .. } | Op::Scan(_) => {}
                }
            }
        }
        self.roots = (0..self.before.len() as u64).collect();
        let mut path = Vec::new();
        for number in 0..self.before.len() {
            let mut at = number;
            // The path ends at a version that has its root already, or that has no version before it. A broken order
            // may contain circles: then the path ends anywhere.
            while self.roots[at] == at as u64 && self.before[at] != NONE && path.len() < self.before.len() {
                path.push(at);
                at = self.before[at] as usize;
            }
            let root = self.roots[at];
            path.drain(..).for_each(|at| self.roots[at] = root);
        }
    }

    fn put(&mut self, version: Version, before: Version) {
        let (number, before) = (self.number(version), self.number(before));
        if number != NONE {
            self.before[number as usize] = before;
        }
    }

    /// The number of a version; `NONE` for an absence without a known deletion, or a version whose writer is missing.
    fn number(&self, version: Version) -> u64 {
        if version.is_loaded() {
            return LOADED;
        }
        let (id, sequence) = (version.txn(), u64::from(version.sequence()));
        let number = || {
            let (firsts, at) = (self.firsts.get(&id.session())?, (id.count() as usize).checked_sub(1)?);
            let number = firsts.get(at)? + sequence;
            (number < *firsts.get(at + 1)?).then_some(number)
        };
        number().unwrap_or(NONE)
    }

    /// Writes the transaction that wrote the loaded versions, if any transaction met one.
    fn load(&mut self) -> io::Result<()> {
        let mut loaded: BTreeSet<(u16, &[u64])> = BTreeSet::new();
        let mut meet = |key: Key<'e>, version: Version| {
            if version.is_loaded() {
                loaded.insert((key.table, key.words));
            }
        };
        let history = self.history;
        for op in history.logs().iter().flat_map(SessionLog::attempts).flat_map(|attempt| attempt.ops()) {
            match op {
                Op::Read { key, seen } => meet(key, seen),
                Op::Install { key, before, .. } => meet(key, before),
                Op::Scan(scan) => scan.rows().for_each(|(key, seen)| meet(key, seen)),
                Op::Write { .. } => {}
            }
        }
        let shown = |(table, words): &(u16, &[u64])| {
            self.op(Key::new(*table, words), Act::Write(LOADED), Version::LOADED)
        };
        let value: Vec<String> = loaded.iter().map(shown).collect();
        if value.is_empty() {
            return Ok(());
        }
        let process = self.history.logs().len() as u64 * (1 << 20);
        self.event("invoke", process, 0, &value)?;
        self.event("ok", process, 0, &value)
    }

    /// Whether the version is an absence that lists leave out, since its deletion is not known.
    fn is_untold(&self, key: Key<'_>, version: Version) -> bool {
        self.form == Form::ListAppend && self.number(version) == NONE && self.is_deleted(key)
    }

    fn is_deleted(&self, key: Key<'_>) -> bool {
        self.deleted.contains(&(key.table, key.words))
    }

    /// Writes one line; only the line of a commit contains the values that were read.
    fn line(&mut self, kind: &str, process: u64, time: u64, attempt: RecordedAttempt<'_>) -> io::Result<()> {
        let mut value = Vec::new();
        let seen = |seen| if kind == "ok" { Act::Read(seen) } else { Act::Unread };
        for op in attempt.ops() {
            match op {
                Op::Read { key, seen: version } if self.is_untold(key, version) => {}
                Op::Read { key, seen: version } => value.push(self.op(key, seen(version), version)),
                Op::Write { key, to } if self.form == Form::RwRegister && to.is_absent() => {
                    value.push(self.op(key, Act::Delete, to));
                }
                Op::Write { key, to } => value.push(self.op(key, Act::Write(self.number(to)), to)),
                Op::Scan(scan) => {
                    let rows = scan.rows().filter(|&(key, version)| !self.is_untold(key, version));
                    value.extend(rows.map(|(key, version)| self.op(key, seen(version), version)));
                }
                Op::Install { .. } => {}
            }
        }
        self.event(kind, process, time, &value)
    }

    /// The text of an operation on a version of a key.
    fn op(&self, key: Key<'_>, act: Act, version: Version) -> String {
        let (comma, none) = self.marks();
        let quote = |text: &str| match self.notation {
            Notation::Edn => format!(":{text}"),
            Notation::Json => format!("\"{text}\""),
        };
        let write = if self.form == Form::ListAppend { "append" } else { "w" };
        let (what, value) = match act {
            Act::Unread => ("r", none.to_owned()),
            Act::Delete => (write, none.to_owned()),
            Act::Write(number) => (write, number.to_string()),
            Act::Read(seen) if self.form == Form::ListAppend => ("r", self.list(seen)),
            Act::Read(seen) if seen.is_absent() => ("r", none.to_owned()),
            Act::Read(seen) => ("r", self.number(seen).to_string()),
        };
        let name = (self.name)(key.table).replace('\\', "\\\\").replace('"', "\\\"");
        let words: Vec<String> = key.words.iter().map(u64::to_string).collect();
        let is_stretch = self.form == Form::ListAppend && self.is_deleted(key);
        let stretch = is_stretch.then(|| format!("@{}", self.roots[self.number(version) as usize]));
        let stretch = stretch.unwrap_or_default();
        format!("[{}{comma} \"{name}[{}]{stretch}\"{comma} {value}]", quote(what), words.join(","))
    }

    /// The list of the versions up to this one.
    fn list(&self, seen: Version) -> String {
        let mut numbers = Vec::new();
        let mut number = self.number(seen);
        // A broken order may contain circles.
        while number != NONE && numbers.len() < self.before.len() {
            numbers.push(number.to_string());
            number = self.before[number as usize];
        }
        numbers.reverse();
        format!("[{}]", numbers.join(&format!("{} ", self.marks().0)))
    }

    /// The separator of values, and the notation for no value.
    const fn marks(&self) -> (&'static str, &'static str) {
        match self.notation {
            Notation::Edn => ("", "nil"),
            Notation::Json => (",", "null"),
        }
    }

    fn event(&mut self, kind: &str, process: u64, time: u64, value: &[String]) -> io::Result<()> {
        let (index, value) = (self.index, value.join(&format!("{} ", self.marks().0)));
        self.index += 1;
        match self.notation {
            Notation::Edn => writeln!(
                self.out,
                "{{:type :{kind}, :f :txn, :process {process}, :time {time}, :index {index}, :value [{value}]}}"
            ),
            Notation::Json => writeln!(
                self.out,
                "{{\"type\": \"{kind}\", \"f\": \"txn\", \"process\": {process}, \"time\": {time}, \
                 \"index\": {index}, \"value\": [{value}]}}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts that overlap: the first replaces the loaded version, the second replaces that version, deletes and
    /// inserts, the third was cut off, and the fourth aborted.
    fn history() -> History {
        let (x, y) = ([1], [2]);
        let (x, y) = (Key::new(0, &x), Key::new(1, &y));
        let mut logs = [SessionLog::new(0), SessionLog::new(3)];
        logs[0].begin(10);
        logs[0].read(x, Version::LOADED);
        let first = logs[0].write(x, false);
        logs[0].install(x, Version::LOADED, first);
        logs[0].end(AttemptOutcome::Committed(7), 20);
        logs[1].begin(20);
        logs[1].scan(0, &[0], &[9], true);
        logs[1].row(&[1], first);
        logs[1].scan_complete();
        let second = logs[1].write(x, false);
        let third = logs[1].write(x, false);
        logs[1].read(x, third);
        let gone = logs[1].write(y, true);
        logs[1].install(x, first, third);
        logs[1].install(y, Version::LOADED, gone);
        logs[1].end(AttemptOutcome::Committed(8), 30);
        logs[1].begin(30);
        logs[1].write(x, false);
        logs[0].begin(30);
        logs[0].read(x, second);
        logs[0].read(y, Version::ABSENT);
        logs[0].end(AttemptOutcome::Aborted, 40);
        History::new(logs.into_iter().collect())
    }

    fn exported(form: Form, notation: Notation) -> Vec<String> {
        let mut out = Vec::new();
        let name = |table: u16| ["x", "y"][usize::from(table)].to_owned();
        export(&history(), (form, notation), &name, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("it is text").lines().map(str::to_owned).collect()
    }

    #[test]
    fn registers_are_written_and_read_as_numbers() {
        let golden = [
            "{:type :invoke, :f :txn, :process 2097152, :time 0, :index 0, :value [[:w \"x[1]\" 1] [:w \"y[2]\" 1]]}",
            "{:type :ok, :f :txn, :process 2097152, :time 0, :index 1, :value [[:w \"x[1]\" 1] [:w \"y[2]\" 1]]}",
            "{:type :invoke, :f :txn, :process 0, :time 10, :index 2, :value [[:r \"x[1]\" nil] [:w \"x[1]\" 2]]}",
            "{:type :invoke, :f :txn, :process 1, :time 20, :index 3, :value [[:r \"x[1]\" nil] [:w \"x[1]\" 3] \
             [:w \"x[1]\" 4] [:r \"x[1]\" nil] [:w \"y[2]\" nil]]}",
            "{:type :ok, :f :txn, :process 0, :time 20, :index 4, :value [[:r \"x[1]\" 1] [:w \"x[1]\" 2]]}",
            "{:type :invoke, :f :txn, :process 0, :time 30, :index 5, :value [[:r \"x[1]\" nil] [:r \"y[2]\" nil]]}",
            "{:type :ok, :f :txn, :process 1, :time 30, :index 6, :value [[:r \"x[1]\" 2] [:w \"x[1]\" 3] \
             [:w \"x[1]\" 4] [:r \"x[1]\" 4] [:w \"y[2]\" nil]]}",
            "{:type :invoke, :f :txn, :process 1, :time 30, :index 7, :value [[:w \"x[1]\" 6]]}",
            "{:type :fail, :f :txn, :process 0, :time 40, :index 8, :value [[:r \"x[1]\" nil] [:r \"y[2]\" nil]]}",
            "{:type :info, :f :txn, :process 1, :time 40, :index 9, :value [[:w \"x[1]\" 6]]}",
        ];
        assert_eq!(exported(Form::RwRegister, Notation::Edn), golden);
    }

    #[test]
    fn lists_grow_as_storage_saw_it_and_absences_without_a_beginning_are_left_out() {
        let lines = exported(Form::ListAppend, Notation::Json);
        assert_eq!(lines.len(), 10);
        assert_eq!(
            lines[6],
            "{\"type\": \"ok\", \"f\": \"txn\", \"process\": 1, \"time\": 30, \"index\": 6, \"value\": \
             [[\"r\", \"x[1]\", [1, 2]], [\"append\", \"x[1]\", 3], [\"append\", \"x[1]\", 4], \
             [\"r\", \"x[1]\", [1, 2, 3, 4]], [\"append\", \"y[2]@1\", 5]]}"
        );
        assert!(!lines[8].contains("y[2]"), "its read of an absence does not say since when: {}", lines[8]);
    }

    #[test]
    fn a_key_that_was_deleted_goes_on_as_another_list() {
        let x = [1];
        let x = Key::new(0, &x);
        let mut log = SessionLog::new(0);
        log.begin(1);
        let gone = log.write(x, true);
        log.install(x, Version::LOADED, gone);
        log.end(AttemptOutcome::Committed(1), 2);
        log.begin(3);
        log.read(x, gone);
        let back = log.write(x, false);
        log.install(x, Version::ABSENT, back);
        log.end(AttemptOutcome::Committed(2), 4);
        log.begin(5);
        log.read(x, back);
        log.end(AttemptOutcome::Committed(3), 6);
        let mut out = Vec::new();
        let form = (Form::ListAppend, Notation::Edn);
        export(&History::new(vec![log]), form, &|_| "x".to_owned(), &mut out)
            .expect("memory takes everything");
        let text = String::from_utf8(out).expect("it is text");
        let of =
            |time: u32| text.lines().find(|line| line.contains(&format!(":time {time},"))).expect("a line");
        assert!(of(2).contains("[[:append \"x[1]@1\" 2]]"), "{text}");
        assert!(of(4).contains("[[:r \"x[1]@1\" [1 2]] [:append \"x[1]@3\" 3]]"), "{text}");
        assert!(of(6).contains("[[:r \"x[1]@3\" [3]]]"), "{text}");
    }
}
