//! Reading `mlmon.out`, whoever wrote it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{CountRow, HEADER, Mlmon, Totals};
use crate::Style;
use crate::files::{self, ReadError};
use crate::lines::{LineError, Lines};
use crate::memory::MEMORY_FILE_START;

/// What a reader is told that the file is not.
const FILE_TYPE: &str = "an mlmon.out file";

impl Mlmon {
    /// Reads the text of a file. Memory use is bounded by the length of the text, whatever the
    /// counts in it claim. Unlike `mlprof`, it refuses text after the end, and a last line with no
    /// newline, which is the sign of a file that was cut off.
    ///
    /// # Errors
    /// The first line at fault, what was expected there, and what to do.
    pub fn parse(text: &str) -> Result<Mlmon, LineError> {
        let mut lines = Lines::new(text);
        let header = lines.next("the line `MLton prof`")?;
        if header != HEADER {
            let problem = lines.expected("the line `MLton prof`", header).problem;
            let what = match header.starts_with(MEMORY_FILE_START) {
                true => "a memory profile, which `vm mem FILE` shows",
                false => "not an mlmon.out file",
            };
            return Err(lines.error(format!("{problem}: this is {what}")));
        }
        let kind = word(&mut lines, "a kind")?;
        let style = word(&mut lines, "a style")?;
        let magic = lines.magic()?;
        let [total, total_gc] = lines.numbers("the total and the GC total")?;
        let sources = rows(&mut lines, style, "the number of sources")?;
        let names = rows(&mut lines, style, "the number of names")?;
        lines.end()?;
        Ok(Mlmon {
            kind,
            style,
            magic,
            totals: Totals { total, total_gc },
            sources,
            names,
        })
    }

    /// Reads the file at `path`, which may have at most [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    ///
    /// # Errors
    /// Names the file, and the line if the file could be read.
    pub fn read_file(path: &Path) -> Result<Mlmon, ReadError> {
        files::read(path, FILE_TYPE, Mlmon::parse)
    }
}

fn word<T>(lines: &mut Lines<'_>, what: &str) -> Result<T, LineError>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    let line = lines.next(what)?;
    // A hostile line may be long; a word that is longer than any choice is cut before it is shown.
    let start: String = line.chars().take(40).collect();
    start
        .parse()
        .map_err(|error: T::Err| lines.error(error.to_string()))
}

fn rows(lines: &mut Lines<'_>, style: Style, what: &str) -> Result<Vec<CountRow>, LineError> {
    let n_rows = lines.number(what)?;
    let mut rows = Vec::with_capacity(Lines::reserve(n_rows));
    for _ in 0..n_rows {
        rows.push(match style {
            Style::Current => CountRow {
                current: lines.number("a count")?,
                ..CountRow::default()
            },
            Style::Stack => {
                let what = "three counts (current, stack, stack GC)";
                let [current, stack, stack_gc] = lines.numbers(what)?;
                CountRow {
                    current,
                    stack,
                    stack_gc,
                }
            }
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: &str = "MLton prof\ntime\ncurrent\n0x0000beef\n9 1\n2\n9\n1\n1\n10\n";
    const STACK: &str = "MLton prof\nalloc\nstack\n0x0000beef\n9 1\n2\n9 9 1\n1 0 1\n1\n1 2 3\n";

    #[test]
    fn what_is_read_is_written_again() {
        for text in [CURRENT, STACK] {
            let mut written = Vec::new();
            Mlmon::parse(text).unwrap().write(&mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
        }
    }

    #[test]
    fn every_cut_is_an_error() {
        for text in [CURRENT, STACK] {
            for end in 0..text.len() {
                assert!(
                    Mlmon::parse(&text[..end]).is_err(),
                    "cut at {end} of {text}"
                );
            }
        }
    }

    #[test]
    fn every_error_has_its_line() {
        let cut = "the file is cut off here: expected";
        let cases = [
            (
                "x\n",
                "line 1: expected the line `MLton prof`, found \"x\": \
              this is not an mlmon.out file"
                    .to_owned(),
            ),
            (
                "MLton prof\nheap\n",
                "line 2: no profile kind is called \"heap\": \
              choose from time, alloc, count"
                    .to_owned(),
            ),
            (
                "MLton prof\ntime\nall\n",
                "line 3: no profile style is called \"all\": \
              choose from current, stack"
                    .to_owned(),
            ),
            (
                "MLton prof\ntime\nstack\n0x123456789\n",
                "line 4: expected a magic such as \
              0x14c069eb, found \"0x123456789\""
                    .to_owned(),
            ),
            (
                "MLton prof\ntime\nstack\n0x1\n1\n",
                "line 5: expected the total and the GC total, found \"1\"".to_owned(),
            ),
            (
                "MLton prof\ntime\ncurrent\n0x1\n1 0\n18446744073709551615\n",
                format!("line 7: {cut} a count; run the program again"),
            ),
            (
                "MLton prof\ntime\ncurrent\n0x1\n1 0\n18446744073709551616\n",
                "line 6: expected the number of sources, found \"18446744073709551616\"".to_owned(),
            ),
            (
                "MLton prof\ntime\nstack\n0x1\n1 0\n1\n1 2\n",
                "line 7: expected three counts \
              (current, stack, stack GC), found \"1 2\""
                    .to_owned(),
            ),
            (
                "MLton prof\ntime\nstack\n0x1\n1 0\n0\n0\n0\n",
                "line 8: expected the end of the \
              file: two files may have been joined"
                    .to_owned(),
            ),
        ];
        for (text, message) in cases {
            assert_eq!(Mlmon::parse(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn random_mutations_never_panic() {
        // A xorshift generator: the same mutations in every run.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n as u64) as usize
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlmon.out");
        for round in 0..20_000 {
            let mut bytes = [CURRENT, STACK][round % 2].as_bytes().to_vec();
            for _ in 0..=random(4) {
                let at = random(bytes.len());
                match random(4) {
                    0 => bytes[at] = random(256) as u8,
                    1 => bytes[at] = b"0123456789 \n"[random(12)],
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"9 \n"[random(3)]),
                }
            }
            if let Ok(text) = std::str::from_utf8(&bytes) {
                let _ = Mlmon::parse(text);
            } else if round % 100 == 0 {
                std::fs::write(&path, &bytes).unwrap();
                assert!(Mlmon::read_file(&path).unwrap_err().line().is_some());
            }
        }
    }

    #[test]
    fn a_file_error_names_the_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.out");
        let missing = Mlmon::read_file(&path).unwrap_err();
        assert!(missing.to_string().contains("broken.out: "), "{missing}");
        std::fs::write(&path, &CURRENT[..CURRENT.len() - 1]).unwrap();
        let cut = Mlmon::read_file(&path).unwrap_err().to_string();
        assert!(
            cut.contains("broken.out:10: the file is cut off here"),
            "{cut}"
        );
    }
}
