//! Profiles that evaluations add to while they are on.

use std::rc::Rc;

use profiler::memory::MemoryFile;
use profiler::{KindSet, Style};

use crate::evaluate::{Memory, Prepared, Ran};
use crate::runs::Run;
use crate::session::Session;

/// The profiles that an evaluation is to take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) counts: Option<(KindSet, Style)>,
    pub(crate) memory: Option<Memory>,
}

impl Wanted {
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A profile that is on.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) kinds: KindSet,
    pub(crate) style: Style,
    /// What was counted so far.
    pub(crate) sum: Option<Run>,
}

/// The memory profiles of a session that span evaluations.
#[derive(Debug, Default)]
pub(crate) struct MemoryRecordings {
    /// The one that samples.
    pub(crate) on: Option<MemoryRecording>,
    /// The number of the run that the last one became, until it is thrown away.
    pub(crate) stopped: Option<u32>,
    /// How many evaluations were ever sampled. Each is sampled with the next seed, or the same
    /// words would be sampled in all of them.
    n_seeds: u64,
}

/// A memory profile that is on.
#[derive(Debug)]
pub(crate) struct MemoryRecording {
    pub(crate) rate: f64,
    pub(crate) n_evaluations: u64,
    /// The sum of the evaluations, by names: each is a program of its own.
    pub(crate) sum: Option<MemoryFile>,
    /// Whether an evaluation was stopped before its end.
    pub(crate) is_partial: bool,
}

impl MemoryRecording {
    pub(crate) fn new(rate: f64) -> Self {
        Self {
            rate,
            n_evaluations: 0,
            sum: None,
            is_partial: false,
        }
    }

    pub(crate) fn n_samples(&self) -> u64 {
        let rows = self.sum.iter().flat_map(|sum| &sum.rows);
        rows.fold(0, |sum: u64, (_, figures)| {
            sum.saturating_add(figures.allocated.n_samples)
        })
    }

    /// The run that it has become.
    pub(crate) fn into_run(self) -> Option<Run> {
        let mut sum = self.sum?;
        let text = format!("everything since `:mem start {}`", self.rate);
        sum.header.program.clone_from(&text);
        Some(Run {
            is_partial: self.is_partial,
            ..Run::of_memory(&text, sum)
        })
    }

    fn add(&mut self, file: MemoryFile, is_partial: bool) {
        // All have the same rate and no exact figures, so all can be added.
        let is_added = match &mut self.sum {
            Some(sum) => sum.absorb_by_name(&file).is_ok(),
            None => {
                self.sum = Some(file);
                true
            }
        };
        self.n_evaluations += u64::from(is_added);
        self.is_partial |= is_partial;
    }
}

impl Session {
    /// What the profiles that are on want of an evaluation.
    pub(crate) fn recorded(&self) -> Wanted {
        let counts = self.recording.as_ref();
        let memory = self.memory.on.as_ref();
        Wanted {
            counts: counts.map(|recording| (recording.kinds, recording.style)),
            memory: memory.map(|recording| Memory::Sampled {
                rate: recording.rate,
                // `:prof mem` has seed 0.
                seed: self.memory.n_seeds + 1,
            }),
        }
    }

    /// Adds the runs of an evaluation to the profiles that are on.
    pub(crate) fn record(&mut self, runs: Vec<Run>) {
        for run in runs {
            match run.memory {
                Some(file) => {
                    self.memory.n_seeds += 1;
                    if let Some(recording) = &mut self.memory.on {
                        recording.add(file, run.is_partial);
                    }
                }
                None => self.record_counts(run),
            }
        }
    }

    fn record_counts(&mut self, run: Run) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let text = format!("everything since `:prof on {}`", recording.kinds);
        let sum = match recording.sum.take() {
            Some(sum) => Run::merged(&[&sum, &run], text.clone()).ok(),
            None => Some(run),
        };
        recording.sum = sum.map(|sum| Run { text, ..sum });
    }
}

/// The runs that the profiles of an evaluation make: one of counts, one of memory.
pub(crate) fn make_runs(prepared: &Rc<Prepared>, ran: &Ran) -> Vec<Run> {
    let counts = ran.profile.iter().map(|profile| {
        let kinds = profile.kinds();
        let sources = ran.sources.clone();
        Run::new(&prepared.text, kinds.iter(), profile.data(), sources)
    });
    let memory = ran.memory.iter();
    let memory = memory.map(|memory| Run::of_memory(&prepared.text, memory.clone()));
    let runs = counts.chain(memory).map(|run| Run {
        rate: ran.rate,
        prepared: Some(prepared.clone()),
        is_partial: ran.result.is_err(),
        ..run
    });
    runs.collect()
}
