//! Playing a script on a scheme.
//!
//! The script is a workload in which each transaction is the request of one client, run by the scheme's own driver with
//! one worker. If transactions run one by one, each client is on a fiber, and one more client is the conductor: it
//! gives each step its turn, in the order of the script. If a step's fiber stays suspended while the conductor looks a
//! number of times, the step *waits*, and the script goes on with the other transactions; when a transaction no longer
//! waits, its missed steps come first. If no transaction can go on and some wait, the script is stuck, and the
//! conductor ends it by a panic that says which transaction waits for which. A scheme that spins without yielding,
//! which is not allowed, would not be detected.
//!
//! If transactions run in batches there are no turns: the transactions that are open together in the script are a
//! batch, in the order of their first steps. Their commits are requested within the batch, and decided at its end.
//!
//! Attempts that abort are not retried, except those that fall back within their batch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::driver::{self, Control, Driver, Job, Limit, Retry, TypeTally};
use engine::setting::{Setting, SettingError, Values};
use engine::{
    Abort, AnyDatabase, ClientId, Database, Drive, Env, Forecast, Homes, Loader, Procedures, Quiesced,
    Records, Schema, Scheme, Share, Transaction, TxnType, TypedLoader, TypedView, Violation, Workload,
};
use stdx::{Rng, panics};
use sync::{Latched, clock, waiter};

use super::stage::Stage;
use super::{Script, ScriptAction, ScriptRows, Seen, TXNS_MAX};

/// The number of looks at a suspended fiber after which its step counts as waiting.
const LOOKS_PER_WAIT: u32 = 64;
/// The number of looks during which waiting transactions may go on before the next step has its turn.
const LOOKS_PER_TURN: u32 = 8;
/// The number of looks without progress after which a script may be stuck.
const LOOKS_STUCK: u32 = 10_000;
/// The time without progress, in nanoseconds, that a stuck script must also have had.
const NS_STUCK: u64 = 2_000_000_000;

/// The outcome of a script under a scheme.
#[derive(Clone, Debug)]
pub struct ScriptOutcome {
    /// The outcomes of the steps.
    pub steps: Vec<StepOutcome>,
    /// The outcomes of the transactions.
    pub txns: Vec<TxnOutcome>,
    /// All rows in the end; empty if the script was cut off.
    pub rows: ScriptRows,
    /// The reason for which the script was cut off, if it was: the script was stuck, or the scheme panicked.
    pub broken: Option<String>,
    /// Whether the script was stuck: all open transactions waited for each other.
    pub is_stuck: bool,
}

/// The outcome of a step.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Whether the step was made.
    pub is_made: bool,
    /// Whether the step had to wait.
    pub has_waited: bool,
    /// Whether later steps of the script were made before this step, since it had to wait.
    pub was_passed: bool,
    /// The result that the step saw.
    pub seen: Option<Seen>,
}

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct TxnOutcome {
    /// The ending of the transaction; `None` if it did not end.
    pub ending: Option<Ending>,
    /// The reason for which its first attempt aborted, if it then fell back in its batch.
    pub fell_back: Option<Abort>,
    /// The time at which it began, counted in events.
    pub began: u32,
    /// The time at which it had ended, counted in events.
    pub ended: u32,
}

/// The ending of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The transaction committed.
    Committed,
    /// The transaction rolled back, and the scheme confirmed its reads.
    RolledBack,
    /// The scheme aborted the transaction.
    Aborted(Abort),
}

/// Plays a script under a scheme.
///
/// # Errors
/// Settings of the scheme that contradict each other.
pub fn play<S: Scheme>(script: &Script, values: &Values) -> Result<ScriptOutcome, SettingError> {
    let is_batched = S::Driver::refuses(&job_of_turns()).is_some();
    play_on(script, is_batched, &|schema, env| Ok(Box::new(Database::<S>::new(schema, values, env)?)))
}

