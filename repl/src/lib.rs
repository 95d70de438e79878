//! The interactive session.
//!
//! For now a shell around one question per line: a `.bc` or assembly file to run, with its
//! profile. [`Session`] is pure, a line in and text out; rustyline stands at the edge, in
//! [`interact`].

mod session;

use std::io;

pub use assembler;
pub use session::{Reply, Session};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

/// Reads lines from the terminal, or from standard input when it is none, until its end or
/// `:quit`.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn interact(session: &mut Session) -> io::Result<()> {
    let mut editor = DefaultEditor::new().map_err(io::Error::other)?;
    loop {
        match editor.readline("vm> ") {
            Ok(line) => {
                // History is a convenience: a line that cannot be kept is still answered.
                let _ = editor.add_history_entry(line.as_str());
                match session.answer(&line) {
                    Reply::Text(text) => print_text(&text)?,
                    Reply::Quit => return Ok(()),
                }
            }
            Err(ReadlineError::Interrupted) => print_text(":quit leaves the session\n")?,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

fn print_text(text: &str) -> io::Result<()> {
    use io::Write;
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}
