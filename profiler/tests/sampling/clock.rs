//! The word clock: the sampled words are a set that the seed and the rate decide, and a block has
//! as many samples as it has words of the set. No statistics: equality.

use profiler::sampling::{SplitMix64, WordSampler};

/// The set, found word by word.
fn set(rate: f64, seed: u64, start: u64, n_words: u64) -> Vec<u64> {
    let mut sampler = WordSampler::new(rate, seed, start).unwrap();
    let words = start..start + n_words;
    words
        .filter(|&word| sampler.take(word, word + 1) == 1)
        .collect()
}

/// Sizes of the blocks of a program, most small and some large.
fn blocks(seed: u64, n_words: u64) -> Vec<u64> {
    let mut random = SplitMix64(seed);
    let mut left = n_words;
    let mut sizes = Vec::new();
    while left > 0 {
        let most = if random.next_u64().is_multiple_of(50) {
            3000
        } else {
            12
        };
        let size = left.min(1 + random.next_u64() % most);
        sizes.push(size);
        left -= size;
    }
    sizes
}

#[test]
fn every_block_has_the_samples_of_its_words() {
    for (rate, seed) in [
        (1e-4, 1),
        (1e-3, 2),
        (0.01, 3),
        (0.3, 4),
        (0.97, 5),
        (1.0, 6),
        (0.0, 7),
    ] {
        for start in [0, 1 << 50] {
            let sampled = set(rate, seed, start, 200_000);
            let mut sampler = WordSampler::new(rate, seed, start).unwrap();
            let mut clock = start;
            for size in blocks(seed, 200_000) {
                let end = clock + size;
                let first = sampled.partition_point(|&word| word < clock);
                let last = sampled.partition_point(|&word| word < end);
                let next = sampler.next();
                assert_eq!(sampled.get(first).copied().unwrap_or(next), next);
                // A heap asks only when it has passed the next sample, or for all blocks.
                if next < end || size.is_multiple_of(3) {
                    let n_samples = sampler.take(clock, end);
                    assert_eq!(n_samples, (last - first) as u64, "rate {rate} at {clock}");
                }
                clock = end;
            }
        }
    }
}

#[test]
fn the_set_is_moved_with_the_start() {
    for rate in [0.5, 0.01] {
        let moved = set(rate, 9, 12_345, 50_000);
        let expected = set(rate, 9, 0, 50_000)
            .into_iter()
            .map(|word| word + 12_345);
        assert!(moved.into_iter().eq(expected));
    }
}

#[test]
fn nurseries_of_any_size_have_the_same_samples() {
    // A nursery is left when it is full or at the next sample, whichever comes first.
    let samples_with = |nursery_words: u64| {
        let mut sampler = WordSampler::new(0.003, 10, 0).unwrap();
        let mut clock = 0;
        let mut samples = Vec::new();
        let mut limit = nursery_words;
        for (index, size) in blocks(10, 300_000).into_iter().enumerate() {
            let end = clock + size;
            if end > limit.min(sampler.next()) {
                let n_samples = sampler.take(clock, end);
                if n_samples > 0 {
                    samples.push((index, n_samples));
                }
                limit = if end > limit {
                    end + nursery_words
                } else {
                    limit
                };
            }
            clock = end;
        }
        samples
    };
    let expected = samples_with(256);
    assert!(expected.len() > 200, "{}", expected.len());
    for nursery_words in [1, 4096, 1 << 20] {
        assert_eq!(samples_with(nursery_words), expected);
    }
}

#[test]
fn seeds_and_rates_have_sets_of_their_own() {
    let [a, b] = [1, 2].map(|seed| set(0.1, seed, 0, 10_000));
    assert_ne!(a, b);
    assert_eq!(a, set(0.1, 1, 0, 10_000));
    // The first words of a seed, so that no change of the generator goes unnoticed: profiles with
    // the same seed must stay comparable.
    let first_words = [1, 12, 13, 17, 20, 26, 46, 51, 66, 67];
    assert_eq!(set(0.1, 42, 0, 70), first_words);
}
