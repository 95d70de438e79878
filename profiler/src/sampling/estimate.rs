//! From what was seen to what there is.

use super::gamma;

/// The size of a word.
pub const BYTES_PER_WORD: f64 = 8.0;

/// An estimate of fewer samples says little more than that there is something.
pub const MIN_SAMPLES: u64 = 10;

/// From this number of blocks on, a sum is as good as normally distributed.
const MIN_NORMAL_BLOCKS: f64 = 100.0;

/// The quantile of the normal distribution beyond which 2.5 % lie.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// How many bytes and objects there are, judged by the blocks that were seen.
///
/// A block of `w` words, header included, is seen with probability `p = 1 - (1 - rate)^w`, so each
/// block that was seen stands for `1/p` blocks of its size. The sums of `8w/p` and of `1/p` are the
/// Horvitz-Thompson estimators: unbiased, whatever the sizes are, and exact where `p` is 1. The
/// sums of `(8w)^2 (1-p)/p^2` and `(1-p)/p^2` estimate their variances.
///
/// It holds for any set of blocks that does not depend on the sampling, such as those that are
/// alive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The estimated bytes, headers included.
    pub bytes: f64,
    /// The estimated number of objects.
    pub objects: f64,
    /// The variance of `bytes`.
    pub bytes_variance: f64,
    /// The variance of `objects`.
    pub objects_variance: f64,
    /// How many blocks were seen.
    pub n_blocks: u64,
    /// How many of their words were sampled.
    pub n_samples: u64,
    /// The part of the sums that rests on blocks of which most are missed.
    pub rare: RareSums,
}

/// The part of an [`Estimate`] that rests on blocks seen with a probability below one half. A few
/// of these have a skewed distribution, which must not hide behind a big block that is known almost
/// exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RareSums {
    /// The estimated bytes.
    pub bytes: f64,
    /// The estimated number of objects.
    pub objects: f64,
    /// The variance of `bytes`.
    pub bytes_variance: f64,
    /// The variance of `objects`.
    pub objects_variance: f64,
    /// How many blocks were seen.
    pub n_blocks: u64,
}

impl Estimate {
    /// Counts a block of `words` words, header included, of which `n_samples` were sampled at this
    /// rate. A block that was not seen does not count.
    pub fn add(&mut self, words: u64, n_samples: u64, rate: f64) {
        if let Some(block) = Estimate::of_block(words, n_samples, rate) {
            self.add_all(&block);
        }
    }

    /// Takes a block out that [`Estimate::add`] has counted.
    pub fn remove(&mut self, words: u64, n_samples: u64, rate: f64) {
        if let Some(block) = Estimate::of_block(words, n_samples, rate) {
            self.remove_all(&block);
        }
    }

    /// Counts all that another estimate has counted. Samples are independent, so variances add up.
    pub fn add_all(&mut self, other: &Estimate) {
        self.n_blocks = self.n_blocks.saturating_add(other.n_blocks);
        self.n_samples = self.n_samples.saturating_add(other.n_samples);
        self.rare.n_blocks = self.rare.n_blocks.saturating_add(other.rare.n_blocks);
        self.combine(other, |sum, part| sum + part);
    }

    /// Takes out all that another estimate has counted, if this one has counted it too.
    pub fn remove_all(&mut self, other: &Estimate) {
        self.n_blocks = self.n_blocks.saturating_sub(other.n_blocks);
        self.n_samples = self.n_samples.saturating_sub(other.n_samples);
        self.rare.n_blocks = self.rare.n_blocks.saturating_sub(other.rare.n_blocks);
        self.combine(other, |sum, part| (sum - part).max(0.0));
        // Where no block is left, what is left of the sums is the errors of rounding: small ones of
        // the sum, but of the variance of a block that was big perhaps not.
        if self.n_blocks == 0 {
            *self = Estimate::default();
        } else if self.rare.n_blocks == 0 {
            self.rare = RareSums::default();
        } else if self.rare.n_blocks == self.n_blocks {
            self.bytes = self.rare.bytes;
            self.objects = self.rare.objects;
            self.bytes_variance = self.rare.bytes_variance;
            self.objects_variance = self.rare.objects_variance;
        }
    }

