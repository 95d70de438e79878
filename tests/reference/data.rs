//! Ops on references: immediates, records, arrays, strings, captures.
//!
//! Where several things are wrong at once, a wrong kind comes before a wrong index.

use vm::Fault;
use vm::isa::Opcode::{self, *};

use super::heap::{Heap, Object, Value};

/// What an op on references makes.
#[derive(Debug)]
pub(super) enum Made {
    /// Nothing: it stores.
    Nothing,
    /// A raw word.
    Word(i64),
    /// Two raw words.
    Words([i64; 2]),
    /// A number read from a string; `None` when there is none.
    Parsed(Option<i64>),
    /// A reference that is there already.
    Reference(Value),
    /// A new object, to be charged.
    Object(Object),
}

/// The operands of an op, fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    /// Raw words, in order.
    pub words: [i64; 3],
    /// References, in order.
    pub refs: [Value; 2],
    /// The field.
    pub field: usize,
}

/// Executes an op on references; `None` when the op is another one.
pub(super) fn execute(
    opcode: Opcode,
    operands: &Operands,
    heap: &mut Heap,
) -> Option<Result<Made, Fault>> {
    immediate(opcode, operands)
        .or_else(|| tagged(opcode, operands))
        .or_else(|| weak(opcode, operands, heap))
        .or_else(|| field(opcode, operands, heap))
        .or_else(|| new_array(opcode, operands))
        .or_else(|| load(opcode, operands, heap))
        .or_else(|| store(opcode, operands, heap))
        .or_else(|| text(opcode, operands, heap))
}

fn immediate(opcode: Opcode, operands: &Operands) -> Option<Result<Made, Fault>> {
    let ([word, ..], [one, other]) = (operands.words, operands.refs);
    Some(match opcode {
        RMov => Ok(Made::Reference(one)),
        Null => Ok(Made::Reference(Value::Null)),
        Imm => Ok(Made::Reference(Value::Immediate(word))),
        ToImm if word << 1 >> 1 != word => Err(Fault::Overflow),
        ToImm => Ok(Made::Reference(Value::Immediate(word))),
        OfImm => match one {
            Value::Immediate(value) => Ok(Made::Word(value)),
            Value::Null | Value::Object(_) => Err(Fault::WrongKind),
        },
        Same => Ok(Made::Word((one == other).into())),
        IsNull => Ok(Made::Word((one == Value::Null).into())),
        IsImm => Ok(Made::Word(matches!(one, Value::Immediate(_)).into())),
        _ => return None,
    })
}

/// The number in an immediate.
pub(super) fn number(value: Value) -> Result<i64, Fault> {
    match value {
        Value::Immediate(number) => Ok(number),
        Value::Null | Value::Object(_) => Err(Fault::WrongKind),
    }
}

/// Arithmetic on immediates, which overflows at 63 bits.
fn tagged(opcode: Opcode, operands: &Operands) -> Option<Result<Made, Fault>> {
    let [one, other] = operands.refs;
    let both = || -> Result<(i128, i128), Fault> {
        let other = match opcode {
            TAddImm => operands.words[0],
            _ => number(other)?,
        };
        Ok((number(one)?.into(), other.into()))
    };
    let result = |(a, b): (i128, i128)| {
        let exact = match opcode {
            TAdd | TAddImm => a + b,
            TSub => a - b,
            _ => a * b,
        };
        let fits = (-(1 << 62)..1 << 62).contains(&exact);
        let value = Value::Immediate(exact as i64);
        fits.then_some(Made::Reference(value))
            .ok_or(Fault::Overflow)
    };
    matches!(opcode, TAdd | TSub | TMul | TAddImm).then(|| both().and_then(result))
}

