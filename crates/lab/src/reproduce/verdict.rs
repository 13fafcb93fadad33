//! Verdicts on claims. A verdict follows from the places of a relation, the relations of a clause and the clauses of
//! the claim, in that order.

use super::{Clause, Experiment, Relation, RelationOutcome, Source};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// The whole claim was tested, and holds at all tested places.
    Holds,
    /// The tested clauses hold at all tested places, and a part of the claim was not tested.
    HoldsInPart,
    /// No clause fails, and at least one holds in some places and not in others.
    HoldsUnderCondition,
    /// A clause fails, and so does the claim, whatever the standing of its other clauses.
    DoesNotHold,
    /// The results do not decide the claim: it needs more runs, or a quieter machine.
    Undecided,
    /// Nothing that the work claims was tested: the relations are our own.
    NoClaim,
}

impl ClaimVerdict {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsInPart => "holds in part",
            Self::HoldsUnderCondition => "holds under condition",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "undecided",
            Self::NoClaim => "no claim of the document",
        }
    }

    /// Returns the verdict from the clauses of a claim: the standing of each, and whether a part of it was not tested.
    fn of(clauses: &[(Standing, bool)]) -> Self {
        let has = |standing| clauses.iter().any(|(found, _)| *found == standing);
        let is_whole = clauses.iter().all(|(found, has_rest)| *found == Standing::Holds && !has_rest);
        if clauses.iter().all(|(found, _)| *found == Standing::Untested) {
            Self::NoClaim
        } else if has(Standing::Fails) {
            Self::DoesNotHold
        } else if has(Standing::HoldsInPlaces) {
            Self::HoldsUnderCondition
        } else if has(Standing::Undecided) {
            Self::Undecided
        } else if is_whole {
            Self::Holds
        } else {
            Self::HoldsInPart
        }
    }
}

/// The standing of a relation or a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds at all tested places.
    Holds,
    /// It holds in some places and fails in others.
    HoldsInPlaces,
    /// It fails somewhere and holds nowhere.
    Fails,
    /// It fails nowhere, and somewhere the results decide nothing.
    Undecided,
    /// No relation tests it.
    Untested,
}

impl Standing {
    /// Returns the name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsInPlaces => "holds in some places",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::Untested => "untested",
        }
    }

    /// Returns the standing of a relation by its places. A relation without a place is undecided.
    pub(super) fn of_places(outcomes: impl IntoIterator<Item = RelationOutcome>) -> Self {
        let outcomes: Vec<RelationOutcome> = outcomes.into_iter().collect();
        let has = |outcome| outcomes.contains(&outcome);
        match (has(RelationOutcome::Holds), has(RelationOutcome::Fails), has(RelationOutcome::Undecided)) {
            (true, true, _) => Self::HoldsInPlaces,
            (false, true, _) => Self::Fails,
            (true, false, false) => Self::Holds,
            (_, false, true) | (false, false, false) => Self::Undecided,
        }
    }

    /// Returns the common standing of several relations that must all hold.
    fn of_all(standings: &[Self]) -> Self {
        let order = [Self::Fails, Self::HoldsInPlaces, Self::Undecided, Self::Holds];
        order.into_iter().find(|standing| standings.contains(standing)).unwrap_or(Self::Untested)
    }
}

/// The standing of an experiment's claim, clause by clause.
#[derive(Debug)]
pub struct Judged<'e> {
    /// The verdict on the claim.
    pub verdict: ClaimVerdict,
    /// The clauses of the claim, with the standing of each.
    pub clauses: Vec<(&'e Clause, Standing)>,
    /// The standing of our own relations, and of hypotheses that the work does not print; `None` if there are none.
    pub beside: Option<Standing>,
}

