//! What `--sandbox` and the flags beside it allow a program.

use std::path::Path;

use vm::RunError;
use vm::host::{Denied, Policy};

use crate::cli::RunArgs;

/// The policy that the command line asks for: everything, or what is given back to a sandbox.
pub(crate) fn policy(args: &RunArgs) -> Result<Policy, String> {
    if !args.sandbox {
        return Ok(Policy::everything());
    }
    let mut policy = Policy::nothing();
    for folder in &args.allow_read {
        let allowed = policy.with_read(folder);
        policy = allowed.map_err(|error| refused("--allow-read", folder, &error))?;
    }
    for folder in &args.allow_write {
        let allowed = policy.with_write(folder);
        policy = allowed.map_err(|error| refused("--allow-write", folder, &error))?;
    }
    if args.allow_env {
        policy = policy.with_environment();
    }
    if args.allow_clock {
        policy = policy.with_clock();
    }
    Ok(policy)
}

fn refused(flag: &str, folder: &Path, error: &std::io::Error) -> String {
    let folder = folder.display();
    format!("{flag} {folder}: {error}; it must name a folder that is there")
}

/// What the user can do about an error: the flag that allows what was denied.
pub(crate) fn help(error: &RunError) -> Option<&'static str> {
    let RunError::Uncaught {
        denied: Some(denied),
        ..
    } = error
    else {
        return None;
    };
    Some(match denied {
        Denied::Read(_) => "help: --allow-read DIR allows a sandboxed program to read files in DIR",
        Denied::Write(_) => {
            "help: --allow-write DIR allows a sandboxed program to write files in DIR"
        }
        Denied::Environment => "help: --allow-env allows a sandboxed program the environment",
        Denied::Clock => "help: --allow-clock allows a sandboxed program to look at clocks",
    })
}
