//! `vm check`: verifies files without running them.

use std::process::ExitCode;

use assembler::AssembleOptions;

use super::fail;
use crate::cli::{CheckArgs, exit};
use crate::program;

/// Verifies each file and prints what is wrong with it; silent when all is well.
pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for file in &args.files {
        if let Err(message) = program::load(file, AssembleOptions::default()) {
            code = fail(&message, exit::FAILED);
        }
    }
    code
}
