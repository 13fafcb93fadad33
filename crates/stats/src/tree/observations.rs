//! Observations from which a tree is grown: points, outcomes and weights.

use crate::Axis;

/// Measured points of a space, with the outcome at each point.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    pub(super) axes: Vec<Axis>,
    pub(super) classes: Vec<String>,
    pub(super) points: Vec<Vec<f64>>,
    /// By point: one number, or a 1 for the point's class and a 0 for each other class.
    pub(super) outcomes: Vec<Vec<f64>>,
    pub(super) weights: Vec<f64>,
}

impl Observations {
    /// Makes observations of points with a number each, for example the logarithm of a ratio.
    ///
    /// # Panics
    /// If there is no point; if a point's values differ in number from the axes, or a choice does not exist; if
    /// outcomes differ in number from points, or are not finite.
    pub fn of_numbers(axes: Vec<Axis>, points: Vec<Vec<f64>>, numbers: &[f64]) -> Self {
        let outcomes = numbers.iter().map(|&number| vec![number]).collect();
        Self::new(axes, Vec::new(), points, outcomes)
    }

    /// Makes observations of points with a class each, given by its position among the names.
    ///
    /// # Panics
    /// If there is no point; if a point's values differ in number from the axes, or a choice does not exist; if classes
    /// differ in number from points, or are not among the names.
    pub fn of_classes(axes: Vec<Axis>, points: Vec<Vec<f64>>, names: Vec<String>, classes: &[usize]) -> Self {
        assert!(classes.iter().all(|&class| class < names.len()), "each class has a name");
        let one_of = |class: usize| (0..names.len()).map(|i| f64::from(u8::from(i == class))).collect();
        let outcomes = classes.iter().map(|&class| one_of(class)).collect();
        Self::new(axes, names, points, outcomes)
    }

    fn new(axes: Vec<Axis>, classes: Vec<String>, points: Vec<Vec<f64>>, outcomes: Vec<Vec<f64>>) -> Self {
        assert!(!points.is_empty(), "a tree grows from observations");
        assert_eq!(points.len(), outcomes.len(), "each point has an outcome");
        assert!(outcomes.iter().flatten().all(|outcome| outcome.is_finite()), "outcomes are finite");
        for point in &points {
            assert_eq!(point.len(), axes.len(), "a point has a value on each axis");
            assert!(
                axes.iter().zip(point).all(|(axis, &value)| is_value(axis, value)),
                "{point:?} is in the space"
            );
        }
        let weights = vec![1.0; points.len()];
        Self { axes, classes, points, outcomes, weights }
    }

    /// Sets a weight for each point, for example the inverse of its variance.
    ///
    /// # Panics
    /// If weights differ in number from points, or a weight is not positive.
    #[must_use]
    pub fn weighted(mut self, weights: Vec<f64>) -> Self {
        assert_eq!(weights.len(), self.points.len(), "each point has a weight");
        assert!(weights.iter().all(|weight| weight.is_finite() && *weight > 0.0), "weights are positive");
        self.weights = weights;
        self
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Always `false`: observations have at least one point.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

/// Whether a value is allowed on an axis: numbers may lie beyond the ends of their axis; choices must exist.
fn is_value(axis: &Axis, value: f64) -> bool {
    axis.choices()
        .map_or(value.is_finite(), |words| (0..words.len()).any(|i| (i as f64).total_cmp(&value).is_eq()))
}
