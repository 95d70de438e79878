//! Names to indices and registers: statements to calls of the builder.
//!
//! A first walk declares everything that has a name of its own, so that functions may be called
//! before they stand; a second one defines the functions.

mod body;
mod declare;
mod literal;
mod operand;
mod sugar;

use std::collections::HashMap;

use vm::module::LineEntry;

use crate::AssembleOptions;
use crate::builder::{Class, FileId, FunctionId, ModuleBuilder};
use crate::diagnostic::{Diagnostic, LineIndex, MAX_KEPT, Span, keep};
use crate::ir::MAX_NAME_BYTES;
use crate::syntax::*;

/// The builder of all that a text says; what is wrong with it is among the builder's errors.
pub(crate) fn lower(text: &str, statements: &[Stmt], options: &AssembleOptions) -> ModuleBuilder {
    let mut module = ModuleBuilder::new(options);
    let file = if is_instrumented(statements) {
        module.set_instrumented();
        None
    } else {
        Some(options.file_name.clone())
    };
    let mut lowerer = Lowerer {
        module,
        names: Names::default(),
        lines: LineIndex::new(text),
        place: Place { file, line: None },
    };
    lowerer.declare_all(statements, "");
    lowerer.resolve_names();
    lowerer.define_all(statements);
    lowerer.module
}

fn is_instrumented(statements: &[Stmt]) -> bool {
    statements.iter().any(|statement| {
        matches!(&statement.kind, StmtKind::Directive { name, .. } if name.text == "instrumented")
    })
}

/// What is known of a function before it is defined.
#[derive(Clone)]
pub(crate) struct FunctionEntry {
    id: FunctionId,
    params: Vec<Kind>,
    results: Vec<Kind>,
    /// The classes of its captures, if it is a closure's function.
    captures: Option<Vec<Kind>>,
}

/// What is known of a host function.
#[derive(Clone)]
pub(crate) struct HostEntry {
    id: u32,
    params: Vec<Kind>,
    results: Vec<Kind>,
}

/// All names of the module.
#[derive(Default)]
pub(crate) struct Names {
    functions: HashMap<String, FunctionEntry>,
    hosts: HashMap<String, HostEntry>,
    constants: HashMap<String, u32>,
    /// Constant closures, by the index of the constant, and the function that each names.
    closures: Vec<(u32, Arg)>,
    /// What global references hold at the start, by the index of the global.
    first_values: Vec<(u32, Arg)>,
    /// Globals of both classes, by name: the index within the class.
    globals: HashMap<String, (Class, u32)>,
    sources: HashMap<String, u32>,
    /// The id and full name of each function, by where its name stands in the text.
    ids: HashMap<u32, (FunctionId, String)>,
}

/// Where statements come from.
#[derive(Clone)]
pub(crate) struct Place {
    /// `None` until an instrumented text names a file.
    file: Option<String>,
    /// `None` is the line in the text.
    line: Option<u32>,
}

pub(crate) struct Lowerer {
    module: ModuleBuilder,
    names: Names,
    lines: LineIndex,
    place: Place,
}

/// The result of looking at one thing, or why it is wrong.
pub(crate) type Lowered<T> = Result<T, Diagnostic>;

impl Lowerer {
    fn report(&mut self, error: Diagnostic) {
        keep(&mut self.module.errors, error);
    }

    /// Whether so much is wrong that nothing more will be reported.
    fn is_full(&self) -> bool {
        self.module.errors.len() >= MAX_KEPT
    }

    fn keep<T>(&mut self, result: Lowered<T>) -> Option<T> {
        result.map_err(|error| self.report(error)).ok()
    }

    fn file(&mut self) -> FileId {
        let name = self.place.file.clone().unwrap_or_default();
        self.module.file(&name)
    }

    fn line_of(&self, span: Span) -> u32 {
        self.place
            .line
            .unwrap_or_else(|| self.lines.line(span.start))
    }

    /// Lowers the statements at the top level.
    fn define_all(&mut self, statements: &[Stmt]) {
        for (index, statement) in statements.iter().enumerate() {
            if self.is_full() {
                return;
            }
            match &statement.kind {
                StmtKind::Fun(fun) => {
                    self.define(fun);
                    self.place.line = None;
                }
                StmtKind::Directive { name, args } => {
                    let result = self.top_directive(name, args, index == 0);
                    self.keep(result);
                }
                StmtKind::Host { .. }
                | StmtKind::Data { .. }
                | StmtKind::Object { .. }
                | StmtKind::Global { .. }
                | StmtKind::Source { .. } => {}
                StmtKind::Label(_) | StmtKind::Try { .. } | StmtKind::Op(_) => {
                    let error = Diagnostic::new(statement.span, "this belongs into a function");
                    self.report(error.with_help("`fun main() { ... }`"));
                }
            }
        }
    }

