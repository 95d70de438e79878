//! Writing the file.

use std::io::{self, Write};
use std::path::Path;

use super::{HEADER, MemoryFile, MemoryHeader};
use crate::files;
use crate::memory::{CallFigures, Measure};
use crate::sampling::{Estimate, RareSums};

/// Reals below this are written as whole numbers if they are.
const MAX_WHOLE: f64 = (1_u64 << 53) as f64;

impl MemoryFile {
    /// Writes the file's text.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        writeln!(out, "{HEADER}")?;
        write_header(out, &self.header)?;
        writeln!(out, "sources {}", self.sources.len())?;
        for source in &self.sources {
            let (function, file) = (escape(&source.function), escape(&source.file));
            writeln!(out, "{function}\t{file}\t{}", source.line)?;
        }
        writeln!(out, "sites {}", self.sites.len())?;
        for site in &self.sites {
            writeln!(out, "{} {}", site.source.0, site.line)?;
        }
        writeln!(out, "calls {}", self.calls.len())?;
        // There are millions of these when stacks are deep.
        let mut line = Vec::new();
        for call in &self.calls {
            line.clear();
            push_decimal(&mut line, call.parent.0);
            line.push(b' ');
            push_decimal(&mut line, call.site);
            line.push(b'\n');
            out.write_all(&line)?;
        }
        writeln!(out, "rows {}", self.rows.len())?;
        for (call, figures) in &self.rows {
            write!(out, "{}", call.0)?;
            write_figures(out, figures)?;
        }
        self.write_heap(out)?;
        writeln!(out, "end")
    }

    /// Writes the file at `path`, in full or not at all, with the care that
    /// [`Mlmon::write_file`](crate::mlmon::Mlmon::write_file) takes.
    ///
    /// # Errors
    /// Those of the file system. The temporary file is removed.
    pub fn write_file(&self, path: &Path) -> io::Result<()> {
        files::write(path, ".mem-", |out| self.write(out))
    }

    fn write_heap<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        let Some(heap) = &self.heap else {
            return writeln!(out, "heap none");
        };
        writeln!(out, "heap {}", heap.gc_work_bytes)?;
        for row in &heap.sources {
            let numbers = row.numbers().map(|number| number.to_string());
            writeln!(out, "{}", numbers.join(" "))?;
        }
        Ok(())
    }
}

/// Appends the digits of a number; formatting one takes several times as long.
fn push_decimal(line: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0; 10];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[start..]);
}

/// The text with no tab, newline or carriage return in it.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            _ => escaped.push(character),
        }
    }
    escaped
}

fn write_header<W: Write + ?Sized>(out: &mut W, header: &MemoryHeader) -> io::Result<()> {
    writeln!(out, "program {}", escape(&header.program))?;
    writeln!(out, "magic 0x{:08x}", header.magic)?;
    writeln!(out, "rate {}", real(header.rate))?;
    writeln!(out, "seed {}", header.seed)?;
    writeln!(out, "clock {}", header.clock_words)?;
    writeln!(out, "allocated {}", header.allocated_bytes)?;
    writeln!(out, "collections {} {}", header.n_minor, header.n_major)?;
    writeln!(out, "cut {}", header.n_cut)
}

fn write_figures<W: Write + ?Sized>(out: &mut W, figures: &CallFigures) -> io::Result<()> {
    for measure in Measure::ALL {
        let Estimate {
            bytes,
            objects,
            bytes_variance,
            objects_variance,
            n_blocks,
            n_samples,
            rare,
        } = *figures.get(measure);
        if n_blocks == 0 {
            write!(out, "\t-")?;
        } else {
            let sums = [bytes, objects, bytes_variance, objects_variance];
            write!(out, "\t{n_blocks} {n_samples} {}", sums.map(real).join(" "))?;
            let of_rare = [
                rare.bytes,
                rare.objects,
                rare.bytes_variance,
                rare.objects_variance,
            ];
            if of_rare == sums && rare.n_blocks == n_blocks {
                write!(out, " =")?;
            } else if rare != RareSums::default() {
                write!(out, " {} {}", rare.n_blocks, of_rare.map(real).join(" "))?;
            }
        }
    }
    writeln!(out)
}

/// The shortest text that reads back as the same number. What is no number of the format (it takes
/// sums beyond any heap to get there) becomes the nearest that is.
fn real(number: f64) -> String {
    let number = if number.is_nan() {
        0.0
    } else {
        number.clamp(0.0, f64::MAX)
    };
    if number < MAX_WHOLE && number.fract() == 0.0 {
        format!("{}", number as u64)
    } else {
        format!("{number:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_are_short_and_exact() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (24.0, "24"),
            (0.1, "1e-1"),
            (1e-300, "1e-300"),
            (2.5e17, "2.5e17"),
            (1.0 / 3.0, "3.333333333333333e-1"),
            (f64::INFINITY, "1.7976931348623157e308"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(real(number), text);
        }
    }

    #[test]
    fn numbers_are_written_as_they_are_formatted() {
        for number in [0, 1, 9, 10, 4_294, 100_000, u32::MAX] {
            let mut line = b"x".to_vec();
            super::push_decimal(&mut line, number);
            assert_eq!(line, format!("x{number}").into_bytes());
        }
    }
}
