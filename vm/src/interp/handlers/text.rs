//! Strings. Their work is done by functions that are not handlers, so that what they need of the
//! native stack is not needed by the loop.

use super::bulk;
use crate::heap::{HeaderSource, ObjectKind, Value, array_bytes, bytes_of};
use crate::machine::{Fault, Machine, Obstacle, is_writable};
use crate::safepoint::{BYTES_PER_FUEL, PART_BYTES, Way, in_parts, spend, way_after};

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

/// `if r[a] and r[b] are equal, or not, goto e`.
macro_rules! comparing_jumps {
    ($($name:ident = $wanted:literal;)+) => {
        handlers! { $(
            fn $name<const BACK: bool>(m) {
                if BACK && m.is_wanted() { return m.attend(); }
                let w = m.word();
                let texts = (m.object(w.a, ObjectKind::Text), m.object(w.b, ObjectKind::Text));
                let (Some(lhs), Some(rhs)) = texts else { return m.fault(Fault::WrongKind) };
                let is_equal = match *lhs.add(1) == *rhs.add(1) {
                    true if *lhs.add(1) > PART_BYTES as u64 => {
                        match m.outlined(bulk::equal_parts) {
                            Ok(is_equal) => is_equal,
                            Err(way) => return m.follow(way),
                        }
                    }
                    true => compare(lhs, rhs) == 0,
                    false => false,
                };
                if is_equal == $wanted { m.jump(w.e) } else { m.next() }
            }
        )+ }
    };
}

comparing_jumps! {
    jstreq = true;
    jstrne = false;
}

handlers! {
    /// `i[a] = where r[c] stands in r[b], from i[d] on`
    fn find(m) { m.follow(m.outlined(search)) }
    /// `i[a] = a hash of r[b]`
    fn hash(m) { m.follow(m.outlined(hash_parts)) }
    /// `r[b][i[c]] and what follows = i[d] in decimal, i[a] = the index behind it`
    fn put_int(m) { m.follow(m.outlined(put_digits)) }
}

/// A string or a byte array.
unsafe fn text_or_bytes(m: Machine, operand: u8) -> Option<*mut u64> {
    // SAFETY: as for all handlers.
    unsafe {
        let text = m.object(operand, ObjectKind::Text);
        text.or_else(|| m.object(operand, ObjectKind::ByteArray))
    }
}

/// The most bytes of a part that are searched for at once; what is behind them is then compared.
const MAX_SEARCHED_BYTES: usize = PART_BYTES / 2;

/// Where a part stands in bytes, from a place on. What takes long is paid for.
unsafe fn search_in(
    m: Machine,
    bytes: &[u8],
    part: &[u8],
    from: usize,
) -> Result<Option<usize>, Obstacle> {
    let searched = &part[..part.len().min(MAX_SEARCHED_BYTES)];
    let finder = memchr::memmem::Finder::new(searched);
    let mut at = from;
    while at + part.len() <= bytes.len() {
        let end = bytes.len().min(at + PART_BYTES);
        if at > from || end - from == PART_BYTES {
            // SAFETY: as for all handlers.
            unsafe { spend(m, (PART_BYTES / BYTES_PER_FUEL) as u64)? };
        }
        let Some(found) = finder.find(&bytes[at..end]) else {
            // The next part of the bytes begins where a match may that ends in it.
            at = end - (searched.len().max(1) - 1);
            if end == bytes.len() {
                break;
            }
            continue;
        };
        at += found;
        let Some(candidate) = bytes.get(at..at + part.len()) else {
            break;
        };
        let rest = searched.len()..part.len();
        // SAFETY: as for all handlers.
        if unsafe { is_equal(m, &candidate[rest.clone()], &part[rest])? } {
            return Ok(Some(at));
        }
        at += 1;
    }
    Ok(None)
}

/// Whether two stretches of as many bytes are equal, told in parts.
pub(super) unsafe fn is_equal(m: Machine, lhs: &[u8], rhs: &[u8]) -> Result<bool, Obstacle> {
    let mut is_equal = true;
    // SAFETY: as for all handlers.
    unsafe {
        in_parts(m, lhs.len(), |range| {
            is_equal &= lhs[range.clone()] == rhs[range];
        })?;
    }
    Ok(is_equal)
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
        let Some(text) = text_or_bytes(m, w.b) else { return fault(m, Fault::WrongKind) };
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
    fn search(m) -> Way {
        let w = m.word();
        let (Some(bytes), Some(part)) = (text_or_bytes(m, w.b), text_or_bytes(m, w.c)) else {
            return fault(m, Fault::WrongKind);
        };
        let (bytes, part) = (bytes_of(bytes), bytes_of(part));
        let from = m.i(w.d);
        if from > bytes.len() as u64 {
            return fault(m, Fault::IndexOutOfBounds);
        }
        way_after(m, search_in(m, bytes, part, from as usize).map(|found| {
            m.set_i(w.a, found.map_or(u64::MAX, |at| at as u64));
            Way::Next
        }))
    }
    fn hash_parts(m) -> Way {
        let w = m.word();
        let Some(bytes) = text_or_bytes(m, w.b) else { return fault(m, Fault::WrongKind) };
        let bytes = bytes_of(bytes);
        let mut hash = bytes.len() as u64;
        let hashed = in_parts(m, bytes.len(), |range| {
            for chunk in bytes[range].chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                let mixed = hash.rotate_left(5) ^ u64::from_le_bytes(word);
                hash = mixed.wrapping_mul(HASH_FACTOR);
            }
        });
        m.set_i(w.a, hash ^ hash >> 32);
        way_after(m, hashed.map(|()| Way::Next))
    }
    fn put_digits(m) -> Way {
        let w = m.word();
        let array = m.r(w.b).object().filter(|&array| is_writable(array, ObjectKind::ByteArray));
        let Some(array) = array else { return fault(m, Fault::WrongKind) };
        let digits = (m.i(w.d) as i64).to_string();
        let index = m.i(w.c);
        let end = index.checked_add(digits.len() as u64);
        let Some(end) = end.filter(|&end| end <= *array.add(1)) else {
            return fault(m, Fault::IndexOutOfBounds);
        };
        let to = array.add(2).cast::<u8>().add(index as usize);
        to.copy_from_nonoverlapping(digits.as_ptr(), digits.len());
        m.set_i(w.a, end);
        Way::Next
    }
}

/// What `hash` multiplies by: FxHash's odd number of well-mixed bits.
const HASH_FACTOR: u64 = 0x517c_c1b7_2722_0a95;

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