/// Weak references, and what a reference is.
fn weak(opcode: Opcode, operands: &Operands, heap: &Heap) -> Option<Result<Made, Fault>> {
    let one = operands.refs[0];
    Some(match opcode {
        NewWeak => Ok(Made::Object(Object::Weak(one))),
        LdWeak => heap.object(one).and_then(|object| match object {
            Object::Weak(to) => Ok(Made::Reference(*to)),
            _ => Err(Fault::WrongKind),
        }),
        GetKind => Ok(Made::Word(match one {
            Value::Null => 0,
            Value::Immediate(_) => 1,
            Value::Object(_) => heap.object(one).map_or(0, Object::kind),
        })),
        _ => return None,
    })
}

fn field(opcode: Opcode, operands: &Operands, heap: &mut Heap) -> Option<Result<Made, Fault>> {
    let ([record, value], [word, ..]) = (operands.refs, operands.words);
    let index = operands.field;
    let access = || -> Result<Made, Fault> {
        if matches!(opcode, StR | StI | StCapR | StCapI) {
            let (refs, ints) = match (opcode, heap.object_mut(record)?) {
                (StR | StI, Object::Record { refs, ints, .. }) => (refs, ints),
                (StCapR | StCapI, Object::Closure { refs, ints, .. }) => (refs, ints),
                _ => return Err(Fault::WrongKind),
            };
            match opcode {
                StR | StCapR => *refs.get_mut(index).ok_or(Fault::WrongKind)? = value,
                _ => *ints.get_mut(index).ok_or(Fault::WrongKind)? = word,
            }
            return Ok(Made::Nothing);
        }
        let made = match (opcode, heap.object(record)?) {
            (GetTag, Object::Record { tag, .. }) => Made::Word(i64::from(*tag)),
            (LdR, Object::Record { refs, .. }) | (CapR, Object::Closure { refs, .. }) => {
                Made::Reference(*refs.get(index).ok_or(Fault::WrongKind)?)
            }
            (LdI, Object::Record { ints, .. }) | (CapI, Object::Closure { ints, .. }) => {
                Made::Word(*ints.get(index).ok_or(Fault::WrongKind)?)
            }
            _ => return Err(Fault::WrongKind),
        };
        Ok(made)
    };
    let is_field = matches!(opcode, GetTag | LdR | LdI | StR | StI | CapR | CapI)
        || matches!(opcode, StCapR | StCapI);
    is_field.then(access)
}

fn new_array(opcode: Opcode, operands: &Operands) -> Option<Result<Made, Fault>> {
    let ([length, fill, _], [reference, _]) = (operands.words, operands.refs);
    let make = || {
        let length = usize::try_from(length).map_err(|_| Fault::IndexOutOfBounds)?;
        Ok(Made::Object(match opcode {
            NewR => Object::Refs(vec![reference; length]),
            NewI => Object::Ints(vec![fill; length]),
            NewF => Object::Floats(vec![fill; length]),
            _ => Object::Bytes(vec![fill as u8; length]),
        }))
    };
    matches!(opcode, NewR | NewI | NewF | NewB).then(make)
}

/// The element of an index that a program gives.
fn at<T: Clone>(elements: &[T], index: i64) -> Result<T, Fault> {
    let index = usize::try_from(index).map_err(|_| Fault::IndexOutOfBounds)?;
    elements.get(index).cloned().ok_or(Fault::IndexOutOfBounds)
}

fn load(opcode: Opcode, operands: &Operands, heap: &Heap) -> Option<Result<Made, Fault>> {
    let ([index, ..], [array, _]) = (operands.words, operands.refs);
    let access = || -> Result<Made, Fault> {
        let object = heap.object(array)?;
        Ok(match (opcode, object) {
            (GetR | GetRImm, Object::Refs(elements)) => Made::Reference(at(elements, index)?),
            (GetI | GetIImm, Object::Ints(elements)) => Made::Word(at(elements, index)?),
            (GetF | GetFImm, Object::Floats(elements)) => Made::Word(at(elements, index)?),
            (GetB | GetBImm, Object::Bytes(bytes) | Object::Text(bytes)) => {
                Made::Word(at(bytes, index)?.into())
            }
            (Len, object) => Made::Word(object.length().ok_or(Fault::WrongKind)? as i64),
            _ => return Err(Fault::WrongKind),
        })
    };
    let is_load = matches!(opcode, GetR | GetI | GetF | GetB | Len)
        || matches!(opcode, GetRImm | GetIImm | GetFImm | GetBImm);
    is_load.then(access)
}

