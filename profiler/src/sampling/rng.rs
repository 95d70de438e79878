//! Random numbers: xoshiro256++ 1.0, seeded by SplitMix64, both by Blackman and Vigna and in the
//! public domain. They are written out here because sampled words must never change with a
//! dependency's version.

/// xoshiro256++: fast, with a period of 2^256 - 1, and no statistical test is known that it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xoshiro256 {
    state: [u64; 4],
}

impl Xoshiro256 {
    /// The generator that SplitMix64 seeds, as its authors advise: any seed will do, zero too.
    pub fn new(seed: u64) -> Xoshiro256 {
        let mut seeds = SplitMix64(seed);
        Xoshiro256 {
            state: std::array::from_fn(|_| seeds.next_u64()),
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// A uniform number in `(0, 1]`, one of the 2^53 multiples of 2^-53. Zero is left out because
    /// its logarithm is wanted.
    #[inline]
    pub fn next_unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.next_u64() >> 11) + 1) as f64 * STEP
    }
}

/// SplitMix64: a counter and a mixing function. Equal states cannot be far apart in it, so it seeds
/// other generators well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(
    /// The state, which is also the seed.
    pub u64,
);

impl SplitMix64 {
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the authors' C code prints for the state 1, 2, 3, 4.
    const XOSHIRO256PP: [u64; 10] = [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
        9_973_669_472_204_895_162,
        14_011_001_112_246_962_877,
        12_406_186_145_184_390_807,
        15_849_039_046_786_891_736,
        10_450_023_813_501_588_000,
    ];

    /// What the authors' C code prints for this seed.
    const SPLIT_MIX: (u64, [u64; 5]) = (
        1_477_776_061_723_855_037,
        [
            1_985_237_415_132_408_290,
            2_979_275_885_539_914_483,
            13_511_426_838_097_143_398,
            8_488_337_342_461_049_707,
            15_141_737_807_933_549_159,
        ],
    );

    #[test]
    fn the_published_vectors() {
        let state = [1, 2, 3, 4];
        let mut random = Xoshiro256 { state };
        assert_eq!(XOSHIRO256PP.map(|_| random.next_u64()), XOSHIRO256PP);
        let (seed, expected) = SPLIT_MIX;
        let mut random = SplitMix64(seed);
        assert_eq!(expected.map(|_| random.next_u64()), expected);
        let mut random = SplitMix64(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_seed_fills_the_state_in_order() {
        let mut seeds = SplitMix64(7);
        let state = [(); 4].map(|()| seeds.next_u64());
        assert_eq!(Xoshiro256::new(7).state, state);
        assert_eq!(SplitMix64(0).next_u64(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn a_unit_is_above_zero_and_at_most_one() {
        // The output is the sum of the first and the last word, turned, and the first once more.
        let unit = |output: u64| {
            let state = [0, 0, 0, output.rotate_right(23)];
            Xoshiro256 { state }.next_unit()
        };
        assert_eq!(unit(0), 2_f64.powi(-53));
        assert_eq!(unit((1 << 11) - 1), 2_f64.powi(-53));
        assert_eq!(unit(1 << 11), 2_f64.powi(-52));
        assert_eq!(unit(u64::MAX), 1.0);
    }
}
