//! What a run is charged for: ops, entries and bytes, by source.

use profiler::SourceId;

/// What one source was charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Bytes allocated while the source was current.
    pub bytes: u64,
    /// Entries of the source.
    pub calls: u64,
    /// Bytes allocated while the source was anywhere on the control stack, once each.
    pub stack_bytes: u64,
    /// Entries of any source while this one was anywhere on the control stack, itself included.
    pub stack_calls: u64,
}

/// The charges of a run, and which sources are on the whole control stack.
#[derive(Debug)]
pub(super) struct Ledger {
    /// By source.
    pub counts: Vec<Counts>,
    /// How often each source is open, in all frames together.
    open: Vec<u32>,
    /// All bytes allocated.
    pub allocated: u64,
}

impl Ledger {
    /// A ledger without charges, with `<main>` open: the run as a whole belongs to it.
    pub(super) fn new(sources: usize) -> Self {
        let mut open = vec![0; sources];
        open[SourceId::MAIN.index()] = 1;
        Self {
            counts: vec![Counts::default(); sources],
            open,
            allocated: 0,
        }
    }

    /// Opens a source and counts its entry, for itself and for all that are open.
    pub(super) fn enter(&mut self, source: SourceId) {
        self.open[source.index()] += 1;
        self.counts[source.index()].calls += 1;
        for (counts, &open) in self.counts.iter_mut().zip(&self.open) {
            counts.stack_calls += u64::from(open > 0);
        }
    }

    /// Closes a source.
    pub(super) fn leave(&mut self, source: SourceId) {
        self.open[source.index()] -= 1;
    }

    /// A function begins, or has closed its last source: `<unknown>` stands for it on the stack.
    pub(super) fn begin(&mut self) {
        self.open[SourceId::UNKNOWN.index()] += 1;
    }

    /// A function in which no source is open ends, or opens its first one.
    pub(super) fn end(&mut self) {
        self.leave(SourceId::UNKNOWN);
    }

    /// Charges bytes to the current source, and to all that are open.
    pub(super) fn charge(&mut self, current: SourceId, bytes: u64) {
        self.allocated += bytes;
        self.counts[current.index()].bytes += bytes;
        for (counts, &open) in self.counts.iter_mut().zip(&self.open) {
            if open > 0 {
                counts.stack_bytes += bytes;
            }
        }
    }
}
