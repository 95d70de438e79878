//! `vm asm`: text to a `.bc` file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use assembler::AssembleOptions;
use vm::module;

use super::{fail, print};
use crate::cli::{AsmArgs, exit};
use crate::program;

/// Assembles a file. The `.bc` starts with a `#!` line and may be run.
pub(crate) fn run(args: &AsmArgs) -> ExitCode {
    let options = AssembleOptions {
        tail_calls: args.tail_calls.into(),
        profile_branch: args.profile_branch,
        inline_ops: args.inline,
        opt_level: args.opt_level.into(),
        ..AssembleOptions::default()
    };
    let module = match program::load_watched(&args.file, options, &args.print_after) {
        Ok(module) => module,
        Err(message) => return fail(&message, exit::FAILED),
    };
    let bytes = module::write(&module);
    let from_stdin = args.file == Path::new("-");
    let output = match &args.output {
        Some(output) => output.clone(),
        None if from_stdin => {
            return fail(
                "what comes from standard input needs `-o OUT.bc`",
                exit::USAGE,
            );
        }
        None => args.file.with_extension("bc"),
    };
    if output == Path::new("-") {
        return print(&bytes);
    }
    let written = fs::write(&output, &bytes).and_then(|()| {
        let mut permissions = fs::metadata(&output)?.permissions();
        // Whoever may read the file may run it.
        let readers = permissions.mode() & 0o444;
        permissions.set_mode(permissions.mode() | readers >> 2);
        fs::set_permissions(&output, permissions)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{}: {error}", output.display()), exit::FAILED),
    }
}
