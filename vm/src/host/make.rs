//! Arrays and strings made by Rust, at the word where the machine is.

use crate::heap::{ObjectKind, Value, array_bytes};
use crate::machine::{Machine, Obstacle};
use crate::memprof::AllocOrigin;
use crate::safepoint::{header_source, in_parts, make_room};

/// A new string or byte array.
///
/// # Safety
/// The machine is at a word of its program, or between two runs at the word that ends one.
pub(crate) unsafe fn bytes(m: Machine, kind: ObjectKind, bytes: &[u8]) -> Result<Value, Obstacle> {
    // SAFETY: the caller's promise. The object is filled before anything else is allocated.
    unsafe {
        let object = array(m, kind, bytes.len())?;
        let to: *mut u8 = object.add(2).cast();
        in_parts(m, bytes.len(), |range| {
            let from = bytes.as_ptr().add(range.start);
            to.add(range.start)
                .copy_from_nonoverlapping(from, range.len());
        })?;
        Ok(Value::pointer(object))
    }
}

/// An array whose elements must be written before anything else happens, charged to the node that
/// is current.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn array(
    m: Machine,
    kind: ObjectKind,
    length: usize,
) -> Result<*mut u64, Obstacle> {
    let bytes = array_bytes(kind, length).unwrap_or(usize::MAX);
    // SAFETY: the caller passes a machine at a word.
    unsafe {
        let source = header_source(m.ctx, m.pc);
        let object = loop {
            match (*m.ctx).heap.try_array(kind, length, source) {
                Some(object) => break object,
                None => make_room(m, bytes, AllocOrigin::Deserialised)?,
            }
        };
        m.charge(bytes);
        Ok(object)
    }
}