fn put<T>(elements: &mut [T], index: i64, value: T) -> Result<(), Fault> {
    let index = usize::try_from(index).map_err(|_| Fault::IndexOutOfBounds)?;
    *elements.get_mut(index).ok_or(Fault::IndexOutOfBounds)? = value;
    Ok(())
}

fn store(opcode: Opcode, operands: &Operands, heap: &mut Heap) -> Option<Result<Made, Fault>> {
    let ([index, word, _], [array, value]) = (operands.words, operands.refs);
    let mut access = || -> Result<Made, Fault> {
        match (opcode, heap.object_mut(array)?) {
            (SetR | SetRImm, Object::Refs(elements)) => put(elements, index, value)?,
            (SetI | SetIImm, Object::Ints(elements)) => put(elements, index, word)?,
            (SetF | SetFImm, Object::Floats(elements)) => put(elements, index, word)?,
            (SetB | SetBImm, Object::Bytes(bytes)) => put(bytes, index, word as u8)?,
            _ => return Err(Fault::WrongKind),
        }
        Ok(Made::Nothing)
    };
    match opcode {
        SetR | SetI | SetF | SetB | SetRImm | SetIImm | SetFImm | SetBImm => Some(access()),
        FillR | FillI | FillF | FillB => Some(fill(opcode, operands, heap)),
        PutInt => Some(put_int(operands, heap)),
        Copy => Some(copy(operands, heap)),
        _ => None,
    }
}

/// `count` elements from `start` on, or the fault of there being fewer.
fn part<T: Clone>(elements: &[T], start: i64, count: i64) -> Result<Vec<T>, Fault> {
    let start = usize::try_from(start).map_err(|_| Fault::IndexOutOfBounds)?;
    let count = usize::try_from(count).map_err(|_| Fault::IndexOutOfBounds)?;
    let end = start.checked_add(count).ok_or(Fault::IndexOutOfBounds)?;
    let part = elements.get(start..end).ok_or(Fault::IndexOutOfBounds)?;
    Ok(part.to_vec())
}

fn overwrite<T: Clone>(elements: &mut [T], start: i64, part: &[T]) -> Result<(), Fault> {
    let start = usize::try_from(start).map_err(|_| Fault::IndexOutOfBounds)?;
    let end = start
        .checked_add(part.len())
        .ok_or(Fault::IndexOutOfBounds)?;
    let place = elements
        .get_mut(start..end)
        .ok_or(Fault::IndexOutOfBounds)?;
    place.clone_from_slice(part);
    Ok(())
}

fn fill(opcode: Opcode, operands: &Operands, heap: &mut Heap) -> Result<Made, Fault> {
    fn all<T: Clone>(of: &mut [T], start: i64, count: i64, value: T) -> Result<(), Fault> {
        let count = part(of, start, count)?.len();
        overwrite(of, start, &vec![value; count])
    }
    let ([start, count, word], [array, value]) = (operands.words, operands.refs);
    match (opcode, heap.object_mut(array)?) {
        (FillR, Object::Refs(elements)) => all(elements, start, count, value),
        (FillI, Object::Ints(elements)) => all(elements, start, count, word),
        (FillF, Object::Floats(elements)) => all(elements, start, count, word),
        (FillB, Object::Bytes(bytes)) => all(bytes, start, count, word as u8),
        _ => Err(Fault::WrongKind),
    }?;
    Ok(Made::Nothing)
}

