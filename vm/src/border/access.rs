//! What Rust can do with a machine, between runs and within host functions.

use super::look::{self, Kind};
use super::{
    CallError, FromProgram, Giver, ObjectError, RunError, Taker, ToProgram, TypedFunction, build,
};
use crate::heap::{ObjectKind, Value as Word};
use crate::host::make;
use crate::isa::Signature;
use crate::machine::{Context, Machine, Root};
use crate::module::Function;
use crate::objects::{ReadBack, read_objects};
use crate::verify::VerifiedModule;

/// How a machine is reached. Only [`Vm`](crate::Vm) and [`HostCall`](crate::host::HostCall) are
/// ways to one, so nobody else can implement [`Access`].
pub(crate) trait Reach {
    /// The machine's context, whose heap has not failed.
    ///
    /// # Errors
    /// When the heap has failed.
    fn alive(&self) -> Result<*mut Context, ObjectError>;

    /// Does work that may allocate, with the machine at a word that is charged for it.
    fn allocating<T>(
        &mut self,
        work: impl FnOnce(Machine) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError>;

    /// Calls a function that is none of a closure's, when it has `signature`. `give` puts as many
    /// arguments as the signature says, and `take` may take as many results; `has_refs` says
    /// whether `give` puts references.
    fn enter<T>(
        &mut self,
        call: Call,
        give: impl FnOnce(&mut Giver) -> Result<(), ObjectError>,
        take: impl FnOnce(&mut Taker) -> Result<T, ObjectError>,
    ) -> Result<T, RunError>;

    /// The machine's program.
    fn verified(&self) -> &VerifiedModule;
}

/// What is called, when it has been checked that it can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) function: u32,
    pub(crate) signature: Signature,
    /// Whether the last reference argument is the closure that is called.
    pub(crate) is_closure: bool,
}

/// A value of a call without types: see [`Access::invoke`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer, or any other 64 bits.
    Int(i64),
    /// A double: its bits travel as an integer. Results never come as this.
    Float(f64),
    /// A reference.
    Ref(Root),
}

/// What Rust can do with a machine, in the same words between runs ([`Vm`](crate::Vm)) and within a
/// host function ([`HostCall`](crate::host::HostCall)): make objects, read them, and call
/// functions.
///
/// Objects are held by [`Root`]s. Those made within a host function are charged to the source that
/// called it; those made between runs to `<unknown>`, and no memory profile samples them.
///
/// ```
/// use vm::{Access, Kind, ObjectError};
///
/// fn pair(machine: &mut impl Access) -> Result<(), ObjectError> {
///     let name = machine.new_text("pear")?;
///     let record = machine.new_record(7, &[&name], &[3, -4])?;
///     assert_eq!(machine.kind(&record)?, Kind::Record(7));
///     assert_eq!(machine.ints(&record)?, [3, -4]);
///     let field = machine.get_ref(&record, 0)?;
///     assert_eq!(machine.bytes(&field)?, b"pear");
///     Ok(())
/// }
/// ```
#[allow(private_bounds, reason = "nobody else shall implement it")]
pub trait Access: Reach {
    /// The index of the function of this name.
    ///
    /// # Errors
    /// When there is none.
    fn function(&self, name: &str) -> Result<u32, CallError> {
        let index = self.verified().function_named(name);
        index.ok_or_else(|| CallError::NoFunctionNamed(name.to_owned()))
    }

    /// A function with Rust's types, found by its name: see [`TypedFunction`].
    ///
    /// # Errors
    /// When there is none, or its signature is not the one that the types make.
    fn typed<P: ToProgram, R: FromProgram>(
        &self,
        name: &str,
    ) -> Result<TypedFunction<P, R>, CallError> {
        TypedFunction::new(self.verified(), name)
    }

