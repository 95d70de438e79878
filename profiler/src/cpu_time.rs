//! Time profiles in seconds: the whole from the CPU clock, the shares from ticks.
//!
//! An `mlmon.out` counts time in hundredths of a second. Ticks come at whatever rate the system
//! gives, and some are lost, so they tell where time has gone, but not how much of it. What is
//! written is therefore the measured time, dealt out to the sources by their ticks.

use std::cmp::Reverse;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::mlmon::{CountRow, Mlmon, Totals};
use crate::{SourceId, SourceMap, Style};

/// The nanoseconds that a count in a time profile stands for.
const HUNDREDTH_NS: u64 = 10_000_000;

/// The CPU time in which a unit of profile data was charged.
#[derive(Debug, Default)]
pub(crate) struct CpuTime(AtomicU64);

impl CpuTime {
    pub(crate) fn add_ns(&self, ns: u64) {
        self.0.fetch_add(ns, Relaxed);
    }

    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Turns the ticks of a time profile into hundredths of a second, which add up to `cpu_ns`. With
/// no CPU time measured, ticks are left as they are.
///
/// In the current column each source is less than a hundredth off its exact share, and the sum is
/// kept. A stack column is rounded, but never below what the source counts by itself.
pub(crate) fn to_hundredths(file: &mut Mlmon, map: &SourceMap, cpu_ns: u64) {
    let all = |totals: Totals| u128::from(totals.total) + u128::from(totals.total_gc);
    let n_ticks = all(file.totals);
    if cpu_ns == 0 || n_ticks == 0 {
        return;
    }
    // Less than a hundredth is not nothing: there was a tick.
    let n_hundredths = (cpu_ns + HUNDREDTH_NS / 2).max(HUNDREDTH_NS) / HUNDREDTH_NS;
    let ticks = file.totals;
    let current = deal(n_hundredths, &file.sources);
    let gc = current.get(SourceId::GC.index()).copied().unwrap_or(0);
    file.totals = Totals {
        total: n_hundredths - gc,
        total_gc: gc,
    };
    let columns = Columns {
        style: file.style,
        ticks,
        hundredths: file.totals,
    };
    let mut by_name = vec![0; file.names.len()];
    for (source, &current) in map.sources.iter().zip(&current) {
        by_name[source.name.index()] += current;
    }
    let gc_name = map.sources[SourceId::GC.index()].name.index();
    columns.convert(&mut file.sources, &current, SourceId::GC.index());
    columns.convert(&mut file.names, &by_name, gc_name);
}

/// Deals out `n` to the rows by their current counts, so that the parts are whole numbers and add
/// up to `n`: those with the largest remainders are rounded up.
fn deal(n: u64, rows: &[CountRow]) -> Vec<u64> {
    let all: u128 = rows.iter().map(|row| u128::from(row.current)).sum();
    let exact = |row: &CountRow| u128::from(n) * u128::from(row.current);
    let mut parts: Vec<u64> = rows.iter().map(|row| (exact(row) / all) as u64).collect();
    let missing = n - parts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| Reverse(exact(&rows[row]) % all));
    for row in order.into_iter().take(missing as usize) {
        parts[row] += 1;
    }
    parts
}

/// How the columns of one profile are converted.
struct Columns {
    style: Style,
    ticks: Totals,
    hundredths: Totals,
}

impl Columns {
    /// Sets the current column and scales the others. The collector's row counts for itself in its
    /// last column only.
    fn convert(&self, rows: &mut [CountRow], current: &[u64], gc_row: usize) {
        for (index, (row, &current)) in rows.iter_mut().zip(current).enumerate() {
            row.current = current;
            if self.style == Style::Stack {
                let own = if index == gc_row { 0 } else { current };
                let stack = scale(row.stack, self.ticks.total, self.hundredths.total);
                row.stack = stack.max(own);
                row.stack_gc = scale(row.stack_gc, self.ticks.total_gc, self.hundredths.total_gc);
            }
        }
    }
}

