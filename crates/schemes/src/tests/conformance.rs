//! The promises of every scheme, claim by claim. The tests assert as permitted what a scheme does not promise. The
//! tests of each scheme say [`conformance!`], which holds the scheme to its promises under its standard settings and
//! under each variant of its entry.

use engine::driver::TypeTally;
use engine::entry::{Entry, Given};
use engine::setting::{Settings, Values};
use engine::{Facts, Info, Isolation, Scheme, Workload, levers};
use proof::script::{self, Fact, SCRIPTS, Script};

use super::common::bank::{self, Bank};
use super::common::claims::Claims;
use super::common::counters::Counters;
use super::common::movers::{self, Movers};
use super::common::quota::Quota;
use super::common::skew::{Ending, Misses, Names, Ranges, Records, Skew, interleave};
use super::common::twins::Twins;
use super::common::{SHARED, run_share, values};
use crate::catalogue::{self, Visit};

/// One of so many requests is enough of rows that move: a request moves and looks at dozens of rows.
const MOVERS: u64 = 3;
/// One of so many requests is enough under settings that are not the standard ones: variants share much with these.
const NOT_STANDARD: u64 = 2;

/// A scheme under settings.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    scheme: &'static str,
    given: Given,
}

/// Holds a scheme to its promises: the path of its entry, a colon, and all variants in the order of the entry. Each
/// claim is a test of its own.
macro_rules! conformance {
    ($entry:path $(: $($variant:ident),+)?) => {
        mod conformance {
            $crate::tests::conformance!(@ standard, $entry);
            $($($crate::tests::conformance!(@ $variant, $entry);)+)?

            #[test]
            fn all_variants_are_tested() {
                let variants: &[&str] = &[$($(stringify!($variant)),+)?];
                assert!($entry.variants.iter().map(|variant| &variant.name).eq(variants), "{variants:?}");
            }
        }
    };
    (@ $name:ident, $entry:path) => {
        mod $name {
            use $crate::tests::conformance::{self, Subject};

            fn subject() -> Subject {
                Subject::new(&$entry, stringify!($name))
            }

            #[test]
            fn counts_every_increment_once() {
                conformance::counts_every_increment_once(subject());
            }

            #[test]
            fn conserves_money_in_every_audit() {
                conformance::conserves_money_in_every_audit(subject());
            }

            #[test]
            fn sees_the_same_keys_in_twins() {
                conformance::sees_the_same_keys_in_twins(subject());
            }

            #[test]
            fn sees_moving_rows_once() {
                conformance::sees_moving_rows_once(subject());
            }

            #[test]
            fn lets_one_insert_win() {
                conformance::lets_one_insert_win(subject());
            }

            #[test]
            fn keeps_quotas_if_serializable() {
                conformance::keeps_quotas_if_serializable(subject());
            }

            #[test]
            fn permits_write_skew_only_under_snapshots() {
                conformance::permits_write_skew_only_under_snapshots(subject());
            }

            #[test]
            fn hides_what_is_rolled_back() {
                conformance::hides_what_is_rolled_back(subject());
            }

            #[test]
            fn plays_the_scripts() {
                conformance::plays_the_scripts(subject());
            }
        }
    };
}
pub(crate) use conformance;

#[test]
fn twins_are_alike_and_moving_rows_are_seen_once_where_column_groups_share_a_record() {
    for (info, given) in catalogue::infos().flat_map(|info| SHARED.map(|given| (info, given))) {
        sees_the_same_keys_in_twins(Subject { scheme: info.name, given });
    }
    for info in catalogue::infos() {
        sees_moving_rows_once(Subject { scheme: info.name, given: SHARED[0] });
    }
}

/// The isolation that a scheme promises under some settings.
struct Promise(Given);

impl Visit for Promise {
    type Out = Isolation;

    fn visit<S: Scheme>(self) -> Isolation {
        Facts::under::<S>(&values::<S>(self.0)).isolation
    }
}

impl Subject {
    /// Returns a scheme under the settings of one of its variants, or under the `standard` ones.
    pub(crate) fn new(entry: &Entry, variant: &str) -> Self {
        let given = if variant == "standard" {
            &[]
        } else {
            entry.variant(variant).unwrap_or_else(|| panic!("`{variant}` is no variant of the entry")).given
        };
        Self { scheme: entry.info.name, given }
    }

    /// Runs a workload, plan by plan, and checks it after each. Returns the results of the runs, by plan and by type.
    fn run<W: Workload>(self) -> Vec<Vec<TypeTally>> {
        self.run_share::<W>(1)
    }

    /// Runs one of so many requests.
    fn run_share<W: Workload>(self, one_in: u64) -> Vec<Vec<TypeTally>> {
        let of_variants = if self.given.is_empty() { 1 } else { NOT_STANDARD };
        run_share::<W>(self.scheme, self.given, one_in * of_variants)
    }

    fn entry(self) -> &'static Entry {
        catalogue::entry(self.scheme).expect("a scheme of the catalogue")
    }

    fn info(self) -> &'static Info {
        &self.entry().info
    }

    fn isolation(self) -> Isolation {
        catalogue::with(self.scheme, Promise(self.given)).expect("a scheme of the catalogue")
    }
}

pub(crate) fn counts_every_increment_once(subject: Subject) {
    subject.run::<Counters>();
    // Schemes with partitions learn the homes that the input did not name; to other schemes the two are
    // the same.
    subject.run::<Counters<false>>();
}

