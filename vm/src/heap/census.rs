//! A census: what survives collections, counted by the source that allocated it.
//!
//! Every header holds the index of the source that allocated the object, and how many major
//! collections the object has lived through. Collections count as they move objects, so a census
//! costs nothing between them. After a major collection the counts of what lives are exact;
//! between major collections they also hold what died in the old space since.

use super::Phase;
use super::layout::{AGE_SHIFT, HeaderSource, MAX_AGE};

/// What is counted of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CensusRow {
    /// Bytes alive after the last major collection, and promoted since.
    pub(crate) live_bytes: u64,
    /// Objects likewise.
    pub(crate) live_objects: u64,
    /// Bytes alive when most bytes were alive after a major collection.
    pub(crate) peak_bytes: u64,
    /// Bytes that left the nursery alive.
    pub(crate) promoted_bytes: u64,
    /// Bytes that lived through at least so many major collections. Entry 0 is not in use: that is
    /// all that was allocated.
    pub(crate) survived_bytes: [u64; MAX_AGE as usize + 1],
    /// Bytes that collections moved of the source's objects.
    pub(crate) moved_bytes: u64,
    /// Bytes that collections moved which the source's allocations set off.
    pub(crate) triggered_bytes: u64,
}

/// Counts of survivors by source.
#[derive(Debug)]
pub(crate) struct Census {
    /// One row for each source that a header can name; the last stands for all others.
    rows: Vec<CensusRow>,
    phase: Phase,
    peak_bytes: u64,
    is_looking: bool,
}

/// What a collection tells of each survivor. `()` wants to know nothing, at no cost.
pub(super) trait Tally {
    /// Whether anything is counted.
    const COUNTS: bool;

    /// A collection begins.
    fn starts(&mut self, phase: Phase);

    /// An object survives; gives the header that it goes on with.
    fn survivor(&mut self, header: u64, survivor: Survivor) -> u64;
}

/// A survivor.
#[derive(Clone, Copy)]
pub(super) struct Survivor {
    pub(super) words: usize,
    pub(super) was_young: bool,
    pub(super) is_moved: bool,
}

impl Tally for () {
    const COUNTS: bool = false;

    #[inline(always)]
    fn starts(&mut self, _: Phase) {}

    #[inline(always)]
    fn survivor(&mut self, header: u64, _: Survivor) -> u64 {
        header
    }
}

impl Tally for Census {
    const COUNTS: bool = true;

    fn starts(&mut self, phase: Phase) {
        self.phase = phase;
        if phase == Phase::Major {
            for row in &mut self.rows {
                (row.live_bytes, row.live_objects) = (0, 0);
            }
        }
    }

    #[inline]
    fn survivor(&mut self, header: u64, survivor: Survivor) -> u64 {
        let bytes = survivor.words as u64 * 8;
        let last = self.rows.len() - 1;
        let row = &mut self.rows[HeaderSource::of(header).index().min(last)];
        row.live_bytes += bytes;
        row.live_objects += 1;
        if self.is_looking {
            return header;
        }
        if survivor.is_moved {
            row.moved_bytes += bytes;
        }
        if survivor.was_young {
            row.promoted_bytes += bytes;
        }
        if self.phase == Phase::Minor {
            return header;
        }
        let age = header >> AGE_SHIFT & MAX_AGE;
        if age == MAX_AGE {
            return header;
        }
        row.survived_bytes[age as usize + 1] += bytes;
        header + (1 << AGE_SHIFT)
    }
}

impl Census {
    /// An empty census of a program with so many sources.
    pub(crate) fn new(n_sources: usize) -> Self {
        let n_rows = n_sources.min(HeaderSource::OTHER as usize) + 1;
        Self {
            rows: vec![CensusRow::default(); n_rows],
            phase: Phase::Minor,
            peak_bytes: 0,
            is_looking: false,
        }
    }

    /// The row of a source.
    pub(crate) fn row(&self, source_index: usize) -> &CensusRow {
        &self.rows[source_index.min(self.rows.len() - 1)]
    }

    /// How many rows there are; the last stands for all sources without one.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Blames a source for a collection that moved so many bytes.
    pub(crate) fn blame(&mut self, source_index: usize, moved_bytes: u64) {
        let last = self.rows.len() - 1;
        self.rows[source_index.min(last)].triggered_bytes += moved_bytes;
    }

    /// Says whether the next collections only look what is alive, and are no part of the program's
    /// own work.
    pub(crate) fn set_looking(&mut self, is_looking: bool) {
        self.is_looking = is_looking;
    }

    /// Keeps what is alive as the peak, if it is, at the end of a major collection.
    pub(super) fn major_is_over(&mut self) {
        let live_bytes = self.rows.iter().map(|row| row.live_bytes).sum();
        if live_bytes > self.peak_bytes {
            self.peak_bytes = live_bytes;
            for row in &mut self.rows {
                row.peak_bytes = row.live_bytes;
            }
        }
    }
}
