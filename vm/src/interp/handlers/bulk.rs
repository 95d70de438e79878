//! Work on many bytes: cold handlers for arrays and strings too long to be handled at once.
//!
//! Each does what the op's own handler would, in parts (`safepoint/work.rs`).

use std::cmp::Ordering;
use std::ops::Range;

use super::array::checked_copy;
use super::text::is_equal;
use crate::heap::{HeaderSource, LOG, ObjectKind, Value, array_bytes, bytes_of};
use crate::machine::{Fault, Machine, Obstacle, is_writable};
use crate::safepoint::{Way, in_parts, way_after};

/// The most elements that an array may have.
const MAX_LENGTH: u64 = 1 << 40;

handlers! {
    /// `r[a] = an array of kind d and of i[b] elements`, all of them `r[c]` or `i[c]`
    #[cold]
    #[inline(never)]
    fn new_long(m) { m.follow(m.outlined(make_long)) }
    /// `r[a] = an array of kind d with the elements that the data word points to`
    #[cold]
    #[inline(never)]
    fn data_long(m) {
        match m.outlined(copy_data) {
            Way::Next => m.skip(2),
            way => m.follow(way),
        }
    }
    /// `copy i[e] elements of r[c] from i[d] on to r[a] at i[b]`
    #[cold]
    #[inline(never)]
    fn copy_many(m) { m.follow(m.outlined(copy_parts)) }
    /// `i[a] = the order of r[b] and r[c]`, two strings
    #[cold]
    #[inline(never)]
    fn compare_long(m) { m.follow(m.outlined(compare_parts)) }
}

outlined! {
    fn make_long(m) -> Way {
        let w = m.word();
        let kind = ObjectKind::from_header(w.d as u64).unwrap_unchecked();
        let element = match kind {
            ObjectKind::RefArray => m.r(w.c).0,
            _ => m.i(w.c),
        };
        let size = if kind == ObjectKind::ByteArray { 1 } else { 8 };
        let made = make_array(m, kind, m.i(w.b), |elements, range| {
            fill(elements, range, size, element);
        });
        way_after(m, made)
    }
    fn copy_data(m) -> Way {
        let source = (*m.pc.add(1)).data;
        let from = source.x as *const u8;
        let kind = ObjectKind::from_header(m.word().d as u64).unwrap_unchecked();
        let made = make_array(m, kind, source.y, |elements, range| {
            let to = elements.add(range.start);
            to.copy_from_nonoverlapping(from.add(range.start), range.len());
        });
        way_after(m, made)
    }
    fn copy_parts(m) -> Way {
        let copy = match checked_copy(m) {
            Ok(copy) => copy,
            Err(fault) => return way_after(m, Err(Obstacle::Fault(fault))),
        };
        // Within an array what is copied last must not have been overwritten.
        let is_backward = (copy.to.addr()).wrapping_sub(copy.from.addr()) < copy.bytes;
        let copied = in_parts(m, copy.bytes, |range| {
            let range = match is_backward {
                true => copy.bytes - range.end..copy.bytes - range.start,
                false => range,
            };
            copy.remember(m, range.clone());
            copy.to.add(range.start).copy_from(copy.from.add(range.start), range.len());
        });
        way_after(m, copied.map(|()| Way::Next))
    }
    /// `r[a][i[b]] and the i[c] - 1 elements behind it = r[d] or i[d]`; `e` is the kind.
    pub(super) fn fill_parts(m) -> Way {
        let w = m.word();
        let kind = ObjectKind::from_header(w.e as u64).unwrap_unchecked();
        let array = m.r(w.a).object().filter(|&array| is_writable(array, kind));
        let Some(array) = array else {
            return way_after(m, Err(Obstacle::Fault(Fault::WrongKind)));
        };
        let (index, count) = (m.i(w.b), m.i(w.c));
        if index.checked_add(count).is_none_or(|end| end > *array.add(1)) {
            return way_after(m, Err(Obstacle::Fault(Fault::IndexOutOfBounds)));
        }
        let element = match kind {
            ObjectKind::RefArray => m.r(w.d).0,
            _ => m.i(w.d),
        };
        let size = if kind == ObjectKind::ByteArray { 1 } else { 8 };
        let start = array.add(2).cast::<u8>().add(index as usize * size);
        let filled = in_parts(m, count as usize * size, |range| {
            if kind == ObjectKind::RefArray {
                remember_range(m, array, start, range.clone());
            }
            fill(start, range, size, element);
        });
        way_after(m, filled.map(|()| Way::Next))
    }
    /// Whether the strings `r[a]` and `r[b]`, which are as long as each other, are equal; or the
    /// way on, if the run ends meanwhile.
    pub(super) fn equal_parts(m) -> Result<bool, Way> {
        let w = m.word();
        let (lhs, rhs) = (m.object(w.a, ObjectKind::Text), m.object(w.b, ObjectKind::Text));
        let (Some(lhs), Some(rhs)) = (lhs, rhs) else {
            return Err(way_after(m, Err(Obstacle::Fault(Fault::WrongKind))));
        };
        let is_equal = is_equal(m, bytes_of(lhs), bytes_of(rhs));
        is_equal.map_err(|obstacle| way_after(m, Err(obstacle)))
    }
    fn compare_parts(m) -> Way {
        let w = m.word();
        let (lhs, rhs) = (m.object(w.b, ObjectKind::Text), m.object(w.c, ObjectKind::Text));
        let (Some(lhs), Some(rhs)) = (lhs, rhs) else {
            return way_after(m, Err(Obstacle::Fault(Fault::WrongKind)));
        };
        let (lhs, rhs) = (bytes_of(lhs), bytes_of(rhs));
        let mut order = Ordering::Equal;
        let compared = in_parts(m, lhs.len().min(rhs.len()), |range| {
            if order == Ordering::Equal {
                order = lhs[range.clone()].cmp(&rhs[range]);
            }
        });
        let order = order.then(lhs.len().cmp(&rhs.len()));
        m.set_i(w.a, order as i64 as u64);
        way_after(m, compared.map(|()| Way::Next))
    }
}

