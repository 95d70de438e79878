//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use assembler::{OptLevel, TailCalls};
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::profiles::Profiles;

use crate::commands::{asm, check, dis, mem, prof, repl as repl_command, run, show_sources};

/// Exit codes of the command itself; a program's own code is passed on.
pub(crate) mod exit {
    /// A program failed: an uncaught exception, a trap, a file that does not check.
    pub(crate) const FAILED: u8 = 1;
    /// The command line makes no sense.
    pub(crate) const USAGE: u8 = 2;
    /// To be added to a signal's number.
    pub(crate) const SIGNAL: u8 = 128;
}

/// Up to how many ops functions are inlined if no number is given.
pub(crate) const DEFAULT_INLINE_OPS: u32 = 16;
const DEFAULT_INLINE_OPS_TEXT: &str = "16";

const EXAMPLES: &str = "\
Examples:
  vm examples/hello.asm                   run a program, assembly or .bc
  vm --profile alloc examples/list-rev.asm
                                          and say who allocated; mlmon.out keeps the counts
  vm --profile time,count prog.bc ARG     two profiles at once: mlmon.time.out, mlmon.count.out
  vm asm prog.asm -o prog.bc              assemble; the .bc is executable
  vm --profile mem=1e-3,heap prog.bc      whose objects are alive, sampled and exactly: memory.out
  vm mem --stacks memory.out              show that again, with call stacks
  vm prof -raw true prog.bc mlmon.out     show a profile as mlprof does
  vm dis prog.bc | vm check -             disassemble, and verify what comes out
  vm --sandbox prog.bc                    run what you do not trust: no files, environment or clock
  vm --sandbox --allow-read data --allow-write out prog.bc
                                          but reading files in data, and writing some in out

Exit codes: the program's own; 1 uncaught exception or trap; 2 usage; 128+n on signal n.";

/// A bytecode virtual machine that accounts for every call, byte and tick.
#[derive(Debug, Parser)]
#[command(name = "vm", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Option<RunArgs>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a program (the default)
    Run(Box<RunArgs>),
    /// Assemble text to a .bc file
    Asm(AsmArgs),
    /// Print a .bc file as assembly
    Dis(DisArgs),
    /// Verify files without running them
    Check(CheckArgs),
    /// Show profiles, with the options of mlprof (see `vm prof --help`)
    #[command(disable_help_flag = true)]
    Prof(ProfArgs),
    /// Show memory profiles; several of one program are added up
    Mem(MemArgs),
    /// Print a program's profiling sources as mlprof reads them
    ShowSources(ShowSourcesArgs),
    /// Start an interactive session
    Repl(ReplArgs),
}

