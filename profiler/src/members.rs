//! Profiles that join another one: each counts by itself, and all are added up when somebody reads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Profile, ProfileData};

/// The counters of one profile.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    pub(crate) data: Arc<ProfileData>,
    pub(crate) elided: Option<Arc<ProfileData>>,
}

impl Counters {
    /// Empty counters of the same shape.
    pub(crate) fn new_like(&self) -> Counters {
        Counters {
            data: Arc::new(self.data.new_like()),
            elided: self.elided.as_ref().map(|data| Arc::new(data.new_like())),
        }
    }

    fn absorb(&self, other: &Counters) {
        self.data.absorb(&other.data);
        if let (Some(elided), Some(other)) = (&self.elided, &other.elided) {
            elided.absorb(other);
        }
    }
}

/// Who has joined a profile.
#[derive(Debug, Default)]
pub(crate) struct Members(Mutex<Team>);

/// Under one lock, so that a member that leaves is either here or in the sum.
#[derive(Debug, Default)]
struct Team {
    /// What members had counted that have left.
    left: Option<Counters>,
    here: Vec<Counters>,
}

impl Members {
    fn team(&self) -> MutexGuard<'_, Team> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, member: &Counters) {
        let mut team = self.team();
        team.here
            .retain(|here| !Arc::ptr_eq(&here.data, &member.data));
        let left = team.left.get_or_insert_with(|| member.new_like());
        left.absorb(member);
    }

    /// Adds to `sum` what all members have counted until now.
    pub(crate) fn add_to(
        &self,
        sum: &ProfileData,
        part: impl Fn(&Counters) -> Option<&ProfileData>,
    ) {
        let team = self.team();
        let members = team.left.iter().chain(&team.here);
        members.filter_map(part).for_each(|data| sum.absorb(data));
    }
}

/// A member's place in the profile that it has joined.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) whole: Arc<Profile>,
    counters: Counters,
}

impl Seat {
    /// Joins a profile with these counters.
    pub(crate) fn take(whole: Arc<Profile>, counters: &Counters) -> Seat {
        whole.members.team().here.push(counters.clone());
        Seat {
            whole,
            counters: counters.clone(),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.whole.members.leave(&self.counters);
    }
}
