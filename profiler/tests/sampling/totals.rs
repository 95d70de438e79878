//! How many words are sampled, in all and in each block.

use profiler::sampling::WordSampler;

use crate::bounds::{bernstein, check_chi_square};

#[test]
fn as_many_words_as_the_rate_says() {
    for (n_words, rate) in [
        (10_000_000, 1e-4),
        (10_000_000, 1e-3),
        (10_000_000, 1e-2),
        (10_000_000, 0.1),
        (1_000_000, 0.5),
        (1_000_000, 0.99),
    ] {
        let mut sampler = WordSampler::new(rate, 21, 0).unwrap();
        let n_samples = sampler.take(0, n_words) as f64;
        let expected = n_words as f64 * rate;
        let bound = bernstein(n_words as f64, rate);
        assert!(
            (n_samples - expected).abs() <= bound,
            "rate {rate}: {n_samples}"
        );
    }
}

/// The probability of `k` samples in a block.
fn binomial(n: u64, k: u64, rate: f64) -> f64 {
    let ways: f64 = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product();
    ways * rate.powi(k as i32) * (1.0 - rate).powi((n - k) as i32)
}

#[test]
fn samples_of_a_block_are_binomial() {
    // Payload words; the header is one more.
    for (payload_words, rate) in [(2, 0.3), (10, 0.05), (100, 0.02)] {
        let words = payload_words + 1;
        let n_blocks = 200_000;
        let mut sampler = WordSampler::new(rate, 22, 0).unwrap();
        let mut counts = vec![0_u64; words as usize + 1];
        for block in 0..n_blocks {
            counts[sampler.take(block * words, (block + 1) * words) as usize] += 1;
        }
        // What is expected fewer than 50 times goes into one class.
        let mut pairs = Vec::new();
        let mut tail = (0.0, 0.0);
        for (k, &count) in (0..).zip(&counts) {
            let expected = binomial(words, k, rate) * n_blocks as f64;
            if expected >= 50.0 {
                pairs.push((count as f64, expected));
            } else {
                tail = (tail.0 + count as f64, tail.1 + expected);
            }
        }
        if tail.1 >= 1.0 {
            pairs.push(tail);
        }
        assert!(pairs.len() >= 4);
        assert_eq!(
            check_chi_square(&pairs),
            Ok(()),
            "{payload_words} words at {rate}"
        );
    }
}
