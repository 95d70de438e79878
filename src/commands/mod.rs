//! One module for each subcommand.

pub(crate) mod asm;
pub(crate) mod check;
pub(crate) mod dis;
pub(crate) mod mem;
pub(crate) mod prof;
pub(crate) mod repl;
pub(crate) mod run;
pub(crate) mod show_sources;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::exit;

/// Prints an error and gives its exit code.
fn fail(message: &str, code: u8) -> ExitCode {
    // Standard error may be closed; the exit code still tells.
    let _ = writeln!(io::stderr(), "vm: {}", message.trim_end());
    ExitCode::from(code)
}

/// Writes to standard output. A reader that has gone away is no failure of ours.
fn print(bytes: &[u8]) -> ExitCode {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(&format!("standard output: {error}"), exit::FAILED),
    }
}
