//! Sources: the functions and branches that a profile counts for.
//!
//! The model is MLton's. A *master* source is a named function and has one entry in `names`. A
//! *split* source is one copy of it (after inlining or duplication) and has one entry in
//! `sources`, which points to its master's name. Counters are kept for each split source; a report
//! adds them up by name unless `-split` asks for the copies. A *source sequence* is a local
//! control stack, outermost source first; `successors` is the sequence of sources that a split
//! source may call, that is, its edges in the call graph.

use std::collections::HashMap;
use std::fmt;

/// The index of a split source in [`SourceMap::sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SourceId(pub u32);

/// The index of a source sequence in [`SourceMap::sequences`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SourceSeqId(pub u32);

/// The index of a master source in [`SourceMap::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct NameId(pub u32);

impl SourceId {
    /// `<unknown>`: code that no source claims.
    pub const UNKNOWN: SourceId = SourceId(0);
    /// `<gc>`: the collector.
    pub const GC: SourceId = SourceId(1);
    /// `<main>`: the program outside of its functions.
    pub const MAIN: SourceId = SourceId(2);
    /// Whoever is current: what a source becomes that a profile leaves out. It is in no map, and
    /// entering it changes nothing.
    pub const CALLER: SourceId = SourceId(u32::MAX);

    /// The id as an index into a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl SourceSeqId {
    /// The sequence of `<unknown>` alone; index 0, as in MLton.
    pub const UNKNOWN: SourceSeqId = SourceSeqId(0);
    /// The sequence of `<gc>` alone; index 1, as in MLton.
    pub const GC: SourceSeqId = SourceSeqId(1);
    /// The empty sequence of a map that [`SourceMap::new`] made.
    pub const EMPTY: SourceSeqId = SourceSeqId(2);

    /// The id as an index into a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl NameId {
    /// The id as an index into a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names of the three fixed sources, at the indices of their ids.
pub const FIXED_NAMES: [&str; 3] = ["<unknown>", "<gc>", "<main>"];

/// A split source: a copy of a named function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The master source that this is a copy of.
    pub name: NameId,
    /// The split sources that it may call: its edges in the call graph.
    pub successors: SourceSeqId,
}

/// All sources of one program: what MLton prints for `@MLton show-sources`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SourceMap {
    /// The master sources, as MLton prints them: a label, or a label, a tab and a position
    /// (`append\tlist-rev.sml: 1`). See [`SourceMap::name_text`].
    pub names: Vec<String>,
    /// The split sources.
    pub sources: Vec<Source>,
    /// The source sequences, outermost source first.
    pub sequences: Vec<Vec<SourceId>>,
    /// Identifies the program. A profile with another magic belongs to another program.
    pub magic: u32,
}

impl SourceMap {
    /// The smallest map: the three fixed sources, the sequences of `<unknown>` and of `<gc>` at
    /// their fixed indices, and the empty sequence, which all three have as successors.
    pub fn new() -> SourceMap {
        let source = |name| Source {
            name: NameId(name),
            successors: SourceSeqId::EMPTY,
        };
        SourceMap {
            names: FIXED_NAMES.map(str::to_owned).to_vec(),
            sources: (0..3).map(source).collect(),
            sequences: vec![vec![SourceId::UNKNOWN], vec![SourceId::GC], vec![]],
            magic: 0,
        }
    }

    /// A function's entry in `names`: its label, a tab, and `file: line` with lines from 1.
    pub fn name_text(label: &str, file: &str, line: u32) -> String {
        format!("{label}\t{file}: {line}")
    }

    /// The name of a split source, or `None` if it or its name is out of range.
    pub fn name_of(&self, source: SourceId) -> Option<&str> {
        let name = self.sources.get(source.index())?.name;
        self.names.get(name.index()).map(String::as_str)
    }

    /// The sources of a sequence, or `None` if it is out of range.
    pub fn sequence(&self, sequence: SourceSeqId) -> Option<&[SourceId]> {
        self.sequences.get(sequence.index()).map(Vec::as_slice)
    }

