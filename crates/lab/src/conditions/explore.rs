//! Exploration: the choice of the next point to measure, in parts of the space without points, and where the ranking
//! flips.

use results::Class;
use stats::Halton;
use stdx::Rng;

use super::study::{Role, Sample};
use crate::Space;

/// The number of points that fill the space before the search for flips begins: this number, and the same again for
/// each axis.
const FIRST_POINTS: usize = 6;
/// After the first points, one step in this number fills the space further: the first points may have missed a region.
const FILLING_EVERY: usize = 4;
/// The distance of neighbours, in coordinates from 0 to 1, up to which no point between them is measured.
const TOLERANCE: f64 = 0.02;
/// The maximum number of pairs at a point while exploring.
pub(super) const PAIRS_MAX: usize = 3;
/// The number of nearest neighbours that cast doubt on a point if they all disagree with it.
const NEIGHBOURS: usize = 3;

/// The next measurement of an exploration.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// A new point.
    Point(Vec<f64>, Role),
    /// A further pair at the sample with this position.
    Again(usize),
}

/// An exploration of a space.
#[derive(Debug)]
pub(super) struct Exploration<'s> {
    space: &'s Space,
    margin: f64,
    filling: Halton,
    rng: Rng,
    steps: usize,
}

impl<'s> Exploration<'s> {
    pub(super) fn new(space: &'s Space, margin: f64, seed: u64) -> Self {
        let mut rng = Rng::from_path(&[seed, 0x0065_7870_6c6f_7265]);
        let filling = Halton::moved(space.axes().len(), &mut rng);
        Self { space, margin, filling, rng, steps: 0 }
    }

    /// Returns the next measurement, given the samples.
    pub(super) fn next(&mut self, samples: &[Sample]) -> Next {
        self.steps += 1;
        let first = FIRST_POINTS * (1 + self.space.axes().len());
        if self.steps > first && !self.steps.is_multiple_of(FILLING_EVERY) {
            let places: Vec<Vec<f64>> =
                samples.iter().map(|sample| self.space.units(&sample.point)).collect();
            let classes: Vec<Class> =
                samples.iter().map(|sample| Class::of(sample.ratio(), self.margin)).collect();
            if let Some(doubted) = doubted(samples, &places, &classes) {
                return Next::Again(doubted);
            }
            if let Some(between) = self.between(&places, &classes) {
                return match samples.iter().position(|sample| sample.point == between) {
                    Some(at) => Next::Again(at),
                    None => Next::Point(between, Role::Refined),
                };
            }
        }
        let units = self.filling.next().expect("a sequence has no end");
        Next::Point(self.space.point(&units), Role::Explored)
    }

