//! Values across the border of a machine: built from data before a run, read back after it.
//!
//! An interactive session keeps its values as data, outside of any machine: so each evaluation may
//! have a program, a profile and a heap of its own, and one that fails changes nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Interrupt, Vm};
use crate::heap::*;
use crate::interp::machine::Context;
use crate::interp::stack::REF_DISPLACEMENT_BYTES;
use crate::load::{LoadedFunction, Program};
use crate::memory;

/// How many objects are built or read before somebody is asked whether to go on.
const CHECK_EVERY: usize = 1024;

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
}

/// Why objects cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldError {
    /// There is no memory for them.
    OutOfMemory(OutOfMemory),
    /// The object of this index makes no sense here: it names an object, a function or an
    /// immediate that there is not, or has more fields or other captures than there can be.
    Malformed(u32),
    /// Somebody asks for the end by an [`Interrupt`].
    Interrupted,
    /// The machine holds objects already, or its program has run and allocated some.
    TooLate,
}

impl fmt::Display for HoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory(error) => error.fmt(f),
            Self::Interrupted => f.write_str("interrupted"),
            Self::TooLate => f.write_str("objects must be held once, before the first run"),
            Self::Malformed(index) => write!(f, "object {index} does not fit this program"),
        }
    }
}

impl std::error::Error for HoldError {}

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

impl Interrupt {
    /// An interrupt of no machine yet, for [`Vm::share_interrupt`].
    pub fn new() -> Self {
        Self(Arc::new(AtomicU32::new(0)))
    }

    /// Takes back what was raised and not yet seen.
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether something was raised and not yet seen.
    pub fn is_raised(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new()
    }
}

