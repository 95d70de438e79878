//! Units of profile data: a full set of counters (MLton's `MLton.Profile.Data`).

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::{fmt, io};

use crate::columns::Reading;
use crate::context::Tree;
use crate::cpu_time::{CpuTime, to_hundredths};
use crate::mlmon::{CountRow, Mlmon, Totals};
use crate::{ContextConfig, FIXED_NAMES, Kind, Node, SourceId, SourceMap, Style};

/// One unit of profile data: a node for each split source and, in stack style, for each calling
/// context. A program may switch between units to profile its phases separately.
///
/// The address of a node is stable for as long as the unit lives, wherever the unit is moved.
#[derive(Debug)]
pub struct ProfileData {
    // Not a `Box`: moving a `Box` ends the validity of pointers into it, and the signal handler
    // keeps such a pointer. An `Arc` makes no such claim.
    nodes: Arc<[Node]>,
    style: Style,
    has_contexts: bool,
    config: ContextConfig,
    cpu_time: CpuTime,
    pub(crate) tree: Mutex<Tree>,
}

/// The counts of one kind, by split source, as they were at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// What was counted, and what the collector counted on its own account.
    pub totals: Totals,
    /// The current count of each split source, in the order of [`SourceMap::sources`].
    pub sources: Vec<u64>,
    /// All columns of the same sources. In current style only the first is in use.
    pub rows: Vec<CountRow>,
}

impl ProfileData {
    /// A unit of `n_sources` nodes with all counters at zero, in current style. The three fixed
    /// sources have a node even if `n_sources` is smaller.
    pub fn new(n_sources: usize) -> ProfileData {
        ProfileData::in_style(n_sources, Style::Current, ContextConfig::default())
    }

    /// A unit in `style` with all counters at zero. `config` is for stack style.
    pub fn in_style(n_sources: usize, style: Style, config: ContextConfig) -> ProfileData {
        let has_contexts = style == Style::Stack;
        ProfileData::with_contexts(n_sources, style, config, has_contexts)
    }

    /// A unit that may keep contexts though it counts in current style only.
    pub(crate) fn with_contexts(
        n_sources: usize,
        style: Style,
        config: ContextConfig,
        has_contexts: bool,
    ) -> ProfileData {
        let n_sources = u32::try_from(n_sources.max(FIXED_NAMES.len())).unwrap_or(u32::MAX);
        // The place of each node in `contexts`: the root is first.
        let index = |id| match SourceId(id) {
            SourceId::MAIN => 0,
            SourceId::UNKNOWN | SourceId::GC => id + 1,
            _ => id,
        };
        let data = ProfileData {
            nodes: (0..n_sources)
                .map(|id| Node::with_index(SourceId(id), index(id)))
                .collect(),
            style,
            has_contexts,
            config,
            cpu_time: CpuTime::default(),
            tree: Mutex::default(),
        };
        if has_contexts {
            data.link_roots();
        }
        data
    }

    /// For whom the unit counts.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Whether the unit keeps a tree of calling contexts: in stack style, and in current style if
    /// the profile leaves sources out, because only the context says who called them.
    pub fn has_contexts(&self) -> bool {
        self.has_contexts
    }

    /// How the unit keeps its contexts, if it does.
    pub fn context_config(&self) -> ContextConfig {
        self.config
    }

    /// The node of `source`; in a unit with contexts, of its context right under `<main>`. An id
    /// out of range gives the node of `<unknown>`.
    #[inline]
    pub fn node(&self, source: SourceId) -> &Node {
        self.nodes.get(source.index()).unwrap_or(&self.nodes[0])
    }

    /// The nodes that [`ProfileData::node`] gives, by [`SourceId`]. With contexts there are more:
    /// see [`ProfileData::contexts`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Notes that the unit was charged for so many nanoseconds of CPU time, besides those noted
    /// before. A machine does so when it switches units, writes one, or ends a run.
    pub fn add_cpu_ns(&self, ns: u64) {
        self.cpu_time.add_ns(ns);
    }

