//! The verifier. What it proves, the loader and the interpreter rest on:
//!
//! 1. Every op decodes, every index names something that exists and has the right shape, and every
//!    target is the offset of an op (`operands.rs`).
//! 2. Control never runs off the end of a function.
//! 3. No register is read before it is written on every path, a handler's paths included; so a
//!    run's result cannot depend on what an earlier call left behind (`flow.rs`).
//! 4. Enter and Leave nest on every path, paths join with equal stacks, and nothing is open where
//!    a function is left (`flow.rs`). This is MLton's `checkProf`.
//!
//! Memory safety needs only the first two: a raw word can never become a reference, because the
//! register classes do not mix. There is no pruning and no range tracking; one pass over each
//! function's blocks, repeated while a block's entry state still changes.

mod constants;
mod control_stack;
mod covering;
mod error;
mod flow;
mod offsets;
mod operands;
mod positions;
mod registers;
mod settle;
#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::sync::Arc;

use profiler::SourceMap;

pub use control_stack::{ControlStackId, ControlStacks};
pub use error::{Register, VerifyError, VerifyErrorKind};
use offsets::OpStarts;

use crate::isa::{Op, Role};
use crate::module::Module;

/// The most errors that are reported of one module.
const MAX_ERRORS: usize = 20;

/// A function's ops and what the verifier learned of them.
#[derive(Clone, Debug)]
pub struct FunctionFacts {
    /// The decoded ops, in order.
    pub ops: Vec<Op>,
    /// The offset of each op, in bytes, and of the function's end.
    pub offsets: Vec<u32>,
    starts: OpStarts,
    /// The local control stack before each op; `None` where control never comes.
    pub stacks: Vec<Option<ControlStackId>>,
    /// For each handler range, the local control stack at which its handler starts.
    pub handler_stacks: Vec<Option<ControlStackId>>,
    /// All local control stacks of the function.
    pub control_stacks: ControlStacks,
    /// One more than the highest `r` register that any op of the function touches.
    pub ref_registers: u16,
}

impl FunctionFacts {
    /// The index of the op at `offset`.
    pub fn op_at(&self, offset: u32) -> Option<usize> {
        self.starts.index_of(offset)
    }
}

/// Whether an exception may come from an op: it raises, or jumps backward or by a table, and so
/// looks whether attention is wanted. A snapshot may have collected then.
fn may_raise(op: &Op, offset: u32) -> bool {
    let info = op.opcode().info();
    let mut may_raise = info.may_raise() || info.names(Role::Targets);
    op.visit_targets(&mut |target| may_raise |= target <= offset);
    may_raise
}

/// A module that has passed the verifier, with what it learned. There is no other way to make one.
/// A clone is the same module, which the two share.
#[derive(Clone, Debug)]
pub struct VerifiedModule(Arc<Verified>);

#[derive(Clone, Debug)]
struct Verified {
    module: Module,
    facts: Vec<FunctionFacts>,
}

impl VerifiedModule {
    /// What the verifier learned of each function, by index.
    pub fn facts(&self) -> &[FunctionFacts] {
        &self.0.facts
    }

    /// The module itself.
    pub fn into_module(self) -> Module {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.module.clone(), |own| own.module)
    }

    /// Whether two are the same module, not only equal ones.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The same module with another map of sources, which says who may call whom; `None` when the
    /// map is not sound or has another number of sources.
    ///
    /// Code names sources by number alone. So what was proved of it holds with any such map, and
    /// nothing is verified again.
    pub fn with_sources(self, sources: SourceMap) -> Option<Self> {
        let n_known = self.sources.sources.len();
        if sources.validate().is_err() || sources.sources.len() != n_known {
            return None;
        }
        let mut own = Arc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone());
        own.module.sources = sources;
        Some(Self(Arc::new(own)))
    }
}

impl Deref for VerifiedModule {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.0.module
    }
}

/// Verifies a module, or says what is wrong with it: at most 20 errors, in the order of the code.
pub fn verify(module: Module) -> Result<VerifiedModule, Vec<VerifyError>> {
    let mut errors = Vec::new();
    if let Err(error) = operands::check_module(&module) {
        return Err(vec![error]);
    }
    let mut facts = Vec::with_capacity(module.functions.len());
    for index in 0..module.functions.len() as u32 {
        match verify_function(&module, index) {
            Ok(learned) => facts.push(learned),
            Err(found) => errors.extend(found),
        }
        if errors.len() >= MAX_ERRORS {
            errors.truncate(MAX_ERRORS);
            break;
        }
    }
    if errors.is_empty() {
        Ok(VerifiedModule(Arc::new(Verified { module, facts })))
    } else {
        Err(errors)
    }
}

fn verify_function(module: &Module, index: u32) -> Result<FunctionFacts, Vec<VerifyError>> {
    let decoded = operands::check_function(module, index)?;
    flow::check_function(module, index, decoded).map_err(|error| vec![error])
}
