//! References as text, for messages.

use crate::heap::{ObjectKind, Shape, Value, bytes_of};

/// How deep objects within objects are shown.
const MAX_DEPTH: usize = 4;
/// How many elements of an array, and bytes of a string, are shown.
const MAX_ELEMENTS: usize = 40;

/// Shows a reference: immediates as numbers, strings in quotes, records as `#tag(fields)`. Deep
/// and long values are cut, so that cycles end.
pub(crate) fn show(value: Value) -> String {
    let mut text = String::new();
    show_into(value, 0, &mut text);
    text
}

/// The first raw field of a record with this tag.
pub(crate) fn record_int(value: Value, tag: u16) -> Option<u64> {
    let object = value.object()?;
    // SAFETY: a reference that is no immediate points to a whole object.
    unsafe {
        let header = *object;
        let shape = Shape::of(object, header)?;
        let fits = shape.kind == ObjectKind::Record && (header >> 32) as u16 == tag;
        let first_int = shape.first_ref + shape.n_refs;
        (fits && first_int < shape.words).then(|| *object.add(first_int))
    }
}

fn show_into(value: Value, depth: usize, text: &mut String) {
    use std::fmt::Write;
    let Some(object) = value.object() else {
        let _ = write!(text, "{}", value.0 as i64 >> 1);
        return;
    };
    if value.is_null() {
        return text.push_str("null");
    }
    if depth == MAX_DEPTH {
        return text.push('…');
    }
    // SAFETY: as in `record_int`; fields and elements lie within the shape.
    unsafe {
        let Some(shape) = Shape::of(object, *object) else {
            return;
        };
        let refs = (0..shape.n_refs).map(|index| Value(*object.add(shape.first_ref + index)));
        let first_raw = shape.first_ref + shape.n_refs;
        let raw = (first_raw..shape.words).map(|index| *object.add(index));
        match shape.kind {
            ObjectKind::Text | ObjectKind::ByteArray => {
                let bytes = bytes_of(object);
                let shown = &bytes[..bytes.len().min(MAX_ELEMENTS)];
                let _ = write!(text, "{:?}", String::from_utf8_lossy(shown));
                if shown.len() < bytes.len() {
                    text.push('…');
                }
                return;
            }
            ObjectKind::Record => {
                let _ = write!(text, "#{}(", *object >> 32 & 0xffff);
            }
            ObjectKind::Closure => text.push_str("closure("),
            ObjectKind::RefArray | ObjectKind::IntArray | ObjectKind::FloatArray => text.push('['),
            ObjectKind::Weak => {
                text.push_str("weak(");
                show_into(Value(*object.add(1)), depth + 1, text);
                return text.push(')');
            }
        }
        let mut separator = "";
        for value in refs.take(MAX_ELEMENTS) {
            text.push_str(separator);
            show_into(value, depth + 1, text);
            separator = ", ";
        }
        for word in raw.take(MAX_ELEMENTS) {
            let _ = match shape.kind {
                ObjectKind::FloatArray => write!(text, "{separator}{:?}", f64::from_bits(word)),
                _ => write!(text, "{separator}{}", word as i64),
            };
            separator = ", ";
        }
        text.push(
            if matches!(shape.kind, ObjectKind::Record | ObjectKind::Closure) {
                ')'
            } else {
                ']'
            },
        );
    }
}
