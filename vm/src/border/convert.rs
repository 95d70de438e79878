//! Rust's types as registers.

use super::{ObjectError, Value, look};
use crate::heap::{ObjectKind, Value as Word};
use crate::host::make;
use crate::isa::Signature;
use crate::machine::{Machine, Root};

/// Puts values where a call wants them: integers at once, references when all are there, because
/// making one may collect.
pub(crate) struct Giver {
    /// The machine that strings are made with.
    pub(crate) machine: Machine,
    /// The next integer register.
    pub(crate) ints: *mut u64,
}

impl Giver {
    /// Puts an integer.
    pub(crate) fn int(&mut self, int: i64) {
        // SAFETY: whoever makes a giver has checked that there is a register for each value.
        unsafe { *self.ints = int as u64 };
        self.ints = self.ints.wrapping_add(1);
    }

    /// Puts a reference.
    pub(crate) fn word(&mut self, word: Word) {
        // SAFETY: the context is the machine's.
        unsafe { (*self.machine.ctx).roots.passing.push(word.0) }
    }

    /// Puts what a handle stands for.
    pub(crate) fn root(&mut self, root: &Root) -> Result<(), ObjectError> {
        // SAFETY: as for `word`.
        let word = unsafe { (*self.machine.ctx).roots.table.value(root)? };
        self.word(word);
        Ok(())
    }

    /// Puts a new string.
    fn text(&mut self, text: &[u8]) -> Result<(), ObjectError> {
        // SAFETY: the machine is at a word.
        let word = unsafe { make::bytes(self.machine, ObjectKind::Text, text)? };
        self.word(word);
        Ok(())
    }

    pub(super) fn value(&mut self, value: &Value) -> Result<(), ObjectError> {
        match value {
            Value::Int(int) => self.int(*int),
            Value::Float(float) => self.int(float.to_bits() as i64),
            Value::Ref(root) => self.root(root)?,
        }
        Ok(())
    }
}

/// Takes values from where a call has left them.
pub(crate) struct Taker {
    /// The machine with the call's window as its registers.
    pub(crate) window: Machine,
    pub(crate) n_ints: u8,
    pub(crate) n_refs: u8,
}

impl Taker {
    pub(crate) fn new(window: Machine) -> Self {
        Self {
            window,
            n_ints: 0,
            n_refs: 0,
        }
    }

    /// Takes an integer.
    pub(crate) fn int(&mut self) -> i64 {
        // SAFETY: whoever makes a taker has checked that there is a register for each value.
        let int = unsafe { self.window.i(self.n_ints) };
        self.n_ints += 1;
        int as i64
    }

    /// Takes a reference.
    pub(crate) fn word(&mut self) -> Word {
        // SAFETY: as for `int`.
        let word = unsafe { self.window.r(u8::MAX - self.n_refs) };
        self.n_refs += 1;
        word
    }

    /// Takes a reference as a handle.
    pub(crate) fn root(&mut self) -> Root {
        let word = self.word();
        // SAFETY: the context is the machine's.
        unsafe { (*self.window.ctx).roots.table.root(word) }
    }

    /// Takes all results of a signature.
    pub(super) fn all(&mut self, signature: Signature) -> Vec<Value> {
        let ints = (0..signature.int_results).map(|_| Value::Int(self.int()));
        let mut values: Vec<Value> = ints.collect();
        values.extend((0..signature.ref_results).map(|_| Value::Ref(self.root())));
        values
    }
}

/// A Rust type that can be given to a program: as an argument of a function, or as the result of a
/// host function.
///
/// Integers and doubles are `i` registers, strings and handles `r` registers; `()` is nothing, and
/// a tuple its parts in order.
pub trait ToProgram {
    /// How many `i` registers it takes.
    const N_INTS: usize;
    /// How many `r` registers it takes.
    const N_REFS: usize;

    /// Puts it into registers.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only this crate's types implement it")]
    fn give(self, giver: &mut Giver) -> Result<(), ObjectError>;
}

/// A Rust type that can be taken from a program: as the result of a function, or as an argument of
/// a host function. The types are those of [`ToProgram`], with `String` and `Vec<u8>` for strings.
pub trait FromProgram: Sized {
    /// How many `i` registers it takes.
    const N_INTS: usize;
    /// How many `r` registers it takes.
    const N_REFS: usize;

    /// Takes it from registers.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "only this crate's types implement it")]
    fn take(taker: &mut Taker) -> Result<Self, ObjectError>;
}

