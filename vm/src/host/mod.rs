//! Host functions: what programs can ask of the world around the machine.
//!
//! A host function gets a [`HostCall`]: the call's windows, in which arguments stand and results
//! are put, the machine's input and output, and the [`Policy`] that says what else programs may
//! touch. It runs on the machine's thread, with the node of the function that called it current.

mod beneath;
mod error;
mod folders;
mod hosts;
mod inspect;
mod io;
pub(crate) mod make;
mod memprof;
mod open_file;
mod policy;
mod standard;

pub use error::{HostError, LinkError};
pub use folders::FolderNames;
pub use hosts::{HostFunction, Hosts};
pub use io::HostIo;
pub use policy::{Denied, OpenMode, Policy};
pub use standard::{
    HostValue, STANDARD, StandardFunction, Touches, ValueKind, standard_function,
    standard_signature,
};

use policy::Place;

use std::path::Path;
use std::time::Duration;

use crate::heap::{ObjectKind, bytes_of};
use crate::isa::Signature;
use crate::machine::{Context, Machine, Root};
use crate::safepoint::{Cause, PART_BYTES, collect_with_roots, spend, switch_unit, take_attention};
use crate::units::{self, Unit};

/// Bytes of output that one unit of fuel pays for.
const BYTES_PER_FUEL: usize = 1 << 10;
/// Frames that one unit of fuel pays for, where a unit of profile data is switched.
const FRAMES_PER_FUEL: usize = 1 << 4;

/// One call of a host function.
#[derive(Debug)]
pub struct HostCall {
    pub(crate) hosts: *mut Hosts,
    /// The machine at the word of the call.
    pub(crate) caller: Machine,
    /// Where the windows start.
    pub(crate) ints: *mut u64,
    refs: *mut u64,
    /// What the windows hold; there is nothing of the call's beyond it.
    signature: Signature,
}

impl HostCall {
    /// The machine with the call's windows as its registers.
    pub(crate) fn window(&self) -> Machine {
        Machine {
            ints: self.ints,
            refs: self.refs,
            ..self.caller
        }
    }

