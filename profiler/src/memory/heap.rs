//! Exact figures of the heap by source.

use crate::SourceId;

/// The last class of [`HeapRow::survived`]: this many major collections, or more.
pub const MAX_SURVIVED: usize = 7;

/// An exact profile of the heap, which the VM fills in at the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapProfile {
    /// The figures of each source, by [`SourceId`].
    pub sources: Vec<HeapRow>,
    /// The work of all collections, in bytes copied or marked. Both columns of GC work in the rows
    /// add up to it.
    pub gc_work_bytes: u64,
}

/// The exact figures of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapRow {
    /// All that it allocated.
    pub allocated_bytes: u64,
    /// What of it is alive at the end.
    pub live_bytes: u64,
    /// How many objects these are.
    pub live_objects: u64,
    /// What of it was alive at the collection where most was, of all sources together.
    pub peak_bytes: u64,
    /// What of it survived the nursery.
    pub promoted_bytes: u64,
    /// All of it by the number of major collections that it lived through, until it died or the
    /// program ended; the last class is that of [`MAX_SURVIVED`] or more.
    pub survived: [u64; MAX_SURVIVED + 1],
    /// The GC work that it triggered: a collection's work goes to the source whose allocation found
    /// the nursery full, or which asked for the collection.
    pub gc_trigger_bytes: u64,
    /// The GC work that was spent on its objects.
    pub gc_copy_bytes: u64,
}

impl HeapProfile {
    /// An empty profile of a program with `n_sources` split sources.
    pub fn new(n_sources: usize) -> HeapProfile {
        HeapProfile {
            sources: vec![HeapRow::default(); n_sources],
            gc_work_bytes: 0,
        }
    }

    /// The row of a source; one of zeros if there is none.
    pub fn row(&self, source: SourceId) -> HeapRow {
        self.sources
            .get(source.index())
            .copied()
            .unwrap_or_default()
    }

    /// The sums of all columns. Sums that do not fit stop at the greatest number that does.
    pub fn totals(&self) -> HeapRow {
        let mut totals = HeapRow::default();
        for row in &self.sources {
            totals.add(row);
        }
        totals
    }

    /// Whether both columns of GC work add up to the work of all collections.
    pub fn is_balanced(&self) -> bool {
        let totals = self.totals();
        [totals.gc_trigger_bytes, totals.gc_copy_bytes] == [self.gc_work_bytes; 2]
    }
}

impl HeapRow {
    /// Adds the figures of another row.
    pub fn add(&mut self, other: &HeapRow) {
        let sums = self.numbers_mut();
        for (sum, number) in sums.into_iter().zip(other.numbers()) {
            *sum = sum.saturating_add(number);
        }
    }

    /// All figures in the order of the file.
    pub(super) fn numbers(&self) -> [u64; HeapRow::N_NUMBERS] {
        let mut copy = *self;
        copy.numbers_mut().map(|number| *number)
    }

    /// All figures in the order of the file, to set them.
    pub(super) fn numbers_mut(&mut self) -> [&mut u64; HeapRow::N_NUMBERS] {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = &mut self.survived;
        [
            &mut self.allocated_bytes,
            &mut self.live_bytes,
            &mut self.live_objects,
            &mut self.peak_bytes,
            &mut self.promoted_bytes,
            &mut self.gc_trigger_bytes,
            &mut self.gc_copy_bytes,
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7,
        ]
    }

    /// How many figures a row has.
    pub(super) const N_NUMBERS: usize = 7 + MAX_SURVIVED + 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_the_sums_and_blame_must_balance() {
        let mut profile = HeapProfile::new(2);
        for (index, row) in profile.sources.iter_mut().enumerate() {
            for (column, number) in row.numbers_mut().into_iter().enumerate() {
                *number = (100 * index + column) as u64;
            }
        }
        let totals = profile.totals().numbers();
        assert_eq!(
            totals,
            std::array::from_fn(|column| (100 + 2 * column) as u64)
        );
        assert!(!profile.is_balanced());
        profile.sources[0].gc_trigger_bytes += 2;
        profile.gc_work_bytes = 112;
        assert!(profile.is_balanced());
        profile.sources[1].live_bytes = u64::MAX;
        assert_eq!(profile.totals().live_bytes, u64::MAX);
        assert_eq!(profile.row(SourceId(9)), HeapRow::default());
        assert_eq!(profile.row(SourceId(1)), profile.sources[1]);
    }
}
