//! Objects made from Rust: allocated like those of a program, at the word where the machine is.

use super::ObjectError;
use crate::code::LoadedFunction;
use crate::heap::{HeaderSource, ObjectKind, Value, closure_header, record_header};
use crate::host::make::array;
use crate::machine::{Machine, Obstacle, Root};
use crate::memprof::AllocOrigin;
use crate::safepoint::{header_source, make_room};

/// The most fields of one class that an object has.
const MAX_FIELDS: usize = 255;

/// A new array of words that are no references.
///
/// # Safety
/// The machine is at a word of its program, or between two runs at the word that ends one.
pub(crate) unsafe fn words<T: Copy>(
    m: Machine,
    kind: ObjectKind,
    words: &[T],
) -> Result<Value, Obstacle> {
    const { assert!(size_of::<T>() == 8, "elements are words") };
    // SAFETY: the caller's promise. The object is filled before anything else is allocated.
    unsafe {
        let object = array(m, kind, words.len())?;
        let to: *mut T = object.add(2).cast();
        to.copy_from_nonoverlapping(words.as_ptr(), words.len());
        Ok(Value::pointer(object))
    }
}

/// A new array of references.
///
/// # Safety
/// As for [`words`].
pub(crate) unsafe fn refs(m: Machine, refs: &[&Root]) -> Result<Value, ObjectError> {
    // SAFETY: as for `words`.
    unsafe {
        check_roots(m, refs)?;
        let object = array(m, ObjectKind::RefArray, refs.len())?;
        put_refs(m, object.add(2), refs);
        (*m.ctx).heap.born(object);
        Ok(Value::pointer(object))
    }
}

/// A new record.
///
/// # Safety
/// As for [`words`].
pub(crate) unsafe fn record(
    m: Machine,
    tag: u16,
    refs: &[&Root],
    ints: &[i64],
) -> Result<Value, ObjectError> {
    // SAFETY: as for `words`.
    unsafe {
        let (n_refs, n_ints) = check_fields(m, refs, ints)?;
        small(m, &[record_header(tag, n_refs, n_ints)], refs, ints)
    }
}

/// A new closure of a function with as many captures.
///
/// # Safety
/// As for [`words`].
pub(crate) unsafe fn closure(
    m: Machine,
    function: *const LoadedFunction,
    refs: &[&Root],
    ints: &[i64],
) -> Result<Value, ObjectError> {
    // SAFETY: as for `words`.
    unsafe {
        let (n_refs, n_ints) = check_fields(m, refs, ints)?;
        let header = closure_header(n_refs, n_ints);
        small(
            m,
            &[header, function.expose_provenance() as u64],
            refs,
            ints,
        )
    }
}

/// A record or closure, that begins with `start`.
unsafe fn small(
    m: Machine,
    start: &[u64],
    refs: &[&Root],
    ints: &[i64],
) -> Result<Value, ObjectError> {
    let bytes = (start.len() + refs.len() + ints.len()) * 8;
    // SAFETY: the caller passes a machine at a word. The object has room for its first words, its
    // references and its raw words, and is filled before anything else is allocated.
    unsafe {
        let source: HeaderSource = header_source(m.ctx, m.pc);
        let object = loop {
            match (*m.ctx).heap.try_small(bytes) {
                Some(object) => break object,
                None => make_room(m, bytes, AllocOrigin::Deserialised)?,
            }
        };
        m.charge(bytes);
        object.copy_from_nonoverlapping(start.as_ptr(), start.len());
        *object |= source.bits();
        let fields = object.add(start.len());
        put_refs(m, fields, refs);
        fields
            .add(refs.len())
            .copy_from_nonoverlapping(ints.as_ptr().cast(), ints.len());
        Ok(Value::pointer(object))
    }
}

/// Writes what handles stand for, which have been checked.
unsafe fn put_refs(m: Machine, to: *mut u64, refs: &[&Root]) {
    for (index, root) in refs.iter().enumerate() {
        // SAFETY: the caller has made room for as many references.
        unsafe {
            let value = (*m.ctx).roots.table.value(root).unwrap_or(Value::ZERO);
            *to.add(index) = value.0;
        }
    }
}

unsafe fn check_roots(m: Machine, refs: &[&Root]) -> Result<(), ObjectError> {
    // SAFETY: the caller passes a machine with its context.
    let table = unsafe { &(*m.ctx).roots.table };
    refs.iter()
        .try_for_each(|root| table.value(root).map(|_| ()).map_err(ObjectError::Root))
}

unsafe fn check_fields(m: Machine, refs: &[&Root], ints: &[i64]) -> Result<(u8, u8), ObjectError> {
    // SAFETY: as for `check_roots`.
    unsafe { check_roots(m, refs)? };
    if refs.len() > MAX_FIELDS || ints.len() > MAX_FIELDS {
        return Err(ObjectError::WrongFields);
    }
    Ok((refs.len() as u8, ints.len() as u8))
}
