//! Adding up the profiles of several runs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::{MemoryCall, MemoryFile, MemorySite, MemorySource, Sites};
use crate::SourceId;
use crate::memory::{CallFigures, HeapRow};
use crate::sampling::{CallId, CallTree};

impl MemoryFile {
    /// Adds the figures of another run of the same program: what is alive at the end or at the peak
    /// is then the sum over the runs. The name and the seed stay those of the first.
    ///
    /// # Errors
    /// The files do not fit together. Nothing has changed then.
    pub fn absorb(&mut self, other: &MemoryFile) -> Result<(), AbsorbError> {
        let (mine, its) = (&self.header, &other.header);
        if mine.magic != its.magic || self.sources != other.sources {
            return Err(AbsorbError::Program(mine.magic, its.magic));
        }
        self.check(other)?;
        let same = (0..self.sources.len()).map(|index| SourceId(index as u32));
        self.add(other, &same.collect::<Vec<_>>());
        Ok(())
    }

    /// Adds the figures of another run, perhaps of another program, by names: sources are the same
    /// if their functions, files and lines are, copies in their order, and call stacks if they lead
    /// through the same lines of the same sources. The sum of two programs has the magic 0.
    ///
    /// # Errors
    /// The figures do not fit together. Nothing has changed then.
    pub fn absorb_by_name(&mut self, other: &MemoryFile) -> Result<(), AbsorbError> {
        self.check(other)?;
        if self.header.magic != other.header.magic || self.sources != other.sources {
            self.header.magic = 0;
        }
        let ids = self.absorb_sources(other);
        self.add(other, &ids);
        Ok(())
    }

    /// Finds or makes the sources of another file, and says which they are here. Those without
    /// figures are left out and become unknown, for a sum of many programs would drown in them.
    fn absorb_sources(&mut self, other: &MemoryFile) -> Vec<SourceId> {
        let mut is_used = vec![false; other.sources.len()];
        for site in &other.sites {
            if let Some(is_used) = is_used.get_mut(site.source.index()) {
                *is_used = true;
            }
        }
        for (is_used, row) in is_used
            .iter_mut()
            .zip(other.heap.iter().flat_map(|h| &h.sources))
        {
            *is_used |= *row != HeapRow::default();
        }
        let mut known: HashMap<(MemorySource, u32), SourceId> =
            copies(&self.sources).zip((0..).map(SourceId)).collect();
        let mut ids = Vec::with_capacity(other.sources.len());
        for (copy, is_used) in copies(&other.sources).zip(is_used) {
            ids.push(match known.get(&copy) {
                Some(&id) => id,
                None if is_used => {
                    let id = SourceId(self.sources.len() as u32);
                    self.sources.push(copy.0.clone());
                    known.insert(copy, id);
                    id
                }
                None => SourceId::UNKNOWN,
            });
        }
        ids
    }

    /// Adds the figures of another file whose sources are these here.
    fn add(&mut self, other: &MemoryFile, sources: &[SourceId]) {
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
        let ids = self.absorb_calls(other, sources);
        let mut rows: BTreeMap<CallId, CallFigures> = self.rows.drain(..).collect();
        for (call, figures) in &other.rows {
            let id = ids.get(call.index()).copied().unwrap_or(CallTree::ROOT);
            rows.entry(id).or_default().add_all(figures);
        }
        self.rows = rows.into_iter().collect();
        if let (Some(heap), Some(other)) = (&mut self.heap, &other.heap) {
            heap.gc_work_bytes = heap.gc_work_bytes.saturating_add(other.gc_work_bytes);
            heap.sources.resize(self.sources.len(), HeapRow::default());
            for (id, other) in sources.iter().zip(&other.sources) {
                if let Some(row) = heap.sources.get_mut(id.index()) {
                    row.add(other);
                }
            }
        }
    }

    fn check(&self, other: &MemoryFile) -> Result<(), AbsorbError> {
        let (mine, its) = (&self.header, &other.header);
        if mine.rate != its.rate {
            return Err(AbsorbError::Rate(mine.rate, its.rate));
        }
        if self.heap.is_some() != other.heap.is_some() {
            return Err(AbsorbError::Heap);
        }
        Ok(())
    }

    /// Makes the call stacks of another file, and says which they are here.
    fn absorb_calls(&mut self, other: &MemoryFile, sources: &[SourceId]) -> Vec<CallId> {
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
            let source = sources.get(site.source.index()).copied();
            let call = MemoryCall {
                parent: parent.unwrap_or(CallTree::ROOT),
                site: sites.intern(MemorySite {
                    source: source.unwrap_or(SourceId::UNKNOWN),
                    ..site
                }),
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

/// The sources, each with the number of those before it that are the same: a function may be in a
/// program more than once.
fn copies(sources: &[MemorySource]) -> impl Iterator<Item = (MemorySource, u32)> {
    let mut counts: HashMap<&MemorySource, u32> = HashMap::new();
    sources.iter().map(move |source| {
        let count = counts.entry(source).or_default();
        *count += 1;
        (source.clone(), *count - 1)
    })
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
