//! What a machine offers its programs, and how it is called.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::error::LinkError;
use super::{Denied, HostCall, HostError, HostIo, Policy, standard, standard_function};
use crate::heap::Value;
use crate::isa::Signature;
use crate::machine::{HostTable, Machine, Obstacle, SIGNAL_BITS};
use crate::module::HostImport;

/// The type of a host function that may be called again while it runs.
pub type HostFunction = Box<dyn Fn(&mut HostCall) -> Result<(), HostError> + Send>;

/// A host function that is not called again while it runs.
type OwnFunction = Box<dyn FnMut(&mut HostCall) -> Result<(), HostError> + Send>;

/// The work of a host function.
enum Work {
    Shared(HostFunction),
    /// `None` while it runs.
    Own(Option<OwnFunction>),
}

/// A host function that is offered.
struct Offer {
    name: String,
    signature: Signature,
    work: Work,
}

/// What a machine offers its programs: named functions, input and output, and what else they may
/// touch.
pub struct Hosts {
    io: HostIo,
    policy: Policy,
    /// What standard functions keep from call to call.
    pub(super) state: standard::State,
    /// Why the last host function failed, if it said.
    reason: Option<Reason>,
    /// What embedders offer, and the standard functions that were wanted so far.
    offered: Vec<Offer>,
    /// For each of the module's imports the index of the function offered.
    bound: Vec<usize>,
}

/// Why a host function failed.
enum Reason {
    Denied(Denied),
    Message(String),
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.offered.iter().map(|offer| &offer.name))
            .finish()
    }
}

impl Hosts {
    /// The standard functions over this input and output. Programs may touch nothing else, until
    /// [`Hosts::with_policy`] says more.
    pub fn standard(io: HostIo) -> Self {
        Self {
            io,
            policy: Policy::nothing(),
            state: standard::State::default(),
            reason: None,
            offered: Vec::new(),
            bound: Vec::new(),
        }
    }

    /// Lets programs touch what this policy allows.
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Offers a function, in place of one of the same name, standard ones included.
    /// [`Hosts::wrap`] does the same with Rust's types.
    ///
    /// While the function runs it cannot be called again, for it may change what it captures: a
    /// program that it calls back and that calls it gets the fault of a host function that fails.
    pub fn offer(
        &mut self,
        name: &str,
        signature: Signature,
        function: impl FnMut(&mut HostCall) -> Result<(), HostError> + Send + 'static,
    ) {
        self.put(name, signature, Work::Own(Some(Box::new(function))));
    }

    /// Offers a function that may be called again while it runs, in place of one of the same name.
    pub fn offer_shared(&mut self, name: &str, signature: Signature, function: HostFunction) {
        self.put(name, signature, Work::Shared(function));
    }

    fn put(&mut self, name: &str, signature: Signature, work: Work) {
        self.offered.retain(|known| known.name != name);
        self.offered.push(Offer {
            name: name.to_owned(),
            signature,
            work,
        });
    }

