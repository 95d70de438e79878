//! The memory profile that needs no tracker: sampled figures by call stack, exact ones by source,
//! or both, for `vm --profile mem,heap`.
//!
//! What is alive is known only at a major collection. So there is one at the end of the run, with
//! the registers of the functions that are still open, or, when the entry function has returned,
//! with those that it left. Such a collection, and those for snapshots, count as no work of the
//! program.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use profiler::SourceId;
use profiler::memory::{HeapProfile, HeapRow, MemoryFile, MemoryHeader, MemoryProfile, MemorySite};

use super::{AllocInfo, GcEvent, Memprof, Tracker};
use crate::code::{Program, Site};
use crate::heap::Heap;
use crate::units::Units;

/// What the tracker has added up, which the machine shows.
pub(crate) struct Figures {
    sums: RefCell<MemoryProfile>,
    /// Whether the collection that is going on only looks what is alive.
    is_looking: Cell<bool>,
}

impl Figures {
    pub(crate) fn new(rate: f64, seed: u64) -> Self {
        Self {
            sums: RefCell::new(MemoryProfile::new(rate, seed)),
            is_looking: Cell::new(false),
        }
    }

    /// Says whether the collection that comes only looks what is alive.
    pub(crate) fn set_looking(&self, is_looking: bool) {
        self.is_looking.set(is_looking);
    }
}

/// A tracker that adds up what it hears.
pub(crate) struct Adder(pub(crate) Rc<Figures>);

// SAFETY: the figures are shared by the tracker and the context of one machine, which goes from
// thread to thread as a whole, and nobody gets the tracker back.
unsafe impl Send for Adder {}

impl Adder {
    fn alloc(&self, info: &AllocInfo<'_>) -> Option<u64> {
        let mut figures = self.0.sums.borrow_mut();
        figures.allocated(info.stack.call(), info.clock_words, info.n_samples);
        Some(0)
    }
}

impl Tracker for Adder {
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.alloc(info)
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.alloc(info)
    }

    fn promote(&mut self, _: u64, event: &GcEvent) -> Option<u64> {
        // What such a collection moves stays in the nursery as far as the program goes.
        if !self.0.is_looking.get() {
            let mut figures = self.0.sums.borrow_mut();
            figures.promoted(event.call, event.clock_words, event.n_samples);
        }
        Some(0)
    }

    fn dealloc_minor(&mut self, _: u64, event: &GcEvent) {
        let mut figures = self.0.sums.borrow_mut();
        figures.died_young(event.call, event.clock_words, event.n_samples);
    }

    fn dealloc_major(&mut self, _: u64, event: &GcEvent) {
        let mut figures = self.0.sums.borrow_mut();
        figures.died_old(event.call, event.clock_words, event.n_samples);
    }

    fn collected(&mut self, is_major: bool) {
        // Only then is what is alive known, rather than what has not been found dead.
        if is_major {
            self.0.sums.borrow_mut().collected();
        }
    }
}

/// What a memory profile is made of.
pub(crate) struct MemoryParts<'a> {
    pub(crate) program: &'a Program,
    pub(crate) heap: &'a Heap,
    pub(crate) units: &'a Units,
    pub(crate) memprof: &'a Memprof,
    pub(crate) figures: Option<&'a Figures>,
}

impl MemoryParts<'_> {
    /// The memory profile as it is now.
    pub(crate) fn file(&self, program_name: &str) -> Option<MemoryFile> {
        if self.figures.is_none() && self.heap.census.is_none() {
            return None;
        }
        let program = self.program;
        let map = program.module.source_map();
        let stats = self.heap.stats();
        let clock_words = self.memprof.clock(self.heap);
        let header = MemoryHeader {
            program: program_name.to_owned(),
            magic: map.magic,
            clock_words,
            allocated_bytes: match self.figures {
                Some(_) => clock_words * 8,
                None => stats.allocated_bytes,
            },
            n_minor: stats.minor_collections,
            n_major: stats.major_collections,
            ..MemoryHeader::default()
        };
        let mut file = MemoryFile::new(header, &map);
        if let Some(figures) = &self.figures {
            let site = |site: u32| MemorySite {
                source: program
                    .pc_of_site(Site(site))
                    .map_or(SourceId::UNKNOWN, |pc| program.source_at(pc)),
                line: program.line_of_site(Site(site)),
            };
            file = file.with_samples(&figures.sums.borrow(), &self.memprof.calls, site);
        }
        if let Some(heap) = self.heap_profile(map.sources.len()) {
            file = file.with_heap(heap);
        }
        Some(file)
    }

    fn heap_profile(&self, n_sources: usize) -> Option<HeapProfile> {
        let census = self.heap.census.as_ref()?;
        let mut allocated_bytes = self.units.allocated_bytes(n_sources);
        // What the collector copies is its work, not the program's allocation.
        allocated_bytes[SourceId::GC.index()] = 0;
        let row = |index: usize| {
            let row = census.row(index);
            let lived = &row.survived_bytes;
            let mut survived = [0; 8];
            let at_least = |age: usize| match age {
                0 => allocated_bytes[index],
                _ => lived.get(age).copied().unwrap_or(0),
            };
            for (age, bytes) in survived.iter_mut().enumerate() {
                *bytes = at_least(age).saturating_sub(at_least(age + 1));
            }
            HeapRow {
                allocated_bytes: allocated_bytes[index],
                live_bytes: row.live_bytes,
                live_objects: row.live_objects,
                peak_bytes: row.peak_bytes,
                promoted_bytes: row.promoted_bytes,
                survived,
                gc_trigger_bytes: row.triggered_bytes,
                gc_copy_bytes: row.moved_bytes,
            }
        };
        // Sources beyond those that headers can tell apart share the census's last row, which is
        // the unknown source's then.
        let n_rows = n_sources.min(census.len() - 1);
        let mut heap = HeapProfile::new(n_sources);
        for index in 0..n_rows {
            heap.sources[index] = row(index);
        }
        let rest = census.row(census.len() - 1);
        let unknown = &mut heap.sources[SourceId::UNKNOWN.index()];
        unknown.live_bytes += rest.live_bytes;
        unknown.live_objects += rest.live_objects;
        unknown.peak_bytes += rest.peak_bytes;
        unknown.promoted_bytes += rest.promoted_bytes;
        unknown.gc_trigger_bytes += rest.triggered_bytes;
        unknown.gc_copy_bytes += rest.moved_bytes;
        heap.gc_work_bytes = self.heap.moved_bytes();
        Some(heap)
    }
}
