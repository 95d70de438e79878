//! MLton's accounting in stack style, step by step: the oracle of these tests. A call moves the
//! numbers of a source and of its name; there is no tree.

use profiler::mlmon::{CountRow, Totals};
use profiler::{SourceId, SourceMap};

/// What MLton keeps for each split source and each name.
#[derive(Clone, Debug, Default)]
struct Entry {
    current: u64,
    ticks: u64,
    ticks_gc: u64,
    last_total: u64,
    last_total_gc: u64,
    num_occurrences: u64,
}

/// One kind of one unit of profile data, and the stack of sources.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    names: Vec<usize>,
    sources: Vec<Entry>,
    masters: Vec<Entry>,
    totals: Totals,
    stack: Vec<SourceId>,
}

impl Model {
    /// A model in which `<main>` has been entered.
    pub(crate) fn new(map: &SourceMap) -> Model {
        let mut model = Model {
            names: map.sources.iter().map(|s| s.name.index()).collect(),
            sources: vec![Entry::default(); map.sources.len()],
            masters: vec![Entry::default(); map.names.len()],
            totals: Totals::default(),
            stack: Vec::new(),
        };
        model.enter(SourceId::MAIN);
        model
    }

    fn entries(&mut self, source: SourceId) -> [&mut Entry; 2] {
        let name = self.names[source.index()];
        [&mut self.sources[source.index()], &mut self.masters[name]]
    }

    pub(crate) fn enter(&mut self, source: SourceId) {
        let totals = self.totals;
        for entry in self.entries(source) {
            entry.num_occurrences += 1;
            if entry.num_occurrences == 1 {
                entry.last_total = totals.total;
                entry.last_total_gc = totals.total_gc;
            }
        }
        self.stack.push(source);
    }

    pub(crate) fn leave(&mut self) {
        let Some(source) = self.stack.pop() else {
            return;
        };
        let totals = self.totals;
        for entry in self.entries(source) {
            entry.num_occurrences -= 1;
            if entry.num_occurrences == 0 {
                remove(entry, totals);
            }
        }
    }

    /// Counts for the source on top of the stack.
    pub(crate) fn charge(&mut self, n: u64) {
        let top = *self.stack.last().unwrap();
        for entry in self.entries(top) {
            entry.current += n;
        }
        if top == SourceId::GC {
            self.totals.total_gc += n;
        } else {
            self.totals.total += n;
        }
    }

    /// The columns, as if every source that is still on the stack were left now.
    pub(crate) fn finish(&self) -> Finished {
        let mut model = self.clone();
        let totals = model.totals;
        let all = model.sources.iter_mut().chain(&mut model.masters);
        all.filter(|entry| entry.num_occurrences > 0)
            .for_each(|entry| remove(entry, totals));
        let rows = |entries: &[Entry]| {
            let row = |entry: &Entry| CountRow {
                current: entry.current,
                stack: entry.ticks,
                stack_gc: entry.ticks_gc,
            };
            entries.iter().map(row).collect()
        };
        Finished {
            totals,
            sources: rows(&model.sources),
            names: rows(&model.masters),
        }
    }
}

fn remove(entry: &mut Entry, totals: Totals) {
    entry.ticks += totals.total - entry.last_total;
    entry.ticks_gc += totals.total_gc - entry.last_total_gc;
}

/// The rows of an `mlmon.out`.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) totals: Totals,
    pub(crate) sources: Vec<CountRow>,
    pub(crate) names: Vec<CountRow>,
}
