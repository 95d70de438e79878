//! Adding up the profiles of several runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::{MemoryCall, MemoryFile, Sites};
use crate::memory::CallFigures;
use crate::sampling::{CallId, CallTree};

impl MemoryFile {
    /// Adds the figures of another run of the same program: what is alive at the end or at the peak
    /// is then the sum over the runs. The name and the seed stay those of the first.
    ///
    /// # Errors
    /// The files do not fit together. Nothing has changed then.
    pub fn absorb(&mut self, other: &MemoryFile) -> Result<(), AbsorbError> {
        self.check(other)?;
        let header = &mut self.header;
        for (sum, number) in [
            (&mut header.clock_words, other.header.clock_words),
            (&mut header.allocated_bytes, other.header.allocated_bytes),
            (&mut header.n_minor, other.header.n_minor),
            (&mut header.n_major, other.header.n_major),
            (&mut header.n_cut, other.header.n_cut),
        ] {
            *sum = sum.saturating_add(number);
        }
        let ids = self.absorb_calls(other);
        let mut rows: BTreeMap<CallId, CallFigures> = self.rows.drain(..).collect();
        for (call, figures) in &other.rows {
            let id = ids.get(call.index()).copied().unwrap_or(CallTree::ROOT);
            rows.entry(id).or_default().add_all(figures);
        }
        self.rows = rows.into_iter().collect();
        if let (Some(heap), Some(other)) = (&mut self.heap, &other.heap) {
            heap.gc_work_bytes = heap.gc_work_bytes.saturating_add(other.gc_work_bytes);
            for (row, other) in heap.sources.iter_mut().zip(&other.sources) {
                row.add(other);
            }
        }
        Ok(())
    }

    fn check(&self, other: &MemoryFile) -> Result<(), AbsorbError> {
        let (mine, its) = (&self.header, &other.header);
        if mine.magic != its.magic || self.sources != other.sources {
            return Err(AbsorbError::Program(mine.magic, its.magic));
        }
        if mine.rate != its.rate {
            return Err(AbsorbError::Rate(mine.rate, its.rate));
        }
        if self.heap.is_some() != other.heap.is_some() {
            return Err(AbsorbError::Heap);
        }
        Ok(())
    }

    /// Makes the call stacks of another file, and says which they are here.
    fn absorb_calls(&mut self, other: &MemoryFile) -> Vec<CallId> {
        let index = (0..)
            .zip(&self.sites)
            .map(|(index, &site)| (site, index))
            .collect();
        let mut sites = Sites {
            sites: std::mem::take(&mut self.sites),
            index,
        };
        let mut known: HashMap<MemoryCall, CallId> = (1..)
            .zip(&self.calls)
            .map(|(id, &call)| (call, CallId(id)))
            .collect();
        let mut ids = vec![CallTree::ROOT];
        for call in &other.calls {
            let parent = ids.get(call.parent.index()).copied();
            let Some(&site) = other.sites.get(call.site as usize) else {
                ids.push(CallTree::ROOT);
                continue;
            };
            let call = MemoryCall {
                parent: parent.unwrap_or(CallTree::ROOT),
                site: sites.intern(site),
            };
            let id = *known.entry(call).or_insert_with(|| {
                self.calls.push(call);
                CallId(self.calls.len() as u32)
            });
            ids.push(id);
        }
        self.sites = sites.sites;
        ids
    }
}

/// Why the profiles of two runs cannot be added up.
#[derive(Clone, Debug, PartialEq)]
pub enum AbsorbError {
    /// They are of two programs, or of two builds: their magics, which may be equal by chance.
    Program(u32, u32),
    /// They were sampled at different rates.
    Rate(f64, f64),
    /// One has exact figures and the other does not.
    Heap,
}

impl fmt::Display for AbsorbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AbsorbError::Program(mine, its) => write!(
                f,
                "the profiles are of two programs or builds (magics 0x{mine:08x} and 0x{its:08x}): \
                 report them one by one"
            ),
            AbsorbError::Rate(mine, its) => write!(
                f,
                "the profiles were sampled at the rates {mine:?} and {its:?}: report them one by \
                 one"
            ),
            AbsorbError::Heap => write!(
                f,
                "only one of the profiles has exact figures: report them one by one"
            ),
        }
    }
}

impl std::error::Error for AbsorbError {}
