//! Tests of the tests: samplers that are wrong in ways that have happened, or easily may, each of
//! which a check must catch.

use profiler::sampling::{WordSampler, Xoshiro256};

use crate::skips::{RATES, check_classes, check_dkw, check_moments, skips};

/// As many draws as are enough to tell.
const N: usize = 200_000;

/// A wrong way from a uniform number in `(0, 1]` to a distance.
type Mutant = fn(f64, f64) -> u64;

fn geometric(unit: f64, rate: f64) -> u64 {
    (unit.ln() / (-rate).ln_1p()) as u64 + 1
}

fn fixed_stride(_unit: f64, rate: f64) -> u64 {
    (1.0 / rate).round() as u64
}

fn uniform(unit: f64, rate: f64) -> u64 {
    1 + (unit * 2.0 * (1.0 / rate - 1.0)).round() as u64
}

fn exponential(unit: f64, rate: f64) -> u64 {
    (-unit.ln() / rate).round().max(1.0) as u64
}

fn without_the_one(unit: f64, rate: f64) -> u64 {
    (geometric(unit, rate) - 1).max(1)
}

fn one_too_many(unit: f64, rate: f64) -> u64 {
    geometric(unit, rate) + 1
}

fn draws(mutant: Mutant, rate: f64) -> impl Iterator<Item = u64> {
    let mut random = Xoshiro256::new(31);
    std::iter::repeat_with(move || mutant(random.next_unit(), rate))
}

/// What each check says of a sampler's distances.
fn verdicts(mutant: Mutant, rate: f64) -> [Result<(), String>; 3] {
    [
        check_dkw(rate, draws(mutant, rate), N),
        check_classes(rate, draws(mutant, rate), N),
        check_moments(rate, draws(mutant, rate), N),
    ]
}

#[test]
fn the_right_distances_pass() {
    for rate in RATES {
        assert_eq!(
            verdicts(geometric, rate),
            [Ok(()), Ok(()), Ok(())],
            "rate {rate}"
        );
        // And they are those of the sampler.
        assert!(
            skips(rate, 31)
                .take(1000)
                .eq(draws(geometric, rate).take(1000))
        );
    }
}

#[test]
fn strides_and_uniform_distances_are_caught_at_every_rate() {
    for mutant in [fixed_stride as Mutant, uniform] {
        for rate in RATES {
            let caught = verdicts(mutant, rate);
            assert!(
                caught[0].is_err() && caught[1].is_err(),
                "rate {rate}: {caught:?}"
            );
        }
    }
}

#[test]
fn wrong_roundings_are_caught_at_high_rates() {
    for mutant in [exponential as Mutant, without_the_one, one_too_many] {
        for rate in [0.9, 0.5, 0.1] {
            let caught = verdicts(mutant, rate);
            assert!(
                caught[0].is_err() && caught[1].is_err(),
                "rate {rate}: {caught:?}"
            );
        }
        // At low rates one word more or less does not show, so the high ones must be tried.
        assert!(check_dkw(1e-4, draws(mutant, 1e-4), N).is_ok());
    }
}

#[test]
fn distances_that_repeat_are_caught_by_their_correlation() {
    // Each distance twice: the distribution alone is right.
    for rate in RATES {
        let twice = || draws(geometric, rate).flat_map(|skip| [skip, skip]);
        let error = check_moments(rate, twice(), N).unwrap_err();
        assert!(
            error.contains("correlated") || error.contains("variance"),
            "{error}"
        );
    }
}

#[test]
fn a_first_word_that_is_never_sampled_is_caught() {
    // The start is one word late, as upstream's was.
    for rate in [0.9, 0.5, 0.1] {
        let firsts = (0..100_000).map(|seed| {
            let sampler = WordSampler::new(rate, seed, 1).unwrap();
            sampler.next() + 1
        });
        assert!(check_dkw(rate, firsts, 100_000).is_err(), "rate {rate}");
    }
}

/// The samples of blocks by a sampler that may be wrong, whose distances come from one generator.
struct Walk {
    random: Xoshiro256,
    rate: f64,
    next: u64,
}

impl Walk {
    fn new(rate: f64) -> Walk {
        let mut walk = Walk {
            random: Xoshiro256::new(33),
            rate,
            next: 0,
        };
        walk.next = walk.skip() - 1;
        walk
    }

    fn skip(&mut self) -> u64 {
        geometric(self.random.next_unit(), self.rate)
    }

    fn take(&mut self, from: u64, to: u64) -> u64 {
        let mut n_samples = 0;
        while self.next < to {
            n_samples += u64::from(from <= self.next);
            self.next += self.skip();
        }
        n_samples
    }
}

/// The samples of 20,000 blocks of 5 words, as `take` finds them.
fn samples(rate: f64, mut take: impl FnMut(&mut Walk, u64, u64) -> u64) -> Vec<u64> {
    let mut walk = Walk::new(rate);
    (0..20_000)
        .map(|block| take(&mut walk, 5 * block, 5 * block + 5))
        .collect()
}

#[test]
fn walks_that_leave_the_set_are_caught_by_the_clock() {
    // Low rates too: here every single word counts, not a distribution.
    for rate in [0.5, 0.01, 1e-3] {
        let mut sampler = WordSampler::new(rate, 33, 0).unwrap();
        let blocks = 0..20_000;
        let expected: Vec<u64> = blocks.map(|b| sampler.take(5 * b, 5 * b + 5)).collect();
        assert_eq!(samples(rate, Walk::take), expected, "rate {rate}");
        // The rest of a distance is lost at the end of a block in which something was sampled.
        let lost_rest = samples(rate, |walk, from, to| {
            let n_samples = walk.take(from, to);
            if n_samples > 0 {
                walk.next = to + walk.skip() - 1;
            }
            n_samples
        });
        // The distance is drawn again at a minor collection, as upstream does: the distribution is
        // right, but the set depends on the nursery.
        let redrawn = samples(rate, |walk, from, to| {
            if from.is_multiple_of(1000) {
                walk.next = from + walk.skip() - 1;
            }
            walk.take(from, to)
        });
        // The header is left out of the block, or counted for two blocks.
        let no_header = samples(rate, |walk, from, to| walk.take(from + 1, to));
        let late = samples(rate, |walk, from, to| walk.take(from + 1, to + 1));
        for mutant in [lost_rest, redrawn, no_header, late] {
            assert_ne!(mutant, expected, "rate {rate}");
        }
    }
}
