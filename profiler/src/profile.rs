//! The profile of one run: which kinds it keeps, and the unit of profile data in use.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::{fmt, io};

use crate::members::{Counters, Members, Seat};
use crate::{
    ContextConfig, Kind, KindSet, Node, ProfileData, SourceFilter, SourceId, SourceMap, Style,
    TickSource,
};

/// How many ticks a second the timer is asked for unless the user says otherwise: what MLton uses.
pub const DEFAULT_HZ: u32 = 100;

/// The profile of one VM: the kinds that are kept and the counters.
///
/// Anybody may read a profile at any time, but only one VM at a time counts in it: a counter is
/// loaded, added to and stored again, so two threads would lose each other's counts. A VM therefore
/// [claims](Profile::claim) its profile, and a second one is refused. Machines on several threads
/// [join](Profile::join) one profile, and [`Profile::total`] adds up what they have counted.
#[derive(Debug)]
pub struct Profile {
    kinds: KindSet,
    hz: u32,
    tick_source: TickSource,
    counters: Counters,
    /// For each source whether it is left out; empty if none is.
    left_out: Vec<bool>,
    is_claimed: AtomicBool,
    pub(crate) members: Members,
    /// The place in the profile that this one has joined.
    seat: Option<Seat>,
}

impl Profile {
    /// An empty profile of a program with `n_sources` split sources, in current style, at
    /// [`DEFAULT_HZ`].
    pub fn new(kinds: KindSet, n_sources: usize) -> Profile {
        Profile {
            kinds,
            hz: DEFAULT_HZ,
            tick_source: TickSource::System,
            counters: Counters {
                data: Arc::new(ProfileData::new(n_sources)),
                elided: None,
            },
            left_out: Vec::new(),
            is_claimed: AtomicBool::new(false),
            members: Members::default(),
            seat: None,
        }
    }

    /// The exclusive right to count in this profile, until the claim is dropped.
    ///
    /// # Errors
    /// [`ProfileInUse`] while another claim lives.
    pub fn claim(self: &Arc<Profile>) -> Result<ProfileClaim, ProfileInUse> {
        // The acquire meets the release of the claim before: its counts are seen and added to.
        let claimed = self
            .is_claimed
            .compare_exchange(false, true, Acquire, Relaxed);
        claimed.map_err(|_| ProfileInUse)?;
        Ok(ProfileClaim(Arc::clone(self)))
    }

    /// A profile of the same kinds, style and rate with counters of its own, for another VM: what
    /// it counts is part of this one's [total](Profile::total), also when it is gone. A member of a
    /// profile joins others to that.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    /// use profiler::{Kind, Profile, SourceId};
    ///
    /// let profile = Arc::new(Profile::new(Kind::Count.into(), 3));
    /// let threads = [(); 4].map(|()| {
    ///     let member = profile.join();
    ///     thread::spawn(move || member.node(SourceId::MAIN).count_call())
    /// });
    /// for thread in threads {
    ///     thread.join().expect("no panic");
    /// }
    /// assert_eq!(profile.total().counts(Kind::Count).totals.total, 4);
    /// ```
    pub fn join(self: &Arc<Profile>) -> Arc<Profile> {
        let whole = match &self.seat {
            Some(seat) => &seat.whole,
            None => self,
        };
        let counters = self.counters.new_like();
        Arc::new(Profile {
            kinds: self.kinds,
            hz: self.hz,
            tick_source: self.tick_source.clone(),
            left_out: self.left_out.clone(),
            is_claimed: AtomicBool::new(false),
            members: Members::default(),
            seat: Some(Seat::take(Arc::clone(whole), &counters)),
            counters,
        })
    }

    /// What this profile and all that have joined it have counted until now, as a unit of its own.
    /// Units that programs or embedders make besides a profile's own are not in it.
    pub fn total(&self) -> ProfileData {
        let sum = self.counters.data.new_like();
        sum.absorb(&self.counters.data);
        self.members.add_to(&sum, |member| Some(&member.data));
        sum
    }

    /// As [`Profile::total`], of the frames that tail calls gave up; `None` if they are not
    /// counted.
    pub fn total_elided(&self) -> Option<ProfileData> {
        let own = self.counters.elided.as_ref()?;
        let sum = own.new_like();
        sum.absorb(own);
        self.members.add_to(&sum, |member| member.elided.as_deref());
        Some(sum)
    }

    /// The same profile with another tick rate, in ticks per second of CPU time.
    pub fn with_hz(self, hz: u32) -> Profile {
        Profile { hz, ..self }
    }

    /// The same profile with ticks and CPU time from another source, as for tests.
    pub fn with_tick_source(self, tick_source: TickSource) -> Profile {
        Profile {
            tick_source,
            ..self
        }
    }