impl<'e> Judged<'e> {
    /// Judges a claim by the standings of the experiment's relations.
    pub(super) fn new(experiment: &'e Experiment, relations: &[(&Relation, Standing)]) -> Self {
        let of_clause = |clause: &'e Clause| {
            let found: Vec<Standing> = relations
                .iter()
                .filter(|(relation, _)| relation.clause.as_ref() == Some(&clause.name))
                .map(|(_, standing)| *standing)
                .collect();
            (clause, Standing::of_all(&found))
        };
        let clauses: Vec<(&Clause, Standing)> = experiment.clauses.iter().map(of_clause).collect();
        let is_printed = |(clause, _): &&(&Clause, Standing)| clause.source != Source::Commented;
        let printed: Vec<(Standing, bool)> = clauses
            .iter()
            .filter(is_printed)
            .map(|(clause, standing)| (*standing, clause.rest().is_some()))
            .collect();
        let ours =
            relations.iter().filter(|(relation, _)| relation.clause.is_none()).map(|(_, found)| *found);
        let hypotheses = clauses.iter().filter(|clause| !is_printed(clause)).map(|(_, found)| *found);
        let beside: Vec<Standing> =
            ours.chain(hypotheses).filter(|found| *found != Standing::Untested).collect();
        Self {
            verdict: ClaimVerdict::of(&printed),
            beside: (!beside.is_empty()).then(|| Standing::of_all(&beside)),
            clauses,
        }
    }

    /// Returns the verdict as text, with the clauses that it rests on, by their standing.
    pub fn in_words(&self) -> String {
        let names = |is_meant: &dyn Fn(&Clause, Standing) -> bool| {
            let names: Vec<&str> = self
                .clauses
                .iter()
                .filter(|(clause, standing)| is_meant(clause, *standing))
                .map(|(clause, _)| clause.name.as_str())
                .collect();
            names.join(", ")
        };
        let groups = [
            ("fails", names(&|_, found| found == Standing::Fails)),
            ("holds in some places", names(&|_, found| found == Standing::HoldsInPlaces)),
            ("undecided", names(&|_, found| found == Standing::Undecided)),
            ("holds", names(&|clause, found| found == Standing::Holds && clause.rest().is_none())),
            (
                "holds as far as tested",
                names(&|clause, found| found == Standing::Holds && clause.rest().is_some()),
            ),
            ("untested", names(&|_, found| found == Standing::Untested)),
        ];
        let told: Vec<String> = groups
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(standing, names)| format!("{standing}: {names}"))
            .collect();
        let told = if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) };
        format!("{}{told}", self.verdict.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: bool = false;
    const PART: bool = true;

    #[test]
    fn a_relation_that_fails_somewhere_and_holds_nowhere_fails() {
        use RelationOutcome::{Fails, Holds, Undecided};
        assert_eq!(Standing::of_places([Holds, Holds]), Standing::Holds);
        assert_eq!(Standing::of_places([Holds, Fails, Undecided]), Standing::HoldsInPlaces);
        assert_eq!(Standing::of_places([Fails, Undecided]), Standing::Fails);
        assert_eq!(Standing::of_places([Holds, Undecided]), Standing::Undecided);
        assert_eq!(Standing::of_places([]), Standing::Undecided, "nothing was measured of it");
    }

    #[test]
    fn a_clause_that_fails_refutes_the_claim_whatever_else_holds() {
        use Standing::{Fails, Holds, HoldsInPlaces, Undecided, Untested};
        let refuted = |other| ClaimVerdict::of(&[(Fails, WHOLE), (other, WHOLE)]);
        for other in [Holds, HoldsInPlaces, Undecided, Untested] {
            assert_eq!(refuted(other), ClaimVerdict::DoesNotHold, "beside one that is {other:?}");
        }
        let conditional = |other| ClaimVerdict::of(&[(HoldsInPlaces, WHOLE), (other, WHOLE)]);
        assert_eq!(conditional(Undecided), ClaimVerdict::HoldsUnderCondition);
        assert_eq!(ClaimVerdict::of(&[(Holds, WHOLE), (Undecided, WHOLE)]), ClaimVerdict::Undecided);
        assert_eq!(Standing::of_all(&[Holds, Fails, Undecided]), Fails, "all schemes that it names have to");
        assert_eq!(Standing::of_all(&[Holds, Undecided]), Undecided);
        assert_eq!(Standing::of_all(&[]), Untested);
    }

    #[test]
    fn a_claim_holds_only_where_all_of_it_was_tested() {
        use Standing::{Holds, Untested};
        assert_eq!(ClaimVerdict::of(&[(Holds, WHOLE), (Holds, WHOLE)]), ClaimVerdict::Holds);
        assert_eq!(ClaimVerdict::of(&[(Holds, WHOLE), (Holds, PART)]), ClaimVerdict::HoldsInPart);
        assert_eq!(ClaimVerdict::of(&[(Holds, WHOLE), (Untested, PART)]), ClaimVerdict::HoldsInPart);
        assert_eq!(ClaimVerdict::of(&[(Untested, PART)]), ClaimVerdict::NoClaim);
        assert_eq!(ClaimVerdict::of(&[]), ClaimVerdict::NoClaim);
    }
}
