//! Colours for an entry. They change nothing of its width.

use vm::isa::OPS;

const MNEMONIC: &str = "\x1b[34m";
const LABEL: &str = "\x1b[33m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const COMMAND: &str = "\x1b[35m";
const FAINT: &str = "\x1b[2m";
const END: &str = "\x1b[0m";

/// Words of the language and of assembly that are no mnemonics.
const WORDS: [&str; 10] = [
    "fun", "closure", "export", "host", "data", "source", "try", "let", "as", "null",
];

/// The entry with colours.
pub(crate) fn highlight(entry: &str) -> String {
    let mut out = String::with_capacity(entry.len() + 32);
    let mut rest = entry;
    let mut is_at_start = true;
    while let Some(char) = rest.chars().next() {
        let (length, colour) = token(rest, char, is_at_start);
        let (piece, after) = rest.split_at(length);
        match colour {
            Some(colour) => out.extend([colour, piece, END]),
            None => out.push_str(piece),
        }
        is_at_start = match char {
            '\n' | '{' => true,
            char => is_at_start && char.is_whitespace(),
        };
        rest = after;
    }
    out
}

/// A remark, faint.
pub(crate) fn faint(text: &str) -> String {
    format!("{FAINT}{text}{END}")
}

/// The length of the token at the start of the text, and its colour.
fn token(text: &str, char: char, is_at_start: bool) -> (usize, Option<&'static str>) {
    let until = |is_part: &dyn Fn(char) -> bool| {
        let end = text.find(|char| !is_part(char));
        end.unwrap_or(text.len())
    };
    let is_name = |char: char| char.is_alphanumeric() || "_'.".contains(char);
    match char {
        ';' => (until(&|char| char != '\n'), Some(FAINT)),
        '"' => (string(text), Some(STRING)),
        ':' if is_at_start => (until(&|char| char == ':' || is_name(char)), Some(COMMAND)),
        '0'..='9' => (until(&is_name), Some(NUMBER)),
        '.' if is_at_start => (until(&is_name), Some(COMMAND)),
        char if char.is_alphabetic() || char == '_' => {
            let length = until(&is_name);
            let word = &text[..length];
            let colour = if is_at_start && text[length..].starts_with(':') {
                Some(LABEL)
            } else if WORDS.contains(&word) {
                Some(COMMAND)
            } else if OPS.iter().any(|one| one.mnemonic == word) {
                Some(MNEMONIC)
            } else {
                None
            };
            (length, colour)
        }
        char => (char.len_utf8(), None),
    }
}

/// The length of the string at the start of the text, closed or not.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            '\n' => return at,
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = char == '\\' && !is_escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_colours() {
        let text = highlight("again: x = add x, 1 ; one\n");
        let expected = "\x1b[33magain\x1b[0m: x = \x1b[34madd\x1b[0m x, \x1b[36m1\x1b[0m \
                        \x1b[2m; one\x1b[0m\n";
        assert_eq!(text, expected);
        assert!(highlight(":load \"a\\\"b").starts_with("\x1b[35m:load\x1b[0m \x1b[32m\"a"));
    }

    #[test]
    fn nothing_but_colours_is_added() {
        for text in [
            "",
            "é\"",
            "fun f() { ret }",
            ":",
            "\"\\",
            "a:b",
            "'x'",
            "1.5e+3;",
        ] {
            let mut plain = highlight(text);
            for colour in [MNEMONIC, LABEL, STRING, NUMBER, COMMAND, FAINT, END] {
                plain = plain.replace(colour, "");
            }
            assert_eq!(plain, text);
        }
    }
}
