//! Scripts: the anomalies of the literature, played on a scheme.

use engine::levers;
use engine::setting::Values;
use proof::script::{self, SCRIPTS, Script, Subject};
use sync::Latched;

use crate::Native;
use crate::watch::{Progress, Stuck};

/// The number of stuck scripts after which no further script is played: each takes a while to be given up.
const STUCK_MAX: u32 = 3;

/// The results of the scripts.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The number of scripts that were played.
    pub(crate) count: u64,
    /// The scripts that went wrong: the name of each, and its lines with what happened at each line.
    pub(crate) wrong: Vec<(&'static str, String)>,
    /// The kind of endless script, if a script did not end.
    pub(crate) stuck: Option<Stuck>,
}

impl Played {
    /// Records that the script after those that were played does not end.
    pub(crate) fn breaks_off(&mut self, told: String, stuck: Stuck) {
        if let Some((name, _)) = SCRIPTS.get(self.count as usize) {
            self.wrong.push((name, told));
        }
        self.stuck = Some(stuck);
    }
}

/// Plays all scripts on a scheme under settings of the scheme; settings of the engine make no difference to scripts.
/// The results so far are in `played`.
pub(crate) fn play(
    scheme: &Native,
    given: &[(String, String)],
    progress: &Progress,
    played: &Latched<Played>,
) {
    // Levers do not apply to scripts: a script itself says what is read before it is written, and its rows have one
    // column group.
    let own: Vec<_> = given.iter().filter(|(name, _)| !levers::is_lever(name)).cloned().collect();
    let entry = scheme.entry;
    let values = Values::new(entry.settings, &own).expect("legal settings");
    let level = (scheme.facts)(&own).expect("legal settings").isolation;
    let outcomes = if own.is_empty() { entry.outcomes } else { &[] };
    let subject = Subject { scheme: entry.info.name, level, outcomes };
    let mut stuck = 0;
    for (name, text) in SCRIPTS {
        let script = Script::parse(name, text).expect("the scripts that come along are well-formed");
        let outcome = (scheme.play)(&script, &values).expect("settings that agree");
        let verdict = script::judge(&script, &outcome, subject);
        let mut played = played.lock();
        played.count += 1;
        if !verdict.wrong.is_empty() {
            played.wrong.push((name, verdict.to_string()));
        }
        progress.ended();
        if outcome.is_stuck {
            played.stuck = Some(Stuck::Deadlock);
            stuck += 1;
            if stuck == STUCK_MAX {
                return;
            }
        }
    }
}