    /// Binds a module's imports, or says which one cannot be bound.
    pub(crate) fn bind(&mut self, imports: &[HostImport]) -> Result<(), LinkError> {
        let find = |import: &HostImport| {
            let index = self.find(&import.name);
            let index = index.ok_or_else(|| LinkError::Missing {
                name: import.name.clone(),
                wanted: import.signature,
            })?;
            let offered = self.offered[index].signature;
            match offered == import.signature {
                true => Ok(index),
                false => Err(LinkError::Mismatch {
                    name: import.name.clone(),
                    wanted: import.signature,
                    offered,
                }),
            }
        };
        self.bound = imports.iter().map(find).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The index of the function of this name. A standard one is made when it is first wanted:
    /// there are many, and a module imports few.
    fn find(&mut self, name: &str) -> Option<usize> {
        let known = self.offered.iter().position(|offer| offer.name == name);
        if known.is_some() {
            return known;
        }
        let function = standard_function(name)?;
        let index = self.offered.len();
        self.offered.push(Offer {
            name: name.to_owned(),
            signature: function.signature,
            work: Work::Shared(standard::checked_work(function)),
        });
        Some(index)
    }

    /// These functions as the machine calls them. They must stay where they are while it does.
    pub(crate) fn table(&mut self) -> HostTable {
        HostTable {
            hosts: (&raw mut *self).cast(),
            call: call_bound,
        }
    }

    /// Input and output.
    pub fn io(&mut self) -> &mut HostIo {
        &mut self.io
    }

    /// Writes out what programs have written to files that are open, at the end of a run. Waits for
    /// readers of pipes, unless the run was interrupted or is.
    ///
    /// # Errors
    /// What could not be written, and why.
    pub(crate) fn write_out(
        &mut self,
        attention: &AtomicU32,
        was_interrupted: bool,
    ) -> Result<(), String> {
        let may_wait = || !was_interrupted && attention.load(Relaxed) & SIGNAL_BITS == 0;
        self.state.files.write_out(may_wait)
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the last host function that failed was denied, or has said; forgets it.
    pub(crate) fn take_reason(&mut self) -> (Option<Denied>, Option<String>) {
        match self.reason.take() {
            Some(Reason::Denied(denied)) => (Some(denied), None),
            Some(Reason::Message(message)) => (None, Some(message)),
            None => (None, None),
        }
    }

    /// Keeps why a function failed: the fault that the program gets does not say it.
    fn note(&mut self, error: &HostError) {
        self.reason = match error {
            HostError::Denied(denied) => Some(Reason::Denied(denied.clone())),
            HostError::Message(message) => Some(Reason::Message(message.clone())),
            _ => None,
        };
    }
}

/// Calls the host function of the word at which the machine is.
///
/// # Safety
/// `hosts` are those that the machine's program is bound to, and nobody else uses them.
unsafe fn call_bound(hosts: *mut c_void, m: Machine) -> Result<(), Obstacle> {
    let hosts: *mut Hosts = hosts.cast();
    // SAFETY: the word is a host call's, whose function was bound when the machine was made. While
    // a function runs, others may be called, and it reaches the hosts through its call only: so no
    // reference to the hosts lives on meanwhile, and a function that changes what it captures is
    // out of its place.
    unsafe {
        let word = m.word();
        let index = (&(*hosts).bound)[word.e as usize];
        let offer = &raw mut (&mut (*hosts).offered)[index];
        let mut call = HostCall {
            hosts,
            caller: m,
            ints: m.ints.wrapping_add(word.a as usize),
            refs: m.refs.wrapping_sub(word.b as usize),
            signature: (*offer).signature,
        };
        let result = match &mut (*offer).work {
            Work::Shared(function) => {
                let function: *const HostFunction = function;
                (*function)(&mut call)
            }
            Work::Own(function) => match function.take() {
                Some(function) => {
                    let mut running = Running {
                        place: &raw mut (*offer).work,
                        function: Some(function),
                    };
                    running
                        .function
                        .as_mut()
                        .map_or(Ok(()), |function| function(&mut call))
                }
                None => Err(HostError::Message(format!(
                    "the host function `{}` is called again while it runs",
                    (*offer).name
                ))),
            },
        };
        result.map_err(|error| failed(hosts, m, error))
    }
}

/// A function that is out of its place while it runs; it goes back also when it panics.
struct Running {
    place: *mut Work,
    function: Option<OwnFunction>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: hosts stay where they are while the machine runs, and offers are not changed.
        unsafe { *self.place = Work::Own(self.function.take()) };
    }
}

/// Notes why a function has failed, and says what keeps the machine from going on.
#[cold]
#[inline(never)]
unsafe fn failed(hosts: *mut Hosts, m: Machine, error: HostError) -> Obstacle {
    // SAFETY: the caller passes the hosts of the machine, and its context.
    unsafe {
        (&mut *hosts).note(&error);
        let HostError::Raise(root) = &error else {
            return error.obstacle();
        };
        match (*m.ctx).roots.table.value(root) {
            Ok(value) => {
                (*m.ctx).roots.exception = value;
                Obstacle::Raise
            }
            Err(wrong) => {
                let error = HostError::Message(wrong.to_string());
                (&mut *hosts).note(&error);
                (*m.ctx).roots.exception = Value::ZERO;
                error.obstacle()
            }
        }
    }
}
