//! Objects in memory.
//!
//! ```text
//! header, one word:
//!   bit 0       1 (0: the word is a forwarding address, during a collection)
//!   bits 1-4    kind
//!   bit 5       MARK    a large object reached by the running major collection
//!   bit 6       LOG     outside the nursery and not remembered
//!   bit 7       LARGE   in a region of its own, never moved
//!   bit 8       STATIC  never moved or freed
//!   bits 9-11   age     how many major collections it has lived through, if there is a census
//!   bits 12-15  zero
//!   records:    byte 2 references, byte 3 raw words, bytes 4-5 tag
//!   closures:   byte 4 captured references, byte 5 captured raw words
//!   bits 48-63  source that allocated the object, if there is a census
//!
//! record    header, references, raw words
//! closure   header, function, captured references, captured raw words
//! array     header, length in elements, elements; bytes are padded to whole words
//! weak      header, a reference that collections do not follow
//! ```
//!
//! Bytes 2 and 3 are zero in all kinds but records, so that one comparison with the field's index
//! checks kind, bounds and null together.

use std::ptr;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ObjectKind {
    /// Reference fields, raw fields and a tag.
    Record = 0,
    /// A function and what it captured.
    Closure = 1,
    /// An array of references.
    RefArray = 2,
    /// An array of 64-bit integers.
    IntArray = 3,
    /// An array of doubles.
    FloatArray = 4,
    /// An array of bytes.
    ByteArray = 5,
    /// An immutable string of bytes.
    Text = 6,
    /// A weak reference.
    Weak = 7,
}

impl ObjectKind {
    /// The first byte of a header of this kind, but for its flags.
    pub(crate) const fn header_byte(self) -> u8 {
        1 | (self as u8) << 1
    }

    /// The kind of a header, or of its first byte.
    pub(crate) fn from_header(header: u64) -> Option<Self> {
        Some(match header >> 1 & 0xf {
            0 => Self::Record,
            1 => Self::Closure,
            2 => Self::RefArray,
            3 => Self::IntArray,
            4 => Self::FloatArray,
            5 => Self::ByteArray,
            6 => Self::Text,
            7 => Self::Weak,
            _ => return None,
        })
    }
}

/// The bits of a header's first byte that tell the kind.
pub(crate) const KIND_MASK: u8 = 0x1f;
pub(crate) const MARK: u64 = 1 << 5;
pub(crate) const LOG: u64 = 1 << 6;
pub(crate) const LARGE: u64 = 1 << 7;
pub(crate) const STATIC: u64 = 1 << 8;

/// The header of a record.
pub(crate) const fn record_header(tag: u16, n_refs: u8, n_ints: u8) -> u64 {
    ObjectKind::Record.header_byte() as u64
        | (n_refs as u64) << 16
        | (n_ints as u64) << 24
        | (tag as u64) << 32
}

/// The header of a closure.
pub(crate) const fn closure_header(n_refs: u8, n_ints: u8) -> u64 {
    ObjectKind::Closure.header_byte() as u64 | (n_refs as u64) << 32 | (n_ints as u64) << 40
}

/// The source that allocated an object, as headers hold it: 0 when nobody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderSource(u16);

impl HeaderSource {
    /// Nobody's.
    pub(crate) const NONE: Self = Self(0);
    /// What stands for all sources beyond those that headers can tell apart.
    pub(crate) const OTHER: u16 = u16::MAX;

    /// The source of this index, or the one that stands for all further ones.
    pub(crate) fn new(source_index: usize) -> Self {
        Self(u16::try_from(source_index).unwrap_or(Self::OTHER))
    }

    /// The source as the upper half of an allocation's operand holds it.
    pub(crate) fn operand(self) -> u32 {
        (self.0 as u32) << 16
    }

    /// The source in the upper half of an allocation's operand.
    pub(crate) fn of_operand(operand: i32) -> Self {
        Self((operand as u32 >> 16) as u16)
    }

    /// The source of a header.
    pub(crate) fn of(header: u64) -> Self {
        Self((header >> 48) as u16)
    }

