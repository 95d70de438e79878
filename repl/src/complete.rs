//! Completion and hints: what could stand where the cursor is.

use std::rc::Rc;

use vm::host::{STANDARD, standard_function};
use vm::isa::OPS;

use crate::commands::{self, COMMANDS, Completes, form};
use crate::session::Session;
use crate::validate;

/// What a session knows of names, at one moment.
#[derive(Debug, Default, Clone)]
pub(crate) struct Names {
    /// Functions with their signatures.
    functions: Rc<Vec<(String, String)>>,
    values: Vec<String>,
    runs: Vec<String>,
}

impl Names {
    pub(crate) fn of(session: &Session) -> Self {
        let names = session.program.names();
        let functions = names.map(|name| {
            let signature = commands::signature(session, name);
            (name.to_owned(), signature)
        });
        Self {
            functions: Rc::new(functions.collect()),
            values: session
                .store
                .names()
                .map(|(name, _)| name.to_owned())
                .collect(),
            runs: session
                .runs
                .iter()
                .map(|(number, _)| format!("#{number}"))
                .collect(),
        }
    }
}

/// What completes a word: where the word starts, and the whole words that it may become.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completions {
    pub(crate) start: usize,
    pub(crate) words: Vec<String>,
    /// Whether file names are wanted too.
    pub(crate) files: bool,
}

/// Completes the word of an entry that ends at `at`.
pub(crate) fn complete(names: &Names, entry: &str, at: usize) -> Completions {
    let before = entry.get(..at).unwrap_or(entry);
    let is_command = before.trim_start().starts_with(':');
    let is_part = |char: char| char.is_alphanumeric() || "_'.#:<>".contains(char);
    let start = match is_command {
        true => before.rfind(char::is_whitespace).map_or(0, |at| at + 1),
        false => before.rfind(|char| !is_part(char)).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        }),
    };
    let (wanted, mut files) = (&before[start..], false);
    let candidates = if is_command {
        let (words, wants_files) = of_command(names, before.trim_start(), start, wanted);
        files = wants_files;
        words
    } else if validate::is_definition(entry.trim_start()) {
        of_definition(names, entry, at)
    } else {
        of_expression(names)
    };
    // In a command's expression, the word starts behind the last sign.
    let (start, wanted) = match is_command && !wanted.starts_with([':', '#', '-']) {
        true if !files => {
            let inner = wanted.rfind(|char| !is_part(char)).map_or(0, |at| at + 1);
            (start + inner, &wanted[inner..])
        }
        _ => (start, wanted),
    };
    let mut words: Vec<String> = candidates
        .into_iter()
        .filter(|word| word.starts_with(wanted) && word != wanted)
        .collect();
    words.sort();
    words.dedup();
    Completions {
        start,
        words,
        files,
    }
}

fn of_command(names: &Names, before: &str, start: usize, wanted: &str) -> (Vec<String>, bool) {
    if start == 0 {
        let first = COMMANDS.iter().map(|one| commands::split_word(one.name).0);
        return (first.map(str::to_owned).collect(), false);
    }
    let (family, rest) = commands::split_word(before);
    let is_second = rest == wanted && !rest.contains(char::is_whitespace);
    let members: Vec<&str> = COMMANDS
        .iter()
        .filter_map(|one| one.name.strip_prefix(family)?.strip_prefix(' '))
        .collect();
    if !members.is_empty() && is_second {
        return (members.into_iter().map(str::to_owned).collect(), false);
    }
    let Ok((command, _)) = commands::find(before) else {
        return (Vec::new(), false);
    };
    let functions = || names.functions.iter().map(|(name, _)| name.clone());
    let words: Vec<String> = match command.completes {
        Completes::Nothing | Completes::Files => Vec::new(),
        Completes::Functions => functions().collect(),
        Completes::Expressions => of_expression(names),
        Completes::Values => names.values.clone(),
        Completes::Runs | Completes::RunsAndFiles => names.runs.clone(),
        Completes::RunsAndFunctions => functions().chain(names.runs.iter().cloned()).collect(),
        Completes::Commands => COMMANDS.iter().map(|one| one.name.to_owned()).collect(),
        Completes::Kinds => ["time", "alloc", "count", "all"]
            .map(str::to_owned)
            .to_vec(),
    };
    let files = matches!(
        command.completes,
        Completes::Files | Completes::RunsAndFiles
    );
    (words, files)
}

