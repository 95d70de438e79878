//! What a sampling memory profile collects while the program runs.

use std::fmt;
use std::str::FromStr;

use crate::UnknownWord;
use crate::sampling::{CallId, Estimate};

/// By how much the live bytes must exceed the last peak to be the next one. Without it, a heap that
/// grows steadily would be copied at every collection.
const PEAK_GROWTH: f64 = 1.01;

/// Blocks of up to this many words have their weights computed once.
const N_SMALL: usize = 64;

/// A sampling memory profile: estimates for each call stack that allocated.
///
/// It is told of each block that was seen, that is, of which a word was sampled, with its size in
/// words, header included. A block is allocated once, then promoted or dies young, then dies old.
/// One that is born outside the nursery is never promoted and dies old.
///
/// ```
/// use profiler::memory::{Measure, MemoryProfile};
/// use profiler::sampling::CallId;
///
/// let mut profile = MemoryProfile::new(1.0, 0);
/// let call = CallId(1);
/// profile.allocated(call, 3, 3);
/// profile.allocated(call, 5, 5);
/// profile.died_young(call, 3, 3);
/// profile.promoted(call, 5, 5);
/// profile.collected();
/// let (_, figures) = profile.rows().next().unwrap();
/// let bytes = Measure::ALL.map(|measure| figures.get(measure).bytes);
/// // Live, allocated, live at the peak, promoted, short-lived.
/// assert_eq!(bytes, [40.0, 64.0, 40.0, 40.0, 24.0]);
/// ```
#[derive(Clone, Debug)]
pub struct MemoryProfile {
    rate: f64,
    seed: u64,
    /// By the index of a call: its place in `figures` and 1, or 0 if it has none.
    places: Vec<u32>,
    /// The figures of the calls that have any.
    figures: Vec<CallFigures>,
    /// What a block of so many words stands for if it is seen.
    small: Vec<Estimate>,
    /// The live bytes of all calls, but for errors of rounding.
    about_live_bytes: f64,
    peak_bytes: f64,
    n_collections: u64,
}

impl MemoryProfile {
    /// An empty profile. The rate is that of the sampler and decides the weights; the seed is kept
    /// for the file.
    pub fn new(rate: f64, seed: u64) -> MemoryProfile {
        let block = |words| Estimate::of_block(words, 1, rate).unwrap_or_default();
        MemoryProfile {
            rate,
            seed,
            places: Vec::new(),
            figures: Vec::new(),
            small: (0..N_SMALL as u64).map(block).collect(),
            about_live_bytes: 0.0,
            peak_bytes: 0.0,
            n_collections: 0,
        }
    }

    /// The sampling rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The seed of the sampler.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many collections [`MemoryProfile::collected`] was told of.
    pub fn n_collections(&self) -> u64 {
        self.n_collections
    }

    /// A block was allocated.
    pub fn allocated(&mut self, call: CallId, words: u64, n_samples: u64) {
        let block = self.block(words, n_samples);
        self.about_live_bytes += block.bytes;
        let figures = self.figures_of(call);
        figures.allocated.add_all(&block);
        figures.live.add_all(&block);
    }

    /// A block survived the nursery.
    pub fn promoted(&mut self, call: CallId, words: u64, n_samples: u64) {
        let block = self.block(words, n_samples);
        self.figures_of(call).promoted.add_all(&block);
    }

    /// A block died in the nursery.
    pub fn died_young(&mut self, call: CallId, words: u64, n_samples: u64) {
        let block = self.block(words, n_samples);
        self.about_live_bytes -= block.bytes;
        let figures = self.figures_of(call);
        figures.live.remove_all(&block);
        figures.short_lived.add_all(&block);
    }

    /// A block died outside the nursery.
    pub fn died_old(&mut self, call: CallId, words: u64, n_samples: u64) {
        let block = self.block(words, n_samples);
        self.about_live_bytes -= block.bytes;
        self.figures_of(call).live.remove_all(&block);
    }

    /// A collection has ended, and the blocks that died in it are known. If the live bytes exceed
    /// the last peak by 1 %, the live figures of all calls are kept as those of the peak; otherwise
    /// this takes constant time.
    pub fn collected(&mut self) {
        self.n_collections += 1;
        if self.about_live_bytes > self.peak_bytes * PEAK_GROWTH {
            self.about_live_bytes = self.live_bytes();
            self.peak_bytes = self.about_live_bytes;
            for figures in &mut self.figures {
                figures.peak = figures.live;
            }
        }
    }