/// Plays a script on the database that `open` makes: compiled once, and not for each scheme.
fn play_on(
    script: &Script,
    is_batched: bool,
    open: &dyn Fn(&Schema, Env) -> Opened,
) -> Result<ScriptOutcome, SettingError> {
    let mut schema = Schema::new();
    let stage = Stage::declare(&mut schema);
    schema.mark_values();
    let show = Show { script: script.clone(), stage, state: Latched::new(State::new(script, is_batched)) };
    let db = &*open(&schema, Env { slots: script.txns() + 1, workers: 1 })?;
    db.load_rows(1, &|share, rows| show.load(share, &mut TypedLoader::new(rows)));
    if show.play(&|job, control| db.drive(&show, job, control), &|| db.rest()) {
        db.show(&mut |rows| show.state.lock().outcome.rows = show.stage.rows(&TypedView(rows)));
    }
    Ok(show.state.into_inner().outcome)
}

/// An empty database, or the reason for which its settings do not go together.
type Opened = Result<Box<dyn StagedDatabase>, SettingError>;

/// A database on which a script is played, without the type of its scheme.
trait StagedDatabase: AnyDatabase {
    /// Runs a part of the script, and returns its outcomes by the type of the transaction.
    fn drive(&self, show: &Show, job: &Job, control: &Control) -> Vec<TypeTally>;

    /// Runs the scheme's periodic work while no transaction is open.
    fn rest(&self);
}

impl<S: Scheme> StagedDatabase for Database<S> {
    fn drive(&self, show: &Show, job: &Job, control: &Control) -> Vec<TypeTally> {
        // Nobody asks for the history. A session with another observer would be compiled once more for every scheme.
        driver::drive(self, &Procedures(show), job, control, &&Records::default()).types
    }

    fn rest(&self) {
        for _ in 0..3 {
            self.scheme().maintain(0);
            // The scheme may go by the clock.
            if self.facts().keeps_versions || self.scheme().watermark().is_some() {
                waiter::pause_ns(1_500_000);
            }
        }
    }
}

/// The job of a part of a script whose steps have turns.
fn job_of_turns() -> Job {
    Job { retry: Retry::Drop, ..Job::new(1, 1, Limit::Requests(2), 1) }
}

/// The transactions of a script, cut into parts where none is open; each part is in the order of first steps.
fn casts(script: &Script) -> Vec<Vec<usize>> {
    let (mut casts, mut open) = (vec![Vec::new()], 0);
    let mut has_begun = vec![false; script.txns()];
    for step in &script.steps {
        if !has_begun[step.txn] {
            has_begun[step.txn] = true;
            if open == 0 {
                casts.push(Vec::new());
            }
            casts.last_mut().expect("one at least").push(step.txn);
            open += 1;
        }
        open -= usize::from(matches!(step.act, ScriptAction::Commit | ScriptAction::Rollback));
    }
    casts.retain(|cast| !cast.is_empty());
    casts
}

/// The state of a step's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The step has not had its turn.
    Ahead,
    /// The step has its turn, and is being made: also while it waits, and while it ends its transaction.
    Given,
    /// The step was made.
    Over,
}

/// The result of a look of the conductor.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    GoesOn,
    AllEnded,
    Stuck(String),
}

/// State shared by the clients and the conductor.
#[derive(Debug)]
struct State {
    script: Script,
    is_batched: bool,
    /// The transactions of the current part, by client.
    cast: Vec<usize>,
    turns: Vec<Turn>,
    /// The step that has its turn and has neither been made nor been found to wait.
    running: Option<usize>,
    /// Whether each transaction has ended.
    has_ended: Vec<bool>,
    /// The number of attempts of each transaction.
    attempts: Vec<u32>,
    /// The number of looks without progress.
    looks: u32,
    /// The time of the first of these looks.
    first_look_ns: u64,
    events: u32,
    outcome: ScriptOutcome,
}