fn put_int(operands: &Operands, heap: &mut Heap) -> Result<Made, Fault> {
    let ([start, number, _], [array, _]) = (operands.words, operands.refs);
    let digits = number.to_string().into_bytes();
    match heap.object_mut(array)? {
        Object::Bytes(bytes) => overwrite(bytes, start, &digits)?,
        _ => return Err(Fault::WrongKind),
    }
    Ok(Made::Word(start + digits.len() as i64))
}

/// Where a part stands first, from an index on.
fn find(all: &[u8], part: &[u8], start: i64) -> Result<i64, Fault> {
    let start = usize::try_from(start).map_err(|_| Fault::IndexOutOfBounds)?;
    let rest = all.get(start..).ok_or(Fault::IndexOutOfBounds)?;
    let place = (0..=rest.len()).find(|&at| rest[at..].starts_with(part));
    Ok(place.map_or(-1, |at| (start + at) as i64))
}

fn hash(bytes: &[u8]) -> i64 {
    let mut hash = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517cc1b727220a95);
    }
    (hash ^ hash >> 32) as i64
}

/// The part is copied out first, so overlaps do no harm.
fn copy(operands: &Operands, heap: &mut Heap) -> Result<Made, Fault> {
    let ([to, from, count], [dst, src]) = (operands.words, operands.refs);
    let source = heap.object(src)?.clone();
    match (heap.object_mut(dst)?, source) {
        (Object::Refs(into), Object::Refs(all)) => overwrite(into, to, &part(&all, from, count)?),
        (Object::Ints(into), Object::Ints(all)) | (Object::Floats(into), Object::Floats(all)) => {
            overwrite(into, to, &part(&all, from, count)?)
        }
        (Object::Bytes(into), Object::Bytes(all) | Object::Text(all)) => {
            overwrite(into, to, &part(&all, from, count)?)
        }
        _ => Err(Fault::WrongKind),
    }?;
    Ok(Made::Nothing)
}

fn text(opcode: Opcode, operands: &Operands, heap: &Heap) -> Option<Result<Made, Fault>> {
    let ([word, count, _], [one, other]) = (operands.words, operands.refs);
    let double = f64::from_bits(word as u64);
    let new = |bytes: Vec<u8>| Made::Object(Object::Text(bytes));
    let make = || -> Result<Made, Fault> {
        Ok(match opcode {
            Cat => new([heap.text(one)?, heap.text(other)?].concat()),
            Cmp => Made::Word(heap.text(one)?.cmp(heap.text(other)?) as i64),
            SubStr => new(part(heap.bytes(one)?, word, count)?),
            Find => Made::Word(find(heap.bytes(one)?, heap.bytes(other)?, word)?),
            Hash => Made::Word(hash(heap.bytes(one)?)),
            StrOfInt => new(word.to_string().into_bytes()),
            StrOfFloat => new(format_float(double).into_bytes()),
            IntOfStr => Made::Parsed(
                std::str::from_utf8(heap.text(one)?)
                    .ok()
                    .and_then(|text| text.parse().ok()),
            ),
            FloatOfStr => {
                let text = std::str::from_utf8(heap.text(one)?).ok();
                let value: Option<f64> = text.and_then(|text| text.parse().ok());
                Made::Parsed(value.map(|value| value.to_bits() as i64))
            }
            StrOfBytes => match heap.object(one)? {
                Object::Bytes(bytes) => new(bytes.clone()),
                _ => return Err(Fault::WrongKind),
            },
            _ => unreachable!("only ops on strings come here"),
        })
    };
    let is_text = matches!(opcode, Cat | Cmp | SubStr | StrOfInt | StrOfFloat)
        || matches!(opcode, IntOfStr | FloatOfStr | StrOfBytes | Find | Hash);
    is_text.then(make)
}

/// The shortest decimal that reads back as the same double. Which of the shortest forms it is,
/// no manual says; this is Rust's.
pub(super) fn format_float(value: f64) -> String {
    format!("{value:?}")
}