/// How a program is run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Take profiles: time, alloc, count, mem or mem=RATE (samples of the heap), heap (exact counts
    /// of it), or several joined by commas
    #[arg(long, value_name = "KIND[,KIND]", env = "VM_PROFILE")]
    pub(crate) profile: Option<Profiles>,
    /// Profile whole call stacks: for each source also what was charged while it was on the stack
    #[arg(long, requires = "profile")]
    pub(crate) profile_stack: bool,
    /// Count the frames that tail calls give up, by function; FILE is read like a count profile
    #[arg(long, value_name = "FILE")]
    pub(crate) profile_elided: Option<PathBuf>,
    /// Profile only functions whose name or file matches; others are charged to their callers.
    /// May be given several times
    #[arg(long, value_name = "REGEX", requires = "profile")]
    pub(crate) profile_include: Vec<String>,
    /// Do not profile functions whose name or file matches, but charge their callers. May be given
    /// several times
    #[arg(long, value_name = "REGEX", requires = "profile")]
    pub(crate) profile_exclude: Vec<String>,
    /// Fold recursive calls in stack profiles, so that deep recursion takes little memory
    #[arg(long, requires = "profile_stack")]
    pub(crate) fold_recursion: bool,
    /// How many calling contexts a stack profile may tell apart before it folds them
    #[arg(long, value_name = "N", requires = "profile_stack", default_value_t = 1 << 20)]
    pub(crate) max_contexts: usize,
    /// Where the profile goes [default: mlmon.out; of several kinds, mlmon.KIND.out each;
    /// memory.out]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub(crate) profile_out: Option<PathBuf>,
    /// What the sampled words of a memory profile depend on, besides the rate
    #[arg(long, value_name = "N", requires = "profile", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Tell callers apart by line in a sampled memory profile, not by function alone; a function
    /// that calls itself in several places then has very many call stacks
    #[arg(long, requires = "profile")]
    pub(crate) call_lines: bool,
    /// Collect the whole heap when it has grown by so many percent, so that the peak in a memory
    /// profile is at most that much too low
    #[arg(long, value_name = "PERCENT")]
    pub(crate) peak_gc: Option<u32>,
    /// Write the profile as it is every so many seconds too, to FILE.1.out, FILE.2.out and so on
    #[arg(long, value_name = "SECONDS", requires = "profile", value_parser = parse_seconds)]
    pub(crate) snapshot_every: Option<Duration>,
    /// Ticks a second of a time profile
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) hz: u32,
    /// The most bytes that the heap may hold; K, M and G are understood
    #[arg(long, value_name = "N", value_parser = parse_size, default_value = "4G")]
    pub(crate) max_heap: usize,
    /// The most bytes of registers that nested calls may use, up to 256M
    #[arg(long, value_name = "N", value_parser = parse_size, default_value = "128M")]
    pub(crate) max_stack: usize,
    /// End the run after about this many ops
    #[arg(long, value_name = "N")]
    pub(crate) fuel: Option<u64>,
    /// Deny the program files, the environment and clocks. Without this it has all your rights
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Allow a sandboxed program to read files in DIR and its folders. May be given several times
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// Allow a sandboxed program to write files in DIR and its folders. May be given several times
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    pub(crate) allow_write: Vec<PathBuf>,
    /// Allow a sandboxed program to look at the environment's variables
    #[arg(long, requires = "sandbox")]
    pub(crate) allow_env: bool,
    /// Allow a sandboxed program to look at clocks
    #[arg(long, requires = "sandbox")]
    pub(crate) allow_clock: bool,
    /// Bytes of the nursery
    #[arg(long, value_name = "N", value_parser = parse_size, default_value = "2M")]
    pub(crate) nursery: usize,
    /// Print what the heap did to standard error at the end
    #[arg(long)]
    pub(crate) gc_stats: bool,
    /// Collect at every allocation, to find bugs
    #[arg(long, env = "VM_GC_STRESS")]
    pub(crate) gc_stress: bool,
    /// When calls become tail calls, if PROGRAM is assembly
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = TailCallsArg::Always)]
    pub(crate) tail_calls: TailCallsArg,
    /// Profile marked branches as sources of their own, if PROGRAM is assembly
    #[arg(long)]
    pub(crate) profile_branch: bool,
    /// Inline functions of at most so many ops, if PROGRAM is assembly [16 if no number is given]
    #[arg(long, value_name = "OPS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = DEFAULT_INLINE_OPS_TEXT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) inline: Option<u32>,
    /// How much is done for speed, if PROGRAM is assembly: 0 nothing; 1 computes arguments and
    /// results in their places; 2 also folds constants, propagates copies and inverts loops
    #[arg(short = 'O', value_name = "LEVEL", value_enum, default_value_t = OptLevelArg::One)]
    pub(crate) opt_level: OptLevelArg,
    /// Print the program to standard error as it is behind a pass of the assembler, or behind all.
    /// May be given several times
    #[arg(long, value_name = "PASS", value_parser = pass_names())]
    #[arg(hide_possible_values = true, long_help = print_after_help())]
    pub(crate) print_after: Vec<String>,
    /// The program, a .bc file or assembly text; - is standard input
    #[arg(required = true, value_name = "PROGRAM")]
    pub(crate) program: Option<PathBuf>,
    /// Arguments of the program
    #[arg(
        value_name = "ARG",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<OsString>,
}