impl State {
    fn new(script: &Script, is_batched: bool) -> Self {
        let (steps, txns) = (script.steps.len(), script.txns());
        let outcome = ScriptOutcome {
            steps: vec![StepOutcome::default(); steps],
            txns: vec![TxnOutcome::default(); txns],
            rows: ScriptRows::new(),
            broken: None,
            is_stuck: false,
        };
        Self {
            script: script.clone(),
            is_batched,
            cast: Vec::new(),
            turns: vec![Turn::Ahead; steps],
            running: None,
            has_ended: vec![false; txns],
            attempts: vec![0; txns],
            looks: 0,
            first_look_ns: 0,
            events: 0,
            outcome,
        }
    }

    /// Begins a part of the script.
    fn enter(&mut self, cast: Vec<usize>) {
        self.cast = cast;
        self.events += 1;
        for &txn in &self.cast {
            self.outcome.txns[txn].began = self.events;
        }
    }

    /// Ends a part of the script; `tallies` are the driver's counts by type of transaction.
    fn leave(&mut self, tallies: &[TypeTally]) {
        self.events += 1;
        for &txn in &self.cast {
            let tally = &tallies[kind(&self.script, Some(txn))];
            let aborted = Abort::ALL.into_iter().find(|abort| tally.aborts[*abort as usize] > 0);
            let outcome = &mut self.outcome.txns[txn];
            outcome.ending = match aborted {
                _ if tally.commits > 0 => Some(Ending::Committed),
                _ if tally.user_aborts > 0 => Some(Ending::RolledBack),
                aborted => aborted.map(Ending::Aborted),
            };
            outcome.fell_back = aborted.filter(|_| self.attempts[txn] > 1);
            if self.is_batched {
                outcome.ended = self.events;
            }
        }
    }

    /// Counts an attempt of a transaction; a new attempt clears the outcomes of its steps.
    fn execute(&mut self, txn: usize) {
        self.attempts[txn] += 1;
        if self.attempts[txn] > 1 {
            for (number, _) in self.script.steps_of(txn) {
                self.outcome.steps[number] = StepOutcome::default();
            }
        }
    }

    /// Notes that a step is being made.
    fn make(&mut self, number: usize) {
        self.outcome.steps[number].is_made = true;
    }

    /// Notes that a step was made, and that another of the same transaction follows.
    fn made(&mut self, number: usize, seen: Option<Seen>) {
        self.outcome.steps[number].seen = seen;
        self.turns[number] = Turn::Over;
        self.running.take_if(|running| *running == number);
        self.looks = 0;
    }

    /// Notes that the client of a transaction has received its ending.
    fn heard(&mut self, txn: usize) {
        self.events += 1;
        self.outcome.txns[txn].ended = self.events;
        self.has_ended[txn] = true;
        self.running.take_if(|running| self.script.steps[*running].txn == txn);
        self.looks = 0;
    }

    /// A look of the conductor, which gives a step its turn if it is time.
    fn look(&mut self, now_ns: u64) -> Look {
        if self.cast.iter().all(|txn| self.has_ended[*txn]) {
            return Look::AllEnded;
        }
        if self.looks == 0 {
            self.first_look_ns = now_ns;
        }
        self.looks += 1;
        if let Some(step) = self.running {
            if self.looks > LOOKS_PER_WAIT {
                self.outcome.steps[step].has_waited = true;
                self.running = None;
            }
            return Look::GoesOn;
        }
        let is_crowded = self.cast.iter().any(|txn| self.present(*txn).is_some());
        if is_crowded && self.looks <= LOOKS_PER_TURN {
            return Look::GoesOn;
        }
        let next = self.cast.iter().filter_map(|txn| self.next(*txn)).min();
        if let Some(next) = next {
            for waits in 0..self.cast.len() {
                if let Some(step) = self.present(self.cast[waits]) {
                    self.outcome.steps[step].was_passed = true;
                }
            }
            self.turns[next] = Turn::Given;
            self.running = Some(next);
            let txn = self.script.steps[next].txn;
            if self.script.steps_of(txn).next().is_some_and(|(first, _)| first == next) {
                self.events += 1;
                self.outcome.txns[txn].began = self.events;
            }
            self.looks = 0;
        } else if self.looks > LOOKS_STUCK && now_ns.saturating_sub(self.first_look_ns) > NS_STUCK {
            return Look::Stuck(self.who_waits());
        }
        Look::GoesOn
    }

