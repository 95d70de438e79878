//! Adding up profile files.

use std::path::PathBuf;

use super::ReportError;
use crate::mlmon::{CountRow, Mlmon, Totals};
use crate::{Kind, SourceMap, Style};

/// The lines of the fields that files must agree on, from 1.
const KIND_LINE: usize = 2;
const STYLE_LINE: usize = 3;
const MAGIC_LINE: usize = 4;
const SOURCES_LINE: usize = 6;

/// Reads profile files and checks that each belongs to the program and can be added to the ones
/// before it. If `warn` is there, a file that fails is passed to it and left out (`-tolerant`).
///
/// # Errors
/// Without `warn`, the first file that cannot be read or does not match.
pub fn load_files(
    program_name: &str,
    sources: &SourceMap,
    paths: &[PathBuf],
    mut warn: Option<&mut dyn FnMut(&ReportError)>,
) -> Result<Vec<Mlmon>, ReportError> {
    let mut files: Vec<Mlmon> = Vec::with_capacity(paths.len());
    for path in paths {
        let file = Mlmon::read_file(path)
            .map_err(ReportError::Read)
            .and_then(|file| {
                let name = path.display().to_string();
                check(program_name, sources, files.first(), &file, name)?;
                Ok(file)
            });
        match (file, &mut warn) {
            (Ok(file), _) => files.push(file),
            (Err(error), Some(warn)) => warn(&error),
            (Err(error), None) => return Err(error),
        }
    }
    Ok(files)
}

/// Checks that a file belongs to the program and can be added to the first one.
fn check(
    program: &str,
    sources: &SourceMap,
    first: Option<&Mlmon>,
    file: &Mlmon,
    name: String,
) -> Result<(), ReportError> {
    let fail = |line, problem| {
        Err(ReportError::Mismatch {
            file: name,
            line,
            problem,
        })
    };
    if file.magic != sources.magic {
        let (found, expected) = (file.magic, sources.magic);
        return fail(
            MAGIC_LINE,
            format!(
                "wrong magic 0x{found:08x}, {program} has 0x{expected:08x}: the profile is of \
                 another program or another build, so run {program} again"
            ),
        );
    }
    let n_rows = [file.sources.len(), file.names.len()];
    if n_rows != [sources.sources.len(), sources.names.len()] {
        let [n_sources, n_names] = n_rows;
        let expected = (sources.sources.len(), sources.names.len());
        return fail(
            if n_sources == expected.0 {
                SOURCES_LINE + 1 + n_sources
            } else {
                SOURCES_LINE
            },
            format!(
                "{n_sources} sources and {n_names} names, {program} has {} and {}: run {program} \
                 again",
                expected.0, expected.1
            ),
        );
    }
    let Some(first) = first else { return Ok(()) };
    if file.kind != first.kind {
        let (found, kind) = (file.kind, first.kind);
        let problem = format!(
            "a profile of kind {found} cannot be added to one of kind {kind}: report them one by \
             one"
        );
        return fail(KIND_LINE, problem);
    }
    if file.style != first.style {
        let (found, style) = (file.style, first.style);
        let problem = format!(
            "a profile of style {found} cannot be added to one of style {style}: report them one \
             by one, or profile both runs with the same style"
        );
        return fail(STYLE_LINE, problem);
    }
    Ok(())
}

/// The sum of some profile files.
#[derive(Debug)]
pub(super) struct Merged {
    /// `None` if there was no file.
    pub(super) kind: Option<Kind>,
    pub(super) style: Style,
    pub(super) totals: Totals,
    pub(super) sources: Vec<CountRow>,
    pub(super) names: Vec<CountRow>,
}

impl Merged {
    /// Checks the files again, which may not have come from [`load_files`], and adds them up.
    /// Sums that pass 2^64 stay there.
    pub(super) fn new(
        program: &str,
        sources: &SourceMap,
        files: &[Mlmon],
    ) -> Result<Merged, ReportError> {
        let first = files.first();
        let mut merged = Merged {
            kind: first.map(|file| file.kind),
            style: first.map_or(Style::Current, |file| file.style),
            totals: Totals::default(),
            sources: vec![CountRow::default(); sources.sources.len()],
            names: vec![CountRow::default(); sources.names.len()],
        };
        for (index, file) in files.iter().enumerate() {
            check(
                program,
                sources,
                first,
                file,
                format!("profile file number {}", index + 1),
            )?;
            add(&mut merged.totals.total, file.totals.total);
            add(&mut merged.totals.total_gc, file.totals.total_gc);
            add_rows(&mut merged.sources, &file.sources);
            add_rows(&mut merged.names, &file.names);
        }
        Ok(merged)
    }
}

fn add_rows(sums: &mut [CountRow], rows: &[CountRow]) {
    for (sum, row) in sums.iter_mut().zip(rows) {
        add(&mut sum.current, row.current);
        add(&mut sum.stack, row.stack);
        add(&mut sum.stack_gc, row.stack_gc);
    }
}

fn add(sum: &mut u64, n: u64) {
    *sum = sum.saturating_add(n);
}