    /// An empty profile like this one in another style.
    pub fn with_style(self, style: Style) -> Profile {
        let config = self.counters.data.context_config();
        self.with_data(style, config)
    }

    /// An empty profile like this one that, in stack style, folds recursion from the start, or
    /// only near the limit of nodes (see [`ContextConfig::fold_recursion`]).
    pub fn with_fold_recursion(self, fold_recursion: bool) -> Profile {
        let config = ContextConfig {
            fold_recursion,
            ..self.counters.data.context_config()
        };
        let style = self.style();
        self.with_data(style, config)
    }

    /// An empty profile like this one that, in stack style, makes at most `node_limit` nodes (see
    /// [`ContextConfig::node_limit`]).
    pub fn with_node_limit(self, node_limit: usize) -> Profile {
        let config = ContextConfig {
            node_limit,
            ..self.counters.data.context_config()
        };
        let style = self.style();
        self.with_data(style, config)
    }

    /// An empty profile like this one that leaves out the sources of `map` that `filter` does not
    /// keep: what they would have counted goes to whoever called them, and their entries are not
    /// counted. Who that is only a calling context says, so such a profile keeps contexts in
    /// current style too.
    pub fn with_filter(self, filter: &SourceFilter, map: &SourceMap) -> Profile {
        let ids = (0..map.sources.len() as u32).map(SourceId);
        let is_left_out = |id| !map.name_of(id).is_none_or(|name| filter.keeps(name));
        let mut left_out: Vec<bool> = ids.map(is_left_out).collect();
        if !left_out.contains(&true) {
            left_out.clear();
        }
        let (style, config) = (self.style(), self.counters.data.context_config());
        Profile { left_out, ..self }.with_data(style, config)
    }

    /// The same profile that also counts the frames that tail calls give up, for the sources of
    /// their functions, in a unit of its own.
    pub fn with_elided(self) -> Profile {
        let elided = ProfileData::new(self.counters.data.nodes().len());
        let counters = Counters {
            elided: Some(Arc::new(elided)),
            ..self.counters
        };
        Profile { counters, ..self }
    }

    fn with_data(self, style: Style, config: ContextConfig) -> Profile {
        let has_contexts = style == Style::Stack || !self.left_out.is_empty();
        let n_sources = self.counters.data.nodes().len();
        let data = ProfileData::with_contexts(n_sources, style, config, has_contexts);
        let counters = Counters {
            data: Arc::new(data),
            ..self.counters
        };
        Profile { counters, ..self }
    }

    /// The style of the unit in use: for whom it counts.
    pub fn style(&self) -> Style {
        self.counters.data.style()
    }

    /// Whom code of `source` is charged to: `source` itself, or [`SourceId::CALLER`] if it is left
    /// out.
    pub fn charged(&self, source: SourceId) -> SourceId {
        match self.left_out.get(source.index()) {
            Some(true) => SourceId::CALLER,
            _ => source,
        }
    }

    /// The kinds that are kept.
    pub fn kinds(&self) -> KindSet {
        self.kinds
    }

    /// The tick rate that is asked for, per second of CPU time. The measured one is
    /// [`Ticker::rate`](crate::Ticker::rate).
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Where ticks and CPU time come from.
    pub fn tick_source(&self) -> &TickSource {
        &self.tick_source
    }

    /// The unit of profile data in use.
    pub fn data(&self) -> &ProfileData {
        &self.counters.data
    }

    /// The frames that tail calls gave up, as counts of calls; `None` if they are not counted. It
    /// is the same whichever unit is in use.
    pub fn elided(&self) -> Option<&ProfileData> {
        self.counters.elided.as_deref()
    }

    /// The node of `source` in the unit in use (see [`ProfileData::node`]).
    #[inline]
    pub fn node(&self, source: SourceId) -> &Node {
        self.counters.data.node(source)
    }

    /// The node of `<gc>` in the unit in use. In stack style this is only for collections outside
    /// of the program; others are charged to `<gc>` entered from the context that is current.
    #[inline]
    pub fn gc_node(&self) -> &Node {
        self.counters.data.node(SourceId::GC)
    }

    /// Writes one kind of the [total](Profile::total) to an `mlmon.out` at `path`, which is
    /// replaced as a whole or not at all
    /// (see [`Mlmon::write_file`](crate::mlmon::Mlmon::write_file)).
    ///
    /// # Errors
    /// Those of the file system, and `InvalidInput` if the profile does not keep `kind` or was
    /// made for another number of sources than `map` has.
    pub fn write(&self, kind: Kind, map: &SourceMap, path: &Path) -> io::Result<()> {
        if !self.kinds.contains(kind) {
            let text = format!("the run does not profile {kind}: use --profile {kind}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.total().write(kind, map, path)
    }
}

/// A profile that nobody else may count in as long as this lives.
#[derive(Debug)]
pub struct ProfileClaim(Arc<Profile>);

impl Deref for ProfileClaim {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        &self.0
    }
}

impl Drop for ProfileClaim {
    fn drop(&mut self) {
        self.0.is_claimed.store(false, Release);
    }
}

/// A profile was claimed while another VM counts in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileInUse;

impl fmt::Display for ProfileInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "another machine counts in this profile: let this one join it with `Profile::join`",
        )
    }
}

