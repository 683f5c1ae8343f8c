//! Student's t distribution, medians, and Holm's correction.

/// The probability that a t variable with `freedom` degrees of freedom is larger than `t`.
pub(super) fn upper_tail(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    if t < 0.0 {
        return 1.0 - upper_tail(-t, freedom);
    }
    if t.is_infinite() {
        return 0.0;
    }
    0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The `t` that is exceeded with probability `p`, for `p` below one half.
pub(super) fn critical(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle, freedom) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete beta function, by its continued fraction.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let log_front =
        log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - log_front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// Lentz's method: each round adds an even and an odd term of the fraction.
#[allow(clippy::many_single_char_names, reason = "the names of the formula")]
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominator;
    for round in 1..300 {
        let round = f64::from(round);
        let even = round * (b - round) * x / ((a + 2.0 * round - 1.0) * (a + 2.0 * round));
        let odd =
            -(a + round) * (a + b + round) * x / ((a + 2.0 * round) * (a + 2.0 * round + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            denominator = 1.0 / nonzero(1.0 + term * denominator);
            numerator = nonzero(1.0 + term / numerator);
            step = denominator * numerator;
            fraction *= step;
        }
        if (step - 1.0).abs() < 1e-12 {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function for positive arguments, by Stirling's series after shifting the argument up.
fn log_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse / 1260.0)) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

/// The median; for an even number of values the mean of the middle two; 0 if there are none.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

/// The median. For an even number of values, the middle one that is closer to zero; 0 if the two have different signs.
///
/// For a change that must be common to most values: if only half of them have it, it is not common.
pub(super) fn cautious_median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => {
            let (low, high) = (values[count / 2 - 1], values[count / 2]);
            if low > 0.0 { low } else { high.min(0.0) }
        }
    }
}

/// The mean; 0 if there are no values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The sum of squared distances from the mean.
pub(super) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Holm's step-down correction: which of these tests hold together, with a probability of at most `level` that
/// any of them is wrong.
pub(super) fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut holds = vec![false; p_values.len()];
    for (rank, &index) in order.iter().enumerate() {
        if p_values[index] > level / (p_values.len() - rank) as f64 {
            break;
        }
        holds[index] = true;
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_students_t_are_those_of_the_tables() {
        for (t, freedom, p) in [
            (2.015, 5.0, 0.05),
            (3.365, 5.0, 0.01),
            (2.764, 10.0, 0.01),
            (2.042, 30.0, 0.025),
            (6.314, 1.0, 0.05),
        ] {
            let found = upper_tail(t, freedom);
            assert!((found / p - 1.0).abs() < 2e-3, "{t} {freedom}: {found}");
            assert!((critical(p, freedom) / t - 1.0).abs() < 2e-3);
        }
        assert_eq!(upper_tail(0.0, 4.0), 0.5);
        assert_eq!(upper_tail(f64::INFINITY, 4.0), 0.0);
    }

    #[test]
    fn holm_stops_at_the_first_test_that_fails() {
        assert_eq!(holm(&[0.04, 0.001, 0.02], 0.05), [true, true, true]);
        assert_eq!(holm(&[0.04, 0.001, 0.03], 0.05), [false, true, false]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
        assert_eq!(cautious_median([0.0, 2.0, 0.1, 2.1]), 0.1);
        assert_eq!(cautious_median([-2.0, -0.1, -2.1, 0.0]), -0.1);
        assert_eq!(cautious_median([-1.0, 1.0]), 0.0);
        assert_eq!(cautious_median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(squares(&[1.0, 3.0]), 2.0);
    }
}
