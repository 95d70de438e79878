//! The report itself: which sources are kept, the table and the call graph.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::graph::{CallGraph, KeptGraph, TooBig};
use super::keep::{Column, Nodes};
use super::label::Label;
use super::merge::Merged;
use super::regexp::Regexp;
use super::{Options, ReportError, dot, table};
use crate::mlmon::{CountRow, Mlmon};
use crate::{Kind, SourceMap, Style};

/// Writes the table of the sum of `files` to `out`, and the call graph to the file that the
/// options name. With no files, the table is empty. `program_name` is for messages and the graph's
/// title.
///
/// Rows come in order of their current percentage. Up to 22 rows, rows of equal percentage come in
/// upstream's order; above that upstream orders them at random, and this does not.
///
/// # Errors
/// If the source map is broken, the files do not belong together, or writing fails.
pub fn run(
    program_name: &str,
    sources: &SourceMap,
    files: &[Mlmon],
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    if sources.names.is_empty() {
        return Err(ReportError::NotProfiled(program_name.into()));
    }
    sources.validate_indices().map_err(ReportError::Sources)?;
    let merged = Merged::new(program_name, sources, files)?;
    let report = Report::new(sources, &merged, options)?;
    let graph = CallGraph::new(sources);
    let kept = options.keep.nodes(&graph, &report);
    let (entries, node_of) = report.entries(&kept);
    if let Some(path) = &options.call_graph {
        let default_title = || format!("{program_name} call-stack graph");
        let title = options.graph_title.clone().unwrap_or_else(default_title);
        let kept_graph = KeptGraph::new(&graph, entries.len(), &node_of)
            .map_err(|TooBig| ReportError::GraphTooBig(path.clone()))?;
        report
            .write_graph(path, &title, &kept_graph, &entries)
            .map_err(|error| ReportError::CallGraph(path.clone(), error))?;
    }
    report
        .write_table(out, &entries)
        .map_err(ReportError::Output)
}

/// One line of the report: a master source, or one copy of it.
struct Entry<'a> {
    label: &'a Label,
    row: CountRow,
}

/// A report in the making.
struct Report<'a> {
    sources: &'a SourceMap,
    merged: &'a Merged,
    options: &'a Options,
    labels: Vec<Label>,
    /// For each master source, whether its copies are shown one by one.
    is_split: Vec<bool>,
    total: f64,
}

impl Nodes for Report<'_> {
    fn matches(&self, node: usize, regexp: &Regexp) -> bool {
        regexp.matches_prefix(&self.labels[self.master(node)].full())
    }

    fn percent(&self, node: usize, column: Column) -> f64 {
        let master = self.master(node);
        let split = self.is_split[master];
        let row = if split {
            self.merged.sources[node]
        } else {
            self.merged.names[master]
        };
        self.percent_of(match column {
            Column::Current => row.current,
            Column::Stack => row.stack,
            Column::StackGc => row.stack_gc,
        })
    }
}