    /// The estimated bytes of the blocks that are alive as far as is known.
    pub fn live_bytes(&self) -> f64 {
        self.figures.iter().map(|figures| figures.live.bytes).sum()
    }

    /// The figures of all calls that have any, by id. Liveness is known at collections only; now
    /// counts as one more moment, so the peak is never below what is alive.
    pub fn rows(&self) -> impl Iterator<Item = (CallId, CallFigures)> {
        let is_peak = self.live_bytes() > self.peak_bytes;
        let calls = (0..).zip(&self.places);
        calls.filter_map(move |(id, &place)| {
            let mut figures = *self.figures.get((place as usize).checked_sub(1)?)?;
            if is_peak {
                figures.peak = figures.live;
            }
            Some((CallId(id), figures))
        })
    }

    /// How much memory the profile takes, in bytes, room for growth included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<u32>() * self.places.capacity()
            + size_of::<CallFigures>() * self.figures.capacity()
            + size_of::<Estimate>() * self.small.capacity()
    }

    fn block(&self, words: u64, n_samples: u64) -> Estimate {
        match self.small.get(words as usize) {
            Some(block) if n_samples > 0 && block.n_blocks > 0 => Estimate {
                n_samples,
                ..*block
            },
            _ => Estimate::of_block(words, n_samples, self.rate).unwrap_or_default(),
        }
    }

    fn figures_of(&mut self, call: CallId) -> &mut CallFigures {
        let index = call.index();
        if index >= self.places.len() {
            self.places.resize(index + 1, 0);
        }
        if self.places[index] == 0 {
            self.figures.push(CallFigures::default());
            // There are no more figures than ids, which have 32 bits.
            self.places[index] = self.figures.len() as u32;
        }
        &mut self.figures[self.places[index] as usize - 1]
    }
}

/// The estimates of one call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallFigures {
    /// All that was allocated.
    pub allocated: Estimate,
    /// What is alive at the end.
    pub live: Estimate,
    /// What was alive at the collection where most was.
    pub peak: Estimate,
    /// What survived the nursery.
    pub promoted: Estimate,
    /// What died in the nursery.
    pub short_lived: Estimate,
}

impl CallFigures {
    /// The estimate of one measure.
    pub fn get(&self, measure: Measure) -> &Estimate {
        match measure {
            Measure::Live => &self.live,
            Measure::Allocated => &self.allocated,
            Measure::Peak => &self.peak,
            Measure::Promoted => &self.promoted,
            Measure::ShortLived => &self.short_lived,
        }
    }

    /// The estimate of one measure, to change it.
    pub fn get_mut(&mut self, measure: Measure) -> &mut Estimate {
        match measure {
            Measure::Live => &mut self.live,
            Measure::Allocated => &mut self.allocated,
            Measure::Peak => &mut self.peak,
            Measure::Promoted => &mut self.promoted,
            Measure::ShortLived => &mut self.short_lived,
        }
    }

    /// Counts all that another call's figures have counted.
    pub fn add_all(&mut self, other: &CallFigures) {
        for measure in Measure::ALL {
            self.get_mut(measure).add_all(other.get(measure));
        }
    }
}

/// What is measured of each call stack and source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Measure {
    /// What is alive at the end.
    #[default]
    Live,
    /// All that was allocated.
    Allocated,
    /// What was alive at the collection where most was.
    Peak,
    /// What survived the nursery.
    Promoted,
    /// What died in the nursery.
    ShortLived,
}

impl Measure {
    /// All measures, in the order of a report's columns.
    pub const ALL: [Measure; 5] = [
        Measure::Live,
        Measure::Allocated,
        Measure::Peak,
        Measure::Promoted,
        Measure::ShortLived,
    ];

    /// The word that stands for the measure on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Measure::Live => "live",
            Measure::Allocated => "allocated",
            Measure::Peak => "peak",
            Measure::Promoted => "promoted",
            Measure::ShortLived => "short-lived",
        }
    }
}

