//! Units of profile data, made, switched, written and freed while a program runs: what
//! `MLton.Profile` offers.
//!
//! A machine that takes a profile always has a *current* unit, which is charged. It starts with the
//! profile's own, and whichever is current when the run ends is the one that the `vm` command
//! writes. Switching while frames are open is exact: from the switch on, everything is charged to
//! the new unit, also in functions that were entered before.
//!
//! - In current style the code holds addresses of nodes, so a switch rewrites them: it takes time
//!   in proportion to the program, and code between switches runs at full speed.
//! - In stack style frames hold contexts, so a switch translates them: it takes time in proportion
//!   to the depth of the stack.
//!
//! Without a profile there is one unit that nobody charges, and all of this does nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use profiler::{CurrentCell, Kind, KindSet, ProfileClaim, ProfileData};

/// A unit of profile data of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit(pub(crate) u32);

impl Unit {
    /// The unit that a machine starts with.
    pub const FIRST: Self = Self(0);
}

/// Why a unit cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// The unit was freed, or never made.
    Freed,
    /// The unit is current, so it cannot be freed.
    Current,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Freed => "this unit of profile data has been freed",
            Self::Current => "the current unit of profile data cannot be freed",
        })
    }
}

impl std::error::Error for UnitError {}

/// The units of a machine.
pub(crate) struct Units {
    /// The machine's claim: as long as it has units, no other machine counts in the profile.
    profile: Option<ProfileClaim>,
    /// Units made besides the first, which is the profile's own.
    made: Vec<Option<Box<ProfileData>>>,
    is_first_freed: bool,
    current: Unit,
    /// The bytes that units had counted which are freed, by source.
    freed_bytes: Vec<u64>,
}

impl Units {
    pub(crate) fn new(profile: Option<ProfileClaim>) -> Self {
        Self {
            profile,
            made: Vec::new(),
            is_first_freed: false,
            current: Unit::FIRST,
            freed_bytes: Vec::new(),
        }
    }

    /// Whether a profile is taken.
    pub(crate) fn is_on(&self) -> bool {
        self.profile.is_some()
    }

    pub(crate) fn current(&self) -> Unit {
        self.current
    }

    /// Notes that the code and the frames refer to another unit's data now.
    pub(crate) fn set_current(&mut self, unit: Unit) {
        self.current = unit;
    }

    /// Makes an empty unit.
    pub(crate) fn make(&mut self) -> Unit {
        let Some(profile) = &self.profile else {
            return Unit::FIRST;
        };
        self.made.push(Some(Box::new(profile.data().new_like())));
        Unit(self.made.len() as u32)
    }

    /// Frees a unit that is not current.
    pub(crate) fn free(&mut self, unit: Unit) -> Result<(), UnitError> {
        if self.profile.is_none() {
            return Ok(());
        }
        if unit == self.current {
            return Err(UnitError::Current);
        }
        if unit == Unit::FIRST {
            // The profile owns it; that nobody can use it any more is all there is to do.
            let was_freed = std::mem::replace(&mut self.is_first_freed, true);
            return if was_freed {
                Err(UnitError::Freed)
            } else {
                Ok(())
            };
        }
        let slot = self
            .made
            .get_mut(unit.0 as usize - 1)
            .ok_or(UnitError::Freed)?;
        let data = slot.take().ok_or(UnitError::Freed)?;
        if self.kinds().contains(Kind::Alloc) {
            let bytes = data.counts(Kind::Alloc).sources;
            self.freed_bytes.resize(bytes.len(), 0);
            add_all(&mut self.freed_bytes, &bytes);
        }
        Ok(())
    }

    /// The data of a unit; `None` when no profile is taken.
    pub(crate) fn data(&self, unit: Unit) -> Result<Option<&ProfileData>, UnitError> {
        let Some(profile) = &self.profile else {
            return Ok(None);
        };
        if unit == Unit::FIRST {
            return if self.is_first_freed {
                Err(UnitError::Freed)
            } else {
                Ok(Some(profile.data()))
            };
        }
        let slot = self
            .made
            .get(unit.0 as usize - 1)
            .and_then(Option::as_deref);
        slot.map(Some).ok_or(UnitError::Freed)
    }

