//! What a module declares besides bodies: callees, constants, functions of other modules.

use std::sync::Arc;

use vm::host::standard_signature;
use vm::isa::{Op, Signature};
use vm::module::{Captures, ConstRef, Constant, Global};

use super::value::{Arg, Callable};
use super::{Body, BuildError, FileId, FunctionId, ModuleBuilder};
use crate::ir::Callee;
use crate::link::EXTERN_KEY;

/// What the function is called with which a library starts, should somebody run it.
const LIBRARY_ENTRY: &str = "<library>";

impl ModuleBuilder {
    /// Starts the body of a function, over variables. Several may grow at once.
    pub fn body(&self, id: FunctionId) -> Body {
        Body::begin(self.function(id), Arc::clone(&self.file_names))
    }

    /// How many registers of a class may hold variables, of 256: with fewer, more are spilled.
    /// Parameters arrive where the caller leaves them, and the windows of calls stand above.
    pub fn set_register_limit(&mut self, limit: usize) {
        self.register_limit = limit.clamp(1, super::MAX_REGISTERS);
    }

    /// A function of the module as a callee.
    ///
    /// # Errors
    /// When there is no such function.
    pub fn callable(&self, function: FunctionId) -> Result<Callable, BuildError> {
        let callee = Callee::Function(function.0);
        match self.program.checked_signature(callee) {
            Ok(signature) => Ok(Callable { callee, signature }),
            Err(message) => Err(BuildError::of_module(message)),
        }
    }

    /// A host function as a callee, which is imported when it is not yet.
    pub fn host_callable(&mut self, name: &str, signature: Signature) -> Callable {
        Callable {
            callee: Callee::Host(self.host(name, signature)),
            signature,
        }
    }

    /// A host function of the standard ones as a callee, by its name.
    ///
    /// # Errors
    /// When none has this name.
    pub fn standard_host(&mut self, name: &str) -> Result<Callable, BuildError> {
        match standard_signature(name) {
            Some(signature) => Ok(self.host_callable(name, signature)),
            None => {
                let message = format!("no standard host function is called `{name}`");
                Err(BuildError::of_module(message))
            }
        }
    }

    /// A constant string as an operand.
    pub fn text(&mut self, text: impl AsRef<[u8]>) -> Arg {
        Arg::Constant(self.constant(Constant::Text(text.as_ref().to_vec())))
    }

    /// A constant as an operand: a record, a closure or an array that is shared and immutable.
    ///
    /// ```
    /// use assembler::{AssembleOptions, builder::ModuleBuilder};
    /// use vm::module::{ConstRef, Constant};
    /// let mut module = ModuleBuilder::new(&AssembleOptions::default());
    /// let pair = Constant::Record { tag: 1, refs: vec![ConstRef::Null], ints: vec![5] };
    /// assert_eq!(module.object(pair.clone()), module.object(pair));
    /// ```
    pub fn object(&mut self, constant: Constant) -> Arg {
        Arg::Object(self.constant(constant))
    }

    /// A global word as an operand of `ld_gi` and `st_gi`; a double is given as its bits. When
    /// modules are linked, globals of one name are one.
    pub fn int_global(&mut self, name: &str, value: i64) -> Arg {
        let globals = &mut self.program.globals.ints;
        let name = name.to_owned();
        globals.push(Global { name, value });
        Arg::IntGlobal(globals.len() as u32 - 1)
    }

    /// A global reference as an operand of `ld_gr` and `st_gr`.
    pub fn ref_global(&mut self, name: &str, value: ConstRef) -> Arg {
        let globals = &mut self.program.globals.refs;
        let name = name.to_owned();
        globals.push(Global { name, value });
        Arg::RefGlobal(globals.len() as u32 - 1)
    }

    /// Leaves a function without a profiling source: its callers are charged for it, as MLton does
    /// for the outer lambdas of curried functions.
    pub fn set_unprofiled(&mut self, function: FunctionId) {
        if let Some(function) = self.program.functions.get_mut(function.0 as usize) {
            function.is_unprofiled = true;
        }
    }

    /// A function of another module, by its name: [`link`](fn@crate::link::link) puts it in place.
    /// It has no body here.
    pub fn declare_extern(
        &mut self,
        name: &str,
        signature: Signature,
        captures: Option<Captures>,
    ) -> FunctionId {
        let id = match captures {
            Some(captures) => self.declare_closure(name, signature, captures),
            None => self.declare(name, signature),
        };
        self.set_unprofiled(id);
        self.metadata(&format!("{EXTERN_KEY}{name}"), "");
        let mut builder = self.function(id);
        builder.op(Op::MatchFail {});
        self.define(builder);
        id
    }

    /// Says that the module is to be linked with others, so that it needs no entry. Run by itself
    /// it does nothing.
    pub fn set_library(&mut self) {
        self.is_library = true;
    }

    pub(super) fn add_library_entry(&mut self) {
        let id = self.declare(LIBRARY_ENTRY, Signature::default());
        self.set_entry(id);
        let mut builder = self.function(id);
        builder.ret(&[]);
        self.define(builder);
    }

    pub(super) fn file_name(&self, file: FileId) -> Option<String> {
        self.program.files.get(file.0 as usize).cloned()
    }
}
