//! The file of a memory profile, with all that a report needs.
//!
//! ```text
//! file    = "TALLY MEM 1" NL header sources sites calls rows heap "end" NL
//! header  = "program" SPACE text NL
//!           "magic" SPACE "0x" 8 hexadecimal digits NL
//!           "rate" SPACE real NL
//!           "seed" SPACE n NL
//!           "clock" SPACE n NL                       (words)
//!           "allocated" SPACE n NL                   (bytes, exact)
//!           "collections" SPACE n SPACE n NL         (minor, major)
//!           "cut" SPACE n NL                         (stacks)
//! sources = "sources" SPACE n NL, then n lines: text TAB text TAB n    (function, file, line)
//! sites   = "sites" SPACE n NL, then n lines: source SPACE n           (source, line)
//! calls   = "calls" SPACE n NL, then n lines: parent SPACE site
//! rows    = "rows" SPACE n NL, then n lines: call 5 * (TAB figures)
//! figures = "-"
//!         | blocks SPACE samples SPACE sums [SPACE rare]
//! sums    = bytes SPACE objects SPACE bytes-variance SPACE objects-variance
//! rare    = blocks SPACE sums | "="
//! heap    = "heap" SPACE "none" NL
//!         | "heap" SPACE gc-work NL, then a line for each source: 15 * n, with spaces between
//! ```
//!
//! Numbers are unsigned decimals below 2^64. A real is a decimal number, with an exponent if it has
//! one (`2.5e-7`). In a text, a backslash, a tab, a newline and a carriage return are written `\\`,
//! `\t`, `\n` and `\r`. Sources and sites count from 0, calls from 1, because call 0 is the empty
//! stack; the parent of a call stands before it. Rows are in the order of their calls; their
//! figures are those of what is live, allocated, live at the peak, promoted and short-lived. `rare`
//! is the part of the sums that rests on blocks seen with a probability below one half: nothing if
//! it is not there, all if it is `=`.
//!
//! The columns of an exact row are allocated, live, live objects, peak, promoted, GC work
//! triggered, GC work spent, and the eight classes of bytes by the major collections that they
//! lived through.

mod absorb;
mod read;
mod write;

use std::collections::{BTreeMap, HashMap};

use super::{CallFigures, HeapProfile, MemoryProfile};
use crate::sampling::{CallId, CallTree};
use crate::{FIXED_NAMES, SourceId, SourceMap};

pub use absorb::AbsorbError;

/// The first line of every file.
const HEADER: &str = "TALLY MEM 1";

/// How the first line begins in every version.
pub(crate) const MEMORY_FILE_START: &str = "TALLY MEM ";

/// The contents of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryFile {
    /// What is known of the whole run.
    pub header: MemoryHeader,
    /// The sources of the program, by [`SourceId`].
    pub sources: Vec<MemorySource>,
    /// The places of calls and allocations.
    pub sites: Vec<MemorySite>,
    /// The call stacks, from [`CallId`] 1 on.
    pub calls: Vec<MemoryCall>,
    /// The sampled figures, by ascending call.
    pub rows: Vec<(CallId, CallFigures)>,
    /// The exact figures, if they were asked for.
    pub heap: Option<HeapProfile>,
}

/// What is known of the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryHeader {
    /// The program's name.
    pub program: String,
    /// The magic of the program, as in its [`SourceMap`].
    pub magic: u32,
    /// The sampling rate; 0 if nothing was sampled.
    pub rate: f64,
    /// The seed of the sampler.
    pub seed: u64,
    /// The word clock at the end: how many words were allocated, headers included, since the start
    /// of the program.
    pub clock_words: u64,
    /// How many bytes were allocated while words were sampled, counted exactly.
    pub allocated_bytes: u64,
    /// How many minor collections there were.
    pub n_minor: u64,
    /// How many major collections there were.
    pub n_major: u64,
    /// How often a call stack was cut because there were too many.
    pub n_cut: u64,
}

/// A source: where a function begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemorySource {
    /// The name of the function.
    pub function: String,
    /// Its file; empty if it is not known.
    pub file: String,
    /// Its line, from 1; 0 if it is not known.
    pub line: u32,
}

/// A place in a function, where it calls or allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemorySite {
    /// The source of the function.
    pub source: SourceId,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
}

/// A call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryCall {
    /// The stack from which the innermost site was called.
    pub parent: CallId,
    /// The index of the innermost site.
    pub site: u32,
}

impl MemoryFile {
    /// A file with no figures of a program with these sources.
    pub fn new(header: MemoryHeader, map: &SourceMap) -> MemoryFile {
        // A map with no sources at all has an unknown one here, for every site needs one.
        let ids = (0..map.sources.len().max(1)).map(|index| SourceId(index as u32));
        MemoryFile {
            header,
            sources: ids.map(|id| MemorySource::of_map(map, id)).collect(),
            sites: Vec::new(),
            calls: Vec::new(),
            rows: Vec::new(),
            heap: None,
        }
    }

