//! The parts together: a design over mixed axes, a tree grown from its outcomes, and the settings that the tree finds
//! to matter.

use stats::tree::{Growth, Observations, Pruning, Tree, importance};
use stats::{Axis, Morris, Scale, SobolDesign, SobolSequence};
use stdx::Rng;

fn axes() -> Vec<Axis> {
    let axis = |name: &str, scale| Axis::new(name, scale).expect("the axis has values");
    vec![
        axis("warehouses", Scale::LogInteger { low: 1, high: 64 }),
        axis("read_share", Scale::Linear { low: 0.0, high: 1.0 }),
        axis("driver", Scale::Choice(["per_worker", "batch"].map(str::to_owned).to_vec())),
    ]
}

/// The logarithm of a ratio: A is ahead with few warehouses, and slightly more with few reads; the driver has no
/// effect.
fn gain(point: &[f64]) -> f64 {
    let contention = if point[0] <= 8.0 { 0.6 } else { 0.0 };
    contention - 0.2 * point[1]
}

fn observations(count: usize) -> Observations {
    let points: Vec<Vec<f64>> = SobolSequence::shifted(3, &mut Rng::new(1))
        .take(count)
        .map(|units| Axis::point(&axes(), &units))
        .collect();
    let gains: Vec<f64> = points.iter().map(|point| gain(point)).collect();
    Observations::of_numbers(axes(), points, &gains)
}

fn surrogate() -> Tree {
    let growth = Growth { depth_max: 8, leaf_min: 4 };
    Tree::cross_validated(&observations(512), &growth, &Pruning { errors_allowed: 0.0, ..Pruning::default() })
}

#[test]
fn indices_of_a_surrogate_are_near_those_of_the_function() {
    let tree = surrogate();
    let design = SobolDesign::new(2_048, 3, &mut Rng::new(2));
    let indices = |outcome: &dyn Fn(&[f64]) -> f64| {
        let outcomes: Vec<f64> =
            design.points().iter().map(|units| outcome(&Axis::point(&axes(), units))).collect();
        design.indices(&outcomes).expect("outcomes vary")
    };
    let (truth, learnt) = (indices(&gain), indices(&|point| tree.predict(point)[0]));
    for (truth, learnt) in truth.iter().zip(&learnt) {
        assert!((truth.first - learnt.first).abs() < 0.02, "{truth:?} {learnt:?}");
        assert!((truth.total - learnt.total).abs() < 0.02, "{truth:?} {learnt:?}");
    }
}

#[test]
fn all_ways_to_rank_the_axes_agree() {
    let tree = surrogate();
    let morris = Morris { levels: 4, trajectories: 20 }.design(3, &mut Rng::new(3));
    let gains: Vec<f64> = morris.points().iter().map(|units| gain(&Axis::point(&axes(), units))).collect();
    let effects = morris.effects(&gains);
    assert!(effects[0].mu_star > effects[1].mu_star && effects[1].mu_star > effects[2].mu_star);
    let importance = importance(&tree, &observations(256), 10, 4);
    assert!(importance[0] > importance[1] && importance[1] > importance[2]);
    assert!(importance[2].abs() < 1e-6);
}
