//! Help: from the table of commands.

use std::fmt::Write;

use super::{COMMANDS, Command, Group, find};
use crate::session::Session;

pub(super) fn help(_: &mut Session, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(overview());
    }
    let wanted = match text.starts_with(':') {
        true => text.to_owned(),
        false => format!(":{text}"),
    };
    let family: Vec<&Command> = COMMANDS
        .iter()
        .filter(|one| one.name == wanted || one.name.starts_with(&format!("{wanted} ")))
        .collect();
    if family.len() > 1 {
        return Ok(lines(family.into_iter()));
    }
    let (command, _) = find(&wanted)?;
    Ok(format!(
        "{}\n  {}.\n{}",
        form(command),
        command.summary,
        indented(command.details)
    ))
}

/// A command with what it takes.
pub(crate) fn form(command: &Command) -> String {
    format!("{} {}", command.name, command.arguments)
        .trim_end()
        .to_owned()
}

fn overview() -> String {
    let mut text = String::from(
        "an expression is evaluated: fib(20) + 1; `let x = EXPR` binds its value\n\
         `fun NAME(..) { .. }` defines a function, or defines it again\n",
    );
    for group in Group::ALL {
        let _ = writeln!(text, "\n{}", group.title());
        text += &lines(COMMANDS.iter().filter(|one| one.group == group));
    }
    text += "\na prefix of a command will do; `:help COMMAND` says more\n";
    text
}

fn lines<'a>(commands: impl Iterator<Item = &'a Command>) -> String {
    let mut text = String::new();
    for command in commands {
        let form = form(command);
        let _ = match form.chars().count() {
            0..=33 => writeln!(text, "  {form:<34}{}", command.summary),
            _ => writeln!(text, "  {form}\n{:36}{}", "", command.summary),
        };
    }
    text
}

fn indented(details: &str) -> String {
    details.lines().map(|line| format!("  {line}\n")).collect()
}

/// The names of all commands.
pub fn command_names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

/// The reference part of `docs/repl.md`.
pub fn manual() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        let _ = writeln!(text, "### {}\n", group.title());
        for command in COMMANDS.iter().filter(|one| one.group == group) {
            let _ = writeln!(text, "**`{}`** {}.", form(command), command.summary);
            if !command.details.is_empty() {
                let _ = writeln!(text, "{}", command.details);
            }
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
