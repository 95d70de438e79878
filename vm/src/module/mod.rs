//! Modules: what a `.bc` file holds, as data. [`read`](fn@read) and [`write`](fn@write) are the
//! file format, described in `docs/bc-format.md`.
//!
//! A module read from a file is well formed (every section parses, every name is UTF-8), but
//! nothing says that its code makes sense: that is for [`crate::verify`].

mod read;
mod write;

pub use read::{ReadError, read, strip_interpreter_line};
pub use write::{INTERPRETER_LINE, write};

use profiler::SourceMap;

use crate::isa::{DecodeError, Op, Reader, Signature, decode_one};

/// The bytes that every module starts with, after an optional `#!` line.
pub const MAGIC: [u8; 8] = *b"TALLY\x00bc";
/// The version of the format that this crate reads and writes.
pub const VERSION: u16 = 1;

/// A compiled program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The functions; [`Op::Call`] names them by index.
    pub functions: Vec<Function>,
    /// The index of the function that a run starts with. It has no parameters or captures.
    pub entry: u32,
    /// Constants of [`Op::Text`], [`Op::Data`] and [`Op::Constant`].
    pub constants: Vec<Constant>,
    /// Words and references that all functions share.
    pub globals: Globals,
    /// The host functions that the module wants, by name.
    pub hosts: Vec<HostImport>,
    /// Profiling sources, without their magic, which is a hash of the file.
    pub sources: SourceMap,
    /// Names of source files, for line tables.
    pub files: Vec<String>,
    /// Free pairs of a key and a value, for tools.
    pub metadata: Vec<(String, String)>,
}

/// A function of a module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// The name, nested names joined by dots: `Tak.tak1.tak2`.
    pub name: String,
    /// Parameters and results.
    pub signature: Signature,
    /// What the function captures when it is a closure's function; it is then called through
    /// closures only and finds its closure in the first `r` register after its parameters.
    pub captures: Option<Captures>,
    /// Whether an embedder may look the function up by name.
    pub is_exported: bool,
    /// The encoded ops.
    pub code: Vec<u8>,
    /// Exception handlers; the first range that holds an op's offset is the one that counts.
    pub handlers: Vec<HandlerRange>,
    /// Where ops come from, by rising offset.
    pub lines: Vec<LineEntry>,
}

/// How many values of each class a closure's function captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Captured references.
    pub refs: u8,
    /// Captured raw words.
    pub ints: u8,
}

/// Ops at offsets `start <= offset < end` that raise go on at `target`, with the exception in
/// `r[register]`. Offsets are in bytes from the function's first op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerRange {
    /// Offset of the first op of the range.
    pub start: u32,
    /// Offset of the first op after the range.
    pub end: u32,
    /// Offset of the op at which the handler starts.
    pub target: u32,
    /// The `r` register that receives the exception.
    pub register: u8,
}

/// From `offset` on, ops come from this line of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEntry {
    /// Offset of the first op, in bytes from the function's first op.
    pub offset: u32,
    /// Index into [`Module::files`].
    pub file: u32,
    /// Line, counted from 1.
    pub line: u32,
}

/// A constant. As an object of [`Op::Constant`] it is shared, immutable and never collected.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A string's bytes.
    Text(Vec<u8>),
    /// Elements of a byte array.
    Bytes(Vec<u8>),
    /// Elements of an array of integers.
    Ints(Vec<i64>),
    /// Elements of an array of doubles.
    Floats(Vec<f64>),
    /// Elements of an array of references.
    Refs(Vec<ConstRef>),
    /// A record.
    Record {
        /// Its tag.
        tag: u16,
        /// Its reference fields, at most 255.
        refs: Vec<ConstRef>,
        /// Its raw fields, at most 255.
        ints: Vec<i64>,
    },
    /// A closure.
    Closure {
        /// The index of its function.
        function: u32,
        /// What it captures of references, as many as its function says.
        refs: Vec<ConstRef>,
        /// What it captures of raw words, as many as its function says.
        ints: Vec<i64>,
    },
}

impl Constant {
    /// The references in it.
    pub fn refs(&self) -> &[ConstRef] {
        match self {
            Self::Refs(refs) | Self::Record { refs, .. } | Self::Closure { refs, .. } => refs,
            Self::Text(_) | Self::Bytes(_) | Self::Ints(_) | Self::Floats(_) => &[],
        }
    }

    /// The references in it, to be changed.
    pub fn refs_mut(&mut self) -> &mut [ConstRef] {
        match self {
            Self::Refs(refs) | Self::Record { refs, .. } | Self::Closure { refs, .. } => refs,
            Self::Text(_) | Self::Bytes(_) | Self::Ints(_) | Self::Floats(_) => &mut [],
        }
    }
}

/// A reference that is known before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstRef {
    /// The null reference.
    Null,
    /// An immediate of 63 bits.
    Immediate(i64),
    /// A constant, by its index. One constant refers only to those before it.
    Constant(u32),
}

/// The globals of each class; ops name them by their index within it. A machine gives them their
/// values once, when it is made, and keeps what programs store from run to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Globals {
    /// Raw words.
    pub ints: Vec<Global<i64>>,
    /// References.
    pub refs: Vec<Global<ConstRef>>,
}

impl Globals {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ints.is_empty() && self.refs.is_empty()
    }
}

/// A global.
#[derive(Clone, Debug, PartialEq)]
pub struct Global<T> {
    /// Its name, for tools and for linking.
    pub name: String,
    /// What it holds in a new machine.
    pub value: T,
}

/// A host function that a module wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostImport {
    /// The name under which the host offers it.
    pub name: String,
    /// What the module takes its parameters and results to be.
    pub signature: Signature,
}

impl Function {
    /// The ops with their offsets, up to the first one that does not decode.
    pub fn ops(&self) -> impl Iterator<Item = Result<(u32, Op), DecodeError>> {
        let mut reader = Reader::new(&self.code);
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed || reader.remaining() == 0 {
                return None;
            }
            let offset = reader.offset() as u32;
            let result = decode_one(&mut reader);
            failed = result.is_err();
            Some(result.map(|op| (offset, op)))
        })
    }

    /// The file index and line of the op at `offset`, when the line table covers it.
    pub fn line_at(&self, offset: u32) -> Option<LineEntry> {
        let after = self.lines.partition_point(|entry| entry.offset <= offset);
        after.checked_sub(1).map(|index| self.lines[index])
    }
}

impl Module {
    /// The function of this name.
    pub fn function_named(&self, name: &str) -> Option<u32> {
        self.functions
            .iter()
            .position(|function| function.name == name)
            .map(|i| i as u32)
    }

    /// The hash by which profiles know this program: of the code and of the sources.
    pub fn magic(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for function in &self.functions {
            hasher.update(&function.code);
        }
        let mut sources = Vec::new();
        write::write_sources(&self.sources, &mut sources);
        hasher.update(&sources);
        hasher.finalize()
    }

    /// The sources with the module's magic, as profiles want them.
    pub fn source_map(&self) -> SourceMap {
        SourceMap {
            magic: self.magic(),
            ..self.sources.clone()
        }
    }
}
