//! The profiles that a session keeps, each with its number.

pub(crate) mod diff;
pub(crate) mod memory_diff;
pub(crate) mod tree;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use profiler::memory::MemoryFile;
use profiler::memory::report::{self as memory_report, MemoryReportOptions};
use profiler::mlmon::{CountRow, Mlmon, Totals};
use profiler::report::{self, Options};
use profiler::{Kind, NameId, ProfileData, Rate, Source, SourceId, SourceMap, SourceSeqId, Style};

use crate::evaluate::Prepared;
use crate::render;

/// The most runs that are kept; then the oldest are dropped.
const MAX_RUNS: usize = 100;
/// The most objects that kept runs may hold, to be run again.
const MAX_OBJECTS: usize = 4 << 20;
/// Fewer samples than this say little.
pub(crate) const MIN_SAMPLES: u64 = 100;

/// A kept profile.
#[derive(Debug)]
pub(crate) struct Run {
    /// What was run.
    pub(crate) text: String,
    pub(crate) style: Style,
    /// The counts of each kind.
    pub(crate) counts: Vec<Mlmon>,
    /// The memory profile; then there are no counts.
    pub(crate) memory: Option<MemoryFile>,
    pub(crate) sources: SourceMap,
    /// The calling contexts of a profile in stack style.
    pub(crate) contexts: Vec<tree::Context>,
    pub(crate) rate: Option<Rate>,
    /// The ticks that the time profile is made of; of one from a file, its hundredths of a second,
    /// which is what MLton's ticks are.
    pub(crate) n_ticks: u64,
    /// The program, with what it needs to be run again; none of what was loaded or merged.
    pub(crate) prepared: Option<Rc<Prepared>>,
    /// Whether the run was stopped before its end.
    pub(crate) is_partial: bool,
    /// What could not be told apart, if the profile says so.
    pub(crate) notice: Option<String>,
}

/// The runs, by number.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: Vec<(u32, Run)>,
    last: u32,
}

impl Runs {
    /// Keeps a run and gives its number.
    pub(crate) fn keep(&mut self, run: Run) -> u32 {
        self.last += 1;
        self.runs.push((self.last, run));
        if self.runs.len() > MAX_RUNS {
            self.runs.remove(0);
        }
        let mut n_objects = 0;
        for (_, run) in self.runs.iter_mut().rev() {
            let held = run.prepared.as_ref();
            n_objects += held.map_or(0, |prepared| prepared.parcel.objects.len());
            if n_objects > MAX_OBJECTS {
                run.prepared = None;
            }
        }
        self.last
    }

    /// Throws a run away; false if it is not kept.
    pub(crate) fn remove(&mut self, number: u32) -> bool {
        let n_runs = self.runs.len();
        self.runs.retain(|(known, _)| *known != number);
        self.runs.len() < n_runs
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Run> {
        let found = self.runs.iter().find(|(known, _)| *known == number);
        found.map(|(_, run)| run)
    }

    pub(crate) fn last(&self) -> Option<u32> {
        self.runs.last().map(|(number, _)| *number)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Run)> {
        self.runs.iter().map(|(number, run)| (*number, run))
    }
}

impl Run {
    /// The run whose counts these are.
    pub(crate) fn new(
        text: &str,
        kinds: impl Iterator<Item = Kind>,
        data: &ProfileData,
        sources: SourceMap,
    ) -> Self {
        let counts = kinds.filter_map(|kind| data.mlmon(kind, &sources).ok());
        let ticks = data.counts(Kind::Time).totals;
        Self {
            text: text.to_owned(),
            style: data.style(),
            counts: counts.collect(),
            memory: None,
            contexts: tree::contexts(data),
            sources,
            rate: None,
            n_ticks: ticks.total.saturating_add(ticks.total_gc),
            prepared: None,
            is_partial: false,
            notice: data.notice(),
        }
    }

    /// The run whose memory profile this is.
    pub(crate) fn of_memory(text: &str, memory: MemoryFile) -> Self {
        Self {
            text: text.to_owned(),
            style: Style::Current,
            counts: Vec::new(),
            memory: Some(memory),
            contexts: Vec::new(),
            sources: SourceMap::new(),
            rate: None,
            n_ticks: 0,
            prepared: None,
            is_partial: false,
            notice: None,
        }
    }