    /// The running machine's context.
    fn ctx(&self) -> *mut Context {
        self.caller.ctx
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
        if let Some(error) = unsafe { (*self.ctx()).heap_failure() } {
            return Err(HostError::OutOfMemory(error));
        }
        // SAFETY: as for `int`; the object does not move while `self` is borrowed, because only
        // methods that borrow it mutably collect.
        unsafe {
            let window = self.window();
            let register = u8::MAX - index;
            let object = window.object(register, ObjectKind::Text);
            let object = object.or_else(|| window.object(register, ObjectKind::ByteArray));
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
        // SAFETY: the context is the running machine's.
        unsafe {
            let text = make::bytes(self.caller, ObjectKind::Text, text)?;
            self.window().set_r(u8::MAX - index, text);
        }
        Ok(())
    }

    /// Argument `index` of the `r` class, whatever it is; an index beyond the signature fails, as
    /// does all after a failed collection.
    pub fn root(&mut self, index: u8) -> Result<Root, HostError> {
        if !self.has_ref(index) {
            return Err(HostError::Failed);
        }
        // SAFETY: the context outlives the call; for the register as for `int`.
        unsafe {
            if let Some(error) = (*self.ctx()).heap_failure() {
                return Err(HostError::OutOfMemory(error));
            }
            let value = self.window().r(u8::MAX - index);
            Ok((*self.ctx()).roots.table.root(value))
        }
    }

    /// Sets result `index` of the `r` class to what a handle leads to; an index beyond the
    /// signature fails, and a handle of another machine.
    pub fn set_root(&mut self, index: u8, root: &Root) -> Result<(), HostError> {
        // SAFETY: the context outlives the call.
        let value = unsafe { (*self.ctx()).roots.table.value(root) };
        let value = value.map_err(|error| HostError::Message(error.to_string()))?;
        if !self.has_ref(index) {
            return Err(HostError::Failed);
        }
        // SAFETY: as for `int`.
        unsafe { self.window().set_r(u8::MAX - index, value) };
        Ok(())
    }

    /// Collects the whole heap.
    pub fn collect_all(&mut self) -> Result<(), HostError> {
        // SAFETY: the registers are the caller's at the word of this call.
        let result = unsafe { collect_with_roots(self.caller, 0, Cause::Wish) };
        result.map_err(HostError::OutOfMemory)
    }

    /// How many collections of the heap there were so far.
    pub fn n_collections(&self) -> u64 {
        // SAFETY: the context outlives the call.
        let stats = unsafe { (*self.ctx()).heap.stats() };
        stats.minor_collections + stats.major_collections
    }

    /// The machine's input and output.
    pub fn io(&mut self) -> &mut HostIo {
        // SAFETY: the context outlives the call, and the function that is running does not
        // reach its own box through it.
        unsafe { (*self.hosts).io() }
    }

    /// What standard functions keep from call to call.
    fn state(&mut self) -> &mut standard::State {
        // SAFETY: as for `io`.
        unsafe { &mut (*self.hosts).state }
    }

    /// What programs may touch: to be asked before a function touches it for them.
    pub fn policy(&self) -> &Policy {
        // SAFETY: as for `io`.
        unsafe { (*self.hosts).policy() }
    }

    /// Whether a profile is taken.
    pub fn is_profiled(&self) -> bool {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx()).profiling.units.is_on() }
    }

    /// The unit of profile data that is charged.
    pub fn current_unit(&self) -> Unit {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx()).profiling.units.current() }
    }

    /// Makes an empty unit of profile data.
    pub fn new_unit(&mut self) -> Unit {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx()).profiling.units.make() }
    }

    /// Frees a unit of profile data; the current one, or one that was freed before, fails.
    pub fn free_unit(&mut self, unit: Unit) -> Result<(), HostError> {
        // SAFETY: as for `io`.
        unsafe { (*self.ctx()).profiling.units.free(unit) }.map_err(|_| HostError::Failed)
    }

    /// Pays fuel for work that takes longer than an op should, and looks whether the run is to end.
    /// A host function that works for more than 100 us should call this now and then.
    ///
    /// # Errors
    /// When there is not so much fuel, or somebody asks for the end of the run; the function should
    /// return the error.
    pub fn spend_fuel(&mut self, fuel: u64) -> Result<(), HostError> {
        // SAFETY: the context is the running machine's.
        unsafe { spend(self.caller, fuel)? };
        Ok(())
    }

    /// How long collections have taken.
    fn collector_time(&self) -> Duration {
        // SAFETY: the context outlives the call.
        unsafe { (*self.ctx()).heap.stats.pause_total }
    }

    /// Fails when a string of so many bytes could never be: host functions that gather bytes
    /// outside of the heap ask now and then, so that the heap's limit holds for them, too.
    fn check_room(&self, bytes: usize) -> Result<(), HostError> {
        // SAFETY: the context outlives the call.
        let error = unsafe { (*self.ctx()).heap.out_of_memory(bytes) };
        match bytes <= error.max_bytes {
            true => Ok(()),
            false => Err(HostError::OutOfMemory(error)),
        }
    }

    /// Writes the string, or byte array, that is argument `index` of the `r` class, in parts.
    ///
    /// # Errors
    /// As for [`HostCall::text`], or when it cannot be written.
    fn write_text(
        &mut self,
        index: u8,
        write: impl Fn(&mut HostIo, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), HostError> {
        let mut start = 0;
        loop {
            let rest = &self.text(index)?[start..];
            let part = rest[..rest.len().min(PART_BYTES)].to_vec();
            if part.is_empty() {
                return Ok(());
            }
            start += part.len();
            let written = write(self.io(), &part);
            written.map_err(|error| self.output_failed(&error))?;
            self.spend_fuel((part.len() / BYTES_PER_FUEL) as u64)?;
        }
    }

    /// What becomes of the run when output could not be written.
    fn output_failed(&mut self, error: &std::io::Error) -> HostError {
        if io::is_given_up(error)
            && let Some(signal) = self.interrupted()
        {
            return HostError::Interrupted(signal);
        }
        match error.kind() {
            // Whoever reads has read enough: end as if by the signal that most programs end by.
            std::io::ErrorKind::BrokenPipe => HostError::Exit(128 + libc::SIGPIPE as u8),
            _ => HostError::Io(format!("cannot write the output: {error}")),
        }
    }

    /// Makes a unit current, and gives the one that was; one that was freed fails.
    pub fn switch_unit(&mut self, unit: Unit) -> Result<Unit, HostError> {
        // The frames that are open may have to be gone through.
        self.spend_fuel((self.depth() / FRAMES_PER_FUEL) as u64)?;
        // SAFETY: a host call is a safepoint, with `sp` above the frames that are open.
        unsafe { switch_unit(self.ctx(), self.caller.sp, unit) }.map_err(|_| HostError::Failed)
    }

    /// Writes a unit's counts, each kind's to a file of its own, where the policy allows it, which
    /// is asked also when no profile is taken. A unit that was freed fails.
    pub fn write_unit(&self, unit: Unit, path: &Path) -> Result<(), HostError> {
        self.policy().check_write(path)?;
        // SAFETY: as for `io`.
        let (units, program) = unsafe { (&(*self.ctx()).profiling.units, &*(*self.ctx()).program) };
        // SAFETY: the machine's cell outlives its context.
        units.settle_time(unsafe { &*(*self.ctx()).profiling.cell });
        let Some(data) = units.data(unit).map_err(|_| HostError::Failed)? else {
            return Ok(());
        };
        let kinds = units.kinds();
        let asked = |kind| units::profile_path(Some(path), kinds, kind);
        // All are checked before the first is written.
        let places = kinds.iter().map(|kind| {
            let place = self.policy().place_to_write(&asked(kind))?;
            Ok((kind, place))
        });
        let places = places.collect::<Result<Vec<_>, Denied>>()?;
        let sources = program.module.source_map();
        for (kind, place) in places {
            let path = asked(kind);
            let written = match place {
                Place::Anywhere => data.write(kind, &sources, &path),
                Place::Inside(beneath) => data
                    .mlmon(kind, &sources)
                    .map_err(std::io::Error::other)
                    .and_then(|mlmon| beneath.replace(|out| mlmon.write(out))),
            };
            written.map_err(|error| {
                HostError::Io(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    /// Sees to snapshots, for which it may collect, and gives the number of the signal that asks
    /// for the end of the run, if one does. A host function that waits should look now and then,
    /// and end with [`HostError::Interrupted`].
    pub fn interrupted(&mut self) -> Option<u8> {
        // SAFETY: as for `io`; a host call is a safepoint.
        unsafe { take_attention(self.caller) }
    }
}
