//! `mlprof`'s command line.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::{fmt, fs};

use super::keep::{Column, percent};
use super::{Keep, Options, Regexp, ReportError, load_files, run};
use crate::SourceMap;

/// How to call `mlprof`, with examples.
pub const USAGE: &str = "\
usage: mlprof [option ...] PROGRAM [mlmon.out ...]
  -call-graph FILE          write the call graph to FILE, for Graphviz
  -graph-title TEXT         set the title of the call graph
  -gray {false|true}        gray the nodes of the call graph by their stack %
  -keep EXP                 which functions to show (see below)
  -long-name {true|false}   show the long names of functions
  -mlmon FILE               add the mlmon.out files that FILE lists
  -raw {false|true}         show raw counts beside the percentages
  -show-line {false|true}   show the file and line of each function
  -split REGEXP             show each copy of the functions that match
  -thresh X                 the same as -keep '(thresh X)', 0.0 <= X <= 100.0
  -tolerant {false|true}    skip broken mlmon.out files with a warning
Options may also be written --keep=EXP or --keep EXP, and --raw for -raw true.
EXP is one of: all  \"REGEXP\"  (and EXP ...)  (or EXP ...)  (not EXP)
  (from EXP)  (to EXP)  (pred EXP)  (succ EXP)
  (thresh X)  (thresh-stack X)  (thresh-gc X)
Examples:
  mlprof list-rev mlmon.out
  mlprof -raw true -show-line true list-rev mlmon.out
  mlprof --keep='(and (thresh 1.0) (not \"<gc>\"))' list-rev mlmon.out
  mlprof -call-graph list-rev.dot list-rev mlmon.out && dot -Tsvg list-rev.dot
";

/// What a command line asks for.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The program that was profiled.
    pub program: PathBuf,
    /// The profile files after it. See [`Invocation::profile_files`].
    pub files: Vec<PathBuf>,
    /// The options.
    pub options: Options,
}

impl Invocation {
    /// All profile files in upstream's order: those of the command line, then those that the
    /// `-mlmon` lists name, the last list first.
    ///
    /// # Errors
    /// If a list cannot be read.
    pub fn profile_files(&self) -> Result<Vec<PathBuf>, ReportError> {
        let mut files = self.files.clone();
        for list in self.options.mlmon.iter().rev() {
            let text = fs::read_to_string(list);
            let text = text.map_err(|error| ReportError::List(list.clone(), error))?;
            files.extend(text.split_ascii_whitespace().map(PathBuf::from));
        }
        Ok(files)
    }

    /// Does all that the command line asks for, given the sources of the program: loads the
    /// profile files, writes the call graph, and writes the table to `out`. With `-tolerant`,
    /// each broken profile file is passed to `warn`.
    ///
    /// # Errors
    /// Those of [`Invocation::profile_files`], [`load_files`] and [`run`].
    pub fn report(
        &self,
        sources: &SourceMap,
        out: &mut dyn Write,
        warn: &mut dyn FnMut(&ReportError),
    ) -> Result<(), ReportError> {
        let name = self.program.display().to_string();
        let warn = self.options.tolerant.then_some(warn);
        let files = load_files(&name, sources, &self.profile_files()?, warn)?;
        run(&name, sources, &files, &self.options, out)
    }
}

/// Why a command line could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageError {
    /// It asks for help: print [`USAGE`] to standard output and succeed.
    Help,
    /// It is wrong: print this message and [`USAGE`] to standard error and fail.
    Wrong(String),
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UsageError::Help => f.write_str(USAGE),
            UsageError::Wrong(message) => writeln!(f, "{message}\n{USAGE}"),
        }
    }
}

impl std::error::Error for UsageError {}

/// What an option does with its argument.
#[derive(Clone, Copy)]
enum Action {
    Switch(fn(&mut Options) -> &mut bool),
    Value(fn(&mut Options, &OsStr) -> Result<(), String>),
}

const ACTIONS: [(&str, Action); 11] = [
    (
        "call-graph",
        Action::Value(|options, value| {
            options.call_graph = Some(value.into());
            Ok(())
        }),
    ),
    (
        "graph-title",
        Action::Value(|options, value| {
            options.graph_title = Some(value.to_string_lossy().into_owned());
            Ok(())
        }),
    ),
    ("gray", Action::Switch(|options| &mut options.gray)),
    (
        "keep",
        Action::Value(|options, value| {
            let keep = value.to_string_lossy().parse::<Keep>();
            options.keep = keep.map_err(|error| format!("invalid -keep arg: {error}"))?;
            Ok(())
        }),
    ),
    (
        "long-name",
        Action::Switch(|options| &mut options.long_name),
    ),
    (
        "mlmon",
        Action::Value(|options, value| {
            options.mlmon.push(value.into());
            Ok(())
        }),
    ),
    ("raw", Action::Switch(|options| &mut options.raw)),
    (
        "show-line",
        Action::Switch(|options| &mut options.show_line),
    ),
    (
        "split",
        Action::Value(|options, value| {
            let regexp = Regexp::new(&value.to_string_lossy());
            options
                .split
                .push(regexp.map_err(|error| format!("invalid -split arg: {error}"))?);
            Ok(())
        }),
    ),
    (
        "thresh",
        Action::Value(|options, value| {
            let x = percent(&value.to_string_lossy());
            let x = x.ok_or("-thresh requires a number from 0.0 to 100.0")?;
            options.keep = Keep::Thresh(Column::Current, x);
            Ok(())
        }),
    ),
    ("tolerant", Action::Switch(|options| &mut options.tolerant)),
];

