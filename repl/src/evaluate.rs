//! Evaluations: an expression is linked with the functions that it can reach, verified, loaded
//! into a machine of its own, and run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use profiler::memory::MemoryFile;
use profiler::{KindSet, Profile, Rate, SourceMap, Style};
use vm::host::{HostIo, Hosts, Policy};
use vm::isa::Signature;
use vm::memprof::MemprofConfig;
use vm::module::Module;
use vm::verify::VerifiedModule;
use vm::{
    GcStress, HeapConfig, HeapStats, Interrupt, ObjectData, Outcome, ReadBack, RunError, Trap, Vm,
    VmConfig,
};

use crate::expression::VALUE_HOST;
use crate::objects::{ObjectCount, count_objects};
use crate::values::{Kind, Parcel};

/// The most calling contexts of a run: each that is kept takes memory. Beyond that recursion is
/// folded, which the profile notes.
const MAX_CONTEXTS: usize = 1 << 16;

/// Something that can be run, as often as one likes.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// What was typed.
    pub(crate) text: String,
    pub(crate) module: Module,
    /// What the entry's results are, in the order in which they were written.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) parcel: Parcel,
    /// The versions of the definitions that are in the module.
    pub(crate) versions: Vec<(String, u64)>,
}

/// Limits of runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) heap_bytes: usize,
    pub(crate) stack_bytes: usize,
    pub(crate) fuel: Option<u64>,
    pub(crate) stress: GcStress,
}

impl Default for Limits {
    fn default() -> Self {
        let config = VmConfig::default();
        Self {
            heap_bytes: config.heap.max_bytes,
            stack_bytes: config.stack_bytes,
            fuel: None,
            stress: GcStress::Off,
        }
    }
}

/// What a run is to tell besides its results.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// The profile to take.
    pub(crate) profile: Option<(KindSet, Style)>,
    /// The memory profile to take.
    pub(crate) memory: Option<Memory>,
    /// Ticks a second of a time profile.
    pub(crate) hz: u32,
    /// Whether ops are counted.
    pub(crate) ops: bool,
    /// Whether objects are counted, which takes time.
    pub(crate) objects: bool,
    /// How many objects may be read back.
    pub(crate) object_limit: usize,
}

/// A memory profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Memory {
    /// Words are sampled. Which ones depends on the rate and the seed alone.
    Sampled { rate: f64, seed: u64 },
    /// The heap is counted exactly.
    Exact,
}

/// What a run cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    pub(crate) ops: Option<u64>,
    pub(crate) objects: Option<u64>,
    /// The heap's figures for the run alone, but for its maxima and its distribution of pauses.
    pub(crate) heap: HeapStats,
}

impl Cost {
    /// The share of the time that collections took.
    pub(crate) fn gc_share(&self) -> f64 {
        let time = self.time.as_secs_f64();
        let gc = self.heap.pause_total.as_secs_f64();
        if time > 0.0 {
            (gc / time).min(1.0)
        } else {
            0.0
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) result: Result<Outcome, Failure>,
    /// What the run left of values, if it returned.
    pub(crate) read: ReadBack,
    pub(crate) cost: Cost,
    pub(crate) profile: Option<Arc<Profile>>,
    pub(crate) sources: SourceMap,
    pub(crate) rate: Option<Rate>,
    pub(crate) memory: Option<MemoryFile>,
}

/// Why a run did not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The message and the backtrace, one call a line.
    pub(crate) text: String,
    /// Whether the user asked for the end.
    pub(crate) is_interrupted: bool,
}

/// A machine that is ready to run what was prepared.
pub(crate) fn machine(
    prepared: &Prepared,
    module: VerifiedModule,
    io: HostIo,
    config: VmConfig,
    interrupt: &Interrupt,
    offer: impl FnOnce(&mut Hosts),
) -> Result<Vm, String> {
    let mut objects = prepared.parcel.objects.clone();
    for object in &mut objects {
        if let ObjectData::Closure { function, .. } = object {
            let name = &prepared.parcel.functions[*function as usize];
            *function = module
                .function_named(name)
                .ok_or_else(|| format!("the function `{name}` of a closure is gone"))?;
        }
    }
    // What the user types has the user's rights.
    let mut hosts = Hosts::standard(io).with_policy(Policy::everything());
    let take = Signature {
        int_params: 1,
        ref_results: 1,
        ..Signature::default()
    };
    hosts.offer(VALUE_HOST, take, |call| {
        call.set_held(0, call.int(0) as u32)
    });
    offer(&mut hosts);
    let mut vm = Vm::new(module, hosts, config).map_err(|error| error.to_string())?;
    vm.share_interrupt(interrupt);
    vm.hold(&objects).map_err(|error| match error {
        vm::HoldError::Malformed(_) => {
            "a closure was made of a function that has been defined with other captures since"
                .to_owned()
        }
        other => other.to_string(),
    })?;
    Ok(vm)
}

