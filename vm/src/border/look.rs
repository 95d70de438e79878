//! Objects read from Rust.

use super::ObjectError;
use crate::code::LoadedFunction;
use crate::heap::{LOG, ObjectKind, Shape, Value};
use crate::machine::Context;

/// What a reference leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: the null reference.
    Null,
    /// The number of an immediate.
    Immediate(i64),
    /// A record with this tag.
    Record(u16),
    /// A closure of the function of this index.
    Closure(u32),
    /// An array of references.
    RefArray,
    /// An array of integers.
    IntArray,
    /// An array of doubles.
    FloatArray,
    /// An array of bytes.
    ByteArray,
    /// A string.
    Text,
    /// A weak reference.
    Weak,
}

impl Kind {
    /// The kind in words, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Immediate(_) => "an immediate",
            Self::Record(_) => "a record",
            Self::Closure(_) => "a closure",
            Self::RefArray => "an array of references",
            Self::IntArray => "an array of integers",
            Self::FloatArray => "an array of doubles",
            Self::ByteArray => "an array of bytes",
            Self::Text => "a string",
            Self::Weak => "a weak reference",
        }
    }
}

/// An object with its shape.
#[derive(Clone, Copy)]
pub(crate) struct Object {
    pub(crate) start: *mut u64,
    pub(crate) shape: Shape,
}

/// What a reference leads to.
///
/// # Safety
/// It is a reference of a heap that has not failed.
pub(crate) unsafe fn kind(value: Value) -> Kind {
    if let Some(number) = value.as_immediate() {
        return Kind::Immediate(number);
    }
    // SAFETY: the caller's promise.
    let Some(Object { start, shape }) = (unsafe { object(value) }) else {
        return Kind::Null;
    };
    // SAFETY: the object is whole, and the second word of a closure points to its function.
    unsafe {
        match shape.kind {
            ObjectKind::Record => Kind::Record((*start >> 32) as u16),
            ObjectKind::Closure => Kind::Closure((*(*start.add(1) as *const LoadedFunction)).index),
            ObjectKind::RefArray => Kind::RefArray,
            ObjectKind::IntArray => Kind::IntArray,
            ObjectKind::FloatArray => Kind::FloatArray,
            ObjectKind::ByteArray => Kind::ByteArray,
            ObjectKind::Text => Kind::Text,
            ObjectKind::Weak => Kind::Weak,
        }
    }
}

/// The object of a reference; `None` for null and immediates.
///
/// # Safety
/// As for [`kind`].
pub(crate) unsafe fn object(value: Value) -> Option<Object> {
    let start = value.object().filter(|_| !value.is_null())?;
    // SAFETY: the caller's promise: the object is whole.
    let shape = unsafe { Shape::of(start, *start) }?;
    Some(Object { start, shape })
}

/// The error of a reference that leads to something else than is wanted.
///
/// # Safety
/// As for [`kind`].
pub(crate) unsafe fn wrong_kind(value: Value, wanted: &'static str) -> ObjectError {
    ObjectError::WrongKind {
        wanted,
        // SAFETY: the caller's promise.
        found: unsafe { kind(value) }.name(),
    }
}

/// The bytes of a string or of an array of bytes.
///
/// # Safety
/// As for [`kind`]; nothing is allocated while the slice lives.
pub(crate) unsafe fn bytes<'a>(value: Value) -> Result<&'a [u8], ObjectError> {
    // SAFETY: the caller's promise.
    unsafe {
        match object(value) {
            Some(Object { start, shape })
                if matches!(shape.kind, ObjectKind::ByteArray | ObjectKind::Text) =>
            {
                Ok(crate::heap::bytes_of(start))
            }
            _ => Err(wrong_kind(value, "a string")),
        }
    }
}

impl Object {
    /// The words that are no references: raw fields of a record or closure, elements of an array of
    /// integers or doubles.
    ///
    /// # Safety
    /// Nothing is allocated while the slice lives.
    pub(crate) unsafe fn raw<'a>(self) -> &'a [i64] {
        let Shape {
            words,
            first_ref,
            n_refs,
            ..
        } = self.shape;
        let start = first_ref + n_refs;
        // SAFETY: the shape says which words are raw ones.
        unsafe { std::slice::from_raw_parts(self.start.add(start).cast(), words - start) }
    }

    /// The slot of a reference field or element.
    pub(crate) fn ref_slot(self, index: usize) -> Option<*mut u64> {
        let first = self.shape.first_ref;
        (index < self.shape.n_refs).then(|| self.start.wrapping_add(first + index))
    }

    /// Stores a reference into a slot.
    ///
    /// # Safety
    /// The slot is one of this object, and the value a reference of its heap.
    pub(crate) unsafe fn store(self, ctx: *mut Context, slot: *mut u64, value: Value) {
        // SAFETY: the caller's promise; an object with the bit must be remembered first.
        unsafe {
            if *self.start & LOG != 0 {
                (*ctx).heap.remember(self.start, slot);
            }
            *slot = value.0;
        }
    }

    /// Whether fields can be stored into.
    pub(crate) fn is_mutable(self) -> bool {
        // SAFETY: the object is whole.
        let header = unsafe { *self.start };
        header & crate::heap::STATIC == 0
    }
}
