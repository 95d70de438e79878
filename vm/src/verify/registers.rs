//! Sets of registers, and what a run of ops does to the set of those that are written.

use super::error::Register;

/// Registers of one class that an op can name.
pub(super) const MAX_REGISTERS: usize = 256;
/// Words of a set.
const WORDS: usize = 2 * MAX_REGISTERS / 64;

/// A set of registers of both classes: bit `n` is `i` register `n`, bit 256 + `n` is `r` register
/// `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registers([u64; WORDS]);

/// Registers of one class that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    first: usize,
    count: usize,
}

impl Run {
    /// `count` `i` registers from `first` on.
    pub(super) fn ints(first: usize, count: usize) -> Self {
        debug_assert!(first + count <= MAX_REGISTERS);
        Self { first, count }
    }

    /// `count` `r` registers from `first` on.
    pub(super) fn refs(first: usize, count: usize) -> Self {
        debug_assert!(first + count <= MAX_REGISTERS);
        Self {
            first: MAX_REGISTERS + first,
            count,
        }
    }

    /// The words of a set that the registers are in, each with their bits.
    fn words(self) -> impl Iterator<Item = (usize, u64)> {
        let end = self.first + self.count;
        let words = self.first / 64..end.div_ceil(64);
        words.filter_map(move |word| {
            let low = self.first.saturating_sub(word * 64);
            let high = (end - word * 64).min(64);
            let below = |bits: usize| (1_u64 << (bits % 64)).wrapping_sub(1);
            let upper = if high == 64 { !0 } else { below(high) };
            (low < high).then(|| (word, upper & !below(low)))
        })
    }
}

impl Registers {
    /// No register.
    pub(super) const NONE: Self = Self([0; WORDS]);
    /// Every register.
    pub(super) const ALL: Self = Self([!0; WORDS]);

    pub(super) fn insert(&mut self, run: Run) {
        run.words().for_each(|(word, bits)| self.0[word] |= bits);
    }

    pub(super) fn insert_all(&mut self, other: &Self) {
        let words = self.0.iter_mut().zip(other.0);
        words.for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Leaves no register that is not in `other`; whether it had any.
    pub(super) fn intersect(&mut self, other: &Self) -> bool {
        let mut removed = 0;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            removed |= *mine & !theirs;
            *mine &= theirs;
        }
        removed != 0
    }

    pub(super) fn contains_all(&self, other: &Self) -> bool {
        let words = self.0.iter().zip(other.0);
        words.fold(0, |missing, (mine, theirs)| missing | (theirs & !mine)) == 0
    }
}

/// What becomes of the set of written registers: those from two bases on are forgotten, then some
/// are written. Ops, and runs of ops, do nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    written: Registers,
    /// The first `i` and the first `r` register that are forgotten.
    bases: [u16; 2],
}

impl Transfer {
    /// What no op at all does.
    pub(super) const NOTHING: Self = Self {
        written: Registers::NONE,
        bases: [MAX_REGISTERS as u16; 2],
    };

    /// Forgets everything, and writes these.
    pub(super) fn constant(written: Registers) -> Self {
        Self {
            written,
            bases: [0; 2],
        }
    }

    /// Writes registers after all else.
    pub(super) fn write(&mut self, run: Run) {
        self.written.insert(run);
    }

    /// Forgets `i` registers from `ints` and `r` registers from `refs` on, after all else.
    pub(super) fn forget_from(&mut self, ints: usize, refs: usize) {
        for (class, base) in [ints, refs].into_iter().enumerate() {
            self.bases[class] = self.bases[class].min(base as u16);
            let run = Run {
                first: class * MAX_REGISTERS + base,
                count: MAX_REGISTERS - base,
            };
            run.words()
                .for_each(|(word, bits)| self.written.0[word] &= !bits);
        }
    }

    /// The registers that are written afterwards, if `before` are before.
    pub(super) fn apply(&self, before: &Registers) -> Registers {
        let mut after = self.written;
        for class in 0..2 {
            let run = Run {
                first: class * MAX_REGISTERS,
                count: self.bases[class] as usize,
            };
            run.words()
                .for_each(|(word, bits)| after.0[word] |= before.0[word] & bits);
        }
        after
    }

    /// Turns this into what holds after it and after `other`, which goes on from where this one
    /// is. It is exact if whatever is forgotten in between is also not written after `other`.
    pub(super) fn meet(&mut self, other: &Self) {
        self.written.intersect(&other.written);
        for (mine, theirs) in self.bases.iter_mut().zip(other.bases) {
            *mine = (*mine).min(theirs);
        }
    }

    /// Which of the registers `wanted` must be written before for all of them to be written
    /// afterwards; or the first that is not written whatever was before.
    pub(super) fn needs(&self, wanted: Run) -> Result<Registers, Register> {
        let mut needs = Registers::NONE;
        for (word, bits) in wanted.words() {
            let missing = bits & !self.written.0[word];
            let class = word * 64 / MAX_REGISTERS;
            let base = class * MAX_REGISTERS + self.bases[class] as usize;
            let kept = match base.saturating_sub(word * 64) {
                64.. => !0,
                bits => (1 << bits) - 1,
            };
            if missing & !kept != 0 {
                let index = (word * 64 + (missing & !kept).trailing_zeros() as usize) as u8;
                return Err(match class {
                    0 => Register::Int(index),
                    _ => Register::Ref(index),
                });
            }
            needs.0[word] = missing;
        }
        Ok(needs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers that a set holds, one by one.
    fn list(set: &Registers) -> Vec<usize> {
        (0..2 * MAX_REGISTERS)
            .filter(|bit| set.0[bit / 64] >> (bit % 64) & 1 == 1)
            .collect()
    }

    #[test]
    fn runs_are_the_registers_from_the_first_on() {
        for (first, count) in [
            (0, 0),
            (0, 1),
            (63, 1),
            (63, 2),
            (5, 251),
            (0, 256),
            (64, 64),
        ] {
            let mut set = Registers::NONE;
            set.insert(Run::ints(first, count));
            assert_eq!(list(&set), Vec::from_iter(first..first + count));
            let mut set = Registers::NONE;
            set.insert(Run::refs(first, count));
            assert_eq!(list(&set), Vec::from_iter(256 + first..256 + first + count));
        }
    }

    #[test]
    fn a_transfer_is_all_its_steps_at_once() {
        let mut state = 7_u64;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        for _ in 0..300 {
            let mut before = Registers::NONE;
            (0..next(9)).for_each(|_| before.insert(Run::ints(next(200), next(57))));
            (0..next(9)).for_each(|_| before.insert(Run::refs(next(200), next(57))));
            let mut transfer = Transfer::NOTHING;
            let mut expected = list(&before);
            for _ in 0..next(12) {
                if next(3) == 0 {
                    let (ints, refs) = (next(257), next(257));
                    transfer.forget_from(ints, refs);
                    expected.retain(|&bit| bit < ints || (256..256 + refs).contains(&bit));
                } else {
                    let bit = next(512);
                    expected.push(bit);
                    transfer.write(match bit {
                        0..256 => Run::ints(bit, 1),
                        _ => Run::refs(bit - 256, 1),
                    });
                }
            }
            let after = transfer.apply(&before);
            expected.sort();
            expected.dedup();
            assert_eq!(list(&after), expected);
            let wanted = Run::refs(next(100), next(156));
            let is_written = wanted
                .words()
                .all(|(word, bits)| bits & !after.0[word] == 0);
            let suffices = transfer
                .needs(wanted)
                .is_ok_and(|needs| before.contains_all(&needs));
            assert_eq!(suffices, is_written);
        }
    }
}