    /// The same file with sampled figures, and the rate and the seed that they were sampled with.
    /// `site` says what the numbers of sites in the tree mean; a source that the program does not
    /// have becomes [`SourceId::UNKNOWN`]. Only the stacks that have figures, and those around
    /// them, are kept.
    pub fn with_samples(
        mut self,
        profile: &MemoryProfile,
        tree: &CallTree,
        site: impl Fn(u32) -> MemorySite,
    ) -> MemoryFile {
        self.header.rate = profile.rate();
        self.header.seed = profile.seed();
        self.header.n_cut = tree.n_cut();
        let rows: Vec<(CallId, CallFigures)> = profile.rows().collect();
        let is_kept = kept(tree, rows.iter().map(|&(call, _)| call));
        let mut sites = Sites::default();
        let mut last = None;
        // By the id in the tree; calls of another tree become the empty stack.
        let mut ids = vec![CallTree::ROOT; tree.len()];
        self.calls.clear();
        for index in (1..tree.len()).filter(|&index| is_kept[index]) {
            let id = CallId(index as u32);
            let number = tree.site(id);
            // In a deep recursion the same sites come again and again.
            let site = match last {
                Some((last, site)) if last == number => site,
                _ => {
                    let mut site = site(number);
                    if site.source.index() >= self.sources.len() {
                        site.source = SourceId::UNKNOWN;
                    }
                    sites.intern(site)
                }
            };
            last = Some((number, site));
            self.calls.push(MemoryCall {
                parent: ids[tree.parent(id).index()],
                site,
            });
            ids[index] = CallId(self.calls.len() as u32);
        }
        self.sites = sites.sites;
        // The order of the ids is kept; only calls of another tree all become the empty stack.
        let mut merged: BTreeMap<CallId, CallFigures> = BTreeMap::new();
        for (call, figures) in rows {
            let call = ids.get(call.index()).copied().unwrap_or(CallTree::ROOT);
            merged.entry(call).or_default().add_all(&figures);
        }
        merged.retain(|_, figures| *figures != CallFigures::default());
        self.rows = merged.into_iter().collect();
        self
    }

    /// The same file with exact figures: one row for each source of the program, whatever the
    /// number of rows is.
    pub fn with_heap(mut self, mut heap: HeapProfile) -> MemoryFile {
        heap.sources.resize(self.sources.len(), Default::default());
        self.heap = Some(heap);
        self
    }

    /// The call stack of an id; none for the empty stack.
    pub fn call(&self, id: CallId) -> Option<MemoryCall> {
        self.calls.get(id.index().checked_sub(1)?).copied()
    }

    /// The innermost site of a call stack; none for the empty stack.
    pub fn site(&self, id: CallId) -> Option<MemorySite> {
        self.sites.get(self.call(id)?.site as usize).copied()
    }

    /// The sites of a call stack, innermost first.
    pub fn stack(&self, id: CallId) -> impl Iterator<Item = MemorySite> {
        // Parents have lower ids, so this ends whatever a hand-made file says.
        let around = |id: &CallId| self.call(*id).map(|call| call.parent).filter(|p| p < id);
        std::iter::successors(Some(id), around).map_while(|id| self.site(id))
    }
}

impl MemorySource {
    /// The source of a map.
    pub fn of_map(map: &SourceMap, id: SourceId) -> MemorySource {
        let name = map
            .name_of(id)
            .unwrap_or(FIXED_NAMES[SourceId::UNKNOWN.index()]);
        let (function, position) = name.split_once('\t').unwrap_or((name, ""));
        let (file, line) = match position.rsplit_once(": ") {
            Some((file, line)) => (file, line.parse().unwrap_or(0)),
            None => (position, 0),
        };
        MemorySource {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        }
    }
}

/// The sites that are in use, each once.
#[derive(Debug, Default)]
struct Sites {
    sites: Vec<MemorySite>,
    index: HashMap<MemorySite, u32>,
}

impl Sites {
    fn intern(&mut self, site: MemorySite) -> u32 {
        *self.index.entry(site).or_insert_with(|| {
            self.sites.push(site);
            // There are no more sites than calls, whose ids have 32 bits.
            self.sites.len() as u32 - 1
        })
    }
}

/// By the index of a call, whether it is one of these or around one of them.
fn kept(tree: &CallTree, calls: impl Iterator<Item = CallId>) -> Vec<bool> {
    let mut is_kept = vec![false; tree.len()];
    is_kept[CallTree::ROOT.index()] = true;
    for call in calls {
        let mut id = call;
        while is_kept.get(id.index()) == Some(&false) {
            is_kept[id.index()] = true;
            id = tree.parent(id);
        }
    }
    is_kept
}
