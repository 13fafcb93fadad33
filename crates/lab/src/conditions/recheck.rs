//! The repeated test of a claim, at fresh random points that are drawn with another seed, with other requests.

use results::{Claim, HeldOut, Otherwise};
use stats::Verdict;

use super::fit::Map;
use super::held_out::{OF_TEST, fare_under_both, name_of, test, verdict};
use super::investigate::Findings;
use super::pairs::{Pairs, Stop};
use super::study::Study;
use crate::sweep::{ResultStore, Runner};
use crate::{Refusal, Starvation};

/// The result of testing a claim again.
#[derive(Debug)]
pub struct Rechecked {
    /// The result at the new points; `None` if none was measured.
    pub held_out: Option<HeldOut>,
    /// The result under the other policy of retry; `None` if it was not measured.
    pub otherwise: Option<Otherwise>,
    /// The verdict. `Same` if as many points agree as the claim says, and the winner is ahead at the covered points.
    /// `Slower` if clearly fewer points agree, or the winner is not ahead at the covered points. `Unclear` if there are
    /// too few points to tell.
    pub verdict: Verdict,
    /// Whether the test ended because it found no point that had not been measured before.
    pub is_exhausted: bool,
    /// The starvation of the runs.
    pub starvation: Starvation,
    /// Whether the test was interrupted, for example by the user.
    pub is_interrupted: bool,
    /// The command of a run whose check failed.
    pub failed: Option<String>,
    /// Whether the same build made the runs of the claim and of this test.
    pub is_same_build: bool,
}

impl Rechecked {
    /// Returns the name of the verdict in results.
    pub const fn verdict_name(&self) -> &'static str {
        name_of(self.verdict)
    }
}

/// Tests a claim at new points of a study that was made [from the claim](super::Testable::study).
///
/// # Errors
/// Errors of the runs and of the store.
pub fn recheck(
    claim: &Claim,
    study: &Study,
    store: &ResultStore,
    run: impl Runner,
) -> Result<Rechecked, Refusal> {
    let mut findings = Findings::default();
    let mut pairs = Pairs::new(study, store, run);
    let map = Map::of_claim(claim.winner, &claim.predicate);
    let (mut is_interrupted, mut failed) = (false, None);
    match test(study, &mut pairs, &map, OF_TEST, &mut findings) {
        Ok(()) => {}
        Err(Stop::Interrupted) => is_interrupted = true,
        Err(Stop::Failed(command)) => failed = Some(command),
        Err(Stop::Refused(refusal)) => return Err(refusal),
    }
    let fared = fare_under_both(study, (&claim.predicate, claim.winner), &findings, 1);
    let (held_out, otherwise) = fared.map_or((None, None), |(held_out, other)| (Some(held_out), other));
    let verdict = held_out.as_ref().map_or(Verdict::Unclear, |held_out| verdict(&claim.held_out, held_out));
    Ok(Rechecked {
        held_out,
        otherwise,
        verdict,
        is_exhausted: findings.is_exhausted,
        starvation: findings.starvation(),
        is_interrupted,
        failed,
        is_same_build: claim.build == study.ground.build,
    })
}