impl std::error::Error for ProfileInUse {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlmon::{CountRow, Mlmon};

    #[test]
    fn a_profile_writes_what_was_charged() {
        let profile = Profile::new(Kind::Alloc.into(), 3);
        profile.node(SourceId::MAIN).charge_bytes(24);
        profile.gc_node().charge_bytes(8);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlmon.out");
        profile
            .write(Kind::Alloc, &SourceMap::new(), &path)
            .unwrap();
        let mlmon = Mlmon::read_file(&path).unwrap();
        assert_eq!((mlmon.totals.total, mlmon.totals.total_gc), (24, 8));
        assert_eq!(mlmon.sources[2].current, 24);
    }

    #[test]
    fn a_kind_that_is_not_kept_is_refused() {
        let profile = Profile::new(Kind::Alloc.into(), 3);
        let path = Path::new("never-written.out");
        let error = profile
            .write(Kind::Time, &SourceMap::new(), path)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the run does not profile time: use --profile time"
        );
        assert!(!path.exists());
    }

    #[test]
    fn a_profile_has_one_claim_at_a_time() {
        let profile = Arc::new(Profile::new(Kind::Count.into(), 3));
        let claim = profile.claim().expect("nobody counts in it");
        claim.node(SourceId::MAIN).count_call();
        assert_eq!(profile.claim().err(), Some(ProfileInUse));
        drop(claim);
        let next = profile.claim().expect("the first claim is gone");
        assert_eq!(next.data().counts(Kind::Count).totals.total, 1);
    }

    #[test]
    fn members_count_by_themselves_and_are_in_the_total_once() {
        for style in [Style::Current, Style::Stack] {
            let profile = Profile::new(Kind::Count.into(), 4).with_style(style);
            let profile = Arc::new(profile.with_elided());
            let total = || profile.total().counts(Kind::Count).totals.total;
            let count = |profile: &Profile| profile.node(SourceId(3)).count_call();
            count(&profile);
            let first = profile.join();
            let second = first.join();
            let claims = [&profile, &first, &second].map(|one| one.claim().expect("its own"));
            count(&first);
            count(&second);
            assert_eq!(total(), 3);
            assert_eq!(first.data().counts(Kind::Count).totals.total, 1);
            drop((claims, first));
            assert_eq!(total(), 3, "whoever leaves stays in the sum");
            count(&second);
            let elided = second.elided().expect("frames are counted");
            elided.node(SourceId(3)).count_call();
            let elided = || profile.total_elided().expect("frames are counted");
            assert_eq!(elided().counts(Kind::Count).totals.total, 1);
            drop(second);
            assert_eq!(elided().counts(Kind::Count).totals.total, 1);
            assert_eq!((total(), total()), (4, 4), "to look changes nothing");
        }
    }

    #[test]
    fn a_profile_in_stack_style_writes_three_columns() {
        let profile = Profile::new(Kind::Alloc.into(), 3).with_style(Style::Stack);
        let data = profile.data();
        let inner = data.enter(data.root(), SourceId::UNKNOWN);
        inner.charge_bytes(24);
        data.enter(inner, SourceId::GC).charge_bytes(8);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlmon.out");
        profile
            .write(Kind::Alloc, &SourceMap::new(), &path)
            .unwrap();
        let mlmon = Mlmon::read_file(&path).unwrap();
        let row = |row: &CountRow| (row.current, row.stack, row.stack_gc);
        let rows: Vec<_> = mlmon.names.iter().map(row).collect();
        assert_eq!(mlmon.style, Style::Stack);
        assert_eq!(rows, [(24, 24, 8), (8, 0, 8), (0, 24, 8)]);
    }

    #[test]
    fn the_order_of_the_settings_does_not_matter() {
        let profile = || Profile::new(Kind::Time.into(), 9).with_hz(50);
        let settings = |profile: &Profile| {
            let config = profile.data().context_config();
            (profile.style(), config, profile.hz(), profile.kinds())
        };
        let one = profile()
            .with_node_limit(7)
            .with_fold_recursion(true)
            .with_style(Style::Stack);
        let other = profile()
            .with_style(Style::Stack)
            .with_fold_recursion(true)
            .with_node_limit(7);
        assert_eq!(settings(&one), settings(&other));
        assert_eq!((one.style(), one.data().nodes().len()), (Style::Stack, 9));
        assert_eq!(profile().style(), Style::Current);
    }
}
