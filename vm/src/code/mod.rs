//! Threaded code: what it is. The loader makes it, the interpreter runs it, and everything between
//! the two reads it.
//!
//! | module | what it holds |
//! |---|---|
//! | `word` | words of code and control frames |
//! | `contexts` | the way from a call's context to those of its local control stacks |
//! | `program` | a loaded program, its functions, and the ops that words came from |
//! | `sites` | what stands for ops, and for callers, in call stacks of memory profiles |
//! | `stubs` | words that belong to no function |

mod contexts;
mod program;
mod sites;
mod stubs;
mod word;

pub(crate) use contexts::{FrameContexts, OpenContext};
pub use program::Location;
pub(crate) use program::{
    BARRIER, CALLBACK, ExceptionHandler, Globals, LoadedFunction, LoadedProgram, Program,
    base_source,
};
pub(crate) use sites::{ReturnTo, Site};
pub(crate) use word::{DataWord, Frame, Handler, NodeWord, OpWord, OpaqueContext, Pc, Word};

use crate::isa::Signature;

/// What calls and returns do for a profile, besides counting; see `interp::handlers::mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing.
    Off,
    /// They publish nodes that are known when the code is loaded.
    Current,
    /// They publish contexts, which are found when the code runs.
    Stack,
}

/// A signature as a closure call's word holds it.
pub(crate) fn signature_word(sig: Signature) -> u32 {
    u32::from_le_bytes([
        sig.int_params,
        sig.ref_params,
        sig.int_results,
        sig.ref_results,
    ])
}
