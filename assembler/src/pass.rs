//! The passes, one to a file, each from program to program, and the table of them.

mod calls;
mod copies;
mod dead;
mod evaluate;
mod fold;
mod forward;
mod inline;
mod instrument;
mod invert;
mod liveness;
mod moves;
mod shrink;
mod thread;
mod values;
mod written;

use vm::verify::{VerifyError, VerifyErrorKind};

use vm::verify::VerifiedModule;

use crate::diagnostic::Diagnostic;
use crate::emit::{emit_unchecked, emit_verified};
use crate::ir::Program;
use crate::{AssembleOptions, OptLevel};

pub(crate) use moves::move_op;

/// A pass of the assembler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassInfo {
    /// Its name, which `--print-after` takes.
    pub name: &'static str,
    /// What it does, as the rest of a sentence that begins with its name.
    pub does: &'static str,
    /// The lowest level at which it runs.
    pub from_level: OptLevel,
}

struct Pass {
    info: PassInfo,
    run: fn(&mut Program, &AssembleOptions) -> Result<(), Vec<Diagnostic>>,
}

const fn pass(
    name: &'static str,
    from_level: OptLevel,
    does: &'static str,
    run: fn(&mut Program, &AssembleOptions) -> Result<(), Vec<Diagnostic>>,
) -> Pass {
    let info = PassInfo {
        name,
        does,
        from_level,
    };
    Pass { info, run }
}

/// A pass that finds nothing wrong.
macro_rules! always {
    ($run:path) => {
        |program, _| {
            $run(program);
            Ok(())
        }
    };
}

/// All passes in the order in which they run.
///
/// - `check` comes first, while registers are still those of the text.
/// - `profile` comes next, while every exit still is where the text put it.
/// - `tail-calls` needs the profiling ops in place, to move them before the calls that it makes
///   tail calls, and the calls still with their arguments.
/// - `inline` comes behind it, so that it sees which calls leave the caller's source first, and
///   copies them as they are: a profile shows the same stacks as without it.
/// - `invert` wants jumps threaded, so that a test that jumps around the end of the loop is seen as
///   one; `fold` comes behind it, because it may decide the test that is left for the first round.
/// - `copies` and `fold` leave dead ops for `dead`, and jumps to the next op for `straighten`.
/// - `windows` comes last: when registers are chosen, nothing may be added that would be alive
///   across a call.
static PASSES: &[Pass] = {
    use OptLevel::{O0, O2};
    &[
        pass(
            "check",
            O0,
            "refuses registers that may be read before they are written",
            |program, _| written::check(program),
        ),
        pass(
            "profile",
            O0,
            "puts `enter` and `leave` around functions and, if asked, branches",
            instrument::run,
        ),
        pass(
            "tail-calls",
            O0,
            "makes tail calls of calls that only a return follows, as far as `tail_calls` says",
            |program, options| {
                shrink::run(program, options.tail_calls);
                Ok(())
            },
        ),
        pass(
            "inline",
            O0,
            "puts small functions in the place of calls, if `inline_ops` says so",
            |program, options| {
                if let Some(max_ops) = options.inline_ops {
                    inline::run(program, max_ops);
                }
                Ok(())
            },
        ),
        pass(
            "thread",
            O2,
            "lets jumps go where control ends up, and returns stand where jumps led to one",
            always!(thread::run),
        ),
        pass(
            "invert",
            O2,
            "puts a loop's test at its end, so that a round takes one jump",
            always!(invert::run),
        ),
        pass(
            "fold",
            O2,
            "computes what is constant, decides jumps, and puts constants into ops",
            always!(fold::run),
        ),
        pass(
            "copies",
            O2,
            "reads what was copied, not the copy, and computes values where they are copied to",
            always!(copies::run),
        ),
        pass(
            "dead",
            O2,
            "removes ops that only write registers that nobody reads",
            always!(dead::run),
        ),
        pass(
            "straighten",
            O2,
            "threads jumps again, behind what the others have left, and copies no returns",
            always!(thread::straighten),
        ),
        pass(
            "windows",
            O0,
            "gives arguments their registers; from level 1 on it computes them there",
            |program, options| calls::run(program, options.opt_level >= OptLevel::O1),
        ),
    ]
};

/// The passes of the assembler in the order in which they run. A text or module whose profiling ops
/// are written out only meets the last one.
pub fn passes() -> impl ExactSizeIterator<Item = &'static PassInfo> {
    PASSES.iter().map(|pass| &pass.info)
}

/// Runs the passes, and shows `watch` what each has left.
///
/// In debug builds each must leave a program that verifies, if it was given one.
pub(crate) fn run_all(
    program: &mut Program,
    options: &AssembleOptions,
    watch: &mut dyn FnMut(&'static PassInfo, &Program),
) -> Result<(), Vec<Diagnostic>> {
    let mut is_valid = cfg!(debug_assertions) && is_small(program) && verifies(program).is_ok();
    let last = PASSES.len() - 1;
    for (index, pass) in PASSES.iter().enumerate() {
        let is_left_alone = program.is_instrumented && index != last;
        if is_left_alone || options.opt_level < pass.info.from_level {
            continue;
        }
        (pass.run)(program, options)?;
        // The last pass is followed by the verifier in any case.
        is_valid &= index != last && is_small(program);
        if is_valid && let Err(problem) = verifies(program) {
            panic!(
                "the pass `{}` has broken the program: {problem}",
                pass.info.name
            );
        }
        watch(&pass.info, program);
    }
    Ok(())
}

/// Gives calls their windows and nothing else, for those who want to look at a program.
pub(crate) fn lower_calls(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    calls::run(program, true)
}

/// A program's text as it is between passes, with calls as the last one would make them.
pub(crate) fn print_between(program: &Program) -> String {
    let mut program = program.clone();
    match lower_calls(&mut program) {
        Ok(()) => {
            let verified = emit_verified(&program).map(VerifiedModule::into_module);
            let module = verified.unwrap_or_else(|_| emit_unchecked(&program));
            crate::print::print(&module)
        }
        Err(errors) => errors
            .iter()
            .map(|error| format!("; {}\n", error.message))
            .collect(),
    }
}

/// Up to how many instructions a program is verified after each pass.
const MAX_VERIFIED_INSTRS: usize = 5_000;

fn is_small(program: &Program) -> bool {
    let blocks = program.functions.iter().flat_map(|one| &one.blocks);
    blocks.map(|block| block.instrs.len()).sum::<usize>() <= MAX_VERIFIED_INSTRS
}

fn verifies(program: &Program) -> Result<(), String> {
    let mut program = program.clone();
    lower_calls(&mut program).map_err(|errors| format!("{errors:?}"))?;
    let verified = vm::verify::verify(emit_unchecked(&program));
    // Where the verifier gives up, the pass is not to blame.
    let is_wrong =
        |error: &VerifyError| !matches!(error.kind, VerifyErrorKind::TooManySteps { .. });
    match verified {
        Err(errors) if errors.iter().any(is_wrong) => Err(format!("{errors:?}")),
        _ => Ok(()),
    }
}
