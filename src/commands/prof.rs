//! `vm prof`: what `mlprof` does, for programs of ours and of MLton's.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use repl::assembler::AssembleOptions;
use repl::assembler::vm::module;
use repl::assembler::vm::profiler::SourceMap;
use repl::assembler::vm::profiler::report::{USAGE, UsageError, load_sources, parse_args};

use super::{fail, print};
use crate::cli::exit;
use crate::program;

/// Shows profiles; the arguments are mlprof's.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let invocation = match parse_args(arguments) {
        Ok(invocation) => invocation,
        Err(UsageError::Help) => return print(USAGE.as_bytes()),
        Err(UsageError::Wrong(message)) => {
            return fail(&format!("{message}\n{USAGE}"), exit::USAGE);
        }
    };
    let sources = match sources_of(&invocation.program) {
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

/// The sources of a `.bc` file, of assembly text, or of an executable that is asked for them.
fn sources_of(program: &Path) -> Result<SourceMap, String> {
    if is_ours(program) {
        let module = program::load(program, AssembleOptions::default())?;
        return Ok(module.source_map());
    }
    load_sources(program).map_err(|error| error.to_string())
}

/// Whether a file is a module, or text with the ending `.asm`; anything else must run by itself.
fn is_ours(program: &Path) -> bool {
    if program.extension().is_some_and(|ending| ending == "asm") {
        return true;
    }
    let mut start = Vec::new();
    let read = File::open(program).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && module::strip_interpreter_line(&start).starts_with(&module::MAGIC)
}
