//! Claims of scripts about levels, and the report of an outcome that contradicts the script or the scheme's entry. The
//! tests of each scheme play all scripts on it.

use engine::setting::{Settings, Values};
use engine::{Isolation, Scheme};
use proof::script::{self, SCRIPTS, Script, ScriptClaim, ScriptOutcome, Subject};
use schemes::baseline::serial::Serial;
use schemes::batched::aria::Aria;
use schemes::multiversion::si::Si;

/// All scripts.
fn scripts() -> Vec<Script> {
    let parsed = SCRIPTS.iter().map(|(name, text)| Script::parse(name, text));
    parsed.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
}

/// The scripts are checked against all orders of their transactions on a plain map, without any scheme.
#[test]
fn what_scripts_say_of_levels_is_so() {
    for script in scripts() {
        let name = &script.name;
        for claim in &script.claims {
            match claim {
                ScriptClaim::Never(levels) => {
                    let allowed: Vec<_> =
                        levels.iter().filter(|level| script.is_allowed_at(**level)).collect();
                    assert!(allowed.is_empty(), "{name}: what never happens is allowed at {allowed:?}");
                }
                ScriptClaim::Shown(levels) => {
                    let forbidden: Vec<_> =
                        levels.iter().filter(|level| !script.is_allowed_at(**level)).collect();
                    assert!(
                        forbidden.is_empty(),
                        "{name}: what is to be shown is forbidden at {forbidden:?}"
                    );
                }
            }
        }
    }
}

/// A level would be claimed in vain if no script distinguished it from the next stricter one.
#[test]
fn scripts_tell_every_level_from_the_others() {
    let scripts = scripts();
    for (level, stricter) in [
        (Isolation::Serializable, Isolation::StrictlySerializable),
        (Isolation::Snapshot, Isolation::Serializable),
        (Isolation::Serializable, Isolation::Snapshot),
    ] {
        let mut telling = scripts.iter().filter(|script| script.is_allowed_at(level));
        let is_told = telling.any(|script| !script.is_allowed_at(stricter));
        assert!(is_told, "something is {} and not {}", level.name(), stricter.name());
    }
}

/// Plays a script under the standard settings of a scheme. The schemes are named by their types, since a name would
/// compile all schemes.
fn play<S: Scheme>(script: &Script) -> ScriptOutcome {
    let values = Values::new(S::Settings::ALL, &[]).expect("standard values are legal");
    script::play::<S>(script, &values).expect("they agree")
}

fn script(name: &str) -> Script {
    scripts().into_iter().find(|script| script.name == name).expect("a script")
}

#[test]
fn a_promise_that_is_broken_is_told_beside_the_script() {
    let script = script("write_skew");
    let outcome = play::<Si>(&script);
    let subject = |level| Subject { scheme: "si", level, outcomes: &[] };
    assert_eq!(script::judge(&script, &outcome, subject(Isolation::Snapshot)).wrong, [""; 0]);
    let verdict = script::judge(&script, &outcome, subject(Isolation::Serializable));
    let wrong = [
        "no order of the transactions that the level allows explains what they saw",
        "the told history came about, which the level forbids",
    ];
    assert_eq!(verdict.wrong, wrong);
    let told = verdict.to_string();
    assert!(told.starts_with("write_skew under si (serializable):\n"), "{told}");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = told.lines().map(plain).collect();
    for text in [
        " 9  t1: read point 1 -> 1; read point 2 -> 1   1; 1",
        "11  t1: update point 1 = 0   1",
        "13  t1: commit   commits",
        "in the end: point 1..2=0; ordered nothing; indexed nothing",
        "WRONG: the told history came about, which the level forbids",
    ] {
        assert!(lines.contains(&plain(text)), "`{text}` is missing in\n{told}");
    }
}

#[test]
fn what_a_scheme_waits_for_and_aborts_is_told() {
    let script = script("lost_update");
    let told = |scheme, outcome: ScriptOutcome| {
        let subject = Subject { scheme, level: Isolation::Snapshot, outcomes: &[] };
        script::judge(&script, &outcome, subject).to_string()
    };
    let serial = told("serial", play::<Serial>(&script));
    assert!(serial.contains("t2: read point 1 -> 10"), "{serial}");
    assert!(serial.contains("  waits, 11\n"), "{serial}");
    let si = told("si", play::<Si>(&script));
    assert!(si.contains("  aborts (write_conflict)\n"), "{si}");
    let aria = told("aria", play::<Aria>(&script));
    assert!(aria.contains("  commits in the fallback, after reserved\n"), "{aria}");
}

#[test]
fn a_false_claim_of_what_a_scheme_does_is_told() {
    let mut script = script("lost_update");
    script.claims = vec![ScriptClaim::Shown(vec![Isolation::StrictlySerializable])];
    let outcome = play::<Serial>(&script);
    let judge = |facts| {
        let outcomes = &[("lost_update", facts), ("another_script", "t2 aborts")];
        let subject = Subject { scheme: "serial", level: Isolation::StrictlySerializable, outcomes };
        script::judge(&script, &outcome, subject).wrong
    };
    let told = "the told history did not come about";
    let facts = ["it is not so that shown", "it is not so that t2 aborts", "it is not so that t1 rolls back"];
    let said = "shown, t2 waits, t2 aborts, t1 rolls back, t1 commits";
    assert_eq!(judge(said), [[told].as_slice(), &facts].concat());
    assert_eq!(judge("t1 commits"), [told]);
    let unread = judge("t1 comits").pop().expect("it is told");
    assert!(unread.starts_with("the outcome in the entry of serial cannot be read: expected "), "{unread}");
}
