//! `vm run`: runs a program, takes its profiles, reports.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};

use assembler::AssembleOptions;
use profiler::memory::MemoryFile;
use profiler::memory::report::{self as memory_report, MemoryReportOptions};
use profiler::mlmon::Mlmon;
use profiler::report::{self, Options};
use profiler::{Kind, KindSet, Profile, ProfileData, Rate, SourceFilter, SourceMap, Style};
use vm::host::{HostIo, Hosts};
use vm::memprof::MemprofConfig;
use vm::{GcStress, HeapConfig, Outcome, RunError, Trap, Vm, VmConfig, profile_path};

use super::{fail, show_sources};
use crate::cli::{RunArgs, exit};
use crate::profiles::numbered;
use crate::{program, sandbox, signals};

/// Runs a program.
pub(crate) fn run(args: &RunArgs) -> ExitCode {
    let path = args
        .program
        .as_deref()
        .expect("clap has made sure of a program");
    if args
        .arguments
        .iter()
        .map(|one| one.as_os_str())
        .eq(["@MLton", "show-sources"])
    {
        return show_sources::run(path);
    }
    let filter = match SourceFilter::parse(&args.profile_include, &args.profile_exclude) {
        Ok(filter) => filter,
        Err(error) => return fail(&error.to_string(), exit::USAGE),
    };
    let options = AssembleOptions {
        tail_calls: args.tail_calls.into(),
        profile_branch: args.profile_branch,
        inline_ops: args.inline,
        opt_level: args.opt_level.into(),
        ..AssembleOptions::default()
    };
    let module = match program::load_watched(path, options, &args.print_after) {
        Ok(module) => module,
        Err(message) => return fail(&message, exit::FAILED),
    };
    let sources = module.source_map();
    let profiles = args.profile.unwrap_or_default();
    let kinds = profiles.counted_kinds();
    let is_profiled = !kinds.is_empty() || args.profile_elided.is_some();
    let profile = is_profiled.then(|| Arc::new(profile_of(args, kinds, &filter, &sources)));
    let arguments = args
        .arguments
        .iter()
        .map(|one| one.as_bytes().to_vec())
        .collect();
    let policy = match sandbox::policy(args) {
        Ok(policy) => policy,
        Err(message) => return fail(&message, exit::USAGE),
    };
    let io = HostIo::process(arguments).with_program_name(path.as_os_str().as_bytes());
    let hosts = Hosts::standard(io).with_policy(policy);
    let mut vm = match Vm::new(module, hosts, config(args, profile.clone())) {
        Ok(vm) => vm,
        Err(error) => return fail(&error.to_string(), exit::FAILED),
    };
    if let Err(error) = signals::end_run_on_signal(&vm.interrupt()) {
        return fail(&format!("cannot watch for signals: {error}"), exit::FAILED);
    }
    if !profiles.is_empty()
        && let Err(error) = write_snapshots(&mut vm, args, path, sources.clone())
    {
        return fail(&format!("cannot watch for SIGUSR1: {error}"), exit::FAILED);
    }
    let result = vm.run();
    let mut code = end_code(&mut vm, &result);
    if args.gc_stats {
        let _ = write!(io::stderr(), "{}", vm.heap_stats());
    }
    if let Ok(Some(data)) = vm.unit_data(vm.current_unit())
        && let Err(message) =
            write_profiles(args, path, data, profiles.kinds, &sources, vm.tick_rate())
    {
        fail(&message, exit::FAILED);
        code = code.max(exit::FAILED);
    }
    if let Some(data) = profile.as_deref().and_then(Profile::elided)
        && let Err(message) = write_elided(args, path, data, &sources)
    {
        fail(&message, exit::FAILED);
        code = code.max(exit::FAILED);
    }
    if let Some(file) = vm.memory_file(&path.display().to_string())
        && let Err(message) = write_memory(args, &file)
    {
        fail(&message, exit::FAILED);
        code = code.max(exit::FAILED);
    }
    if let Err(RunError::Trap {
        trap: Trap::Interrupted(signal),
        ..
    }) = result
    {
        signals::die_of(signal);
        code = exit::SIGNAL.wrapping_add(signal);
    }
    ExitCode::from(code)
}

/// The exit code of a run, once its output is written and its error told.
fn end_code(vm: &mut Vm, result: &Result<Outcome, RunError>) -> u8 {
    let flushed = vm.io().flush();
    let code = match result {
        Ok(Outcome::Returned(_)) => 0,
        Ok(Outcome::ExitCode(code)) => *code,
        Err(error) => {
            let help = sandbox::help(error).unwrap_or_default();
            fail(&(vm.describe_error(error) + help), exit::FAILED);
            exit::FAILED
        }
    };
    match flushed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && code == 0 => {
            fail(&format!("standard output: {error}"), exit::FAILED);
            exit::FAILED
        }
        _ => code,
    }
}

fn config(args: &RunArgs, profile: Option<Arc<Profile>>) -> VmConfig {
    let stress = if args.gc_stress {
        GcStress::On
    } else {
        GcStress::Off
    };
    let heap = HeapConfig {
        nursery_bytes: args.nursery,
        max_bytes: args.max_heap,
        stress,
        peak_percent: args.peak_gc,
    };
    VmConfig {
        heap,
        stack_bytes: args.max_stack,
        fuel: args.fuel,
        profile,
        census: args.profile.is_some_and(|profiles| profiles.heap),
        sampling: args
            .profile
            .and_then(|profiles| profiles.sampling_rate)
            .map(|rate| MemprofConfig {
                rate,
                seed: args.seed,
                call_lines: args.call_lines,
                ..MemprofConfig::default()
            }),
        ..VmConfig::default()
    }
}

