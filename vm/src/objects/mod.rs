//! Values as data: objects read from a heap, and shown as text.

pub(crate) mod show;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::code::{LoadedFunction, Program};
use crate::heap::{ObjectKind, Shape, Value, bytes_of};

/// How many objects are built or read before somebody is asked whether to go on.
pub(crate) const CHECK_EVERY: usize = 1024;

/// A reference as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datum {
    /// The null reference.
    Null,
    /// An immediate.
    Immediate(i64),
    /// An object, by its index among those that it is handed over with.
    Object(u32),
    /// An object that was not read, because there were too many.
    Unread,
}

/// An object as data.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectData {
    /// A record: at most 255 fields of each class.
    Record {
        /// Its tag.
        tag: u16,
        /// Its reference fields.
        refs: Vec<Datum>,
        /// Its raw fields.
        ints: Vec<i64>,
    },
    /// A closure.
    Closure {
        /// The index of its function.
        function: u32,
        /// What it captured of references.
        refs: Vec<Datum>,
        /// What it captured of raw words.
        ints: Vec<i64>,
    },
    /// An array of references.
    RefArray(Vec<Datum>),
    /// An array of integers.
    IntArray(Vec<i64>),
    /// An array of doubles.
    FloatArray(Vec<f64>),
    /// An array of bytes.
    ByteArray(Vec<u8>),
    /// A string.
    Text(Vec<u8>),
    /// A weak reference. What it refers to is handed over with it.
    Weak(Datum),
}

/// What was read of a machine's objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadBack {
    /// The objects: those held first, at their indices.
    pub objects: Vec<ObjectData>,
    /// The references that were asked for.
    pub roots: Vec<Datum>,
    /// Whether all that can be reached was read.
    pub is_complete: bool,
}

impl ReadBack {
    /// What is read of a heap that has failed.
    pub(crate) fn unread(n_roots: u8) -> Self {
        Self {
            objects: Vec::new(),
            roots: vec![Datum::Unread; n_roots as usize],
            is_complete: false,
        }
    }
}

/// Whether an object that is handed over with `n_objects` fits a program.
pub(crate) fn is_well_formed(object: &ObjectData, n_objects: usize, program: &Program) -> bool {
    let is_datum = |datum: &Datum| match datum {
        Datum::Null => true,
        Datum::Immediate(number) => Value::immediate(*number).is_some(),
        Datum::Object(index) => (*index as usize) < n_objects,
        Datum::Unread => false,
    };
    match object {
        ObjectData::Record { refs, ints, .. } => {
            refs.len() <= 255 && ints.len() <= 255 && refs.iter().all(is_datum)
        }
        ObjectData::Closure {
            function,
            refs,
            ints,
        } => {
            let function = program.module.functions.get(*function as usize);
            let fits = function.and_then(|one| one.captures).is_some_and(|one| {
                (one.refs as usize, one.ints as usize) == (refs.len(), ints.len())
            });
            fits && refs.iter().all(is_datum)
        }
        ObjectData::RefArray(refs) => refs.iter().all(is_datum),
        ObjectData::Weak(to) => is_datum(to),
        _ => true,
    }
}

/// Reads the objects of these handles, each at its index, and what they and the roots lead to. It
/// stops early, and the result is not complete, when attention is wanted for an end.
///
/// # Safety
/// Every object that can be reached is whole.
pub(crate) unsafe fn read_objects(
    handles: &[u64],
    roots: &[Value],
    limit: usize,
    attention: &AtomicU32,
) -> ReadBack {
    let mut reader = Reader {
        indices: HashMap::new(),
        open: Vec::new(),
        limit: limit.max(handles.len()),
        is_complete: true,
    };
    for &handle in handles {
        if let Some(object) = Value(handle).object() {
            reader.indices.insert(object, reader.open.len() as u32);
            reader.open.push(object);
        }
    }
    let roots = roots.iter().map(|&root| reader.datum(root)).collect();
    let mut objects = Vec::new();
    while let Some(&object) = reader.open.get(objects.len()) {
        if objects.len().is_multiple_of(CHECK_EVERY) && attention.load(Relaxed) as u8 != 0 {
            reader.is_complete = false;
            break;
        }
        // SAFETY: the caller's promise.
        objects.push(unsafe { reader.object(object) });
    }
    ReadBack {
        objects,
        roots,
        is_complete: reader.is_complete,
    }
}

struct Reader {
    indices: HashMap<*mut u64, u32>,
    /// The objects in the order of their indices.
    open: Vec<*mut u64>,
    limit: usize,
    is_complete: bool,
}

impl Reader {
    fn datum(&mut self, value: Value) -> Datum {
        if let Some(number) = value.as_immediate() {
            return Datum::Immediate(number);
        }
        let object = match value.object() {
            Some(object) if !value.is_null() => object,
            _ => return Datum::Null,
        };
        if let Some(&index) = self.indices.get(&object) {
            return Datum::Object(index);
        }
        if self.open.len() >= self.limit {
            self.is_complete = false;
            return Datum::Unread;
        }
        let index = self.open.len() as u32;
        self.indices.insert(object, index);
        self.open.push(object);
        Datum::Object(index)
    }

    unsafe fn object(&mut self, object: *mut u64) -> ObjectData {
        // SAFETY: the object is whole, and its fields and elements lie within its shape. The
        // second word of a closure points to its function, which lives as long as the program.
        unsafe {
            let header = *object;
            let Some(shape) = Shape::of(object, header) else {
                return ObjectData::IntArray(Vec::new());
            };
            let word = |index: usize| *object.add(index);
            let refs_end = shape.first_ref + shape.n_refs;
            let mut refs = Vec::with_capacity(shape.n_refs);
            for index in shape.first_ref..refs_end {
                refs.push(self.datum(Value(word(index))));
            }
            let ints = || (refs_end..shape.words).map(|index| word(index) as i64);
            match shape.kind {
                ObjectKind::Record => ObjectData::Record {
                    tag: (header >> 32) as u16,
                    refs,
                    ints: ints().collect(),
                },
                ObjectKind::Closure => ObjectData::Closure {
                    function: (*(word(1) as *const LoadedFunction)).index,
                    refs,
                    ints: ints().collect(),
                },
                ObjectKind::RefArray => ObjectData::RefArray(refs),
                ObjectKind::IntArray => ObjectData::IntArray(ints().collect()),
                ObjectKind::FloatArray => {
                    let bits = ints().map(|bits| f64::from_bits(bits as u64));
                    ObjectData::FloatArray(bits.collect())
                }
                ObjectKind::ByteArray => ObjectData::ByteArray(bytes_of(object).to_vec()),
                ObjectKind::Text => ObjectData::Text(bytes_of(object).to_vec()),
                ObjectKind::Weak => ObjectData::Weak(self.datum(Value(word(1)))),
            }
        }
    }
}
