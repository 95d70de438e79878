//! Memory profiles: those that span evaluations, their tables, and their comparison.

use std::num::NonZeroUsize;

use profiler::memory::report::MemoryReportOptions;
use profiler::memory::{Measure, MemoryFile};

use super::arguments;
use super::profile::keep;
use crate::recording::MemoryRecording;
use crate::render;
use crate::runs::diff::Diff;
use crate::runs::{memory_diff, memory_table};
use crate::session::Session;

/// The rate of memory profiles unless another is asked for.
pub(super) const DEFAULT_RATE: f64 = 1e-3;

const NOT_ON: &str = "no memory profile is sampling; `:mem start` starts one";

pub(super) fn start(session: &mut Session, text: &str) -> Result<String, String> {
    let rate = match text {
        "" => DEFAULT_RATE,
        word => word
            .parse()
            .map_err(|_| format!("`{word}` is no rate from 0 to 1, as 1e-3"))?,
    };
    if !(0.0..=1.0).contains(&rate) {
        return Err(format!("the rate {rate} is not between 0 and 1"));
    }
    if let Some(recording) = &session.memory.on {
        return Err(format!(
            "a profile is sampling already, at rate {}; `:mem stop` or `:mem discard` ends it",
            recording.rate
        ));
    }
    session.memory.on = Some(MemoryRecording::new(rate));
    Ok(format!("every evaluation is sampled at rate {rate}\n"))
}

pub(super) fn stop(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":mem stop")?;
    let recording = session.memory.on.take().ok_or(NOT_ON)?;
    let state = describe(&recording);
    let Some(run) = recording.into_run() else {
        return Ok("nothing was evaluated while it was on\n".into());
    };
    let table = run.table()?;
    let kept = keep(session, run);
    session.memory.stopped = session.runs.last();
    Ok(format!("{table}{state}\n{kept}"))
}

pub(super) fn discard(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":mem discard")?;
    if let Some(recording) = session.memory.on.take() {
        return Ok(format!("thrown away: {}\n", describe(&recording)));
    }
    match session.memory.stopped.take() {
        Some(number) if session.runs.remove(number) => Ok(format!("#{number} is thrown away\n")),
        _ => Err("no memory profile is sampling, and none is stopped".into()),
    }
}

pub(super) fn state(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":mem")?;
    let stopped = session.memory.stopped;
    let stopped = stopped.filter(|&number| session.runs.get(number).is_some());
    Ok(match (&session.memory.on, stopped) {
        (Some(recording), _) => format!(
            "sampling at rate {}: {}\n",
            recording.rate,
            describe(recording)
        ),
        (None, Some(number)) => format!("off; the last one is #{number}\n"),
        (None, None) => "off\n".into(),
    })
}

fn describe(recording: &MemoryRecording) -> String {
    let number = |count: u64, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {what}{plural}", render::count(count))
    };
    format!(
        "{}, {}",
        number(recording.n_evaluations, "evaluation"),
        number(recording.n_samples(), "sample")
    )
}

/// The table of a kept memory profile with the options of `vm mem`.
pub(super) fn show(memory: &MemoryFile, words: &[String]) -> Result<String, String> {
    let mut options = MemoryReportOptions::default();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (word, None),
        };
        let mut value_of = || {
            let value = value.or_else(|| words.next());
            value.ok_or_else(|| format!("`{option}` wants a value"))
        };
        match option {
            "--by" => options.by = measure(value_of()?)?,
            "--top" => {
                let word = value_of()?;
                let number = word.parse::<NonZeroUsize>();
                let number = number.map_err(|_| format!("`{word}` is no number from 1 on"))?;
                options.top = number.get();
            }
            "--stacks" | "--objects" if value.is_some() => {
                return Err(format!("`{option}` takes no value"));
            }
            "--stacks" => options.stacks = true,
            "--objects" => options.objects = true,
            _ => {
                return Err(format!(
                    "no option is called `{option}`; memory profiles have --by MEASURE, --top N, \
                     --stacks and --objects"
                ));
            }
        }
    }
    memory_table(memory, &options)
}

/// Compares two memory profiles.
pub(super) fn compare(
    before: &MemoryFile,
    after: &MemoryFile,
    arguments: &arguments::Arguments<'_>,
    thresh: f64,
) -> Result<Diff, String> {
    if arguments.kind.is_some() {
        return Err("memory profiles have no kinds; `--by` chooses what is compared".into());
    }
    let by = arguments.by.unwrap_or(Measure::Allocated);
    memory_diff::diff(before, after, by, thresh)
}

/// What is measured.
pub(super) fn measure(word: &str) -> Result<Measure, String> {
    word.parse()
        .map_err(|error: profiler::UnknownWord| error.to_string())
}
