//! Profiles: taking them, and what is kept of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assembler::{AssembleOptions, assemble};
use profiler::memory::MemoryFile;
use profiler::mlmon::Mlmon;
use profiler::report::{self, UsageError};
use profiler::{Kind, KindSet, SourceMap, Style};
use vm::module;

use super::arguments::{self, Arguments, run};
use super::{counts, memory, split_word};
use crate::evaluate::Memory;
use crate::recording::{Recording, Wanted};
use crate::render;
use crate::runs::diff::{Diff, diff};
use crate::runs::tree::{Side, neighbours, tree};
use crate::runs::{Run, amount};
use crate::session::{Session, describe_cost};

/// Rows that are shown of trees and differences hold at least this share of the total, in percent.
const THRESH: f64 = 1.0;

/// Runs an expression with a profile, shows the tables and keeps the run.
pub(super) fn take(session: &mut Session, text: &str, kinds: KindSet) -> Result<String, String> {
    let (style, text) = style_of(text);
    let wanted = Wanted {
        counts: Some((kinds, style)),
        memory: None,
    };
    take_wanted(session, text, wanted)
}

/// The same with a memory profile that samples.
pub(super) fn take_memory(session: &mut Session, text: &str) -> Result<String, String> {
    const WRONG: &str = "`--rate` wants a number from 0 to 1, as 1e-3";
    let (rate, text) = match split_word(text) {
        ("--rate", rest) => {
            let (rate, rest) = split_word(rest);
            let rate = rate.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
            (rate.ok_or(WRONG)?, rest)
        }
        _ => (memory::DEFAULT_RATE, text),
    };
    take_with(session, text, Memory::Sampled { rate, seed: 0 })
}

/// The same with exact counts of the heap.
pub(super) fn take_heap(session: &mut Session, text: &str) -> Result<String, String> {
    take_with(session, text, Memory::Exact)
}

fn take_with(session: &mut Session, text: &str, memory: Memory) -> Result<String, String> {
    let wanted = Wanted {
        counts: None,
        memory: Some(memory),
    };
    take_wanted(session, text, wanted)
}

fn take_wanted(session: &mut Session, text: &str, wanted: Wanted) -> Result<String, String> {
    if text.is_empty() {
        return Err("an expression is wanted, or `:run`".into());
    }
    let evaluated = match text {
        ":run" => {
            let prepared = session.prepare_entry()?;
            session.run_prepared(prepared, &[], Vec::new(), wanted)?
        }
        _ => {
            let input = session.parse(text)?;
            session.evaluate(&input, text, wanted)?
        }
    };
    let mut answer = evaluated.text;
    if session.settings.shows_costs {
        answer += &describe_cost(&evaluated.cost);
    }
    for run in evaluated.runs {
        answer += &run.table()?;
        answer += &keep(session, run);
    }
    match evaluated.failure {
        None => Ok(answer),
        Some(failure) => Err(format!("{}\n{answer}", failure.text)),
    }
}

/// The style that `--stack` asks for.
fn style_of(text: &str) -> (Style, &str) {
    match split_word(text) {
        ("--stack", rest) => (Style::Stack, rest),
        _ => (Style::Current, text),
    }
}

pub(super) fn keep(session: &mut Session, run: Run) -> String {
    let partial = if run.is_partial { ", partial" } else { "" };
    let number = session.runs.keep(run);
    format!("kept as #{number}{partial}\n")
}

pub(super) fn on(session: &mut Session, text: &str) -> Result<String, String> {
    let (word, rest) = split_word(text);
    let kinds = match word {
        "" => return Err("`:prof on` takes kinds: time, alloc, count, or all".into()),
        "all" => Kind::ALL.into_iter().collect(),
        list => list.parse::<KindSet>().map_err(|error| error.to_string())?,
    };
    let (style, rest) = style_of(rest);
    if !rest.is_empty() {
        return Err(format!("`:prof on` has the option --stack, not `{rest}`"));
    }
    if let Some(recording) = &session.recording {
        return Err(format!(
            "a profile of {} is on already; `:prof off` ends it",
            recording.kinds
        ));
    }
    session.recording = Some(Recording {
        kinds,
        style,
        sum: None,
    });
    Ok(format!("every evaluation adds to a profile of {kinds}\n"))
}

