//! The distances from one sampled word to the next.

use profiler::sampling::WordSampler;

use crate::bounds::{check_chi_square, dkw};

/// The rates that every sampler is tried at. Big ones matter: there a distance that is one too long
/// or rounded otherwise shows.
pub(crate) const RATES: [f64; 6] = [0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4];

/// How many distances are drawn.
pub(crate) const N_SKIPS: usize = 1_000_000;

/// The distances between the sampled words of a seed.
pub(crate) fn skips(rate: f64, seed: u64) -> impl Iterator<Item = u64> {
    let mut sampler = WordSampler::new(rate, seed, 1).unwrap();
    // Words count from 1, so the first distance is that from word 0.
    let mut last = 0;
    std::iter::from_fn(move || {
        let word = sampler.next();
        assert_eq!(sampler.take(word, word + 1), 1);
        let skip = word - last;
        last = word;
        Some(skip)
    })
}

/// How often each distance was drawn.
fn histogram(skips: impl Iterator<Item = u64>, n: usize) -> Vec<u64> {
    let mut counts = Vec::new();
    for skip in skips.take(n) {
        let skip = usize::try_from(skip).unwrap();
        if skip >= counts.len() {
            counts.resize(skip + 1, 0);
        }
        counts[skip] += 1;
    }
    counts
}

/// The probability that a distance is at most `skip`.
fn probability(rate: f64, skip: f64) -> f64 {
    -(skip * (-rate).ln_1p()).exp_m1()
}

/// Checks the greatest distance of the distribution from the geometric one.
pub(crate) fn check_dkw(
    rate: f64,
    skips: impl Iterator<Item = u64>,
    n: usize,
) -> Result<(), String> {
    let counts = histogram(skips, n);
    let bound = dkw(n as f64);
    let mut below = 0;
    for (skip, count) in counts.iter().enumerate() {
        below += count;
        let distance = below as f64 / n as f64 - probability(rate, skip as f64);
        if distance.abs() > bound {
            return Err(format!("the distribution is {distance} off at {skip}"));
        }
    }
    Ok(())
}

/// Checks the distances in at most 32 classes that are about equally probable.
pub(crate) fn check_classes(
    rate: f64,
    skips: impl Iterator<Item = u64>,
    n: usize,
) -> Result<(), String> {
    let counts = histogram(skips, n);
    let mut ends: Vec<usize> = (1..32)
        .map(|class| {
            let share = f64::from(class) / 32.0;
            let mut end = ((-share).ln_1p() / (-rate).ln_1p()).floor().max(0.0) as usize;
            while probability(rate, end as f64) < share {
                end += 1;
            }
            end
        })
        .collect();
    ends.dedup();
    ends.push(usize::MAX);
    let mut start = 0;
    let mut pairs = Vec::new();
    for end in ends {
        let inside = counts.iter().take(end.saturating_add(1)).skip(start);
        let found: u64 = inside.sum();
        let until = if end == usize::MAX {
            1.0
        } else {
            probability(rate, end as f64)
        };
        let from = probability(rate, start.saturating_sub(1) as f64);
        pairs.push((found as f64, (until - from) * n as f64));
        start = end.saturating_add(1);
    }
    check_chi_square(&pairs)
}

/// Checks the variance of the distances, and that neighbours have nothing to do with each other.
pub(crate) fn check_moments(
    rate: f64,
    skips: impl Iterator<Item = u64>,
    n: usize,
) -> Result<(), String> {
    let mean = 1.0 / rate;
    let (mut square, mut product, mut last) = (0.0, 0.0, 0.0);
    for skip in skips.take(n) {
        let off = skip as f64 - mean;
        square += off * off;
        product += off * last;
        last = off;
    }
    let variance = (1.0 - rate) / (rate * rate);
    let kurtosis = 9.0 + rate * rate / (1.0 - rate);
    let bound = 6.1 * ((kurtosis - 1.0) / n as f64).sqrt();
    let off = square / n as f64 / variance - 1.0;
    if off.abs() > bound {
        return Err(format!("the variance is {off} off, above {bound}"));
    }
    let correlation = product / square;
    if correlation.abs() > 6.5 / (n as f64).sqrt() {
        return Err(format!("neighbours are correlated: {correlation}"));
    }
    Ok(())
}

#[test]
fn distances_are_geometric() {
    for rate in RATES {
        assert_eq!(
            check_dkw(rate, skips(rate, 11), N_SKIPS),
            Ok(()),
            "rate {rate}"
        );
    }
}

#[test]
fn distances_fill_their_classes() {
    for rate in RATES {
        assert_eq!(
            check_classes(rate, skips(rate, 12), N_SKIPS),
            Ok(()),
            "rate {rate}"
        );
    }
}

#[test]
fn distances_vary_as_they_should_and_are_independent() {
    for rate in RATES {
        assert_eq!(
            check_moments(rate, skips(rate, 13), N_SKIPS),
            Ok(()),
            "rate {rate}"
        );
    }
}

#[test]
fn the_first_sample_is_as_far_from_the_start_as_any_from_the_one_before() {
    // A sampler that never takes the first word, or always, shows here alone (upstream's #10064).
    for rate in RATES {
        let start = 1 << 40;
        let firsts = (0..100_000).map(|seed| {
            let sampler = WordSampler::new(rate, seed, start).unwrap();
            sampler.next() - start + 1
        });
        assert_eq!(check_dkw(rate, firsts, 100_000), Ok(()), "rate {rate}");
    }
}
