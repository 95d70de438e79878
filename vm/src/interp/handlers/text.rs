//! Strings. Their work is done by functions that are not handlers, so that what they need of the
//! native stack is not needed by the loop.

use crate::heap::{HeaderSource, Kind, Value, array_bytes, bytes_of};
use crate::machine::Fault;
use crate::machine::Machine;

/// What came of an op that allocates a string.
enum Made {
    Done,
    /// Collect for this many bytes first.
    Collect(usize),
    Fault(Fault),
}

/// Ends a handler by what came of its work.
macro_rules! end_with {
    ($m:ident, $made:expr) => {
        match $made {
            Made::Done => $m.next(),
            Made::Collect(bytes) => $m.collect(bytes),
            Made::Fault(fault) => $m.fault(fault),
        }
    };
}

handlers! {
    /// `r[a] = r[b] followed by r[c]`
    fn cat(m) { end_with!(m, m.outlined(concatenate)) }
    /// `r[a] = i[d] bytes of r[b] from i[c] on`
    fn sub_str(m) { end_with!(m, m.outlined(substring)) }
    /// `r[a] = i[b] in decimal`
    fn str_of_int(m) { end_with!(m, m.outlined(text_of_int)) }
    /// `r[a] = f[b] in decimal`
    fn str_of_float(m) { end_with!(m, m.outlined(text_of_float)) }
    /// `r[a] = a string of the bytes r[b]`
    fn str_of_bytes(m) { end_with!(m, m.outlined(text_of_bytes)) }
    /// `i[a] = the order of r[b] and r[c]`
    fn cmp(m) {
        let w = m.word();
        match (m.object(w.b, Kind::Text), m.object(w.c, Kind::Text)) {
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
        let Some(text) = m.object(w.c, Kind::Text) else { return m.fault(Fault::WrongKind) };
        let (ok, number) = parse_int(text);
        m.set_i(w.a, number);
        m.set_i(w.b, ok as u64);
        m.next()
    }
    /// `f[a] = the number in r[c], i[b] = whether there is one`
    fn float_of_str(m) {
        let w = m.word();
        let Some(text) = m.object(w.c, Kind::Text) else { return m.fault(Fault::WrongKind) };
        let (ok, number) = parse_float(text);
        m.set_f(w.a, number);
        m.set_i(w.b, ok as u64);
        m.next()
    }
}

/// Allocates a string for `r[a]` and lets `write` fill it.
unsafe fn make(m: Machine, length: usize, write: impl FnOnce(*mut u8)) -> Made {
    // SAFETY: as for all handlers.
    unsafe {
        let bytes = array_bytes(Kind::Text, length).unwrap_or(usize::MAX);
        let source = HeaderSource::of_operand(m.word().e);
        let Some(text) = (*m.ctx).heap.try_array(Kind::Text, length, source) else {
            return Made::Collect(bytes);
        };
        write(text.add(2).cast());
        m.charge(bytes);
        m.set_r(m.word().a, Value::pointer(text));
        Made::Done
    }
}

outlined! {
    fn concatenate(m) -> Made {
        let w = m.word();
        let (Some(lhs), Some(rhs)) = (m.object(w.b, Kind::Text), m.object(w.c, Kind::Text)) else {
            return Made::Fault(Fault::WrongKind);
        };
        let (lhs, rhs) = (bytes_of(lhs), bytes_of(rhs));
        make(m, lhs.len() + rhs.len(), |to| {
            to.copy_from_nonoverlapping(lhs.as_ptr(), lhs.len());
            to.add(lhs.len()).copy_from_nonoverlapping(rhs.as_ptr(), rhs.len());
        })
    }
    fn substring(m) -> Made {
        let w = m.word();
        let Some(text) = m.object(w.b, Kind::Text) else { return Made::Fault(Fault::WrongKind) };
        let (index, count) = (m.i(w.c), m.i(w.d));
        let end = index.checked_add(count);
        let Some(part) = end.and_then(|end| bytes_of(text).get(index as usize..end as usize)) else {
            return Made::Fault(Fault::IndexOutOfBounds);
        };
        make(m, part.len(), |to| to.copy_from_nonoverlapping(part.as_ptr(), part.len()))
    }
    fn text_of_int(m) -> Made {
        let digits = (m.i(m.word().b) as i64).to_string();
        make(m, digits.len(), |to| to.copy_from_nonoverlapping(digits.as_ptr(), digits.len()))
    }
    fn text_of_float(m) -> Made {
        let digits = format_float(m.f(m.word().b));
        make(m, digits.len(), |to| to.copy_from_nonoverlapping(digits.as_ptr(), digits.len()))
    }
    fn text_of_bytes(m) -> Made {
        let Some(array) = m.object(m.word().b, Kind::ByteArray) else {
            return Made::Fault(Fault::WrongKind);
        };
        let bytes = bytes_of(array);
        make(m, bytes.len(), |to| to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()))
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

#[inline(never)]
unsafe fn parse_int(text: *const u64) -> (bool, u64) {
    // SAFETY: the caller passes a string.
    match std::str::from_utf8(unsafe { bytes_of(text) }).map(str::parse::<i64>) {
        Ok(Ok(number)) => (true, number as u64),
        _ => (false, 0),
    }
}

#[inline(never)]
unsafe fn parse_float(text: *const u64) -> (bool, f64) {
    // SAFETY: the caller passes a string.
    match std::str::from_utf8(unsafe { bytes_of(text) }).map(str::parse::<f64>) {
        Ok(Ok(number)) => (true, number),
        _ => (false, 0.0),
    }
}