pub(super) fn off(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":prof off")?;
    let recording = session.recording.take().ok_or(NOT_ON)?;
    match recording.sum {
        Some(run) => {
            let table = run.table()?;
            Ok(table + &keep(session, run))
        }
        None => Ok("nothing was evaluated while it was on\n".into()),
    }
}

const NOT_ON: &str = "no profile is on; `:prof on KIND` starts one";

pub(super) fn reset(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":prof reset")?;
    session.recording.as_mut().ok_or(NOT_ON)?.sum = None;
    Ok("all counts are 0 again\n".into())
}

pub(super) fn write(session: &mut Session, text: &str) -> Result<String, String> {
    let words = arguments::words(text)?;
    let [file] = words.as_slice() else {
        return Err("`:prof write` takes a file".into());
    };
    let recording = session.recording.as_ref().ok_or(NOT_ON)?;
    match &recording.sum {
        Some(run) => write_run(run, Path::new(file)),
        None => Err("nothing was evaluated since the profile was switched on".into()),
    }
}

pub(super) fn status(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":prof status")?;
    Ok(match &session.recording {
        None => "off\n".into(),
        Some(recording) => {
            let sum = recording.sum.as_ref();
            let totals = sum.map(|run| run.describe()[1].clone());
            let totals = totals.unwrap_or_else(|| "nothing counted yet".into());
            format!("on: {}, {totals}\n", recording.kinds)
        }
    })
}

pub(super) fn list(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":prof list")?;
    let mut rows = Vec::new();
    for (number, run) in session.runs.iter() {
        let mut row = vec![format!("#{number} {}", run.text)];
        row.extend(run.describe());
        let is_changed = run
            .prepared
            .as_ref()
            .is_some_and(|prepared| has_changed(session, &prepared.versions));
        row.push(if is_changed {
            "code changed".into()
        } else {
            String::new()
        });
        rows.push(row);
    }
    match rows.is_empty() {
        true => Err("no run is kept; `:prof count EXPR` makes one".into()),
        false => Ok(render::columns(&rows)),
    }
}

/// Whether one of the functions has been defined again since.
fn has_changed(session: &Session, versions: &[(String, u64)]) -> bool {
    let is_same = |(name, version): &(String, u64)| session.program.version(name) == Some(*version);
    !versions.iter().all(is_same)
}

pub(super) fn show(session: &mut Session, text: &str) -> Result<String, String> {
    let (number, rest) = match split_word(text) {
        (word, rest) if word.starts_with('#') => (Arguments::parse(word)?, rest),
        _ => (Arguments::default(), text),
    };
    let (_, run) = number.run(session)?;
    let words = arguments::words(rest)?;
    if words.is_empty() {
        return run.table();
    }
    if let Some(memory) = &run.memory {
        return memory::show(memory, &words);
    }
    let mut args: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    args.push("run".into());
    let invocation = report::parse_args(&args[..]).map_err(|error| match error {
        UsageError::Help => "the options are those of `vm prof`".into(),
        UsageError::Wrong(message) => message,
    })?;
    if invocation.program != Path::new("run") || !invocation.files.is_empty() {
        return Err("`:prof show` takes a run and options of `vm prof`".into());
    }
    run.tables(&run.kinds(), &invocation.options)
}

pub(super) fn show_tree(session: &mut Session, text: &str) -> Result<String, String> {
    let arguments = Arguments::parse(text)?;
    let (number, run) = arguments.run(session)?;
    needs_stack(run, number)?;
    let kind = arguments.kind_of(run)?;
    Ok(tree(run, kind, arguments.thresh.unwrap_or(THRESH)))
}

fn needs_stack(run: &Run, number: u32) -> Result<(), String> {
    match run.contexts.is_empty() {
        true => Err(format!(
            "#{number} does not know who called whom: take the profile with --stack"
        )),
        false => Ok(()),
    }
}

