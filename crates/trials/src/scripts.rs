//! Scripts: the anomalies of the literature, played on a scheme.

use engine::setting::Values;
use engine::{Scheme, levers};
use proof::script::{self, SCRIPTS, Script, Subject};
use schemes::catalogue::{self, Visit};

/// What came of the scripts.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// How many were played.
    pub(crate) count: u64,
    /// Of each that went wrong its name, and what happened beside each of its lines.
    pub(crate) wrong: Vec<(&'static str, String)>,
}

struct Play<'g>(&'g [(String, String)]);

impl Visit for Play<'_> {
    type Out = Played;

    fn visit<S: Scheme>(self) -> Played {
        // A script says itself what is read before it is written, of rows with one column group.
        let own: Vec<_> = self.0.iter().filter(|(name, _)| !levers::is_lever(name)).cloned().collect();
        let values = Values::new(S::SETTINGS, &own).expect("legal settings");
        let subject =
            Subject { scheme: S::INFO.name, level: S::isolation(&values), is_standard: own.is_empty() };
        let mut played = Played::default();
        for (name, text) in SCRIPTS {
            let script = Script::parse(name, text).expect("the scripts that come along are well-formed");
            let outcome = script::play::<S>(&script, &values).expect("settings that agree");
            let verdict = script::judge(&script, &outcome, subject);
            played.count += 1;
            if !verdict.wrong.is_empty() {
                played.wrong.push((name, verdict.to_string()));
            }
        }
        played
    }
}

/// Plays all scripts on a scheme under settings of its own; those of the engine make no difference to them.
pub(crate) fn play(scheme: &str, given: &[(String, String)]) -> Played {
    catalogue::with(scheme, Play(given)).expect("a known scheme")
}
