//! Which words are sampled.

use std::fmt;

use super::Xoshiro256;
use super::ln::{ln, ln_one_minus};

/// Rates below this one sample nothing: fewer than one word in 64 PiB would be sampled, and the
/// random numbers, multiples of 2^-53, could not tell such rates apart.
const MIN_RATE: f64 = 1.0 / (1_u64 << 53) as f64;

/// The sampled words of one profile, as absolute indices of a word clock.
///
/// The distance from one sampled word to the next is geometric, so that every word is sampled with
/// probability `rate`, independently of the others (S1, S3 of the specification). Nothing is ever
/// drawn again: the sampled words are `start` plus a set that the seed and the rate decide alone,
/// however the clock is cut into calls of [`WordSampler::take`]. `Gc.Memprof` redraws at every
/// minor collection, so there the size of the nursery decides too (S4).
///
/// The logarithm is exact to a few units in the last place of `f64`, not the polynomial of low
/// degree whose error can be measured in upstream's samples (S5).
///
/// ```
/// use profiler::sampling::WordSampler;
///
/// let mut all_at_once = WordSampler::new(0.1, 7, 1000).unwrap();
/// let mut in_steps = all_at_once.clone();
/// let n_samples: u64 = (0..500).map(|i| in_steps.take(1000 + 2 * i, 1002 + 2 * i)).sum();
/// assert_eq!(all_at_once.take(1000, 2000), n_samples);
/// assert_eq!(all_at_once.next(), in_steps.next());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WordSampler {
    next: u64,
    rate: f64,
    /// The logarithm of the probability that a word is not sampled.
    ln_unsampled: f64,
    random: Xoshiro256,
    /// Distances that have been drawn; those from `n_used` on have not been used.
    skips: [u64; N_DRAWN],
    n_used: usize,
}

/// How many distances are drawn at once: a logarithm has a long latency, but several of them
/// overlap.
const N_DRAWN: usize = 16;

impl WordSampler {
    /// The words that are sampled from word `start` of the clock on; the word at `start` is the
    /// first that may be. Rate 1 samples every word, rate 0 none, and so do rates below 2^-53 (S2).
    ///
    /// # Errors
    /// The rate is not a number from 0 to 1.
    pub fn new(rate: f64, seed: u64, start: u64) -> Result<WordSampler, InvalidRate> {
        if !(0.0..=1.0).contains(&rate) {
            return Err(InvalidRate(rate));
        }
        let mut sampler = WordSampler {
            next: u64::MAX,
            rate,
            ln_unsampled: ln_one_minus(rate),
            random: Xoshiro256::new(seed),
            skips: [1; N_DRAWN],
            n_used: N_DRAWN,
        };
        if rate >= MIN_RATE {
            // A skip of one from the word before `start` leads to `start`.
            sampler.next = start.saturating_add(sampler.draw() - 1);
        }
        Ok(sampler)
    }

    /// The probability with which a word is sampled.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The next sampled word, never below the last `to`; `u64::MAX` when there is none.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many sampled words lie in `from..to`, and moves past `to`. The words before `from` must
    /// have been taken, unless none of them was sampled: `from <= next()`; else those that were
    /// are passed over. Takes time in proportion to the number of samples, and constant time at
    /// rate 1.
    #[inline]
    pub fn take(&mut self, from: u64, to: u64) -> u64 {
        if to <= self.next {
            return 0;
        }
        if self.rate == 1.0 {
            let first = from.max(self.next);
            self.next = to;
            return to.saturating_sub(first);
        }
        let mut n_samples = 0;
        while self.next < to {
            n_samples += u64::from(from <= self.next);
            self.next = self.next.saturating_add(self.draw());
        }
        n_samples
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        if self.n_used == N_DRAWN {
            self.draw_more();
        }
        let skip = self.skips[self.n_used];
        self.n_used += 1;
        skip
    }

    #[inline(never)]
    fn draw_more(&mut self) {
        let units = [(); N_DRAWN].map(|()| self.random.next_unit());
        // A loop of its own, which becomes one of vectors.
        let quotients = units.map(|unit| ln(unit) / self.ln_unsampled);
        self.skips = quotients.map(whole_skip);
        self.n_used = 0;
    }
}

/// The distance to the next sampled word: the geometric variate that belongs to a uniform number in
/// `(0, 1]`, at least 1 and clipped to `u64`. It is above `k` if and only if the number is at most
/// `(1 - rate)^k`, which has just that probability. The number comes as the quotient of its
/// logarithm and that of `1 - rate`.
#[inline]
fn whole_skip(quotient: f64) -> u64 {
    // A conversion to an integer cuts the fraction off and clips what is too big.
    (quotient as u64).saturating_add(1)
}

/// A sampling rate that is not a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidRate(
    /// The rate that was asked for.
    pub f64,
);

impl fmt::Display for InvalidRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a sampling rate is a number from 0 to 1, not {:?}",
            self.0
        )
    }
}

