//! Bytes of unknown origin to modules. Every read is bounds-checked, no count is trusted with
//! memory before that many bytes are seen to be there, and every error names an offset.

use std::fmt;

use profiler::{NameId, Source, SourceId, SourceMap, SourceSeqId};

use super::write::Section;
use super::{
    Captures, ConstRef, Constant, Function, Global, Globals, HandlerRange, HostImport, LineEntry,
    MAGIC, Module, VERSION,
};
use crate::isa::{DecodeError, Encoded, Reader, Sig};

/// Why bytes are no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Where, in bytes from the start of the file.
    pub offset: usize,
    /// What is wrong, as a clause.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: {}", self.offset, self.what)
    }
}

impl std::error::Error for ReadError {}

/// What follows a `#!` first line; all of the bytes when there is none.
pub fn strip_interpreter_line(bytes: &[u8]) -> &[u8] {
    if !bytes.starts_with(b"#!") {
        return bytes;
    }
    let line = bytes
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(bytes.len(), |end| end + 1);
    &bytes[line..]
}

/// Reads a `.bc` file.
pub fn read(bytes: &[u8]) -> Result<Module, ReadError> {
    let body = strip_interpreter_line(bytes);
    let mut input = Input {
        reader: Reader::new(body),
        base: bytes.len() - body.len(),
    };
    if input.bytes(MAGIC.len()).ok() != Some(&MAGIC[..]) {
        return Err(ReadError {
            offset: input.base,
            what: "this is no .bc file".into(),
        });
    }
    let version = u16::from_le_bytes(input.array()?);
    if version != VERSION {
        return Err(input.error(format!(
            "version {version}; this vm reads version {VERSION}"
        )));
    }
    let count = u16::from_le_bytes(input.array()?) as usize;
    let all = Section::ALL.len();
    if count != all && count != Section::of_file(false).len() {
        return Err(input.error(format!("{count} sections instead of {all}")));
    }
    let mut module = Module::default();
    let mut code_lengths = Vec::new();
    for &section in Section::of_file(count == all) {
        let mut body = input.section(section)?;
        match section {
            Section::Functions => body.functions(&mut module, &mut code_lengths)?,
            Section::Code => body.code(&mut module, &code_lengths)?,
            Section::Constants => module.constants = body.list(5, Input::constant)?,
            Section::Hosts => module.hosts = body.list(8, Input::host)?,
            Section::Sources => module.sources = body.sources()?,
            Section::Lines => body.lines(&mut module)?,
            Section::Handlers => body.handlers(&mut module)?,
            Section::Metadata => {
                module.metadata = body.list(8, |input| Ok((input.text()?, input.text()?)))?;
            }
            Section::Globals => module.globals = body.globals()?,
        }
        body.finish()?;
    }
    input.finish()?;
    Ok(module)
}

/// A reader that knows where in the file it stands.
struct Input<'a> {
    reader: Reader<'a>,
    base: usize,
}

impl<'a> Input<'a> {
    fn error(&self, what: impl Into<String>) -> ReadError {
        ReadError {
            offset: self.base + self.reader.offset(),
            what: what.into(),
        }
    }

    fn truncated(&self, error: DecodeError) -> ReadError {
        match error {
            DecodeError::Truncated { offset } => ReadError {
                offset: self.base + offset,
                what: "the bytes end here".into(),
            },
            other => self.error(other.to_string()),
        }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], ReadError> {
        self.reader
            .bytes(count)
            .map_err(|error| self.truncated(error))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        self.reader.array().map_err(|error| self.truncated(error))
    }

    fn u8(&mut self) -> Result<u8, ReadError> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        self.array().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, ReadError> {
        let length = self.u32()? as usize;
        let start = self.base + self.reader.offset();
        let bytes = self.bytes(length)?;
        let text = std::str::from_utf8(bytes);
        text.map(str::to_owned).map_err(|_| ReadError {
            offset: start,
            what: "a name is not UTF-8".into(),
        })
    }

    /// A count, then that many items of at least `least_bytes` bytes each.
    fn list<T>(
        &mut self,
        least_bytes: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let count = self.u32()? as usize;
        if count.saturating_mul(least_bytes) > self.reader.remaining() {
            return Err(self.error(format!("{count} items do not fit into what is left")));
        }
        (0..count).map(|_| item(self)).collect()
    }

    fn finish(&self) -> Result<(), ReadError> {
        match self.reader.remaining() {
            0 => Ok(()),
            left => Err(self.error(format!("{left} bytes too many"))),
        }
    }