impl FromStr for Measure {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Measure, UnknownWord> {
        let found = Measure::ALL
            .into_iter()
            .find(|measure| measure.as_str() == word);
        let choices = "live, allocated, peak, promoted, short-lived";
        found.ok_or_else(|| UnknownWord::new("measure of memory", word, choices))
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CallId = CallId(2);
    const B: CallId = CallId(7);

    fn bytes(profile: &MemoryProfile, call: CallId, measure: Measure) -> f64 {
        let found = profile.rows().find(|&(id, _)| id == call);
        found.map_or(-1.0, |(_, figures)| figures.get(measure).bytes)
    }

    #[test]
    fn the_peak_is_what_was_alive_then() {
        let mut profile = MemoryProfile::new(1.0, 3);
        profile.allocated(A, 100, 100);
        profile.collected();
        profile.died_old(A, 100, 100);
        profile.allocated(B, 60, 60);
        profile.collected();
        assert_eq!(bytes(&profile, A, Measure::Peak), 800.0);
        assert_eq!(bytes(&profile, B, Measure::Peak), 0.0);
        profile.allocated(B, 41, 41);
        // One in a hundred more is a new peak only if it is more than that.
        profile.collected();
        assert_eq!(bytes(&profile, A, Measure::Peak), 0.0);
        assert_eq!(bytes(&profile, B, Measure::Peak), 808.0);
        assert_eq!(profile.live_bytes(), 808.0);
        assert_eq!(
            (profile.n_collections(), profile.rate(), profile.seed()),
            (3, 1.0, 3)
        );
    }

    #[test]
    fn slow_growth_is_no_new_peak_until_the_end() {
        let mut profile = MemoryProfile::new(1.0, 0);
        profile.allocated(A, 100, 100);
        profile.collected();
        profile.allocated(B, 1, 1);
        profile.collected();
        assert_eq!(profile.peak_bytes, 800.0);
        // The end counts as one more moment, so the peak is not below what is alive.
        assert_eq!(bytes(&profile, B, Measure::Peak), 8.0);
        profile.died_old(A, 100, 100);
        assert_eq!(bytes(&profile, A, Measure::Peak), 800.0);
        assert_eq!(bytes(&profile, B, Measure::Peak), 0.0);
    }

    #[test]
    fn only_calls_with_figures_have_rows() {
        let mut profile = MemoryProfile::new(0.5, 0);
        assert_eq!(profile.rows().count(), 0);
        profile.allocated(B, 4, 1);
        profile.allocated(CallId(0), 4, 1);
        let calls: Vec<CallId> = profile.rows().map(|(call, _)| call).collect();
        assert_eq!(calls, [CallId(0), B]);
        assert_eq!(bytes(&profile, A, Measure::Live), -1.0);
    }

    #[test]
    fn weights_of_small_blocks_are_those_of_the_estimator() {
        for rate in [1.0, 0.3, 1e-5, 0.0] {
            for words in [0, 1, 2, 63, 64, 1000] {
                for n_samples in [0, 1, 3] {
                    let mut profile = MemoryProfile::new(rate, 0);
                    profile.allocated(A, words, n_samples);
                    let mut expected = Estimate::default();
                    expected.add(words, n_samples, rate);
                    let (_, figures) = profile.rows().next().unwrap();
                    assert_eq!(figures.allocated, expected);
                    assert_eq!(figures.live, expected);
                }
            }
        }
    }

    #[test]
    fn what_dies_is_not_alive() {
        let mut profile = MemoryProfile::new(0.1, 0);
        for words in 2..50 {
            profile.allocated(A, words, 1);
        }
        for words in 2..50 {
            if words % 2 == 0 {
                profile.died_young(A, words, 1);
            } else {
                profile.promoted(A, words, 1);
                profile.died_old(A, words, 1);
            }
        }
        let (_, figures) = profile.rows().next().unwrap();
        assert_eq!(figures.live, Estimate::default());
        assert_eq!(
            (figures.short_lived.n_blocks, figures.promoted.n_blocks),
            (24, 24)
        );
        let both = figures.short_lived.bytes + figures.promoted.bytes;
        assert!((both / figures.allocated.bytes - 1.0).abs() < 1e-12);
    }

    #[test]
    fn every_word_for_a_measure_reads_back() {
        for measure in Measure::ALL {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        let error = "dead".parse::<Measure>().unwrap_err().to_string();
        assert!(error.contains("choose from live, allocated,"), "{error}");
    }
}