    /// Calls a function with values that fit its signature: integers and doubles for its `i`
    /// parameters, references for its `r` parameters, each class in order. Gives its results, the
    /// integers first.
    ///
    /// # Errors
    /// When the values do not fit, or the run does not end well.
    fn invoke(&mut self, function: u32, values: &[Value]) -> Result<Vec<Value>, RunError> {
        let callee = callee(self.verified(), function)?;
        let is_ref = |value: &&Value| matches!(value, Value::Ref(_));
        let n_refs = values.iter().filter(is_ref).count();
        let signature = callee.signature;
        if (signature.ref_params as usize, signature.int_params as usize)
            != (n_refs, values.len() - n_refs)
        {
            let count = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
            return Err(RunError::Call(CallError::Signature {
                function: callee.name.clone(),
                wanted: Signature {
                    int_params: count(values.len() - n_refs),
                    ref_params: count(n_refs),
                    ..signature
                },
                offered: signature,
            }));
        }
        let call = Call {
            function,
            signature,
            is_closure: false,
        };
        let give = |giver: &mut Giver| values.iter().try_for_each(|value| giver.value(value));
        self.enter(call, give, |taker| Ok(taker.all(signature)))
    }

    /// Calls a closure: `args` and the result have to fit its signature.
    ///
    /// # Errors
    /// When the value is no closure, its signature is another one, or the run does not end well.
    fn call_closure<P: ToProgram, R: FromProgram>(
        &mut self,
        closure: &Root,
        args: P,
    ) -> Result<R, RunError> {
        let Kind::Closure(function) = self.kind(closure)? else {
            return Err(RunError::Call(CallError::NoClosure));
        };
        let callee = &self.verified().functions[function as usize];
        let signature = super::typed::check::<P, R>(callee)?;
        let call = Call {
            function,
            signature,
            is_closure: true,
        };
        let give = |giver: &mut Giver| {
            args.give(giver)?;
            giver.root(closure)
        };
        self.enter(call, give, R::take)
    }

    /// A new string.
    ///
    /// # Errors
    /// When there is no memory, as for all that makes an object; within a host function also when
    /// the run is to end, or a budget forbids it.
    fn new_text(&mut self, text: impl AsRef<[u8]>) -> Result<Root, ObjectError> {
        let text = text.as_ref();
        // SAFETY: the machine is at a word.
        rooted(self, |m| unsafe {
            Ok(make::bytes(m, ObjectKind::Text, text)?)
        })
    }

    /// A new array of bytes.
    ///
    /// # Errors
    /// As for [`Access::new_text`].
    fn new_byte_array(&mut self, bytes: &[u8]) -> Result<Root, ObjectError> {
        // SAFETY: as for `new_text`.
        rooted(self, |m| unsafe {
            Ok(make::bytes(m, ObjectKind::ByteArray, bytes)?)
        })
    }

    /// A new array of integers.
    ///
    /// # Errors
    /// As for [`Access::new_text`].
    fn new_int_array(&mut self, ints: &[i64]) -> Result<Root, ObjectError> {
        // SAFETY: as for `new_text`.
        rooted(self, |m| unsafe {
            Ok(build::words(m, ObjectKind::IntArray, ints)?)
        })
    }

    /// A new array of doubles.
    ///
    /// # Errors
    /// As for [`Access::new_text`].
    fn new_float_array(&mut self, floats: &[f64]) -> Result<Root, ObjectError> {
        // SAFETY: as for `new_text`.
        rooted(self, |m| unsafe {
            Ok(build::words(m, ObjectKind::FloatArray, floats)?)
        })
    }

    /// A new array of references.
    ///
    /// # Errors
    /// As for [`Access::new_text`], or when a handle is not one of this machine.
    fn new_ref_array(&mut self, refs: &[&Root]) -> Result<Root, ObjectError> {
        // SAFETY: as for `new_text`.
        rooted(self, |m| unsafe { build::refs(m, refs) })
    }

    /// A new record with a tag, at most 255 references and at most 255 integers.
    ///
    /// # Errors
    /// As for [`Access::new_ref_array`], or when there are too many fields.
    fn new_record(&mut self, tag: u16, refs: &[&Root], ints: &[i64]) -> Result<Root, ObjectError> {
        // SAFETY: as for `new_text`.
        rooted(self, |m| unsafe { build::record(m, tag, refs, ints) })
    }