fn of_expression(names: &Names) -> Vec<String> {
    let functions = names.functions.iter().map(|(name, _)| name.clone());
    let hosts = STANDARD.iter().map(|one| one.name.to_owned());
    let words = ["let", "null", "as", "float", "int"].map(str::to_owned);
    functions
        .chain(hosts)
        .chain(names.values.iter().cloned())
        .chain(words)
        .collect()
}

/// Mnemonics, functions, and the words of the entry itself: its registers and labels.
fn of_definition(names: &Names, entry: &str, at: usize) -> Vec<String> {
    let is_part = |char: char| char.is_alphanumeric() || "_'.".contains(char);
    let mut words: Vec<String> = OPS.iter().map(|one| one.mnemonic.to_owned()).collect();
    words.extend(names.functions.iter().map(|(name, _)| name.clone()));
    words.extend(STANDARD.iter().map(|one| one.name.to_owned()));
    let mut from = 0;
    for word in entry.split(|char| !is_part(char)) {
        let end = from + word.len();
        // The word that is being typed completes nothing.
        if end != at && word.starts_with(|char: char| char.is_alphabetic() || char == '_') {
            words.push(word.to_owned());
        }
        from = end + entry[end..].chars().next().map_or(0, char::len_utf8);
    }
    words
}

/// A remark behind the cursor, which stands at the end: what a command takes, or a function.
pub(crate) fn hint(names: &Names, entry: &str) -> Option<String> {
    let text = entry.trim_start();
    if text.starts_with(':') {
        let typed = text.trim_end();
        let command = COMMANDS.iter().find(|one| one.name == typed)?;
        let rest = form(command).strip_prefix(typed)?.to_owned();
        let is_spaced = text.len() > typed.len();
        let rest = if is_spaced { rest.trim_start() } else { &rest };
        return (!rest.is_empty()).then(|| rest.to_owned());
    }
    let name = text.strip_suffix('(')?;
    let start = name.rfind(|char: char| !char.is_alphanumeric() && !"_'.".contains(char));
    let name = &name[start.map_or(0, |at| at + 1)..];
    if let Some((_, signature)) = names.functions.iter().find(|(known, _)| known == name) {
        let classes = signature.split_once('(')?.1;
        return Some(classes.to_owned());
    }
    let declaration = standard_function(name)?.declaration();
    Some(declaration.strip_prefix('(')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::SessionIo;

    fn names() -> Names {
        let mut session = Session::new(SessionIo::new(std::io::sink()));
        session.answer("fun fact(n: i) -> i { ret n }");
        session.answer("let xs = [1]");
        session.answer(":prof count fact(1)");
        Names::of(&session)
    }

    fn words(entry: &str) -> Vec<String> {
        complete(&names(), entry, entry.len()).words
    }

    #[test]
    fn each_place_has_its_words() {
        let cases: [(&str, &[&str]); 13] = [
            (":lo", &[":load"]),
            (":prof di", &["diff"]),
            (":prof diff #", &["#1"]),
            (":me", &[":mem"]),
            (":mem st", &["start", "stop"]),
            (":prof callers fa", &["fact"]),
            (":prof alloc 1 + fac", &["fact"]),
            (":dis f", &["fact"]),
            (":forget x", &["xs"]),
            (":help :prof di", &[]),
            ("1 + fac", &["fact"]),
            ("le", &["let"]),
            ("fun f(count: i) -> i {\n  a = sub cou", &["count"]),
        ];
        for (entry, expected) in cases {
            let found = words(entry);
            assert!(
                expected.iter().all(|one| found.contains(&one.to_string())),
                "{entry}: {found:?}"
            );
        }
        assert!(words("fun f() { jnonn").contains(&"jnonnull".to_owned()));
        assert!(complete(&names(), ":load x", 7).files);
    }

    #[test]
    fn a_hint_says_what_comes_next() {
        let cases = [
            (":load", Some(" FILE...")),
            (":prof merge ", Some("#n #m...")),
            (":mem start ", Some("[RATE]")),
            (":mem", None),
            ("fact(", Some("i) -> (i)")),
            ("1 + print(", Some("text: r) -> ()")),
            ("pow(", Some("base: f, exponent: f) -> (y: f)")),
            ("fact(1", None),
            ("nothing(", None),
        ];
        for (entry, expected) in cases {
            assert_eq!(hint(&names(), entry).as_deref(), expected, "{entry}");
        }
    }
}
