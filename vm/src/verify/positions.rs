//! Sets of positions that give back the least one at or after another in constant time.

use smallvec::SmallVec;

/// A set of numbers below a bound: bits, above them a bit for each word that is not zero, and so
/// on up to a single word. Each operation looks at one or two words a level, of which there are
/// six for 2^32 positions.
#[derive(Debug)]
pub(super) struct Positions {
    words: SmallVec<[u64; 2]>,
    /// Where the words of each level start, the bits themselves first.
    levels: SmallVec<[usize; 6]>,
}

impl Positions {
    /// The empty set of positions below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        let mut levels = SmallVec::new();
        let mut total = 0;
        let mut count = bound;
        loop {
            count = count.div_ceil(64).max(1);
            levels.push(total);
            total += count;
            if count == 1 {
                break;
            }
        }
        Self {
            words: smallvec::smallvec![0; total],
            levels,
        }
    }

    /// Adds a position.
    pub(super) fn insert(&mut self, position: usize) {
        let mut index = position;
        for &start in &self.levels {
            let word = &mut self.words[start + index / 64];
            let was_empty = *word == 0;
            *word |= 1 << (index % 64);
            if !was_empty {
                break;
            }
            index /= 64;
        }
    }

    /// Removes and returns the least position that is not below `from`.
    pub(super) fn pop_from(&mut self, from: usize) -> Option<usize> {
        let mut index = from;
        for level in 0..self.levels.len() {
            let place = self.levels[level] + index / 64;
            let end = self.levels.get(level + 1).copied();
            if place >= end.unwrap_or(self.words.len()) {
                return None;
            }
            let above = self.words[place] & (!0 << (index % 64));
            if above != 0 {
                let mut found = index / 64 * 64 + above.trailing_zeros() as usize;
                for &start in self.levels[..level].iter().rev() {
                    let word = self.words[start + found];
                    found = found * 64 + word.trailing_zeros() as usize;
                }
                self.remove(found);
                return Some(found);
            }
            index = index / 64 + 1;
        }
        None
    }

    fn remove(&mut self, position: usize) {
        let mut index = position;
        for &start in &self.levels {
            let word = &mut self.words[start + index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                break;
            }
            index /= 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_behaves_as_an_ordered_set() {
        for bound in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let mut positions = Positions::new(bound);
            let mut expected = BTreeSet::new();
            let mut state = bound as u64;
            for _ in 0..5_000 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let number = (state >> 33) as usize % bound;
                if state >> 62 == 0 {
                    let found = positions.pop_from(number);
                    let least = expected.range(number..).next().copied();
                    assert_eq!(found, least, "from {number} below {bound}");
                    least.map(|least| expected.remove(&least));
                } else {
                    positions.insert(number);
                    expected.insert(number);
                }
            }
        }
    }
}
