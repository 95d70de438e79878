//! The commands of a session. [`COMMANDS`] is the one list of them: dispatch, help, completion and
//! `docs/repl.md` follow from it.

mod arguments;
mod control;
mod costs;
mod counts;
mod files;
mod help;
mod memory;
mod profile;
mod table;

pub(crate) use files::{load_file, signature};
pub(crate) use help::form;
pub use help::{command_names, manual};
pub(crate) use table::COMMANDS;

use crate::session::Session;

/// A command.
pub(crate) struct Command {
    /// The name, of two words when it is one of a family: `:prof diff`.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) arguments: &'static str,
    /// What it does, in a few words.
    pub(crate) summary: &'static str,
    /// What else there is to say, in sentences.
    pub(crate) details: &'static str,
    pub(crate) group: Group,
    /// What can stand behind the name.
    pub(crate) completes: Completes,
    run: fn(&mut Session, &str) -> Result<String, String>,
}

/// What commands are about; help lists them by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Program,
    Cost,
    Profile,
    Control,
}

impl Group {
    pub(crate) const ALL: [Self; 4] = [Self::Program, Self::Cost, Self::Profile, Self::Control];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Program => "Programs and values",
            Self::Cost => "Costs",
            Self::Profile => "Profiles",
            Self::Control => "Control",
        }
    }
}

/// What completion offers behind a command's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completes {
    Nothing,
    Files,
    Functions,
    /// Functions, values and all else that an expression may begin with.
    Expressions,
    Values,
    Runs,
    RunsAndFiles,
    RunsAndFunctions,
    Commands,
    Kinds,
}

/// Why most entries must wait while a run is stopped.
pub(crate) const STOPPED: &str = "a run is stopped; `:continue` or `:abort` it first";

/// Runs a line that begins with `:`.
pub(crate) fn run(session: &mut Session, line: &str) -> Result<String, String> {
    let (command, rest) = find(line)?;
    // What is stopped holds on to values; nothing may move them.
    let is_harmless = match command.name {
        ":dis" => rest.split_whitespace().count() == 1,
        ":functions" | ":type" | ":values" | ":set" => true,
        name => command.group == Group::Control && name != ":run",
    };
    if session.debugger.is_stopped() && !is_harmless {
        return Err(STOPPED.into());
    }
    (command.run)(session, rest)
}

/// The command that a line begins with, and the rest of the line. Any prefix of a word will do
/// that begins only one.
pub(crate) fn find(line: &str) -> Result<(&'static Command, &str), String> {
    let (word, rest) = split_word(line);
    let families = distinct(COMMANDS.iter().map(|one| first_word(one.name)));
    let family = choose(word, &families, "command", ":help lists them")?;
    let members: Vec<&Command> = COMMANDS
        .iter()
        .filter(|one| first_word(one.name) == family)
        .collect();
    if let [only] = members.as_slice()
        && !only.name.contains(' ')
    {
        return Ok((only, rest));
    }
    let words = members.iter().map(|one| second_word(one.name));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let (word, rest) = split_word(rest);
    if word.is_empty() {
        // A family may do something by its own name.
        if let Some(own) = members.iter().find(|one| one.name == family) {
            return Ok((own, rest));
        }
        return Err(format!("`{family}` takes one of: {}", words.join(", ")));
    }
    let hint = format!("`:help {family}` lists them");
    let chosen = choose(word, &words, &format!("`{family}` command"), &hint)?;
    let command = members.iter().find(|one| second_word(one.name) == chosen);
    let command =
        command.ok_or_else(|| format!("`{family}` takes one of: {}", words.join(", ")))?;
    Ok((command, rest))
}

/// The one of the words that is meant: the word itself, or the only one that it begins.
fn choose<'a>(word: &str, words: &[&'a str], what: &str, hint: &str) -> Result<&'a str, String> {
    if let Some(exact) = words.iter().find(|known| **known == word) {
        return Ok(exact);
    }
    let is_prefix = |known: &&str| word != ":" && known.starts_with(word);
    let fitting: Vec<&str> = words.iter().copied().filter(is_prefix).collect();
    match fitting.as_slice() {
        [only] => Ok(only),
        [] => Err(format!("`{word}` is no {what}; {hint}")),
        several => Err(format!("`{word}` may be {}", several.join(", "))),
    }
}

pub(crate) fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn first_word(name: &str) -> &str {
    split_word(name).0
}

fn second_word(name: &str) -> &str {
    split_word(name).1
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}