    /// The header of the next section, and a reader of its body once the checksum has matched.
    fn section(&mut self, section: Section) -> Result<Input<'a>, ReadError> {
        let kind = self.u8()?;
        if kind != section as u8 {
            return Err(self.error(format!("section {kind} where {section:?} should stand")));
        }
        let length = self.u32()? as usize;
        let checksum = self.u32()?;
        let base = self.base + self.reader.offset();
        let body = self.bytes(length)?;
        if crc32fast::hash(body) != checksum {
            let what = format!("the checksum of section {section:?} does not match");
            return Err(ReadError { offset: base, what });
        }
        Ok(Input {
            reader: Reader::new(body),
            base,
        })
    }

    fn functions(&mut self, module: &mut Module, lengths: &mut Vec<u32>) -> Result<(), ReadError> {
        module.entry = self.u32()?;
        module.functions = self.list(15, |input| {
            let name = input.text()?;
            let signature = input.signature()?;
            let flags = input.u8()?;
            if flags > 3 {
                return Err(input.error(format!("function flags {flags:#x}")));
            }
            let captures = Captures {
                refs: input.u8()?,
                ints: input.u8()?,
            };
            let is_closure = flags & 2 != 0;
            if !is_closure && captures != Captures::default() {
                return Err(input.error("captures of a function that is no closure's"));
            }
            lengths.push(input.u32()?);
            Ok(Function {
                name,
                signature,
                captures: is_closure.then_some(captures),
                is_exported: flags & 1 != 0,
                ..Function::default()
            })
        })?;
        Ok(())
    }

    fn signature(&mut self) -> Result<crate::isa::Signature, ReadError> {
        let sig = Sig::decode(&mut self.reader).map_err(|error| self.truncated(error))?;
        Ok(sig.0)
    }

    fn code(&mut self, module: &mut Module, lengths: &[u32]) -> Result<(), ReadError> {
        for (function, &length) in module.functions.iter_mut().zip(lengths) {
            function.code = self.bytes(length as usize)?.to_vec();
        }
        Ok(())
    }

    fn constant(&mut self) -> Result<Constant, ReadError> {
        match self.u8()? {
            0 => Ok(Constant::Text(self.byte_list()?)),
            1 => Ok(Constant::Bytes(self.byte_list()?)),
            2 => Ok(Constant::Ints(self.ints()?)),
            3 => Ok(Constant::Floats(
                self.list(8, |input| input.array().map(f64::from_le_bytes))?,
            )),
            4 => Ok(Constant::Refs(self.refs()?)),
            5 => Ok(Constant::Record {
                tag: u16::from_le_bytes(self.array()?),
                refs: self.refs()?,
                ints: self.ints()?,
            }),
            6 => Ok(Constant::Closure {
                function: self.u32()?,
                refs: self.refs()?,
                ints: self.ints()?,
            }),
            tag => Err(self.error(format!("no kind of constant has the tag {tag}"))),
        }
    }

    fn ints(&mut self) -> Result<Vec<i64>, ReadError> {
        self.list(8, |input| input.array().map(i64::from_le_bytes))
    }

    fn refs(&mut self) -> Result<Vec<ConstRef>, ReadError> {
        self.list(1, Self::reference)
    }

    fn reference(&mut self) -> Result<ConstRef, ReadError> {
        Ok(match self.u8()? {
            0 => ConstRef::Null,
            1 => ConstRef::Immediate(i64::from_le_bytes(self.array()?)),
            2 => ConstRef::Constant(self.u32()?),
            tag => return Err(self.error(format!("no kind of reference has the tag {tag}"))),
        })
    }

    fn globals(&mut self) -> Result<Globals, ReadError> {
        let ints = self.list(12, |input| {
            Ok(Global {
                name: input.text()?,
                value: i64::from_le_bytes(input.array()?),
            })
        })?;
        let refs = self.list(5, |input| {
            Ok(Global {
                name: input.text()?,
                value: input.reference()?,
            })
        })?;
        let globals = Globals { ints, refs };
        // Otherwise what is read would not be written as it was.
        match globals.is_empty() {
            true => Err(self.error("a section of globals without any")),
            false => Ok(globals),
        }
    }

    fn byte_list(&mut self) -> Result<Vec<u8>, ReadError> {
        let length = self.u32()? as usize;
        self.bytes(length).map(<[u8]>::to_vec)
    }

    fn host(&mut self) -> Result<HostImport, ReadError> {
        Ok(HostImport {
            name: self.text()?,
            signature: self.signature()?,
        })
    }

    fn sources(&mut self) -> Result<SourceMap, ReadError> {
        let mut map = SourceMap::new();
        map.names = self.list(4, Self::text)?;
        map.sequences = self.list(4, |input| input.list(4, |input| input.u32().map(SourceId)))?;
        map.sources = self.list(8, |input| {
            Ok(Source {
                name: NameId(input.u32()?),
                successors: SourceSeqId(input.u32()?),
            })
        })?;
        map.validate()
            .map_err(|error| self.error(error.to_string()))?;
        Ok(map)
    }

    fn lines(&mut self, module: &mut Module) -> Result<(), ReadError> {
        module.files = self.list(4, Self::text)?;
        let files = module.files.len();
        for function in &mut module.functions {
            let mut least_offset = 0;
            function.lines = self.list(12, |input| {
                let entry = LineEntry {
                    offset: input.u32()?,
                    file: input.u32()?,
                    line: input.u32()?,
                };
                if entry.file as usize >= files {
                    return Err(input.error(format!("no file has the index {}", entry.file)));
                }
                if entry.offset < least_offset {
                    return Err(input.error("a line table's offsets must rise"));
                }
                least_offset = entry.offset;
                Ok(entry)
            })?;
        }
        Ok(())
    }

    fn handlers(&mut self, module: &mut Module) -> Result<(), ReadError> {
        for function in &mut module.functions {
            function.handlers = self.list(13, |input| {
                Ok(HandlerRange {
                    start: input.u32()?,
                    end: input.u32()?,
                    target: input.u32()?,
                    register: input.u8()?,
                })
            })?;
        }
        Ok(())
    }
}
