//! `vm dis`: a `.bc` file as canonical text.

use std::process::ExitCode;

use assembler::{self, AssembleOptions};

use super::{fail, print};
use crate::cli::{DisArgs, exit};
use crate::program;

/// Prints a module; assembling the text gives the same bytes again.
pub(crate) fn run(args: &DisArgs) -> ExitCode {
    let options = AssembleOptions {
        opt_level: args.opt_level.into(),
        ..AssembleOptions::default()
    };
    match program::load_watched(&args.file, options, &args.print_after) {
        Ok(module) => print(assembler::print_verified(&module).as_bytes()),
        Err(message) => fail(&message, exit::FAILED),
    }
}