    /// The step that a transaction is making.
    fn present(&self, txn: usize) -> Option<usize> {
        let mut steps = self.script.steps_of(txn).map(|(number, _)| number);
        steps.find(|number| self.turns[*number] == Turn::Given).filter(|_| !self.has_ended[txn])
    }

    /// The step that a transaction can make next.
    fn next(&self, txn: usize) -> Option<usize> {
        if self.has_ended[txn] || self.present(txn).is_some() {
            return None;
        }
        let mut steps = self.script.steps_of(txn).map(|(number, _)| number);
        steps.find(|number| self.turns[*number] == Turn::Ahead)
    }

    /// A text that says which transaction waits for which, as far as the script tells: for open transactions that have
    /// touched the same keys.
    fn who_waits(&self) -> String {
        let waits = self.cast.iter().filter_map(|&txn| {
            let number = self.present(txn)?;
            let others = self.cast.iter().filter(|other| **other != txn && !self.has_ended[**other]);
            let whom = others.filter(|other| self.has_touched(**other, number));
            let whom: Vec<_> = whom.map(|other| format!("t{}", other + 1)).collect();
            let whom = if whom.is_empty() { "nobody in the script".to_owned() } else { whom.join(", ") };
            let line = self.script.steps[number].line;
            Some(format!("line {line}, `{}`, waits for {whom}", self.script.text_of(number)))
        });
        let waits: Vec<_> = waits.collect();
        format!("`{}` is stuck: {}", self.script.name, waits.join("; "))
    }

    /// Whether a transaction has touched keys that a step of another transaction touches.
    fn has_touched(&self, txn: usize, number: usize) -> bool {
        let act = &self.script.steps[number].act;
        let mut before = self.script.steps_of(txn).filter(|(step, _)| self.turns[*step] != Turn::Ahead);
        before.any(|(_, step)| match (act, &step.act) {
            (ScriptAction::Do(one), ScriptAction::Do(other)) => {
                let (one, other) = (one.keys(), other.keys());
                one.table == other.table && one.from <= other.to && other.from <= one.to
            }
            _ => true,
        })
    }
}

/// A script as a workload.
#[derive(Debug)]
struct Show {
    script: Script,
    stage: Stage,
    state: Latched<State>,
}

/// The types of transactions: for each transaction of a script one that may write and one that only reads, and last the
/// type of requests which do nothing.
const TYPES: [TxnType; 2 * TXNS_MAX + 1] = {
    let mut types = [TxnType { name: "txn", read_only: false }; 2 * TXNS_MAX + 1];
    let mut txn = 0;
    while txn < TXNS_MAX {
        types[2 * txn + 1].read_only = true;
        txn += 1;
    }
    types
};

/// The index of a transaction's type.
fn kind(script: &Script, txn: Option<usize>) -> usize {
    txn.map_or(2 * TXNS_MAX, |txn| 2 * txn + usize::from(script.is_read_only(txn)))
}

impl Show {
    /// Plays all parts, each by `run`, and calls `rest` after each. Returns `false` if the script was cut off.
    fn play(&self, run: &dyn Fn(&Job, &Control) -> Vec<TypeTally>, rest: &dyn Fn()) -> bool {
        let is_batched = self.state.lock().is_batched;
        for cast in casts(&self.script) {
            let (control, turns) = (Control::new(1), job_of_turns());
            let mut job = Job { clients: cast.len() + 1, ..turns };
            if is_batched {
                job = Job { clients: cast.len(), retry: Retry::Same, limit: Limit::Requests(1), ..turns };
                // An interrupted run of batches ends after the first batch.
                control.interrupt();
            }
            self.state.lock().enter(cast);
            match catch_unwind(AssertUnwindSafe(|| run(&job, &control))) {
                Ok(types) => self.state.lock().leave(&types),
                Err(panic) => {
                    let says = panics::message(&*panic).unwrap_or_else(|| "a panic".to_owned());
                    self.state.lock().outcome.broken = Some(says);
                    // Transactions that are left open may block later ones.
                    return false;
                }
            }
            rest();
        }
        true
    }

