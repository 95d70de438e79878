//! Two runs compared, function by function.

use std::collections::BTreeMap;

use profiler::Kind;

use super::{Run, unit};
use crate::render;

/// A function's counts in both runs.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    before: Option<u64>,
    after: Option<u64>,
}

/// The comparison of one kind.
#[derive(Debug)]
pub(crate) struct Diff {
    pub(crate) text: String,
    /// By which share of what it was before the total has grown; negative when it has shrunk.
    pub(crate) growth: f64,
}

/// Compares two runs. Functions are told apart by their names alone, so that one that was defined
/// again is compared with itself. Rows that changed by less than `thresh` percent of the larger
/// total are left out.
pub(crate) fn diff(before: &Run, after: &Run, kind: Kind, thresh: f64) -> Option<Diff> {
    let (first, second) = (before.of_kind(kind)?, after.of_kind(kind)?);
    let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
    for (run, mlmon, is_after) in [(before, first, false), (after, second, true)] {
        for (name, row) in run.sources.names.iter().zip(&mlmon.names) {
            if row.current == 0 {
                continue;
            }
            let label = name.split('\t').next().unwrap_or(name);
            let pair = pairs.entry(label.to_owned()).or_default();
            let count = if is_after {
                &mut pair.after
            } else {
                &mut pair.before
            };
            *count = Some(count.unwrap_or(0).saturating_add(row.current));
        }
    }
    let total =
        |mlmon: &profiler::mlmon::Mlmon| mlmon.totals.total.saturating_add(mlmon.totals.total_gc);
    let (total_before, total_after) = (total(first), total(second));
    let smallest = thresh / 100.0 * total_before.max(total_after) as f64;
    let mut rows: Vec<(String, Pair)> = pairs.into_iter().collect();
    let change = |pair: &Pair| pair.after.unwrap_or(0).abs_diff(pair.before.unwrap_or(0));
    rows.retain(|(_, pair)| change(pair) as f64 >= smallest);
    rows.sort_by_key(|(name, pair)| (std::cmp::Reverse(change(pair)), name.clone()));
    let head = ["function", "before", "after", "change", "ratio"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    if kind == Kind::Time {
        cells[0].push("noise".into());
    }
    let ticks = [(before, total_before), (after, total_after)].map(|(run, hundredths)| {
        // What a tick counted for, in hundredths of a second.
        (kind == Kind::Time).then(|| hundredths as f64 / run.n_ticks.max(1) as f64)
    });
    for (name, pair) in rows {
        cells.push(row(&name, pair, ticks));
    }
    let all = Pair {
        before: Some(total_before),
        after: Some(total_after),
    };
    cells.push(row("total", all, ticks));
    let growth = match total_before {
        0 if total_after == 0 => 0.0,
        0 => f64::INFINITY,
        before => total_after as f64 / before as f64 - 1.0,
    };
    let unit = match kind {
        Kind::Time => "hundredths of a second",
        Kind::Alloc | Kind::Count => unit(kind),
    };
    Some(Diff {
        text: format!("{kind}, in {unit}\n{}", render::columns(&cells)),
        growth,
    })
}

/// A row of the comparison; of time, with what a tick counts for in either run.
fn row(name: &str, pair: Pair, ticks: [Option<f64>; 2]) -> Vec<String> {
    let count = |count: Option<u64>| count.map_or("-".into(), render::count);
    let (before, after) = (pair.before.unwrap_or(0), pair.after.unwrap_or(0));
    let sign = match after.cmp(&before) {
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "+",
    };
    let change = format!("{sign}{}", render::count(after.abs_diff(before)));
    let ratio = match (pair.before, pair.after) {
        (None, _) => "new".into(),
        (_, None) => "gone".into(),
        _ if before == 0 => "-".into(),
        _ => format!("{:.3}", after as f64 / before as f64),
    };
    let mut cells = vec![
        name.to_owned(),
        count(pair.before),
        count(pair.after),
        change,
        ratio,
    ];
    if let [Some(tick_before), Some(tick_after)] = ticks {
        // Ticks are counts of independent events: the variance of each count is itself, and that
        // of a difference is the sum of both.
        let variance = tick_before * before as f64 + tick_after * after as f64;
        let noise = 1.96 * variance.sqrt();
        let is_within = (after.abs_diff(before) as f64) <= noise;
        let mark = if is_within { " (within)" } else { "" };
        cells.push(format!("±{noise:.0}{mark}"));
    }
    cells
}
