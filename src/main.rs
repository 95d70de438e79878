//! The `vm` command: argument parsing and printing only.

mod cli;
mod commands;
mod profiles;
mod program;
mod sandbox;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    cli::dispatch(&arguments)
}
