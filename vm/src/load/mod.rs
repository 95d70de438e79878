//! The loader: a verified module to threaded code.
//!
//! Per function: profiling ops are dropped or fused into calls and returns (`plan.rs`), ops are
//! fused into superinstructions where a pattern fits (`fuse.rs`), and everything else becomes one
//! word or a few (`select.rs`). Jumps become distances once all words stand (`lower.rs`).
//!
//! Loading happens after verification and keeps, for each word, the op that it came from: handler
//! tables, backtraces and listings go through that map.

mod constants;
mod contexts;
mod elided;
mod finish;
mod fuse;
mod lower;
mod plan;
mod select;

use profiler::{Kind, Node, Profile, SourceId};

use crate::code::Mode;
use crate::heap::OutOfMemory;

pub(crate) use constants::Constants;
pub(crate) use lower::lower as load;

/// Whom allocations are charged to; see `interp::handlers::charge`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    /// Nobody.
    None,
    /// A node that is known when the code is loaded.
    Fixed,
    /// The node that is published.
    Published,
}

/// Why a module cannot be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadError {
    /// There is no memory for its constants.
    OutOfMemory(OutOfMemory),
    /// Its threaded code would take 2 GiB or more.
    TooLarge,
}

/// What a program is loaded for.
#[derive(Clone, Copy)]
pub(crate) struct LoadConfig<'a> {
    /// The profile that is taken, if any. Its nodes' addresses are written into the code.
    pub(crate) profile: Option<&'a Profile>,
    /// The node that takes charges nobody wants.
    pub(crate) sink: &'a Node,
    /// Whether ops are counted against a budget.
    pub(crate) counts_fuel: bool,
    /// Whether superinstructions are used; tests compare with and without.
    pub(crate) fuses: bool,
    /// Whether allocations put their source into headers.
    pub(crate) has_census: bool,
}

impl LoadConfig<'_> {
    fn has(&self, kind: Kind) -> bool {
        self.profile
            .is_some_and(|profile| profile.kinds().contains(kind))
    }

    /// Whom code of a source is charged to: [`SourceId::CALLER`] if the profile leaves it out.
    pub(crate) fn charged(&self, source: SourceId) -> SourceId {
        self.profile
            .map_or(source, |profile| profile.charged(source))
    }

    /// What calls and returns do for the profile, besides counting.
    pub(crate) fn mode(&self) -> Mode {
        match self.profile {
            None => Mode::Off,
            Some(profile) if profile.data().has_contexts() => Mode::Stack,
            Some(_) if self.has(Kind::Time) => Mode::Current,
            Some(_) => Mode::Off,
        }
    }

    /// Whether entries of sources are counted.
    pub(crate) fn counts(&self) -> bool {
        self.has(Kind::Count)
    }

    /// Whether calls do something for a profile.
    pub(crate) fn is_profiled(&self) -> bool {
        self.mode() != Mode::Off || self.counts()
    }

    /// Whom allocations are charged to.
    pub(crate) fn charge(&self) -> Charge {
        match self.mode() {
            _ if !self.has(Kind::Alloc) => Charge::None,
            // Which source is current at an op is known, so nothing need be published for it.
            Mode::Off | Mode::Current => Charge::Fixed,
            Mode::Stack => Charge::Published,
        }
    }
}