    /// Checks what every user of a map of our own relies on: indices are in range, the three fixed
    /// sources are in place, and each name is one line that `mlprof` can read.
    ///
    /// # Errors
    /// The first defect found.
    pub fn validate(&self) -> Result<(), SourceMapError> {
        self.validate_indices()?;
        for (index, expected) in FIXED_NAMES.into_iter().enumerate() {
            let name = self.sources.get(index).map(|source| source.name.index());
            if self.names.get(index).map(String::as_str) != Some(expected) || name != Some(index) {
                return Err(SourceMapError::Fixed { index, expected });
            }
        }
        for (name, text) in self.names.iter().enumerate() {
            let parts = text.split('\t').filter(|part| !part.is_empty()).count();
            if text.contains('\n') || !(1..=2).contains(&parts) {
                return Err(SourceMapError::Name { name });
            }
        }
        Ok(())
    }

    /// The part of [`SourceMap::validate`] that a foreign program's map must pass too.
    pub(crate) fn validate_indices(&self) -> Result<(), SourceMapError> {
        for (source, Source { name, successors }) in self.sources.iter().enumerate() {
            if name.index() >= self.names.len() {
                return Err(SourceMapError::NameIndex {
                    source,
                    name: name.0,
                });
            }
            if successors.index() >= self.sequences.len() {
                return Err(SourceMapError::Successors {
                    source,
                    sequence: successors.0,
                });
            }
        }
        for (sequence, entries) in self.sequences.iter().enumerate() {
            if let Some(entry) = entries.iter().find(|id| id.index() >= self.sources.len()) {
                return Err(SourceMapError::SequenceEntry {
                    sequence,
                    source: entry.0,
                });
            }
        }
        Ok(())
    }
}

/// What is wrong with a [`SourceMap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceMapError {
    /// A fixed source is missing or has another name.
    Fixed {
        /// Its index in `names` and in `sources`.
        index: usize,
        /// The name that belongs there.
        expected: &'static str,
    },
    /// A name is empty, holds a newline, or has more than a label and a position.
    Name {
        /// Its index in `names`.
        name: usize,
    },
    /// A source's name is out of range.
    NameIndex {
        /// The source's index.
        source: usize,
        /// The index that is out of range.
        name: u32,
    },
    /// A source's successors are out of range.
    Successors {
        /// The source's index.
        source: usize,
        /// The index that is out of range.
        sequence: u32,
    },
    /// A sequence holds a source that is out of range.
    SequenceEntry {
        /// The sequence's index.
        sequence: usize,
        /// The index that is out of range.
        source: u32,
    },
}

impl fmt::Display for SourceMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceMapError::Fixed { index, expected } => {
                write!(f, "source {index} must be {expected}")
            }
            SourceMapError::Name { name } => {
                write!(
                    f,
                    "name {name} must be one line: a label, or a label, a tab and a position"
                )
            }
            SourceMapError::NameIndex { source, name } => {
                write!(f, "source {source} has name {name}, which does not exist")
            }
            SourceMapError::Successors { source, sequence } => {
                write!(
                    f,
                    "source {source} has source sequence {sequence}, which does not exist"
                )
            }
            SourceMapError::SequenceEntry { sequence, source } => {
                write!(
                    f,
                    "source sequence {sequence} holds source {source}, which does not exist"
                )
            }
        }
    }
}

impl std::error::Error for SourceMapError {}

/// Makes a [`SourceMap`]. Names and sequences are interned: adding one that is there already gives
/// its id again. Sources are not, because each one is a copy of its own.
#[derive(Clone, Debug)]
pub struct SourceMapBuilder {
    map: SourceMap,
    names: HashMap<String, NameId>,
    sequences: HashMap<Vec<SourceId>, SourceSeqId>,
}

impl Default for SourceMapBuilder {
    fn default() -> SourceMapBuilder {
        SourceMapBuilder::new()
    }
}

impl SourceMapBuilder {
    /// Starts from [`SourceMap::new`].
    pub fn new() -> SourceMapBuilder {
        let map = SourceMap::new();
        let names = map.names.iter().cloned().zip((0..).map(NameId)).collect();
        let sequences = map
            .sequences
            .iter()
            .cloned()
            .zip((0..).map(SourceSeqId))
            .collect();
        SourceMapBuilder {
            map,
            names,
            sequences,
        }
    }

    /// The id of the master source `name` (see [`SourceMap::name_text`]), which is added if it is
    /// new.
    pub fn add_name(&mut self, name: &str) -> NameId {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = NameId(index_u32(self.map.names.len()));
        self.map.names.push(name.to_owned());
        self.names.insert(name.to_owned(), id);
        id
    }

