//! Where the ops of a function start: offsets to indices in constant time.

/// The offsets at which ops start, as one bit for each byte of code.
#[derive(Clone, Debug, Default)]
pub(super) struct OpStarts {
    /// For each 64 bytes of code: which of them start an op, and how many ops start before.
    words: Vec<(u64, u32)>,
}

impl OpStarts {
    /// The set of these offsets, which rise and are less than `code_bytes`.
    pub(super) fn new(offsets: &[u32], code_bytes: usize) -> Self {
        let mut words = vec![(0, 0); code_bytes.div_ceil(64)];
        for &offset in offsets {
            words[offset as usize / 64].0 |= 1 << (offset % 64);
        }
        let mut count = 0;
        for (bits, before) in &mut words {
            *before = count;
            count += u64::count_ones(*bits);
        }
        Self { words }
    }

    /// The index of the op that starts at `offset`.
    pub(super) fn index_of(&self, offset: u32) -> Option<usize> {
        let &(bits, before) = self.words.get(offset as usize / 64)?;
        let bit = 1 << (offset % 64);
        (bits & bit != 0).then(|| before as usize + (bits & (bit - 1)).count_ones() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_offsets_of_ops_have_an_index() {
        let offsets = [0, 1, 63, 64, 130, 191];
        let starts = OpStarts::new(&offsets, 192);
        for offset in 0..200 {
            let expected = offsets.iter().position(|&one| one == offset);
            assert_eq!(starts.index_of(offset), expected, "{offset}");
        }
        assert_eq!(OpStarts::new(&[], 0).index_of(0), None);
    }
}