pub(super) fn callers(session: &mut Session, text: &str) -> Result<String, String> {
    sides(session, text, Side::Callers)
}

pub(super) fn callees(session: &mut Session, text: &str) -> Result<String, String> {
    sides(session, text, Side::Callees)
}

fn sides(session: &mut Session, text: &str, side: Side) -> Result<String, String> {
    let arguments = Arguments::parse(text)?;
    let [name] = arguments.words.as_slice() else {
        return Err("one function is wanted, and perhaps a run".into());
    };
    let (number, run) = arguments.run(session)?;
    needs_stack(run, number)?;
    let kind = arguments.kind_of(run)?;
    neighbours(run, name, kind, side)
        .ok_or_else(|| format!("#{number} has counted nothing in `{name}`"))
}

pub(super) fn annotate(session: &mut Session, text: &str) -> Result<String, String> {
    counts::annotate(session, text)
}

pub(super) fn compare(session: &mut Session, text: &str) -> Result<String, String> {
    let arguments = Arguments::parse(text)?;
    let [before, after] = arguments.runs.as_slice() else {
        return Err("`:prof diff` takes two runs: `:prof diff #1 #2`".into());
    };
    let (first, second) = (run(session, *before)?, run(session, *after)?);
    let thresh = arguments.thresh.unwrap_or(THRESH);
    let nothing_common = || format!("#{before} and #{after} have no kind in common");
    let found = match (&first.memory, &second.memory) {
        (Some(first), Some(second)) => vec![memory::compare(first, second, &arguments, thresh)?],
        (None, None) if arguments.by.is_some() => {
            return Err("`--by` is for memory profiles; `--kind` chooses among others".into());
        }
        (None, None) => {
            let kinds = first.kinds().into_iter();
            let kinds = kinds.filter(|&kind| arguments.kind.is_none_or(|wanted| wanted == kind));
            let found: Vec<Diff> = kinds
                .filter_map(|kind| diff(first, second, kind, thresh))
                .collect();
            if found.is_empty() {
                return Err(nothing_common());
            }
            found
        }
        _ => return Err(nothing_common()),
    };
    let answer: String = found.iter().map(|one| one.text.as_str()).collect();
    let worst = found.iter().map(|one| one.growth);
    let worst = worst.fold(f64::NEG_INFINITY, f64::max);
    match arguments.fail_over {
        Some(most) if worst * 100.0 > most => Err(format!(
            "the total has grown by {:.1} %, more than {most} %\n{answer}",
            100.0 * worst
        )),
        _ => Ok(answer),
    }
}

pub(super) fn merge(session: &mut Session, text: &str) -> Result<String, String> {
    let arguments = Arguments::parse(text)?;
    if arguments.runs.len() < 2 {
        return Err("`:prof merge` takes two runs or more: `:prof merge #1 #2`".into());
    }
    let runs = arguments.runs.iter().map(|&number| run(session, number));
    let runs: Vec<&Run> = runs.collect::<Result<_, _>>()?;
    let names: Vec<String> = arguments.runs.iter().map(|one| format!("#{one}")).collect();
    let merged = Run::merged(&runs, names.join(" + "))?;
    let totals = merged.describe()[1].clone();
    Ok(format!("{totals}\n{}", keep(session, merged)))
}

pub(super) fn save(session: &mut Session, text: &str) -> Result<String, String> {
    let arguments = Arguments::parse(text)?;
    let [file] = arguments.words.as_slice() else {
        return Err("`:prof save` takes a run and a file: `:prof save #1 mlmon.out`".into());
    };
    let (_, run) = arguments.run(session)?;
    write_run(run, Path::new(file))
}

