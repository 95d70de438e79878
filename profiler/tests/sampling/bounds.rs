//! Inequalities that a right sampler breaks with a probability below 1e-9.

/// The logarithm of 2/1e-9: both sides of a bound share the probability.
pub(crate) const L: f64 = 21.416_413_017_506_358;

/// The greatest distance of the distribution of `n` draws from the true one: the inequality of
/// Dvoretzky, Kiefer and Wolfowitz, with Massart's constant.
pub(crate) fn dkw(n: f64) -> f64 {
    (L / (2.0 * n)).sqrt()
}

/// How far the sum of `n` independent draws of probability `p` may be from `np`: Bernstein's
/// inequality.
pub(crate) fn bernstein(n: f64, p: f64) -> f64 {
    L / 3.0 + (L * L / 9.0 + 2.0 * n * p * (1.0 - p) * L).sqrt()
}

/// The greatest chi-square sum with this many degrees of freedom.
pub(crate) fn chi_square(degrees: usize) -> f64 {
    match degrees {
        2 => 41.4,
        5 => 50.7,
        21 => 85.4,
        31 => 103.4,
        // Laurent and Massart: above every quantile of this probability.
        _ => {
            let x = 1e9_f64.ln();
            degrees as f64 + 2.0 * (degrees as f64 * x).sqrt() + 2.0 * x
        }
    }
}

/// The chi-square sum of counts against what was expected, or what is wrong with it.
pub(crate) fn check_chi_square(pairs: &[(f64, f64)]) -> Result<(), String> {
    let sum: f64 = pairs
        .iter()
        .map(|(found, expected)| (found - expected).powi(2) / expected)
        .sum();
    let bound = chi_square(pairs.len() - 1);
    if sum <= bound {
        Ok(())
    } else {
        Err(format!("chi-square is {sum}, above {bound}"))
    }
}

#[test]
fn the_stated_bounds() {
    assert!((L - 2e9_f64.ln()).abs() < 1e-12);
    assert!((dkw(1e6) - 0.003_27).abs() < 5e-6);
    for (n, p, bound) in [
        (1e7, 1e-3, 661.0),
        (1e7, 1e-2, 2066.0),
        (1e7, 0.1, 6216.0),
        (1e6, 0.5, 3280.0),
    ] {
        assert!(
            (bernstein(n, p) - bound).abs() <= 1.0,
            "{n} {p}: {}",
            bernstein(n, p)
        );
    }
    assert!(chi_square(1) > 37.3 && chi_square(3) > 44.0);
}
