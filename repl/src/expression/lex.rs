//! Characters to tokens.

use super::Wrong;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    Sign(&'static str),
    End,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Int(number) => format!("`{number}`"),
            Self::Float(number) => format!("`{number:?}`"),
            Self::Text(_) => "a string".into(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".into(),
        }
    }
}

/// Signs, those that begin with another one first.
const SIGNS: [&str; 21] = [
    "==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}",
    ",", "#", "&",
];

/// The tokens with their columns, ended by [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<(Token, usize)>, Wrong> {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
    };
    let mut tokens = Vec::new();
    loop {
        while lexer.peek().is_some_and(char::is_whitespace) {
            lexer.at += 1;
        }
        let column = lexer.at + 1;
        let token = match lexer.peek() {
            None => Token::End,
            // A comment, as in assembly.
            Some(';') => {
                while lexer.peek().is_some_and(|char| char != '\n') {
                    lexer.at += 1;
                }
                continue;
            }
            Some('"') => Token::Text(lexer.quoted('"')?),
            Some('\'') => lexer.character(column)?,
            Some(char) if char.is_ascii_digit() => lexer.number(column)?,
            Some(char) if char.is_alphabetic() || char == '_' || char == '<' => lexer.word()?,
            Some(_) => lexer.sign(column)?,
        };
        let is_end = token == Token::End;
        tokens.push((token, column));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&is_wanted) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn sign(&mut self, column: usize) -> Result<Token, Wrong> {
        for sign in SIGNS {
            let length = sign.len();
            let found = self.chars.get(self.at..self.at + length);
            if found.is_some_and(|found| found.iter().copied().eq(sign.chars())) {
                self.at += length;
                return Ok(Token::Sign(sign));
            }
        }
        let char = self.peek().unwrap_or(' ');
        Err(Wrong::new(column, format!("`{char}` means nothing here")))
    }

    fn word(&mut self) -> Result<Token, Wrong> {
        if self.peek() == Some('<') {
            return self.sign(self.at + 1);
        }
        let name = self.take_while(|char| char.is_alphanumeric() || "_'.".contains(char));
        Ok(Token::Name(name))
    }

    fn number(&mut self, column: usize) -> Result<Token, Wrong> {
        let mut text = self.take_while(|char| char.is_ascii_alphanumeric() || "._".contains(char));
        let is_hexadecimal = text.starts_with("0x");
        if text.ends_with(['e', 'E'])
            && !is_hexadecimal
            && let Some(sign @ ('+' | '-')) = self.peek()
        {
            self.at += 1;
            text.push(sign);
            text += &self.take_while(|char| char.is_ascii_digit());
        }
        let digits = text.replace('_', "");
        let wrong = || Wrong::new(column, format!("`{text}` is no number"));
        if let Some(hexadecimal) = digits.strip_prefix("0x") {
            let bits = u64::from_str_radix(hexadecimal, 16).map_err(|_| wrong())?;
            return Ok(Token::Int(bits as i64));
        }
        if digits.contains(['.', 'e', 'E']) {
            return digits.parse().map(Token::Float).map_err(|_| wrong());
        }
        let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse::<u64>() {
            // 2^63 is right behind a minus sign only; it wraps to the same bits.
            Ok(number) if number <= 1 << 63 => Ok(Token::Int(number as i64)),
            _ if is_decimal => Err(Wrong::new(
                column,
                format!("`{text}` does not fit into 64 bits"),
            )),
            _ => Err(wrong()),
        }
    }

    fn character(&mut self, column: usize) -> Result<Token, Wrong> {
        let bytes = self.quoted('\'')?;
        let wrong = || Wrong::new(column, "one character should stand between the quotes");
        match bytes.as_slice() {
            [byte] => Ok(Token::Int(*byte as i64)),
            bytes => {
                let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(char), None) => Ok(Token::Int(char as i64)),
                    _ => Err(wrong()),
                }
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Vec<u8>, Wrong> {
        let column = self.at + 1;
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let Some(char) = self.peek() else {
                return Err(Wrong::new(column, "this string is not closed"));
            };
            self.at += 1;
            match char {
                char if char == quote => return Ok(bytes),
                '\\' => self.escape(&mut bytes)?,
                char => bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), Wrong> {
        let column = self.at;
        let wrong = || {
            Wrong::new(
                column,
                "escapes are \\n \\t \\r \\0 \\\\ \\\" \\' \\xNN \\u{NN}",
            )
        };
        let char = self.peek().ok_or_else(wrong)?;
        self.at += 1;
        match char {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            '0' => bytes.push(0),
            '\\' | '"' | '\'' => bytes.push(char as u8),
            'x' => {
                let digits = self.chars.get(self.at..self.at + 2).ok_or_else(wrong)?;
                let digits: String = digits.iter().collect();
                bytes.push(u8::from_str_radix(&digits, 16).map_err(|_| wrong())?);
                self.at += 2;
            }
            'u' if self.peek() == Some('{') => {
                self.at += 1;
                let digits = self.take_while(|char| char.is_ascii_hexdigit());
                if self.peek() != Some('}') {
                    return Err(wrong());
                }
                self.at += 1;
                let code = u32::from_str_radix(&digits, 16).map_err(|_| wrong())?;
                let char = char::from_u32(code).ok_or_else(wrong)?;
                bytes.extend(char.encode_utf8(&mut [0; 4]).bytes());
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }
}
