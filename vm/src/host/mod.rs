//! Host functions: what programs can ask of the world around the machine.
//!
//! A host function gets a [`HostCall`]: the call's windows, in which arguments stand and results
//! are put, and the machine's input and output. It runs on the machine's thread, with the node of
//! the function that called it current.

mod inspect;
mod io;
mod memory;
mod standard;

pub use io::HostIo;
pub use standard::{STANDARD, standard_signature};

use std::path::Path;

use crate::heap::{Kind, OutOfMemory, Value, array_bytes, bytes_of};
use crate::interp::machine::{Context, Machine};
use crate::interp::slow::{Cause, collect_with_roots, header_source, take_attention};
use crate::isa::Signature;
use crate::memprof::{Room, Source, make_room};
use crate::units::{self, Unit};

/// Why a host function does not return to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// The request makes no sense: the program gets a fault that it can handle.
    Failed,
    /// The run ends with this exit code.
    Exit(u8),
    /// Input or output failed: the run ends with this message.
    Io(String),
    /// A result would exceed an allocation budget: the program gets a fault that it can handle.
    BudgetExceeded,
    /// There is no memory for a result.
    OutOfMemory(OutOfMemory),
    /// A signal asks for the end of the run.
    Interrupted(u8),
}

/// The type of a host function.
pub type HostFunction = Box<dyn FnMut(&mut HostCall) -> Result<(), HostError>>;

/// What a machine offers its programs: named functions, and input and output.
pub struct Hosts {
    io: HostIo,
    offered: Vec<(String, Signature, HostFunction)>,
    /// For each of the module's imports the index of the function offered.
    bound: Vec<usize>,
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.offered.iter().map(|(name, ..)| name))
            .finish()
    }
}

impl Hosts {
    /// The standard functions over this input and output.
    pub fn standard(io: HostIo) -> Self {
        let mut hosts = Self {
            io,
            offered: Vec::new(),
            bound: Vec::new(),
        };
        standard::offer(&mut hosts);
        hosts
    }

    /// Offers a function, in place of one of the same name.
    pub fn offer(
        &mut self,
        name: &str,
        signature: Signature,
        function: impl FnMut(&mut HostCall) -> Result<(), HostError> + 'static,
    ) {
        self.offered.retain(|(known, ..)| known != name);
        self.offered
            .push((name.to_owned(), signature, Box::new(function)));
    }

    /// Binds a module's imports, or says which one cannot be bound.
    pub(crate) fn bind(&mut self, imports: &[crate::module::HostImport]) -> Result<(), String> {
        let find = |import: &crate::module::HostImport| {
            let index = self
                .offered
                .iter()
                .position(|(name, ..)| *name == import.name);
            let index = index.ok_or(format!("no host function is named `{}`", import.name))?;
            let signature = self.offered[index].1;
            if signature != import.signature {
                return Err(format!(
                    "the host function `{}` is {signature}, not {}",
                    import.name, import.signature
                ));
            }
            Ok(index)
        };
        self.bound = imports.iter().map(find).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The function bound to an import.
    pub(crate) fn function(&mut self, import: usize) -> *mut HostFunction {
        &raw mut self.offered[self.bound[import]].2
    }

    /// Input and output.
    pub fn io(&mut self) -> &mut HostIo {
        &mut self.io
    }
}

/// One call of a host function.
#[derive(Debug)]
pub struct HostCall {
    ctx: *mut Context,
    /// The caller's registers, for the roots of a collection.
    pc: crate::interp::word::Pc,
    caller_refs: *mut u64,
    sp: *mut crate::interp::word::Frame,
    /// Where the windows start.
    ints: *mut u64,
    refs: *mut u64,
    /// What the windows hold; there is nothing of the call's beyond it.
    signature: Signature,
}

impl HostCall {
    pub(crate) fn new(
        machine: Machine,
        ints_window: u8,
        refs_window: u8,
        signature: Signature,
    ) -> Self {
        Self {
            ctx: machine.ctx,
            pc: machine.pc,
            caller_refs: machine.refs,
            sp: machine.sp,
            ints: machine.ints.wrapping_add(ints_window as usize),
            refs: machine.refs.wrapping_sub(refs_window as usize),
            signature,
        }
    }

    fn window(&self) -> Machine {
        let Self {
            pc,
            ints,
            refs,
            ctx,
            sp,
            ..
        } = *self;
        Machine {
            pc,
            ints,
            refs,
            ctx,
            sp,
        }
    }

    fn has_int(&self, index: u8) -> bool {
        (index as usize) < self.signature.int_window()
    }

    fn has_ref(&self, index: u8) -> bool {
        (index as usize) < self.signature.ref_window(false)
    }

    /// Argument or result `index` of the `i` class, as raw bits; 0 beyond the signature.
    pub fn int(&self, index: u8) -> i64 {
        if !self.has_int(index) {
            return 0;
        }
        // SAFETY: the slot is one of 256 that the stack check of the caller's own call left free
        // beyond the window.
        unsafe { self.window().i(index) as i64 }
    }

    /// Sets result `index` of the `i` class; does nothing beyond the signature.
    pub fn set_int(&mut self, index: u8, value: i64) {
        if !self.has_int(index) {
            return;
        }
        // SAFETY: as for `int`.
        unsafe { self.window().set_i(index, value as u64) }
    }

    /// Argument `index` of the `i` class as a double.
    pub fn float(&self, index: u8) -> f64 {
        f64::from_bits(self.int(index) as u64)
    }

