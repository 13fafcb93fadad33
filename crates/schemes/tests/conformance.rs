//! The promises of every scheme of the catalogue, claim by claim. What a scheme does not promise, the
//! tests assert as permitted.

mod common;

use engine::{Info, Isolation, Scheme};
use schemes::catalogue::{self, Visit};

use common::bank::{self, Bank};
use common::claims::Claims;
use common::counters::Counters;
use common::movers::{self, Movers};
use common::quota::Quota;
use common::skew::{Ending, Misses, Names, Ranges, Records, Skew, interleave};
use common::twins::Twins;
use common::{
    ALL_CONTENDED, ALL_SHOWN, BY_ADDRESS, Given, LATE_ABORT, LINE_SI, LINE_SSI, LINE_SSI_SHORT, LINE_SSN_RC,
    LOCKING, LOCKING_TRIED, LOCKING_UNHINTED, NO_FALLBACK, NO_LIST, NO_SPECULATION, NOT_CONTENDED,
    NOT_IN_ADVANCE, NOTHING_REMEMBERED, NOTHING_SHOWN, PLAIN, READ_COMMITTED, REVERSED, SAFE_SNAPSHOTS,
    SHORT_HISTORY, SNAPSHOTS, STALE_AND_WAITING, THOMAS, UNHINTED, UNSPLIT, run, values,
};

/// A scheme under settings.
#[derive(Clone, Copy)]
struct Subject {
    scheme: &'static str,
    given: Given,
}

/// Under the standard settings, or under others.
macro_rules! subject {
    ($scheme:ident) => {
        $crate::Subject { scheme: stringify!($scheme), given: &[] }
    };
    ($name:ident: $scheme:ident under $given:ident) => {
        $crate::Subject { scheme: stringify!($scheme), given: $crate::$given }
    };
}

/// One module a subject, so that each claim is a test of its own.
macro_rules! conformance {
    ($($name:ident $(: $scheme:ident under $given:ident)?),+ $(,)?) => {
        $(mod $name {
            const SUBJECT: super::Subject = subject!($name $(: $scheme under $given)?);

            #[test]
            fn counts_every_increment_once() {
                super::counts_every_increment_once(SUBJECT);
            }

            #[test]
            fn conserves_money_in_every_audit() {
                super::conserves_money_in_every_audit(SUBJECT);
            }

            #[test]
            fn sees_the_same_keys_in_twins() {
                super::sees_the_same_keys_in_twins(SUBJECT);
            }

            #[test]
            fn sees_moving_rows_once() {
                super::sees_moving_rows_once(SUBJECT);
            }

            #[test]
            fn lets_one_insert_win() {
                super::lets_one_insert_win(SUBJECT);
            }

            #[test]
            fn keeps_quotas_if_serializable() {
                super::keeps_quotas_if_serializable(SUBJECT);
            }

            #[test]
            fn permits_write_skew_only_under_snapshots() {
                super::permits_write_skew_only_under_snapshots(SUBJECT);
            }

            #[test]
            fn hides_what_is_rolled_back() {
                super::hides_what_is_rolled_back(SUBJECT);
            }
        })+

        const SUBJECTS: &[Subject] = &[$(subject!($name $(: $scheme under $given)?)),+];
    };
}

conformance!(
    no_wait,
    no_wait_without_hints: no_wait under UNHINTED,
    wait_die,
    wait_die_without_hints: wait_die under UNHINTED,
    dl_detect,
    dl_detect_without_hints: dl_detect under UNHINTED,
    wound_wait,
    wound_wait_without_hints: wound_wait under UNHINTED,
    bamboo,
    bamboo_showing_all: bamboo under ALL_SHOWN,
    bamboo_showing_nothing: bamboo under NOTHING_SHOWN,
    bamboo_without_hints: bamboo under UNHINTED,
    occ,
    occ_without_early_abort: occ under LATE_ABORT,
    occ_central,
    occ_central_with_a_short_history: occ_central under SHORT_HISTORY,
    silo,
    silo_with_snapshots: silo under SNAPSHOTS,
    silo_locking_by_address: silo under BY_ADDRESS,
    mocc,
    mocc_locking: mocc under LOCKING,
    foedus,
    foedus_locking: foedus under LOCKING_TRIED,
    foedus_locking_without_hints: foedus under LOCKING_UNHINTED,
    foedus_without_a_list: foedus under NO_LIST,
    tictoc,
    tictoc_locking_in_reverse: tictoc under REVERSED,
    basic_to,
    basic_to_by_thomas: basic_to under THOMAS,
    mv2pl,
    mv2pl_without_hints: mv2pl under UNHINTED,
    mv2pl_that_waits_and_shows_the_past: mv2pl under STALE_AND_WAITING,
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
    ermia_that_remembers_nothing: ermia under NOTHING_REMEMBERED,
    ermia_by_dangerous_structures_with_everything: ermia under LINE_SSI_SHORT,
    hekaton,
    hekaton_without_speculation: hekaton under NO_SPECULATION,
    hekaton_locking,
    hekaton_locking_without_hints: hekaton_locking under UNHINTED,
    hekaton_locking_without_speculation: hekaton_locking under NOT_IN_ADVANCE,
    cicada,
    cicada_plain: cicada under PLAIN,
    hstore,
    aria,
    aria_without_fallback: aria under NO_FALLBACK,
    calvin,
    bohm,
    caracal,
    caracal_without_contention: caracal under NOT_CONTENDED,
    caracal_with_contention_only: caracal under ALL_CONTENDED,
    pwv,
    serial,
    uncontrolled,
);

