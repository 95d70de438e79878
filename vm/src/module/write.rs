//! Modules to bytes. See `docs/bc-format.md`; `read.rs` is the other direction.

use profiler::SourceMap;

use super::{ConstRef, Constant, Function, MAGIC, Module, VERSION};
use crate::isa::Encoded;

/// The first line of a written module, by which an executable `.bc` file runs by itself.
pub const INTERPRETER_LINE: &[u8] = b"#!/usr/bin/env vm\n";

/// Kinds of section, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Section {
    Functions = 1,
    Code = 2,
    Constants = 3,
    Hosts = 4,
    Sources = 5,
    Lines = 6,
    Handlers = 7,
    Metadata = 8,
    /// Left out when there are no globals, as in files that older assemblers have written.
    Globals = 9,
}

impl Section {
    /// All sections, in the order in which they stand in a file.
    pub(super) const ALL: [Self; 9] = [
        Self::Functions,
        Self::Code,
        Self::Constants,
        Self::Hosts,
        Self::Sources,
        Self::Lines,
        Self::Handlers,
        Self::Metadata,
        Self::Globals,
    ];

    /// The sections of a file with globals, or without.
    pub(super) fn of_file(has_globals: bool) -> &'static [Self] {
        const WITHOUT_GLOBALS: usize = Section::ALL.len() - 1;
        match has_globals {
            true => &Self::ALL,
            false => &Self::ALL[..WITHOUT_GLOBALS],
        }
    }
}

/// The bytes of a `.bc` file, `#!` line included.
pub fn write(module: &Module) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(INTERPRETER_LINE);
    out.extend_from_slice(&MAGIC);
    put_u16(&mut out, VERSION);
    let sections = Section::of_file(!module.globals.is_empty());
    put_u16(&mut out, sections.len() as u16);
    for &section in sections {
        let mut body = Vec::new();
        match section {
            Section::Functions => write_functions(module, &mut body),
            Section::Code => {
                module
                    .functions
                    .iter()
                    .for_each(|function| body.extend_from_slice(&function.code));
            }
            Section::Constants => write_constants(&module.constants, &mut body),
            Section::Hosts => write_hosts(module, &mut body),
            Section::Sources => write_sources(&module.sources, &mut body),
            Section::Lines => write_lines(module, &mut body),
            Section::Handlers => write_handlers(&module.functions, &mut body),
            Section::Metadata => write_metadata(module, &mut body),
            Section::Globals => write_globals(module, &mut body),
        }
        out.push(section as u8);
        put_count(&mut out, body.len());
        put_u32(&mut out, crc32fast::hash(&body));
        out.extend_from_slice(&body);
    }
    out
}

fn write_functions(module: &Module, out: &mut Vec<u8>) {
    put_u32(out, module.entry);
    put_count(out, module.functions.len());
    for function in &module.functions {
        put_text(out, &function.name);
        crate::isa::Sig(function.signature).encode(out);
        out.push(function.is_exported as u8 | (function.captures.is_some() as u8) << 1);
        let captures = function.captures.unwrap_or_default();
        out.extend([captures.refs, captures.ints]);
        put_count(out, function.code.len());
    }
}

fn write_constants(constants: &[Constant], out: &mut Vec<u8>) {
    put_count(out, constants.len());
    for constant in constants {
        match constant {
            Constant::Text(bytes) => put_constant(out, 0, bytes, |byte| [*byte]),
            Constant::Bytes(bytes) => put_constant(out, 1, bytes, |byte| [*byte]),
            Constant::Ints(values) => put_constant(out, 2, values, |value| value.to_le_bytes()),
            Constant::Floats(values) => put_constant(out, 3, values, |value| value.to_le_bytes()),
            Constant::Refs(refs) => {
                out.push(4);
                put_refs(out, refs);
            }
            Constant::Record { tag, refs, ints } => {
                out.push(5);
                put_u16(out, *tag);
                put_refs(out, refs);
                put_ints(out, ints);
            }
            Constant::Closure {
                function,
                refs,
                ints,
            } => {
                out.push(6);
                put_u32(out, *function);
                put_refs(out, refs);
                put_ints(out, ints);
            }
        }
    }
}

fn put_refs(out: &mut Vec<u8>, refs: &[ConstRef]) {
    put_count(out, refs.len());
    refs.iter().for_each(|&one| put_ref(out, one));
}

fn put_ref(out: &mut Vec<u8>, reference: ConstRef) {
    match reference {
        ConstRef::Null => out.push(0),
        ConstRef::Immediate(number) => {
            out.push(1);
            out.extend_from_slice(&number.to_le_bytes());
        }
        ConstRef::Constant(index) => {
            out.push(2);
            put_u32(out, index);
        }
    }
}

fn put_ints(out: &mut Vec<u8>, ints: &[i64]) {
    put_count(out, ints.len());
    ints.iter()
        .for_each(|one| out.extend_from_slice(&one.to_le_bytes()));
}

fn write_globals(module: &Module, out: &mut Vec<u8>) {
    put_count(out, module.globals.ints.len());
    for global in &module.globals.ints {
        put_text(out, &global.name);
        out.extend_from_slice(&global.value.to_le_bytes());
    }
    put_count(out, module.globals.refs.len());
    for global in &module.globals.refs {
        put_text(out, &global.name);
        put_ref(out, global.value);
    }
}

fn put_constant<T, const N: usize>(
    out: &mut Vec<u8>,
    tag: u8,
    items: &[T],
    bytes: impl Fn(&T) -> [u8; N],
) {
    out.push(tag);
    put_count(out, items.len());
    items
        .iter()
        .for_each(|item| out.extend_from_slice(&bytes(item)));
}

fn write_hosts(module: &Module, out: &mut Vec<u8>) {
    put_count(out, module.hosts.len());
    for host in &module.hosts {
        put_text(out, &host.name);
        crate::isa::Sig(host.signature).encode(out);
    }
}

pub(super) fn write_sources(sources: &SourceMap, out: &mut Vec<u8>) {
    put_count(out, sources.names.len());
    sources.names.iter().for_each(|name| put_text(out, name));
    put_count(out, sources.sequences.len());
    for sequence in &sources.sequences {
        put_count(out, sequence.len());
        sequence.iter().for_each(|source| put_u32(out, source.0));
    }
    put_count(out, sources.sources.len());
    for source in &sources.sources {
        put_u32(out, source.name.0);
        put_u32(out, source.successors.0);
    }
}

fn write_lines(module: &Module, out: &mut Vec<u8>) {
    put_count(out, module.files.len());
    module.files.iter().for_each(|file| put_text(out, file));
    for function in &module.functions {
        put_count(out, function.lines.len());
        for entry in &function.lines {
            put_u32(out, entry.offset);
            put_u32(out, entry.file);
            put_u32(out, entry.line);
        }
    }
}

fn write_handlers(functions: &[Function], out: &mut Vec<u8>) {
    for function in functions {
        put_count(out, function.handlers.len());
        for range in &function.handlers {
            put_u32(out, range.start);
            put_u32(out, range.end);
            put_u32(out, range.target);
            out.push(range.register);
        }
    }
}

fn write_metadata(module: &Module, out: &mut Vec<u8>) {
    put_count(out, module.metadata.len());
    for (key, value) in &module.metadata {
        put_text(out, key);
        put_text(out, value);
    }
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Counts and lengths are 32 bits: a module of 4 GiB is refused where it is built, not here.
fn put_count(out: &mut Vec<u8>, count: usize) {
    debug_assert!(
        u32::try_from(count).is_ok(),
        "sections hold less than 4 GiB"
    );
    put_u32(out, count as u32);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}
