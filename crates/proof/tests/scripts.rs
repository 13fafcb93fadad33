//! Plays every script on every scheme, under its standard settings and under others that change its promise or
//! behavior.

use engine::setting::Values;
use engine::{Isolation, Scheme};
use proof::script::{self, Claim, Fact, Outcome, SCRIPTS, Script, Subject};
use schemes::catalogue::{self, Visit};

/// Values of a scheme's settings that differ from the standard ones.
type Given = &'static [(&'static str, &'static str)];

/// Short epochs, each of which makes a snapshot that read-only transactions read.
const SNAPSHOTS: Given = &[("silo.snapshots", "on"), ("silo.epoch_ms", "1"), ("silo.snapshot_epochs", "1")];

/// Attempts that cannot commit any more run on to their commit.
const LATE_ABORT: Given = &[("occ.early_abort", "off")];

/// Every write is shown before the commit, and no reader is put before younger writers.
const ALL_SHOWN: Given = &[("bamboo.delta_pct", "0"), ("bamboo.read_preimage", "off")];

/// No write is shown before the commit.
const NOTHING_SHOWN: Given = &[("bamboo.retire", "off")];

/// Attempts see committed versions while they run.
const READ_COMMITTED: Given = &[("ssn.base", "rc")];

/// No certifier.
const LINE_SI: Given = &[("ermia.line", "si")];

/// Dangerous structures are refused.
const LINE_SSI: Given = &[("ermia.line", "ssi"), ("ermia.indirection", "off")];

/// Attempts see committed versions while they run.
const LINE_SSN_RC: Given = &[("ermia.line", "ssn_rc")];