#[test]
fn every_scheme_is_tested_under_its_standard_settings() {
    let catalogued: Vec<_> = catalogue::INFO.iter().map(|info| info.name).collect();
    let standard = SUBJECTS.iter().filter(|subject| subject.given.is_empty());
    let tested: Vec<_> = standard.map(|subject| subject.scheme).collect();
    assert_eq!(
        catalogued, tested,
        "the catalogue and `conformance!` list the same schemes in the same order"
    );
}

#[test]
fn twins_are_alike_and_moving_rows_are_seen_once_where_column_groups_share_a_record() {
    for info in catalogue::INFO {
        let subject = Subject { scheme: info.name, given: UNSPLIT };
        sees_the_same_keys_in_twins(subject);
        sees_moving_rows_once(subject);
    }
}

/// The isolation that a scheme promises under some settings.
struct Promise(Given);

impl Visit for Promise {
    type Out = Isolation;

    fn visit<S: Scheme>(self) -> Isolation {
        S::isolation(&values::<S>(self.0))
    }
}

impl Subject {
    fn info(self) -> &'static Info {
        let info = catalogue::INFO.iter().find(|info| info.name == self.scheme);
        info.expect("a scheme of the catalogue")
    }

    fn isolation(self) -> Isolation {
        catalogue::with(self.scheme, Promise(self.given)).expect("a scheme of the catalogue")
    }
}

fn counts_every_increment_once(subject: Subject) {
    run::<Counters>(subject.scheme, subject.given);
    // Schemes with partitions learn the homes that the input did not name; to other schemes the two are
    // the same.
    run::<Counters<false>>(subject.scheme, subject.given);
}

fn conserves_money_in_every_audit(subject: Subject) {
    for types in run::<Bank>(subject.scheme, subject.given) {
        assert_eq!(types[bank::AUDIT].user_aborts, 0, "no audit that lacked money was believed");
    }
}

fn sees_the_same_keys_in_twins(subject: Subject) {
    for types in run::<Twins>(subject.scheme, subject.given) {
        let believed: u64 = types.iter().map(|tally| tally.user_aborts).sum();
        assert_eq!(believed, 0, "nobody who saw twins differ was believed");
    }
}

fn sees_moving_rows_once(subject: Subject) {
    for types in run::<Movers>(subject.scheme, subject.given) {
        let believed = types[movers::CHANGE].user_aborts + types[movers::LOOK].user_aborts;
        assert_eq!(believed, 0, "nobody who saw a row twice, or not at all, was believed");
        assert_eq!(types[movers::UNDONE].commits, 0, "what rolls back does not commit");
    }
}

fn lets_one_insert_win(subject: Subject) {
    run::<Claims>(subject.scheme, subject.given);
}

fn keeps_quotas_if_serializable(subject: Subject) {
    if subject.isolation() != Isolation::Snapshot {
        run::<Quota>(subject.scheme, subject.given);
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

fn permits_write_skew_only_under_snapshots(subject: Subject) {
    let is_permitted = subject.isolation() == Isolation::Snapshot;
    for (what, acted, committed) in Interleave(subject, Ending::Commits).run() {
        assert_eq!(acted == [true; 2], is_permitted, "write skew over {what}");
        assert!(committed.contains(&true), "two attempts over {what} do not abort each other");
    }
}

fn hides_what_is_rolled_back(subject: Subject) {
    for (what, acted, committed) in Interleave(subject, Ending::RollsBack).run() {
        assert_eq!(acted, [false, committed[1]], "the other side of {what} acts whenever it commits");
    }
}
