//! `vm repl`: an interactive session.

use std::process::ExitCode;

use repl::{Reply, Session};

use super::{fail, print};
use crate::cli::{ReplArgs, exit};

/// Starts a session, with these files loaded.
pub(crate) fn run(args: &ReplArgs) -> ExitCode {
    let mut session = Session::new();
    for file in &args.files {
        if let Reply::Text(text) = session.answer(&format!(":load {}", file.display())) {
            print(text.as_bytes());
        }
    }
    match repl::interact(&mut session) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string(), exit::FAILED),
    }
}
