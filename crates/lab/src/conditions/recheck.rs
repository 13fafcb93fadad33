//! Testing a claim again: fresh random points, drawn with another seed, answered with other requests.

use stats::{Verdict, share};

use super::claim::{Bounds, Claim, HeldOut};
use super::fit::Map;
use super::investigate::{CONFIDENCE, Findings, fare, test};
use super::pairs::{Pairs, Stop};
use super::study::{Sample, Study};
use crate::Refusal;
use crate::sweep::{Run, Store};

/// How a claim fared again.
#[derive(Debug)]
pub struct Rechecked {
    /// At the new points; none if not one was measured.
    pub held_out: Option<HeldOut>,
    /// `Same` when the claim holds as before, `Slower` when fewer points agree than it allows for, `Unclear` when
    /// so few points cannot tell.
    pub verdict: Verdict,
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
        match self.verdict {
            Verdict::Slower => "does_not_hold",
            Verdict::Unclear => "undecided",
            Verdict::Same | Verdict::Faster => "holds",
        }
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
    match test(study, &mut pairs, (&map, study.question.seed), &mut findings) {
        Ok(()) => {}
        Err(Stop::Interrupted) => is_interrupted = true,
        Err(Stop::Failed(command)) => failed = Some(command),
        Err(Stop::Refused(refusal)) => return Err(refusal),
    }
    let samples: Vec<&Sample> = findings.samples.iter().collect();
    let of = (claim.margin, 1, study.question.seed);
    let held_out = (!samples.is_empty()).then(|| fare(&claim.predicate, claim.winner, &samples, of));
    let verdict = held_out.as_ref().map_or(Verdict::Unclear, |held_out| verdict(&claim.held_out, held_out));
    Ok(Rechecked {
        held_out,
        verdict,
        is_interrupted,
        failed,
        is_same_build: claim.build == study.ground.build,
    })
}

/// Fewer points agree than the claim says when even the upper end of the new interval is below the lower end of the
/// claim's. It holds as before when the lower end of the new one is not below that of the claim, had the claim been
/// tested on as few points as now.
fn verdict(claimed: &HeldOut, found: &HeldOut) -> Verdict {
    if found.interval.high < claimed.interval.low {
        return Verdict::Slower;
    }
    let likely = share((claimed.share * found.points as f64).floor() as u64, found.points as u64, CONFIDENCE);
    let Bounds { low, .. } = likely.expect("there are points").into();
    if found.share >= low { Verdict::Same } else { Verdict::Unclear }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_out(agree: usize, points: usize) -> HeldOut {
        let interval = share(agree as u64, points as u64, CONFIDENCE).expect("points").into();
        HeldOut { points, agree, undecided: 0, share: agree as f64 / points as f64, interval, seed: 1 }
    }

    #[test]
    fn a_claim_fails_when_clearly_fewer_points_agree() {
        let claimed = held_out(47, 50);
        assert_eq!(verdict(&claimed, &held_out(46, 50)), Verdict::Same);
        assert_eq!(verdict(&claimed, &held_out(50, 50)), Verdict::Same);
        assert_eq!(verdict(&claimed, &held_out(25, 50)), Verdict::Slower);
        assert_eq!(verdict(&claimed, &held_out(41, 50)), Verdict::Unclear);
    }
}
