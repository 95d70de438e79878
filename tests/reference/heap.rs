//! Values and objects, as plainly as they can be written: objects are entries of a list that only
//! grows, so nothing moves, nothing is freed, and identity is an index.

use vm::FAULT_TAG;
use vm::Fault;

/// A reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Null.
    Null,
    /// A 63-bit immediate.
    Immediate(i64),
    /// An object, by its index in the heap.
    Object(usize),
}

/// What an object is.
#[derive(Clone, Debug)]
pub(super) enum Object {
    /// A record.
    Record {
        /// Its tag.
        tag: u16,
        /// Fields that are references.
        refs: Vec<Value>,
        /// Raw fields.
        ints: Vec<i64>,
    },
    /// A function with captured values.
    Closure {
        /// The function's index.
        function: u32,
        /// Captured references.
        refs: Vec<Value>,
        /// Captured raw words.
        ints: Vec<i64>,
    },
    /// An array of references.
    Refs(Vec<Value>),
    /// An array of integers.
    Ints(Vec<i64>),
    /// An array of doubles, as their bits.
    Floats(Vec<i64>),
    /// An array of bytes.
    Bytes(Vec<u8>),
    /// An immutable string.
    Text(Vec<u8>),
    /// A weak reference.
    Weak(Value),
}

impl Object {
    /// Bytes that the object takes, its header included.
    pub(super) fn size(&self) -> u64 {
        let words = match self {
            Self::Record { refs, ints, .. } => 1 + refs.len() + ints.len(),
            Self::Closure { refs, ints, .. } => 2 + refs.len() + ints.len(),
            Self::Refs(elements) => 2 + elements.len(),
            Self::Ints(elements) | Self::Floats(elements) => 2 + elements.len(),
            Self::Bytes(bytes) | Self::Text(bytes) => 2 + bytes.len().div_ceil(8),
            Self::Weak(_) => 2,
        };
        words as u64 * 8
    }

    /// The number of elements of an array or string.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::Refs(elements) => Some(elements.len()),
            Self::Ints(elements) | Self::Floats(elements) => Some(elements.len()),
            Self::Bytes(bytes) | Self::Text(bytes) => Some(bytes.len()),
            Self::Record { .. } | Self::Closure { .. } | Self::Weak(_) => None,
        }
    }

    /// What the op `kind` says of the object.
    pub(super) fn kind(&self) -> i64 {
        match self {
            Self::Record { .. } => 2,
            Self::Closure { .. } => 3,
            Self::Refs(_) => 4,
            Self::Ints(_) => 5,
            Self::Floats(_) => 6,
            Self::Bytes(_) => 7,
            Self::Text(_) => 8,
            Self::Weak(_) => 9,
        }
    }

    /// What the object keeps alive.
    fn kept(&self) -> &[Value] {
        match self {
            Self::Record { refs, .. } | Self::Closure { refs, .. } | Self::Refs(refs) => refs,
            _ => &[],
        }
    }
}

/// All objects of a run, those of constants first.
#[derive(Debug, Default)]
pub(super) struct Heap {
    objects: Vec<Object>,
    /// How many objects are constants, which no program may change.
    constants: usize,
}

impl Heap {
    /// Adds the object of the next constant, before any other objects.
    pub(super) fn add_constant(&mut self, object: Object) -> Value {
        assert_eq!(self.constants, self.objects.len(), "constants come first");
        self.constants += 1;
        self.add(object)
    }

    /// Adds an object; charging its bytes is the caller's affair.
    pub(super) fn add(&mut self, object: Object) -> Value {
        self.objects.push(object);
        Value::Object(self.objects.len() - 1)
    }

    /// The object of a reference. Null and immediates are of the wrong kind wherever an object
    /// is wanted.
    pub(super) fn object(&self, value: Value) -> Result<&Object, Fault> {
        match value {
            Value::Object(index) => Ok(&self.objects[index]),
            Value::Null | Value::Immediate(_) => Err(Fault::WrongKind),
        }
    }

