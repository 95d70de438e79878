//! The report of a memory profile, as text.
//!
//! A source is charged what was allocated while it was innermost on the stack. The column `with
//! callees` has what was allocated while it was on the stack at all, once however often it was
//! there.

mod cells;
mod exact;
mod stacks;
mod sums;

use std::io::{self, Write};

use super::{CallFigures, Measure, MemoryFile};
use crate::report::{with_commas, write_table};
use crate::sampling::Estimate;
use cells::Cells;
pub use cells::{rounded, whole};
use sums::{Groups, Sums};

/// What to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryReportOptions {
    /// What the rows are sorted by, and what the column `with callees` shows.
    pub by: Measure,
    /// At most how many sources, and how many stacks, are shown; the other sources are added up.
    pub top: usize,
    /// Show the call stacks too.
    pub stacks: bool,
    /// Show the numbers of objects too.
    pub objects: bool,
}

impl Default for MemoryReportOptions {
    fn default() -> MemoryReportOptions {
        MemoryReportOptions {
            by: Measure::Live,
            top: 20,
            stacks: false,
            objects: false,
        }
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn run(
    file: &MemoryFile,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let groups = Groups::new(file);
    let sums = Sums::new(file, &groups, options.by);
    let is_sampled = file.header.rate > 0.0;
    write_head(file, &sums, out)?;
    if is_sampled {
        write_sources(file, &groups, &sums, options, out)?;
        if options.stacks {
            stacks::write(file, &groups, options, out)?;
        }
        write_legend(file, &sums, out)?;
    }
    if let Some(heap) = &file.heap {
        let rows = exact::Rows::new(heap, &groups);
        exact::write(heap, &rows, &groups, options, out)?;
        if is_sampled {
            exact::write_check(file, &rows, &groups, &sums, options, out)?;
        }
    }
    Ok(())
}

fn write_head(file: &MemoryFile, sums: &Sums, out: &mut dyn Write) -> io::Result<()> {
    let header = &file.header;
    let exact = with_commas(header.allocated_bytes);
    writeln!(
        out,
        "memory profile of {}",
        cells::printable(&header.program)
    )?;
    writeln!(
        out,
        "{exact} bytes allocated, {} minor and {} major collections",
        with_commas(header.n_minor),
        with_commas(header.n_major)
    )?;
    if header.rate == 0.0 {
        return writeln!(out, "nothing was sampled");
    }
    let allocated = &sums.total.allocated;
    writeln!(
        out,
        "sampled at rate {} with seed {}: {} samples in {} blocks",
        cells::rate(header.rate),
        header.seed,
        with_commas(allocated.n_samples),
        with_commas(allocated.n_blocks)
    )?;
    let (low, high) = interval(allocated, header.rate);
    let to_text = if low == high {
        cells::whole
    } else {
        cells::rounded
    };
    let [low_text, high_text] = [low, high].map(to_text);
    if is_inside(header.allocated_bytes, (low, high)) {
        writeln!(
            out,
            "the samples say {low_text} to {high_text} bytes allocated, exactly {exact}"
        )?;
    } else {
        writeln!(
            out,
            "warning: the samples say {low_text} to {high_text} bytes allocated, but exactly \
             {exact} were; one run in 20 is like that by chance"
        )?;
    }
    if header.n_cut > 0 {
        writeln!(
            out,
            "warning: there were too many call stacks, so {} were cut to their innermost function; \
             columns with callees are too low",
            with_commas(header.n_cut)
        )?;
    }
    Ok(())
}

/// The bytes as the tables show them, and how far their interval reaches.
pub fn bytes_cells(estimate: &Estimate, is_exact: bool) -> [String; 2] {
    Cells::Bytes.pair(estimate, is_exact)
}

/// The interval of the bytes of 95 % confidence, also where no sample was taken.
pub fn interval(estimate: &Estimate, rate: f64) -> (f64, f64) {
    if estimate.n_blocks == 0 {
        (0.0, crate::sampling::unseen95_bytes(rate))
    } else {
        estimate.bytes_interval95()
    }
}

/// Half a byte is for rounding, where the interval is almost a point.
fn is_inside(exact: u64, (low, high): (f64, f64)) -> bool {
    low - 0.5 <= exact as f64 && exact as f64 <= high + 0.5
}

fn write_sources(
    file: &MemoryFile,
    groups: &Groups,
    sums: &Sums,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let order = sums.order(options.by);
    let (shown, others) = order.split_at(order.len().min(options.top));
    let mut units = vec![Cells::Bytes];
    if options.objects {
        units.push(Cells::Objects);
    }
    for unit in units {
        let mut heads = vec![format!("{unit} by function")];
        for measure in Measure::ALL {
            heads.push(measure.to_string());
            heads.push("+-95%".to_owned());
        }
        heads.push(format!("{} with callees", options.by));
        let is_exact = file.header.rate == 1.0;
        let line = |label: String, figures: &CallFigures, inclusive: Option<&Estimate>| {
            let mut row = vec![label];
            for measure in Measure::ALL {
                row.extend(unit.pair(figures.get(measure), is_exact));
            }
            row.push(inclusive.map_or(String::new(), |sum| unit.pair(sum, is_exact)[0].clone()));
            row
        };
        let mut rows = Vec::new();
        for &group in shown {
            let inclusive = Some(&sums.inclusive[group]);
            rows.push(line(groups.label(group), &sums.own[group], inclusive));
        }
        if !others.is_empty() {
            let mut sum = CallFigures::default();
            others
                .iter()
                .for_each(|&group| sum.add_all(&sums.own[group]));
            rows.push(line(cells::others(others.len()), &sum, None));
        }
        rows.push(line(
            "total".to_owned(),
            &sums.total,
            Some(sums.total.get(options.by)),
        ));
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        writeln!(out)?;
        write_table(out, &heads, &rows)?;
    }
    Ok(())
}

/// Explains the marks, if there are any.
fn write_legend(file: &MemoryFile, sums: &Sums, out: &mut dyn Write) -> io::Result<()> {
    if file.header.rate == 1.0 {
        writeln!(out, "\nevery word was sampled: all figures are exact")
    } else {
        let shown = sums
            .own
            .iter()
            .flat_map(|row| Measure::ALL.map(|m| *row.get(m)));
        let is_marked = |sum: Estimate| sum.n_blocks > 0 && !sum.is_reliable();
        let marks = if shown.into_iter().any(is_marked) {
            "~ fewer than 10 samples, a sign and not a measure; "
        } else {
            ""
        };
        writeln!(
            out,
            "\n{marks}- no sample; +-95% the interval of 95 % confidence"
        )
    }
}