/// Has the heap remember the references that this range of bytes of an array's elements is going
/// to hold, as long as it does not remember the whole array.
#[inline(always)]
pub(super) unsafe fn remember_range(
    m: Machine,
    array: *mut u64,
    elements: *mut u8,
    range: Range<usize>,
) {
    for offset in range.step_by(8) {
        // SAFETY: the slots lie in the array, as was checked.
        unsafe {
            if *array & LOG == 0 {
                break;
            }
            (*m.ctx).heap.remember(array, elements.add(offset).cast());
        }
    }
}

/// Fills a range of bytes of elements of this size, which starts where an element does.
unsafe fn fill(elements: *mut u8, range: Range<usize>, element_bytes: usize, element: u64) {
    // SAFETY: the caller passes elements that it may write.
    unsafe {
        match element_bytes {
            1 => elements
                .add(range.start)
                .write_bytes(element as u8, range.len()),
            _ => {
                let slots = elements.add(range.start).cast::<u64>();
                std::slice::from_raw_parts_mut(slots, range.len() / 8).fill(element);
            }
        }
    }
}

/// Allocates an array for `r[a]` and lets `write` fill it, range of bytes by range.
unsafe fn make_array(
    m: Machine,
    kind: ObjectKind,
    length: u64,
    mut write: impl FnMut(*mut u8, Range<usize>),
) -> Result<Way, Obstacle> {
    if length > MAX_LENGTH {
        return Err(Obstacle::Fault(Fault::IndexOutOfBounds));
    }
    let length = length as usize;
    let bytes = array_bytes(kind, length).unwrap_or(usize::MAX);
    let element_bytes = if kind == ObjectKind::ByteArray { 1 } else { 8 };
    // SAFETY: as for all handlers; the ranges lie within the elements.
    unsafe {
        let source = HeaderSource::of_operand(m.word().e);
        let Some(array) = (*m.ctx).heap.try_array(kind, length, source) else {
            (*m.ctx).control.request_bytes = bytes;
            return Ok(Way::Collect);
        };
        m.charge(bytes);
        let mut filled_bytes = 0;
        let filled = in_parts(m, length * element_bytes, |range| {
            filled_bytes = range.end;
            write(array.add(2).cast(), range);
        });
        if filled.is_err() {
            // Nobody will see it, but the heap must find an array that is whole.
            *array.add(1) = (filled_bytes / element_bytes) as u64;
        }
        (*m.ctx).heap.born(array);
        filled?;
        m.set_r(m.word().a, Value::pointer(array));
    }
    Ok(Way::Next)
}
