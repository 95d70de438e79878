//! How a machine is made, and why it cannot be.

use std::fmt;
use std::sync::Arc;

use profiler::memory::MemoryTeam;
use profiler::{Profile, ProfileInUse};

use crate::heap::{HeapConfig, OutOfMemory};
use crate::host::LinkError;
use crate::load::LoadError;
use crate::memprof::MemprofConfig;

/// How a machine is made.
#[derive(Clone, Debug)]
pub struct VmConfig {
    /// The heap's sizes and limits.
    pub heap: HeapConfig,
    /// Bytes of registers that nested calls may use; at most 256 MiB. Control frames take up to
    /// three times as much more.
    pub stack_bytes: usize,
    /// How many ops may run; `None` for no limit, which costs nothing.
    pub fuel: Option<u64>,
    /// The profile to take. It may be read by anybody meanwhile, but no other machine can count in
    /// it as long as this one lives.
    pub profile: Option<Arc<Profile>>,
    /// Whether ops are fused into superinstructions. Off, programs do the same more slowly.
    pub fuses: bool,
    /// Whether the heap keeps, with each object, the source that allocated it, for exact counts in
    /// [`Vm::memory_file`](crate::Vm::memory_file). If there is a profile, it must count
    /// allocation.
    pub census: bool,
    /// How allocations are sampled for [`Vm::memory_file`](crate::Vm::memory_file), if they are.
    pub sampling: Option<MemprofConfig>,
    /// The memory profile that this machine joins with the figures that `census` and `sampling` ask
    /// for. It hands them in when it is dropped, and by
    /// [`Vm::hand_in_memory`](crate::Vm::hand_in_memory). Members sample other words, though they
    /// have the same seed.
    pub memory_team: Option<MemoryTeam>,
}

impl Default for VmConfig {
    fn default() -> Self {
        Self {
            heap: HeapConfig::default(),
            stack_bytes: 128 << 20,
            fuel: None,
            profile: None,
            fuses: true,
            census: false,
            sampling: None,
            memory_team: None,
        }
    }
}

/// Why a machine could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmError {
    /// The program imports what the host does not offer.
    Link(LinkError),
    /// There is no memory for the heap or the stacks.
    OutOfMemory(OutOfMemory),
    /// The program's code is larger than the machine can address.
    TooLarge,
    /// Allocations cannot be sampled as asked.
    Sampling(String),
    /// Another machine, which still lives, counts in the profile.
    ProfileInUse(ProfileInUse),
    /// Exact counts of the heap need a profile that counts allocation.
    NoAllocation,
}

impl fmt::Display for VmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => error.fmt(f),
            Self::Sampling(message) => f.write_str(message),
            Self::OutOfMemory(error) => error.fmt(f),
            Self::ProfileInUse(error) => error.fmt(f),
            Self::NoAllocation => {
                f.write_str("exact counts of the heap need a profile that counts allocation")
            }
            Self::TooLarge => f.write_str("the program is too large: its code would take 2 GiB"),
        }
    }
}

impl std::error::Error for VmError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Link(error) => Some(error),
            Self::OutOfMemory(error) => Some(error),
            Self::ProfileInUse(error) => Some(error),
            Self::TooLarge | Self::Sampling(_) | Self::NoAllocation => None,
        }
    }
}

impl From<LinkError> for VmError {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl From<OutOfMemory> for VmError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<ProfileInUse> for VmError {
    fn from(error: ProfileInUse) -> Self {
        Self::ProfileInUse(error)
    }
}

impl From<LoadError> for VmError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::OutOfMemory(error) => Self::OutOfMemory(error),
            LoadError::TooLarge => Self::TooLarge,
        }
    }
}