    fn top_directive(&mut self, name: &Name, args: &[Arg], is_first: bool) -> Lowered<()> {
        const NAMES: [&str; 8] = [
            "branch",
            "entry",
            "file",
            "files",
            "instrumented",
            "line",
            "metadata",
            "sources",
        ];
        match name.text.as_str() {
            "instrumented" => {
                no_args(name, args)?;
                match is_first {
                    true => Ok(()),
                    false => Err(Diagnostic::new(
                        name.span,
                        "`.instrumented` must stand first",
                    )),
                }
            }
            "file" => self.file_directive(name, args),
            "files" | "sources" => Ok(()),
            "line" => self.line_directive(name, args),
            "entry" => {
                let [arg] = args else {
                    return wrong_args(name, "`.entry NAME`");
                };
                let id = self.function_id(arg, "")?;
                self.module.set_entry(id);
                Ok(())
            }
            "metadata" => {
                let [key, value] = args else {
                    return wrong_args(name, "`.metadata \"key\", \"value\"`");
                };
                let (key, value) = (text_of(key)?, text_of(value)?);
                self.module.metadata(&key, &value);
                Ok(())
            }
            "handle" | "branch" | "end_branch" | "lines" => {
                let message = format!("`.{}` belongs into a function", name.text);
                Err(Diagnostic::new(name.span, message))
            }
            other => {
                let error =
                    Diagnostic::new(name.span, format!("no directive is called `.{other}`"));
                Err(error.suggesting(other, NAMES))
            }
        }
    }

    fn file_directive(&mut self, name: &Name, args: &[Arg]) -> Lowered<()> {
        let [arg] = args else {
            return wrong_args(name, "`.file \"name\"`");
        };
        let file = text_of(arg)?;
        // Each function's source names its file again. A text with profiling ops names them itself.
        if file.len() > MAX_NAME_BYTES && !self.module.program.is_instrumented {
            let message = format!("a file's name has at most {MAX_NAME_BYTES} bytes");
            return Err(Diagnostic::new(arg.span, message));
        }
        self.place.file = Some(file);
        Ok(())
    }

    fn line_directive(&mut self, name: &Name, args: &[Arg]) -> Lowered<()> {
        let [arg] = args else {
            return wrong_args(name, "`.line NUMBER`");
        };
        self.place.line = Some(u32_of(arg)?);
        Ok(())
    }
}

fn no_args(name: &Name, args: &[Arg]) -> Lowered<()> {
    match args {
        [] => Ok(()),
        [first, ..] => {
            let message = format!("`.{}` takes no operands", name.text);
            Err(Diagnostic::new(first.span, message))
        }
    }
}

fn wrong_args<T>(name: &Name, form: &str) -> Lowered<T> {
    Err(Diagnostic::new(name.span, format!("`.{}` has another form", name.text)).with_help(form))
}

fn text_of(arg: &Arg) -> Lowered<String> {
    let wrong = || Diagnostic::new(arg.span, "a string of UTF-8 should stand here");
    match &arg.kind {
        ArgKind::Text(bytes) => String::from_utf8(bytes.clone()).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn u32_of(arg: &Arg) -> Lowered<u32> {
    let wrong = || Diagnostic::new(arg.span, "a number from 0 to 2^32 - 1 should stand here");
    match arg.kind {
        ArgKind::Int(value) => u32::try_from(value).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn list_of(arg: &Arg) -> Lowered<&[Arg]> {
    match &arg.kind {
        ArgKind::List(list) => Ok(list),
        _ => Err(Diagnostic::new(
            arg.span,
            "a list in brackets should stand here",
        )),
    }
}

/// A line table as numbers: `[offset, file, line, offset, file, line, ...]`.
fn line_entries(name: &Name, args: &[Arg]) -> Lowered<Vec<LineEntry>> {
    const FORM: &str = "`.lines [offset, file, line, ...]`";
    let [list] = args else {
        return wrong_args(name, FORM);
    };
    let numbers: Vec<u32> = list_of(list)?.iter().map(u32_of).collect::<Lowered<_>>()?;
    if !numbers.len().is_multiple_of(3) {
        return wrong_args(name, FORM);
    }
    let entries = numbers.chunks_exact(3);
    Ok(entries
        .map(|one| LineEntry {
            offset: one[0],
            file: one[1],
            line: one[2],
        })
        .collect())
}
