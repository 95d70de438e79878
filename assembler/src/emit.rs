//! Programs to modules: labels become offsets, and what stands around the code is filled in.

use profiler::{SourceMap, SourceMapBuilder, SourceSeqId};
use vm::isa::Op;
use vm::module::{Function as CodeFunction, HandlerRange, LineEntry, Module};
use vm::verify::{VerifiedModule, VerifyError, VerifyErrorKind, verify};

use crate::diagnostic::{Diagnostic, Span, keep};
use crate::ir::*;
use crate::successors::fill_successors;

/// Where each op of a function comes from, by rising offset.
type OpSpans = Vec<(u32, Span)>;

/// Emits a program whose calls have been lowered, and verifies it.
pub(crate) fn emit_verified(program: &Program) -> Result<VerifiedModule, Vec<Diagnostic>> {
    let Emitted {
        module,
        spans,
        errors,
    } = emit(program);
    if !errors.is_empty() {
        return Err(errors);
    }
    let verified = verify(module).map_err(|errors| {
        errors
            .iter()
            .map(|error| diagnose(program, &spans, error))
            .collect::<Vec<_>>()
    })?;
    if program.fixed_sources.is_some() {
        return Ok(verified);
    }
    let sources = fill_successors(&verified);
    let filled = verified.with_sources(sources);
    Ok(filled.expect("a map made of the module's sources has as many"))
}

/// Emits what can be emitted of a program, for those who want to look at it.
pub(crate) fn emit_unchecked(program: &Program) -> Module {
    emit(program).module
}

struct Emitted {
    module: Module,
    spans: Vec<OpSpans>,
    errors: Vec<Diagnostic>,
}

fn emit(program: &Program) -> Emitted {
    let mut module = Module {
        entry: program.entry,
        constants: program.constants.clone(),
        globals: program.globals.clone(),
        hosts: program.hosts.clone(),
        sources: source_map(&program.sources),
        metadata: program.metadata.clone(),
        ..Module::default()
    };
    if let Some(sources) = &program.fixed_sources {
        module.sources = sources.clone();
    }
    let mut files = Files::new(program);
    let mut spans = Vec::with_capacity(program.functions.len());
    let mut errors = Vec::new();
    for function in &program.functions {
        match emit_function(program, function, &mut files) {
            Ok((function, op_spans)) => {
                module.functions.push(function);
                spans.push(op_spans);
            }
            Err(error) => keep(&mut errors, error),
        }
    }
    module.files = files.names;
    Emitted {
        module,
        spans,
        errors,
    }
}

/// The map of the fixed sources and these, with nothing known of who calls whom.
pub(crate) fn source_map(sources: &[SourceName]) -> SourceMap {
    let mut builder = SourceMapBuilder::new();
    for source in sources {
        let name = builder.add_name(&source.0);
        builder.add_source(name, SourceSeqId::EMPTY);
    }
    builder.map().clone()
}

/// An error of the verifier, where its op came from.
fn diagnose(program: &Program, spans: &[OpSpans], error: &VerifyError) -> Diagnostic {
    let Some(function) = program.functions.get(error.function as usize) else {
        return Diagnostic::new(Span::default(), error.kind.to_string());
    };
    let ops = spans
        .get(error.function as usize)
        .map_or(&[][..], Vec::as_slice);
    let after = ops.partition_point(|&(offset, _)| offset <= error.offset);
    let span = after
        .checked_sub(1)
        .map_or(function.span, |index| ops[index].1);
    let diagnostic = Diagnostic::new(span, format!("in `{}`: {}", function.name, error.kind));
    match error.kind {
        // What a builder made has no text, and is told in the builder's terms.
        VerifyErrorKind::NoEnd if span != Span::default() => diagnostic.with_help(
            "behind this op nothing stands: end with `ret`, `raise`, a jump or a tail call",
        ),
        _ => diagnostic,
    }
}

