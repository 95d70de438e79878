//! Closures with Rust's types as host functions.

use super::convert::signature;
use super::{FromProgram, Giver, ObjectError, Taker, ToProgram, enter, look};
use crate::host::{HostCall, HostError, Hosts};
use crate::isa::Signature;
use crate::machine::Machine;

impl Hosts {
    /// Offers a closure as a host function, in place of one of the same name. Its parameters say
    /// what it takes: those of [`FromProgram`], `&str` and `&[u8]`, and first, if it wants the
    /// machine, `&mut HostCall`. It gives what [`ToProgram`] is for, or a `Result` of that.
    ///
    /// A program that imports a function of this name must declare the signature that the types
    /// make; else no machine is made ([`LinkError`](crate::host::LinkError)).
    ///
    /// The closure may be called again while it runs, when it calls back into the machine: so it is
    /// `Fn`. What it changes stands in a `Cell` or a lock.
    ///
    /// ```
    /// use vm::Access;
    /// use vm::host::{HostCall, HostError, HostIo, Hosts};
    ///
    /// let mut hosts = Hosts::standard(HostIo::process(Vec::new()));
    /// hosts.wrap("scale", |x: f64, factor: i64| x * factor as f64);
    /// hosts.wrap("count", |text: &str, letter: &str| text.matches(letter).count() as i64);
    /// hosts.wrap("parse", |call: &mut HostCall, text: &str| -> Result<i64, HostError> {
    ///     call.spend_fuel(1)?;
    ///     text.parse().map_err(HostError::other)
    /// });
    /// ```
    pub fn wrap<T, F: HostClosure<T>>(&mut self, name: &str, closure: F) {
        let function = move |call: &mut HostCall| closure.run(call);
        self.offer_shared(name, F::SIGNATURE, Box::new(function));
    }
}

/// What a host function may give: anything of [`ToProgram`], or a `Result` of that whose error is a
/// [`HostError`] or becomes one.
pub trait HostResult {
    /// How many `i` registers it takes.
    const N_INTS: usize;
    /// How many `r` registers it takes.
    const N_REFS: usize;

    /// Puts it into the windows of a call.
    #[doc(hidden)]
    fn put(self, call: &mut HostCall) -> Result<(), HostError>;
}

impl<T: ToProgram> HostResult for T {
    const N_INTS: usize = T::N_INTS;
    const N_REFS: usize = T::N_REFS;

    fn put(self, call: &mut HostCall) -> Result<(), HostError> {
        let m = call.caller;
        // SAFETY: the windows have a register for each value, because the import's signature is the
        // one of these types. The arguments that stood there have been taken.
        unsafe {
            let mut giver = Giver {
                machine: m,
                ints: call.ints,
            };
            if T::N_REFS == 0 {
                return Ok(self.give(&mut giver)?);
            }
            if let Some(error) = (*m.ctx).heap_failure() {
                return Err(HostError::OutOfMemory(error));
            }
            let first = (*m.ctx).roots.passing.len();
            let given = self.give(&mut giver);
            if given.is_err() {
                (*m.ctx).roots.passing.truncate(first);
            }
            given?;
            enter::pass(call.window(), first);
        }
        Ok(())
    }
}

impl<T: ToProgram, E: Into<HostError>> HostResult for Result<T, E> {
    const N_INTS: usize = T::N_INTS;
    const N_REFS: usize = T::N_REFS;

    fn put(self, call: &mut HostCall) -> Result<(), HostError> {
        self.map_err(Into::into)?.put(call)
    }
}

/// What a host function may take: anything of [`FromProgram`], and strings that are borrowed.
pub trait Argument {
    /// How many `i` registers it takes.
    const N_INTS: usize;
    /// How many `r` registers it takes.
    const N_REFS: usize;
    /// The type with the lifetime of a call.
    type Given<'a>;
    /// What is kept of it while the machine may run.
    type Kept;

    /// Takes it while nothing runs.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only this crate's types implement it")]
    fn borrow<'a>(taker: &mut Taker, call: &'a HostCall) -> Result<Self::Given<'a>, ObjectError>;

    /// Takes it for longer.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only this crate's types implement it")]
    fn keep(taker: &mut Taker) -> Result<Self::Kept, ObjectError>;

    /// What was kept, as the closure wants it.
    #[doc(hidden)]
    fn lend(kept: &mut Option<Self::Kept>) -> Self::Given<'_>;
}

/// Arguments that are owned.
macro_rules! owned_arguments {
    ($($type:ty)+) => { $(
        impl Argument for $type {
            const N_INTS: usize = <$type as FromProgram>::N_INTS;
            const N_REFS: usize = <$type as FromProgram>::N_REFS;
            type Given<'a> = $type;
            type Kept = $type;

            #[allow(private_interfaces, reason = "as the trait's")]
            #[inline]
            fn borrow(taker: &mut Taker, _: &HostCall) -> Result<$type, ObjectError> {
                <$type>::take(taker)
            }

            #[allow(private_interfaces, reason = "as the trait's")]
            fn keep(taker: &mut Taker) -> Result<$type, ObjectError> {
                <$type>::take(taker)
            }

            fn lend(kept: &mut Option<$type>) -> $type {
                kept.take().expect("an argument is lent once")
            }
        }
    )+ };
}

