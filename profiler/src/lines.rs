//! The lines of a text file, with their numbers, for readers that must survive any input.

use std::fmt;

/// What is wrong with a text, and in which line (the first is 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// The line at fault, counted from 1.
    pub line: usize,
    /// What is wrong there and what was expected.
    pub problem: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for LineError {}

/// A cursor over complete lines. A last line with no newline counts as cut off.
pub(crate) struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Lines<'a> {
        Lines {
            rest: text,
            line: 0,
        }
    }

    /// An error about the line that was read last.
    pub(crate) fn error(&self, problem: impl Into<String>) -> LineError {
        LineError {
            line: self.line,
            problem: problem.into(),
        }
    }

    /// The next line without its newline. `what` says what should be there.
    pub(crate) fn next(&mut self, what: &str) -> Result<&'a str, LineError> {
        self.line += 1;
        let end = self.rest.find('\n').ok_or_else(|| {
            self.error(format!(
                "the file is cut off here: expected {what}; run the program again"
            ))
        })?;
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(line)
    }

    /// Refuses anything that follows the last line.
    pub(crate) fn end(&mut self) -> Result<(), LineError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        self.line += 1;
        Err(self.error("expected the end of the file: two files may have been joined"))
    }

    /// The next line as one unsigned decimal number.
    pub(crate) fn number(&mut self, what: &str) -> Result<u64, LineError> {
        let [number] = self.numbers(what)?;
        Ok(number)
    }

    /// The next line as `N` unsigned decimal numbers between spaces.
    pub(crate) fn numbers<const N: usize>(&mut self, what: &str) -> Result<[u64; N], LineError> {
        let line = self.next(what)?;
        let mut words = line.split_ascii_whitespace();
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = words
                .next()
                .and_then(decimal)
                .ok_or_else(|| self.expected(what, line))?;
        }
        match words.next() {
            None => Ok(numbers),
            Some(_) => Err(self.expected(what, line)),
        }
    }

    /// The next line as a magic, `0x` and up to eight hexadecimal digits.
    pub(crate) fn magic(&mut self) -> Result<u32, LineError> {
        let what = "a magic such as 0x14c069eb";
        let line = self.next(what)?;
        let digits = line.strip_prefix("0x").unwrap_or("");
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let magic = u32::from_str_radix(digits, 16).ok().filter(|_| plain);
        magic.ok_or_else(|| self.expected(what, line))
    }

    /// How many of `n` items a reader may reserve at once. A hostile count is cut here; if the
    /// items are there after all, the vector grows as they are read.
    pub(crate) fn reserve(n: u64) -> usize {
        n.min(1 << 12) as usize
    }

    pub(crate) fn expected(&self, what: &str, line: &str) -> LineError {
        // A hostile line may be long; its first characters are enough to find it.
        let start: String = line.chars().take(40).collect();
        self.error(format!("expected {what}, found {start:?}"))
    }
}

/// Reads digits only: no sign, no spaces, no underscores.
pub(crate) fn decimal(word: &str) -> Option<u64> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| plain)
}