    /// The data that the code refers to; also the first unit's when that was freed.
    pub(crate) fn own(&self, unit: Unit) -> Option<&ProfileData> {
        match unit {
            Unit::FIRST => self.profile.as_ref().map(|profile| profile.data()),
            _ => self.data(unit).ok().flatten(),
        }
    }

    /// The bytes that each source has allocated, in all units together, also in those that are
    /// freed.
    pub(crate) fn allocated_bytes(&self, n_sources: usize) -> Vec<u64> {
        let mut totals = self.freed_bytes.clone();
        totals.resize(n_sources, 0);
        let made = self.made.iter().flatten().map(|unit| &**unit);
        for unit in self.own(Unit::FIRST).into_iter().chain(made) {
            add_all(&mut totals, &unit.counts(Kind::Alloc).sources);
        }
        totals
    }

    /// Gives the current unit the CPU time since this was last done, if there is a time profile.
    pub(crate) fn settle_time(&self, cell: &CurrentCell) {
        if let Some(data) = self.own(self.current) {
            data.add_cpu_ns(cell.take_cpu_ns());
        }
    }

    /// The kinds of the profile that is taken.
    pub(crate) fn kinds(&self) -> KindSet {
        self.profile
            .as_ref()
            .map_or(KindSet::EMPTY, |profile| profile.kinds())
    }
}

fn add_all(totals: &mut [u64], counts: &[u64]) {
    for (total, count) in totals.iter_mut().zip(counts) {
        *total += count;
    }
}

/// Where a kind's counts go: to the file that was asked for, or `mlmon.out`; with the kind in the
/// name when several kinds are taken.
pub fn profile_path(asked: Option<&Path>, kinds: KindSet, kind: Kind) -> PathBuf {
    let path = asked.unwrap_or(Path::new("mlmon.out"));
    if kinds.len() == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{kind}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use profiler::Profile;

    use super::*;

    #[test]
    fn several_kinds_have_the_kind_in_the_file_name() {
        let both: KindSet = "time,count".parse().expect("two kinds");
        let one: KindSet = "count".parse().expect("a kind");
        let name =
            |asked: Option<&str>, kinds| profile_path(asked.map(Path::new), kinds, Kind::Count);
        assert_eq!(name(None, one), Path::new("mlmon.out"));
        assert_eq!(name(None, both), Path::new("mlmon.count.out"));
        assert_eq!(name(Some("a/p.mon"), one), Path::new("a/p.mon"));
        assert_eq!(name(Some("a/p.mon"), both), Path::new("a/p.count.mon"));
    }

    #[test]
    fn without_a_profile_units_do_nothing() {
        let mut units = Units::new(None);
        let unit = units.make();
        assert!(!units.is_on());
        assert_eq!((unit, units.current()), (Unit::FIRST, Unit::FIRST));
        assert_eq!(units.free(unit), Ok(()));
        assert!(matches!(units.data(unit), Ok(None)));
    }

    #[test]
    fn a_unit_is_freed_once_and_never_while_it_is_current() {
        let kinds: KindSet = "count".parse().expect("a kind");
        let profile = Arc::new(Profile::new(kinds, 3));
        let mut units = Units::new(Some(profile.claim().expect("a profile of its own")));
        let unit = units.make();
        assert_eq!(units.free(Unit::FIRST), Err(UnitError::Current));
        assert_eq!(units.free(unit), Ok(()));
        assert_eq!(units.free(unit), Err(UnitError::Freed));
        assert_eq!(units.data(unit).err(), Some(UnitError::Freed));
        assert_eq!(units.free(Unit(99)), Err(UnitError::Freed));
    }
}