fn profile_of(
    args: &RunArgs,
    kinds: KindSet,
    filter: &SourceFilter,
    sources: &SourceMap,
) -> Profile {
    let style = if args.profile_stack {
        Style::Stack
    } else {
        Style::Current
    };
    let profile = Profile::new(kinds, sources.sources.len())
        .with_hz(args.hz)
        .with_style(style)
        .with_fold_recursion(args.fold_recursion)
        .with_node_limit(args.max_contexts)
        .with_filter(filter, sources);
    match args.profile_elided {
        Some(_) => profile.with_elided(),
        None => profile,
    }
}

/// Lets SIGUSR1 write the profiles as they are at that moment, or has them written every so often.
fn write_snapshots(
    vm: &mut Vm,
    args: &RunArgs,
    program: &Path,
    sources: SourceMap,
) -> io::Result<()> {
    let profiles = args.profile.unwrap_or_default();
    let asked = args.profile_out.clone();
    let is_numbered = args.snapshot_every.is_some();
    let name = program.display().to_string();
    let mut n_snapshots = 0;
    let (taken, is_taken) = mpsc::channel();
    vm.on_snapshot(move |snapshot| {
        n_snapshots += 1;
        let place = |path: PathBuf| match is_numbered {
            true => numbered(&path, &n_snapshots.to_string()),
            false => path,
        };
        let written = match snapshot.data() {
            Some(data) => write_files(data, profiles.kinds, &sources, |kind| {
                place(profile_path(asked.as_deref(), profiles.kinds, kind))
            }),
            None => Ok(()),
        };
        let memory = snapshot.memory_file(&name).map_or(Ok(()), |file| {
            write_memory_file(&file, &place(profiles.memory_path(asked.as_deref())))
        });
        if let Err(message) = written.and(memory) {
            fail(&message, exit::FAILED);
        }
        // Without a thread that waits there is nobody to tell.
        let _ = taken.send(());
    });
    if let Some(interval) = args.snapshot_every {
        signals::snapshot_every(vm.interrupt(), interval, is_taken)?;
    }
    signals::snapshot_on_signal(&vm.interrupt())
}

/// Writes the memory profile and prints its table to standard error.
fn write_memory(args: &RunArgs, file: &MemoryFile) -> Result<(), String> {
    let profiles = args.profile.unwrap_or_default();
    let path = profiles.memory_path(args.profile_out.as_deref());
    write_memory_file(file, &path)?;
    let mut table = Vec::new();
    let shown = memory_report::run(file, &MemoryReportOptions::default(), &mut table);
    shown.map_err(|error| error.to_string())?;
    // The table is for a reader; without standard error there is none.
    let _ = io::stderr().write_all(&table);
    Ok(())
}

fn write_memory_file(file: &MemoryFile, path: &Path) -> Result<(), String> {
    file.write_file(path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes each kind's file.
fn write_files(
    data: &ProfileData,
    kinds: KindSet,
    sources: &SourceMap,
    path: impl Fn(Kind) -> PathBuf,
) -> Result<(), String> {
    for kind in kinds.iter() {
        let path = path(kind);
        let written = data.write(kind, sources, &path);
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Writes each kind's file and prints its table to standard error.
fn write_profiles(
    args: &RunArgs,
    program: &Path,
    data: &ProfileData,
    kinds: KindSet,
    sources: &SourceMap,
    rate: Option<Rate>,
) -> Result<(), String> {
    write_files(data, kinds, sources, |kind| {
        profile_path(args.profile_out.as_deref(), kinds, kind)
    })?;
    if let Some(notice) = data.notice() {
        fail(&notice, exit::FAILED);
    }
    for kind in kinds.iter() {
        let file = data.mlmon(kind, sources);
        let file = file.map_err(|error| error.to_string())?;
        print_table(program, sources, file)?;
    }
    if let Some(summary) = rate.and_then(|rate| rate.summary()) {
        let _ = writeln!(io::stderr(), "{summary}");
    }
    Ok(())
}

/// Writes the frames that tail calls gave up, and prints their table.
fn write_elided(
    args: &RunArgs,
    program: &Path,
    data: &ProfileData,
    sources: &SourceMap,
) -> Result<(), String> {
    let path = args.profile_elided.as_deref().unwrap_or(Path::new(""));
    let written = data.write(Kind::Count, sources, path);
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let file = data.mlmon(Kind::Count, sources);
    let file = file.map_err(|error| error.to_string())?;
    let _ = writeln!(io::stderr(), "frames that tail calls gave up:");
    print_table(program, sources, file)
}

/// Prints a table to standard error.
fn print_table(program: &Path, sources: &SourceMap, file: Mlmon) -> Result<(), String> {
    let mut table = Vec::new();
    let name = program.display().to_string();
    let shown = report::run(&name, sources, &[file], &Options::default(), &mut table);
    shown.map_err(|error| error.to_string())?;
    // The table is for a reader; without standard error there is none.
    let _ = io::stderr().write_all(&table);
    Ok(())
}