    /// The kinds of the run.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.counts.iter().map(|one| one.kind).collect()
    }

    pub(crate) fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// The counts of a kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> Option<&Mlmon> {
        self.counts.iter().find(|one| one.kind == kind)
    }

    /// One line for lists.
    pub(crate) fn describe(&self) -> Vec<String> {
        let kinds: Vec<&str> = self.counts.iter().map(|one| one.kind.as_str()).collect();
        let mut kinds = kinds.join(",");
        if let Some(memory) = &self.memory {
            kinds += if memory.heap.is_some() { "heap" } else { "mem" };
        }
        if self.style == Style::Stack {
            kinds += " --stack";
        }
        if self.is_partial {
            kinds += " (partial)";
        }
        let totals = self
            .counts
            .iter()
            .map(|one| amount(one.kind, one.totals.total));
        let memory = self.memory.iter();
        let memory = memory.map(|one| amount(Kind::Alloc, one.header.allocated_bytes));
        vec![kinds, totals.chain(memory).collect::<Vec<_>>().join(" / ")]
    }

    /// The table of the memory profile, or those of all kinds with the counts beside the shares.
    pub(crate) fn table(&self) -> Result<String, String> {
        let Some(memory) = &self.memory else {
            let options = Options {
                raw: true,
                ..Options::default()
            };
            return self.tables(&self.kinds(), &options);
        };
        memory_table(memory, &MemoryReportOptions::default())
    }

    /// The tables of these kinds, as `mlprof` prints them, each with its sampling line.
    pub(crate) fn tables(&self, kinds: &[Kind], options: &Options) -> Result<String, String> {
        let mut text = String::new();
        for mlmon in self.counts.iter().filter(|one| kinds.contains(&one.kind)) {
            let mut table = Vec::new();
            let files = [mlmon.clone()];
            report::run(&self.text, &self.sources, &files, options, &mut table)
                .map_err(|error| error.to_string())?;
            for line in String::from_utf8_lossy(&table).lines() {
                text.push_str(line.trim_end());
                text.push('\n');
            }
            if mlmon.kind == Kind::Time {
                text.push_str(&self.sampling());
            }
        }
        if let Some(notice) = &self.notice {
            text += &format!("note: {notice}\n");
        }
        Ok(text)
    }

    /// What the timer was asked for and what it gave, and whether that is enough.
    fn sampling(&self) -> String {
        let n_samples = self.n_ticks;
        let mut text = match self.rate {
            Some(rate) => {
                let got = match rate.measured_hz() {
                    Some(hz) => format!("{hz:.1} Hz"),
                    None => "none".into(),
                };
                format!("sampling: asked {} Hz, got {got}, ", rate.asked_hz)
            }
            None => "sampling: ".into(),
        };
        text += &format!("{} samples", render::count(n_samples));
        if n_samples > 0 {
            // Half the width of the interval of a share of one half, the widest there is.
            let error = 98.0 / (n_samples as f64).sqrt();
            text += &format!(", error at most {error:.1} points at 95 %");
        }
        text.push('\n');
        if n_samples < MIN_SAMPLES {
            text += &format!(
                "warning: fewer than {MIN_SAMPLES} samples say little: run more work, or use \
                 `:prof count`, which is exact\n"
            );
        }
        text
    }

    /// The sum of runs, by the names of their sources.
    pub(crate) fn merged(runs: &[&Run], text: String) -> Result<Self, String> {
        let first = runs.first().ok_or("nothing to merge")?;
        if runs
            .iter()
            .any(|run| run.kinds() != first.kinds() || run.has_memory() != first.has_memory())
        {
            return Err("runs of different kinds cannot be merged".into());
        }
        if let Some(memory) = &first.memory {
            let mut sum = memory.clone();
            for other in runs[1..].iter().filter_map(|run| run.memory.as_ref()) {
                sum.absorb_by_name(other)
                    .map_err(|error| error.to_string())?;
            }
            sum.header.program.clone_from(&text);
            return Ok(Self {
                is_partial: runs.iter().any(|run| run.is_partial),
                ..Self::of_memory(&text, sum)
            });
        }
        let (sources, ids) = all_sources(runs);
        let same_style = runs.iter().all(|run| run.style == first.style);
        let style = if same_style {
            first.style
        } else {
            Style::Current
        };
        let counts = first.kinds().into_iter();
        let counts = counts.map(|kind| sum_of(runs, kind, style, &ids));
        Ok(Self {
            text,
            style,
            counts: counts.collect(),
            memory: None,
            contexts: tree::merged(runs, &sources),
            sources,
            rate: None,
            n_ticks: runs
                .iter()
                .fold(0, |sum, run| sum.saturating_add(run.n_ticks)),
            prepared: None,
            is_partial: runs.iter().any(|run| run.is_partial),
            notice: runs.iter().find_map(|run| run.notice.clone()),
        })
    }
}

