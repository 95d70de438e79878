//! Text to tokens. Statements end at newlines, except within brackets and parentheses, so the
//! newline is a token.

use crate::diagnostic::{Diagnostic, MAX_DIAGNOSTICS, Span};

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name, dots included: `Tak.tak1.tak2`.
    Name(String),
    /// A name that begins with a dot: `.line`.
    Directive(String),
    Int(i64),
    Float(f64),
    /// A string, which holds bytes because of `\xNN`.
    Text(Vec<u8>),
    /// One of `= , : ( ) [ ] { } @` and `->`.
    Sign(&'static str),
    Newline,
    End,
}

impl Token {
    /// What the token is called in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Directive(name) => format!("`.{name}`"),
            Self::Int(_) | Self::Float(_) => "a number".into(),
            Self::Text(_) => "a string".into(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::Newline => "the end of the line".into(),
            Self::End => "the end of the text".into(),
        }
    }
}

const SIGNS: [&str; 11] = ["->", "=", ",", ":", "(", ")", "[", "]", "{", "}", "@"];

/// All tokens with their spans, and what could not be read: of each line the first such thing. When
/// as many lines have one as are ever reported, the rest of the text is left.
pub(crate) fn lex(text: &str) -> (Vec<(Token, Span)>, Vec<Diagnostic>) {
    let mut lexer = Lexer {
        text,
        offset: 0,
        tokens: Vec::new(),
        errors: Vec::new(),
        depth: 0,
        is_line_wrong: false,
    };
    while lexer.offset < text.len() && lexer.errors.len() < MAX_DIAGNOSTICS {
        lexer.token();
    }
    let end = Span {
        start: text.len() as u32,
        end: text.len() as u32,
    };
    lexer.tokens.push((Token::Newline, end));
    lexer.tokens.push((Token::End, end));
    (lexer.tokens, lexer.errors)
}

