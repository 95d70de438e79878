//! What is wrong with a module that is built, and where.

use std::fmt;

use super::{FileId, ModuleBuilder};
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{Action, Function, Location, Program};
use crate::{emit, pass, print};

/// Why a module cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// What is wrong, as a clause that names the function.
    pub message: String,
    /// The function.
    pub function: Option<String>,
    /// The block, by the number of the label that begins it.
    pub block: Option<u32>,
    /// The mnemonic of the op, or the method of [`Body`](super::Body) that adds it.
    pub op: Option<String>,
    /// The file and line that `at_line` gave last.
    pub location: Option<(String, u32)>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut parts = Vec::new();
        parts.extend(self.op.as_ref().map(|op| format!("`{op}`")));
        parts.extend(self.block.map(|block| format!("block {block}")));
        let location = self.location.as_ref();
        parts.extend(location.map(|(file, line)| format!("{file}:{line}")));
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", parts.join(", ")),
        }
    }
}

impl std::error::Error for BuildError {}

/// A module that was refused: what is wrong, and what there is of it.
///
/// ```
/// # use assembler::builder::ModuleBuilder;
/// # let mut module = ModuleBuilder::new(&Default::default());
/// # module.set_library();
/// # let f = module.declare("f", Default::default());
/// # let mut b = module.body(f);
/// b.add(1, 2)?; // and nothing behind it
/// module.define_body(b);
/// let rejection = module.finish().expect_err("control runs off the end");
/// assert_eq!(rejection.errors[0].function.as_deref(), Some("f"));
/// assert_eq!(rejection.errors[0].op.as_deref(), Some("add_imm"));
/// assert!(rejection.dump().contains("i0 = add_imm i0, 2"));
/// # Ok::<(), assembler::builder::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rejection {
    /// What is wrong; at least one error.
    pub errors: Vec<BuildError>,
    pub(super) program: Box<Program>,
}

impl Rejection {
    /// The canonical text of the module as far as it can be printed. Calls for which there is no
    /// room, and functions whose variables found no registers, are missing.
    pub fn dump(&self) -> String {
        let mut program = (*self.program).clone();
        // What cannot be lowered is left out.
        let _ = pass::lower_calls(&mut program);
        print::print(&emit::emit_unchecked(&program))
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.errors.iter().map(BuildError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Rejection {}

/// Where an instruction of a builder stands. Without a text, an instruction's span is the number
/// of its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    function: u32,
    /// The block and the mnemonic; none for the function itself.
    op: Option<(u32, &'static str)>,
    location: Option<Location>,
}

fn mnemonic(action: &Action) -> &'static str {
    match action {
        Action::Op(op) => op.opcode().info().mnemonic,
        Action::Call(_) => "call",
        Action::TailCall(..) => "tail_call",
        Action::Ret(_) => "ret",
        Action::BeginBranch(_) => "begin_branch",
        Action::EndBranch => "end_branch",
        Action::Line(_) => "line_entry",
    }
}

/// Where a method of a builder was called that adds no op, or would have added one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) block: u32,
    pub(super) op: &'static str,
    pub(super) location: Option<Location>,
}

fn add(origins: &mut Vec<Origin>, origin: Origin) -> Span {
    origins.push(origin);
    let number = u32::try_from(origins.len()).unwrap_or(0);
    Span {
        start: number,
        end: number,
    }
}

/// Numbers a place in a function.
pub(super) fn number_place(origins: &mut Vec<Origin>, function: u32, place: Place) -> Span {
    let Place {
        block,
        op,
        location,
    } = place;
    add(
        origins,
        Origin {
            function,
            op: Some((block, op)),
            location,
        },
    )
}

/// Numbers a function, and its instructions.
pub(super) fn number(origins: &mut Vec<Origin>, id: u32, function: &mut Function) {
    number_function(origins, id, function);
    for (block, list) in (0..).zip(&mut function.blocks) {
        for instr in &mut list.instrs {
            let place = Place {
                block,
                op: mnemonic(&instr.action),
                location: instr.location,
            };
            instr.span = number_place(origins, id, place);
        }
    }
}

/// Numbers a function.
pub(super) fn number_function(origins: &mut Vec<Origin>, id: u32, function: &mut Function) {
    let origin = Origin {
        function: id,
        op: None,
        location: function.location,
    };
    function.span = add(origins, origin);
}

/// Whether a message begins with the function that it is about.
fn names(message: &str, function: &str) -> bool {
    let rest = message.strip_prefix("in ").unwrap_or(message);
    let rest = rest.strip_prefix('`');
    let rest = rest.and_then(|rest| rest.strip_prefix(function));
    rest.is_some_and(|rest| rest.starts_with('`'))
}

impl ModuleBuilder {
    /// An error with the place that its span stands for.
    pub(super) fn located(&self, error: Diagnostic) -> BuildError {
        let index = (error.span.start as usize).checked_sub(1);
        let origin = index.and_then(|index| self.origins.get(index));
        let function =
            origin.and_then(|origin| self.program.functions.get(origin.function as usize));
        let function = function.map(|function| &function.name);
        let message = match error.help {
            Some(help) => format!("{}; {help}", error.message),
            None => error.message,
        };
        let message = match function {
            Some(name) if !names(&message, name) => format!("in `{name}`: {message}"),
            _ => message,
        };
        let location = origin.and_then(|origin| origin.location);
        BuildError {
            message,
            function: function.cloned(),
            block: origin.and_then(|origin| Some(origin.op?.0)),
            op: origin.and_then(|origin| Some(origin.op?.1.to_owned())),
            location: location.and_then(|at| Some((self.file_name(FileId(at.file))?, at.line))),
        }
    }
}

impl BuildError {
    /// An error that is no function's.
    pub(super) fn of_module(message: String) -> Self {
        Self {
            message,
            function: None,
            block: None,
            op: None,
            location: None,
        }
    }
}