    /// Sets result `index` of the `i` class to a double.
    pub fn set_float(&mut self, index: u8, value: f64) {
        self.set_int(index, value.to_bits() as i64);
    }

    /// The bytes of the string, or byte array, that is argument `index` of the `r` class. Anything
    /// else there, or an index beyond the signature, fails, as does all after a failed collection.
    pub fn text(&self, index: u8) -> Result<&[u8], HostError> {
        if !self.has_ref(index) {
            return Err(HostError::Failed);
        }
        // SAFETY: the context outlives the call.
        if let Some(error) = unsafe { (*self.ctx).broken } {
            return Err(HostError::OutOfMemory(error));
        }
        // SAFETY: as for `int`; the object does not move while `self` is borrowed, because only
        // methods that borrow it mutably collect.
        unsafe {
            let window = self.window();
            let register = u8::MAX - index;
            let object = window.object(register, Kind::Text);
            let object = object.or_else(|| window.object(register, Kind::ByteArray));
            object
                .map(|object| bytes_of(object))
                .ok_or(HostError::Failed)
        }
    }

    /// Sets result `index` of the `r` class to a new string; an index beyond the signature fails.
    pub fn set_text(&mut self, index: u8, text: &[u8]) -> Result<(), HostError> {
        if !self.has_ref(index) {
            return Err(HostError::Failed);
        }
        let bytes = array_bytes(Kind::Text, text.len()).unwrap_or(usize::MAX);
        // SAFETY: the context is the running machine's. The string is filled before anything
        // else is allocated.
        unsafe {
            let source = header_source(self.ctx, self.pc);
            let object = loop {
                match (*self.ctx).heap.try_array(Kind::Text, text.len(), source) {
                    Some(object) => break object,
                    None => self.make_room(bytes)?,
                }
            };
            object
                .add(2)
                .cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), text.len());
            self.window().charge(bytes);
            self.window().set_r(u8::MAX - index, Value::pointer(object));
        }
        Ok(())
    }

    /// Collects the whole heap.
    pub fn collect_all(&mut self) -> Result<(), HostError> {
        let Self {
            pc,
            caller_refs,
            ctx,
            sp,
            ..
        } = *self;
        // SAFETY: the registers are the caller's at the word of this call.
        let result = unsafe { collect_with_roots(pc, caller_refs, ctx, sp, 0, Cause::Wish) };
        result.map_err(HostError::OutOfMemory)
    }

    /// Makes room for a block, which must be allocated next.
    fn make_room(&mut self, bytes: usize) -> Result<(), HostError> {
        let Self {
            pc,
            caller_refs,
            ctx,
            sp,
            ..
        } = *self;
        // SAFETY: the registers are the caller's at the word of this call.
        match unsafe { make_room(pc, caller_refs, ctx, sp, bytes, Source::Deserialised) } {
            Room::Ready => Ok(()),
            Room::Fault => Err(HostError::BudgetExceeded),
            Room::OutOfMemory(error) => Err(HostError::OutOfMemory(error)),
        }
    }

    /// The machine's input and output.
    pub fn io(&mut self) -> &mut HostIo {
        // SAFETY: the context outlives the call, and the function that is running does not
        // reach its own box through it.
        unsafe { (*self.ctx).hosts.io() }
    }

    /// Whether a profile is taken.
    pub fn is_profiled(&self) -> bool {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx).units.is_on() }
    }

    /// The unit of profile data that is charged.
    pub fn current_unit(&self) -> Unit {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx).units.current() }
    }

    /// Makes an empty unit of profile data.
    pub fn new_unit(&mut self) -> Unit {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx).units.make() }
    }

    /// Frees a unit of profile data; the current one, or one that was freed before, fails.
    pub fn free_unit(&mut self, unit: Unit) -> Result<(), HostError> {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx).units.free(unit) }.map_err(|_| HostError::Failed)
    }

    /// Makes a unit current, and gives the one that was; one that was freed fails.
    pub fn switch_unit(&mut self, unit: Unit) -> Result<Unit, HostError> {
        // SAFETY: a host call is a safepoint, with `sp` above the frames that are open.
        unsafe { units::switch(self.ctx, self.sp, unit) }.map_err(|_| HostError::Failed)
    }

    /// Writes a unit's counts, each kind's to a file of its own; a unit that was freed fails.
    pub fn write_unit(&self, unit: Unit, path: &Path) -> Result<(), HostError> {
        // SAFETY: as for `io`.
        let (units, program) = unsafe { (&(*self.ctx).units, &*(*self.ctx).program) };
        // SAFETY: the machine's cell outlives its context.
        units.settle_time(unsafe { &*(*self.ctx).cell });
        let Some(data) = units.data(unit).map_err(|_| HostError::Failed)? else {
            return Ok(());
        };
        let sources = program.module.source_map();
        for kind in units.kinds().iter() {
            let path = units::profile_path(Some(path), units.kinds(), kind);
            data.write(kind, &sources, &path).map_err(|error| {
                HostError::Io(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    /// Sees to snapshots, for which it may collect, and gives the number of the signal that asks
    /// for the end of the run, if one does. A host function that waits should look now and then,
    /// and end with [`HostError::Interrupted`].
    pub fn interrupted(&mut self) -> Option<u8> {
        let Self {
            pc,
            caller_refs,
            ctx,
            sp,
            ..
        } = *self;
        // SAFETY: as for `io`; a host call is a safepoint.
        unsafe { take_attention(pc, caller_refs, ctx, sp) }
    }
}