/// `count` of `from` as a part of `to`, rounded.
fn scale(count: u64, from: u64, to: u64) -> u64 {
    match u128::from(from) {
        0 => 0,
        from => ((u128::from(count) * u128::from(to) + from / 2) / from) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, ProfileData, SourceMapBuilder, SourceSeqId};

    /// Two functions, the second with two copies.
    fn map() -> SourceMap {
        let mut builder = SourceMapBuilder::new();
        let [f, g] = ["f\tf.sml: 1", "g\tf.sml: 2"].map(|name| builder.add_name(name));
        for name in [f, g, g] {
            builder.add_source(name, SourceSeqId::EMPTY);
        }
        builder.finish(1).unwrap()
    }

    const F: SourceId = SourceId(3);

    fn current(rows: &[CountRow]) -> Vec<u64> {
        rows.iter().map(|row| row.current).collect()
    }

    /// The profile of a unit in which each source has so many ticks, in so much CPU time.
    fn file(ticks: [u64; 6], cpu_ms: u64) -> Mlmon {
        let data = ProfileData::new(6);
        for (node, ticks) in data.nodes().iter().zip(ticks) {
            node.ticks.store(ticks, Relaxed);
        }
        data.add_cpu_ns(cpu_ms * 1_000_000);
        data.mlmon(Kind::Time, &map()).unwrap()
    }

    #[test]
    fn at_a_hundred_ticks_a_second_a_tick_is_a_hundredth() {
        let file = file([0, 3, 10, 40, 30, 20], 1_030);
        assert_eq!(current(&file.sources), [0, 3, 10, 40, 30, 20]);
        assert_eq!((file.totals.total, file.totals.total_gc), (100, 3));
    }

    #[test]
    fn the_clock_gives_the_seconds_and_ticks_the_shares() {
        // ticks, milliseconds, hundredths of a second
        let cases = [
            ([0, 0, 0, 250, 0, 0], 1_000, [0, 0, 0, 100, 0, 0]),
            ([0, 0, 0, 10, 0, 0], 1_000, [0, 0, 0, 100, 0, 0]),
            ([0, 25, 50, 100, 50, 25], 1_000, [0, 10, 20, 40, 20, 10]),
            // Thirds: the sum is kept, and the first of equals are rounded up.
            ([1, 1, 1, 0, 0, 0], 1_000, [34, 33, 33, 0, 0, 0]),
            ([0, 0, 0, 1, 1, 1], 20, [0, 0, 0, 1, 1, 0]),
            // Next to no time, but a tick.
            ([0, 0, 0, 1, 0, 0], 3, [0, 0, 0, 1, 0, 0]),
            // No tick leaves nothing to share out.
            ([0; 6], 500, [0; 6]),
            // No clock: a tick is taken for a hundredth.
            ([0, 0, 0, 250, 0, 0], 0, [0, 0, 0, 250, 0, 0]),
        ];
        for (ticks, cpu_ms, expected) in cases {
            let file = file(ticks, cpu_ms);
            assert_eq!(current(&file.sources), expected, "{ticks:?} in {cpu_ms} ms");
            let [_, gc, _, f, g, copy] = expected;
            assert_eq!(current(&file.names)[1..], [gc, expected[2], f, g + copy]);
            let sum: u64 = expected.iter().sum();
            assert_eq!((file.totals.total, file.totals.total_gc), (sum - gc, gc));
        }
    }

    #[test]
    fn large_counts_do_not_overflow() {
        let file = file([0, 0, u64::MAX / 4, u64::MAX / 4, 0, 0], 10_000_000);
        assert_eq!(current(&file.sources), [0, 0, 500_000, 500_000, 0, 0]);
    }

    #[test]
    fn stack_columns_have_the_whole_in_main_and_no_less_than_the_current_column() {
        let data = ProfileData::in_style(6, Style::Stack, Default::default());
        let in_f = data.enter(data.root(), F);
        let in_g = data.enter(in_f, SourceId(4));
        let charges = [
            (data.root(), 3),
            (in_f, 1),
            (in_g, 1),
            (data.enter(in_g, SourceId(5)), 1),
            (data.enter(in_g, SourceId::GC), 2),
        ];
        for (node, ticks) in charges {
            node.ticks.store(ticks, Relaxed);
        }
        data.add_cpu_ns(50_000_000);
        let file = data.mlmon(Kind::Time, &map()).unwrap();
        let main = file.sources[SourceId::MAIN.index()];
        assert_eq!(main.stack, file.totals.total);
        assert_eq!(main.stack_gc, file.totals.total_gc);
        assert_eq!(file.totals.total + file.totals.total_gc, 5);
        let gc = file.sources[SourceId::GC.index()];
        assert_eq!((gc.current, gc.stack), (file.totals.total_gc, 0));
        for (index, row) in file.sources.iter().enumerate() {
            let own = if index == SourceId::GC.index() {
                0
            } else {
                row.current
            };
            assert!(
                own <= row.stack && row.stack <= file.totals.total,
                "{row:?}"
            );
        }
    }

    #[test]
    fn units_that_are_added_up_keep_their_seconds() {
        let sum = ProfileData::new(6);
        // A second at 250 ticks, and two at 10.
        for (ticks, cpu_ns) in [(250, 1_000_000_000), (20, 2_000_000_000)] {
            let unit = sum.new_like();
            unit.node(F).ticks.store(ticks, Relaxed);
            unit.add_cpu_ns(cpu_ns);
            sum.absorb(&unit);
        }
        let file = sum.mlmon(Kind::Time, &map()).unwrap();
        assert_eq!(file.totals.total, 300);
    }
}
