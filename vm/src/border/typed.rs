//! Functions of programs with Rust's types.

use std::fmt;
use std::marker::PhantomData;

use super::access::{Call, callee};
use super::convert::signature;
use super::{CallError, FromProgram, Reach, RunError, ToProgram};
use crate::isa::Signature;
use crate::module::Function;
use crate::verify::VerifiedModule;

/// A function of a program that takes `P`, a tuple, and gives `R`. Its signature was checked when
/// it was looked up ([`Access::typed`](super::Access::typed)), so calls need not check it again. It
/// can be called on every machine that runs the program, and on no other.
pub struct TypedFunction<P, R> {
    module: VerifiedModule,
    call: Call,
    types: PhantomData<fn(P) -> R>,
}

impl<P, R> Clone for TypedFunction<P, R> {
    fn clone(&self) -> Self {
        Self {
            module: self.module.clone(),
            ..*self
        }
    }
}

impl<P, R> fmt::Debug for TypedFunction<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedFunction")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

impl<P: ToProgram, R: FromProgram> TypedFunction<P, R> {
    pub(super) fn new(module: &VerifiedModule, name: &str) -> Result<Self, CallError> {
        let index = module.function_named(name);
        let function = index.ok_or_else(|| CallError::NoFunctionNamed(name.to_owned()))?;
        let signature = check::<P, R>(callee(module, function)?)?;
        Ok(Self {
            module: module.clone(),
            call: Call {
                function,
                signature,
                is_closure: false,
            },
            types: PhantomData,
        })
    }

    /// Calls the function.
    ///
    /// # Errors
    /// When the run does not end well, the machine runs another program, or an argument or result
    /// cannot be handed over.
    #[allow(private_bounds, reason = "nobody else shall implement it")]
    pub fn call(&self, machine: &mut impl Reach, args: P) -> Result<R, RunError> {
        if !machine.verified().is_same(&self.module) {
            return Err(RunError::Call(CallError::OtherProgram));
        }
        machine.enter(self.call, |giver| args.give(giver), R::take)
    }
}

/// The signature of these types, when it is the function's.
pub(super) fn check<P: ToProgram, R: FromProgram>(
    function: &Function,
) -> Result<Signature, CallError> {
    let wanted = const { signature([P::N_INTS, P::N_REFS], [R::N_INTS, R::N_REFS]) };
    match function.signature == wanted {
        true => Ok(wanted),
        false => Err(CallError::Signature {
            function: function.name.clone(),
            wanted,
            offered: function.signature,
        }),
    }
}