    pub(crate) fn bits(self) -> u64 {
        (self.0 as u64) << 48
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a header holds the object's age.
pub(crate) const AGE_SHIFT: u32 = 9;
/// The highest age: that many major collections, or more.
pub(crate) const MAX_AGE: u64 = 7;

/// The bytes of a weak reference.
pub(crate) const WEAK_BYTES: usize = 16;

/// The header of an array, a string or a weak reference.
pub(crate) const fn array_header(kind: ObjectKind) -> u64 {
    kind.header_byte() as u64
}

/// Null points here. One word of length stands after the header, because `len` reads it.
pub(crate) static NULL_OBJECT: [u64; 2] = [record_header(0, 0, 0) | STATIC, 0];

/// A reference: an immediate, null, or a pointer to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Value(pub(crate) u64);

impl Value {
    /// The immediate 0, which is also what zeroed memory holds.
    pub(crate) const ZERO: Self = Self(0);

    /// The null reference.
    pub(crate) fn null() -> Self {
        Self(ptr::from_ref(&NULL_OBJECT).addr() as u64 | 1)
    }

    /// The immediate of a number; `None` when 63 bits cannot hold it.
    pub(crate) fn immediate(number: i64) -> Option<Self> {
        let word = number << 1;
        (word >> 1 == number).then_some(Self(word as u64))
    }

    /// The number of an immediate; `None` when this is a pointer.
    pub(crate) fn as_immediate(self) -> Option<i64> {
        (self.0 & 1 == 0).then_some(self.0 as i64 >> 1)
    }

    /// Whether this is the null reference.
    pub(crate) fn is_null(self) -> bool {
        self == Self::null()
    }

    /// A reference to an object.
    pub(crate) fn pointer(object: *mut u64) -> Self {
        Self(object as u64 | 1)
    }

    /// The object, which may be null's; `None` when this is an immediate.
    pub(crate) fn object(self) -> Option<*mut u64> {
        (self.0 & 1 == 1).then(|| (self.0 - 1) as *mut u64)
    }
}

/// An object's shape: everything that a walk over it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) kind: ObjectKind,
    /// Words of the whole object, header included.
    pub(crate) words: usize,
    /// The word at which its references start.
    pub(crate) first_ref: usize,
    /// How many references it has.
    pub(crate) n_refs: usize,
}

impl Shape {
    /// The shape of the object whose header was read to be `header`.
    ///
    /// # Safety
    /// `object` is the start of an initialised object; its header may have been replaced since.
    pub(crate) unsafe fn of(object: *const u64, header: u64) -> Option<Self> {
        let kind = ObjectKind::from_header(header)?;
        let byte = |index: u32| (header >> (8 * index) & 0xff) as usize;
        // SAFETY: arrays have a length word, and this reads it of arrays only.
        let length = || unsafe { *object.add(1) } as usize;
        let (words, first_ref, n_refs) = match kind {
            ObjectKind::Record => (1 + byte(2) + byte(3), 1, byte(2)),
            ObjectKind::Closure => (2 + byte(4) + byte(5), 2, byte(4)),
            ObjectKind::RefArray => (2 + length(), 2, length()),
            ObjectKind::IntArray | ObjectKind::FloatArray => (2 + length(), 2, 0),
            ObjectKind::ByteArray | ObjectKind::Text => (2 + length().div_ceil(8), 2, 0),
            ObjectKind::Weak => (WEAK_BYTES / 8, 1, 0),
        };
        Some(Self {
            kind,
            words,
            first_ref,
            n_refs,
        })
    }
}

/// The bytes of an array of `length` elements; `None` when no memory could hold it.
pub(crate) fn array_bytes(kind: ObjectKind, length: usize) -> Option<usize> {
    let data = match kind {
        ObjectKind::ByteArray | ObjectKind::Text => length.checked_next_multiple_of(8)?,
        _ => length.checked_mul(8)?,
    };
    data.checked_add(16)
        .filter(|&bytes| bytes <= isize::MAX as usize)
}

/// The bytes of an object's array part.
///
/// # Safety
/// `object` is an initialised byte array or string, and stays so, unmoved, while the slice lives.
pub(crate) unsafe fn bytes_of<'a>(object: *const u64) -> &'a [u8] {
    // SAFETY: the length word counts the bytes that follow it.
    unsafe { std::slice::from_raw_parts(object.add(2).cast(), *object.add(1) as usize) }
}
