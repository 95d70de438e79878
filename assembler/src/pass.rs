//! The passes, one to a file, each from program to program.

mod calls;
mod forward;
mod inline;
mod instrument;
mod liveness;
mod moves;
mod shrink;
mod written;

use crate::AssembleOptions;
use crate::diagnostic::Diagnostic;
use crate::ir::Program;

pub(crate) use calls::run as lower_calls;
pub(crate) use moves::move_op;

/// Runs the passes in their order.
///
/// - `written` only looks, while registers are still those of the text.
/// - `instrument` comes next, while every exit still is where the text put it.
/// - `shrink` needs the profiling ops in place, to move them before the calls that it makes tail
///   calls, and the calls still with their arguments.
/// - `inline` comes behind it, so that it sees which calls leave the caller's source first, and
///   copies them as they are: a profile shows the same stacks as without it.
/// - `calls` comes last: when registers are chosen, nothing may be added that would be alive
///   across a call.
pub(crate) fn run_all(
    program: &mut Program,
    options: &AssembleOptions,
) -> Result<(), Vec<Diagnostic>> {
    if !program.is_instrumented {
        written::check(program)?;
        instrument::run(program, options)?;
        shrink::run(program, options.tail_calls);
        if let Some(max_ops) = options.inline_ops {
            inline::run(program, max_ops);
        }
    }
    calls::run(program)
}
