//! Victims by sorting (Ding, Kot, Gehrke 2018): trim the graph, sort the rest by the policy, remove the first few, and
//! begin again until nothing is left. How many are removed at a time is the *multi factor*. Here one of the rest always
//! stays: of two that are in each other's way the paper's method removes both, and so they would abort each other again
//! and again.

use core::num::NonZero;

use crate::graph::BatchGraph;
use crate::policy::Scoring;
use crate::rest::Rest;

/// The method, with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorted {
    rest: Rest,
    scores: Vec<(f64, u32)>,
}

impl Sorted {
    /// Adds the victims of a graph to `victims`, at most `multi_factor` at a time.
    pub(crate) fn choose(
        &mut self,
        graph: &BatchGraph,
        scoring: Scoring<'_>,
        multi_factor: NonZero<u32>,
        victims: &mut Vec<u32>,
    ) {
        self.rest.begin(graph);
        self.scores.reserve(graph.len());
        loop {
            self.rest.trim(graph);
            self.first(scoring, multi_factor.get() as usize);
            if self.scores.is_empty() {
                break;
            }
            for &(_, at) in &self.scores {
                self.rest.remove(graph, at as usize);
                victims.push(at);
            }
        }
    }

    /// Finds the first `most` transactions of the sorted rest. They are inserted into a short list one after the
    /// other: a sort of the rest would take longer, and is not needed.
    fn first(&mut self, scoring: Scoring<'_>, most: usize) {
        self.scores.clear();
        let mut left = 0;
        for (at, incoming, outgoing) in self.rest.left() {
            left += 1;
            let score = scoring.of(at, incoming, outgoing);
            // Of equal ones the earlier one, which is seen first, stays in front.
            let place = self.scores.iter().rposition(|(other, _)| *other >= score).map_or(0, |last| last + 1);
            if place < most {
                self.scores.truncate(most - 1);
                self.scores.insert(place, (score, at as u32));
            }
        }
        // One of a cycle is no longer on one when the others are gone.
        self.scores.truncate(usize::max(left, 1) - 1);
    }

    /// The capacities of all buffers.
    #[cfg(test)]
    pub(crate) fn capacities(&self) -> Vec<usize> {
        [self.rest.capacities(), vec![self.scores.capacity()]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::DegreeScore;

    fn victims(len: usize, edges: &[(u32, u32)], multi_factor: u32) -> Vec<u32> {
        let graph = BatchGraph::from_edges(len, edges.iter().copied()).unwrap();
        let scoring = Scoring { degrees: DegreeScore::Product, factors: &vec![1.0; len] };
        let mut victims = Vec::new();
        Sorted::default().choose(&graph, scoring, NonZero::new(multi_factor).unwrap(), &mut victims);
        victims.sort_unstable();
        victims
    }

    #[test]
    fn the_highest_degree_goes_first() {
        let star = [(0, 3), (3, 0), (1, 3), (3, 1), (2, 3), (3, 2)];
        assert_eq!(victims(4, &star, 1), [3]);
        let cycle = [(0, 1), (1, 2), (2, 0)];
        assert_eq!(victims(3, &cycle, 1), [0], "of equal ones the first");
    }

    #[test]
    fn a_multi_factor_removes_more_than_necessary() {
        let cycle = [(0, 1), (1, 2), (2, 0)];
        assert_eq!([1, 2, 5].map(|factor| victims(3, &cycle, factor).len()), [1, 2, 2]);
    }

    #[test]
    fn one_of_those_in_each_others_way_stays() {
        assert_eq!(victims(2, &[(0, 1), (1, 0)], 2), [0]);
    }
}
