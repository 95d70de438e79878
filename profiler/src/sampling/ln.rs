//! The natural logarithm, so that sampled words do not depend on a platform's own.

use std::f64::consts::SQRT_2;

/// The logarithm of 2 in two parts, of which the first has so few bits that a multiple of it is
/// exact.
const LN_2: [f64; 2] = [0.6931467056274414, 4.7493250390316726e-07];

/// Coefficients of `z^k`: the series of `2 artanh(s) / s - 2` in `z = s^2`, without its first `z`.
/// With `|s| <= 0.1716` the first term that is left out is below `2^-55` of the sum.
const SERIES: [f64; 10] = {
    let mut series = [0.0; 10];
    let mut k = 0;
    while k < series.len() {
        series[k] = 2.0 / (2 * k + 3) as f64;
        k += 1;
    }
    series
};

/// The bits of a number below those of its exponent.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
/// The bits of 1, which are those of the exponent 0.
const ONE: u64 = 1_f64.to_bits();
/// What the bits of an exponent are more than the exponent.
const EXPONENT_BIAS: f64 = 1023.0;
const TWO_POW_52: f64 = (1_u64 << MANTISSA_BITS) as f64;

/// The natural logarithm of a normal number above zero, with an error of a few units in the last
/// place. It has no branches, and only
/// operations that vectors have, so that a loop of logarithms runs in parallel.
///
/// The number is `m 2^k` with `m` from the root of one half to that of two, and with
/// `s = (m - 1) / (m + 1)` the logarithm of `m` is `2 artanh(s)`.
#[inline]
pub(super) fn ln(x: f64) -> f64 {
    let root_of_half = (SQRT_2 / 2.0).to_bits();
    let biased = (x.to_bits() + ONE - root_of_half) >> MANTISSA_BITS;
    let m = f64::from_bits(x.to_bits() + ONE - (biased << MANTISSA_BITS));
    // The sum of 2^52 and a small integer, without a conversion.
    let k = f64::from_bits(TWO_POW_52.to_bits() | biased) - (TWO_POW_52 + EXPONENT_BIAS);
    let (rough, fine) = two_artanh((m - 1.0) / (m + 1.0));
    k * LN_2[0] + (rough + (fine + k * LN_2[1]))
}

/// The natural logarithm of `1 - x`, for `x` from 0 on and below or at 1.
pub(super) fn ln_one_minus(x: f64) -> f64 {
    // Only for small numbers does the difference lose much of what they are.
    if x < 0.25 {
        let (rough, fine) = two_artanh(x / (2.0 - x));
        -(rough + fine)
    } else if x < 1.0 {
        ln(1.0 - x)
    } else {
        f64::NEG_INFINITY
    }
}

/// `2 artanh(s)` as `2 s` and what it is more, for `|s| <= 0.1716`.
#[inline]
fn two_artanh(s: f64) -> (f64, f64) {
    let z = s * s;
    // Pairs of terms do not wait for each other.
    let z2 = z * z;
    let pair = |i: usize| SERIES[i] + z * SERIES[i + 1];
    let tail = pair(0) + z2 * (pair(2) + z2 * (pair(4) + z2 * (pair(6) + z2 * pair(8))));
    (2.0 * s, s * z * tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::Xoshiro256;

    fn error_in_units(x: f64) -> f64 {
        let expected = x.ln();
        let unit = (expected.abs().next_up() - expected.abs()).max(f64::MIN_POSITIVE);
        (ln(x) - expected).abs() / unit
    }

    #[test]
    fn powers_of_two_and_one() {
        assert_eq!(ln(1.0), 0.0);
        for k in 1..=1022 {
            assert_eq!(ln(2_f64.powi(-k)), 2_f64.powi(-k).ln());
            assert_eq!(ln(2_f64.powi(k)), 2_f64.powi(k).ln());
        }
    }

    #[test]
    fn random_numbers_of_all_sizes() {
        let mut random = Xoshiro256::new(5);
        for n in 0..1_000_000 {
            let x = random.next_unit() * 2_f64.powi(n % 60 - 30);
            assert!(error_in_units(x) <= 4.0, "{x:e}: {}", error_in_units(x));
        }
    }

    #[test]
    fn numbers_next_to_one_and_to_the_roots() {
        for middle in [1.0, SQRT_2, SQRT_2 / 2.0, 0.5, 2.0] {
            for n in 0..1000 {
                for x in [middle + f64::from(n) * 1e-15, middle - f64::from(n) * 1e-15] {
                    assert!(error_in_units(x) <= 4.0, "{x:e}: {}", error_in_units(x));
                }
            }
        }
    }

    #[test]
    fn one_minus_numbers_of_all_sizes() {
        let mut random = Xoshiro256::new(6);
        for n in 0..200_000 {
            let x = random.next_unit() * 2_f64.powi(-(n % 60));
            let expected = (-x).ln_1p();
            let unit = expected.abs().next_up() - expected.abs();
            let error = (ln_one_minus(x) - expected).abs();
            assert!(x == 1.0 || error <= 4.0 * unit, "{x:e}: {}", error / unit);
        }
        assert_eq!(ln_one_minus(0.0), 0.0);
        assert_eq!(ln_one_minus(1.0), f64::NEG_INFINITY);
    }
}