/// Writes each kind's counts, and beside them the program that they are of.
fn write_run(run: &Run, path: &Path) -> Result<String, String> {
    if let Some(memory) = &run.memory {
        let shown = path.display();
        memory
            .write_file(path)
            .map_err(|error| format!("cannot write {shown}: {}", error.kind()))?;
        // Such a file names its functions itself.
        return Ok(format!("{shown}: the memory profile\n"));
    }
    let program = match &run.prepared {
        Some(prepared) => prepared.module.clone(),
        None => program_of(run)?,
    };
    let magic = program.magic();
    let kinds: KindSet = run.kinds().into_iter().collect();
    let mut answer = String::new();
    for mlmon in &run.counts {
        let path = vm::profile_path(Some(path), kinds, mlmon.kind);
        let shown = path.display();
        let mlmon = Mlmon {
            magic,
            ..mlmon.clone()
        };
        mlmon
            .write_file(&path)
            .map_err(|error| format!("cannot write {shown}: {}", error.kind()))?;
        answer += &format!("{shown}: {}\n", amount(mlmon.kind, mlmon.totals.total));
    }
    let path = program_path(path);
    let bytes = module::write(&program);
    std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    answer += &format!("{}: the program\n", path.display());
    Ok(answer)
}

/// A program that does nothing but know the sources of a run of several programs, or of one that is
/// not there.
fn program_of(run: &Run) -> Result<module::Module, String> {
    let empty = assemble("fun main() { ret }", &AssembleOptions::default());
    let empty = empty.map_err(|_| "an empty program does not assemble")?;
    Ok(module::Module {
        sources: SourceMap {
            magic: 0,
            ..run.sources.clone()
        },
        ..empty
    })
}

/// Where the program of a profile stands: beside it, ending in `.bc`.
fn program_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".bc");
    name.into()
}

pub(super) fn load(session: &mut Session, text: &str) -> Result<String, String> {
    let words = arguments::words(text)?;
    let (file, program) = match words.as_slice() {
        [file] => (Path::new(file), program_path(Path::new(file))),
        [file, program] => (Path::new(file), PathBuf::from(program)),
        _ => return Err("`:prof load` takes a profile and perhaps its program".into()),
    };
    if words.len() == 1
        && let Ok(memory) = MemoryFile::read_file(file)
    {
        let run = Run::of_memory(&file.display().to_string(), memory);
        let totals = run.describe()[1].clone();
        return Ok(format!("{totals}\n{}", keep(session, run)));
    }
    let mlmon = Mlmon::read_file(file).map_err(|error| error.to_string())?;
    let sources = sources_of(&program)?;
    let is_of_program = mlmon.magic == sources.magic
        && mlmon.sources.len() == sources.sources.len()
        && mlmon.names.len() == sources.names.len();
    if !is_of_program {
        return Err(format!(
            "{} is a profile of another program than {}",
            file.display(),
            program.display()
        ));
    }
    let n_ticks = match mlmon.kind {
        Kind::Time => mlmon.totals.total.saturating_add(mlmon.totals.total_gc),
        Kind::Alloc | Kind::Count => 0,
    };
    let run = Run {
        text: file.display().to_string(),
        style: mlmon.style,
        counts: vec![mlmon],
        memory: None,
        contexts: Vec::new(),
        sources,
        rate: None,
        n_ticks,
        prepared: None,
        is_partial: false,
        notice: None,
    };
    let totals = run.describe()[1].clone();
    Ok(format!("{totals}\n{}", keep(session, run)))
}

fn sources_of(path: &Path) -> Result<SourceMap, String> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
    let module = if module::strip_interpreter_line(&bytes).starts_with(&module::MAGIC) {
        module::read(&bytes).map_err(|error| format!("{shown}: {error}"))?
    } else {
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("{shown}: this is neither a .bc file nor UTF-8 text"))?;
        let options = AssembleOptions {
            file_name: shown.clone(),
            ..AssembleOptions::default()
        };
        assemble(&text, &options).map_err(|errors| {
            let lines = errors.iter().map(|error| error.render(&shown, &text));
            lines.collect::<Vec<_>>().join("\n")
        })?
    };
    module
        .source_map()
        .validate()
        .map_err(|error| format!("{shown}: {error}"))?;
    Ok(module.source_map())
}
