//! Regular expressions as `mlprof` reads them.
//!
//! ```text
//! regexp  = branch { "|" branch }
//! branch  = piece { piece }
//! piece   = atom [ "*" | "+" | "?" | "{" N [ "," [ N ] ] "}" ]
//! atom    = "(" regexp ")" | "()" | "[" class "]" | "." | "^" | "$" | "\" byte | byte
//! ```
//!
//! This is POSIX 1003.2 without back references. A class may hold single bytes, ranges, `[:alpha:]`
//! and the like, and `[.text.]`. The expression is translated to the `regex` crate's syntax over
//! bytes, which matches in linear time and bounds the size of what it compiles.

use std::fmt;

/// Parentheses may nest this deep.
const MAX_DEPTH: usize = 200;

/// A compiled regular expression. It matches a text if it matches some prefix of it, the empty
/// prefix included, as all of `mlprof`'s do.
#[derive(Clone, Debug)]
pub struct Regexp {
    regex: regex::bytes::Regex,
}

impl Regexp {
    /// Compiles `text`.
    ///
    /// # Errors
    /// If `text` is not in the grammar above, or would need too much memory.
    pub fn new(text: &str) -> Result<Regexp, RegexpError> {
        let mut translator = Translator::new(text.as_bytes());
        let pattern = translator.run();
        let at = translator.at;
        let error = |problem| RegexpError {
            text: text.to_owned(),
            at,
            problem,
        };
        let regex = regex::bytes::Regex::new(&pattern.map_err(error)?);
        Ok(Regexp {
            regex: regex.map_err(|_| error("the expression is too big"))?,
        })
    }

    /// Whether the expression matches a prefix of `text`.
    pub fn matches_prefix(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }
}

/// A text that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexpError {
    text: String,
    at: usize,
    problem: &'static str,
}

impl fmt::Display for RegexpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RegexpError { text, at, problem } = self;
        write!(f, "invalid regexp {text:?}: {problem} at byte {at}")
    }
}

impl std::error::Error for RegexpError {}

type Step<T> = Result<T, &'static str>;

struct Translator<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// A branch has just begun, so it needs an atom.
    needs_atom: bool,
    /// An atom has just ended, so it may be repeated.
    repeatable: bool,
    out: String,
}