    /// Waits for a step's turn.
    fn turn(&self, number: usize) {
        waiter::wait_until(None, || {
            let state = self.state.lock();
            state.is_batched || state.turns[number] == Turn::Given
        });
        self.state.lock().make(number);
    }

    /// Conducts until all transactions of the part have ended.
    fn conduct(&self) {
        let mut look = Look::GoesOn;
        waiter::wait_until(None, || {
            look = self.state.lock().look(clock::now_ns());
            look != Look::GoesOn
        });
        if let Look::Stuck(text) = look {
            self.state.lock().outcome.is_stuck = true;
            panic!("{text}");
        }
    }

    fn wait_for_the_end(&self) {
        waiter::wait_until(None, || {
            let state = self.state.lock();
            state.cast.iter().all(|txn| state.has_ended[*txn])
        });
    }
}

impl Workload for Show {
    const NAME: &'static str = "script";
    const TYPES: &'static [TxnType] = &TYPES;
    const SETTINGS: &'static [Setting] = &[];
    const COMPILED_ONCE: bool = true;
    type Input = Option<usize>;
    type Scratch = ();
    type Output = ();
    type Ledger = ();

    fn declare(_: &Values, _: Drive, _: &mut Schema) -> Result<Self, SettingError> {
        Err(SettingError("a script is read from its file: play it".to_owned()))
    }

    fn forecast(&self) -> Forecast {
        Forecast::default()
    }

    fn load(&self, _: Share, loader: &mut impl Loader) {
        self.stage.load(&self.script.load, loader);
    }

    /// A client sends its transaction at the turn of its first step. When it sends its next request, which does
    /// nothing, it has received the transaction's ending. The last client is the conductor.
    fn generate(&self, ClientId(client): ClientId, sequence: u64, _: &mut Rng) -> Option<usize> {
        let txn = self.state.lock().cast.get(client as usize).copied();
        match txn {
            Some(txn) if sequence == 0 => {
                let first = self.script.steps_of(txn).next().map(|(number, _)| number);
                self.turn(first.expect("a transaction has a step"));
                return Some(txn);
            }
            Some(txn) => {
                self.state.lock().heard(txn);
                self.wait_for_the_end();
            }
            None if sequence == 0 => self.conduct(),
            None => {}
        }
        None
    }

    fn kind(&self, txn: &Option<usize>) -> usize {
        kind(&self.script, *txn)
    }

    fn homes(&self, txn: &Option<usize>) -> Homes {
        txn.map(|txn| self.script.homes(txn)).unwrap_or_default()
    }

    fn execute<T: Transaction>(&self, txn: &Option<usize>, (): &mut (), to: &mut T) -> Result<(), Abort> {
        let Some(txn) = *txn else { return Err(Abort::Rollback) };
        self.state.lock().execute(txn);
        for (number, step) in self.script.steps_of(txn) {
            self.turn(number);
            let seen = match &step.act {
                ScriptAction::Begin => None,
                ScriptAction::Do(op) => Some(self.stage.execute(op, to)?),
                ScriptAction::Commit => break,
                ScriptAction::Rollback => return Err(Abort::Rollback),
            };
            self.state.lock().made(number, seen);
        }
        Ok(())
    }

    fn check(&self, _: &impl Quiesced, _: Share, _: &[()]) -> Result<(), Violation> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a script of these steps, whose first part has begun.
    fn begin(steps: &str) -> State {
        let text = format!("Title\nfrom: nobody\n\nStory.\n\nload: point 1=0\n\n{steps}\n\nnever: any\n");
        let script = Script::parse("test", &text).expect("it is right");
        let mut state = State::new(&script, false);
        state.enter(casts(&script).swap_remove(0));
        state
    }

    /// Looks until another step has its turn.
    fn turn(state: &mut State) -> usize {
        let before = state.running;
        for _ in 0..=LOOKS_PER_WAIT + LOOKS_PER_TURN {
            assert_eq!(state.look(0), Look::GoesOn);
            if let Some(step) = state.running.filter(|step| before != Some(*step)) {
                return step;
            }
        }
        panic!("somebody can go on");
    }