    /// As [`Heap::object`], to be changed. Constants are of the wrong kind for that.
    pub(super) fn object_mut(&mut self, value: Value) -> Result<&mut Object, Fault> {
        match value {
            Value::Object(index) if index >= self.constants => Ok(&mut self.objects[index]),
            _ => Err(Fault::WrongKind),
        }
    }

    /// A collection, of which a program sees one thing: weak references to what neither the roots
    /// nor constants lead to become null.
    pub(super) fn collect(&mut self, roots: impl Iterator<Item = Value>) {
        let mut is_alive = vec![false; self.objects.len()];
        let mut open: Vec<Value> = (0..self.constants).map(Value::Object).collect();
        open.extend(roots);
        while let Some(value) = open.pop() {
            if let Value::Object(index) = value
                && !std::mem::replace(&mut is_alive[index], true)
            {
                open.extend(self.objects[index].kept());
            }
        }
        for object in &mut self.objects {
            if let Object::Weak(to) = object
                && let Value::Object(index) = *to
                && !is_alive[index]
            {
                *to = Value::Null;
            }
        }
    }

    /// The bytes of a string or a byte array.
    pub(super) fn bytes(&self, value: Value) -> Result<&[u8], Fault> {
        match self.object(value)? {
            Object::Text(bytes) | Object::Bytes(bytes) => Ok(bytes),
            _ => Err(Fault::WrongKind),
        }
    }

    /// The bytes of a string.
    pub(super) fn text(&self, value: Value) -> Result<&[u8], Fault> {
        match self.object(value)? {
            Object::Text(bytes) => Ok(bytes),
            _ => Err(Fault::WrongKind),
        }
    }

    /// An uncaught exception as the machine shows it. No manual says how values are shown beyond
    /// an example, so this follows `vm/src/show.rs`.
    pub(super) fn show_exception(&self, value: Value) -> String {
        if let Ok(Object::Record {
            tag: FAULT_TAG,
            ints,
            ..
        }) = self.object(value)
            && let Some(fault) = ints.first().and_then(|&code| Fault::from_code(code as u64))
        {
            return fault.to_string();
        }
        let mut text = String::new();
        self.show(value, 0, &mut text);
        text
    }

    fn show(&self, value: Value, depth: usize, text: &mut String) {
        let index = match value {
            Value::Null => return text.push_str("null"),
            Value::Immediate(value) => return text.push_str(&value.to_string()),
            Value::Object(index) => index,
        };
        if depth == 4 {
            return text.push('…');
        }
        let raw = |words: &[i64]| words.iter().take(40).map(i64::to_string).collect();
        let (open, refs, raw, close): (String, &[Value], Vec<String>, _) =
            match &self.objects[index] {
                Object::Text(bytes) | Object::Bytes(bytes) => {
                    let shown = &bytes[..bytes.len().min(40)];
                    text.push_str(&format!("{:?}", String::from_utf8_lossy(shown)));
                    if shown.len() < bytes.len() {
                        text.push('…');
                    }
                    return;
                }
                Object::Record { tag, refs, ints } => (format!("#{tag}("), refs, raw(ints), ')'),
                Object::Closure { refs, ints, .. } => ("closure(".into(), refs, raw(ints), ')'),
                Object::Refs(refs) => ("[".into(), refs, Vec::new(), ']'),
                Object::Weak(to) => ("weak(".into(), std::slice::from_ref(to), Vec::new(), ')'),
                Object::Ints(ints) => ("[".into(), &[], raw(ints), ']'),
                Object::Floats(bits) => {
                    let shown = |&bits: &i64| format!("{:?}", f64::from_bits(bits as u64));
                    (
                        "[".into(),
                        &[],
                        bits.iter().take(40).map(shown).collect(),
                        ']',
                    )
                }
            };
        text.push_str(&open);
        for (index, &value) in refs.iter().take(40).enumerate() {
            text.push_str(if index > 0 { ", " } else { "" });
            self.show(value, depth + 1, text);
        }
        for (index, word) in raw.iter().enumerate() {
            text.push_str(if index > 0 || !refs.is_empty() {
                ", "
            } else {
                ""
            });
            text.push_str(word);
        }
        text.push(close);
    }
}
