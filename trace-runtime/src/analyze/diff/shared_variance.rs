//! The variance that many items share: Smyth's empirical Bayes estimate (2004), as in limma.
//!
//! A variance from few runs is uncertain, so each item also uses those of the others. Their weight depends on how alike
//! they are. On a quiet machine they are alike. On a busy machine the ops with long calls vary much more than the
//! others, and must not increase the variance of the others.

use super::statistics::{mean, median, squares};

/// With fewer items, the spread of their variances cannot be estimated.
const FEWEST_ITEMS: usize = 4;

/// The variance that items have in common, and the degrees of freedom with which it is added to their own variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SharedVariance {
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

impl SharedVariance {
    /// `variances` are above zero, each with `freedom` degrees of freedom. If there are few items, they share the
    /// median, with unlimited weight.
    pub(super) fn of(variances: &[f64], freedom: f64) -> SharedVariance {
        let alike = SharedVariance {
            variance: median(variances.iter().copied()),
            freedom: f64::INFINITY,
        };
        if variances.len() < FEWEST_ITEMS {
            return alike;
        }
        let logs: Vec<f64> = variances.iter().map(|variance| variance.ln()).collect();
        let spread = squares(&logs) / (logs.len() - 1) as f64;
        // The variation of the logarithm of a variance that is only due to the small number of runs.
        let by_chance = trigamma(freedom / 2.0);
        if spread <= by_chance {
            return alike;
        }
        let half = inverse_trigamma(spread - by_chance);
        let bias = |half: f64| digamma(half) - half.ln();
        SharedVariance {
            variance: (mean(&logs) - bias(freedom / 2.0) + bias(half)).exp(),
            freedom: 2.0 * half,
        }
    }
}

/// The derivative of the logarithm of the gamma function, for arguments above zero.
fn digamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 8.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse / 252.0));
    shift + x.ln() - 0.5 / x - series
}

/// The derivative of [`digamma`].
fn trigamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 8.0 {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = inverse / x * (1.0 / 6.0 - inverse * (1.0 / 30.0 - inverse / 42.0));
    shift + 1.0 / x + 0.5 * inverse + series
}

/// The argument, above zero, for which [`trigamma`] has this value. `trigamma` is decreasing.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64, 1e6_f64);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_have_the_values_of_the_tables() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-8, "{a} {b}");
        near(digamma(1.0), -0.577_215_664_9);
        near(digamma(0.25), -4.227_453_533_4);
        near(trigamma(1.0), std::f64::consts::PI.powi(2) / 6.0);
        near(trigamma(4.0), 0.283_822_955_7);
        near(inverse_trigamma(trigamma(0.3)), 0.3);
    }

    #[test]
    fn variances_that_are_alike_are_shared_and_others_are_not() {
        let alike = SharedVariance::of(&[1.0, 1.2, 0.9, 1.1, 1.0], 8.0);
        assert_eq!((alike.variance, alike.freedom), (1.0, f64::INFINITY));
        // Half of the items vary much more, so the others do not use their variance.
        let mixed = SharedVariance::of(&[1e-4, 1e-4, 2e-4, 0.3, 0.5, 0.4], 8.0);
        assert!(mixed.freedom < 1.0, "{mixed:?}");
        assert!(mixed.variance < 0.01, "{mixed:?}");
        let few = SharedVariance::of(&[1e-4, 0.5, 0.4], 8.0);
        assert_eq!((few.variance, few.freedom), (0.4, f64::INFINITY));
    }
}
