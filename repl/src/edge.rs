//! The edge of a session: a terminal, or lines from a file or a pipe.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::PoisonError;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, CompletionType, Config, Context, Editor, Event, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers,
};

use crate::complete::{self, Names};
use crate::io::SharedLines;
use crate::session::{Reply, Session};
use crate::{highlight, validate};

/// Entries that history keeps.
const HISTORY: usize = 10_000;

/// Reads entries from lines and answers them, until the end or `:quit`. Prompts and entries are
/// written too, so that what comes out reads as at a terminal.
///
/// # Errors
/// When the lines cannot be read, or the output written.
pub fn batch(session: &mut Session, lines: &SharedLines) -> io::Result<()> {
    let next_line = || {
        let mut bytes = Vec::new();
        // The lock is not held while an entry is answered: its programs read from here too.
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let count = lines.read_until(b'\n', &mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        io::Result::Ok((count > 0).then_some(text))
    };
    let mut entry = String::new();
    loop {
        let line = next_line()?;
        let is_end = line.is_none();
        if is_end && entry.is_empty() {
            return Ok(());
        }
        entry += line.as_deref().unwrap_or_default();
        if !is_end && Session::is_open(&entry) {
            continue;
        }
        let text = entry.trim_end_matches(['\n', '\r']);
        session
            .io()
            .write_text(&format!("{}{text}\n", session.prompt()))?;
        match session.answer(text) {
            Reply::Text(answer) => session.io().write_text(&answer)?,
            Reply::Quit => return Ok(()),
        }
        entry.clear();
    }
}

/// Reads entries from the terminal and answers them, until its end or `:quit`.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn interact(session: &mut Session) -> io::Result<()> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .color_mode(if has_colours() {
            ColorMode::Enabled
        } else {
            ColorMode::Disabled
        })
        .history_ignore_space(true)
        .max_history_size(HISTORY)
        .map_err(io::Error::other)?
        .build();
    let mut editor: Editor<Edge, DefaultHistory> =
        Editor::with_config(config).map_err(io::Error::other)?;
    editor.set_helper(Some(Edge::default()));
    let newline = KeyEvent(KeyCode::Enter, Modifiers::ALT);
    editor.bind_sequence(Event::from(newline), EventHandler::Simple(Cmd::Newline));
    let history = history_path();
    if let Some(path) = &history {
        // There is none at first, and a broken one is no reason to stop.
        let _ = editor.load_history(path);
    }
    loop {
        if let Some(edge) = editor.helper_mut() {
            edge.names = Names::of(session);
        }
        let entry = match editor.readline(&session.prompt()) {
            Ok(entry) => entry,
            Err(ReadlineError::Interrupted) => {
                session
                    .io()
                    .write_text(":quit or Ctrl-D leaves the session\n")?;
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(()),
            // A signal, such as that of a window that changes its size, is no entry.
            Err(ReadlineError::Signal(_)) => continue,
            Err(error) => return Err(io::Error::other(error)),
        };
        // History is a convenience: an entry that cannot be kept is still answered.
        if !entry.trim().is_empty()
            && editor
                .add_history_entry(entry.as_str())
                .is_ok_and(|new| new)
            && let Some(path) = &history
        {
            let _ = editor.append_history(path);
        }
        match session.answer(&entry) {
            Reply::Text(text) => session.io().write_text(&text)?,
            Reply::Quit => return Ok(()),
        }
        io::stdout().flush()?;
        session.settle();
    }
}

/// Whether the user wants colours: <https://no-color.org>.
fn has_colours() -> bool {
    let is_unset = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    is_unset && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Where history is kept: in the XDG state folder, which is made.
fn history_path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    let folder = state.or_else(home)?.join("vm");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}

/// What the editor asks while an entry is typed.
#[derive(Default)]
struct Edge {
    names: Names,
    files: FilenameCompleter,
}

impl Helper for Edge {}

impl Completer for Edge {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let found = complete::complete(&self.names, line, at);
        let pairs = found.words.into_iter().map(|word| Pair {
            display: word.clone(),
            replacement: word,
        });
        let pairs: Vec<Pair> = pairs.collect();
        if found.files && pairs.is_empty() {
            return self.files.complete_path(line, at);
        }
        Ok((found.start, pairs))
    }
}

/// A remark that no key takes over.
struct Hint(String);

impl rustyline::hint::Hint for Hint {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl rustyline::hint::Hinter for Edge {
    type Hint = Hint;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<Hint> {
        let is_at_end = at == line.len();
        is_at_end.then(|| complete::hint(&self.names, line).map(Hint))?
    }
}

impl Highlighter for Edge {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(highlight::highlight(line))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(highlight::faint(hint))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl Validator for Edge {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match validate::is_open(context.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}