owned_arguments! { i64 u64 i32 u32 u8 bool f64 String Vec<u8> crate::machine::Root }

impl Argument for &[u8] {
    const N_INTS: usize = 0;
    const N_REFS: usize = 1;
    type Given<'a> = &'a [u8];
    type Kept = Vec<u8>;

    #[allow(private_interfaces, reason = "as the trait's")]
    #[inline]
    fn borrow<'a>(taker: &mut Taker, _: &'a HostCall) -> Result<&'a [u8], ObjectError> {
        // SAFETY: nothing is allocated while the call is borrowed.
        unsafe { look::bytes(taker.word()) }
    }

    #[allow(private_interfaces, reason = "as the trait's")]
    fn keep(taker: &mut Taker) -> Result<Vec<u8>, ObjectError> {
        Vec::take(taker)
    }

    fn lend(kept: &mut Option<Vec<u8>>) -> &[u8] {
        kept.as_deref().unwrap_or_default()
    }
}

impl Argument for &str {
    const N_INTS: usize = 0;
    const N_REFS: usize = 1;
    type Given<'a> = &'a str;
    type Kept = String;

    #[allow(private_interfaces, reason = "as the trait's")]
    #[inline]
    fn borrow<'a>(taker: &mut Taker, call: &'a HostCall) -> Result<&'a str, ObjectError> {
        let bytes = <&[u8]>::borrow(taker, call)?;
        std::str::from_utf8(bytes).map_err(|_| ObjectError::NotUtf8)
    }

    #[allow(private_interfaces, reason = "as the trait's")]
    fn keep(taker: &mut Taker) -> Result<String, ObjectError> {
        String::take(taker)
    }

    fn lend(kept: &mut Option<String>) -> &str {
        kept.as_deref().unwrap_or_default()
    }
}

/// A closure that can be a host function: see [`Hosts::wrap`]. `T` tells its types.
pub trait HostClosure<T>: Send + 'static {
    /// What programs import it as.
    const SIGNATURE: Signature;

    /// Calls it.
    #[doc(hidden)]
    fn run(&self, call: &mut HostCall) -> Result<(), HostError>;
}

/// Closures of up to six arguments, without the machine and with it.
macro_rules! closures {
    ($(($($name:ident),*))+) => { $(
        impl<F, R, $($name),*> HostClosure<fn($($name),*) -> R> for F
        where
            F: Fn($($name),*) -> R + Send + 'static,
            F: for<'a> Fn($($name::Given<'a>),*) -> R,
            R: HostResult,
            $($name: Argument,)*
        {
            const SIGNATURE: Signature = signature(
                [0 $(+ $name::N_INTS)*, 0 $(+ $name::N_REFS)*],
                [R::N_INTS, R::N_REFS],
            );

            #[allow(non_snake_case, unused, reason = "arguments are named by their types")]
            #[inline]
            fn run(&self, call: &mut HostCall) -> Result<(), HostError> {
                let mut taker = taker(call, 0 $(+ $name::N_REFS)*)?;
                let result = {
                    let call = &*call;
                    $(let $name = $name::borrow(&mut taker, call)?;)*
                    self($($name),*)
                };
                result.put(call)
            }
        }

        impl<F, R, $($name),*> HostClosure<fn(&mut HostCall, $($name),*) -> R> for F
        where
            F: Fn(&mut HostCall, $($name),*) -> R + Send + 'static,
            F: for<'a> Fn(&mut HostCall, $($name::Given<'a>),*) -> R,
            R: HostResult,
            $($name: Argument,)*
        {
            const SIGNATURE: Signature = signature(
                [0 $(+ $name::N_INTS)*, 0 $(+ $name::N_REFS)*],
                [R::N_INTS, R::N_REFS],
            );

            #[allow(non_snake_case, unused, reason = "arguments are named by their types")]
            fn run(&self, call: &mut HostCall) -> Result<(), HostError> {
                let mut taker = taker(call, 0 $(+ $name::N_REFS)*)?;
                $(let mut $name = Some($name::keep(&mut taker)?);)*
                let result = self(&mut *call, $($name::lend(&mut $name)),*);
                result.put(call)
            }
        }
    )+ };
}

closures! {
    ()
    (A)
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, E)
    (A, B, C, D, E, G)
}

/// What takes a call's arguments. References may be taken as long as the heap has not failed.
#[inline]
fn taker(call: &HostCall, n_refs: usize) -> Result<Taker, HostError> {
    let window: Machine = call.window();
    // SAFETY: the context outlives the call.
    match unsafe { (*window.ctx).heap_failure() } {
        Some(error) if n_refs > 0 => Err(HostError::OutOfMemory(error)),
        _ => Ok(Taker::new(window)),
    }
}
