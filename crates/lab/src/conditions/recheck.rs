//! Testing a claim again: fresh random points, drawn with another seed, answered with other requests.

use stats::Verdict;

use super::claim::{Claim, HeldOut, Otherwise};
use super::fit::Map;
use super::held_out::{OF_TEST, fare_under_both, name_of, test, verdict};
use super::investigate::Findings;
use super::pairs::{Pairs, Stop};
use super::study::Study;
use crate::sweep::{Run, Store};
use crate::{Refusal, Starvation};

/// How a claim fared again.
#[derive(Debug)]
pub struct Rechecked {
    /// At the new points; none if not one was measured.
    pub held_out: Option<HeldOut>,
    /// And with the other policy of retry.
    pub otherwise: Option<Otherwise>,
    /// `Same` when as many points agree as the claim says, and the winner is ahead where it says so; `Slower` when
    /// clearly fewer agree, or it is not ahead there; `Unclear` when so few points cannot tell.
    pub verdict: Verdict,
    /// Whether there was no point left that nobody had measured.
    pub is_exhausted: bool,
    /// The starvation of the runs.
    pub starvation: Starvation,
    /// Whether whoever watched did not want more.
    pub is_interrupted: bool,
    /// The command of a run whose check failed.
    pub failed: Option<String>,
    /// Whether it was tested with the program that made it, and on such a machine.
    pub is_same_build: bool,
}

impl Rechecked {
    /// The name of the verdict in results.
    pub const fn verdict_name(&self) -> &'static str {
        name_of(self.verdict)
    }
}

/// Tests a claim at the points of a study that was made [from it](Claim::study).
///
/// # Errors
/// Those of the runs and of the store.
pub fn recheck(claim: &Claim, study: &Study, store: &Store, run: impl Run) -> Result<Rechecked, Refusal> {
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
