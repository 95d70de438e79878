//! What a heap has done, for `--gc-stats` and for tests.

use std::fmt;
use std::time::Duration;

/// How many powers of two of nanoseconds the pause histogram tells apart.
const BUCKETS: usize = 40;

/// Counters of a heap since it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapStats {
    /// Bytes that the program allocated, headers included.
    pub allocated_bytes: u64,
    /// Minor collections.
    pub minor_collections: u64,
    /// Major collections.
    pub major_collections: u64,
    /// Bytes that minor collections promoted.
    pub promoted_bytes: u64,
    /// Bytes that major collections copied.
    pub copied_bytes: u64,
    /// The most bytes that were live after a major collection.
    pub max_live_bytes: u64,
    /// The most bytes that were held after any collection: alive, or not yet found dead.
    pub max_held_bytes: u64,
    /// Pauses by duration: entry `k` counts those shorter than `2^k` ns that no lower one counts.
    pub pauses: [u64; BUCKETS],
    /// The sum of all pauses.
    pub pause_total: Duration,
    /// The longest pause.
    pub pause_max: Duration,
}

impl Default for HeapStats {
    fn default() -> Self {
        Self {
            allocated_bytes: 0,
            minor_collections: 0,
            major_collections: 0,
            promoted_bytes: 0,
            copied_bytes: 0,
            max_live_bytes: 0,
            max_held_bytes: 0,
            pauses: [0; BUCKETS],
            pause_total: Duration::ZERO,
            pause_max: Duration::ZERO,
        }
    }
}

impl HeapStats {
    pub(super) fn count_pause(&mut self, pause: Duration) {
        let nanoseconds = pause.as_nanos() as u64;
        let bucket = (u64::BITS - nanoseconds.leading_zeros()) as usize;
        self.pauses[bucket.min(BUCKETS - 1)] += 1;
        self.pause_total += pause;
        self.pause_max = self.pause_max.max(pause);
    }

    /// The upper bound of the shortest bucket that covers this share of the pauses.
    pub fn pause_quantile(&self, share: f64) -> Duration {
        let count: u64 = self.pauses.iter().sum();
        let wanted = (count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, pauses) in self.pauses.iter().enumerate() {
            seen += pauses;
            if seen >= wanted {
                return Duration::from_nanos(1 << bucket).min(self.pause_max);
            }
        }
        self.pause_max
    }
}

impl fmt::Display for HeapStats {
    /// One figure a line, as `--gc-stats` prints them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let collections = self.minor_collections + self.major_collections;
        writeln!(f, "allocated          {:>15} bytes", self.allocated_bytes)?;
        writeln!(f, "minor collections  {:>15}", self.minor_collections)?;
        writeln!(f, "major collections  {:>15}", self.major_collections)?;
        writeln!(f, "promoted           {:>15} bytes", self.promoted_bytes)?;
        writeln!(f, "copied             {:>15} bytes", self.copied_bytes)?;
        writeln!(f, "most live (majors) {:>15} bytes", self.max_live_bytes)?;
        writeln!(f, "most held          {:>15} bytes", self.max_held_bytes)?;
        let survival = match self.allocated_bytes {
            0 => 0.0,
            allocated => 100.0 * self.promoted_bytes as f64 / allocated as f64,
        };
        writeln!(f, "survival           {survival:>15.1} %")?;
        if collections > 0 {
            let micros = |duration: Duration| duration.as_nanos() as f64 / 1000.0;
            writeln!(
                f,
                "pause p50 below    {:>15.1} us",
                micros(self.pause_quantile(0.5))
            )?;
            writeln!(
                f,
                "pause p99 below    {:>15.1} us",
                micros(self.pause_quantile(0.99))
            )?;
            writeln!(f, "pause max          {:>15.1} us", micros(self.pause_max))?;
            writeln!(
                f,
                "pause total        {:>15.1} us",
                micros(self.pause_total)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_an_upper_bound() {
        let mut stats = HeapStats::default();
        for microseconds in [1, 2, 3, 1000] {
            stats.count_pause(Duration::from_micros(microseconds));
        }
        assert!(stats.pause_quantile(0.5) >= Duration::from_micros(2));
        assert!(stats.pause_quantile(0.5) < Duration::from_micros(10));
        assert_eq!(stats.pause_quantile(1.0), Duration::from_micros(1000));
    }
}