/// Whether a name can stand in text without quotes.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut parts = name.split('.');
    parts.all(|part| part.starts_with(starts_name) && part.chars().all(continues_name))
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    tokens: Vec<(Token, Span)>,
    errors: Vec<Diagnostic>,
    /// How many parentheses and brackets are open.
    depth: usize,
    /// Whether an error of this line has been kept; others mostly follow from it.
    is_line_wrong: bool,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span {
            start: start as u32,
            end: self.offset as u32,
        }
    }

    fn push(&mut self, start: usize, token: Token) {
        let span = self.span_from(start);
        self.tokens.push((token, span));
    }

    fn error(&mut self, start: usize, message: impl Into<String>) {
        let span = self.span_from(start);
        self.keep(Diagnostic::new(span, message));
    }

    fn keep(&mut self, error: Diagnostic) {
        if !std::mem::replace(&mut self.is_line_wrong, true) {
            self.errors.push(error);
        }
    }

    fn skip_while(&mut self, matches: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !matches(c)).unwrap_or(rest.len());
        self.offset += length;
        &rest[..length]
    }

    fn token(&mut self) {
        let start = self.offset;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return;
        };
        let after_sign = rest[first.len_utf8()..].chars().next();
        match first {
            '\n' => {
                self.offset += 1;
                self.is_line_wrong = false;
                if self.depth == 0 {
                    self.push(start, Token::Newline);
                }
            }
            ' ' | '\t' | '\r' => self.offset += 1,
            ';' => {
                self.skip_while(|c| c != '\n');
            }
            '.' if after_sign.is_some_and(starts_name) => {
                self.offset += 1;
                let name = self.skip_while(continues_name).to_owned();
                self.push(start, Token::Directive(name));
            }
            '"' => self.string(),
            '\'' => self.character(),
            '-' if after_sign.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            c if c.is_ascii_digit() => self.number(),
            c if starts_name(c) => {
                let name = self.name().to_owned();
                self.push(start, Token::Name(name));
            }
            _ => self.sign(first),
        }
    }

    fn sign(&mut self, first: char) {
        let start = self.offset;
        match SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)) {
            Some(sign) => {
                self.offset += sign.len();
                match sign {
                    "(" | "[" => self.depth += 1,
                    ")" | "]" => self.depth = self.depth.saturating_sub(1),
                    // A brace begins or ends statements: what is still open there never closes.
                    "{" | "}" => self.depth = 0,
                    _ => {}
                }
                self.push(start, Token::Sign(sign));
            }
            None => {
                self.offset += first.len_utf8();
                if !self.is_line_wrong {
                    let shown = first.escape_debug();
                    self.error(start, format!("`{shown}` means nothing here"));
                }
            }
        }
    }

    fn name(&mut self) -> &'a str {
        let start = self.offset;
        self.skip_while(continues_name);
        while let Some(part) = self.rest().strip_prefix('.')
            && part.starts_with(starts_name)
        {
            self.offset += 1;
            self.skip_while(continues_name);
        }
        &self.text[start..self.offset]
    }

    fn number(&mut self) {
        let start = self.offset;
        let negative = self.rest().starts_with('-');
        self.offset += usize::from(negative);
        let mut digits = self.skip_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_hex = digits.starts_with("0x") || digits.starts_with("0f");
        if !is_hex && self.rest().starts_with('.') {
            self.offset += 1;
            self.skip_while(|c| c.is_ascii_alphanumeric() || c == '_');
        }
        if !is_hex && self.text[..self.offset].ends_with(['e', 'E']) {
            let sign = usize::from(self.rest().starts_with(['+', '-']));
            self.offset += sign;
            self.skip_while(|c| c.is_ascii_digit());
        }
        digits = &self.text[start..self.offset];
        match read_number(&digits.replace('_', "")) {
            Some(token) => self.push(start, token),
            None => self.error(start, format!("`{digits}` is no 64-bit number")),
        }
    }

    fn character(&mut self) {
        let start = self.offset;
        self.offset += 1;
        let value = match self.rest().chars().next() {
            Some('\\') => self.escape(),
            Some(c) if c != '\n' && c != '\'' => {
                self.offset += c.len_utf8();
                Some(Escape::Char(c))
            }
            _ => None,
        };
        match value {
            Some(value) if self.rest().starts_with('\'') => {
                self.offset += 1;
                let value = match value {
                    Escape::Char(c) => i64::from(u32::from(c)),
                    Escape::Byte(byte) => i64::from(byte),
                };
                self.push(start, Token::Int(value));
            }
            _ => self.error(start, "a character is written 'a' or '\\n'"),
        }
    }

    fn string(&mut self) {
        let start = self.offset;
        self.offset += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(c) = self.rest().chars().next().filter(|&c| c != '\n') else {
                return self.error(start, "this string has no end");
            };
            if c == '\\' {
                match self.escape() {
                    Some(Escape::Byte(byte)) => bytes.push(byte),
                    Some(Escape::Char(c)) => {
                        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    None => {}
                }
                continue;
            }
            self.offset += c.len_utf8();
            if c == '"' {
                return self.push(start, Token::Text(bytes));
            }
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// Reads an escape; reports one that means nothing.
    fn escape(&mut self) -> Option<Escape> {
        let start = self.offset;
        self.offset += 1;
        let c = self.rest().chars().next()?;
        if c == '\n' {
            return None;
        }
        self.offset += c.len_utf8();
        let value = match c {
            'n' => Some(Escape::Byte(b'\n')),
            't' => Some(Escape::Byte(b'\t')),
            'r' => Some(Escape::Byte(b'\r')),
            '0' => Some(Escape::Byte(0)),
            '\\' | '"' | '\'' => Some(Escape::Char(c)),
            'x' => self.rest().get(..2).and_then(|hex| {
                let byte = u8::from_str_radix(hex, 16).ok()?;
                self.offset += 2;
                Some(Escape::Byte(byte))
            }),
            'u' => self.unicode_escape(),
            _ => None,
        };
        if value.is_none() {
            let span = self.span_from(start);
            let help = r#"escapes are \n \t \r \0 \\ \" \' \xNN and \u{...}"#;
            self.keep(Diagnostic::new(span, "this escape means nothing").with_help(help));
        }
        value
    }

    fn unicode_escape(&mut self) -> Option<Escape> {
        let rest = self.rest().strip_prefix('{')?;
        // No more is looked at than can be right, or many escapes without an end would take long.
        let length = rest
            .bytes()
            .take(MAX_ESCAPE_DIGITS + 1)
            .position(|c| c == b'}')?;
        let value = u32::from_str_radix(&rest[..length], 16)
            .ok()
            .and_then(char::from_u32)?;
        self.offset += length + 2;
        Some(Escape::Char(value))
    }
}

/// The most digits of `\u{...}`, leading zeros included.
const MAX_ESCAPE_DIGITS: usize = 16;

enum Escape {
    Byte(u8),
    Char(char),
}

fn read_number(text: &str) -> Option<Token> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if let Some(bits) = digits.strip_prefix("0f").filter(|_| !negative) {
        let bits = u64::from_str_radix(bits, 16)
            .ok()
            .filter(|_| bits.len() == 16)?;
        return Some(Token::Float(f64::from_bits(bits)));
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        // All 64 bits may be written, as for words.
        let bits = u64::from_str_radix(hex, 16).ok()? as i64;
        return Some(Token::Int(if negative {
            bits.wrapping_neg()
        } else {
            bits
        }));
    }
    if digits.contains(['.', 'e', 'E']) {
        let is_float = digits
            .bytes()
            .all(|c| c.is_ascii_digit() || b".eE+-".contains(&c));
        return text.parse().ok().filter(|_| is_float).map(Token::Float);
    }
    text.parse().ok().map(Token::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let (tokens, errors) = lex(text);
        let mut out: Vec<String> = tokens
            .iter()
            .map(|(token, _)| format!("{token:?}"))
            .collect();
        out.truncate(out.len() - 2);
        out.extend(
            errors
                .iter()
                .map(|error| format!("error: {}", error.message)),
        );
        expected.assert_eq(&out.join(" "));
    }

    #[test]
    fn names_keep_their_dots_and_directives_begin_with_one() {
        check(
            "Tak.tak1.tak2 .line x' ; the rest is silence",
            expect![[r#"Name("Tak.tak1.tak2") Directive("line") Name("x'")"#]],
        );
    }

    #[test]
    fn numbers_are_integers_doubles_or_characters() {
        check(
            "1_000 -5 0xff 'a' '\\n'",
            expect!["Int(1000) Int(-5) Int(255) Int(97) Int(10)"],
        );
        check(
            "2.5 -0.0 1e9",
            expect!["Float(2.5) Float(-0.0) Float(1000000000.0)"],
        );
        check(
            "2.5e-3 0f7ff8000000000001",
            expect!["Float(0.0025) Float(NaN)"],
        );
    }

    #[test]
    fn strings_hold_bytes() {
        check(
            r#""a\n\x00\u{e9}\"" "#,
            expect!["Text([97, 10, 0, 195, 169, 34])"],
        );
    }

    #[test]
    fn newlines_count_outside_of_brackets_only() {
        check(
            "x\n[1,\n2]",
            expect![[r#"Name("x") Newline Sign("[") Int(1) Sign(",") Int(2) Sign("]")"#]],
        );
    }

    #[test]
    fn a_string_must_end_on_its_line() {
        check("\"abc\n", expect!["Newline error: this string has no end"]);
    }

    #[test]
    fn an_unknown_escape_is_reported() {
        check(
            r#""\q""#,
            expect!["Text([]) error: this escape means nothing"],
        );
    }

    #[test]
    fn a_number_must_fit() {
        check(
            "99999999999999999999",
            expect!["error: `99999999999999999999` is no 64-bit number"],
        );
        check("1z", expect!["error: `1z` is no 64-bit number"]);
    }

    #[test]
    fn of_a_line_the_first_error_is_told() {
        check(
            "1z # 2z\n3z",
            expect!["Newline error: `1z` is no 64-bit number error: `3z` is no 64-bit number"],
        );
    }

    #[test]
    fn a_character_must_be_one() {
        check(
            "'ab'",
            expect![[r#"Name("b'") error: a character is written 'a' or '\n'"#]],
        );
    }

    #[test]
    fn other_characters_mean_nothing() {
        check("#", expect!["error: `#` means nothing here"]);
    }
}