/// Reads the arguments after the command's name. Options come before the program, in upstream's
/// form (`-raw true`) or in GNU's (`--raw`, `--raw=true`, `--keep=EXP`, `--keep EXP`). Of `-keep`
/// and `-thresh` the last one counts.
///
/// # Errors
/// [`UsageError::Help`] for `-h`, `-help` and `--help`, and a message for anything wrong.
pub fn parse_args(args: &[OsString]) -> Result<Invocation, UsageError> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.as_slice().first() {
        // An argument that is not text is no option, but may be a file.
        let Some(option) = arg.to_str().and_then(|text| text.strip_prefix('-')) else {
            break;
        };
        args.next();
        if option == "-" {
            break;
        }
        parse_option(option, &mut args, &mut options)?;
    }
    match args.as_slice() {
        [program, files @ ..] => Ok(Invocation {
            program: program.into(),
            files: files.iter().map(PathBuf::from).collect(),
            options,
        }),
        [] => Err(UsageError::Wrong(
            "wrong number of args: PROGRAM is missing".to_owned(),
        )),
    }
}

fn parse_option<'a>(
    option: &str,
    rest: &mut impl Iterator<Item = &'a OsString>,
    options: &mut Options,
) -> Result<(), UsageError> {
    let gnu = option.strip_prefix('-');
    let (name, inline) = match gnu.and_then(|gnu| gnu.split_once('=')) {
        Some((name, value)) => (name, Some(OsStr::new(value))),
        None => (gnu.unwrap_or(option), None),
    };
    if matches!(name, "h" | "help") {
        return Err(UsageError::Help);
    }
    let dashes = if gnu.is_some() { "--" } else { "-" };
    let wrong = |message: String| Err(UsageError::Wrong(message));
    let Some((_, action)) = ACTIONS.iter().find(|(known, _)| *known == name) else {
        return wrong(format!("unknown switch: {dashes}{name}"));
    };
    match action {
        // GNU's form takes no argument of its own: the next one may be a program called `true`.
        Action::Switch(switch) if gnu.is_some() && inline.is_none() => *switch(options) = true,
        Action::Switch(switch) => match inline.or_else(|| rest.next().map(OsString::as_os_str)) {
            Some(value) if value == "true" => *switch(options) = true,
            Some(value) if value == "false" => *switch(options) = false,
            Some(_) => return wrong(format!("{dashes}{name} requires a boolean: true or false")),
            None => return wrong(format!("{dashes}{name} requires an argument")),
        },
        Action::Value(set) => match inline.or_else(|| rest.next().map(OsString::as_os_str)) {
            Some(value) => set(options, value).map_err(UsageError::Wrong)?,
            None => return wrong(format!("{dashes}{name} requires an argument")),
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<Invocation, UsageError> {
        parse_args(&line.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn both_forms_of_a_switch() {
        let cases: [(&[&str], bool); 6] = [
            (&["p"], false),
            (&["-raw", "true", "p"], true),
            (&["-raw", "true", "-raw", "false", "p"], false),
            (&["--raw", "p"], true),
            (&["--raw=false", "p"], false),
            (&["--raw", "true"], true),
        ];
        for (line, raw) in cases {
            let invocation = parse(line).unwrap();
            assert_eq!(invocation.options.raw, raw, "{line:?}");
            assert!(invocation.files.is_empty(), "{line:?}");
        }
    }

    #[test]
    fn both_forms_of_a_value() {
        for line in [
            &["-graph-title", "a=b", "p"][..],
            &["--graph-title=a=b", "p"],
        ] {
            let title = parse(line).unwrap().options.graph_title;
            assert_eq!(title.as_deref(), Some("a=b"), "{line:?}");
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let invocation = parse(&["--long-name=false", "--", "-p", "-raw", "true"]).unwrap();
        assert_eq!(invocation.program, PathBuf::from("-p"));
        assert_eq!(
            invocation.files,
            [PathBuf::from("-raw"), PathBuf::from("true")]
        );
        assert!(!invocation.options.long_name && !invocation.options.raw);
    }

    #[test]
    fn the_last_list_of_files_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let list = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let (a, b) = (list("a", "1.out 2.out\n"), list("b", "\t3.out"));
        let invocation = parse(&["-mlmon", &a, "-mlmon", &b, "p", "0.out"]).unwrap();
        let files = invocation.profile_files().unwrap();
        assert_eq!(
            files,
            ["0.out", "3.out", "1.out", "2.out"].map(PathBuf::from)
        );
    }

    #[test]
    fn errors() {
        let cases: [(&[&str], &str); 9] = [
            (&[], "wrong number of args: PROGRAM is missing"),
            (&["-x", "p"], "unknown switch: -x"),
            (&["-", "p"], "unknown switch: -"),
            (&["--raw=1", "p"], "--raw requires a boolean: true or false"),
            (&["-raw"], "-raw requires an argument"),
            (&["-raw", "p"], "-raw requires a boolean: true or false"),
            (
                &["-thresh", "101", "p"],
                "-thresh requires a number from 0.0 to 100.0",
            ),
            (
                &["-keep", "()"],
                "invalid -keep arg: invalid predicate (): \
              a list starts with a word such as and, or, not",
            ),
            (
                &["-split", "(", "p"],
                "invalid -split arg: invalid regexp \"(\": \
              a ( is not closed at byte 1",
            ),
        ];
        for (line, message) in cases {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert_eq!(error, UsageError::Wrong(message.to_owned()), "{line:?}");
        }
    }

    #[test]
    fn help_is_asked_for_in_three_ways() {
        for flag in ["-h", "-help", "--help"] {
            assert_eq!(parse(&[flag]).map(|_| ()).unwrap_err(), UsageError::Help);
        }
    }
}