    /// The interval in which the bytes lie with a confidence of 95 %; a point if they are exact.
    ///
    /// It is the normal one where the sum varies as little as a count of 100 or more. Below, it is
    /// Garwood's, which is exact for Poisson counts, of the count that has the same relative
    /// variance; where all blocks have the same size and a small rate, that is the number of blocks
    /// seen. The blocks that are rarely seen and the others are judged one by one, and their
    /// margins add up by their squares.
    ///
    /// If no block was seen it is the point 0, as only the rate tells how much may have been
    /// missed: see [`unseen95_bytes`].
    pub fn bytes_interval95(&self) -> (f64, f64) {
        let rare = (self.rare.bytes, self.rare.bytes_variance);
        interval95((self.bytes, self.bytes_variance), rare)
    }

    /// The interval in which the number of objects lies with a confidence of 95 %, made like that
    /// of the bytes.
    pub fn objects_interval95(&self) -> (f64, f64) {
        let rare = (self.rare.objects, self.rare.objects_variance);
        interval95((self.objects, self.objects_variance), rare)
    }

    /// Whether the figures deserve trust: they rest on at least [`MIN_SAMPLES`] samples or are
    /// exact.
    pub fn is_reliable(&self) -> bool {
        self.n_samples >= MIN_SAMPLES || (self.n_blocks > 0 && self.bytes_variance == 0.0)
    }

    /// Changes all sums by those of another.
    fn combine(&mut self, other: &Estimate, change: impl Fn(f64, f64) -> f64) {
        self.bytes = change(self.bytes, other.bytes);
        self.objects = change(self.objects, other.objects);
        self.bytes_variance = change(self.bytes_variance, other.bytes_variance);
        self.objects_variance = change(self.objects_variance, other.objects_variance);
        let (rare, other) = (&mut self.rare, &other.rare);
        rare.bytes = change(rare.bytes, other.bytes);
        rare.objects = change(rare.objects, other.objects);
        rare.bytes_variance = change(rare.bytes_variance, other.bytes_variance);
        rare.objects_variance = change(rare.objects_variance, other.objects_variance);
    }

    /// What one block says, if it was seen.
    pub(crate) fn of_block(words: u64, n_samples: u64, rate: f64) -> Option<Estimate> {
        let seen = seen_probability(words, rate);
        if n_samples == 0 || seen.is_nan() || seen <= 0.0 {
            return None;
        }
        let bytes = BYTES_PER_WORD * words as f64;
        // Divided twice, for the square of a tiny probability might be zero.
        let variance = (1.0 - seen) / seen / seen;
        let sums = RareSums {
            bytes: bytes / seen,
            objects: 1.0 / seen,
            bytes_variance: bytes * bytes * variance,
            objects_variance: variance,
            n_blocks: 1,
        };
        Some(Estimate {
            bytes: sums.bytes,
            objects: sums.objects,
            bytes_variance: sums.bytes_variance,
            objects_variance: sums.objects_variance,
            n_blocks: 1,
            n_samples,
            rare: if seen < 0.5 {
                sums
            } else {
                RareSums::default()
            },
        })
    }
}

/// How many bytes there may be of something of which no block was seen: with more, one of their
/// words would have been sampled with a probability of 97.5 %, as in the intervals' upper limits.
/// Infinite at rate 0.
pub fn unseen95_bytes(rate: f64) -> f64 {
    BYTES_PER_WORD * 0.025_f64.ln() / (-rate).ln_1p()
}

/// The probability that one of a block's words is sampled, right at tiny rates too, where `1 -
/// rate` would be 1.
fn seen_probability(words: u64, rate: f64) -> f64 {
    -(words as f64 * (-rate).ln_1p()).exp_m1()
}

