//! Scripts: the anomalies of the literature, played on a scheme.

use engine::setting::Values;
use engine::{Scheme, levers};
use proof::script::{self, SCRIPTS, Script, Subject};
use schemes::catalogue::{self, Visit};
use sync::Latched;

use crate::watch::{Progress, Stuck};

/// After so many scripts in which nobody can go on no more are played: each of them takes its time to be given up.
const STUCK_MAX: u32 = 3;

/// What came of the scripts.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// How many were played.
    pub(crate) count: u64,
    /// Of each that went wrong its name, and what happened beside each of its lines.
    pub(crate) wrong: Vec<(&'static str, String)>,
    /// How the last of them came to no end, if it did.
    pub(crate) stuck: Option<Stuck>,
}

impl Played {
    /// The script after those that were played does not end.
    pub(crate) fn breaks_off(&mut self, told: String, stuck: Stuck) {
        if let Some((name, _)) = SCRIPTS.get(self.count as usize) {
            self.wrong.push((name, told));
        }
        self.stuck = Some(stuck);
    }
}

struct Play<'p> {
    given: &'p [(String, String)],
    progress: &'p Progress,
    played: &'p Latched<Played>,
}

impl Visit for Play<'_> {
    type Out = ();

    fn visit<S: Scheme>(self) {
        // A script says itself what is read before it is written, of rows with one column group.
        let own: Vec<_> = self.given.iter().filter(|(name, _)| !levers::is_lever(name)).cloned().collect();
        let values = Values::new(S::SETTINGS, &own).expect("legal settings");
        let subject =
            Subject { scheme: S::INFO.name, level: S::isolation(&values), is_standard: own.is_empty() };
        let mut stuck = 0;
        for (name, text) in SCRIPTS {
            let script = Script::parse(name, text).expect("the scripts that come along are well-formed");
            let outcome = script::play::<S>(&script, &values).expect("settings that agree");
            let verdict = script::judge(&script, &outcome, subject);
            let mut played = self.played.lock();
            played.count += 1;
            if !verdict.wrong.is_empty() {
                played.wrong.push((name, verdict.to_string()));
            }
            self.progress.ended();
            if outcome.is_stuck {
                played.stuck = Some(Stuck::Deadlock);
                stuck += 1;
                if stuck == STUCK_MAX {
                    return;
                }
            }
        }
    }
}

/// Plays all scripts on a scheme under settings of its own; those of the engine make no difference to them. What has
/// come of them so far is in `played`.
pub(crate) fn play(scheme: &str, given: &[(String, String)], progress: &Progress, played: &Latched<Played>) {
    catalogue::with(scheme, Play { given, progress, played }).expect("a known scheme");
}