    /// The nanoseconds of CPU time that were noted; 0 without a time profile.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_time.ns()
    }

    /// The counts of one kind; of time, in ticks. The totals are the sums of the counts that are
    /// returned, so they agree even if the timer ticks meanwhile.
    pub fn counts(&self, kind: Kind) -> Counts {
        let reading = Reading::new(self, kind);
        let rows = reading.rows(self.nodes.len(), SourceId::index);
        Counts {
            totals: reading.totals(),
            sources: rows.iter().map(|row| row.current).collect(),
            rows,
        }
    }

    /// The counts of one kind as the contents of an `mlmon.out`, in the style of the unit. Time is
    /// in hundredths of a second: as many as were [noted](ProfileData::add_cpu_ns), dealt out by
    /// ticks, or as many as there are ticks if none were.
    ///
    /// # Errors
    /// [`SizeMismatch`] if the unit was made for another number of sources than `map` has.
    pub fn mlmon(&self, kind: Kind, map: &SourceMap) -> Result<Mlmon, SizeMismatch> {
        if map.sources.len() != self.nodes.len() {
            let (data, map) = (self.nodes.len(), map.sources.len());
            return Err(SizeMismatch { data, map });
        }
        let reading = Reading::new(self, kind);
        let name = |source: SourceId| map.sources[source.index()].name.index();
        let mut file = Mlmon {
            kind,
            style: self.style,
            magic: map.magic,
            totals: reading.totals(),
            sources: reading.rows(map.sources.len(), SourceId::index),
            names: reading.rows(map.names.len(), name),
        };
        if kind == Kind::Time {
            to_hundredths(&mut file, map, self.cpu_ns());
        }
        Ok(file)
    }

    /// Writes the counts of one kind to an `mlmon.out` at `path` (see [`Mlmon::write_file`]).
    ///
    /// # Errors
    /// Those of the file system, and `InvalidInput` for a [`SizeMismatch`].
    pub fn write(&self, kind: Kind, map: &SourceMap, path: &Path) -> io::Result<()> {
        let mlmon = self.mlmon(kind, map);
        mlmon
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?
            .write_file(path)
    }
}

/// A unit of profile data was used with the source map of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeMismatch {
    data: usize,
    map: usize,
}

impl fmt::Display for SizeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SizeMismatch { data, map } = self;
        write!(
            f,
            "the profile data has {data} sources, the source map has {map}"
        )
    }
}

impl std::error::Error for SizeMismatch {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SourceMapBuilder, SourceSeqId};

    #[test]
    fn a_node_stays_where_it_is() {
        let data = ProfileData::new(5);
        let before = std::ptr::from_ref(data.node(SourceId(4)));
        let moved = [data];
        assert_eq!(before, std::ptr::from_ref(moved[0].node(SourceId(4))));
    }

    #[test]
    fn a_source_out_of_range_is_unknown() {
        let data = ProfileData::new(0);
        assert_eq!(data.nodes().len(), 3);
        assert_eq!(data.node(SourceId(3)).source, SourceId::UNKNOWN);
        assert_eq!(data.node(SourceId::MAIN).source, SourceId::MAIN);
    }

    #[test]
    fn the_total_excludes_the_collector() {
        let data = ProfileData::new(4);
        data.node(SourceId::GC).charge_bytes(100);
        data.node(SourceId::MAIN).charge_bytes(7);
        data.node(SourceId(3)).charge_bytes(5);
        let counts = data.counts(Kind::Alloc);
        assert_eq!(
            counts.totals,
            Totals {
                total: 12,
                total_gc: 100
            }
        );
        assert_eq!(counts.sources, [0, 100, 7, 5]);
        let only_current = |row: &CountRow| (row.stack, row.stack_gc) == (0, 0);
        assert!(counts.rows.iter().all(only_current));
        assert_eq!(data.counts(Kind::Count).totals, Totals::default());
    }

    #[test]
    fn copies_add_up_under_their_name() {
        let mut builder = SourceMapBuilder::new();
        let name = builder.add_name("f\tf.sml: 1");
        let copies = [0; 2].map(|_| builder.add_source(name, SourceSeqId::EMPTY));
        let map = builder.finish(1).unwrap();
        let data = ProfileData::new(map.sources.len());
        for copy in copies {
            data.node(copy).count_call();
        }
        let mlmon = data.mlmon(Kind::Count, &map).unwrap();
        let current = |rows: &[CountRow]| rows.iter().map(|row| row.current).collect::<Vec<_>>();
        assert_eq!(current(&mlmon.sources), [0, 0, 0, 1, 1]);
        assert_eq!(current(&mlmon.names), [0, 0, 0, 2]);
    }

    #[test]
    fn data_of_another_program_is_refused() {
        let error = ProfileData::new(4)
            .mlmon(Kind::Time, &SourceMap::new())
            .unwrap_err();
        let text = "the profile data has 4 sources, the source map has 3";
        assert_eq!(error.to_string(), text);
    }
}