pub(crate) fn conserves_money_in_every_audit(subject: Subject) {
    for types in subject.run::<Bank>() {
        assert_eq!(types[bank::AUDIT].user_aborts, 0, "no audit that lacked money was believed");
    }
}

pub(crate) fn sees_the_same_keys_in_twins(subject: Subject) {
    for types in subject.run::<Twins>() {
        let believed: u64 = types.iter().map(|tally| tally.user_aborts).sum();
        assert_eq!(believed, 0, "nobody who saw twins differ was believed");
    }
}

pub(crate) fn sees_moving_rows_once(subject: Subject) {
    for types in subject.run_share::<Movers>(MOVERS) {
        let believed = types[movers::CHANGE].user_aborts + types[movers::LOOK].user_aborts;
        assert_eq!(believed, 0, "nobody who saw a row twice, or not at all, was believed");
        assert_eq!(types[movers::UNDONE].commits, 0, "what rolls back does not commit");
    }
}

pub(crate) fn lets_one_insert_win(subject: Subject) {
    subject.run::<Claims>();
}

pub(crate) fn keeps_quotas_if_serializable(subject: Subject) {
    if subject.isolation() != Isolation::Snapshot {
        subject.run::<Quota>();
    }
}

/// Interleaves two attempts under a scheme.
struct Interleave(Subject, Ending);

impl Visit for Interleave {
    /// By kind of skew: which sides have acted, and which reported a commit.
    type Out = Vec<(&'static str, [bool; 2], [bool; 2])>;

    fn visit<S: Scheme>(self) -> Self::Out {
        fn one<S: Scheme, K: Skew>(
            what: &'static str,
            Interleave(subject, ending): &Interleave,
        ) -> (&'static str, [bool; 2], [bool; 2]) {
            let (acted, committed) = interleave::<S, K>(subject.given, *ending);
            (what, acted, committed)
        }
        vec![
            one::<S, Records>("records", &self),
            one::<S, Misses>("missing keys", &self),
            one::<S, Ranges>("ranges", &self),
            one::<S, Names>("secondary ranges", &self),
        ]
    }
}

impl Interleave {
    /// Attempts of batched schemes do not run outside of their driver.
    fn run(self) -> Vec<(&'static str, [bool; 2], [bool; 2])> {
        if self.0.info().family.is_in_batches() {
            return Vec::new();
        }
        catalogue::with(self.0.scheme, self).expect("a scheme of the catalogue")
    }
}

pub(crate) fn permits_write_skew_only_under_snapshots(subject: Subject) {
    let is_permitted = subject.isolation() == Isolation::Snapshot;
    for (what, acted, committed) in Interleave(subject, Ending::Commits).run() {
        assert_eq!(acted == [true; 2], is_permitted, "write skew over {what}");
        assert!(committed.contains(&true), "two attempts over {what} do not abort each other");
    }
}

pub(crate) fn hides_what_is_rolled_back(subject: Subject) {
    for (what, acted, committed) in Interleave(subject, Ending::RollsBack).run() {
        assert_eq!(acted, [false, committed[1]], "the other side of {what} acts whenever it commits");
    }
}

/// Plays all scripts under a scheme, and returns the verdicts with errors.
struct Play(Subject);

impl Visit for Play {
    type Out = Vec<String>;

    fn visit<S: Scheme>(self) -> Vec<String> {
        let Self(subject) = self;
        // A script itself says what is read before it is written, and its rows have one column group.
        let own = subject.given.iter().filter(|(name, _)| !levers::is_lever(name));
        let own: Vec<_> = own.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let values = Values::new(S::Settings::ALL, &own).expect("the values are legal");
        let outcomes = if own.is_empty() { subject.entry().outcomes } else { &[] };
        let of =
            script::Subject { scheme: S::INFO.name, level: Facts::under::<S>(&values).isolation, outcomes };
        let verdict = |(name, text): &(&str, &str)| {
            let script = Script::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
            let outcome = script::play::<S>(&script, &values).expect("the values agree");
            script::judge(&script, &outcome, of)
        };
        let verdicts = SCRIPTS.iter().map(verdict);
        verdicts.filter(|verdict| !verdict.wrong.is_empty()).map(|verdict| verdict.to_string()).collect()
    }
}

pub(crate) fn plays_the_scripts(subject: Subject) {
    if subject.isolation() == Isolation::None {
        return;
    }
    let wrong = catalogue::with(subject.scheme, Play(subject)).expect("a scheme of the catalogue");
    assert!(wrong.is_empty(), "{} scripts went wrong\n\n{}", wrong.len(), wrong.join("\n"));
}

/// An outcome that the level forbids would make a test of a scheme against its own promise.
#[test]
fn exact_outcomes_are_of_scripts_that_there_are_and_allowed_by_the_level() {
    for entry in catalogue::ENTRIES {
        for (name, facts) in entry.outcomes {
            let of = entry.info.name;
            let (_, text) = SCRIPTS.iter().find(|(known, _)| known == name).unwrap_or_else(|| {
                panic!("{of}: there is no script `{name}`");
            });
            let script = Script::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
            let facts = script.facts(facts).unwrap_or_else(|error| panic!("{of}: {name}: {error}"));
            let may_be_shown = !facts.contains(&Fact::Shown) || script.is_allowed_at(entry.info.isolation);
            assert!(may_be_shown, "{of}: {name}: what is to be shown is forbidden at its level");
        }
    }
}
