//! Arrays.
//!
//! Allocation here is a call into the heap, so it charges the node that is current without
//! asking: with no profile that is a node nobody reads.

use std::ops::Range;
use std::ptr;

use super::bulk;
use crate::heap::{HeaderSource, LOG, ObjectKind, Value, array_bytes};
use crate::machine::{Fault, Machine};
use crate::safepoint::PART_BYTES;

/// The most elements that an array may have to be filled at once; see `bulk.rs`.
pub(super) const SHORT_LENGTH: u64 = PART_BYTES as u64 / 8;

/// An array of `i[length]` elements, not filled, or the way on without it.
macro_rules! allocate {
    ($m:ident, $kind:expr, $length:expr) => {{
        let length = $length;
        if length > SHORT_LENGTH {
            return $m.enter(bulk::new_long);
        }
        let bytes = array_bytes($kind, length as usize).unwrap_or(usize::MAX);
        let source = HeaderSource::of_operand($m.word().e);
        match (*$m.ctx).heap.try_array($kind, length as usize, source) {
            Some(array) => {
                $m.charge(bytes);
                array
            }
            None => return $m.collect(bytes),
        }
    }};
}

handlers! {
    /// `r[a] = an array of i[b] references r[c]`. (In all of these `d` is the kind, for `bulk.rs`)
    fn new_r(m) {
        let w = m.word();
        let array = allocate!(m, ObjectKind::RefArray, m.i(w.b));
        fill(array.add(2), m.i(w.b), m.r(w.c).0);
        (*m.ctx).heap.born(array);
        m.set_r(w.a, Value::pointer(array));
        m.next()
    }
    /// `r[a] = an array of i[b] integers i[c]`
    fn new_i(m) {
        let w = m.word();
        let array = allocate!(m, ObjectKind::IntArray, m.i(w.b));
        fill(array.add(2), m.i(w.b), m.i(w.c));
        m.set_r(w.a, Value::pointer(array));
        m.next()
    }
    /// `r[a] = an array of i[b] doubles f[c]`
    fn new_f(m) {
        let w = m.word();
        let array = allocate!(m, ObjectKind::FloatArray, m.i(w.b));
        fill(array.add(2), m.i(w.b), m.i(w.c));
        m.set_r(w.a, Value::pointer(array));
        m.next()
    }
    /// `r[a] = an array of i[b] bytes i[c]`
    fn new_b(m) {
        let w = m.word();
        let array = allocate!(m, ObjectKind::ByteArray, m.i(w.b));
        array.add(2).cast::<u8>().write_bytes(m.i(w.c) as u8, m.i(w.b) as usize);
        m.set_r(w.a, Value::pointer(array));
        m.next()
    }
    /// `r[a] = an array of kind d with the elements that the data word points to: y of them`
    fn data(m) {
        let w = m.word();
        let source = (*m.pc.add(1)).data;
        if source.y > SHORT_LENGTH { return m.enter(bulk::data_long); }
        let kind = ObjectKind::from_header(w.d as u64).unwrap_unchecked();
        let array = allocate!(m, kind, source.y);
        let size = if kind == ObjectKind::ByteArray { 1 } else { 8 };
        let bytes = source.y as usize * size;
        array.add(2).cast::<u8>().copy_from_nonoverlapping(source.x as *const u8, bytes);
        m.set_r(w.a, Value::pointer(array));
        m.skip(2)
    }
    /// `r[a] = r[b][i[c]]`
    fn get_r(m) {
        let w = m.word();
        match m.element::<u64>(w.b, ObjectKind::RefArray, w.c) {
            Ok(slot) => { m.set_r(w.a, Value(*slot)); m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// `i[a] = r[b][i[c]]`
    fn get_i(m) {
        let w = m.word();
        match m.element::<u64>(w.b, ObjectKind::IntArray, w.c) {
            Ok(slot) => { m.set_i(w.a, *slot); m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// `f[a] = r[b][i[c]]`
    fn get_f(m) {
        let w = m.word();
        match m.element::<u64>(w.b, ObjectKind::FloatArray, w.c) {
            Ok(slot) => { m.set_i(w.a, *slot); m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// `i[a] = r[b][i[c]]`, of bytes or of a string
    fn get_b(m) {
        let w = m.word();
        match m.element::<u8>(w.b, ObjectKind::ByteArray, w.c) {
            Ok(slot) => { m.set_i(w.a, *slot as u64); m.next() }
            Err(Fault::WrongKind) => match m.element::<u8>(w.b, ObjectKind::Text, w.c) {
                Ok(slot) => { m.set_i(w.a, *slot as u64); m.next() }
                Err(fault) => m.fault(fault),
            },
            Err(fault) => m.fault(fault),
        }
    }
    /// `r[a][i[b]] = r[c]`
    fn set_r(m) {
        let w = m.word();
        match m.element::<u64>(w.a, ObjectKind::RefArray, w.b) {
            Ok(_) if *m.r(w.a).object().unwrap_unchecked() & LOG != 0 => {
                m.enter(remember_set_r)
            }
            Ok(slot) => { *slot = m.r(w.c).0; m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// The store of `set_r` into an array that is not remembered yet
    #[cold]
    #[inline(never)]
    fn remember_set_r(m) {
        let w = m.word();
        let array = m.r(w.a).object().unwrap_unchecked();
        let slot = array.add(2 + m.i(w.b) as usize);
        (*m.ctx).heap.remember(array, slot);
        *slot = m.r(w.c).0;
        m.next()
    }
    /// `r[a][i[b]] = i[c]`
    fn set_i(m) {
        let w = m.word();
        match m.element::<u64>(w.a, ObjectKind::IntArray, w.b) {
            Ok(slot) => { *slot = m.i(w.c); m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// `r[a][i[b]] = f[c]`
    fn set_f(m) {
        let w = m.word();
        match m.element::<u64>(w.a, ObjectKind::FloatArray, w.b) {
            Ok(slot) => { *slot = m.i(w.c); m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// `r[a][i[b]] = the low byte of i[c]`
    fn set_b(m) {
        let w = m.word();
        match m.element::<u8>(w.a, ObjectKind::ByteArray, w.b) {
            Ok(slot) => { *slot = m.i(w.c) as u8; m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// `i[a] = the length of r[b]`
    fn len(m) {
        let w = m.word();
        match m.r(w.b).object() {
            Some(array) if !matches!(kind_byte(array), RECORD | CLOSURE) => {
                m.set_i(w.a, *array.add(1));
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// `copy i[e] elements of r[c] from i[d] on to r[a] at i[b]`
    fn copy(m) {
        if m.i(m.word().e as u8) > SHORT_LENGTH { return m.enter(bulk::copy_many); }
        match checked_copy(m) {
            Ok(copy) => {
                copy.remember(m, 0..copy.bytes);
                copy.to.copy_from(copy.from, copy.bytes);
                m.next()
            }
            Err(fault) => m.fault(fault),
        }
    }
}

const RECORD: u8 = ObjectKind::Record.header_byte();
const CLOSURE: u8 = ObjectKind::Closure.header_byte();

#[inline(always)]
unsafe fn kind_byte(object: *mut u64) -> u8 {
    // SAFETY: the caller passes an object.
    unsafe { *object as u8 & crate::heap::KIND_MASK }
}

/// Writes `length` times `word`.
#[inline(always)]
unsafe fn fill(elements: *mut u64, length: u64, word: u64) {
    for index in 0..length as usize {
        // SAFETY: the array was allocated with this length.
        unsafe { elements.add(index).write(word) };
    }
}

/// A copy from array to array that may be done.
#[derive(Clone, Copy)]
pub(super) struct Copy {
    pub(super) to: *mut u8,
    pub(super) from: *const u8,
    pub(super) bytes: usize,
    /// The array that receives references and is not remembered yet; else null.
    unremembered: *mut u64,
}

impl Copy {
    /// Has the heap remember the references that this range of bytes is going to hold.
    #[inline(always)]
    pub(super) unsafe fn remember(self, m: Machine, range: Range<usize>) {
        if !self.unremembered.is_null() {
            for offset in range.step_by(8) {
                // SAFETY: the slots lie in the array, as was checked.
                unsafe {
                    let slot = self.to.add(offset).cast();
                    (*m.ctx).heap.remember(self.unremembered, slot);
                }
            }
        }
    }
}

/// What `copy` is to do, or why it cannot.
#[inline(always)]
pub(super) unsafe fn checked_copy(m: Machine) -> Result<Copy, Fault> {
    // SAFETY: as for all handlers; bounds are checked here before anything is copied.
    unsafe {
        let w = m.word();
        let (Some(to), Some(from)) = (m.r(w.a).object(), m.r(w.c).object()) else {
            return Err(Fault::WrongKind);
        };
        let (to_kind, from_kind) = (kind_byte(to), kind_byte(from));
        let is_text_to_bytes = to_kind == ObjectKind::ByteArray.header_byte()
            && from_kind == ObjectKind::Text.header_byte();
        let is_array =
            !matches!(to_kind, RECORD | CLOSURE) && to_kind != ObjectKind::Text.header_byte();
        if !is_array || !(to_kind == from_kind || is_text_to_bytes) {
            return Err(Fault::WrongKind);
        }
        let (to_index, from_index, count) = (m.i(w.b), m.i(w.d), m.i(w.e as u8));
        let fits = |array: *mut u64, index: u64| {
            index
                .checked_add(count)
                .is_some_and(|end| end <= *array.add(1))
        };
        if !fits(to, to_index) || !fits(from, from_index) {
            return Err(Fault::IndexOutOfBounds);
        }
        let is_bytes = to_kind == ObjectKind::ByteArray.header_byte();
        let size = if is_bytes { 1 } else { 8 };
        let element =
            |array: *mut u64, index: u64| array.add(2).cast::<u8>().add(index as usize * size);
        let has_refs = to_kind == ObjectKind::RefArray.header_byte();
        Ok(Copy {
            to: element(to, to_index),
            from: element(from, from_index),
            bytes: count as usize * size,
            unremembered: if has_refs && *to & LOG != 0 {
                to
            } else {
                ptr::null_mut()
            },
        })
    }
}
