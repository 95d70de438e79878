//! Ways to run a program: what is measured meanwhile, and how the machine is made.

use std::sync::Arc;

use profiler::{Kind, KindSet, ManualTicks, Profile, SourceFilter, SourceMap, Style, TickSource};
use vm::memprof::MemprofConfig;
use vm::{GcStress, HeapConfig, VmConfig};

use super::input::Input;

/// Ops that a run may do. Long enough for loops and collections, and short enough for a collection
/// at every allocation.
const FUEL: u64 = 2_000;
/// Bytes of registers: recursion meets their end before that of the fuel.
const STACK_BYTES: usize = 64 << 10;
/// Bytes of the heap, and under GC stress, where all that is alive is copied again and again.
const MAX_BYTES: [usize; 2] = [4 << 20, 512 << 10];

/// A way to run a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    fuses: bool,
    is_stressed: bool,
    nursery_bytes: usize,
    kinds: KindSet,
    style: Style,
    folds_recursion: bool,
    is_filtered: bool,
    has_elided: bool,
    node_limit: usize,
    has_census: bool,
    /// How the machine itself samples for its memory profile, if it does.
    pub sampling: Option<MemprofConfig>,
    /// At which rate a tracker listens that may make trouble, if one does.
    pub tracker: Option<MemprofConfig>,
    /// What the trouble is.
    pub trouble: [u8; 2],
}

/// How many bytes choose a way.
pub const WAY_BYTES: usize = 8;

impl Way {
    /// The way that other ways are compared with: op by op, and nothing is measured.
    pub const PLAIN: Self = Self {
        fuses: false,
        is_stressed: false,
        nursery_bytes: 16 << 10,
        kinds: KindSet::EMPTY,
        style: Style::Current,
        folds_recursion: false,
        is_filtered: false,
        has_elided: false,
        node_limit: 1 << 16,
        has_census: false,
        sampling: None,
        tracker: None,
        trouble: [0; 2],
    };

    /// A way that the input chooses.
    pub fn new(input: &mut Input) -> Self {
        let [machine, kinds, profile, sampling, tracker, seed] = [(); 6].map(|()| input.byte());
        let bit = |byte: u8, bit: u32| byte >> bit & 1 != 0;
        let mut set = KindSet::EMPTY;
        let chosen = Kind::ALL.into_iter().zip(0..);
        chosen
            .filter(|&(_, place)| bit(kinds, place))
            .for_each(|(kind, _)| set.insert(kind));
        let has_census = bit(kinds, 3) && (set.is_empty() || set.contains(Kind::Alloc));
        let memory = |byte: u8| {
            let rate = [0.0, 0.01, 0.2, 1.0][usize::from(byte & 3)];
            let config = MemprofConfig {
                rate,
                callstack_size: bit(byte, 2).then_some(u32::from(byte >> 5)),
                call_lines: bit(byte, 3),
                seed: u64::from(seed),
                exclusive: false,
            };
            bit(byte, 4).then_some(config)
        };
        Self {
            fuses: !bit(machine, 0),
            is_stressed: bit(machine, 1),
            nursery_bytes: if bit(machine, 2) { 64 << 10 } else { 16 << 10 },
            kinds: set,
            style: if bit(profile, 0) {
                Style::Stack
            } else {
                Style::Current
            },
            folds_recursion: bit(profile, 1),
            is_filtered: bit(profile, 2),
            has_elided: bit(profile, 3),
            node_limit: if bit(profile, 4) { 8 } else { 1 << 16 },
            has_census,
            sampling: memory(sampling),
            tracker: memory(tracker),
            trouble: [input.byte(), input.byte()],
        }
    }

    /// Whether programs are told that a profile is taken.
    pub fn is_profiled(&self) -> bool {
        !self.kinds.is_empty() || self.has_census
    }

    /// Whether collections happen when they do in the other way.
    pub fn collects_like(&self, other: &Self) -> bool {
        (self.is_stressed, self.nursery_bytes, self.has_census)
            == (other.is_stressed, other.nursery_bytes, other.has_census)
    }

    /// How the machine is made, and the profile that it takes.
    pub fn config(&self, map: &SourceMap) -> (VmConfig, Option<Arc<Profile>>) {
        let profile = (!self.kinds.is_empty()).then(|| Arc::new(self.profile(map)));
        let heap = HeapConfig {
            nursery_bytes: self.nursery_bytes,
            max_bytes: MAX_BYTES[usize::from(self.is_stressed)],
            stress: if self.is_stressed {
                GcStress::On
            } else {
                GcStress::Off
            },
            ..HeapConfig::default()
        };
        let config = VmConfig {
            heap,
            stack_bytes: STACK_BYTES,
            fuel: Some(FUEL),
            profile: profile.clone(),
            fuses: self.fuses,
            census: self.has_census,
            sampling: self.sampling,
            memory_team: None,
        };
        (config, profile)
    }

    fn profile(&self, map: &SourceMap) -> Profile {
        let profile = Profile::new(self.kinds, map.sources.len())
            .with_tick_source(no_ticks())
            .with_style(self.style)
            .with_fold_recursion(self.folds_recursion)
            .with_node_limit(self.node_limit);
        let profile = match self.is_filtered {
            true => {
                let filter = SourceFilter::parse(&[], &["a", "e", "1"]).expect("expressions");
                profile.with_filter(&filter, map)
            }
            false => profile,
        };
        match self.has_elided {
            true => profile.with_elided(),
            false => profile,
        }
    }
}

/// No timer: its signals would come at another moment in each run.
pub fn no_ticks() -> TickSource {
    TickSource::Manual(ManualTicks::default())
}

/// Sampling at this rate.
pub fn sampling(rate: f64) -> MemprofConfig {
    MemprofConfig {
        rate,
        ..MemprofConfig::default()
    }
}
