//! A made-up program whose memory profile the tests look at.

use profiler::memory::{HeapProfile, MemoryFile, MemoryHeader, MemoryProfile, MemorySite};
use profiler::sampling::{CallId, CallTree, WordSampler, Xoshiro256};
use profiler::{SourceId, SourceMap, SourceMapBuilder, SourceSeqId};

/// The sources of the program besides the three fixed ones, and their copies.
const FUNCTIONS: [(&str, &str, u32); 6] = [
    ("parse", "parse.sml", 10),
    ("leak", "cache.sml", 4),
    ("loop", "main.sml", 30),
    ("loop", "main.sml", 30),
    ("loop", "other.sml", 7),
    ("idle", "other.sml", 90),
];

pub(crate) fn map() -> SourceMap {
    let mut builder = SourceMapBuilder::new();
    for (function, file, line) in FUNCTIONS {
        let name = builder.add_name(&SourceMap::name_text(function, file, line));
        builder.add_source(name, SourceSeqId::EMPTY);
    }
    builder.finish(0xbeef).unwrap()
}

/// A source of the program by its place in [`FUNCTIONS`].
pub(crate) fn source(function: u32) -> SourceId {
    SourceId(3 + function)
}

/// What a heap would know of a block.
struct Block {
    call: CallId,
    source: SourceId,
    words: u64,
    n_samples: u64,
    n_survived: usize,
}

/// A run of the program, which counts exactly what it also samples.
pub(crate) struct Run {
    tree: CallTree,
    profile: MemoryProfile,
    heap: HeapProfile,
    sampler: WordSampler,
    random: Xoshiro256,
    clock: u64,
    young: Vec<Block>,
    old: Vec<Block>,
    n_minor: u64,
    n_major: u64,
    peak_bytes: u64,
}

impl Run {
    pub(crate) fn new(rate: f64, seed: u64, input: u64) -> Run {
        Run {
            tree: CallTree::new(),
            profile: MemoryProfile::new(rate, seed),
            heap: HeapProfile::new(map().sources.len()),
            sampler: WordSampler::new(rate, seed, 0).unwrap(),
            random: Xoshiro256::new(input),
            clock: 0,
            young: Vec::new(),
            old: Vec::new(),
            n_minor: 0,
            n_major: 0,
            peak_bytes: 0,
        }
    }

    /// Runs to the end. Sites are a source times 1000 and a line.
    pub(crate) fn finish(mut self) -> MemoryFile {
        let main = self.call(CallTree::ROOT, SourceId::MAIN, 1);
        let recursive = self.call(main, source(2), 31);
        let deep = self.call(recursive, source(3), 32);
        let deeper = self.call(deep, source(4), 8);
        for round in 0..40 {
            for _ in 0..20 {
                let words = 2 + self.random.next_u64() % 30;
                self.parse(main, words);
            }
            let cache = self.call(main, source(1), 5);
            self.allocate(cache, source(1), 40);
            self.allocate(deep, source(3), 3);
            self.allocate(deeper, source(4), 6);
            if round == 20 {
                self.allocate(recursive, source(2), 5000);
            }
            if round % 4 == 3 {
                self.collect();
            }
        }
        for block in &self.old {
            let row = &mut self.heap.sources[block.source.index()];
            row.survived[block.n_survived] += 8 * block.words;
        }
        let header = MemoryHeader {
            program: "made-up".to_owned(),
            magic: map().magic,
            clock_words: self.clock,
            allocated_bytes: 8 * self.clock,
            n_minor: self.n_minor,
            n_major: self.n_major,
            ..MemoryHeader::default()
        };
        let site = |site: u32| MemorySite {
            source: SourceId(site / 1000),
            line: site % 1000,
        };
        MemoryFile::new(header, &map())
            .with_samples(&self.profile, &self.tree, site)
            .with_heap(self.heap)
    }

    fn call(&mut self, parent: CallId, source: SourceId, line: u32) -> CallId {
        self.tree.child(parent, source.0 * 1000 + line)
    }

    fn parse(&mut self, main: CallId, words: u64) {
        let call = self.call(main, source(0), 11);
        let call = self.call(call, source(0), 12);
        self.allocate(call, source(0), words);
    }

    fn allocate(&mut self, call: CallId, source: SourceId, words: u64) {
        let end = self.clock + words;
        let n_samples = self.sampler.take(self.clock, end);
        self.clock = end;
        self.heap.sources[source.index()].allocated_bytes += 8 * words;
        if n_samples > 0 {
            self.profile.allocated(call, words, n_samples);
        }
        self.young.push(Block {
            call,
            source,
            words,
            n_samples,
            n_survived: 0,
        });
    }

    /// A collection, always a minor and a major one: `parse`'s blocks die young and those of
    /// `loop` old.
    fn collect(&mut self) {
        (self.n_minor, self.n_major) = (self.n_minor + 1, self.n_major + 1);
        for mut block in std::mem::take(&mut self.old) {
            let bytes = 8 * block.words;
            let row = &mut self.heap.sources[block.source.index()];
            if block.source == source(1) {
                block.n_survived = 7.min(block.n_survived + 1);
                self.old.push(block);
                row.gc_copy_bytes += bytes;
                self.heap.gc_work_bytes += bytes;
                self.heap.sources[source(0).index()].gc_trigger_bytes += bytes;
                continue;
            }
            row.live_bytes -= bytes;
            row.live_objects -= 1;
            row.survived[block.n_survived] += bytes;
            if block.n_samples > 0 {
                self.profile
                    .died_old(block.call, block.words, block.n_samples);
            }
        }
        for block in std::mem::take(&mut self.young) {
            let bytes = 8 * block.words;
            let row = &mut self.heap.sources[block.source.index()];
            let is_seen = block.n_samples > 0;
            if block.source == source(0) {
                row.survived[0] += bytes;
                if is_seen {
                    self.profile
                        .died_young(block.call, block.words, block.n_samples);
                }
                continue;
            }
            row.promoted_bytes += bytes;
            row.live_bytes += bytes;
            row.live_objects += 1;
            if is_seen {
                self.profile
                    .promoted(block.call, block.words, block.n_samples);
            }
            self.old.push(block);
        }
        self.profile.collected();
        let live_bytes = self.heap.totals().live_bytes;
        if live_bytes > self.peak_bytes {
            self.peak_bytes = live_bytes;
            for row in &mut self.heap.sources {
                row.peak_bytes = row.live_bytes;
            }
        }
    }
}