/// The interval of a sum that has a rare part; both with their variances.
fn interval95(all: (f64, f64), rare: (f64, f64)) -> (f64, f64) {
    let often = margins95(all.0 - rare.0, all.1 - rare.1);
    let rare = margins95(rare.0, rare.1);
    let low = all.0 - often.0.hypot(rare.0);
    (low.max(0.0), all.0 + often.1.hypot(rare.1))
}

/// How far the truth may lie below and above a sum.
fn margins95(sum: f64, variance: f64) -> (f64, f64) {
    // Also if rounding or a huge sum has left no finite number.
    if variance.is_nan() || variance <= 0.0 || sum.is_nan() || sum <= 0.0 {
        return (0.0, 0.0);
    }
    let count = sum * (sum / variance);
    if count.is_nan() || count >= MIN_NORMAL_BLOCKS {
        let margin = NORMAL_975 * variance.sqrt();
        return (margin.min(sum), margin);
    }
    let weight = variance / sum;
    let low = gamma::quantile(count, 0.025);
    let high = gamma::quantile(count + 1.0, 0.975);
    (sum - low * weight, high * weight - sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` equal blocks of which one word each was sampled.
    fn blocks(n: u64, words: u64, rate: f64) -> Estimate {
        let mut estimate = Estimate::default();
        (0..n).for_each(|_| estimate.add(words, 1, rate));
        estimate
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-6 * expected.abs()
    }

    #[test]
    fn at_rate_1_all_is_exact() {
        let mut estimate = Estimate::default();
        for words in 1..=100 {
            estimate.add(words, words, 1.0);
        }
        let exact = Estimate {
            bytes: 8.0 * 5050.0,
            objects: 100.0,
            bytes_variance: 0.0,
            objects_variance: 0.0,
            n_blocks: 100,
            n_samples: 5050,
            rare: RareSums::default(),
        };
        assert_eq!(estimate, exact);
        assert_eq!(estimate.bytes_interval95(), (40_400.0, 40_400.0));
        assert_eq!(estimate.objects_interval95(), (100.0, 100.0));
        assert!(blocks(1, 2, 1.0).is_reliable());
    }

    #[test]
    fn a_block_stands_for_as_many_as_were_missed() {
        // Of three words at rate 0.5, one is sampled with probability 7/8.
        let estimate = blocks(1, 3, 0.5);
        assert!(is_near(estimate.objects, 8.0 / 7.0));
        assert!(is_near(estimate.bytes, 24.0 * 8.0 / 7.0));
        assert!(is_near(estimate.objects_variance, 8.0 / 49.0));
        assert!(is_near(estimate.bytes_variance, 576.0 * 8.0 / 49.0));
        // At a tiny rate every sampled word stands for 1/rate words.
        let tiny = blocks(1, 4, 1e-15);
        assert!(is_near(tiny.objects, 0.25e15));
        assert!(is_near(tiny.bytes, 8e15));
        // A huge block is seen for sure, so it stands for itself alone.
        let huge = blocks(1, 1 << 40, 1e-4);
        assert_eq!((huge.objects, huge.objects_variance), (1.0, 0.0));
    }

    #[test]
    fn what_was_not_seen_does_not_count() {
        let mut estimate = Estimate::default();
        estimate.add(3, 0, 0.5);
        estimate.add(0, 1, 1.0);
        estimate.add(3, 1, 0.0);
        estimate.add(3, 1, f64::NAN);
        assert_eq!(estimate, Estimate::default());
        assert!(!estimate.is_reliable());
        assert_eq!(estimate.bytes_interval95(), (0.0, 0.0));
    }

    #[test]
    fn what_is_removed_leaves_nothing() {
        let mut estimate = Estimate::default();
        for words in 1..200 {
            estimate.add(words, 1, 0.1);
        }
        let before = estimate;
        estimate.add(7, 2, 0.1);
        estimate.remove(7, 2, 0.1);
        assert_eq!((estimate.n_blocks, estimate.n_samples), (199, 199));
        assert!(is_near(estimate.bytes, before.bytes));
        for words in 1..200 {
            estimate.remove(words, 1, 0.1);
        }
        assert_eq!(estimate, Estimate::default());
        estimate.remove(5, 1, 0.1);
        assert_eq!(estimate, Estimate::default());
    }

    #[test]
    fn a_big_block_leaves_no_errors_of_rounding() {
        // Its variance is about 1e22, whose last place is above a million.
        let [big, small] = [1 << 34, 3];
        let rate = 2.0 / big as f64;
        let mut estimate = blocks(3, small, rate);
        let before = estimate;
        estimate.add(big, 1, rate);
        estimate.remove(big, 1, rate);
        assert_eq!(estimate, before);
        let mut estimate = blocks(3, big, rate);
        let before = estimate;
        for change in [Estimate::add, Estimate::remove] {
            (0..3).for_each(|_| change(&mut estimate, small, 1, rate));
        }
        assert_eq!(estimate.rare, RareSums::default());
        assert!(is_near(
            estimate.bytes_interval95().1,
            before.bytes_interval95().1
        ));
    }

    #[test]
    fn few_blocks_have_garwoods_interval() {
        // Of counts 1, 3, 10 and 50 in the published tables; the rate is so small that the blocks
        // are Poisson.
        for (n, low, high) in [
            (1, 0.0253, 5.5716),
            (3, 0.6187, 8.7673),
            (10, 4.7954, 18.3904),
            (50, 37.1110, 65.9188),
        ] {
            let estimate = blocks(n, 2, 1e-9);
            let unit = estimate.bytes / n as f64;
            let (found_low, found_high) = estimate.bytes_interval95();
            assert!((found_low / unit - low).abs() < 1e-4, "{n}: {found_low}");
            assert!((found_high / unit - high).abs() < 1e-4, "{n}: {found_high}");
        }
    }

    #[test]
    fn many_blocks_have_the_normal_interval() {
        let estimate = blocks(400, 2, 1e-9);
        let (low, high) = estimate.objects_interval95();
        let margin = 1.959_964 / 20.0;
        assert!(is_near(low, estimate.objects * (1.0 - margin)));
        assert!(is_near(high, estimate.objects * (1.0 + margin)));
        // The two kinds of interval meet without a leap.
        let ends = [99, 100].map(|n| blocks(n, 2, 1e-9).bytes_interval95());
        assert!((ends[0].0 / ends[1].0 - 1.0).abs() < 0.03);
        assert!((ends[0].1 / ends[1].1 - 1.0).abs() < 0.03);
    }

    #[test]
    fn a_big_block_does_not_hide_a_few_small_ones() {
        let small = blocks(3, 2, 1e-4);
        let mut both = small;
        both.add(1 << 40, 9, 1e-4);
        let big = (1_u64 << 43) as f64;
        let ((low, high), of_small) = (both.bytes_interval95(), small.bytes_interval95());
        assert!((low - big - of_small.0).abs() < 1.0 && (high - big - of_small.1).abs() < 1.0);
        // Where none is rare, as many as were seen have the margins of their own.
        let often = blocks(5, 3, 0.5);
        assert_eq!(often.rare, RareSums::default());
        let (low, high) = often.objects_interval95();
        assert!(
            4.0 < low && low < 5.0 && 7.0 < high && high < 9.0,
            "{low} {high}"
        );
    }

    #[test]
    fn ten_samples_are_reliable() {
        assert!(!blocks(9, 3, 1e-4).is_reliable());
        assert!(blocks(10, 3, 1e-4).is_reliable());
        let mut one = Estimate::default();
        one.add(5000, 10, 1e-3);
        assert!(one.is_reliable());
    }

    #[test]
    fn what_may_have_been_missed() {
        // At rate 0.5, more than 5.32 words would have been seen.
        assert!(is_near(unseen95_bytes(0.5), 8.0 * 40_f64.ln() / 2_f64.ln()));
        assert_eq!(unseen95_bytes(1.0), 0.0);
        assert_eq!(unseen95_bytes(0.0), f64::INFINITY);
    }
}