/// The configuration of a machine within limits.
pub(crate) fn config(limits: Limits, profile: Option<Arc<Profile>>, counts_ops: bool) -> VmConfig {
    VmConfig {
        heap: HeapConfig {
            max_bytes: limits.heap_bytes,
            stress: limits.stress,
            ..HeapConfig::default()
        },
        stack_bytes: limits.stack_bytes,
        fuel: limits.fuel.or(counts_ops.then_some(i64::MAX as u64)),
        profile,
        ..VmConfig::default()
    }
}

/// Runs what was prepared, once.
pub(crate) fn run(
    prepared: &Prepared,
    io: HostIo,
    limits: Limits,
    asked: Asked,
    interrupt: &Interrupt,
) -> Result<(Ran, Spent), String> {
    run_with(prepared, io, limits, asked, interrupt, |_| ())
}

/// A machine that has done its work. To give its memory back may take longer than anything that
/// the user waits for, so that is for the caller to do in its time.
#[derive(Debug)]
pub(crate) struct Spent {
    /// Only to be dropped.
    _vm: Vm,
}

/// As [`run`], for a module that wants more of its host.
pub(crate) fn run_with(
    prepared: &Prepared,
    io: HostIo,
    limits: Limits,
    asked: Asked,
    interrupt: &Interrupt,
    offer: impl FnOnce(&mut Hosts),
) -> Result<(Ran, Spent), String> {
    let module = assembler::link::verify_linked(prepared.module.clone())
        .map_err(|error| error.to_string())?;
    let sources = module.source_map();
    let profile = asked.profile.map(|(kinds, style)| {
        let profile = Profile::new(kinds, sources.sources.len()).with_style(style);
        Arc::new(profile.with_hz(asked.hz).with_node_limit(MAX_CONTEXTS))
    });
    let n_refs = module.functions[module.entry as usize]
        .signature
        .ref_results;
    let mut config = config(limits, profile.clone(), asked.ops);
    match asked.memory {
        Some(Memory::Sampled { rate, seed }) => {
            config.sampling = Some(MemprofConfig {
                rate,
                seed,
                ..MemprofConfig::default()
            });
        }
        Some(Memory::Exact) => config.census = true,
        None => {}
    }
    let fuel = config.fuel;
    let mut vm = machine(prepared, module, io, config, interrupt, offer)?;
    let objects = match asked.objects {
        true => Some(count_objects(&mut vm)?),
        false => None,
    };
    let before = vm.heap_stats();
    let started = Instant::now();
    let result = vm.run();
    let time = started.elapsed();
    let heap = since(&vm.heap_stats(), &before);
    let ops = match (fuel, vm.fuel_left()) {
        (Some(fuel), Some(left)) => Some(fuel - left),
        _ => None,
    };
    let flushed = vm.io().flush();
    let read = match &result {
        Ok(Outcome::Returned(_)) => vm.read_back(n_refs, asked.object_limit),
        _ => ReadBack::default(),
    };
    let result = match flushed {
        Err(error) => Err(Failure {
            text: format!("cannot write the output: {error}"),
            is_interrupted: false,
        }),
        Ok(()) => result.map_err(|error| failure(&vm, &error)),
    };
    let ran = Ran {
        result,
        read,
        cost: Cost {
            time,
            ops,
            objects: objects.as_ref().map(ObjectCount::get),
            heap,
        },
        profile,
        sources,
        rate: vm.tick_rate(),
        memory: vm.memory_file(&prepared.text),
    };
    Ok((ran, Spent { _vm: vm }))
}

/// An error as the session shows it.
pub(crate) fn failure(vm: &Vm, error: &RunError) -> Failure {
    let text = vm.describe_error(error).trim_end().to_owned();
    match error {
        RunError::Trap {
            trap: Trap::Interrupted(_),
            ..
        } => {
            let calls = text.split_once('\n').map_or("", |(_, calls)| calls);
            Failure {
                text: format!("interrupted\n{calls}").trim_end().to_owned(),
                is_interrupted: true,
            }
        }
        _ => Failure {
            text,
            is_interrupted: false,
        },
    }
}

fn since(now: &HeapStats, before: &HeapStats) -> HeapStats {
    HeapStats {
        allocated_bytes: now.allocated_bytes - before.allocated_bytes,
        minor_collections: now.minor_collections - before.minor_collections,
        major_collections: now.major_collections - before.major_collections,
        promoted_bytes: now.promoted_bytes - before.promoted_bytes,
        copied_bytes: now.copied_bytes - before.copied_bytes,
        pause_total: now.pause_total - before.pause_total,
        ..now.clone()
    }
}
