//! The text form of a [`SourceMap`]: what a MLton executable prints for `@MLton show-sources`.
//!
//! ```text
//! map       = magic names sources sequences
//! magic     = "0x" 8 hexadecimal digits NL
//! names     = N NL, then N lines: label [ TAB position ]
//! sources   = N NL, then N lines: name-index SPACE successors-sequence-index
//! sequences = N NL, then N lines: { source-index SPACE }
//! ```
//!
//! Every line ends in a newline and every number is decimal. A program with no name at all was
//! not compiled for profiling.

use std::io::{self, Write};

use crate::lines::{LineError, Lines, decimal};
use crate::{NameId, Source, SourceId, SourceMap, SourceSeqId};

impl SourceMap {
    /// Writes the map byte for byte as a MLton executable does.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_show_sources<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        writeln!(out, "0x{:08x}", self.magic)?;
        writeln!(out, "{}", self.names.len())?;
        for name in &self.names {
            writeln!(out, "{name}")?;
        }
        writeln!(out, "{}", self.sources.len())?;
        for source in &self.sources {
            writeln!(out, "{} {}", source.name.0, source.successors.0)?;
        }
        writeln!(out, "{}", self.sequences.len())?;
        for sequence in &self.sequences {
            for source in sequence {
                write!(out, "{} ", source.0)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Reads what [`SourceMap::write_show_sources`] or a MLton executable prints. All indices of the
/// map are in range; the fixed sources are not checked, see [`SourceMap::validate`].
///
/// # Errors
/// The first line at fault and what was expected there.
pub fn parse_show_sources(text: &str) -> Result<SourceMap, LineError> {
    let mut lines = Lines::new(text);
    let magic = lines.magic()?;
    let n_names = lines.number("the number of names")?;
    let mut names = Vec::with_capacity(Lines::reserve(n_names));
    for _ in 0..n_names {
        names.push(lines.next("a name")?.to_owned());
    }
    let n_sources = lines.number("the number of sources")?;
    let mut sources = Vec::with_capacity(Lines::reserve(n_sources));
    for _ in 0..n_sources {
        sources.push(parse_source(&mut lines, names.len())?);
    }
    let n_sequences = lines.number("the number of source sequences")?;
    let mut sequences = Vec::with_capacity(Lines::reserve(n_sequences));
    for _ in 0..n_sequences {
        sequences.push(parse_sequence(&mut lines, sources.len())?);
    }
    let map = SourceMap {
        names,
        sources,
        sequences,
        magic,
    };
    // Only now are all sequences known, so an error here is about the text as a whole.
    map.validate_indices()
        .map_err(|error| lines.error(error.to_string()))?;
    lines.end()?;
    Ok(map)
}

fn parse_source(lines: &mut Lines<'_>, n_names: usize) -> Result<Source, LineError> {
    let [name, successors] = lines.numbers("a name index and a source sequence index")?;
    let name = u32::try_from(name)
        .ok()
        .filter(|&name| (name as usize) < n_names);
    let name = name.ok_or_else(|| lines.error(format!("there are only {n_names} names")))?;
    let successors = u32::try_from(successors);
    let successors = successors.map_err(|_| lines.error("the source sequence does not exist"))?;
    Ok(Source {
        name: NameId(name),
        successors: SourceSeqId(successors),
    })
}

fn parse_sequence(lines: &mut Lines<'_>, n_sources: usize) -> Result<Vec<SourceId>, LineError> {
    let line = lines.next("a source sequence")?;
    let entry = |word| {
        let id = decimal(word).and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| lines.expected("a source index", word))?;
        if (id as usize) < n_sources {
            Ok(SourceId(id))
        } else {
            Err(lines.error(format!("there are only {n_sources} sources")))
        }
    };
    line.split_ascii_whitespace().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn text(map: &SourceMap) -> String {
        let mut bytes = Vec::new();
        map.write_show_sources(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_smallest_map() {
        let map = SourceMap {
            magic: 0xab,
            ..SourceMap::new()
        };
        expect![[r#"
            0x000000ab
            3
            <unknown>
            <gc>
            <main>
            3
            0 2
            1 2
            2 2
            3
            0 
            1 

        "#]]
        .assert_eq(&text(&map));
        assert_eq!(parse_show_sources(&text(&map)), Ok(map));
    }

    #[test]
    fn every_error_has_its_line() {
        let cases = [
            (
                "",
                "line 1: the file is cut off here: expected a magic such as 0x14c069eb; \
              run the program again",
            ),
            (
                "0x+1\n",
                "line 1: expected a magic such as 0x14c069eb, found \"0x+1\"",
            ),
            (
                "0x1\n99999999999\n",
                "line 3: the file is cut off here: expected a name; \
              run the program again",
            ),
            (
                "0x1\n-1\n",
                "line 2: expected the number of names, found \"-1\"",
            ),
            ("0x1\n1\na\n1\n1 0\n", "line 5: there are only 1 names"),
            (
                "0x1\n1\na\n1\n0 0 0\n",
                "line 5: expected a name index and a source sequence index, found \"0 0 0\"",
            ),
            (
                "0x1\n1\na\n1\n0 0\n1\n1 \n",
                "line 7: there are only 1 sources",
            ),
            (
                "0x1\n1\na\n1\n0 1\n1\n0 \n",
                "line 7: source 0 has source sequence 1, which does not exist",
            ),
            (
                "0x1\n0\n0\n0\nx",
                "line 5: expected the end of the file: \
              two files may have been joined",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(parse_show_sources(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn every_cut_is_an_error() {
        let text = text(&SourceMap::new());
        for end in 0..text.len() {
            assert!(parse_show_sources(&text[..end]).is_err(), "cut at {end}");
        }
    }
}
