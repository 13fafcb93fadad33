//! What every scheme of the catalogue promises, claim by claim. What a scheme does not promise is asserted
//! as permitted.

mod common;

use engine::{Family, Info, Isolation, Scheme};
use schemes::catalogue::{self, Visit};

use common::bank::{self, Bank};
use common::claims::Claims;
use common::counters::Counters;
use common::quota::Quota;
use common::run;
use common::skew::{Ending, Misses, Names, Ranges, Records, Skew, interleave};
use common::twins::Twins;

/// One module a scheme, so that each claim is a test of its own.
macro_rules! conformance {
    ($($scheme:ident),+ $(,)?) => {
        $(mod $scheme {
            const NAME: &str = stringify!($scheme);

            #[test]
            fn counts_every_increment_once() {
                super::counts_every_increment_once(NAME);
            }

            #[test]
            fn conserves_money_in_every_audit() {
                super::conserves_money_in_every_audit(NAME);
            }

            #[test]
            fn sees_the_same_keys_in_twins() {
                super::sees_the_same_keys_in_twins(NAME);
            }

            #[test]
            fn lets_one_insert_win() {
                super::lets_one_insert_win(NAME);
            }

            #[test]
            fn keeps_quotas_if_serializable() {
                super::keeps_quotas_if_serializable(NAME);
            }

            #[test]
            fn permits_write_skew_only_under_snapshots() {
                super::permits_write_skew_only_under_snapshots(NAME);
            }

            #[test]
            fn hides_what_is_rolled_back() {
                super::hides_what_is_rolled_back(NAME);
            }
        })+

        const TESTED: &[&str] = &[$(stringify!($scheme)),+];
    };
}

conformance!(no_wait, silo, tictoc, mvto, si, hstore, aria, serial, uncontrolled);

#[test]
fn every_scheme_is_tested() {
    let catalogued: Vec<_> = catalogue::INFO.iter().map(|info| info.name).collect();
    assert_eq!(
        catalogued, TESTED,
        "the catalogue and `conformance!` list the same schemes in the same order"
    );
}

fn info(scheme: &str) -> &'static Info {
    catalogue::INFO.iter().find(|info| info.name == scheme).expect("a scheme of the catalogue")
}

fn counts_every_increment_once(scheme: &str) {
    run::<Counters>(scheme);
    // Partition schemes learn what the input did not say; to the others it is the same.
    run::<Counters<false>>(scheme);
}

fn conserves_money_in_every_audit(scheme: &str) {
    for types in run::<Bank>(scheme) {
        assert_eq!(types[bank::AUDIT].user_aborts, 0, "no audit that lacked money was believed");
    }
}

fn sees_the_same_keys_in_twins(scheme: &str) {
    for types in run::<Twins>(scheme) {
        let believed: u64 = types.iter().map(|tally| tally.user_aborts).sum();
        assert_eq!(believed, 0, "nobody who saw twins differ was believed");
    }
}

fn lets_one_insert_win(scheme: &str) {
    run::<Claims>(scheme);
}

fn keeps_quotas_if_serializable(scheme: &str) {
    if info(scheme).isolation != Isolation::Snapshot {
        run::<Quota>(scheme);
    }
}

/// Interleaves two attempts under a scheme.
struct Interleave<'n>(&'n str, Ending);

impl Visit for Interleave<'_> {
    /// By kind of skew: who has acted, and who said that they committed.
    type Out = Vec<(&'static str, [bool; 2], [bool; 2])>;

    fn visit<S: Scheme>(self) -> Self::Out {
        fn one<S: Scheme, K: Skew>(
            what: &'static str,
            ending: Ending,
        ) -> (&'static str, [bool; 2], [bool; 2]) {
            let (acted, committed) = interleave::<S, K>(ending);
            (what, acted, committed)
        }
        vec![
            one::<S, Records>("records", self.1),
            one::<S, Misses>("missing keys", self.1),
            one::<S, Ranges>("ranges", self.1),
            one::<S, Names>("secondary ranges", self.1),
        ]
    }
}

impl Interleave<'_> {
    /// Attempts of batched schemes do not run outside of their driver.
    fn run(self) -> Vec<(&'static str, [bool; 2], [bool; 2])> {
        if info(self.0).family == Family::Batched {
            return Vec::new();
        }
        catalogue::with(self.0, self).expect("a scheme of the catalogue")
    }
}

fn permits_write_skew_only_under_snapshots(scheme: &str) {
    let is_permitted = info(scheme).isolation == Isolation::Snapshot;
    for (what, acted, committed) in Interleave(scheme, Ending::Commits).run() {
        assert_eq!(acted == [true; 2], is_permitted, "write skew over {what}");
        assert!(committed.contains(&true), "two attempts over {what} do not abort each other");
    }
}

fn hides_what_is_rolled_back(scheme: &str) {
    for (what, acted, committed) in Interleave(scheme, Ending::RollsBack).run() {
        assert_eq!(acted, [false, committed[1]], "the other side of {what} acts whenever it commits");
    }
}
