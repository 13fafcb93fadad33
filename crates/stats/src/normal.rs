//! The standard normal distribution, to ten digits, for normal approximations.

use statrs::function::erf::{erfc, erfc_inv};

/// The share of the distribution at and below `z`.
pub(crate) fn below(z: f64) -> f64 {
    0.5 * erfc(-z * core::f64::consts::FRAC_1_SQRT_2)
}

/// The `p`-quantile of the distribution.
pub(crate) fn quantile(p: f64) -> f64 {
    -core::f64::consts::SQRT_2 * erfc_inv(2.0 * p)
}

/// The probability of a value at least as far from zero as `z`.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() * core::f64::consts::FRAC_1_SQRT_2)
}

/// The `z` for which a share `confidence` of the distribution is nearer to zero than `z`.
pub(crate) fn critical(confidence: f64) -> f64 {
    quantile(f64::midpoint(1.0, confidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_near;

    #[test]
    fn tabulated_values_come_out() {
        assert_near(below(1.0), 0.841_344_746_068_542_9, 1e-10);
        assert_near(below(-3.0), 0.001_349_898_031_630_094_5, 1e-12);
        assert_near(quantile(0.975), 1.959_963_984_540_054, 1e-12);
        assert_near(quantile(0.001), -3.090_232_306_167_813_5, 1e-12);
        assert_near(two_sided(-1.959_963_984_540_054), 0.05, 1e-10);
        assert_near(critical(0.9), 1.644_853_626_951_472_2, 1e-10);
    }
}
