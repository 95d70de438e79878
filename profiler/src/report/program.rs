//! Asking a program for its sources.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ReportError;
use crate::{SourceMap, parse_show_sources};

/// The most that is read of what a program prints, in bytes.
const MAX_OUTPUT_BYTES: u64 = 1 << 28;

/// Runs `program`, an executable that MLton or Tally made, with `@MLton show-sources`, and reads
/// what it prints. Names that are not UTF-8 get replacement characters.
///
/// # Errors
/// If the program cannot be run, prints something else, or was not compiled for profiling.
pub fn load_sources(program: &Path) -> Result<SourceMap, ReportError> {
    let no_program = |problem| ReportError::NoProgram {
        program: program.to_owned(),
        problem,
    };
    let start = |error| ReportError::Start(program.to_owned(), error);
    let metadata = fs::metadata(program).map_err(|_| no_program("does not exist"))?;
    if !metadata.is_file() || !is_executable(&metadata) {
        return Err(no_program("is not an executable file"));
    }
    // An absolute path, so that a name with no slash is not looked up in PATH.
    let absolute = std::path::absolute(program).map_err(start)?;
    let output = show_sources(absolute).map_err(start)?;
    let map = parse_show_sources(&String::from_utf8_lossy(&output));
    let map = map.map_err(|error| ReportError::ShowSources(program.to_owned(), error))?;
    if map.names.is_empty() {
        return Err(ReportError::NotProfiled(program.to_owned()));
    }
    Ok(map)
}

fn show_sources(program: PathBuf) -> io::Result<Vec<u8>> {
    let mut child = Command::new(program)
        .args(["@MLton", "show-sources"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = Vec::new();
    let read = match child.stdout.take() {
        Some(stdout) => stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut output),
        None => Ok(0),
    };
    // Its output is read, or is too long to be a source map: either way it is of no more use. The
    // kill fails if it has ended, which is the usual case.
    if read.is_err() || output.len() as u64 == MAX_OUTPUT_BYTES {
        let _ = child.kill();
    }
    child.wait()?;
    read.map(|_| output)
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &fs::Metadata) -> bool {
    true
}