/// The file table: as the text gives it, or the files that lines name, in the order of their
/// first use.
struct Files<'a> {
    program: &'a Program,
    indices: Vec<Option<u32>>,
    names: Vec<String>,
}

impl<'a> Files<'a> {
    fn new(program: &'a Program) -> Self {
        if program.has_fixed_files {
            let indices = (0..program.files.len() as u32).map(Some).collect();
            return Self {
                program,
                indices,
                names: program.files.clone(),
            };
        }
        Self {
            program,
            indices: vec![None; program.files.len()],
            names: Vec::new(),
        }
    }

    /// The index of a file in the table; `None` for one that a builder never declared.
    fn index(&mut self, file: u32) -> Option<u32> {
        let slot = self.indices.get_mut(file as usize)?;
        Some(*slot.get_or_insert_with(|| {
            self.names.push(self.program.files[file as usize].clone());
            self.names.len() as u32 - 1
        }))
    }
}

fn emit_function(
    program: &Program,
    function: &Function,
    files: &mut Files<'_>,
) -> Result<(CodeFunction, OpSpans), Diagnostic> {
    let (offsets, code_bytes) = block_offsets(function)?;
    // What a label that was never bound stands for, only somebody sees who looks at a program that
    // was refused.
    let offset_of = |block: u32| offsets.get(block as usize).copied().unwrap_or(u32::MAX);
    let mut code = Vec::with_capacity(code_bytes);
    let mut lines = Vec::new();
    let mut spans = Vec::new();
    let mut last = None;
    for instr in function
        .layout
        .iter()
        .flat_map(|&block| &function.blocks[block as usize].instrs)
    {
        let offset = code.len() as u32;
        let mut line_entry = |location: Location| {
            let line = location.line;
            lines.extend(
                files
                    .index(location.file)
                    .map(|file| LineEntry { offset, file, line }),
            );
        };
        match &instr.action {
            Action::Op(op) => {
                let is_new = instr.location.is_some() && instr.location != last;
                if let Some(location) = instr
                    .location
                    .filter(|_| is_new && !program.is_instrumented)
                {
                    line_entry(location);
                    last = instr.location;
                }
                spans.push((offset, instr.span));
                match has_targets(op) {
                    true => map_targets(op, offset_of).encode(&mut code),
                    false => op.encode(&mut code),
                }
            }
            Action::Line(location) => line_entry(*location),
            _ => {}
        }
    }
    let handlers = function.handlers.iter().map(|handler| HandlerRange {
        start: offset_of(handler.start),
        end: offset_of(handler.end),
        target: offset_of(handler.target),
        register: handler.register,
    });
    // An empty range handles nothing; `shrink` may have emptied it.
    let handlers = handlers
        .filter(|range| program.is_instrumented || range.start != range.end)
        .collect();
    let function = CodeFunction {
        name: function.name.clone(),
        signature: function.signature,
        captures: function.captures,
        is_exported: function.is_exported,
        code,
        handlers,
        lines: function.fixed_lines.clone().unwrap_or(lines),
    };
    Ok((function, spans))
}

/// The offset of each block, and of the end; targets have no influence on an op's length.
fn block_offsets(function: &Function) -> Result<(Vec<u32>, usize), Diagnostic> {
    let mut offsets = vec![0; function.blocks.len()];
    let mut offset = 0_usize;
    let mut bytes = Vec::new();
    let mut length = |op: &Op| {
        bytes.clear();
        op.encode(&mut bytes);
        bytes.len()
    };
    for &block in &function.layout {
        offsets[block as usize] = u32::try_from(offset).unwrap_or(u32::MAX);
        for instr in &function.blocks[block as usize].instrs {
            if let Action::Op(op) = &instr.action {
                offset += length(op);
            }
        }
    }
    match u32::try_from(offset) {
        Ok(_) => Ok((offsets, offset)),
        Err(_) => {
            let message = format!("the code of `{}` needs 4 GiB or more", function.name);
            Err(Diagnostic::new(function.span, message))
        }
    }
}