    /// A new closure of a function that captures as many references and integers.
    ///
    /// # Errors
    /// As for [`Access::new_ref_array`], or when the function has other captures.
    fn new_closure(
        &mut self,
        function: u32,
        refs: &[&Root],
        ints: &[i64],
    ) -> Result<Root, ObjectError> {
        let callee = self.verified().functions.get(function as usize);
        let captures = callee.and_then(|callee| callee.captures);
        let fits = captures.is_some_and(|captures| {
            (captures.refs as usize, captures.ints as usize) == (refs.len(), ints.len())
        });
        if !fits {
            return Err(ObjectError::WrongFields);
        }
        rooted(self, |m| {
            // SAFETY: as for `new_text`; the program lives as long as its closures.
            unsafe {
                let callee: *const _ = (*(*m.ctx).program).function(function);
                build::closure(m, callee, refs, ints)
            }
        })
    }

    /// The null reference.
    ///
    /// # Errors
    /// When the heap has failed.
    fn null(&mut self) -> Result<Root, ObjectError> {
        rooted(self, |_| Ok(Word::null()))
    }

    /// An immediate: a number of 63 bits that is a reference.
    ///
    /// # Errors
    /// When 63 bits do not hold it.
    fn immediate(&mut self, number: i64) -> Result<Root, ObjectError> {
        let word = Word::immediate(number).ok_or(ObjectError::NoImmediate(number))?;
        rooted(self, |_| Ok(word))
    }

    /// What a handle leads to.
    ///
    /// # Errors
    /// When the handle is not one of this machine, or its heap has failed.
    fn kind(&self, root: &Root) -> Result<Kind, ObjectError> {
        let (_, word) = word(self, root)?;
        // SAFETY: a handle's reference is one of the heap, which is alive.
        Ok(unsafe { look::kind(word) })
    }

    /// Whether two handles lead to the same object, or are the same immediate.
    ///
    /// # Errors
    /// As for [`Access::kind`].
    fn is_same(&self, one: &Root, other: &Root) -> Result<bool, ObjectError> {
        Ok(word(self, one)?.1 == word(self, other)?.1)
    }

    /// The bytes of a string, or of an array of bytes.
    ///
    /// # Errors
    /// As for [`Access::kind`], or when it is something else.
    fn bytes(&self, root: &Root) -> Result<&[u8], ObjectError> {
        let (_, word) = word(self, root)?;
        // SAFETY: as for `kind`; only methods that borrow the machine mutably allocate.
        unsafe { look::bytes(word) }
    }

    /// The integers of a record or closure, or the elements of an array of integers.
    ///
    /// # Errors
    /// As for [`Access::bytes`].
    fn ints(&self, root: &Root) -> Result<&[i64], ObjectError> {
        let kinds = [
            ObjectKind::Record,
            ObjectKind::Closure,
            ObjectKind::IntArray,
        ];
        let (_, object) = object(self, root, &kinds, "an object with integers")?;
        // SAFETY: as for `bytes`.
        Ok(unsafe { object.raw() })
    }

    /// The elements of an array of doubles.
    ///
    /// # Errors
    /// As for [`Access::bytes`].
    fn floats(&self, root: &Root) -> Result<&[f64], ObjectError> {
        let (_, object) = object(self, root, &[ObjectKind::FloatArray], "an array of doubles")?;
        // SAFETY: as for `bytes`; a double's bits are as wide as an integer, and any are valid.
        Ok(unsafe {
            let raw = object.raw();
            std::slice::from_raw_parts(raw.as_ptr().cast(), raw.len())
        })
    }

    /// How many references a record, a closure or an array of references has.
    ///
    /// # Errors
    /// As for [`Access::bytes`].
    fn n_refs(&self, root: &Root) -> Result<usize, ObjectError> {
        let (_, object) = object(self, root, &WITH_REFS, "an object with references")?;
        Ok(object.shape.n_refs)
    }

    /// A reference of a record, a closure or an array of references.
    ///
    /// # Errors
    /// As for [`Access::bytes`], or when there is none of this index.
    fn get_ref(&mut self, root: &Root, index: usize) -> Result<Root, ObjectError> {
        let (ctx, object) = object(self, root, &WITH_REFS, "an object with references")?;
        let slot = object.ref_slot(index).ok_or(ObjectError::NoField(index))?;
        // SAFETY: the slot is one of the object's, and the context is this machine's.
        Ok(unsafe { (*ctx).roots.table.root(Word(*slot)) })
    }

    /// All references of a record, a closure or an array of references.
    ///
    /// # Errors
    /// As for [`Access::bytes`].
    fn refs(&mut self, root: &Root) -> Result<Vec<Root>, ObjectError> {
        let n_refs = self.n_refs(root)?;
        (0..n_refs).map(|index| self.get_ref(root, index)).collect()
    }