/// Read-only transactions read safe snapshots, each its own.
const SAFE_SNAPSHOTS: Given = &[("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "0")];

/// Read-only transactions share safe snapshots, and the other transactions refuse dangerous structures.
const SHARED_SNAPSHOTS: Given =
    &[("ermia.line", "ssi"), ("ermia.safe_snapshots", "on"), ("ermia.snapshot_us", "1000")];

/// Every version is stale, and reads of stale versions are not remembered.
const NOTHING_REMEMBERED: Given =
    &[("ermia.read_mostly", "on"), ("ermia.read_mostly_after", "0"), ("ermia.stale_kb", "0")];

/// Attempts wait for uncertain versions instead of speculating.
const NOT_IN_ADVANCE: Given = &[("hekaton_locking.speculation", "off")];

/// A lock for each read.
const LOCKING: Given = &[("mocc.hot", "0")];

/// Read-only attempts see a state of a moment ago.
const STALE_SNAPSHOTS: Given = &[("mv2pl.snapshots", "stale")];

/// Read-only attempts run like the others.
const NO_SNAPSHOTS: Given = &[("cicada.snapshots", "off")];

/// A lock for each read, and commits that do not wait for a lock out of order.
const LOCKING_TRIED: Given = &[("foedus.hot_threshold", "0"), ("foedus.force_canonical", "off")];

/// Every record is contended, and settled after each batch.
const ALL_CONTENDED: Given = &[("caracal.contended", "1"), ("caracal.collect_every", "1")];

/// A transaction that aborts in a batch is not executed again in that batch.
const NO_FALLBACK: Given = &[("aria.fallback", "off")];

/// A test for each scheme, and for each scheme under other settings.
macro_rules! subjects {
    ($($name:ident $(: $scheme:ident under $given:ident)?),+ $(,)?) => {
        $(#[test]
        fn $name() {
            plays(subjects!(@ $name $($scheme $given)?));
        })+

        const SUBJECTS: &[(&str, Given)] = &[$(subjects!(@ $name $($scheme $given)?)),+];
    };
    (@ $scheme:ident) => {
        (stringify!($scheme), &[])
    };
    (@ $name:ident $scheme:ident $given:ident) => {
        (stringify!($scheme), $given)
    };
}

subjects!(
    no_wait,
    wait_die,
    dl_detect,
    wound_wait,
    bamboo,
    bamboo_showing_all: bamboo under ALL_SHOWN,
    bamboo_showing_nothing: bamboo under NOTHING_SHOWN,
    occ,
    occ_without_early_abort: occ under LATE_ABORT,
    occ_central,
    silo,
    silo_with_snapshots: silo under SNAPSHOTS,
    mocc,
    mocc_locking: mocc under LOCKING,
    foedus,
    foedus_locking: foedus under LOCKING_TRIED,
    tictoc,
    basic_to,
    mv2pl,
    mv2pl_with_stale_snapshots: mv2pl under STALE_SNAPSHOTS,
    mvto,
    si,
    ssn,
    ssn_over_read_committed: ssn under READ_COMMITTED,
    ssi,
    ermia,
    ermia_without_a_certifier: ermia under LINE_SI,
    ermia_by_dangerous_structures: ermia under LINE_SSI,
    ermia_over_read_committed: ermia under LINE_SSN_RC,
    ermia_with_safe_snapshots: ermia under SAFE_SNAPSHOTS,
    ermia_with_shared_snapshots: ermia under SHARED_SNAPSHOTS,
    ermia_that_remembers_nothing: ermia under NOTHING_REMEMBERED,
    hekaton,
    hekaton_locking,
    hekaton_locking_without_speculation: hekaton_locking under NOT_IN_ADVANCE,
    cicada,
    cicada_without_snapshots: cicada under NO_SNAPSHOTS,
    hstore,
    aria,
    aria_without_fallback: aria under NO_FALLBACK,
    calvin,
    bohm,
    caracal,
    caracal_with_contention_only: caracal under ALL_CONTENDED,
    pwv,
    serial,
);

/// All scripts.
fn scripts() -> Vec<Script> {
    let parsed = SCRIPTS.iter().map(|(name, text)| Script::parse(name, text));
    parsed.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"))
}

/// Plays all scripts under a scheme, and returns the verdicts with errors.
struct Play(Given);

impl Visit for Play {
    type Out = Vec<String>;

    fn visit<S: Scheme>(self) -> Vec<String> {
        let given: Vec<_> = self.0.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let values = Values::new(S::SETTINGS, &given).expect("the values are legal");
        let subject =
            Subject { scheme: S::INFO.name, level: S::isolation(&values), is_standard: self.0.is_empty() };
        let verdict = |script: &Script| {
            let outcome = script::play::<S>(script, &values).expect("the values agree");
            script::judge(script, &outcome, subject)
        };
        let verdicts = scripts().iter().map(verdict).collect::<Vec<_>>();
        verdicts.iter().filter(|verdict| !verdict.wrong.is_empty()).map(ToString::to_string).collect()
    }
}

fn plays((scheme, given): (&str, Given)) {
    let wrong = catalogue::with(scheme, Play(given)).expect("a scheme of the catalogue");
    assert!(wrong.is_empty(), "{} scripts went wrong\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_scheme_is_played_under_its_standard_settings() {
    let catalogued = catalogue::INFO.iter().filter(|info| info.isolation != Isolation::None);
    let catalogued: Vec<_> = catalogued.map(|info| info.name).collect();
    let standard = SUBJECTS.iter().filter(|(_, given)| given.is_empty());
    let played: Vec<_> = standard.map(|(scheme, _)| *scheme).collect();
    assert_eq!(catalogued, played, "the catalogue and `subjects!` list the same schemes in the same order");
}

/// The scripts are checked against all orders of their transactions on a plain map, without any scheme.
#[test]
fn what_scripts_say_of_levels_is_so() {
    for script in scripts() {
        let name = &script.name;
        for claim in &script.claims {
            match claim {
                Claim::Never(levels) => {
                    let allowed: Vec<_> =
                        levels.iter().filter(|level| script.is_allowed_at(**level)).collect();
                    assert!(allowed.is_empty(), "{name}: what never happens is allowed at {allowed:?}");
                }
                Claim::Shown(levels) => {
                    let forbidden: Vec<_> =
                        levels.iter().filter(|level| !script.is_allowed_at(**level)).collect();
                    assert!(
                        forbidden.is_empty(),
                        "{name}: what is to be shown is forbidden at {forbidden:?}"
                    );
                }
                Claim::With(scheme, facts) => {
                    let info = catalogue::INFO.iter().find(|info| info.name == scheme);
                    let info = info.unwrap_or_else(|| panic!("{name}: there is no scheme `{scheme}`"));
                    let may_be_shown = !facts.contains(&Fact::Shown) || script.is_allowed_at(info.isolation);
                    assert!(may_be_shown, "{name}: what `{scheme}` is to show is forbidden at its level");
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

/// Plays one script under a scheme, and returns its outcome.
struct PlayOne<'s>(&'s Script);

impl Visit for PlayOne<'_> {
    type Out = Outcome;

    fn visit<S: Scheme>(self) -> Outcome {
        let values = Values::new(S::SETTINGS, &[]).expect("standard values are legal");
        script::play::<S>(self.0, &values).expect("they agree")
    }
}

fn script(name: &str) -> Script {
    scripts().into_iter().find(|script| script.name == name).expect("a script")
}

#[test]
fn a_promise_that_is_broken_is_told_beside_the_script() {
    let script = script("write_skew");
    let outcome = catalogue::with("si", PlayOne(&script)).expect("a scheme of the catalogue");
    let subject = |level| Subject { scheme: "si", level, is_standard: true };
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
    let told = |scheme: &str| {
        let outcome = catalogue::with(scheme, PlayOne(&script)).expect("a scheme of the catalogue");
        let subject = Subject { scheme, level: Isolation::Snapshot, is_standard: true };
        script::judge(&script, &outcome, subject).to_string()
    };
    assert!(told("serial").contains("t2: read point 1 -> 10"), "{}", told("serial"));
    assert!(told("serial").contains("  waits, 11\n"), "{}", told("serial"));
    assert!(told("si").contains("  aborts (write_conflict)\n"), "{}", told("si"));
    assert!(told("aria").contains("  commits in the fallback, after reserved\n"), "{}", told("aria"));
}

#[test]
fn a_false_claim_of_what_a_scheme_does_is_told() {
    let mut script = script("lost_update");
    let facts =
        vec![Fact::Shown, Fact::Waits(1), Fact::Aborts(1, None), Fact::RollsBack(0), Fact::Commits(0)];
    script.claims =
        vec![Claim::Shown(vec![Isolation::StrictlySerializable]), Claim::With("serial".to_owned(), facts)];
    let outcome = catalogue::with("serial", PlayOne(&script)).expect("a scheme of the catalogue");
    let judge = |is_standard| {
        let subject = Subject { scheme: "serial", level: Isolation::StrictlySerializable, is_standard };
        script::judge(&script, &outcome, subject).wrong
    };
    let told = "the told history did not come about";
    let facts = ["it is not so that shown", "it is not so that t2 aborts", "it is not so that t1 rolls back"];
    assert_eq!(judge(true), [[told].as_slice(), &facts].concat());
    assert_eq!(judge(false), [told]);
}
