//! The intervals of estimates hold the truth as often as they say.

use profiler::sampling::{Estimate, WordSampler, unseen95_bytes};

/// How many runs of different seeds a share is taken of.
const N_RUNS: u64 = 10_000;

/// The shares of runs in which the interval holds the true bytes and the true number of objects.
/// The blocks are of these sizes in words, in turn, `n_blocks` of them.
fn coverage(rate: f64, sizes: &[u64], n_blocks: usize) -> [f64; 2] {
    let n_words: u64 = sizes.iter().cycle().take(n_blocks).sum();
    let bytes = 8.0 * n_words as f64;
    let ends: Vec<u64> = sizes
        .iter()
        .cycle()
        .take(n_blocks)
        .scan(0, |end, size| {
            *end += size;
            Some(*end)
        })
        .collect();
    let mut n_inside = [0_u32; 2];
    for seed in 0..N_RUNS {
        let mut sampler = WordSampler::new(rate, seed, 0).unwrap();
        let mut estimate = Estimate::default();
        // From one sampled block to the next, as a heap does.
        while sampler.next() < n_words {
            let block = ends.partition_point(|&end| end <= sampler.next());
            let start = if block == 0 { 0 } else { ends[block - 1] };
            let n_samples = sampler.take(start, ends[block]);
            estimate.add(ends[block] - start, n_samples, rate);
        }
        let is_inside = |(low, high): (f64, f64), truth: f64| low <= truth && truth <= high;
        if estimate.n_blocks == 0 {
            // What was not seen is known to be below a number of bytes, not of objects.
            n_inside[0] += u32::from(bytes <= unseen95_bytes(rate));
            n_inside[1] += 1;
        } else {
            n_inside[0] += u32::from(is_inside(estimate.bytes_interval95(), bytes));
            n_inside[1] += u32::from(is_inside(estimate.objects_interval95(), n_blocks as f64));
        }
    }
    n_inside.map(|n| f64::from(n) / N_RUNS as f64)
}

/// Of blocks of equal size, about so many of which are seen.
fn equal(words: u64, rate: f64, n_seen: f64) -> [f64; 2] {
    let seen = -(words as f64 * (-rate).ln_1p()).exp_m1();
    coverage(rate, &[words], (n_seen / seen).round() as usize)
}

fn is_right(shares: [f64; 2]) -> bool {
    shares.iter().all(|share| (0.935..=0.975).contains(share))
}

#[test]
fn of_many_blocks_19_in_20_are_inside() {
    for shares in [
        equal(3, 1e-3, 200.0),
        equal(100, 0.002, 150.0),
        // Most words of a block are sampled with one of them.
        equal(50, 0.02, 150.0),
    ] {
        assert!(is_right(shares), "{shares:?}");
    }
    // Sampled words stand for equal bytes whatever the sizes are, but not for equal numbers of
    // objects: where sizes differ much, those need more samples.
    for (n_blocks, least_of_objects) in [(1200, 0.90), (6_000, 0.935)] {
        let [bytes, objects] = coverage(0.001, &[2, 3, 3, 4, 400, 7], n_blocks);
        assert!((0.935..=0.975).contains(&bytes), "{bytes}");
        assert!((least_of_objects..=0.975).contains(&objects), "{objects}");
    }
}

#[test]
fn of_few_blocks_no_fewer_are_inside() {
    let shares = equal(3, 1e-3, 30.0);
    assert!(is_right(shares), "{shares:?}");
    for n_seen in [0.5, 1.0, 3.0, 10.0, 99.0] {
        let shares = equal(2, 1e-3, n_seen);
        assert!(
            shares.iter().all(|&share| share >= 0.935),
            "{n_seen}: {shares:?}"
        );
    }
    // A big block is known exactly, and the few small ones are not hidden behind it.
    let mut sizes = vec![2; 2000];
    sizes[1000] = 100_000;
    let shares = coverage(0.002, &sizes, sizes.len());
    assert!(shares[0] >= 0.935 && shares[1] >= 0.935, "{shares:?}");
}