/// The table of a memory profile, as `vm mem` prints it.
pub(crate) fn memory_table(
    memory: &MemoryFile,
    options: &MemoryReportOptions,
) -> Result<String, String> {
    let mut table = Vec::new();
    memory_report::run(memory, options, &mut table).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&table);
    let lines = text.lines().map(|line| format!("{}\n", line.trim_end()));
    Ok(lines.collect())
}

/// The sources of all runs, one for each name, with the place of each name.
fn all_sources(runs: &[&Run]) -> (SourceMap, HashMap<String, usize>) {
    let mut sources = SourceMap::new();
    let fixed = sources.names.iter().cloned();
    let mut ids: HashMap<String, usize> = fixed.zip(0..).collect();
    for name in runs.iter().flat_map(|run| &run.sources.names) {
        ids.entry(name.clone()).or_insert_with(|| {
            let id = sources.names.len();
            sources.names.push(name.clone());
            sources.sources.push(Source {
                name: NameId(id as u32),
                successors: SourceSeqId::EMPTY,
            });
            id
        });
    }
    (sources, ids)
}

/// The counts of a kind of all runs, by the places of their sources' names. What was loaded may
/// hold any number, so sums stop at the largest.
fn sum_of(runs: &[&Run], kind: Kind, style: Style, ids: &HashMap<String, usize>) -> Mlmon {
    let mut rows = vec![CountRow::default(); ids.len()];
    let mut totals = Totals::default();
    let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
    for run in runs {
        let Some(mlmon) = run.of_kind(kind) else {
            continue;
        };
        add(&mut totals.total, mlmon.totals.total);
        add(&mut totals.total_gc, mlmon.totals.total_gc);
        for (name, row) in run.sources.names.iter().zip(&mlmon.names) {
            let sum = &mut rows[ids[name]];
            add(&mut sum.current, row.current);
            if style == Style::Stack {
                add(&mut sum.stack, row.stack);
                add(&mut sum.stack_gc, row.stack_gc);
            }
        }
    }
    Mlmon {
        kind,
        style,
        magic: 0,
        totals,
        sources: rows.clone(),
        names: rows,
    }
}

/// A count of a profile's table with its unit.
pub(crate) fn amount(kind: Kind, count: u64) -> String {
    match kind {
        Kind::Time => format!("{:.2} s", count as f64 / 100.0),
        Kind::Alloc | Kind::Count => format!("{} {}", render::count(count), unit(kind)),
    }
}

/// What the nodes of a kind count.
pub(crate) fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::Time => "ticks",
        Kind::Alloc => "bytes",
        Kind::Count => "calls",
    }
}

/// The count of a node of one kind.
fn of_node(node: &profiler::Node, kind: Kind) -> u64 {
    match kind {
        Kind::Time => node.ticks.load(Relaxed),
        Kind::Alloc => node.bytes.load(Relaxed),
        Kind::Count => node.calls.load(Relaxed),
    }
}

/// The label of a source: its name without the place.
pub(crate) fn label(sources: &SourceMap, source: SourceId) -> &str {
    let name = sources.name_of(source).unwrap_or("?");
    name.split('\t').next().unwrap_or(name)
}
