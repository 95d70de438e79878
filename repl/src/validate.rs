//! Whether an entry is whole, and what it is.

/// Whether the entry goes on in the next line: a parenthesis, bracket or brace is open.
pub(crate) fn is_open(entry: &str) -> bool {
    let text = entry.trim_start();
    if text.starts_with(';') {
        return false;
    }
    let mut depth = 0_usize;
    let mut chars = text.chars().peekable();
    let mut last = ' ';
    while let Some(char) = chars.next() {
        match char {
            ';' => while chars.next_if(|&char| char != '\n').is_some() {},
            '"' => {
                // Strings end with their line, closed or not.
                while let Some(inner) = chars.next_if(|&char| char != '\n') {
                    match inner {
                        '\\' => {
                            chars.next_if(|&char| char != '\n');
                        }
                        '"' => break,
                        _ => {}
                    }
                }
            }
            // A name may end in a quote; otherwise it begins a character.
            '\'' if !last.is_alphanumeric() && last != '_' && last != '\'' => {
                if chars.next_if(|&char| char == '\\').is_some() {
                    chars.next_if(|&char| char != '\n');
                } else {
                    chars.next_if(|&char| char != '\n' && char != '\'');
                }
                chars.next_if(|&char| char == '\'');
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        last = char;
    }
    // `:prof show -keep '(..'` is a command: a line, whatever stands in it.
    depth > 0 && !text.starts_with(':')
}

/// The words with which a definition begins.
const DEFINERS: [&str; 6] = ["fun", "closure", "export", "host", "data", "source"];

/// Whether the entry is assembly.
pub(crate) fn is_definition(entry: &str) -> bool {
    if entry.starts_with('.') {
        return true;
    }
    let word = entry.split(|char: char| char.is_whitespace()).next();
    let rest = entry.trim_start_matches(|char: char| !char.is_whitespace());
    // `fun` alone is a name like any other.
    word.is_some_and(|word| DEFINERS.contains(&word)) && starts_name(rest.trim_start())
}

fn starts_name(text: &str) -> bool {
    text.starts_with(|char: char| char.is_alphabetic() || char == '_' || char == '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_open_until_its_brackets_are_closed() {
        for open in [
            "fun f() {",
            "f(1,",
            "[1, 2",
            "fun f() {\n ret ; }",
            "f(\"a)",
            "f('('",
        ] {
            assert!(is_open(open), "{open}");
        }
        for whole in [
            "",
            "f(1)",
            "fun f() { ret }",
            "\"(\"",
            "'('",
            "f'(x)",
            "; (",
            ":dis (",
            ")",
        ] {
            assert!(!is_open(whole), "{whole}");
        }
    }

    #[test]
    fn definitions_are_told_from_expressions() {
        for definition in [
            "fun f() { ret }",
            "closure fun f{i}() { ret }",
            ".file \"x\"",
            "data d = i64 [1]",
        ] {
            assert!(is_definition(definition), "{definition}");
        }
        for other in ["fun", "fun(1)", "data + 1", "f(1)", "source == 2"] {
            assert!(!is_definition(other), "{other}");
        }
    }
}
