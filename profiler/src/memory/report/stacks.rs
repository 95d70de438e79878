//! The call stacks that have most.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::MemoryReportOptions;
use super::cells::{Cells, printable};
use super::sums::{Groups, most, place};
use crate::memory::{CallFigures, Measure, MemoryFile};
use crate::sampling::{CallId, CallTree};

/// How many frames of a stack are shown at its inner end, and how many at its outer one.
const SHOWN_FRAMES: [usize; 2] = [24, 8];

pub(super) fn write(
    file: &MemoryFile,
    groups: &Groups,
    options: &MemoryReportOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let folded = Folded::new(file);
    let mut order: Vec<(&CallId, &CallFigures)> = folded.rows.iter().collect();
    order.sort_by(|a, b| most(a.1, b.1, options.by).then(a.0.cmp(b.0)));
    writeln!(out, "\nstacks by {}, innermost function first", options.by)?;
    for (number, &(&call, figures)) in (1..).zip(order.iter().take(options.top)) {
        writeln!(out, "{number}. {}", summary(file, figures, options))?;
        folded.write_frames(file, groups, call, out)?;
    }
    if order.len() > options.top {
        writeln!(out, "({} more)", order.len() - options.top)?;
    }
    Ok(())
}

/// The stacks with direct recursion folded: a line that calls its own function again and again is
/// one frame, or each depth of the recursion would be a stack of its own. Where callers are told by
/// function, a function that calls itself is one frame with the line that allocates.
struct Folded {
    tree: CallTree,
    /// By the index of a call of the tree, whether it stands for several frames.
    is_recursive: Vec<bool>,
    rows: BTreeMap<CallId, CallFigures>,
}

impl Folded {
    fn new(file: &MemoryFile) -> Folded {
        let mut folded = Folded {
            tree: CallTree::with_limit(usize::MAX),
            is_recursive: vec![false],
            rows: BTreeMap::new(),
        };
        // By the index of a call of the file; in one made by hand a parent may come too late.
        let mut ids = vec![CallTree::ROOT];
        for call in &file.calls {
            let parent = ids.get(call.parent.index()).copied();
            let parent = parent.unwrap_or(CallTree::ROOT);
            ids.push(folded.call(file, parent, call.site));
        }
        for (call, figures) in &file.rows {
            let id = ids.get(call.index()).copied().unwrap_or(CallTree::ROOT);
            folded.rows.entry(id).or_default().add_all(figures);
        }
        folded
    }

    /// The stack with one call more.
    fn call(&mut self, file: &MemoryFile, parent: CallId, site: u32) -> CallId {
        let before = self.tree.site(parent);
        let is_again = parent != CallTree::ROOT && before == site;
        let of = |site: u32| file.sites.get(site as usize);
        let is_in_caller = match (of(before), of(site)) {
            (Some(before), Some(site)) => before.source == site.source && before.line == 0,
            _ => false,
        };
        let id = if is_again {
            parent
        } else if is_in_caller {
            self.tree.child(self.tree.parent(parent), site)
        } else {
            self.tree.child(parent, site)
        };
        self.is_recursive.resize(self.tree.len(), false);
        self.is_recursive[id.index()] |= is_again || is_in_caller;
        id
    }

    /// The frames of a stack; those in the middle of a deep one are only counted.
    fn write_frames(
        &self,
        file: &MemoryFile,
        groups: &Groups,
        call: CallId,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let [n_inner, n_outer] = SHOWN_FRAMES;
        let depth = self.tree.stack(call).count();
        if depth == 0 {
            return writeln!(out, "     {}", groups.label(groups.of_call(file, call)));
        }
        let outer_start = depth.saturating_sub(n_outer).max(n_inner);
        for (index, id) in self.tree.stack(call).enumerate() {
            if index == n_inner && index < outer_start {
                writeln!(out, "     ... {} frames ...", outer_start - n_inner)?;
            }
            if index < n_inner || index >= outer_start {
                let is_recursive = self.is_recursive[id.index()];
                let mark = if is_recursive { ", recursive" } else { "" };
                writeln!(out, "     {}{mark}", frame(file, self.tree.site(id)))?;
            }
        }
        Ok(())
    }
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

/// A function and the line in it.
fn frame(file: &MemoryFile, site: u32) -> String {
    let site = file.sites.get(site as usize);
    let source = site.and_then(|site| file.sources.get(site.source.index()));
    let (Some(site), Some(source)) = (site, source) else {
        return "(unknown)".to_owned();
    };
    let line = if site.line == 0 {
        source.line
    } else {
        site.line
    };
    printable(&place(&source.function, &source.file, line))
}
