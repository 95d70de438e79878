//! `vm prof`: what `mlprof` does, for programs of ours and of MLton's.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use assembler::{AssembleOptions, OptLevel, TailCalls};
use clap::ValueEnum;
use profiler::SourceMap;
use profiler::mlmon::Mlmon;
use profiler::report::{Invocation, USAGE, UsageError, load_sources, parse_args};
use vm::module;

use super::{fail, print};
use crate::cli::{DEFAULT_INLINE_OPS, TailCallsArg, exit};
use crate::program;

/// What `vm prof` understands besides `mlprof`'s options.
const OWN_USAGE: &str = "\
Of a program that is assembly text, the options of its run are found out; or they are given here:
  --tail-calls=WHEN  --profile-branch  --inline=OPS  -O0 -O1 -O2
";

/// Shows profiles; the arguments are mlprof's.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let usage = format!("{USAGE}{OWN_USAGE}");
    let parsed = take_options(arguments)
        .map_err(UsageError::Wrong)
        .and_then(|(options, rest)| Ok((options, parse_args(&rest)?)));
    let (options, invocation) = match parsed {
        Ok(parsed) => parsed,
        Err(UsageError::Help) => return print(usage.as_bytes()),
        Err(UsageError::Wrong(message)) => {
            return fail(&format!("{message}\n{usage}"), exit::USAGE);
        }
    };
    let sources = match sources_of(&invocation, options) {
        Ok(sources) => sources,
        Err(message) => return fail(&message, exit::FAILED),
    };
    let mut text = Vec::new();
    let result = invocation.report(&sources, &mut text, &mut |skipped| {
        let _ = writeln!(io::stderr(), "vm: {skipped}");
    });
    match result {
        Ok(()) => print(&text),
        Err(error) => fail(&error.to_string(), exit::FAILED),
    }
}

/// Takes the options for assembling a program out of the arguments; `None` if there are none.
fn take_options(
    arguments: &[OsString],
) -> Result<(Option<AssembleOptions>, Vec<OsString>), String> {
    let mut options = AssembleOptions::default();
    let mut rest = Vec::new();
    for argument in arguments {
        let (name, value) = match argument.to_str().and_then(|text| text.split_once('=')) {
            Some((name, value)) => (name, Some(value)),
            None => (argument.to_str().unwrap_or_default(), None),
        };
        match (name, value) {
            ("--tail-calls", Some(value)) => {
                let arg = TailCallsArg::from_str(value, false);
                let wrong = |_| "--tail-calls requires always, self-only or never".to_owned();
                options.tail_calls = arg.map_err(wrong)?.into();
            }
            ("--profile-branch", None) => options.profile_branch = true,
            ("--inline", _) => {
                let ops = value.map_or(Ok(DEFAULT_INLINE_OPS), str::parse);
                let ops = ops.map_err(|_| "--inline requires a number of ops".to_owned())?;
                options.inline_ops = Some(ops);
            }
            ("-O0", None) => options.opt_level = OptLevel::O0,
            ("-O1", None) => options.opt_level = OptLevel::O1,
            ("-O2", None) => options.opt_level = OptLevel::O2,
            _ => rest.push(argument.clone()),
        }
    }
    let is_given = rest.len() < arguments.len();
    Ok((is_given.then_some(options), rest))
}

/// The sources of a `.bc` file, of assembly text, or of an executable that is asked for them.
fn sources_of(
    invocation: &Invocation,
    options: Option<AssembleOptions>,
) -> Result<SourceMap, String> {
    let program = &invocation.program;
    if !is_ours(program) {
        return load_sources(program).map_err(|error| error.to_string());
    }
    let read = |options| program::load(program, options).map(|module| module.source_map());
    let is_given = options.is_some();
    let sources = read(options.unwrap_or_default())?;
    let files = invocation.profile_files().unwrap_or_default();
    let profile = files.iter().find_map(|file| Mlmon::read_file(file).ok());
    let Some(magic) = profile.map(|profile| profile.magic) else {
        return Ok(sources);
    };
    if magic == sources.magic || is_given || is_module(program) {
        return Ok(sources);
    }
    for options in likely_options() {
        let others = read(options)?;
        if others.magic == magic {
            return Ok(others);
        }
    }
    let hint = format!(
        "{} makes no program of this profile under the usual options; if it was taken with \
         --inline=OPS, give that here too",
        program.display()
    );
    fail(&hint, exit::FAILED);
    Ok(sources)
}

/// The options that a text may have been assembled with, but for the sizes of what is inlined.
fn likely_options() -> impl Iterator<Item = AssembleOptions> {
    let all = [OptLevel::O1, OptLevel::O2, OptLevel::O0].into_iter();
    let all = all.flat_map(|level| [None, Some(DEFAULT_INLINE_OPS)].map(|inline| (level, inline)));
    all.flat_map(|(opt_level, inline_ops)| {
        [TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never]
            .into_iter()
            .flat_map(move |tail_calls| {
                [false, true].map(|profile_branch| AssembleOptions {
                    tail_calls,
                    profile_branch,
                    inline_ops,
                    opt_level,
                    ..AssembleOptions::default()
                })
            })
    })
}

/// Whether a file is a module, or text with the ending `.asm`; anything else must run by itself.
fn is_ours(program: &Path) -> bool {
    program.extension().is_some_and(|ending| ending == "asm") || is_module(program)
}

fn is_module(program: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(program).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && module::strip_interpreter_line(&start).starts_with(&module::MAGIC)
}