    /// Adds a split source of `name`. Its successors can be set later, once their ids are known.
    pub fn add_source(&mut self, name: NameId, successors: SourceSeqId) -> SourceId {
        let id = SourceId(index_u32(self.map.sources.len()));
        self.map.sources.push(Source { name, successors });
        id
    }

    /// The id of the source sequence `entries`, outermost first, which is added if it is new.
    pub fn add_sequence(&mut self, entries: &[SourceId]) -> SourceSeqId {
        if let Some(&id) = self.sequences.get(entries) {
            return id;
        }
        let id = SourceSeqId(index_u32(self.map.sequences.len()));
        self.map.sequences.push(entries.to_vec());
        self.sequences.insert(entries.to_vec(), id);
        id
    }

    /// Replaces the successors of `source`. A source that does not exist is left alone.
    pub fn set_successors(&mut self, source: SourceId, successors: SourceSeqId) {
        if let Some(source) = self.map.sources.get_mut(source.index()) {
            source.successors = successors;
        }
    }

    /// The map so far.
    pub fn map(&self) -> &SourceMap {
        &self.map
    }

    /// The finished map with its magic.
    ///
    /// # Errors
    /// The first defect that [`SourceMap::validate`] finds.
    pub fn finish(mut self, magic: u32) -> Result<SourceMap, SourceMapError> {
        self.map.magic = magic;
        self.map.validate()?;
        Ok(self.map)
    }
}

/// No vector of a map can reach 2^32 entries: a map that big would not fit in a `.bc` file.
/// An index past the end would be found by `validate`.
fn index_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_map_is_valid() {
        let map = SourceMap::new();
        assert_eq!(map.validate(), Ok(()));
        assert_eq!(map.name_of(SourceId::GC), Some("<gc>"));
        assert_eq!(map.sequence(SourceSeqId::GC), Some(&[SourceId::GC][..]));
        assert_eq!(map.sequence(SourceSeqId::EMPTY), Some(&[][..]));
        assert_eq!(SourceMapBuilder::new().finish(0), Ok(map));
    }

    #[test]
    fn names_and_sequences_are_interned() {
        let mut builder = SourceMapBuilder::new();
        let name = builder.add_name(&SourceMap::name_text("fib", "fib.sml", 10));
        assert_eq!(builder.add_name("fib\tfib.sml: 10"), name);
        assert_eq!(builder.add_name("<main>"), NameId(2));
        let sequence = builder.add_sequence(&[SourceId::MAIN]);
        assert_eq!(builder.add_sequence(&[SourceId::MAIN]), sequence);
        assert_eq!(builder.add_sequence(&[]), SourceSeqId::EMPTY);
    }

    #[test]
    fn every_copy_is_a_source_of_its_own() {
        let mut builder = SourceMapBuilder::new();
        let name = builder.add_name("f\tf.sml: 1");
        let first = builder.add_source(name, SourceSeqId::EMPTY);
        let second = builder.add_source(name, SourceSeqId::EMPTY);
        assert_ne!(first, second);
        let sequence = builder.add_sequence(&[second]);
        builder.set_successors(first, sequence);
        let map = builder.finish(7).unwrap();
        assert_eq!(map.name_of(first), map.name_of(second));
        assert_eq!(map.sources[first.index()].successors, sequence);
        assert_eq!(map.magic, 7);
    }

    #[test]
    fn each_defect_is_named() {
        type Damage = fn(&mut SourceMap);
        let cases: [(Damage, &str); 7] = [
            (|map| map.names[1].push('x'), "source 1 must be <gc>"),
            (|map| map.sources.truncate(2), "source 2 must be <main>"),
            (
                |map| map.sources[0].name = NameId(9),
                "source 0 has name 9, which does not exist",
            ),
            (
                |map| map.sources[2].successors = SourceSeqId(3),
                "source 2 has source sequence 3, which does not exist",
            ),
            (
                |map| map.sequences[2].push(SourceId(3)),
                "source sequence 2 holds source 3, which does not exist",
            ),
            (
                |map| map.names.push("a\nb".into()),
                "name 3 must be one line: a label, or a label, a tab and a position",
            ),
            (
                |map| map.names.push("a\tb\tc".into()),
                "name 3 must be one line: a label, or a label, a tab and a position",
            ),
        ];
        for (damage, text) in cases {
            let mut map = SourceMap::new();
            damage(&mut map);
            assert_eq!(map.validate().unwrap_err().to_string(), text);
        }
    }
}