/// What is assembled, and how.
#[derive(Debug, Args)]
pub(crate) struct AsmArgs {
    /// Profile marked branches as sources of their own
    #[arg(long)]
    pub(crate) profile_branch: bool,
    /// Inline functions of at most so many ops [16 if no number is given]
    #[arg(long, value_name = "OPS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = DEFAULT_INLINE_OPS_TEXT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) inline: Option<u32>,
    /// When calls become tail calls
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = TailCallsArg::Always)]
    pub(crate) tail_calls: TailCallsArg,
    /// How much is done for speed: 0 nothing; 1 computes arguments and results in their places; 2
    /// also folds constants, propagates copies and inverts loops
    #[arg(short = 'O', value_name = "LEVEL", value_enum, default_value_t = OptLevelArg::One)]
    pub(crate) opt_level: OptLevelArg,
    /// Print the program to standard error as it is behind a pass of the assembler, or behind all.
    /// May be given several times
    #[arg(long, value_name = "PASS", value_parser = pass_names())]
    #[arg(hide_possible_values = true, long_help = print_after_help())]
    pub(crate) print_after: Vec<String>,
    /// The .bc file [default: FILE with the ending .bc]; - is standard output
    #[arg(short, value_name = "OUT.bc")]
    pub(crate) output: Option<PathBuf>,
    /// The assembly text; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// What `--print-after` takes for all passes.
pub(crate) const ALL_PASSES: &str = "all";

fn pass_names() -> PossibleValuesParser {
    let names = assembler::passes().map(|pass| pass.name);
    names.chain([ALL_PASSES]).collect::<Vec<_>>().into()
}

fn print_after_help() -> String {
    let rows = assembler::passes().map(|pass| {
        let level = pass.from_level as u8;
        format!("\n- {} (from -O{level} on) {}", pass.name, pass.does)
    });
    format!(
        "Print the program to standard error as it is behind a pass of the assembler, or behind \
         `all` of them. May be given several times. The passes, in their order:{}",
        rows.collect::<String>()
    )
}

/// How much the assembler does for speed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OptLevelArg {
    /// Nothing
    #[value(name = "0")]
    Zero,
    /// Computes arguments and results in their places
    #[value(name = "1")]
    One,
    /// All passes
    #[value(name = "2")]
    Two,
}

impl From<OptLevelArg> for OptLevel {
    fn from(arg: OptLevelArg) -> Self {
        match arg {
            OptLevelArg::Zero => Self::O0,
            OptLevelArg::One => Self::O1,
            OptLevelArg::Two => Self::O2,
        }
    }
}

/// What is disassembled.
#[derive(Debug, Args)]
pub(crate) struct DisArgs {
    /// How much is done for speed: 0 nothing; 1 computes arguments and results in their places; 2
    /// also folds constants, propagates copies and inverts loops
    #[arg(short = 'O', value_name = "LEVEL", value_enum, default_value_t = OptLevelArg::One)]
    pub(crate) opt_level: OptLevelArg,
    /// Print the program to standard error as it is behind a pass of the assembler, or behind all.
    /// May be given several times
    #[arg(long, value_name = "PASS", value_parser = pass_names())]
    #[arg(hide_possible_values = true, long_help = print_after_help())]
    pub(crate) print_after: Vec<String>,
    /// The .bc file (assembly is assembled first); - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// What is verified.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// .bc files or assembly texts; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// mlprof's own arguments, which are not clap's to read.
#[derive(Debug, Args)]
pub(crate) struct ProfArgs {
    #[arg(
        value_name = "ARG",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) arguments: Vec<OsString>,
}

/// What is shown of memory profiles.
#[derive(Debug, Args)]
pub(crate) struct MemArgs {
    /// What to sort by
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = MeasureArg::Live)]
    pub(crate) by: MeasureArg,
    /// How many rows to show at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
    /// Show call stacks too
    #[arg(long)]
    pub(crate) stacks: bool,
    /// Show numbers of objects too
    #[arg(long)]
    pub(crate) objects: bool,
    /// The files that `vm --profile mem` has written
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// What rows of memory profiles are sorted by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MeasureArg {
    /// What is alive at the end
    Live,
    /// All that was allocated
    Allocated,
    /// What was alive when most was
    Peak,
    /// What has left the nursery alive
    Promoted,
    /// What has died in the nursery
    ShortLived,
}

