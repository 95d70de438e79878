//! What is wrong with a text, where, and what would be right.

use std::fmt::Write;

/// The most errors that one run reports.
pub const MAX_DIAGNOSTICS: usize = 20;

/// The most errors that a step keeps: enough for the first ones by their place to be among them.
pub(crate) const MAX_KEPT: usize = 200;
/// The most bytes of a message; names in it may be as long as the text.
const MAX_MESSAGE_BYTES: usize = 300;
/// The longest name for which a similar one is looked for, in bytes, and the most candidates.
const MAX_COMPARED_BYTES: usize = 64;
const MAX_CANDIDATES: usize = 2_000;

/// The most characters of a line that are shown, and the most of them before the span.
const MAX_SHOWN: usize = 72;
const MAX_BEFORE: usize = 50;

/// A stretch of the text, in bytes: `start <= offset < end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset of the first byte after it.
    pub end: u32,
}

impl Span {
    /// The span from the start of this one to the end of another.
    pub fn to(self, end: Span) -> Span {
        Span {
            start: self.start,
            end: end.end.max(self.start),
        }
    }
}

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What is wrong, as a clause.
    pub message: String,
    /// What would be right, when that can be said.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without help.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: cut(message.into()),
            help: None,
        }
    }

    /// The same error, saying what would be right.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(cut(help.into())),
            ..self
        }
    }

    /// The same error, with the candidate nearest to `name` as a suggestion when one is near.
    pub(crate) fn suggesting<'a>(
        self,
        name: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        match nearest(name, candidates) {
            Some(near) => self.with_help(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// The error as people read it: `file:line:col: error: ...`, the line, and carets under the
    /// span. Columns count characters from 1.
    pub fn render(&self, file_name: &str, text: &str) -> String {
        let start = floor_boundary(text, self.span.start as usize);
        let end = floor_boundary(text, self.span.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..]
            .find('\n')
            .map_or(text.len(), |newline| start + newline);
        let line_number = text[..start].matches('\n').count() + 1;
        let before = text[line_start..start].chars().count();
        let mut out = format!(
            "{file_name}:{line_number}:{}: error: {}\n",
            before + 1,
            self.message
        );
        // Of a long line, only what stands around the span.
        let skipped = before.saturating_sub(MAX_BEFORE);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let shown: String = line.chars().skip(skipped).take(MAX_SHOWN).collect();
        let _ = writeln!(out, "    {}", shown.replace('\t', " "));
        let carets = text[start..end.min(line_end).max(start)]
            .chars()
            .count()
            .max(1);
        let carets = carets
            .min(MAX_SHOWN.saturating_sub(before - skipped))
            .max(1);
        let _ = writeln!(
            out,
            "    {}{}",
            " ".repeat(before - skipped),
            "^".repeat(carets)
        );
        if let Some(help) = &self.help {
            let _ = writeln!(out, "help: {help}");
        }
        out
    }
}

/// Keeps an error, unless there are more already than anybody is told.
pub(crate) fn keep(errors: &mut Vec<Diagnostic>, error: Diagnostic) {
    if errors.len() < MAX_KEPT {
        errors.push(error);
    }
}

/// The text without its middle, if it is too long to be read: both ends say what it is about.
fn cut(text: String) -> String {
    if text.len() <= MAX_MESSAGE_BYTES {
        return text;
    }
    let head = &text[..floor_boundary(&text, MAX_MESSAGE_BYTES / 2)];
    let tail = &text[floor_boundary(&text, text.len() - MAX_MESSAGE_BYTES / 2)..];
    format!("{head}...{tail}")
}

/// The start of the character that the offset falls into.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The line of the byte at `offset`, counted from 1.
pub(crate) struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Self {
            starts: newlines.map(|(offset, _)| offset as u32 + 1).collect(),
        }
    }

    pub(crate) fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32 + 1
    }
}

/// The candidate that differs least from `name`, if it differs by at most a third of its letters.
/// Long names, and names among thousands, are not compared: that would take too long.
fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (name.chars().count() / 3).max(1);
    let mut candidates: Vec<&str> = candidates.into_iter().take(MAX_CANDIDATES + 1).collect();
    if name.len() > MAX_COMPARED_BYTES || candidates.len() > MAX_CANDIDATES {
        candidates.clear();
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= most * 4)
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= most)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped, changed or swapped with a neighbour.
fn edit_distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let change = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(diagnostic: Diagnostic, text: &str, expected: Expect) {
        expected.assert_eq(&diagnostic.render("list.asm", text));
    }

    #[test]
    fn the_span_is_shown_under_its_line() {
        let span = Span { start: 13, end: 18 };
        let diagnostic = Diagnostic::new(span, "no op is called `retrn`");
        check(
            diagnostic.suggesting("retrn", ["ret", "return", "raise"]),
            "fun main() {\nretrn x\n}",
            expect![[r"
                list.asm:2:1: error: no op is called `retrn`
                    retrn x
                    ^^^^^
                help: did you mean `return`?
            "]],
        );
    }

    #[test]
    fn a_span_outside_of_the_text_is_shown_at_its_end() {
        let span = Span { start: 90, end: 99 };
        check(
            Diagnostic::new(span, "the text ends here"),
            "é",
            expect![[r"
                list.asm:1:2: error: the text ends here
                    é
                     ^
            "]],
        );
    }

    #[test]
    fn long_messages_lose_their_middle() {
        let name = "é".repeat(1_000_000);
        let diagnostic = Diagnostic::new(Span::default(), format!("no op is called `{name}`"));
        assert!(diagnostic.message.starts_with("no op is called `é"));
        assert!(diagnostic.message.ends_with("é`"));
        assert!(diagnostic.message.len() <= MAX_MESSAGE_BYTES + "...".len() + 2);
    }

    #[test]
    fn names_are_compared_while_they_are_few_and_short() {
        let many: Vec<String> = (0..=MAX_CANDIDATES)
            .map(|one| format!("name{one}"))
            .collect();
        let names = || many.iter().map(String::as_str);
        assert_eq!(nearest("name7x", names()), None);
        assert_eq!(nearest("name7x", names().take(100)), Some("name7"));
        let long = "n".repeat(MAX_COMPARED_BYTES + 1);
        assert_eq!(nearest(&long, [long.as_str()]), None);
    }

    #[test]
    fn a_swapped_pair_is_one_slip() {
        assert_eq!(edit_distance("sbu", "sub"), 1);
        assert_eq!(nearest("sbu", ["mul", "sub", "add"]), Some("sub"));
        assert_eq!(nearest("quotient", ["mul", "sub", "add"]), None);
    }
}
