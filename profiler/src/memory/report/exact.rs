//! The exact figures, and what they say about the sampled ones.

use std::io::{self, Write};

use super::sums::{Groups, Sums};
use super::{MemoryReportOptions, cells, interval, is_inside};
use crate::SourceId;
use crate::memory::{HeapProfile, HeapRow, MAX_SURVIVED, Measure, MemoryFile};
use crate::report::{with_commas, write_table};

/// The exact figures by function.
pub(super) struct Rows {
    rows: Vec<HeapRow>,
    total: HeapRow,
}

impl Rows {
    pub(super) fn new(heap: &HeapProfile, groups: &Groups) -> Rows {
        let mut rows = vec![HeapRow::default(); groups.len()];
        for (index, row) in (0..).zip(&heap.sources) {
            rows[groups.of_source(SourceId(index))].add(row);
        }
        Rows {
            rows,
            total: heap.totals(),
        }
    }

    /// The functions that have figures, those with most bytes of a measure first.
    fn order(&self, by: Measure, groups: &Groups) -> Vec<usize> {
        let key = |group: usize| {
            let row = &self.rows[group];
            let measure = match by {
                Measure::Live => row.live_bytes,
                Measure::Allocated => row.allocated_bytes,
                Measure::Peak => row.peak_bytes,
                Measure::Promoted => row.promoted_bytes,
                Measure::ShortLived => row.allocated_bytes.saturating_sub(row.promoted_bytes),
            };
            (
                std::cmp::Reverse((measure, row.allocated_bytes)),
                groups.label(group),
            )
        };
        let has_figures = |&group: &usize| self.rows[group] != HeapRow::default();
        let mut order: Vec<usize> = (0..self.rows.len()).filter(has_figures).collect();
        order.sort_by_cached_key(|&group| key(group));
        order
    }
}

/// Writes the tables of exact figures.
pub(super) fn write(
    heap: &HeapProfile,
    rows: &Rows,
    groups: &Groups,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let order = rows.order(options.by, groups);
    let work = heap.gc_work_bytes;
    let line = |label: String, row: &HeapRow| {
        let mut cells = vec![label];
        cells.extend(
            [
                row.live_bytes,
                row.live_objects,
                row.peak_bytes,
                row.allocated_bytes,
                row.promoted_bytes,
            ]
            .map(with_commas),
        );
        cells.extend([row.gc_trigger_bytes, row.gc_copy_bytes].map(|part| share(part, work)));
        cells
    };
    let heads = [
        "exact by function",
        "live",
        "objects",
        "peak",
        "allocated",
        "promoted",
        "gc-trigger",
        "gc-copy",
    ];
    writeln!(out)?;
    write_table(out, &heads, &table(rows, &order, groups, options, line))?;
    writeln!(
        out,
        "gc-trigger and gc-copy are shares of {} bytes of GC work: of the collections that began \
         in the function, and of what was spent on its objects",
        with_commas(work)
    )?;
    if !heap.is_balanced() {
        writeln!(
            out,
            "warning: the shares of GC work add up to {} and {} bytes",
            with_commas(rows.total.gc_trigger_bytes),
            with_commas(rows.total.gc_copy_bytes)
        )?;
    }
    if rows.total.survived.iter().any(|&bytes| bytes > 0) {
        write_survival(rows, &order, groups, options, out)?;
    }
    Ok(())
}

fn write_survival(
    rows: &Rows,
    order: &[usize],
    groups: &Groups,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = |label: String, row: &HeapRow| {
        let mut cells = vec![label];
        cells.extend(row.survived.map(|bytes| share(bytes, row.allocated_bytes)));
        cells
    };
    let mut heads = vec!["survived majors".to_owned()];
    heads.extend((0..=MAX_SURVIVED).map(|class| match class {
        MAX_SURVIVED => format!("{class}+"),
        _ => class.to_string(),
    }));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    writeln!(out)?;
    write_table(out, &heads, &table(rows, order, groups, options, line))?;
    writeln!(
        out,
        "shares of the allocated bytes by the number of major collections lived through"
    )
}

/// The rows of a table: the first functions, the sum of the others, and of all.
fn table(
    rows: &Rows,
    order: &[usize],
    groups: &Groups,
    options: &MemoryReportOptions,
    line: impl Fn(String, &HeapRow) -> Vec<String>,
) -> Vec<Vec<String>> {
    let (shown, others) = order.split_at(order.len().min(options.top));
    let mut lines = Vec::new();
    for &group in shown {
        lines.push(line(groups.label(group), &rows.rows[group]));
    }
    if !others.is_empty() {
        let mut sum = HeapRow::default();
        others.iter().for_each(|&group| sum.add(&rows.rows[group]));
        lines.push(line(cells::others(others.len()), &sum));
    }
    lines.push(line("total".to_owned(), &rows.total));
    lines
}

/// Writes, for each function, whether its exact live bytes lie in the sampled interval.
pub(super) fn write_check(
    file: &MemoryFile,
    rows: &Rows,
    groups: &Groups,
    sums: &Sums,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = Vec::new();
    let (mut n_inside, mut n_checked) = (0_usize, 0_usize);
    let mut order = rows.order(Measure::Live, groups);
    // What only the samples know of must be checked too.
    let exact_only = rows.rows.iter().map(|row| *row != HeapRow::default());
    let is_listed: Vec<bool> = exact_only.collect();
    order.extend(
        sums.order(Measure::Live)
            .into_iter()
            .filter(|&group| !is_listed[group]),
    );
    for group in order {
        let exact = rows.rows[group].live_bytes;
        let sampled = &sums.own[group].live;
        if exact == 0 && sampled.n_blocks == 0 {
            continue;
        }
        let (low, high) = interval(sampled, file.header.rate);
        let is_inside = is_inside(exact, (low, high));
        n_checked += 1;
        n_inside += usize::from(is_inside);
        if lines.len() < options.top || !is_inside {
            lines.push(vec![
                groups.label(group),
                with_commas(exact),
                cells::whole(low),
                cells::whole(high),
                if is_inside { "inside" } else { "outside" }.to_owned(),
            ]);
        }
    }
    let heads = ["live: exact and sampled", "exact", "from", "to", ""];
    writeln!(out)?;
    write_table(out, &heads, &lines)?;
    write!(
        out,
        "{n_inside} of {n_checked} functions lie inside their interval"
    )?;
    if file.header.rate == 1.0 {
        writeln!(out, ", a point, for every word was sampled")
    } else {
        writeln!(
            out,
            " of 95 % confidence; about one in 20 is outside by chance"
        )
    }
}

/// A part as a percentage of the whole; nothing of nothing.
fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => cells::percent(part as f64 / whole as f64),
    }
}