/// Types that are one integer register: how they are put, and how they are taken.
macro_rules! int_types {
    ($($type:ty: |$value:ident| $to:expr, |$int:ident| $from:expr;)+) => { $(
        impl ToProgram for $type {
            const N_INTS: usize = 1;
            const N_REFS: usize = 0;

            #[allow(private_interfaces, reason = "as the trait's")]
            #[inline]
            fn give(self, giver: &mut Giver) -> Result<(), ObjectError> {
                let $value = self;
                giver.int($to);
                Ok(())
            }
        }

        impl FromProgram for $type {
            const N_INTS: usize = 1;
            const N_REFS: usize = 0;

            #[allow(private_interfaces, reason = "as the trait's")]
            #[inline]
            fn take(taker: &mut Taker) -> Result<Self, ObjectError> {
                let $int = taker.int();
                $from
            }
        }
    )+ };
}

int_types! {
    i64: |value| value, |int| Ok(int);
    u64: |value| value as i64, |int| Ok(int as u64);
    i32: |value| value.into(), |int| int.try_into().map_err(|_| ObjectError::OutOfRange(int));
    u32: |value| value.into(), |int| int.try_into().map_err(|_| ObjectError::OutOfRange(int));
    u8: |value| value.into(), |int| int.try_into().map_err(|_| ObjectError::OutOfRange(int));
    bool: |value| value.into(), |int| Ok(int != 0);
    f64: |value| value.to_bits() as i64, |int| Ok(f64::from_bits(int as u64));
}

/// Types that are one reference register, which can be given.
macro_rules! given_refs {
    ($($type:ty: |$value:ident, $giver:ident| $give:expr;)+) => { $(
        impl ToProgram for $type {
            const N_INTS: usize = 0;
            const N_REFS: usize = 1;

            #[allow(private_interfaces, reason = "as the trait's")]
            fn give(self, $giver: &mut Giver) -> Result<(), ObjectError> {
                let $value = self;
                $give
            }
        }
    )+ };
}

given_refs! {
    Root: |value, giver| giver.root(&value);
    &Root: |value, giver| giver.root(value);
    &str: |value, giver| giver.text(value.as_bytes());
    &[u8]: |value, giver| giver.text(value);
    String: |value, giver| giver.text(value.as_bytes());
    Vec<u8>: |value, giver| giver.text(&value);
}

/// Types that are one reference register, which can be taken.
macro_rules! taken_refs {
    ($($type:ty: |$taker:ident| $take:expr;)+) => { $(
        impl FromProgram for $type {
            const N_INTS: usize = 0;
            const N_REFS: usize = 1;

            #[allow(private_interfaces, reason = "as the trait's")]
            fn take($taker: &mut Taker) -> Result<Self, ObjectError> {
                $take
            }
        }
    )+ };
}

taken_refs! {
    Root: |taker| Ok(taker.root());
    // SAFETY: registers hold references of a heap that is alive, and the bytes are copied at once.
    Vec<u8>: |taker| Ok(unsafe { look::bytes(taker.word())? }.to_vec());
    String: |taker| {
        String::from_utf8(Vec::<u8>::take(taker)?).map_err(|_| ObjectError::NotUtf8)
    };
}

/// Tuples of up to eight parts.
macro_rules! tuples {
    ($(($($name:ident),*))+) => { $(
        impl<$($name: ToProgram),*> ToProgram for ($($name,)*) {
            const N_INTS: usize = 0 $(+ $name::N_INTS)*;
            const N_REFS: usize = 0 $(+ $name::N_REFS)*;

            #[allow(private_interfaces, reason = "as the trait's")]
            #[allow(non_snake_case, unused_variables, reason = "parts are named by their types")]
            #[inline]
            fn give(self, giver: &mut Giver) -> Result<(), ObjectError> {
                let ($($name,)*) = self;
                $($name.give(giver)?;)*
                Ok(())
            }
        }

        impl<$($name: FromProgram),*> FromProgram for ($($name,)*) {
            const N_INTS: usize = 0 $(+ $name::N_INTS)*;
            const N_REFS: usize = 0 $(+ $name::N_REFS)*;

            #[allow(private_interfaces, reason = "as the trait's")]
            #[allow(unused_variables, reason = "nothing is taken for `()`")]
            #[inline]
            fn take(taker: &mut Taker) -> Result<Self, ObjectError> {
                Ok(($($name::take(taker)?,)*))
            }
        }
    )+ };
}

tuples! {
    ()
    (A)
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, E)
    (A, B, C, D, E, F)
    (A, B, C, D, E, F, G)
    (A, B, C, D, E, F, G, H)
}

/// The signature of a function with these types.
pub(crate) const fn signature(params: [usize; 2], results: [usize; 2]) -> Signature {
    let all = [params[0], params[1], results[0], results[1]];
    let mut index = 0;
    while index < all.len() {
        assert!(
            all[index] <= u8::MAX as usize,
            "at most 255 values of a class"
        );
        index += 1;
    }
    Signature {
        int_params: params[0] as u8,
        ref_params: params[1] as u8,
        int_results: results[0] as u8,
        ref_results: results[1] as u8,
    }
}
