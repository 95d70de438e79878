//! Programs that machines share.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use profiler::{Node, SourceId};

use crate::code::LoadedProgram;
use crate::load::{LoadConfig, LoadError, load};
use crate::module::{Module, ReadError, read};
use crate::verify::{VerifiedModule, VerifyError, verify};

/// A program for any number of machines, on any threads. A clone is the same program.
///
/// Its code is loaded when the first machine needs it, with its constants. Machines
/// without a profile run the same code; one with a profile, or whose program starts memory profiles
/// by itself, has code of its own, because it writes into that.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    module: VerifiedModule,
    /// Whether machines write into the code even without a profile.
    is_written_to: bool,
    /// What stands in shared code for nodes, where nobody looks.
    sink: Node,
    shared: Mutex<Shared>,
}

/// What was loaded so far.
#[derive(Default)]
struct Shared {
    /// Code by whether it counts fuel, and whether ops are fused.
    loaded: [[Option<Arc<LoadedProgram>>; 2]; 2],
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

impl Program {
    /// The program of a module that has passed the verifier.
    pub fn new(module: VerifiedModule) -> Self {
        // Its trackers are called between two ops, which are armed for that.
        let is_written_to = module.hosts.iter().any(|host| host.name == "memprof_start");
        Self(Arc::new(Inner {
            module,
            is_written_to,
            sink: Node::new(SourceId::UNKNOWN),
            shared: Mutex::default(),
        }))
    }

    /// The program of a module, which is verified.
    ///
    /// # Errors
    /// When the verifier refuses it.
    pub fn from_module(module: Module) -> Result<Self, ProgramError> {
        Ok(Self::new(verify(module).map_err(ProgramError::Verify)?))
    }

    /// The program of a `.bc` file's bytes, which are read and verified.
    ///
    /// # Errors
    /// When they are no module, or the verifier refuses it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProgramError> {
        Self::from_module(read(bytes).map_err(ProgramError::Read)?)
    }

    /// The program's module.
    pub fn module(&self) -> &VerifiedModule {
        &self.0.module
    }

    /// The code for a machine: shared if the machine writes nothing into it.
    pub(super) fn load(&self, config: LoadConfig<'_>) -> Result<Arc<LoadedProgram>, LoadError> {
        let shared = self.0.shared.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        let loaded = &mut shared.loaded;
        let module = self.0.module.clone();
        if self.0.is_written_to || config.profile.is_some() || config.has_census {
            return Ok(Arc::new(load(module, config)?));
        }
        let slot = &mut loaded[config.counts_fuel as usize][config.fuses as usize];
        if let Some(loaded) = slot {
            return Ok(loaded.clone());
        }
        let config = LoadConfig {
            sink: &self.0.sink,
            ..config
        };
        Ok(slot.insert(Arc::new(load(module, config)?)).clone())
    }
}

impl From<VerifiedModule> for Program {
    fn from(module: VerifiedModule) -> Self {
        Self::new(module)
    }
}

impl From<&Program> for Program {
    fn from(program: &Program) -> Self {
        program.clone()
    }
}

/// Why bytes are no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// They are no module.
    Read(ReadError),
    /// The verifier refuses the module: at most 20 errors, at least one.
    Verify(Vec<VerifyError>),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Verify(errors) => {
                let texts = errors.iter().map(VerifyError::to_string);
                f.write_str(&texts.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

impl Error for ProgramError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Verify(errors) => errors.first().map(|error| error as _),
        }
    }
}
