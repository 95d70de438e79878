//! Units of profile data: a full set of counters (MLton's `MLton.Profile.Data`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::{fmt, io};

use crate::mlmon::{CountRow, Mlmon, Totals};
use crate::{FIXED_NAMES, Kind, Node, SourceId, SourceMap, Style};

/// One unit of profile data: a node for each split source. A program may switch between units to
/// profile its phases separately.
///
/// The address of a node is stable for as long as the unit lives, wherever the unit is moved.
#[derive(Debug)]
pub struct ProfileData {
    // Not a `Box`: moving a `Box` ends the validity of pointers into it, and the signal handler
    // keeps such a pointer. An `Arc` makes no such claim.
    nodes: Arc<[Node]>,
}

/// The counts of one kind, by split source, as they were at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// What was counted, and what the collector counted on its own account.
    pub totals: Totals,
    /// The count of each split source, in the order of [`SourceMap::sources`].
    pub sources: Vec<u64>,
}

impl ProfileData {
    /// A unit of `n_sources` nodes with all counters at zero. The three fixed sources have a node
    /// even if `n_sources` is smaller.
    pub fn new(n_sources: usize) -> ProfileData {
        let n_sources = u32::try_from(n_sources.max(FIXED_NAMES.len())).unwrap_or(u32::MAX);
        ProfileData {
            nodes: (0..n_sources).map(|id| Node::new(SourceId(id))).collect(),
        }
    }

    /// The node of `source`. An id out of range gives the node of `<unknown>`.
    #[inline]
    pub fn node(&self, source: SourceId) -> &Node {
        self.nodes.get(source.index()).unwrap_or(&self.nodes[0])
    }

    /// The nodes of all sources, by [`SourceId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The counts of one kind. The totals are the sums of the counts that are returned, so they
    /// agree even if the timer ticks meanwhile.
    pub fn counts(&self, kind: Kind) -> Counts {
        let count = |node: &Node| match kind {
            Kind::Time => node.ticks.load(Relaxed),
            Kind::Alloc => node.bytes.load(Relaxed),
            Kind::Count => node.calls.load(Relaxed),
        };
        let sources: Vec<u64> = self.nodes.iter().map(count).collect();
        let gc = sources[SourceId::GC.index()];
        let all = sources.iter().fold(0, |sum: u64, &n| sum.wrapping_add(n));
        Counts {
            totals: Totals {
                total: all.wrapping_sub(gc),
                total_gc: gc,
            },
            sources,
        }
    }

    /// The counts of one kind as the contents of an `mlmon.out`, in current style.
    ///
    /// # Errors
    /// [`SizeMismatch`] if the unit was made for another number of sources than `map` has.
    pub fn mlmon(&self, kind: Kind, map: &SourceMap) -> Result<Mlmon, SizeMismatch> {
        if map.sources.len() != self.nodes.len() {
            let (data, map) = (self.nodes.len(), map.sources.len());
            return Err(SizeMismatch { data, map });
        }
        let counts = self.counts(kind);
        let row = |&current| CountRow {
            current,
            ..CountRow::default()
        };
        let mut names = vec![CountRow::default(); map.names.len()];
        for (source, &count) in map.sources.iter().zip(&counts.sources) {
            if let Some(row) = names.get_mut(source.name.index()) {
                row.current = row.current.wrapping_add(count);
            }
        }
        Ok(Mlmon {
            kind,
            style: Style::Current,
            magic: map.magic,
            totals: counts.totals,
            sources: counts.sources.iter().map(row).collect(),
            names,
        })
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