    /// Stores a reference into a record or an array of references.
    ///
    /// # Errors
    /// As for [`Access::get_ref`].
    fn set_ref(&mut self, root: &Root, index: usize, value: &Root) -> Result<(), ObjectError> {
        let (_, word) = word(self, value)?;
        let kinds = [ObjectKind::Record, ObjectKind::RefArray];
        let (ctx, object) = object(self, root, &kinds, "a record or an array of references")?;
        let slot = object.ref_slot(index).filter(|_| object.is_mutable());
        let slot = slot.ok_or(ObjectError::NoField(index))?;
        // SAFETY: the slot is one of the object's, and the reference one of the same heap.
        unsafe { object.store(ctx, slot, word) };
        Ok(())
    }

    /// Stores an integer into a record or an array of integers.
    ///
    /// # Errors
    /// As for [`Access::get_ref`].
    fn set_int(&mut self, root: &Root, index: usize, value: i64) -> Result<(), ObjectError> {
        let kinds = [ObjectKind::Record, ObjectKind::IntArray];
        let (_, object) = object(self, root, &kinds, "a record or an array of integers")?;
        let first = object.shape.first_ref + object.shape.n_refs;
        if index >= object.shape.words - first || !object.is_mutable() {
            return Err(ObjectError::NoField(index));
        }
        // SAFETY: the word is one of the object's raw ones.
        unsafe { *object.start.add(first + index) = value as u64 };
        Ok(())
    }

    /// Reads what these handles lead to, as data: at most `limit` objects, breadth first.
    ///
    /// # Errors
    /// As for [`Access::kind`].
    fn read(&self, roots: &[&Root], limit: usize) -> Result<ReadBack, ObjectError> {
        let ctx = self.alive()?;
        let words = roots.iter().map(|root| Ok(word(self, root)?.1));
        let words: Vec<Word> = words.collect::<Result<_, ObjectError>>()?;
        // SAFETY: handles lead to whole objects while nothing runs.
        Ok(unsafe { read_objects(&[], &words, limit, &*(*ctx).control.attention) })
    }
}

impl<M: Reach> Access for M {}

/// The kinds of objects that have references.
const WITH_REFS: [ObjectKind; 3] = [
    ObjectKind::Record,
    ObjectKind::Closure,
    ObjectKind::RefArray,
];

/// A handle of the reference that comes of some work.
fn rooted<M: Reach + ?Sized>(
    machine: &mut M,
    work: impl FnOnce(Machine) -> Result<Word, ObjectError>,
) -> Result<Root, ObjectError> {
    machine.allocating(|m| {
        let word = work(m)?;
        // SAFETY: the context is the machine's.
        Ok(unsafe { (*m.ctx).roots.table.root(word) })
    })
}

/// The reference of a handle.
fn word<M: Reach + ?Sized>(machine: &M, root: &Root) -> Result<(*mut Context, Word), ObjectError> {
    let ctx = machine.alive()?;
    // SAFETY: the context lives as long as the machine.
    let word = unsafe { (*ctx).roots.table.value(root)? };
    Ok((ctx, word))
}

/// The object of a handle, when it is of one of these kinds.
fn object<M: Reach + ?Sized>(
    machine: &M,
    root: &Root,
    kinds: &[ObjectKind],
    wanted: &'static str,
) -> Result<(*mut Context, look::Object), ObjectError> {
    let (ctx, word) = word(machine, root)?;
    // SAFETY: a handle's reference is one of the heap, which is alive.
    unsafe {
        match look::object(word) {
            Some(object) if kinds.contains(&object.shape.kind) => Ok((ctx, object)),
            _ => Err(look::wrong_kind(word, wanted)),
        }
    }
}

/// The function of an index, when it can be called without a closure.
///
/// # Errors
/// When there is none, or it is a closure's.
pub(crate) fn callee(module: &VerifiedModule, function: u32) -> Result<&Function, CallError> {
    let callee = module.functions.get(function as usize);
    let callee = callee.ok_or(CallError::NoFunction(function))?;
    match callee.captures {
        Some(_) => Err(CallError::NeedsCaptures(callee.name.clone())),
        None => Ok(callee),
    }
}
