//! Reports: the tables and call graphs of `mlprof`, byte for byte.
//!
//! A report needs the sources of the program ([`load_sources`], or the ones that come with a
//! `.bc`) and any number of profile files ([`load_files`]), whose counts are added up. [`run`]
//! writes the table, and the call graph if the options ask for one. [`parse_args`] reads
//! `mlprof`'s command line.
//!
//! Where upstream is silent about broken input or stops with an internal error, this module
//! returns a [`ReportError`] that names the file, the line and what to do.
//!
//! ```
//! use profiler::report::{self, Options};
//! use profiler::{Kind, ProfileData, SourceId, SourceMap};
//!
//! let sources = SourceMap::new();
//! let data = ProfileData::new(sources.sources.len());
//! data.node(SourceId::MAIN).charge_bytes(3000);
//! data.node(SourceId::GC).charge_bytes(1000);
//! let file = data.mlmon(Kind::Alloc, &sources).unwrap();
//! let options = Options { raw: true, ..Options::default() };
//! let mut table = Vec::new();
//! report::run("example", &sources, &[file], &options, &mut table).unwrap();
//! assert_eq!(String::from_utf8(table).unwrap(), "\
//! 3,000 bytes allocated (1,000 bytes by GC)
//! function  cur    raw  \n\
//! -------- ----- -------
//! <main>   75.0% (3,000)
//! <gc>     25.0% (1,000)
//! ");
//! ```

mod args;
mod display;
mod dot;
mod error;
mod graph;
mod keep;
mod label;
mod merge;
mod program;
mod regexp;
mod sexp;
mod table;

use std::path::PathBuf;

pub use args::{Invocation, USAGE, UsageError, parse_args};
pub use display::run;
pub(crate) use display::with_commas;
pub use error::ReportError;
pub use keep::{Column, Keep, KeepError};
pub use merge::load_files;
pub use program::load_sources;
pub use regexp::{Regexp, RegexpError};
pub(crate) use table::write as write_table;

/// The options of a report. The default is `mlprof`'s with no option given.
#[derive(Clone, Debug)]
pub struct Options {
    /// Show counts (bytes, calls, or seconds) beside the percentages.
    pub raw: bool,
    /// Show the file and line of each function.
    pub show_line: bool,
    /// Which sources to show. `-thresh x` is [`Keep::Thresh`] on the current column.
    pub keep: Keep,
    /// The copies of functions that match any of these are shown one by one.
    pub split: Vec<Regexp>,
    /// Colour the nodes of the call graph by their stack percentage.
    pub gray: bool,
    /// Show the full names of functions (`Tak.tak1.tak2`), not the last part only (`tak2`).
    pub long_name: bool,
    /// Skip broken profile files with a warning.
    pub tolerant: bool,
    /// Where to write the call graph, in the language of Graphviz.
    pub call_graph: Option<PathBuf>,
    /// The title of the call graph; by default, `PROGRAM call-stack graph`.
    pub graph_title: Option<String>,
    /// Files that list profile files, separated by white space.
    pub mlmon: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            raw: false,
            show_line: false,
            keep: Keep::All,
            split: Vec::new(),
            gray: false,
            long_name: true,
            tolerant: false,
            call_graph: None,
            graph_title: None,
            mlmon: Vec::new(),
        }
    }
}
