//! Values across the border of a machine: built from data before a run, read back after it.
//!
//! An interactive session keeps its values as data, outside of any machine: so each evaluation may
//! have a program, a profile and a heap of its own, and one that fails changes nothing.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Interrupt, Vm};
use crate::heap::*;
use crate::machine::{Broken, Context, REF_DISPLACEMENT_BYTES};
use crate::objects::{CHECK_EVERY, Datum, ObjectData, ReadBack, is_well_formed, read_objects};

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

impl Vm {
    /// Lets an interrupt that was there before stop this machine, in place of its own: one handle
    /// for a series of machines.
    pub fn share_interrupt(&mut self, interrupt: &Interrupt) {
        self.attention = interrupt.0.clone();
        self.is_interrupt_shared = true;
        self.hosts.io().watch(self.attention.clone());
        self.ctx.control.attention = Arc::as_ptr(&self.attention);
        self.ctx.heap.attention = self.ctx.control.attention;
    }

    /// Ops of the budget that the last run left; `None` without a budget.
    pub fn fuel_left(&self) -> Option<u64> {
        self.config
            .fuel
            .map(|_| self.ctx.control.fuel.max(0) as u64)
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
        self.give_up();
        // Nothing but what is built here may be in the heap: no other references are kept up to
        // date below.
        if !self.ctx.roots.held.is_empty() || self.ctx.heap.allocated_bytes() > 0 {
            return Err(HoldError::TooLate);
        }
        let stats = self.ctx.heap.stats();
        let ctx = &mut *self.ctx;
        ctx.set_looking(true);
        ctx.profiling.memprof.suspend(&mut ctx.heap);
        let result = self.build_all(objects);
        let ctx = &mut *self.ctx;
        ctx.heap.stats = stats;
        ctx.profiling.memprof.resume(&mut ctx.heap);
        ctx.set_looking(false);
        result
    }

    /// Builds the objects and leaves the nursery empty.
    fn build_all(&mut self, objects: &[ObjectData]) -> Result<(), HoldError> {
        for (index, object) in objects.iter().enumerate() {
            if index.is_multiple_of(CHECK_EVERY) && self.attention.load(Relaxed) as u8 != 0 {
                return Err(HoldError::Interrupted);
            }
            let built = self.build(object)?;
            self.ctx.roots.held.push(Value::pointer(built).0);
        }
        self.collect_held(0, Some(Phase::Minor))?;
        for (object, &handle) in objects.iter().zip(&self.ctx.roots.held) {
            let refs = match object {
                ObjectData::Record { refs, .. }
                | ObjectData::Closure { refs, .. }
                | ObjectData::RefArray(refs) => refs,
                ObjectData::Weak(to) => std::slice::from_ref(to),
                _ => continue,
            };
            let words: Vec<u64> = refs.iter().map(|&one| self.word_of(one)).collect();
            let object = Value(handle).object().unwrap_or_default();
            // SAFETY: the object was built with room for these references. After the collection
            // nothing is in the nursery, so the heap need not be told of the stores.
            unsafe {
                if let Some(shape) = Shape::of(object, *object) {
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
        if self.ctx.control.broken.is_some() {
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
        unsafe { read_objects(&self.ctx.roots.held, &roots, limit, &self.attention) }
    }

    fn word_of(&self, datum: Datum) -> u64 {
        match datum {
            Datum::Null | Datum::Unread => Value::null().0,
            Datum::Immediate(number) => Value::immediate(number).unwrap_or(Value::ZERO).0,
            Datum::Object(index) => self.ctx.roots.held[index as usize],
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
            ObjectData::Weak(_) => return self.build_weak(),
            ObjectData::RefArray(refs) => (ObjectKind::RefArray, refs.len()),
            ObjectData::IntArray(ints) => (ObjectKind::IntArray, ints.len()),
            ObjectData::FloatArray(floats) => (ObjectKind::FloatArray, floats.len()),
            ObjectData::ByteArray(bytes) => (ObjectKind::ByteArray, bytes.len()),
            ObjectData::Text(bytes) => (ObjectKind::Text, bytes.len()),
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

    fn build_weak(&mut self) -> Result<*mut u64, HoldError> {
        loop {
            match self.ctx.heap.try_weak(Value::ZERO, HeaderSource::NONE) {
                Some(built) => return Ok(built),
                None => self.collect_held(WEAK_BYTES, None)?,
            }
        }
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
        let Context {
            heap,
            roots,
            globals,
            ..
        } = &mut *self.ctx;
        let handles = &mut roots.held;
        let mut roots = [
            (handles.as_mut_ptr(), handles.len()),
            (globals.refs.as_mut_ptr(), globals.refs.len()),
        ];
        // SAFETY: every handle is a reference. The heap was empty when the first object was built,
        // so nothing else refers into it.
        let result = unsafe { heap.collect(bytes, force, &mut roots) };
        self.ctx.control.broken = result.err().map(Broken::OutOfMemory);
        result.map_err(HoldError::OutOfMemory)
    }
}
