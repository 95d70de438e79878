//! Values and figures as text.

use std::collections::HashSet;
use std::fmt::Write;

use vm::{Datum, ObjectData};

use crate::values::{Store, Value};

/// How values are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// How deep objects within objects are shown.
    pub(crate) depth: usize,
    /// How many elements of a list, an array or a string are shown.
    pub(crate) elements: usize,
    /// Whether cells that end in null are shown as lists.
    pub(crate) lists: bool,
    /// Whether raw fields of records and closures are shown as doubles.
    pub(crate) floats: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            depth: 6,
            elements: 40,
            lists: true,
            floats: false,
        }
    }
}

/// The tag of the records that are shown as cells of a list.
pub(crate) const LIST_TAG: u16 = 1;

/// A value as the language writes it, cut where it is deep or long. An object within itself is
/// shown as `^`.
pub(crate) fn value(store: &Store, value: Value, shape: Shape) -> String {
    let mut text = String::new();
    match value {
        Value::Int(number) => {
            let _ = write!(text, "{number}");
        }
        Value::Float(bits) => text.push_str(&float(f64::from_bits(bits))),
        Value::Ref(datum) => {
            let mut printer = Printer {
                store,
                shape,
                open: HashSet::new(),
                text: &mut text,
            };
            printer.datum(datum, 0);
        }
    }
    text
}

/// A double so that it is told from an integer.
pub(crate) fn float(number: f64) -> String {
    format!("{number:?}")
}

struct Printer<'a> {
    store: &'a Store,
    shape: Shape,
    /// The objects around the place that is printed.
    open: HashSet<u32>,
    text: &'a mut String,
}

