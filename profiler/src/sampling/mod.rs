//! Statistical memory profiling, as OCaml's `Gc.Memprof` does it, for any heap that counts words.
//!
//! Every allocated word, the header of a block included, is sampled with probability `rate`,
//! independently of all others. A block is *seen* if one of its words is sampled.
//!
//! - [`WordSampler`] says which words are sampled. They are absolute indices of a *word clock*, the
//!   number of words allocated so far, and follow from the seed and the rate alone: the same
//!   program has the same sampled blocks at any nursery size.
//! - [`CallTree`] names call stacks: a [`CallId`] stands for a stack of any depth.
//! - [`Estimate`] turns what was seen into what there is, with an interval.
//!
//! ```
//! use profiler::sampling::{Estimate, WordSampler};
//!
//! let rate = 0.01;
//! let mut sampler = WordSampler::new(rate, 42, 0).unwrap();
//! let mut estimate = Estimate::default();
//! for block in 0..100_000 {
//!     // A heap compares its bump pointer with `next`; most blocks cost nothing more.
//!     let start = block * 3;
//!     if sampler.next() < start + 3 {
//!         let n_samples = sampler.take(start, start + 3);
//!         estimate.add(3, n_samples, rate);
//!     }
//! }
//! let (low, high) = estimate.bytes_interval95();
//! assert!(low < 2_400_000.0 && 2_400_000.0 < high);
//! ```

mod call_tree;
mod estimate;
mod gamma;
mod ln;
mod rng;
mod word_sampler;

pub use call_tree::{CallId, CallTree, DEFAULT_NODE_LIMIT, Lookup, MAX_NODES, StackHash};
pub use estimate::{BYTES_PER_WORD, Estimate, MIN_SAMPLES, RareSums, unseen95_bytes};
pub use rng::{SplitMix64, Xoshiro256};
pub use word_sampler::{InvalidRate, WordSampler};
