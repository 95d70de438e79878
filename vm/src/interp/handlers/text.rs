//! Strings. Their work is done by functions that are not handlers, so that what they need of the
//! native stack is not needed by the loop.

use super::bulk;
use crate::heap::{HeaderSource, ObjectKind, Value, array_bytes, bytes_of};
use crate::machine::{Fault, Machine, Obstacle};
use crate::safepoint::{PART_BYTES, Way, in_parts, way_after};

handlers! {
    /// `r[a] = r[b] followed by r[c]`
    fn cat(m) { m.follow(m.outlined(concatenate)) }
    /// `r[a] = i[d] bytes of r[b] from i[c] on`
    fn sub_str(m) { m.follow(m.outlined(substring)) }
    /// `r[a] = i[b] in decimal`
    fn str_of_int(m) { m.follow(m.outlined(text_of_int)) }
    /// `r[a] = f[b] in decimal`
    fn str_of_float(m) { m.follow(m.outlined(text_of_float)) }
    /// `r[a] = a string of the bytes r[b]`
    fn str_of_bytes(m) { m.follow(m.outlined(text_of_bytes)) }
    /// `i[a] = the order of r[b] and r[c]`
    fn cmp(m) {
        let w = m.word();
        match (m.object(w.b, ObjectKind::Text), m.object(w.c, ObjectKind::Text)) {
            (Some(lhs), Some(rhs)) if (*lhs.add(1)).min(*rhs.add(1)) > PART_BYTES as u64 => {
                m.enter(bulk::compare_long)
            }
            (Some(lhs), Some(rhs)) => {
                m.set_i(w.a, compare(lhs, rhs) as u64);
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// `i[a] = the integer in r[c], i[b] = whether there is one`
    fn int_of_str(m) {
        let w = m.word();
        let Some(text) = m.object(w.c, ObjectKind::Text) else { return m.fault(Fault::WrongKind) };
        let (ok, number) = parse_int(text);
        m.set_i(w.a, number);
        m.set_i(w.b, ok as u64);
        m.next()
    }
    /// `f[a] = the number in r[c], i[b] = whether there is one`
    fn float_of_str(m) {
        let w = m.word();
        let Some(text) = m.object(w.c, ObjectKind::Text) else { return m.fault(Fault::WrongKind) };
        let (ok, number) = parse_float(text);
        m.set_f(w.a, number);
        m.set_i(w.b, ok as u64);
        m.next()
    }
}

/// Makes the string of these parts, one after the other, for `r[a]`.
unsafe fn make(m: Machine, parts: &[&[u8]]) -> Way {
    let length = parts.iter().map(|part| part.len()).sum();
    // SAFETY: as for all handlers. The parts do not move: nothing is collected here.
    unsafe {
        let source = HeaderSource::of_operand(m.word().e);
        let bytes = array_bytes(ObjectKind::Text, length).unwrap_or(usize::MAX);
        let Some(text) = (*m.ctx).heap.try_array(ObjectKind::Text, length, source) else {
            (*m.ctx).control.request_bytes = bytes;
            return Way::Collect;
        };
        m.charge(bytes);
        let mut to: *mut u8 = text.add(2).cast();
        for part in parts {
            let copied = in_parts(m, part.len(), |range| {
                let from = part.as_ptr().add(range.start);
                to.add(range.start)
                    .copy_from_nonoverlapping(from, range.len());
            });
            if let Err(obstacle) = copied {
                return way_after(m, Err(obstacle));
            }
            to = to.add(part.len());
        }
        m.set_r(m.word().a, Value::pointer(text));
    }
    Way::Next
}

/// Raises a fault.
unsafe fn fault(m: Machine, fault: Fault) -> Way {
    // SAFETY: as for all handlers.
    unsafe { way_after(m, Err(Obstacle::Fault(fault))) }
}

outlined! {
    fn concatenate(m) -> Way {
        let w = m.word();
        let (lhs, rhs) = (m.object(w.b, ObjectKind::Text), m.object(w.c, ObjectKind::Text));
        let (Some(lhs), Some(rhs)) = (lhs, rhs) else {
            return fault(m, Fault::WrongKind);
        };
        make(m, &[bytes_of(lhs), bytes_of(rhs)])
    }
    fn substring(m) -> Way {
        let w = m.word();
        let Some(text) = m.object(w.b, ObjectKind::Text) else { return fault(m, Fault::WrongKind) };
        let (index, count) = (m.i(w.c), m.i(w.d));
        let end = index.checked_add(count);
        let Some(part) = end.and_then(|end| bytes_of(text).get(index as usize..end as usize)) else {
            return fault(m, Fault::IndexOutOfBounds);
        };
        make(m, &[part])
    }
    fn text_of_int(m) -> Way {
        let digits = (m.i(m.word().b) as i64).to_string();
        make(m, &[digits.as_bytes()])
    }
    fn text_of_float(m) -> Way {
        let digits = format_float(m.f(m.word().b));
        make(m, &[digits.as_bytes()])
    }
    fn text_of_bytes(m) -> Way {
        let Some(array) = m.object(m.word().b, ObjectKind::ByteArray) else {
            return fault(m, Fault::WrongKind);
        };
        make(m, &[bytes_of(array)])
    }
}

/// The shortest decimal that reads back as the same double; whole numbers keep a `.0`.
pub(crate) fn format_float(x: f64) -> String {
    format!("{x:?}")
}

#[inline(never)]
unsafe fn compare(lhs: *const u64, rhs: *const u64) -> i64 {
    // SAFETY: the caller passes strings.
    unsafe { bytes_of(lhs).cmp(bytes_of(rhs)) as i64 }
}

/// The most bytes that a number may have in text.
const MAX_NUMBER_BYTES: usize = 1 << 16;

/// The text of a number.
unsafe fn number_text<'a>(text: *const u64) -> Option<&'a str> {
    // SAFETY: the caller passes a string.
    let bytes = unsafe { bytes_of(text) };
    let is_short = bytes.len() <= MAX_NUMBER_BYTES;
    is_short.then(|| std::str::from_utf8(bytes).ok()).flatten()
}

#[inline(never)]
unsafe fn parse_int(text: *const u64) -> (bool, u64) {
    // SAFETY: the caller passes a string.
    match unsafe { number_text(text) }.map(str::parse::<i64>) {
        Some(Ok(number)) => (true, number as u64),
        _ => (false, 0),
    }
}

#[inline(never)]
unsafe fn parse_float(text: *const u64) -> (bool, f64) {
    // SAFETY: the caller passes a string.
    match unsafe { number_text(text) }.map(str::parse::<f64>) {
        Some(Ok(number)) => (true, number),
        _ => (false, 0.0),
    }
}
