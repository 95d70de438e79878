//! `vm repl`: an interactive session.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use repl::{Session, SessionIo, SharedLines};

use super::fail;
use crate::cli::{ReplArgs, exit};
use crate::signals;

/// Starts a session, with these files loaded.
pub(crate) fn run(args: &ReplArgs) -> ExitCode {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    // Without a terminal the input is shared: what follows a program that reads is its input.
    let lines: Option<SharedLines> = match &args.batch {
        Some(path) => match File::open(path) {
            Ok(file) => Some(Arc::new(Mutex::new(BufReader::new(file)))),
            Err(error) => {
                return fail(&format!("{}: {error}", path.display()), exit::FAILED);
            }
        },
        None if is_terminal => None,
        None => Some(Arc::new(Mutex::new(BufReader::new(io::stdin())))),
    };
    let mut session_io = SessionIo::process();
    if let (Some(lines), None) = (&lines, &args.batch) {
        session_io = session_io.with_lines(lines.clone());
    }
    let mut session = Session::new(session_io).with_opt_level(args.opt_level.into());
    if args.gc_stress {
        session = session.with_gc_stress();
    }
    for file in &args.files {
        let text = session.load(file);
        if let Err(error) = session.io().write_text(&text) {
            return fail(&format!("standard output: {error}"), exit::FAILED);
        }
    }
    let result = match &lines {
        Some(lines) => repl::batch(&mut session, lines),
        None => {
            if let Err(error) = signals::stop_evaluation_on_signal(&session.interrupt()) {
                return fail(&format!("cannot watch for signals: {error}"), exit::FAILED);
            }
            repl::interact(&mut session)
        }
    };
    match result {
        // At a terminal the user has seen the errors.
        Ok(()) if lines.is_some() && session.n_errors() > 0 => ExitCode::from(exit::FAILED),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string(), exit::FAILED),
    }
}