/// Whose sources are printed.
#[derive(Debug, Args)]
pub(crate) struct ShowSourcesArgs {
    /// The program, a .bc file or assembly text; - is standard input
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: PathBuf,
}

/// What a session starts with.
#[derive(Debug, Args)]
pub(crate) struct ReplArgs {
    /// Read entries from FILE; exit with 1 if one of them fails
    #[arg(long, value_name = "FILE")]
    pub(crate) batch: Option<PathBuf>,
    /// Collect at every allocation, to find bugs
    #[arg(long, env = "VM_GC_STRESS")]
    pub(crate) gc_stress: bool,
    /// How much is done for the speed of programs that are loaded: 0, 1 or 2
    #[arg(short = 'O', value_name = "LEVEL", value_enum, default_value_t = OptLevelArg::One)]
    pub(crate) opt_level: OptLevelArg,
    /// Programs to load
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// When calls become tail calls.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TailCallsArg {
    /// Wherever a call is followed by nothing but a return
    Always,
    /// Only where a function calls itself
    SelfOnly,
    /// Only where the text says so
    Never,
}

impl From<TailCallsArg> for TailCalls {
    fn from(arg: TailCallsArg) -> Self {
        match arg {
            TailCallsArg::Always => Self::Always,
            TailCallsArg::SelfOnly => Self::SelfOnly,
            TailCallsArg::Never => Self::Never,
        }
    }
}

/// A number of bytes: digits, then perhaps K, M or G for powers of 1024.
fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        unit => return Err(format!("`{unit}` is no unit of bytes; K, M and G are")),
    };
    let number: usize = digits
        .parse()
        .map_err(|_| "a number of bytes, as 64M".to_owned())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "that is more than any memory".to_owned())
}

/// A positive number of seconds.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "a number of seconds, as 0.5".to_owned())?;
    if seconds < 0.001 {
        return Err("at least 0.001 seconds".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Runs the command that the arguments ask for.
pub(crate) fn dispatch(arguments: &[OsString]) -> ExitCode {
    let name = arguments.first().map(PathBuf::from).unwrap_or_default();
    // Called through a link named mlprof, the command is mlprof.
    if name.file_stem().is_some_and(|stem| stem == "mlprof") {
        return prof::run(&arguments[1..]);
    }
    let matches = match Cli::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // clap knows whether this is help, which is no failure.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(exit::USAGE);
        }
    };
    match (cli.command, cli.run) {
        (Some(Command::Run(args)), _) => run::run(&args),
        (None, Some(args)) => run::run(&args),
        (Some(Command::Asm(args)), _) => asm::run(&args),
        (Some(Command::Dis(args)), _) => dis::run(&args),
        (Some(Command::Check(args)), _) => check::run(&args),
        (Some(Command::Prof(args)), _) => prof::run(&args.arguments),
        (Some(Command::Mem(args)), _) => mem::run(&args),
        (Some(Command::ShowSources(args)), _) => show_sources::run(&args.program),
        (Some(Command::Repl(args)), _) => repl_command::run(&args),
        (None, None) => {
            let _ = Cli::command().print_help();
            ExitCode::from(exit::USAGE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_default_of_inline_is_one_number() {
        assert_eq!(DEFAULT_INLINE_OPS.to_string(), DEFAULT_INLINE_OPS_TEXT);
    }

    #[test]
    fn sizes_have_units() {
        let cases = [
            ("0", Ok(0)),
            ("64", Ok(64)),
            ("2K", Ok(2048)),
            ("1g", Ok(1 << 30)),
        ];
        for (text, size) in cases {
            assert_eq!(parse_size(text), size, "{text}");
        }
        for text in ["", "M", "1.5M", "3T", "-1", "99999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