impl std::error::Error for InvalidRate {}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(unit: f64, ln_unsampled: f64) -> u64 {
        whole_skip(ln(unit) / ln_unsampled)
    }

    fn sampler(rate: f64) -> WordSampler {
        WordSampler::new(rate, 1, 0).unwrap()
    }

    #[test]
    fn only_numbers_from_0_to_1_are_rates() {
        for rate in [-1e-300, -1.0, 1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
            assert!(WordSampler::new(rate, 1, 0).is_err(), "{rate}");
        }
        let error = WordSampler::new(f64::NAN, 1, 0).unwrap_err();
        let expected = "a sampling rate is a number from 0 to 1, not NaN";
        assert_eq!(error.to_string(), expected);
        for rate in [0.0, -0.0, 1e-300, 1e-17, 1e-16, 0.5, 1.0] {
            assert_eq!(sampler(rate).rate(), rate);
        }
    }

    #[test]
    fn rate_0_and_what_is_as_good_as_0_sample_nothing() {
        for rate in [0.0, -0.0, f64::MIN_POSITIVE, 1e-300, MIN_RATE / 2.0] {
            let mut none = sampler(rate);
            assert_eq!(none.next(), u64::MAX);
            assert_eq!(none.take(0, u64::MAX), 0, "{rate}");
            assert_eq!(none.next(), u64::MAX);
        }
    }

    #[test]
    fn rate_1_samples_every_word() {
        let mut all = WordSampler::new(1.0, 1, 10).unwrap();
        assert_eq!(all.next(), 10);
        assert_eq!(all.take(10, 11), 1);
        assert_eq!(all.next(), 11);
        assert_eq!(all.take(11, 11), 0);
        assert_eq!(all.take(11, 1 << 60), (1 << 60) - 11);
        assert_eq!(all.next(), 1 << 60);
        assert_eq!(all.take(u64::MAX - 1, u64::MAX), 1);
        assert_eq!(all.take(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn skips_of_given_numbers() {
        let smallest = 2_f64.powi(-53);
        for rate in [1.0_f64, 0.999, 0.5, 0.1, 1e-3, 1e-9, 1e-15] {
            assert_eq!(skip(1.0, (-rate).ln_1p()), 1, "{rate}");
        }
        // Rate 1 never skips a word, whatever is drawn.
        assert_eq!(skip(smallest, (-1_f64).ln_1p()), 1);
        // The logarithms of powers of two have a whole quotient: 2^-k is a boundary.
        let half = (-0.5_f64).ln_1p();
        assert_eq!(skip(smallest, half), 54);
        for k in 1..=52 {
            let boundary = 2_f64.powi(-k);
            let expected = k as u64;
            assert_eq!(skip(boundary, half), expected + 1, "2^-{k}");
            // The logarithm of a small power is too coarse to tell its neighbours apart.
            assert_eq!(skip(boundary * (1.0 + 1e-14), half), expected, "2^-{k}");
            assert_eq!(skip(boundary * (1.0 - 1e-14), half), expected + 1, "2^-{k}");
        }
        // 36.73680057 / 1.00005e-4 and 36.73680057 / 1.0000000005e-9, cut off, and 1.
        assert_eq!(skip(smallest, (-1e-4_f64).ln_1p()), 367_350);
        assert_eq!(skip(smallest, (-1e-9_f64).ln_1p()), 36_736_800_552);
    }

    #[test]
    fn boundaries_are_where_the_powers_are() {
        for rate in [0.9_f64, 0.3, 0.1, 0.01, 1e-4] {
            let ln_unsampled = (-rate).ln_1p();
            for k in 1..=20 {
                let boundary = (f64::from(k) * ln_unsampled).exp();
                // The power is rounded, and so is its logarithm: a few units are left open.
                let error = 1e-15 * (1.0 + boundary.ln().abs());
                let k = k as u64;
                assert_eq!(skip(boundary * (1.0 + error), ln_unsampled), k);
                assert_eq!(skip(boundary * (1.0 - error), ln_unsampled), k + 1);
            }
        }
    }

    #[test]
    fn a_skip_is_clipped_and_the_clock_ends() {
        assert_eq!(skip(0.5, (-1e-300_f64).ln_1p()), u64::MAX);
        assert_eq!(skip(0.5, -f64::MIN_POSITIVE), u64::MAX);
        // Near the end of the clock there is soon no sampled word left, and none overflows.
        let mut late = WordSampler::new(0.01, 3, u64::MAX - 1000).unwrap();
        let n_samples = late.take(u64::MAX - 1000, u64::MAX);
        assert!(n_samples <= 1000);
        assert_eq!(late.next(), u64::MAX);
        assert_eq!(late.take(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn words_that_were_not_taken_are_passed_over() {
        let mut whole = sampler(0.3);
        let mut part = whole.clone();
        let before = whole.take(0, 600);
        let after = whole.take(600, 1000);
        assert!(before > 0 && after > 0);
        assert_eq!(part.take(600, 1000), after);
        assert_eq!(part.next(), whole.next());
        let mut all = sampler(1.0);
        assert_eq!(all.take(600, 1000), 400);
        assert_eq!(all.take(2000, 1500), 0);
    }
}