impl<'a> Translator<'a> {
    fn new(text: &'a [u8]) -> Translator<'a> {
        let out = String::from(r"\A(?s-u:");
        Translator {
            text,
            at: 0,
            depth: 0,
            needs_atom: true,
            repeatable: false,
            out,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Step<String> {
        while let Some(byte) = self.peek(0) {
            self.step(byte)?;
        }
        match (self.depth, self.needs_atom) {
            (0, false) => Ok(format!("{})", self.out)),
            (0, true) => Err("something to match is missing"),
            _ => Err("a ( is not closed"),
        }
    }

    fn step(&mut self, byte: u8) -> Step<()> {
        match byte {
            b'(' if self.peek(1) == Some(b')') => self.atom(2, "(?:)"),
            b'(' => {
                if self.depth == MAX_DEPTH {
                    return Err("parentheses nest too deep");
                }
                self.depth += 1;
                self.push(1, "(?:", true, false);
            }
            b')' | b'|' if self.needs_atom => return Err("something to match is missing"),
            b')' if self.depth == 0 => return Err("there is no ( for this )"),
            b')' => {
                self.depth -= 1;
                self.atom(1, ")");
            }
            b'|' => self.push(1, "|", true, false),
            b'*' | b'+' | b'?' | b'{' if !self.repeatable => return Err("nothing to repeat"),
            b'*' => self.push(1, "*", false, false),
            b'+' => self.push(1, "+", false, false),
            b'?' => self.push(1, "?", false, false),
            b'{' => self.bounds()?,
            b'[' => self.class()?,
            b'.' => self.atom(1, "."),
            b'^' => self.atom(1, r"(?:\A)"),
            b'$' => self.atom(1, r"(?:\z)"),
            b'\\' => match self.peek(1) {
                Some(escaped) => self.atom(2, &literal(escaped)),
                None => self.atom(1, &literal(byte)),
            },
            _ => self.atom(1, &literal(byte)),
        }
        Ok(())
    }

    fn atom(&mut self, length: usize, pattern: &str) {
        self.push(length, pattern, false, true);
    }

    fn push(&mut self, length: usize, pattern: &str, needs_atom: bool, repeatable: bool) {
        self.at += length;
        self.out.push_str(pattern);
        self.needs_atom = needs_atom;
        self.repeatable = repeatable;
    }

    fn bounds(&mut self) -> Step<()> {
        self.at += 1;
        let low = self.number()?;
        let mut high = Some(low);
        if self.peek(0) == Some(b',') {
            self.at += 1;
            high = if self.peek(0) == Some(b'}') {
                None
            } else {
                Some(self.number()?)
            };
        }
        if self.peek(0) != Some(b'}') {
            return Err("expected }");
        }
        match high {
            Some(high) if high < low => return Err("the upper bound is below the lower one"),
            Some(high) => self.push(1, &format!("{{{low},{high}}}"), false, false),
            None => self.push(1, &format!("{{{low},}}"), false, false),
        }
        Ok(())
    }

    fn number(&mut self) -> Step<u32> {
        let start = self.at;
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("");
        digits
            .parse()
            .map_err(|_| "expected a number of repetitions")
    }

    /// A bracket expression. The order of the cases is upstream's: a `]` is literal first, a `-`
    /// first and after a range at the end, and a range may start with any other byte, even `[`,
    /// and end with any byte, even `]`.
    fn class(&mut self) -> Step<()> {
        self.at += 1;
        let mut class = Class {
            bytes: [false; 256],
            texts: Vec::new(),
        };
        let negated = self.skip(b'^');
        for first in [b']', b'-'] {
            if self.skip(first) {
                class.bytes[usize::from(first)] = true;
            }
        }
        loop {
            match (self.peek(0), self.peek(1), self.peek(2)) {
                (Some(b']'), ..) => break,
                (Some(b'-'), Some(b']'), _) => class.add_range(b'-', b'-', &mut self.at, 1),
                (Some(b'-'), ..) => return Err("a - in a class stands first, last or in a range"),
                (Some(low), Some(b'-'), Some(high)) => {
                    class.add_range(low, high, &mut self.at, 3);
                }
                (Some(b'['), Some(b'.'), _) => self.collating(&mut class)?,
                (Some(b'['), Some(b':'), _) => self.named(&mut class)?,
                (Some(byte), ..) => class.add_range(byte, byte, &mut self.at, 1),
                (None, ..) => return Err("a [ is not closed"),
            }
        }
        if negated {
            if !class.texts.is_empty() {
                return Err("a [.text.] cannot be negated");
            }
            class.bytes = class.bytes.map(|is_in| !is_in);
        }
        self.atom(1, &class.pattern());
        Ok(())
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek(0) == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn collating(&mut self, class: &mut Class) -> Step<()> {
        self.at += 2;
        let length = self.text[self.at..].iter().position(|&byte| byte == b'.');
        let end = self.at + length.ok_or("a [. is not closed")?;
        class.texts.push(
            self.text[self.at..end]
                .iter()
                .map(|&byte| literal(byte))
                .collect(),
        );
        self.at = end;
        self.close(b'.')
    }

    fn named(&mut self, class: &mut Class) -> Step<()> {
        self.at += 2;
        let rest = &self.text[self.at..];
        let found = CLASSES
            .iter()
            .find(|(name, _)| rest.starts_with(name.as_bytes()));
        let (name, is_in) = found.ok_or("no class has this name")?;
        for byte in 0..=255_u8 {
            class.bytes[usize::from(byte)] |= is_in(&byte);
        }
        self.at += name.len();
        self.close(b':')
    }

    fn close(&mut self, byte: u8) -> Step<()> {
        if self.skip(byte) && self.skip(b']') {
            Ok(())
        } else {
            Err("expected the class's end")
        }
    }
}

/// A class's name and whether a byte is in it.
type NamedClass = (&'static str, fn(&u8) -> bool);

/// The classes that upstream knows; it has neither `blank` nor `punct`.
const CLASSES: [NamedClass; 10] = [
    ("alnum", u8::is_ascii_alphanumeric),
    ("alpha", u8::is_ascii_alphabetic),
    ("cntrl", u8::is_ascii_control),
    ("digit", u8::is_ascii_digit),
    ("graph", u8::is_ascii_graphic),
    ("lower", u8::is_ascii_lowercase),
    ("print", |byte| (b' '..=b'~').contains(byte)),
    ("space", |byte| matches!(byte, b' ' | 9..=13)),
    ("upper", u8::is_ascii_uppercase),
    ("xdigit", u8::is_ascii_hexdigit),
];

struct Class {
    bytes: [bool; 256],
    /// Patterns of whole texts that the class matches.
    texts: Vec<String>,
}

impl Class {
    fn add_range(&mut self, low: u8, high: u8, at: &mut usize, length: usize) {
        for byte in low..=high {
            self.bytes[usize::from(byte)] = true;
        }
        *at += length;
    }

    fn pattern(&self) -> String {
        let is_in = |byte: &u8| self.bytes[usize::from(*byte)];
        let mut set: String = (0..=255_u8).filter(is_in).map(literal).collect();
        if set.is_empty() {
            set.push_str(r"^\x00-\xff");
        }
        let mut pattern = format!("(?:[{set}]");
        for text in &self.texts {
            pattern.push('|');
            pattern.push_str(text);
        }
        pattern.push(')');
        pattern
    }
}

fn literal(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() {
        char::from(byte).to_string()
    } else {
        format!(r"\x{byte:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches() {
        let cases = [
            ("rev", "reverse", true),
            ("rev", "prev", false),
            (".*ev", "prev", true),
            ("^rev$", "rev", true),
            ("^rev$", "reverse", false),
            ("a|b", "bc", true),
            ("()", "", true),
            ("(ab){2}$", "abab", true),
            ("a{2,3}$", "aaaa", false),
            ("a{2,}$", "aaaa", true),
            ("x*", "anything", true),
            (r"a\.b", "a.b", true),
            (r"a\.b", "axb", false),
            (r"a\", r"a\", true),
            ("[a-c]d", "bd", true),
            ("[^a-c]d", "bd", false),
            ("[]-]x", "-x", true),
            ("[a-z-]x", "-x", true),
            ("[b-a]", "a", false),
            ("[[:digit:][:space:]]", "\t", true),
            ("[[.ch.]d]o", "cho", true),
            ("<gc>", "<gc>", true),
            ("a}]", "a}]", true),
            (".", "\n", true),
            ("..$", "é", true),
        ];
        for (regexp, text, expected) in cases {
            let result = Regexp::new(regexp).map(|compiled| compiled.matches_prefix(text));
            assert_eq!(result, Ok(expected), "{regexp} on {text}");
        }
    }

    #[test]
    fn errors() {
        let cases = [
            ("", "something to match is missing at byte 0"),
            ("a|", "something to match is missing at byte 2"),
            ("(|a)", "something to match is missing at byte 1"),
            ("(a", "a ( is not closed at byte 2"),
            ("a)", "there is no ( for this ) at byte 1"),
            ("a**", "nothing to repeat at byte 2"),
            ("{2}", "nothing to repeat at byte 0"),
            ("a{x", "expected a number of repetitions at byte 2"),
            ("a{2", "expected } at byte 3"),
            ("a{3,2}", "the upper bound is below the lower one at byte 5"),
            (
                "a{99999999999}",
                "expected a number of repetitions at byte 13",
            ),
            (
                "((a{1000}){1000}){1000}",
                "the expression is too big at byte 23",
            ),
            ("[a", "a [ is not closed at byte 2"),
            ("[a-]", "a [ is not closed at byte 4"),
            (
                "[a-c-e]",
                "a - in a class stands first, last or in a range at byte 4",
            ),
            ("[[:punct:]]", "no class has this name at byte 3"),
            ("[^[.ch.]]", "a [.text.] cannot be negated at byte 8"),
        ];
        for (regexp, problem) in cases {
            let error = Regexp::new(regexp)
                .map(|_| ())
                .map_err(|error| error.to_string());
            assert_eq!(error, Err(format!("invalid regexp {regexp:?}: {problem}")));
        }
    }

    #[test]
    fn deep_parentheses_are_refused() {
        let deep = format!("{}a{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Regexp::new(&deep).is_err());
        assert!(Regexp::new(&format!("{}a{}", "(".repeat(90), ")".repeat(90))).is_ok());
    }
}
