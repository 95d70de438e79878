//! Random numbers: xoshiro256++, seeded by SplitMix64, so they are the same on every platform.

use profiler::sampling::Xoshiro256;

use super::{HostCall, HostError};

/// A machine's generator. Its seed is 0 unless the program says another.
#[derive(Debug)]
pub(super) struct Random(Xoshiro256);

impl Default for Random {
    fn default() -> Self {
        Self(Xoshiro256::new(0))
    }
}

impl Random {
    /// A number below `n`, each with the same probability: the high half of a product, where the
    /// few low halves that would favour some numbers are drawn again (Lemire 2019).
    fn below(&mut self, n: u64) -> u64 {
        let excess = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            if product as u64 >= excess {
                return (product >> 64) as u64;
            }
        }
    }

    /// One of the 2^53 multiples of 2^-53 in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

pub(super) fn seed(call: &mut HostCall) -> Result<(), HostError> {
    let seed = call.int(0) as u64;
    call.state().random = Random(Xoshiro256::new(seed));
    Ok(())
}

pub(super) fn int(call: &mut HostCall) -> Result<(), HostError> {
    let n = u64::try_from(call.int(0)).map_err(|_| HostError::Failed)?;
    if n == 0 {
        return Err(HostError::Failed);
    }
    let number = call.state().random.below(n);
    call.set_int(0, number as i64);
    Ok(())
}

pub(super) fn bits(call: &mut HostCall) -> Result<(), HostError> {
    let bits = call.state().random.0.next_u64();
    call.set_int(0, bits as i64);
    Ok(())
}

pub(super) fn float(call: &mut HostCall) -> Result<(), HostError> {
    let number = call.state().random.unit();
    call.set_float(0, number);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each number below `n` was drawn of `draws`, against the bound that a fair generator
    /// exceeds once in 10^9 tables: six standard deviations.
    #[test]
    fn numbers_below_a_bound_are_equally_frequent() {
        let mut random = Random::default();
        for n in [1, 2, 3, 10, 100] {
            let draws = 1000 * n;
            let mut counts = vec![0_i64; n as usize];
            for _ in 0..draws {
                counts[random.below(n) as usize] += 1;
            }
            let bound = 6.0 * 1000_f64.sqrt();
            assert!(
                counts
                    .iter()
                    .all(|&count| ((count - 1000) as f64).abs() <= bound),
                "{n}: {counts:?}"
            );
        }
    }

    /// A bound that is two thirds of 2^64 would favour every other number without drawing again.
    #[test]
    fn a_large_bound_favours_no_number() {
        let mut random = Random::default();
        let n = u64::MAX / 3 * 2;
        let n_low = (0..3000).filter(|_| random.below(n) < n / 2).count();
        assert!((1336..=1664).contains(&n_low), "{n_low} of 3000");
    }

    #[test]
    fn doubles_are_in_the_unit_interval_without_its_end() {
        let mut random = Random::default();
        let mut sum = 0.0;
        for _ in 0..10_000 {
            let number = random.unit();
            assert!((0.0..1.0).contains(&number));
            sum += number;
        }
        // Six standard deviations of the mean, which is 1 / sqrt(12 * 10,000) each.
        assert!((sum / 1e4 - 0.5).abs() < 0.0174, "{sum}");
    }
}
