//! Profiles and their states: sampling, stopped, discarded.

use profiler::sampling::WordSampler;

use super::Memprof;
use super::api::{MemprofConfig, MemprofError, ProfileId, Tracker};
use super::entries::{Entry, EventKind};
use crate::heap::{Heap, Value};
use crate::isa::Signature;

/// The five closures of a bytecode tracker, or null for those it does without: `alloc_minor`,
/// `alloc_major`, `promote`, `dealloc_minor`, `dealloc_major`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosureTracker(pub(crate) [Value; 5]);

const fn signature(int_params: u8, ref_params: u8, int_results: u8, ref_results: u8) -> Signature {
    Signature {
        int_params,
        ref_params,
        int_results,
        ref_results,
    }
}

impl ClosureTracker {
    /// What the closures take and give. Allocation: samples, words and source, to whether to track
    /// the block and with which value. Promotion: the value, to the same. Death: the value.
    pub(crate) const SIGNATURES: [Signature; 5] = [
        signature(3, 0, 1, 1),
        signature(3, 0, 1, 1),
        signature(0, 1, 1, 1),
        signature(0, 1, 0, 0),
        signature(0, 1, 0, 0),
    ];

    /// The place of the closure that is called when something happens to a block.
    pub(super) fn place(entry: &Entry, kind: EventKind) -> usize {
        let state = entry.state;
        match kind {
            EventKind::Alloc => !state.is_born_young as usize,
            EventKind::Promote => 2,
            EventKind::Dealloc => 3 + (!state.is_born_young || state.is_promoted) as usize,
        }
    }
}

/// Who hears of a profile's blocks.
pub(super) enum Listener {
    Native(Box<dyn Tracker>),
    /// The closures are in [`Profiles::closures`], at five times the profile's place.
    Closures,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Native(_) => "Native",
            Self::Closures => "Closures",
        })
    }
}

/// A profile that is not discarded.
#[derive(Debug)]
pub(super) struct ProfileState {
    pub(super) sampler: WordSampler,
    /// Samples of the block that comes next, as far as they have been drawn beforehand.
    pub(super) n_drawn: u64,
    pub(super) callstack_size: usize,
    has_lines: bool,
    is_exclusive: bool,
    pub(super) is_running: bool,
    pub(super) listener: Listener,
    /// The number by which the program knows it, if the program has started it.
    program_number: Option<u64>,
}

impl ProfileState {
    /// Whether the tracker is a program's.
    #[inline]
    pub(super) fn has_closures(&self) -> bool {
        matches!(self.listener, Listener::Closures)
    }
}

/// The profiles of a machine, each in a place that is used again when it is discarded.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    states: Vec<Option<ProfileState>>,
    /// How often each place has been given to a profile.
    generations: Vec<u64>,
    /// Closures of bytecode trackers, five for each place. Roots of collections.
    pub(super) closures: Vec<u64>,
    /// How many profiles the program has started: their numbers count them, so that the program
    /// does not see whether there are others.
    n_of_program: u64,
}

/// How many profiles there can be at once: half of them are the program's.
const MAX_PROFILES: usize = 1 << 10;