impl Printer<'_> {
    fn datum(&mut self, datum: Datum, depth: usize) {
        let place = match datum {
            Datum::Null => return self.text.push_str("null"),
            Datum::Immediate(number) => {
                let _ = write!(self.text, "&{number}");
                return;
            }
            Datum::Unread => return self.text.push('…'),
            Datum::Object(place) => place,
        };
        if depth >= self.shape.depth {
            return self.text.push('…');
        }
        if !self.open.insert(place) {
            return self.text.push('^');
        }
        self.object(place, depth);
        self.open.remove(&place);
    }

    fn object(&mut self, place: u32, depth: usize) {
        let store = self.store;
        let Some(object) = store.object(place) else {
            return self.text.push('…');
        };
        match object {
            ObjectData::Record { tag, refs, ints } => {
                if self.shape.lists && self.is_list(place) {
                    return self.list(place, depth);
                }
                let _ = write!(self.text, "#{tag}(");
                self.fields(refs, ints, depth);
                self.text.push(')');
            }
            ObjectData::Closure {
                function,
                refs,
                ints,
            } => {
                let _ = write!(self.text, "{}{{", store.function(*function));
                self.fields(refs, ints, depth);
                self.text.push('}');
            }
            ObjectData::RefArray(refs) => {
                self.text.push_str("refs [");
                self.items(refs, |printer, &one| printer.datum(one, depth + 1));
                self.text.push(']');
            }
            ObjectData::IntArray(ints) => {
                self.text.push_str("i64 [");
                self.items(ints, |printer, one| printer.text.push_str(&one.to_string()));
                self.text.push(']');
            }
            ObjectData::FloatArray(floats) => {
                self.text.push_str("f64 [");
                self.items(floats, |printer, &one| printer.text.push_str(&float(one)));
                self.text.push(']');
            }
            ObjectData::ByteArray(bytes) => {
                self.text.push_str("bytes [");
                self.items(bytes, |printer, one| {
                    printer.text.push_str(&one.to_string())
                });
                self.text.push(']');
            }
            ObjectData::Text(bytes) => self.string(bytes),
            ObjectData::Weak(to) => {
                self.text.push_str("weak(");
                self.datum(*to, depth + 1);
                self.text.push(')');
            }
        }
    }

    fn fields(&mut self, refs: &[Datum], ints: &[i64], depth: usize) {
        self.items(refs, |printer, &one| printer.datum(one, depth + 1));
        if !refs.is_empty() && !ints.is_empty() {
            self.text.push_str(", ");
        }
        self.items(ints, |printer, &one| printer.raw(one));
    }

    /// A raw field, of which nothing says what it is.
    fn raw(&mut self, word: i64) {
        match self.shape.floats {
            true => self.text.push_str(&float(f64::from_bits(word as u64))),
            false => self.text.push_str(&word.to_string()),
        }
    }

    fn items<T>(&mut self, items: &[T], mut show: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if index == self.shape.elements {
                let _ = write!(self.text, "… {} more", items.len() - index);
                return;
            }
            show(self, item);
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        let limit = 4 * self.shape.elements;
        self.text.push('"');
        for chunk in bytes[..bytes.len().min(limit)].utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    '\n' => self.text.push_str("\\n"),
                    '\t' => self.text.push_str("\\t"),
                    '\r' => self.text.push_str("\\r"),
                    '"' | '\\' => self.text.extend(['\\', char]),
                    char if char.is_control() => {
                        let _ = write!(self.text, "\\u{{{:x}}}", char as u32);
                    }
                    char => self.text.push(char),
                }
            }
            for byte in chunk.invalid() {
                let _ = write!(self.text, "\\x{byte:02x}");
            }
        }
        self.text.push('"');
        if bytes.len() > limit {
            let _ = write!(self.text, "… {} more", bytes.len() - limit);
        }
    }

    /// What a cell of a list holds and leads to.
    fn cell(&self, place: u32) -> Option<(Value, Datum)> {
        match self.store.object(place)? {
            ObjectData::Record { tag, refs, ints } if *tag == LIST_TAG => {
                match (refs.as_slice(), ints.as_slice()) {
                    ([rest], [number]) => Some((Value::Int(*number), *rest)),
                    ([rest, element], []) => Some((Value::Ref(*element), *rest)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the record is the first cell of a list: cells of one shape up to null.
    fn is_list(&self, first: u32) -> bool {
        let Some((element, mut rest)) = self.cell(first) else {
            return false;
        };
        let mut n_cells = 1;
        loop {
            match rest {
                // What was not read may well be the rest of a list.
                Datum::Null | Datum::Unread => return true,
                Datum::Immediate(_) => return false,
                Datum::Object(place) => match self.cell(place) {
                    // A list of more cells than there are objects is a circle.
                    _ if n_cells > self.store.len() => return false,
                    Some((next, after)) if next.kind() == element.kind() => rest = after,
                    _ => return false,
                },
            }
            n_cells += 1;
        }
    }

    fn list(&mut self, first: u32, depth: usize) {
        self.text.push('[');
        let mut rest = Datum::Object(first);
        let mut n_shown = 0;
        while let Datum::Object(place) = rest {
            let Some((element, after)) = self.cell(place) else {
                break;
            };
            if n_shown > 0 {
                self.text.push_str(", ");
            }
            if n_shown == self.shape.elements {
                self.text.push('…');
                break;
            }
            match element {
                Value::Ref(datum) => self.datum(datum, depth + 1),
                Value::Int(number) => self.raw(number),
                Value::Float(bits) => self.text.push_str(&float(f64::from_bits(bits))),
            }
            n_shown += 1;
            rest = after;
        }
        if rest == Datum::Unread {
            self.text.push_str(", …");
        }
        self.text.push(']');
    }
}

/// A number with commas between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration with four significant digits and its unit.
pub(crate) fn seconds(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "us"),
        s => (s * 1e9, "ns"),
    };
    let digits = match scaled {
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        _ => 3,
    };
    format!("{scaled:.digits$} {unit}")
}

/// Rows of cells in columns: the first to the left, the others to the right, two spaces between.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            match column {
                0 => line.extend([cell.as_str(), &pad]),
                _ => line.extend(["  ", &pad, cell]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
