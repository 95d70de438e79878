//! Arrays.
//!
//! Allocation here is a call into the heap, so it charges the node that is current without
//! asking: with no profile that is a node nobody reads.

use std::ops::Range;
use std::ptr;

use super::bulk;
use crate::code::Pc;
use crate::heap::{HeaderSource, LOG, ObjectKind, STATIC, Value, array_bytes};
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
        repeat(array.add(2), m.i(w.b), m.r(w.c).0);
        (*m.ctx).heap.born(array);
        m.set_r(w.a, Value::pointer(array));
        m.next()
    }
    /// `r[a] = an array of i[b] integers i[c]`
    fn new_i(m) {
        let w = m.word();
        let array = allocate!(m, ObjectKind::IntArray, m.i(w.b));
        repeat(array.add(2), m.i(w.b), m.i(w.c));
        m.set_r(w.a, Value::pointer(array));
        m.next()
    }
    /// `r[a] = an array of i[b] doubles f[c]`
    fn new_f(m) {
        let w = m.word();
        let array = allocate!(m, ObjectKind::FloatArray, m.i(w.b));
        repeat(array.add(2), m.i(w.b), m.i(w.c));
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
    /// `i[a] = the length of r[b]`
    fn len(m) {
        let w = m.word();
        match m.r(w.b).object() {
            Some(array) if !matches!(kind_byte(array), RECORD | CLOSURE | WEAK) => {
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

/// `r[a]` or `i[a] = r[b][i[c]]`, and the same with the index in `e`.
macro_rules! loads {
    ($($name:ident, $name_imm:ident = $element:ty, $kind:ident, |$m:ident, $a:ident, $slot:ident|
       $set:expr;)+) => {
        handlers! { $(
            fn $name($m) {
                let w = $m.word();
                let $a = w.a;
                match $m.element::<$element>(w.b, ObjectKind::$kind, $m.i(w.c)) {
                    Ok($slot) => { $set; $m.next() }
                    Err(fault) => $m.fault(fault),
                }
            }
            fn $name_imm($m) {
                let w = $m.word();
                let $a = w.a;
                match $m.element::<$element>(w.b, ObjectKind::$kind, w.e as i64 as u64) {
                    Ok($slot) => { $set; $m.next() }
                    Err(fault) => $m.fault(fault),
                }
            }
        )+ }
    };
}

loads! {
    get_r, get_r_imm = u64, RefArray, |m, a, slot| m.set_r(a, Value(*slot));
    get_i, get_i_imm = u64, IntArray, |m, a, slot| m.set_i(a, *slot);
    get_f, get_f_imm = u64, FloatArray, |m, a, slot| m.set_i(a, *slot);
}

/// `r[a][i[b]] = i[c]`, and the same with the index in `e` and `i[b]`.
macro_rules! stores {
    ($($name:ident, $name_imm:ident = $element:ty, $kind:ident;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                match m.element_to_write::<$element>(w.a, ObjectKind::$kind, m.i(w.b)) {
                    Ok(slot) => { *slot = m.i(w.c) as $element; m.next() }
                    Err(fault) => m.fault(fault),
                }
            }
            fn $name_imm(m) {
                let w = m.word();
                match m.element_to_write::<$element>(w.a, ObjectKind::$kind, w.e as i64 as u64) {
                    Ok(slot) => { *slot = m.i(w.b) as $element; m.next() }
                    Err(fault) => m.fault(fault),
                }
            }
        )+ }
    };
}

stores! {
    set_i, set_i_imm = u64, IntArray;
    set_f, set_f_imm = u64, FloatArray;
    set_b, set_b_imm = u8, ByteArray;
}

handlers! {
    /// `i[a] = r[b][i[c]]`, of bytes or of a string
    fn get_b(m) { let w = m.word(); get_byte(m, w.a, w.b, m.i(w.c)) }
    /// `i[a] = r[b][e]`, of bytes or of a string
    fn get_b_imm(m) { let w = m.word(); get_byte(m, w.a, w.b, w.e as i64 as u64) }
    /// `r[a][i[b]] = r[c]`
    fn set_r(m) {
        let w = m.word();
        match m.element_to_write::<u64>(w.a, ObjectKind::RefArray, m.i(w.b)) {
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
        remember_element(m, m.i(w.b), m.r(w.c));
        m.next()
    }
    /// `r[a][e] = r[b]`
    fn set_r_imm(m) {
        let w = m.word();
        match m.element_to_write::<u64>(w.a, ObjectKind::RefArray, w.e as i64 as u64) {
            Ok(_) if *m.r(w.a).object().unwrap_unchecked() & LOG != 0 => {
                m.enter(remember_set_r_imm)
            }
            Ok(slot) => { *slot = m.r(w.b).0; m.next() }
            Err(fault) => m.fault(fault),
        }
    }
    /// The store of `set_r_imm` into an array that is not remembered yet
    #[cold]
    #[inline(never)]
    fn remember_set_r_imm(m) {
        let w = m.word();
        remember_element(m, w.e as u64, m.r(w.b));
        m.next()
    }
    /// `r[a][i[b]] and the i[c] - 1 references behind it = r[d]`. (In all of these `e` is the kind)
    fn fill(m) { m.follow(m.outlined(bulk::fill_parts)) }
}

/// `i[operand]` of a string or a byte array.
#[inline(always)]
unsafe fn get_byte(m: Machine, dst: u8, operand: u8, index: u64) -> Pc {
    // SAFETY: as for all handlers.
    unsafe {
        let found = match m.element::<u8>(operand, ObjectKind::ByteArray, index) {
            Err(Fault::WrongKind) => m.element::<u8>(operand, ObjectKind::Text, index),
            found => found,
        };
        match found {
            Ok(slot) => {
                m.set_i(dst, *slot as u64);
                m.next()
            }
            Err(fault) => m.fault(fault),
        }
    }
}

/// Stores a reference into an element of the array `r[a]`, of which the heap is told.
#[inline(always)]
unsafe fn remember_element(m: Machine, index: u64, value: Value) {
    // SAFETY: the handler has checked kind and bounds.
    unsafe {
        let array = m.r(m.word().a).object().unwrap_unchecked();
        let slot = array.add(2 + index as usize);
        (*m.ctx).heap.remember(array, slot);
        *slot = value.0;
    }
}

const RECORD: u8 = ObjectKind::Record.header_byte();
const CLOSURE: u8 = ObjectKind::Closure.header_byte();
const TEXT: u8 = ObjectKind::Text.header_byte();
const WEAK: u8 = ObjectKind::Weak.header_byte();

#[inline(always)]
unsafe fn kind_byte(object: *mut u64) -> u8 {
    // SAFETY: the caller passes an object.
    unsafe { *object as u8 & crate::heap::KIND_MASK }
}

/// Writes `length` times `word`.
#[inline(always)]
unsafe fn repeat(elements: *mut u64, length: u64, word: u64) {
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
            // SAFETY: the slots lie in the array, as was checked.
            unsafe { bulk::remember_range(m, self.unremembered, self.to, range) };
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
        let is_array = !matches!(to_kind, RECORD | CLOSURE | TEXT | WEAK) && *to & STATIC == 0;
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
