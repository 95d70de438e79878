//! Memory profiles of several machines, added up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AbsorbError, MemoryFile};

/// A memory profile that machines on several threads join: each has figures of its own, which it
/// hands in, and [`MemoryTeam::total`] is their sum. A clone is the same profile.
#[derive(Clone, Debug, Default)]
pub struct MemoryTeam(Arc<Mutex<Team>>);

#[derive(Debug, Default)]
struct Team {
    name: String,
    n_joined: u64,
    /// The newest figures of each member, by number.
    files: Vec<(u64, MemoryFile)>,
}

impl MemoryTeam {
    /// A profile of a program of this name, without members.
    pub fn new(name: &str) -> Self {
        Self(Arc::new(Mutex::new(Team {
            name: name.to_owned(),
            ..Team::default()
        })))
    }

    fn team(&self) -> MutexGuard<'_, Team> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for another machine.
    pub fn join(&self) -> MemorySeat {
        let mut team = self.team();
        let number = team.n_joined;
        team.n_joined += 1;
        MemorySeat {
            team: self.clone(),
            number,
        }
    }

    /// The sum of what members have handed in, each once; `None` if none has.
    ///
    /// # Errors
    /// When members were of different programs, or sampled with different rates.
    pub fn total(&self) -> Result<Option<MemoryFile>, AbsorbError> {
        let team = self.team();
        let mut files = team.files.iter().map(|(_, file)| file);
        let Some(mut total) = files.next().cloned() else {
            return Ok(None);
        };
        files.try_for_each(|file| total.absorb(file))?;
        Ok(Some(total))
    }
}

/// The place of one machine in a memory profile.
#[derive(Debug)]
pub struct MemorySeat {
    team: MemoryTeam,
    number: u64,
}

impl MemorySeat {
    /// How many machines have joined before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The program's name.
    pub fn name(&self) -> String {
        self.team.team().name.clone()
    }

    /// Hands in the figures of the machine, in place of those that it has handed in before.
    pub fn hand_in(&self, file: MemoryFile) {
        let mut team = self.team.team();
        team.files.retain(|(number, _)| *number != self.number);
        team.files.push((self.number, file));
    }
}

impl Drop for MemorySeat {
    /// Whoever leaves is added up with those that have left before, so that a profile that many
    /// machines join one after the other stays small.
    fn drop(&mut self) {
        let mut team = self.team.team();
        let own = team
            .files
            .iter()
            .position(|(number, _)| *number == self.number);
        let Some((_, file)) = own.map(|index| team.files.swap_remove(index)) else {
            return;
        };
        let left = team.files.iter_mut().find(|(number, _)| *number == LEFT);
        // Figures that do not fit are kept, for the total to say so.
        match left.map(|(_, left)| left.absorb(&file)) {
            Some(Ok(())) => {}
            Some(Err(_)) => team.files.push((self.number, file)),
            None => team.files.push((LEFT, file)),
        }
    }
}

/// The number of those that have left.
const LEFT: u64 = u64::MAX;
