//! The gamma distribution, whose quantiles are the exact limits of Poisson counts.

/// The number below which a gamma variate of this shape (and scale 1) stays with probability
/// `probability`. The shape must be above zero and below some thousands, the probability between 0
/// and 1, both excluded.
pub(super) fn quantile(shape: f64, probability: f64) -> f64 {
    let mut low = 0.0;
    let mut high = shape + 1.0;
    while cumulative(shape, high) < probability {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = low + (high - low) / 2.0;
        // No number is left between the two.
        if middle <= low || high <= middle {
            return high;
        }
        if cumulative(shape, middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The probability that a gamma variate is below `x`: the lower incomplete gamma function, by its
/// series, whose terms are all positive.
fn cumulative(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut term = (shape * x.ln() - x - ln_gamma(shape + 1.0)).exp();
    let mut sum = term;
    let mut k = shape;
    loop {
        k += 1.0;
        term *= x / k;
        sum += term;
        // Behind the greatest term they fall, and when they no longer count, the sum is done. A sum
        // of zero is one that is too small for a number.
        if k > x && term <= sum * 1e-17 {
            return sum.min(1.0);
        }
    }
}

/// The logarithm of the gamma function of a number above zero: Stirling's series, after enough
/// steps up for it to be exact to 1e-14.
fn ln_gamma(number: f64) -> f64 {
    let mut x = number;
    let mut product = 1.0;
    while x < 12.0 {
        product *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 12.0
        - square
            * (1.0 / 360.0
                - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0))));
    let half_ln_tau = 0.5 * std::f64::consts::TAU.ln();
    (x - 0.5) * x.ln() - x + half_ln_tau + series / x - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
    }

    #[test]
    fn factorials() {
        let mut factorial = 1.0_f64;
        for n in 1..150 {
            assert!(is_near(ln_gamma(f64::from(n)), factorial.ln()), "{n}");
            factorial *= f64::from(n);
        }
        // The gamma function of one half is the root of pi.
        assert!(is_near(ln_gamma(0.5), 0.5 * std::f64::consts::PI.ln()));
    }

    #[test]
    fn sums_of_poisson_counts() {
        // A gamma variate of whole shape n is above x as often as a Poisson count of mean x is
        // below n.
        for n in [1, 2, 5, 30, 101] {
            for x in [0.1, 1.0, 4.0, 25.0, 90.0, 130.0] {
                let mut term = f64::exp(-x);
                let mut below = 0.0;
                for k in 0..n {
                    below += term;
                    term *= x / f64::from(k + 1);
                }
                assert!(is_near(cumulative(f64::from(n), x), 1.0 - below), "{n} {x}");
            }
        }
    }

    #[test]
    fn quantiles_of_tables() {
        // Halves of the chi-square table's values for 2, 6, 20 and 200 degrees of freedom.
        for (shape, probability, expected) in [
            (1.0, 0.025, 0.050_636 / 2.0),
            (1.0, 0.975, 7.377_759 / 2.0),
            (3.0, 0.025, 1.237_344 / 2.0),
            (10.0, 0.975, 34.169_607 / 2.0),
            (100.0, 0.025, 162.727_98 / 2.0),
        ] {
            let found = quantile(shape, probability);
            assert!((found - expected).abs() < 1e-5, "{shape} {found}");
            assert!(is_near(cumulative(shape, found), probability));
        }
        // Shapes between whole numbers and near zero.
        for shape in [0.02, 0.3, 1.5, 77.7] {
            for probability in [0.025, 0.5, 0.975] {
                let found = quantile(shape, probability);
                assert!(is_near(cumulative(shape, found), probability), "{shape}");
            }
        }
    }
}
