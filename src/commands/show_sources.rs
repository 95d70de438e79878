//! `vm show-sources`: a program's profiling sources as `mlprof` reads them.

use std::path::Path;
use std::process::ExitCode;

use assembler::AssembleOptions;

use super::{fail, print};
use crate::cli::exit;
use crate::program;

/// Prints the sources of a program.
pub(crate) fn run(path: &Path) -> ExitCode {
    let module = match program::load(path, AssembleOptions::default()) {
        Ok(module) => module,
        Err(message) => return fail(&message, exit::FAILED),
    };
    let mut text = Vec::new();
    match module.source_map().write_show_sources(&mut text) {
        Ok(()) => print(&text),
        Err(error) => fail(&error.to_string(), exit::FAILED),
    }
}
