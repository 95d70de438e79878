//! `vm run`: runs a program, takes its profiles, reports.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use repl::assembler::AssembleOptions;
use repl::assembler::vm::host::{HostIo, Hosts};
use repl::assembler::vm::profiler::report::{self, Options};
use repl::assembler::vm::profiler::{Kind, KindSet, Profile, SourceMap, Style};
use repl::assembler::vm::{
    GcStress, HeapConfig, Outcome, RunError, Trap, Vm, VmConfig, profiler::mlmon::Mlmon,
};

use super::{fail, show_sources};
use crate::cli::{RunArgs, exit};
use crate::{program, signals};

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
    let options = AssembleOptions {
        tail_calls: args.tail_calls.into(),
        profile_branch: args.profile_branch,
        ..AssembleOptions::default()
    };
    let module = match program::load(path, options) {
        Ok(module) => module,
        Err(message) => return fail(&message, exit::FAILED),
    };
    let sources = module.source_map();
    let kinds = args.profile.unwrap_or(KindSet::EMPTY);
    let profile = (!kinds.is_empty()).then(|| Arc::new(profile_of(args, kinds, &sources)));
    let arguments = args
        .arguments
        .iter()
        .map(|one| one.as_bytes().to_vec())
        .collect();
    let hosts = Hosts::standard(HostIo::process(arguments));
    let mut vm = match Vm::new(module, hosts, config(args, profile.clone())) {
        Ok(vm) => vm,
        Err(error) => return fail(&error.to_string(), exit::FAILED),
    };
    if let Err(error) = signals::end_run_on_signal(&vm.interrupt()) {
        return fail(&format!("cannot watch for signals: {error}"), exit::FAILED);
    }
    if let Some(profile) = &profile
        && let Err(error) = write_snapshots(&mut vm, args, profile.clone(), sources.clone())
    {
        return fail(&format!("cannot watch for SIGUSR1: {error}"), exit::FAILED);
    }
    let result = vm.run();
    let flushed = vm.hosts().io().flush();
    let mut code = match &result {
        Ok(Outcome::Returned(_)) => 0,
        Ok(Outcome::ExitCode(code)) => *code,
        Err(error) => {
            fail(&vm.describe_error(error), exit::FAILED);
            exit::FAILED
        }
    };
    match flushed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && code == 0 => {
            fail(&format!("standard output: {error}"), exit::FAILED);
            code = exit::FAILED;
        }
        _ => {}
    }
    if args.gc_stats {
        let _ = write!(io::stderr(), "{}", vm.heap_stats());
    }
    if let Some(profile) = profile
        && let Err(message) = write_profiles(args, path, &profile, &sources)
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
    };
    VmConfig {
        heap,
        stack_bytes: args.max_stack,
        fuel: args.fuel,
        profile,
        ..VmConfig::default()
    }
}

fn profile_of(args: &RunArgs, kinds: KindSet, sources: &SourceMap) -> Profile {
    let style = if args.profile_stack {
        Style::Stack
    } else {
        Style::Current
    };
    Profile::new(kinds, sources.sources.len())
        .with_hz(args.hz)
        .with_style(style)
        .with_fold_recursion(args.fold_recursion)
}

/// Lets SIGUSR1 write the profile as it is at that moment.
fn write_snapshots(
    vm: &mut Vm,
    args: &RunArgs,
    profile: Arc<Profile>,
    sources: SourceMap,
) -> io::Result<()> {
    let asked = args.profile_out.clone();
    vm.on_snapshot(move || {
        if let Err(message) = write_files(asked.as_deref(), &profile, &sources) {
            fail(&message, exit::FAILED);
        }
    });
    signals::snapshot_on_signal(&vm.interrupt())
}

/// Writes each kind's file.
fn write_files(asked: Option<&Path>, profile: &Profile, sources: &SourceMap) -> Result<(), String> {
    for kind in profile.kinds().iter() {
        let path = profile_path(asked, profile.kinds(), kind);
        let written = profile.write(kind, sources, &path);
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Writes each kind's file and prints its table to standard error.
fn write_profiles(
    args: &RunArgs,
    program: &Path,
    profile: &Profile,
    sources: &SourceMap,
) -> Result<(), String> {
    write_files(args.profile_out.as_deref(), profile, sources)?;
    if let Some(notice) = profile.data().notice() {
        fail(&notice, exit::FAILED);
    }
    for kind in profile.kinds().iter() {
        let file: Mlmon = profile
            .data()
            .mlmon(kind, sources)
            .map_err(|error| error.to_string())?;
        let mut table = Vec::new();
        let name = program.display().to_string();
        report::run(&name, sources, &[file], &Options::default(), &mut table)
            .map_err(|error| error.to_string())?;
        // The table is for a reader; without standard error there is none.
        let _ = io::stderr().write_all(&table);
    }
    Ok(())
}

/// Where a kind's counts go: `mlmon.out`, or with the kind in the name when there are several.
fn profile_path(asked: Option<&Path>, kinds: KindSet, kind: Kind) -> PathBuf {
    let path = asked.unwrap_or(Path::new("mlmon.out"));
    if kinds.len() == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{kind}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_kinds_have_the_kind_in_the_file_name() {
        let both: KindSet = "time,count".parse().expect("two kinds");
        let one: KindSet = "count".parse().expect("a kind");
        let name =
            |asked: Option<&str>, kinds| profile_path(asked.map(Path::new), kinds, Kind::Count);
        assert_eq!(name(None, one), Path::new("mlmon.out"));
        assert_eq!(name(None, both), Path::new("mlmon.count.out"));
        assert_eq!(name(Some("a/p.mon"), one), Path::new("a/p.mon"));
        assert_eq!(name(Some("a/p.mon"), both), Path::new("a/p.count.mon"));
    }
}