impl Vm {
    /// Lets an interrupt that was there before stop this machine, in place of its own: one handle
    /// for a series of machines.
    pub fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.attention = interrupt.0.clone();
        self.ctx.attention = Arc::as_ptr(&self.attention);
        self.ctx.heap.attention = self.ctx.attention;
    }

    /// Ops of the budget that the last run left; `None` without a budget.
    pub fn fuel_left(&self) -> Option<u64> {
        self.config.fuel.map(|_| self.ctx.fuel.max(0) as u64)
    }

    /// Builds objects and holds them for the machine's life: a host function finds each by its
    /// index ([`HostCall::set_held`](crate::host::HostCall::set_held)). To be called once, before
    /// the first run. No profile is charged, and no counter of the heap knows of it.
    ///
    /// # Errors
    /// When there is no memory, an object makes no sense, or it is too late.
    pub fn hold(&mut self, objects: &[ObjectData]) -> Result<(), HoldError> {
        for (index, object) in objects.iter().enumerate() {
            if !is_well_formed(object, objects.len(), &self.program) {
                return Err(HoldError::Malformed(index as u32));
            }
        }
        // Nothing but what is built here may be in the heap: no other references are kept up to
        // date below.
        if !self.ctx.handles.is_empty() || self.ctx.heap.allocated_bytes() > 0 {
            return Err(HoldError::TooLate);
        }
        let stats = self.ctx.heap.stats();
        let ctx = &mut *self.ctx;
        memory::set_looking(ctx, true);
        ctx.memprof.suspend(&mut ctx.heap);
        let result = self.build_all(objects);
        let ctx = &mut *self.ctx;
        ctx.heap.stats = stats;
        ctx.memprof.resume(&mut ctx.heap);
        memory::set_looking(ctx, false);
        result
    }

    /// Builds the objects and leaves the nursery empty.
    fn build_all(&mut self, objects: &[ObjectData]) -> Result<(), HoldError> {
        for (index, object) in objects.iter().enumerate() {
            if index.is_multiple_of(CHECK_EVERY) && self.attention.load(Relaxed) as u8 != 0 {
                return Err(HoldError::Interrupted);
            }
            let built = self.build(object)?;
            self.ctx.handles.push(Value::pointer(built).0);
        }
        self.collect_held(0, Some(Phase::Minor))?;
        for (object, &handle) in objects.iter().zip(&self.ctx.handles) {
            let refs = match object {
                ObjectData::Record { refs, .. }
                | ObjectData::Closure { refs, .. }
                | ObjectData::RefArray(refs) => refs,
                _ => continue,
            };
            let words: Vec<u64> = refs.iter().map(|&one| self.word_of(one)).collect();
            let object = Value(handle).object().unwrap_or_default();
            // SAFETY: the object was built with room for these references. After the collection
            // nothing is in the nursery, so the heap need not be told of the stores.
            unsafe {
                if let Some(shape) = Shape::of(object, *object) {
                    debug_assert_eq!(shape.n_refs, words.len(), "as it was built");
                    let fields = object.add(shape.first_ref);
                    fields.copy_from_nonoverlapping(words.as_ptr(), words.len());
                }
            }
        }
        Ok(())
    }

    /// Reads the objects that are held as they are now, and what the first `n_refs` reference
    /// results of the last run, which must have returned, lead to. Beyond `limit` objects others
    /// are left [`Datum::Unread`], breadth first.
    /// After a collection at the end of the run has failed, nothing is read.
    pub fn read_back(&self, n_refs: u8, limit: usize) -> ReadBack {
        if self.ctx.broken.is_some() {
            return ReadBack::unread(n_refs);
        }
        let first = self.ctx.stack.first_refs();
        let result = |index: u8| {
            let operand = (u8::MAX - index) as usize;
            let slot = first.wrapping_byte_add(REF_DISPLACEMENT_BYTES + operand * 8);
            // SAFETY: a run's first frame starts at the stack's start, and its `r` registers hold
            // references also when the run is over: a collection since then has kept them.
            Value(unsafe { *slot })
        };
        let roots: Vec<Value> = (0..n_refs).map(result).collect();
        // SAFETY: no run is going on, so every object is whole.
        unsafe { read_objects(&self.ctx.handles, &roots, limit, &self.attention) }
    }

    fn word_of(&self, datum: Datum) -> u64 {
        match datum {
            Datum::Null | Datum::Unread => Value::null().0,
            Datum::Immediate(number) => Value::immediate(number).unwrap_or(Value::ZERO).0,
            Datum::Object(index) => self.ctx.handles[index as usize],
        }
    }

    /// An object with all its references 0, in the nursery or in a region of its own.
    fn build(&mut self, object: &ObjectData) -> Result<*mut u64, HoldError> {
        let (kind, length) = match object {
            ObjectData::Record { tag, refs, ints } => {
                let header = record_header(*tag, refs.len() as u8, ints.len() as u8);
                return self.build_small(&[header], refs.len(), ints);
            }
            ObjectData::Closure {
                function,
                refs,
                ints,
            } => {
                let header = closure_header(refs.len() as u8, ints.len() as u8);
                let function = std::ptr::from_ref(self.program.function(*function));
                let start = [header, function.expose_provenance() as u64];
                return self.build_small(&start, refs.len(), ints);
            }
            ObjectData::RefArray(refs) => (Kind::RefArray, refs.len()),
            ObjectData::IntArray(ints) => (Kind::IntArray, ints.len()),
            ObjectData::FloatArray(floats) => (Kind::FloatArray, floats.len()),
            ObjectData::ByteArray(bytes) => (Kind::ByteArray, bytes.len()),
            ObjectData::Text(bytes) => (Kind::Text, bytes.len()),
        };
        let built = match self.ctx.heap.try_array(kind, length, HeaderSource::NONE) {
            Some(built) => built,
            None => {
                self.collect_held(array_bytes(kind, length).unwrap_or(usize::MAX), None)?;
                let again = self.ctx.heap.try_array(kind, length, HeaderSource::NONE);
                again.expect("a collection has made room for this very request")
            }
        };
        // SAFETY: the array was made for as many elements as are written here.
        unsafe {
            let elements = built.add(2);
            match object {
                ObjectData::IntArray(ints) => {
                    elements.copy_from_nonoverlapping(ints.as_ptr().cast(), length);
                }
                ObjectData::FloatArray(floats) => {
                    elements.copy_from_nonoverlapping(floats.as_ptr().cast(), length);
                }
                ObjectData::ByteArray(bytes) | ObjectData::Text(bytes) => {
                    let elements = elements.cast::<u8>();
                    elements.copy_from_nonoverlapping(bytes.as_ptr(), length);
                }
                _ => elements.write_bytes(0, length),
            }
        }
        self.ctx.heap.born(built);
        Ok(built)
    }

    fn build_small(
        &mut self,
        start: &[u64],
        n_refs: usize,
        ints: &[i64],
    ) -> Result<*mut u64, HoldError> {
        let bytes = (start.len() + n_refs + ints.len()) * 8;
        let built = match self.ctx.heap.try_small(bytes) {
            Some(built) => built,
            None => {
                self.collect_held(bytes, None)?;
                let again = self.ctx.heap.try_small(bytes);
                again.expect("a collection has made room for this very request")
            }
        };
        // SAFETY: the object has room for its first words, its references and its raw words.
        unsafe {
            built.copy_from_nonoverlapping(start.as_ptr(), start.len());
            let refs = built.add(start.len());
            refs.write_bytes(0, n_refs);
            refs.add(n_refs)
                .copy_from_nonoverlapping(ints.as_ptr().cast(), ints.len());
        }
        Ok(built)
    }

    /// Collects between runs, when only handles refer into the heap.
    fn collect_held(&mut self, bytes: usize, force: Option<Phase>) -> Result<(), HoldError> {
        let Context { heap, handles, .. } = &mut *self.ctx;
        let mut roots = [(handles.as_mut_ptr(), handles.len())];
        // SAFETY: every handle is a reference. The heap was empty when the first object was built,
        // so nothing else refers into it.
        let result = unsafe { heap.collect(bytes, force, &mut roots) };
        self.ctx.broken = result.err();
        result.map_err(HoldError::OutOfMemory)
    }
}

fn is_well_formed(object: &ObjectData, n_objects: usize, program: &Program) -> bool {
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
                Kind::Record => ObjectData::Record {
                    tag: (header >> 32) as u16,
                    refs,
                    ints: ints().collect(),
                },
                Kind::Closure => ObjectData::Closure {
                    function: (*(word(1) as *const LoadedFunction)).index,
                    refs,
                    ints: ints().collect(),
                },
                Kind::RefArray => ObjectData::RefArray(refs),
                Kind::IntArray => ObjectData::IntArray(ints().collect()),
                Kind::FloatArray => {
                    let bits = ints().map(|bits| f64::from_bits(bits as u64));
                    ObjectData::FloatArray(bits.collect())
                }
                Kind::ByteArray => ObjectData::ByteArray(bytes_of(object).to_vec()),
                Kind::Text => ObjectData::Text(bytes_of(object).to_vec()),
            }
        }
    }
}