    #[test]
    fn a_script_is_cut_where_nobody_is_open() {
        let text = "Title\nfrom: nobody\n\nStory.\n\nt1: read point 1\nt2: read point 1; commit\nt1: commit\n\
                    t3: read point 1; rollback\nt4: begin; commit\n\nnever: any\n";
        assert_eq!(casts(&Script::parse("test", text).expect("it is right")), [vec![0, 1], vec![2], vec![3]]);
    }

    #[test]
    fn steps_have_their_turns_in_order() {
        let mut state = begin("t1: read point 1\nt2: read point 1; commit\nt1: commit");
        for step in [0, 1] {
            assert_eq!(turn(&mut state), step);
            state.made(step, None);
        }
        assert_eq!(turn(&mut state), 2);
        state.heard(1);
        assert_eq!(turn(&mut state), 3);
        state.heard(0);
        assert_eq!(state.look(0), Look::AllEnded);
        assert!(state.outcome.steps.iter().all(|step| !step.has_waited));
        let [one, two] = state.outcome.txns[..] else { panic!("two transactions") };
        assert!(one.began < two.began && two.began < two.ended && two.ended < one.ended);
    }

    #[test]
    fn the_script_goes_on_without_one_who_waits_and_then_makes_up_for_it() {
        let mut state = begin(
            "t1: update point 1 = 1\nt2: read point 1; read point 1\nt1: read point 1; commit\nt2: commit",
        );
        assert_eq!(turn(&mut state), 0);
        state.made(0, None);
        assert_eq!(turn(&mut state), 1);
        assert_eq!(turn(&mut state), 3, "the second step of the one who waits is passed over");
        assert!(state.outcome.steps[1].has_waited && state.outcome.steps[1].was_passed);
        assert!(!state.outcome.steps[0].was_passed);
        state.made(1, None);
        state.made(3, None);
        assert_eq!(turn(&mut state), 2, "what was passed over comes first");
    }

    #[test]
    fn a_script_is_stuck_when_all_wait() {
        let mut state = begin(
            "t1: update point 1 = 1\nt2: update point 2 = 1\nt1: read point 2\nt2: read point 1\n\
                               t3: read point 9\nt1: commit\nt2: commit\nt3: commit",
        );
        for step in [0, 1] {
            assert_eq!(turn(&mut state), step);
            state.made(step, None);
        }
        for step in [2, 3, 4] {
            assert_eq!(turn(&mut state), step);
        }
        let mut look = Look::GoesOn;
        for looks in 0..2 * u64::from(LOOKS_STUCK) {
            assert_eq!(look, Look::GoesOn, "after {looks} looks");
            look = state.look(1);
        }
        look = state.look(NS_STUCK + 2);
        let waits = [
            "line 10, `t1: read point 2`, waits for t2",
            "line 11, `t2: read point 1`, waits for t1",
            "line 12, `t3: read point 9`, waits for nobody in the script",
        ];
        let text = format!("`test` is stuck: {}", waits.join("; "));
        assert_eq!(look, Look::Stuck(text), "neither looks nor time alone are enough");
    }

    #[test]
    fn an_attempt_that_falls_back_begins_anew() {
        let mut state = begin("t1: read point 1 -> 0; commit");
        state.execute(0);
        state.make(0);
        state.made(0, Some(Seen::Value(Some(0))));
        state.execute(0);
        assert_eq!(state.outcome.steps[0].seen, None);
        let mut tallies = vec![TypeTally::default(); TYPES.len()];
        tallies[kind(&state.script, Some(0))].aborts[Abort::Reserved as usize] = 1;
        tallies[kind(&state.script, Some(0))].commits = 1;
        state.leave(&tallies);
        let txn = state.outcome.txns[0];
        assert_eq!((txn.ending, txn.fell_back), (Some(Ending::Committed), Some(Abort::Reserved)));
    }
}
