//! What can go wrong in a report.

use std::path::PathBuf;
use std::{fmt, io};

use crate::mlmon::ReadError;
use crate::{LineError, SourceMapError};

/// Why a report could not be made. The message names the file, the line and what to do.
#[derive(Debug)]
pub enum ReportError {
    /// The program does not exist, or is no executable.
    NoProgram {
        /// The program as it was given.
        program: PathBuf,
        /// What it is not.
        problem: &'static str,
    },
    /// The program could not be started, or its output could not be read.
    Start(PathBuf, io::Error),
    /// What the program printed for `@MLton show-sources` is not a source map.
    ShowSources(PathBuf, LineError),
    /// The program has no sources.
    NotProfiled(PathBuf),
    /// An index of the source map is out of range.
    Sources(SourceMapError),
    /// A name of the source map is not a label with or without a position.
    Name {
        /// Its index in the map's names.
        index: usize,
    },
    /// A profile file could not be read.
    Read(ReadError),
    /// A profile file belongs to another program, or cannot be added to the ones before it.
    Mismatch {
        /// The file, or its number if the contents came from elsewhere.
        file: String,
        /// The line that shows it, from 1.
        line: usize,
        /// What does not match and what to do.
        problem: String,
    },
    /// A list of profile files could not be read.
    List(PathBuf, io::Error),
    /// The call graph could not be written.
    CallGraph(PathBuf, io::Error),
    /// The call graph has too many edges to be drawn.
    GraphTooBig(PathBuf),
    /// The table could not be written.
    Output(io::Error),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::NoProgram { program, problem } => {
                write!(f, "program {} {problem}", program.display())
            }
            ReportError::Start(program, error) => {
                write!(
                    f,
                    "cannot run {} for its sources: {error}",
                    program.display()
                )
            }
            ReportError::ShowSources(program, error) => {
                let program = program.display();
                write!(
                    f,
                    "{program} does not print its sources for `@MLton show-sources`: {error}"
                )
            }
            ReportError::NotProfiled(program) => {
                let program = program.display();
                write!(
                    f,
                    "{program} has no sources: compile it for profiling and run it again"
                )
            }
            ReportError::Sources(error) => write!(f, "broken source map: {error}"),
            ReportError::Name { index } => {
                write!(
                    f,
                    "broken source map: {}",
                    SourceMapError::Name { name: *index }
                )
            }
            ReportError::Read(error) => error.fmt(f),
            ReportError::Mismatch {
                file,
                line,
                problem,
            } => write!(f, "{file}:{line}: {problem}"),
            ReportError::List(list, error) => {
                write!(
                    f,
                    "cannot read the list of profile files {}: {error}",
                    list.display()
                )
            }
            ReportError::CallGraph(file, error) => {
                write!(f, "cannot write the call graph {}: {error}", file.display())
            }
            ReportError::GraphTooBig(file) => {
                let file = file.display();
                write!(
                    f,
                    "the call graph {file} would be too big: show fewer functions with -keep"
                )
            }
            ReportError::Output(error) => write!(f, "cannot write the report: {error}"),
        }
    }
}

impl std::error::Error for ReportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReportError::Start(_, error)
            | ReportError::List(_, error)
            | ReportError::CallGraph(_, error)
            | ReportError::Output(error) => Some(error),
            ReportError::ShowSources(_, error) => Some(error),
            ReportError::Sources(error) => Some(error),
            ReportError::Read(error) => Some(error),
            ReportError::NoProgram { .. }
            | ReportError::NotProfiled(_)
            | ReportError::Name { .. }
            | ReportError::GraphTooBig(_)
            | ReportError::Mismatch { .. } => None,
        }
    }
}
