//! The call stacks that have most.

use std::io::{self, Write};

use super::MemoryReportOptions;
use super::cells::{Cells, printable};
use super::sums::{Groups, most, place};
use crate::memory::{CallFigures, Measure, MemoryFile, MemorySite};
use crate::sampling::CallId;

/// How many frames of a stack are shown at its inner end, and how many at its outer one.
const SHOWN_FRAMES: [usize; 2] = [24, 8];

pub(super) fn write(
    file: &MemoryFile,
    groups: &Groups,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut order: Vec<&(CallId, CallFigures)> = file.rows.iter().collect();
    order.sort_by(|a, b| most(&a.1, &b.1, options.by).then(a.0.cmp(&b.0)));
    writeln!(out, "\nstacks by {}, innermost function first", options.by)?;
    for (number, (call, figures)) in (1..).zip(order.iter().copied().take(options.top)) {
        writeln!(out, "{number}. {}", summary(file, figures, options))?;
        write_frames(file, groups, *call, out)?;
    }
    if order.len() > options.top {
        writeln!(out, "({} more)", order.len() - options.top)?;
    }
    Ok(())
}

/// All figures of a stack that has any, in one line.
fn summary(file: &MemoryFile, figures: &CallFigures, options: &MemoryReportOptions) -> String {
    let is_exact = file.header.rate == 1.0;
    let mut parts = Vec::new();
    for measure in Measure::ALL {
        let estimate = figures.get(measure);
        if estimate.n_blocks == 0 {
            continue;
        }
        let [bytes, margin] = Cells::Bytes.pair(estimate, is_exact);
        let mut part = format!("{measure} {}", spaced(&bytes, &margin));
        if options.objects {
            let [objects, margin] = Cells::Objects.pair(estimate, is_exact);
            let word = if objects == "1" { "object" } else { "objects" };
            part += &format!(" in {} {word}", spaced(&objects, &margin));
        }
        parts.push(part);
    }
    parts.join(", ")
}

fn spaced(number: &str, margin: &str) -> String {
    format!("{number} {margin}").trim_end().to_owned()
}

/// The frames of a stack; those in the middle of a deep one are only counted.
fn write_frames(
    file: &MemoryFile,
    groups: &Groups,
    call: CallId,
    out: &mut dyn Write,
) -> io::Result<()> {
    let [n_inner, n_outer] = SHOWN_FRAMES;
    let depth = file.stack(call).count();
    if depth == 0 {
        return writeln!(out, "     {}", groups.label(groups.of_call(file, call)));
    }
    let outer_start = depth.saturating_sub(n_outer).max(n_inner);
    for (index, site) in file.stack(call).enumerate() {
        if index == n_inner && index < outer_start {
            writeln!(out, "     ... {} frames ...", outer_start - n_inner)?;
        }
        if index < n_inner || index >= outer_start {
            writeln!(out, "     {}", frame(file, site))?;
        }
    }
    Ok(())
}

/// A function and the line in it.
fn frame(file: &MemoryFile, site: MemorySite) -> String {
    let Some(source) = file.sources.get(site.source.index()) else {
        return "(unknown)".to_owned();
    };
    let line = if site.line == 0 {
        source.line
    } else {
        site.line
    };
    printable(&place(&source.function, &source.file, line))
}
