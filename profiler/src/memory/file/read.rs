//! Reading the file, whatever is in it.

use std::path::Path;
use std::str::Split;

use super::{HEADER, MemoryCall, MemoryFile, MemoryHeader, MemorySite, MemorySource};
use crate::SourceId;
use crate::files::{self, ReadError};
use crate::lines::{LineError, Lines, decimal};
use crate::memory::{CallFigures, HeapProfile, HeapRow, Measure};
use crate::mlmon;
use crate::sampling::{CallId, CallTree, Estimate, RareSums};

impl MemoryFile {
    /// Reads the text of a file. Memory use is bounded by the length of the text, whatever the
    /// counts in it claim.
    ///
    /// # Errors
    /// The first line at fault, what was expected there, and what to do.
    pub fn parse(text: &str) -> Result<MemoryFile, LineError> {
        let mut lines = Lines::new(text);
        let what = "the line `TALLY MEM 1`";
        let header = lines.next(what)?;
        if header != HEADER {
            let problem = lines.expected(what, header).problem;
            let what = match header == mlmon::HEADER {
                true => "an mlmon.out file, which `vm prof PROGRAM FILE` shows",
                false => "not a memory profile",
            };
            return Err(lines.error(format!("{problem}: this is {what}")));
        }
        let header = read_header(&mut lines)?;
        let mut file = MemoryFile {
            header,
            sources: list(&mut lines, "sources", read_source)?,
            sites: Vec::new(),
            calls: Vec::new(),
            rows: Vec::new(),
            heap: None,
        };
        let n_sources = file.sources.len();
        file.sites = list(&mut lines, "sites", |lines, _| read_site(lines, n_sources))?;
        let n_sites = file.sites.len();
        file.calls = list(&mut lines, "calls", |lines, index| {
            read_call(lines, index, n_sites)
        })?;
        let n_calls = file.calls.len();
        let mut last = None;
        file.rows = list(&mut lines, "rows", |lines, _| {
            let row = read_row(lines, n_calls, last)?;
            last = Some(row.0);
            Ok(row)
        })?;
        file.heap = read_heap(&mut lines, n_sources)?;
        let end = lines.next("the line `end`")?;
        if end != "end" {
            return Err(lines.expected("the line `end`", end));
        }
        lines.end()?;
        Ok(file)
    }

    /// Reads the file at `path`, which may have at most
    /// [`MAX_FILE_BYTES`](crate::mlmon::MAX_FILE_BYTES).
    ///
    /// # Errors
    /// Names the file, and the line if the file could be read.
    pub fn read_file(path: &Path) -> Result<MemoryFile, ReadError> {
        files::read(path, "a memory profile", MemoryFile::parse)
    }
}

fn read_header(lines: &mut Lines<'_>) -> Result<MemoryHeader, LineError> {
    let line = field(lines, "program")?;
    let program = unescape(line).ok_or_else(|| lines.expected("a name", line))?;
    let line = field(lines, "magic")?;
    let magic = hexadecimal(line).ok_or_else(|| lines.expected("8 hexadecimal digits", line))?;
    let line = field(lines, "rate")?;
    let rate = real(line)
        .filter(|rate| (0.0..=1.0).contains(rate))
        .ok_or_else(|| lines.expected("a number from 0 to 1", line))?;
    let [seed] = numbers(lines, "seed")?;
    let [clock_words] = numbers(lines, "clock")?;
    let [allocated_bytes] = numbers(lines, "allocated")?;
    let [n_minor, n_major] = numbers(lines, "collections")?;
    let [n_cut] = numbers(lines, "cut")?;
    Ok(MemoryHeader {
        program,
        magic,
        rate,
        seed,
        clock_words,
        allocated_bytes,
        n_minor,
        n_major,
        n_cut,
    })
}

fn read_source(lines: &mut Lines<'_>, _index: usize) -> Result<MemorySource, LineError> {
    let what = "a function, a file and a line with tabs between";
    let text = lines.next(what)?;
    let mut parts = text.split('\t');
    let mut part = || parts.next();
    let source = match (part(), part(), part(), part()) {
        (Some(function), Some(file), Some(line), None) => unescape(function)
            .zip(unescape(file))
            .zip(decimal(line).and_then(|line| u32::try_from(line).ok())),
        _ => None,
    };
    let ((function, file), line) = source.ok_or_else(|| lines.expected(what, text))?;
    Ok(MemorySource {
        function,
        file,
        line,
    })
}

fn read_site(lines: &mut Lines<'_>, n_sources: usize) -> Result<MemorySite, LineError> {
    let [source, line] = lines.numbers("the source and the line of a site")?;
    if source >= n_sources as u64 {
        return Err(lines.error(format!(
            "a site of source {source}, but there are only {n_sources} sources"
        )));
    }
    let line = u32::try_from(line).map_err(|_| lines.error(format!("line {line} of a file")))?;
    Ok(MemorySite {
        source: SourceId(source as u32),
        line,
    })
}

fn read_call(lines: &mut Lines<'_>, index: usize, n_sites: usize) -> Result<MemoryCall, LineError> {
    let [parent, site] = lines.numbers("the parent and the site of a call")?;
    if parent > index as u64 {
        return Err(lines.error(format!(
            "call {} has the parent {parent}, but parents stand before their children",
            index + 1
        )));
    }
    if site >= n_sites as u64 {
        return Err(lines.error(format!(
            "a call of site {site}, but there are only {n_sites} sites"
        )));
    }
    Ok(MemoryCall {
        parent: CallId(parent as u32),
        site: site as u32,
    })
}