    /// Returns a point halfway between two points of different classes. Candidates are each point and its nearest point
    /// of another class; the pair that is farthest apart comes first.
    fn between(&mut self, places: &[Vec<f64>], classes: &[Class]) -> Option<Vec<f64>> {
        let nearest_other = |at: usize| {
            let others = (0..places.len()).filter(|&other| classes[other] != classes[at]);
            others
                .map(|other| (distance(&places[at], &places[other]), other))
                .min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let mut edges: Vec<(f64, usize, usize)> = (0..places.len())
            .filter_map(|at| nearest_other(at).map(|(far, other)| (far, at.min(other), at.max(other))))
            .filter(|(far, ..)| *far > TOLERANCE)
            .collect();
        edges.sort_by(|a, b| b.0.total_cmp(&a.0));
        edges.dedup();
        let known =
            |point: &[f64]| places.iter().any(|place| distance(place, &self.space.units(point)) < 1e-9);
        let mut middles = edges.into_iter().map(|(_, a, b)| {
            let axes = self.space.axes().iter().zip(&places[a]).zip(&places[b]);
            let units: Vec<f64> = axes
                // There is no middle between two words.
                .map(|((axis, &a), &b)| match axis.choices() {
                    Some(_) => [a, b][self.rng.below(2) as usize],
                    None => f64::midpoint(a, b),
                })
                .collect();
            self.space.point(&units)
        });
        middles.find(|middle| !known(middle))
    }
}

/// Returns a point whose nearest neighbours are all of one other class: its own class may be due to chance.
fn doubted(samples: &[Sample], places: &[Vec<f64>], classes: &[Class]) -> Option<usize> {
    let is_alone = |at: usize| {
        let mut others: Vec<(f64, usize)> = (0..places.len())
            .filter(|&other| other != at)
            .map(|other| (distance(&places[at], &places[other]), other))
            .collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let nearest: Vec<Class> = others.iter().take(NEIGHBOURS).map(|(_, other)| classes[*other]).collect();
        nearest.len() == NEIGHBOURS
            && nearest[0] != classes[at]
            && nearest.iter().all(|class| *class == nearest[0])
    };
    (0..samples.len()).find(|&at| samples[at].pairs.len() < PAIRS_MAX && is_alone(at))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use results::Features;

    use super::*;
    use crate::registry::tests::catalogue;
    use crate::speed::tests::pair;

    fn space(items: &[&str]) -> Space {
        Space::parse(catalogue(), &items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>())
            .expect("legal")
    }

    fn sample(point: Vec<f64>, ratio: f64) -> Sample {
        Sample { pairs: vec![pair(ratio)], ..Sample::new(point, Features::new(), Role::Explored) }
    }

    /// Explores with a known ratio for some steps, and returns the samples.
    fn explore(space: &Space, steps: usize, ratio: impl Fn(&[f64]) -> f64) -> Vec<Sample> {
        let mut exploration = Exploration::new(space, 1.1, 1);
        let mut samples: Vec<Sample> = Vec::new();
        for _ in 0..steps {
            match exploration.next(&samples) {
                Next::Point(point, role) => {
                    let of = sample(point.clone(), ratio(&point));
                    samples.push(Sample { role, ..of });
                }
                Next::Again(at) => {
                    let again = pair(ratio(&samples[at].point));
                    samples[at].pairs.push(again);
                }
            }
        }
        samples
    }

    #[test]
    fn most_points_are_spent_where_the_ranking_flips() {
        let space = space(&["ycsb.theta=0..0.9", "ycsb.read_pct=0..100"]);
        let flip = |point: &[f64]| point[0] / 0.9 + point[1] / 100.0 - 1.0;
        let samples = explore(&space, 120, |point| if flip(point) > 0.0 { 1.3 } else { 0.7 });
        let near = |role: Role| {
            let of: Vec<&Sample> = samples.iter().filter(|sample| sample.role == role).collect();
            let near = of.iter().filter(|sample| flip(&sample.point).abs() < 0.15).count();
            (near as f64 / of.len() as f64, of.len())
        };
        let ((filling, explored), (refining, refined)) = (near(Role::Explored), near(Role::Refined));
        assert!(explored >= 30 && refined >= 50, "{explored} {refined}");
        assert!(refining > 1.5 * filling, "{refining} {filling}");
    }

    #[test]
    fn a_flip_is_narrowed_down_as_by_bisection() {
        let space = space(&["ycsb.theta=0..0.9"]);
        let samples = explore(&space, 40, |point| if point[0] < 0.37 { 1.3 } else { 0.7 });
        let nearest = samples.iter().map(|sample| (sample.point[0] - 0.37).abs()).fold(1.0, f64::min);
        assert!(nearest < 0.02, "{nearest}");
    }

    #[test]
    fn one_that_stands_alone_is_measured_again() {
        let space = space(&["ycsb.theta=0..0.9"]);
        let mut samples = explore(&space, 12, |_| 1.0);
        samples[5].pairs = vec![pair(2.0)];
        let mut exploration = Exploration { steps: 12, ..Exploration::new(&space, 1.1, 1) };
        assert_eq!(exploration.next(&samples), Next::Again(5));
        samples[5].pairs = vec![pair(2.0); PAIRS_MAX];
        assert!(matches!(exploration.next(&samples), Next::Point(..)), "three times at most");
    }

    #[test]
    fn without_a_flip_the_space_is_filled() {
        let samples = explore(&space(&["ycsb.theta=0..0.9", "retry=same|drop"]), 60, |_| 1.5);
        assert!(samples.iter().all(|sample| sample.role == Role::Explored));
        let words =
            |word: f64| samples.iter().filter(|sample| sample.point[1].total_cmp(&word).is_eq()).count();
        assert!(words(0.0) > 20 && words(1.0) > 20);
    }
}