impl<'a> Report<'a> {
    fn new(
        sources: &'a SourceMap,
        merged: &'a Merged,
        options: &'a Options,
    ) -> Result<Report<'a>, ReportError> {
        let labels = Label::all(sources, options)?;
        let splits = |label: &Label| {
            let text = label.full();
            options
                .split
                .iter()
                .any(|regexp| regexp.matches_prefix(&text))
        };
        let is_split = labels.iter().map(splits).collect();
        let totals = merged.totals;
        let total = (u128::from(totals.total) + u128::from(totals.total_gc)) as f64;
        Ok(Report {
            sources,
            merged,
            options,
            labels,
            is_split,
            total,
        })
    }

    /// The master source of a split source.
    fn master(&self, source: usize) -> usize {
        self.sources.sources[source].name.index()
    }

    fn percent_of(&self, count: u64) -> f64 {
        if self.total == 0.0 {
            0.0
        } else {
            100.0 * count as f64 / self.total
        }
    }

    /// The entries of the report, first the master sources that have a copy that is kept, then the
    /// copies that are shown one by one; and each split source's entry, if it is kept.
    fn entries(&self, kept: &[bool]) -> (Vec<Entry<'_>>, Vec<Option<usize>>) {
        let mut is_kept = vec![false; self.labels.len()];
        for source in (0..kept.len()).filter(|&source| kept[source]) {
            is_kept[self.master(source)] = true;
        }
        let mut entries = Vec::new();
        let mut entry_of_master = vec![None; self.labels.len()];
        for (master, label) in self.labels.iter().enumerate() {
            if is_kept[master] && !self.is_split[master] {
                entry_of_master[master] = Some(entries.len());
                entries.push(Entry {
                    label,
                    row: self.merged.names[master],
                });
            }
        }
        let mut node_of = Vec::with_capacity(kept.len());
        for (source, &kept) in kept.iter().enumerate() {
            let master = self.master(source);
            if self.is_split[master] && kept {
                node_of.push(Some(entries.len()));
                let row = self.merged.sources[source];
                entries.push(Entry {
                    label: &self.labels[master],
                    row,
                });
            } else {
                node_of.push(entry_of_master[master]);
            }
        }
        (entries, node_of)
    }

    /// The counts of an entry as the cells of the table: for each column the percentage and, if
    /// asked for, the count.
    fn cells(&self, row: CountRow) -> Vec<String> {
        let columns = match self.merged.style {
            Style::Current => vec![row.current],
            Style::Stack => vec![row.current, row.stack, row.stack_gc],
        };
        let cells = columns.into_iter().flat_map(|count| {
            let raw = self.options.raw.then(|| self.raw(count));
            std::iter::once(format!("{:.1}%", self.percent_of(count))).chain(raw)
        });
        cells.collect()
    }

    fn raw(&self, count: u64) -> String {
        match self.merged.kind {
            Some(Kind::Alloc | Kind::Count) => format!("({})", with_commas(count)),
            Some(Kind::Time) => format!("({}s)", seconds(count)),
            None => String::new(),
        }
    }

    fn write_graph(
        &self,
        path: &Path,
        title: &str,
        graph: &KeptGraph,
        entries: &[Entry<'_>],
    ) -> io::Result<()> {
        let node = |entry: &Entry<'_>| {
            let mut lines = entry.label.lines(self.options.show_line);
            if entry.row != CountRow::default() {
                lines.push(self.cells(entry.row).join(" "));
            }
            let color = if self.options.gray {
                // The darker, the bigger the share; a broken file may claim more than all.
                let share = self.percent_of(entry.row.stack).round_ties_even();
                format!("Gray{}", (100.0 - share).max(0.0))
            } else {
                "Black".to_owned()
            };
            dot::Box { lines, color }
        };
        let boxes: Vec<dot::Box> = entries.iter().map(node).collect();
        let mut out = BufWriter::new(File::create(path)?);
        dot::write(&mut out, title, graph, &boxes)?;
        out.flush()
    }

    fn write_table(&self, out: &mut dyn Write, entries: &[Entry<'_>]) -> io::Result<()> {
        let totals = self.merged.totals;
        match self.merged.kind {
            Some(Kind::Alloc) => {
                let (total, gc) = (with_commas(totals.total), with_commas(totals.total_gc));
                writeln!(out, "{total} bytes allocated ({gc} bytes by GC)")?;
            }
            Some(Kind::Count) => writeln!(out, "{} ticks", with_commas(totals.total))?,
            Some(Kind::Time) => {
                let [total, gc] = [totals.total, totals.total_gc].map(seconds);
                writeln!(out, "{total} seconds of CPU time ({gc} seconds GC)")?;
            }
            None => {}
        }
        let columns: &[&str] = match self.merged.style {
            Style::Current => &["cur"],
            Style::Stack => &["cur", "stack", "GC"],
        };
        let mut heads = vec!["function"];
        for head in columns {
            heads.push(head);
            heads.extend(self.options.raw.then_some("raw"));
        }
        let rows: Vec<Vec<String>> = self
            .sorted(entries)
            .into_iter()
            .map(|entry| {
                let mut row = vec![entry.label.row(self.options.show_line)];
                row.extend(self.cells(entry.row));
                row
            })
            .collect();
        table::write(out, &heads, &rows)
    }

    /// The entries that have a row in the table, by falling percentage. A count profile also shows
    /// the functions that were never called.
    fn sorted<'e>(&self, entries: &'e [Entry<'e>]) -> Vec<&'e Entry<'e>> {
        let calls = self.merged.kind == Some(Kind::Count);
        let has_row = |entry: &&Entry<'_>| {
            entry.row != CountRow::default() || calls && entry.label.position.is_some()
        };
        let mut rows: Vec<&Entry<'_>> = entries.iter().rev().filter(has_row).collect();
        // Upstream's sort moves the first of the smallest rows to the end and then, up to 22 rows,
        // sorts by insertion. It shows in the order of rows that are equal.
        let percent = |entry: &Entry<'_>| self.percent_of(entry.row.current);
        if let Some(last) = rows.len().checked_sub(1) {
            let smallest = rows
                .iter()
                .map(|entry| percent(entry))
                .fold(f64::INFINITY, f64::min);
            let first = rows.iter().position(|entry| percent(entry) == smallest);
            rows.swap(first.unwrap_or(last), last);
        }
        rows.sort_by(|a, b| percent(b).total_cmp(&percent(a)));
        rows
    }
}

/// A count of a time profile, in seconds.
fn seconds(hundredths: u64) -> String {
    format!("{:.2}", hundredths as f64 / 100.0)
}

/// A number in groups of three digits.
pub(crate) fn with_commas(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (n, expected) in cases {
            assert_eq!(with_commas(n), expected);
        }
    }
}