fn read_row(
    lines: &mut Lines<'_>,
    n_calls: usize,
    last: Option<CallId>,
) -> Result<(CallId, CallFigures), LineError> {
    let what = "a call and its five groups of figures with tabs between";
    let line = lines.next(what)?;
    let mut parts = line.split('\t');
    let call = parts.next().and_then(decimal);
    let call = call.ok_or_else(|| lines.expected(what, line))?;
    if call > n_calls as u64 {
        return Err(lines.error(format!(
            "a row of call {call}, but there are only {n_calls} calls"
        )));
    }
    let call = CallId(call as u32);
    if last.is_some_and(|last| call <= last) {
        return Err(lines.error("rows must be in the order of their calls, each once"));
    }
    let mut figures = CallFigures::default();
    for measure in Measure::ALL {
        *figures.get_mut(measure) = parts
            .next()
            .and_then(estimate)
            .ok_or_else(|| lines.expected(what, line))?;
    }
    match parts.next() {
        None if figures == CallFigures::default() => Err(lines.error("a row with no figures")),
        None => Ok((call, figures)),
        Some(_) => Err(lines.expected(what, line)),
    }
}

fn read_heap(lines: &mut Lines<'_>, n_sources: usize) -> Result<Option<HeapProfile>, LineError> {
    let line = field(lines, "heap")?;
    if line == "none" {
        return Ok(None);
    }
    let what = "`none` or the GC work in bytes";
    let gc_work_bytes = decimal(line).ok_or_else(|| lines.expected(what, line))?;
    let mut sources = Vec::new();
    for _ in 0..n_sources {
        let numbers = lines.numbers::<{ HeapRow::N_NUMBERS }>("15 exact figures of a source")?;
        let mut row = HeapRow::default();
        for (place, number) in row.numbers_mut().into_iter().zip(numbers) {
            *place = number;
        }
        sources.push(row);
    }
    Ok(Some(HeapProfile {
        sources,
        gc_work_bytes,
    }))
}

/// A line with the number of items and as many items, each read with its index.
fn list<'a, T>(
    lines: &mut Lines<'a>,
    tag: &str,
    mut item: impl FnMut(&mut Lines<'a>, usize) -> Result<T, LineError>,
) -> Result<Vec<T>, LineError> {
    let [n] = numbers(lines, tag)?;
    if n > u64::from(u32::MAX) {
        return Err(lines.error(format!("{n} {tag} are more than there can be")));
    }
    let mut items = Vec::with_capacity(Lines::reserve(n));
    for index in 0..n as usize {
        items.push(item(lines, index)?);
    }
    Ok(items)
}

/// The next line's numbers, behind a tag.
fn numbers<const N: usize>(lines: &mut Lines<'_>, tag: &str) -> Result<[u64; N], LineError> {
    let line = field(lines, tag)?;
    let mut words = line.split(' ');
    let found = std::array::from_fn(|_| words.next().and_then(decimal));
    let is_over = words.next().is_none();
    let what = match N {
        1 => "a number".to_owned(),
        n => format!("{n} numbers"),
    };
    if !is_over || found.contains(&None) {
        return Err(lines.expected(&format!("{what} behind `{tag}`"), line));
    }
    Ok(found.map(Option::unwrap_or_default))
}

/// What the next line has behind a tag and a space.
fn field<'a>(lines: &mut Lines<'a>, tag: &str) -> Result<&'a str, LineError> {
    let what = format!("a line that begins with `{tag}`");
    let line = lines.next(&what)?;
    line.strip_prefix(tag)
        .and_then(|rest| rest.strip_prefix(' '))
        .ok_or_else(|| lines.expected(&what, line))
}

/// The figures of one measure.
fn estimate(text: &str) -> Option<Estimate> {
    if text == "-" {
        return Some(Estimate::default());
    }
    let mut words = text.split(' ');
    let n_blocks = decimal(words.next()?)?;
    let n_samples = decimal(words.next()?)?;
    let all = sums(&mut words, n_blocks)?;
    let rare = match words.clone().next() {
        None => RareSums::default(),
        Some("=") => {
            words.next();
            all
        }
        Some(_) => {
            let n_rare = decimal(words.next()?)?;
            sums(&mut words, n_rare)?
        }
    };
    let is_sound = 0 < n_blocks && n_blocks <= n_samples && rare.n_blocks <= n_blocks;
    let is_sound = is_sound && words.next().is_none();
    is_sound.then_some(Estimate {
        bytes: all.bytes,
        objects: all.objects,
        bytes_variance: all.bytes_variance,
        objects_variance: all.objects_variance,
        n_blocks,
        n_samples,
        rare,
    })
}

fn sums(words: &mut Split<'_, char>, n_blocks: u64) -> Option<RareSums> {
    Some(RareSums {
        n_blocks,
        bytes: real(words.next()?)?,
        objects: real(words.next()?)?,
        bytes_variance: real(words.next()?)?,
        objects_variance: real(words.next()?)?,
    })
}

/// A real number of the format: finite, not below zero.
fn real(word: &str) -> Option<f64> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'-');
    let number: f64 = word.parse().ok()?;
    (word.bytes().all(plain) && !word.starts_with('-') && number.is_finite()).then_some(number)
}

fn hexadecimal(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("0x")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16)
        .ok()
        .filter(|_| plain && digits.len() == 8)
}

/// The text that was escaped; none if that is no escaped text.
fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\t' | '\r' => return None,
            '\\' => match characters.next()? {
                '\\' => '\\',
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            _ => character,
        });
    }
    Some(plain)
}

/// The empty stack is call 0, so call 1 is the first that a file has.
const _: () = assert!(CallTree::ROOT.0 == 0);