impl Profiles {
    /// The next word that a profile samples.
    pub(super) fn next_sample(&self) -> u64 {
        let running = self.states.iter().flatten().filter(|one| one.is_running);
        running
            .map(|one| one.sampler.next())
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Forgets samples that were drawn beforehand, for a block that will not be made.
    pub(super) fn forget_drawn(&mut self) {
        for state in self.states.iter_mut().flatten() {
            state.n_drawn = 0;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.states.iter().all(Option::is_none)
    }

    pub(super) fn is_sampling(&self) -> bool {
        self.states.iter().flatten().any(|one| one.is_running)
    }

    /// Whether a profile that samples wants to know the lines of callers.
    fn want_lines(&self) -> bool {
        let mut states = self.states.iter().flatten();
        states.any(|one| one.is_running && one.has_lines)
    }

    /// Whether a program has a tracker that is not discarded.
    pub(super) fn has_closures(&self) -> bool {
        self.states.iter().flatten().any(ProfileState::has_closures)
    }

    /// Tells native trackers that a collection is over.
    pub(super) fn collected(&mut self, is_major: bool) {
        for state in self.states.iter_mut().flatten() {
            if let Listener::Native(tracker) = &mut state.listener {
                tracker.collected(is_major);
            }
        }
    }

    pub(super) fn state(&mut self, place: u16) -> Option<&mut ProfileState> {
        self.states.get_mut(place as usize)?.as_mut()
    }

    /// The profiles that sample, with their places.
    #[inline]
    pub(super) fn running(&mut self) -> impl Iterator<Item = (u16, &mut ProfileState)> {
        let states = self.states.iter_mut().zip(0..);
        states.filter_map(|(state, place)| {
            Some((place, state.as_mut().filter(|one| one.is_running)?))
        })
    }

    pub(super) fn places(&self) -> std::ops::Range<u16> {
        0..self.states.len() as u16
    }

    pub(super) fn closure(&self, place: u16, index: usize) -> Value {
        let word = self.closures.get(place as usize * 5 + index);
        word.map_or(Value::null(), |&word| Value(word))
    }

    /// The place of a profile that is not discarded.
    fn place(&self, profile: ProfileId) -> Option<u16> {
        let place = (profile.0 % MAX_PROFILES as u64) as usize;
        let generation = profile.0 / MAX_PROFILES as u64;
        let is_there = self.states.get(place)?.is_some() && self.generations[place] == generation;
        is_there.then_some(place as u16)
    }

    /// The place of a profile of the program's that is not discarded.
    fn place_of_program(&self, number: u64) -> Option<u16> {
        let is_it = |one: &Option<ProfileState>| {
            one.as_ref()
                .is_some_and(|one| one.program_number == Some(number))
        };
        self.states.iter().position(is_it).map(|place| place as u16)
    }

    fn add(&mut self, state: ProfileState) -> Result<(u16, ProfileId), MemprofError> {
        let free = self.states.iter().position(Option::is_none);
        let place = free.unwrap_or(self.states.len());
        let is_of_same = |one: &&ProfileState| one.has_closures() == state.has_closures();
        let n_of_same = self.states.iter().flatten().filter(is_of_same).count();
        if n_of_same >= MAX_PROFILES / 2 {
            return Err(MemprofError::TooManyProfiles);
        }
        if free.is_none() {
            self.states.push(None);
            self.generations.push(0);
        }
        self.states[place] = Some(state);
        self.generations[place] += 1;
        let number = self.generations[place] * MAX_PROFILES as u64 + place as u64;
        Ok((place as u16, ProfileId(number)))
    }

    fn set_closures(&mut self, place: u16, closures: [Value; 5]) {
        let first = place as usize * 5;
        if self.closures.len() < first + 5 {
            self.closures.resize(first + 5, Value::null().0);
        }
        for (slot, closure) in self.closures[first..].iter_mut().zip(closures) {
            *slot = closure.0;
        }
    }

    /// The exclusive profile that is sampling.
    fn exclusive(&self) -> Option<u16> {
        let is_it = |one: &Option<ProfileState>| {
            one.as_ref()
                .is_some_and(|one| one.is_running && one.is_exclusive)
        };
        self.states.iter().position(is_it).map(|place| place as u16)
    }
}

impl Memprof {
    /// Starts a profile with a native tracker (S8).
    pub(crate) fn start(
        &mut self,
        heap: &mut Heap,
        config: MemprofConfig,
        tracker: Box<dyn Tracker>,
    ) -> Result<ProfileId, MemprofError> {
        self.start_with(heap, config, Listener::Native(tracker), None)
    }

    /// Starts a profile with a bytecode tracker (S8). Gives the number by which the program knows
    /// it.
    pub(crate) fn start_closures(
        &mut self,
        heap: &mut Heap,
        config: MemprofConfig,
        tracker: ClosureTracker,
    ) -> Result<u64, MemprofError> {
        self.start_with(heap, config, Listener::Closures, Some(tracker))?;
        Ok(self.profiles.n_of_program)
    }

    fn start_with(
        &mut self,
        heap: &mut Heap,
        config: MemprofConfig,
        listener: Listener,
        closures: Option<ClosureTracker>,
    ) -> Result<ProfileId, MemprofError> {
        let sampler = WordSampler::new(config.rate, config.seed, self.clock(heap))
            .map_err(|_| MemprofError::InvalidRate(config.rate))?;
        if config.exclusive && self.profiles.exclusive().is_some() {
            return Err(MemprofError::AlreadyStarted);
        }
        let program_number = closures.map(|_| self.profiles.n_of_program + 1);
        let (place, profile) = self.profiles.add(ProfileState {
            sampler,
            n_drawn: 0,
            callstack_size: config
                .callstack_size
                .map_or(usize::MAX, |size| size as usize),
            has_lines: config.call_lines,
            is_exclusive: config.exclusive,
            is_running: true,
            listener,
            program_number,
        })?;
        self.profiles.n_of_program += program_number.is_some() as u64;
        if let Some(ClosureTracker(closures)) = closures {
            self.profiles.set_closures(place, closures);
        }
        self.stack.set_lines(self.profiles.want_lines());
        self.watch(heap);
        Ok(profile)
    }

    /// Whether an exclusive profile is sampling.
    pub(crate) fn is_exclusively_sampling(&self) -> bool {
        self.profiles.exclusive().is_some()
    }

    /// Stops the exclusive profile (S9).
    pub(crate) fn stop_exclusive(&mut self, heap: &mut Heap) -> Result<(), MemprofError> {
        let place = self.profiles.exclusive().ok_or(MemprofError::NotRunning)?;
        self.stop_at(heap, place);
        Ok(())
    }

    /// Stops a profile (S9).
    pub(crate) fn stop(&mut self, heap: &mut Heap, profile: ProfileId) -> Result<(), MemprofError> {
        let place = self
            .profiles
            .place(profile)
            .ok_or(MemprofError::NotRunning)?;
        let state = self.profiles.state(place);
        if !state.is_some_and(|state| state.is_running) {
            return Err(MemprofError::NotRunning);
        }
        self.stop_at(heap, place);
        Ok(())
    }

    /// Tracked blocks stay tracked, but those whose callback has not been called are dropped (S10).
    fn stop_at(&mut self, heap: &mut Heap, place: u16) {
        if let Some(state) = self.profiles.state(place) {
            state.is_running = false;
        }
        for index in 0..self.entries.n_slots() as u32 {
            let entry = self.entries.get(index);
            if entry.is_some_and(|entry| entry.profile == place && entry.state.is_new) {
                self.untrack(heap, index);
            }
        }
        self.stack.set_lines(self.profiles.want_lines());
        self.watch(heap);
        self.give_back(heap);
    }

    /// Discards a profile (S11).
    pub(crate) fn discard(
        &mut self,
        heap: &mut Heap,
        profile: ProfileId,
    ) -> Result<(), MemprofError> {
        self.discard_if_stopped(heap, self.profiles.place(profile))
    }

    /// Discards the profile that the program knows by this number (S11).
    pub(crate) fn discard_of_program(
        &mut self,
        heap: &mut Heap,
        number: u64,
    ) -> Result<(), MemprofError> {
        self.discard_if_stopped(heap, self.profiles.place_of_program(number))
    }

    fn discard_if_stopped(
        &mut self,
        heap: &mut Heap,
        place: Option<u16>,
    ) -> Result<(), MemprofError> {
        let place = place.ok_or(MemprofError::AlreadyDiscarded)?;
        if self
            .profiles
            .state(place)
            .is_some_and(|state| state.is_running)
        {
            return Err(MemprofError::NotStopped);
        }
        self.discard_at(heap, place);
        Ok(())
    }

    fn discard_at(&mut self, heap: &mut Heap, place: u16) {
        for index in 0..self.entries.n_slots() as u32 {
            if self.entries.is_of_profile(index, place) {
                self.untrack(heap, index);
            }
        }
        self.profiles.states[place as usize] = None;
        if self.profiles.closures.len() > place as usize * 5 {
            self.profiles.set_closures(place, [Value::null(); 5]);
        }
        self.give_back(heap);
    }

    /// Discards the profiles of bytecode trackers, in whatever state, with all events: those are
    /// for such trackers only. No callback runs.
    pub(super) fn discard_closures(&mut self, heap: &mut Heap) {
        for event in std::mem::take(&mut self.events) {
            if let Some(entry) = self.entries.get_mut(event.entry) {
                entry.state.n_events = 0;
                if entry.state.is_untracked {
                    self.entries.remove(event.entry);
                }
            }
        }
        for place in self.profiles.places() {
            let state = self.profiles.state(place);
            if state.is_some_and(|state| state.has_closures()) {
                self.discard_at(heap, place);
            }
        }
    }

    /// Hears of a block no more. Its index is free once no event of it is left.
    pub(super) fn untrack(&mut self, heap: &mut Heap, index: u32) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        entry.state.is_untracked = true;
        let is_over = entry.state.n_events == 0;
        self.entries.set_value(index, 0);
        heap.tracked.forget(index);
        if is_over {
            self.entries.remove(index);
        }
    }
}
