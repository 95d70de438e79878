//! The table of commands.

use profiler::{Kind, KindSet};

use super::Completes as C;
use super::{Command, Group, control, costs, files, help, memory, profile};

/// A row: name, arguments, group, what completes it, summary, details, handler.
macro_rules! commands {
    ($( $name:literal $arguments:literal $group:ident $completes:ident
        $summary:literal $details:literal $run:expr ; )+) => {
        /// All commands.
        pub(crate) static COMMANDS: &[Command] = &[
            $( Command {
                name: $name,
                arguments: $arguments,
                summary: $summary,
                details: $details,
                group: Group::$group,
                completes: C::$completes,
                run: $run,
            }, )+
        ];
    };
}

commands! {
    ":load" "FILE..." Program Files
        "defines the functions of files, assembly or .bc"
        "A file may call functions that are defined already. What it defines replaces functions of
the same name. Its `main` becomes what `:run` runs. Names with spaces stand in quotes."
        files::load;
    ":reload" "" Program Nothing
        "loads the files again that were loaded"
        "A note says when a loaded file has changed. Values, runs and what was typed stay."
        files::reload;
    ":save" "FILE.bc" Program Files
        "writes all functions as one .bc file"
        "The file starts with `main`, so there must be one."
        files::save;
    ":functions" "[PART]" Program Functions
        "lists functions with their signatures, all or those with PART in their names"
        "The letters are those of assembly: `i` an integer, `f` a double, `r` a reference."
        files::functions;
    ":type" "FUNCTION | EXPR" Program Expressions
        "shows a function's signature, or the classes of an expression's values"
        "Nothing is run."
        files::type_of;
    ":dis" "FUNCTION [--counts [EXPR | #n]]" Program Functions
        "shows a function's ops, with --counts how often each was run"
        "For the counts the expression, or else run #n, or else the last run, is run once more, its
output thrown away."
        files::dis;
    ":values" "" Program Nothing
        "lists what is bound by `let`"
        ""
        files::values;
    ":forget" "NAME..." Program Values
        "unbinds values"
        ""
        files::forget;
    ":set" "[+s | -s | +l | -l | +f | -f | depth N | length N | hz N]" Cost Nothing
        "sets how evaluations are shown, or lists the settings"
        "`+s` adds a line with the cost of each evaluation: time, ops, bytes, the share of the time
that collections took. `-l` shows the cells of lists as records; `+f` raw fields as doubles.
`depth` and `length` cut what is shown of values. `hz` is the rate of time profiles."
        costs::set;
    ":time" "EXPR" Cost Expressions
        "repeats an expression and shows the median of its times"
        "Behind the median stands half the width of its 95 % interval; behind that, what one run
costs. Output is thrown away, and what the runs do to values too."
        costs::time;
    ":heap" "" Cost Nothing
        "shows what values take and what the last evaluation's heap did"
        ""
        costs::heap;
    ":gc" "" Cost Nothing
        "drops the objects that no bound value leads to"
        "That happens by itself when they have become many."
        costs::gc;
    ":prof time" "[--stack] EXPR" Profile Expressions
        "runs an expression with a time profile, shows it, and keeps it as a run"
        "In place of EXPR `:run` may stand. Below the table stands how well the run was sampled.
With `--stack`, counts are also shown for all that was on the stack."
        |session, text| profile::take(session, text, Kind::Time.into());
    ":prof alloc" "[--stack] EXPR" Profile Expressions
        "runs an expression with an allocation profile, shows it, and keeps it as a run"
        "Bytes are exact, headers included."
        |session, text| profile::take(session, text, Kind::Alloc.into());
    ":prof count" "[--stack] EXPR" Profile Expressions
        "runs an expression with a count profile, shows it, and keeps it as a run"
        "Calls are exact."
        |session, text| profile::take(session, text, Kind::Count.into());
    ":prof all" "[--stack] EXPR" Profile Expressions
        "runs an expression with all three profiles, shows them, and keeps them as one run"
        ""
        |session, text| profile::take(session, text, Kind::ALL.into_iter().collect::<KindSet>());
    ":prof mem" "[--rate R] EXPR" Profile Expressions
        "runs an expression with a sampled memory profile, shows it, and keeps it as a run"
        "R is the share of allocated words that is sampled (1e-3). Objects of values that the
session hands in are not counted."
        profile::take_memory;
    ":prof heap" "EXPR" Profile Expressions
        "runs an expression with exact counts of what is alive, shows them, and keeps them as a run"
        "What is alive is found out at the end, too. Objects of values that the session hands in are
`<unknown>`'s."
        profile::take_heap;
    ":prof on" "KIND[,KIND] [--stack]" Profile Kinds
        "lets every evaluation add to a profile"
        "The prompt says so. Code is loaded anew for each evaluation, so a profile that is off costs
nothing."
        profile::on;
    ":prof off" "" Profile Nothing
        "ends the profile that is on, shows it, and keeps it as a run"
        ""
        profile::off;
    ":prof reset" "" Profile Nothing
        "sets the counts of the profile that is on to 0"
        ""
        profile::reset;
    ":prof write" "FILE" Profile Files
        "writes the profile that is on to FILE, in the format of mlmon.out"
        "Of several kinds, the kind is put into the name."
        profile::write;
    ":prof status" "" Profile Nothing
        "says whether a profile is on, and what it has counted"
        ""
        profile::status;
    ":prof list" "" Profile Nothing
        "lists the runs that are kept"
        "`code changed` marks runs of functions that were defined again since. The last 100 runs are
kept."
        profile::list;
    ":prof show" "[#n] [OPTION...]" Profile Runs
        "shows the tables of a run"
        "The options are those of `vm prof`: `-thresh 5`, `-show-line true`,
`-keep '(thresh 5)'`; of memory profiles, those of `vm mem`: `--by MEASURE`, `--top N`,
`--stacks`, `--objects`, where MEASURE is live, allocated, peak, promoted or short-lived.
Without a number, the last run is shown."
        profile::show;
    ":prof tree" "[#n] [--kind KIND] [--thresh X]" Profile Runs
        "shows who called whom in a run with --stack, heaviest first"
        "Contexts with less than X percent (1) of the total are left out."
        profile::show_tree;
    ":prof callers" "FUNCTION [#n] [--kind KIND]" Profile RunsAndFunctions
        "shows on whose behalf a function worked, in a run with --stack"
        ""
        profile::callers;
    ":prof callees" "FUNCTION [#n] [--kind KIND]" Profile RunsAndFunctions
        "shows what a function had done for it, in a run with --stack"
        ""
        profile::callees;
    ":prof annotate" "FUNCTION [#n]" Profile RunsAndFunctions
        "shows a function's lines with how often each was run"
        "The run is done once more for that, with the code that it had, its output thrown away."
        profile::annotate;
    ":prof diff" "#n #m [--kind KIND | --by MEASURE] [--thresh X] [--fail-over X]" Profile Runs
        "compares two runs, function by function"
        "Rows that changed by less than X percent (1) of the total are left out. Functions are told
apart by name, so one that was defined again is compared with itself. With `--fail-over`,
it is an error if a total has grown by more: a batch then ends with exit code 1. Of memory
profiles MEASURE (allocated) is compared; changes of samples whose 95 % intervals overlap are
marked as within noise."
        profile::compare;
    ":prof merge" "#n #m..." Profile Runs
        "adds runs up and keeps the sum as a run"
        "Functions are the same if their names, files and lines are."
        profile::merge;
    ":prof save" "[#n] FILE" Profile RunsAndFiles
        "writes a run to FILE, in the format of mlmon.out, and its program to FILE.bc"
        "Of several kinds, the kind is put into the name. `vm prof FILE.bc FILE` shows it."
        profile::save;
    ":prof load" "FILE [PROGRAM]" Profile Files
        "keeps a profile that was written as a run"
        "Without PROGRAM, FILE.bc is taken."
        profile::load;
    ":mem" "" Profile Nothing
        "says whether evaluations are sampled for a memory profile, and what it has so far"
        ""
        memory::state;
    ":mem start" "[RATE]" Profile Nothing
        "samples the allocations of every evaluation from now on for one memory profile"
        "RATE is the share of allocated words that is sampled (1e-3). What fails or is interrupted
counts too; `:time` and what is profiled by itself with `:prof` do not. The prompt says so."
        memory::start;
    ":mem stop" "" Profile Nothing
        "ends the memory profile, shows it, and keeps it as a run"
        "What is live is what was at the end of each evaluation, all added up; the peaks, too."
        memory::stop;
    ":mem discard" "" Profile Nothing
        "ends the memory profile and keeps nothing, or throws away the run of the last one"
        ""
        memory::discard;
    ":run" "[ARG...]" Control Nothing
        "runs the program's `main`"
        ""
        control::run;
    ":fuel" "[N | off]" Control Nothing
        "ends evaluations after N ops"
        ""
        control::fuel;
    ":limit" "[heap SIZE | stack SIZE]" Control Nothing
        "limits memory: sizes are bytes, or 64K, 16M, 1G"
        ""
        control::limit;
    ":break" "[FUNCTION | off [FUNCTION]]" Control Functions
        "lets evaluations stop where a function starts, or lists such functions"
        "Runs with a profile do not stop."
        control::break_at;
    ":step" "[N]" Control Nothing
        "lets the stopped run do one op, or N"
        ""
        control::step;
    ":continue" "" Control Nothing
        "lets the stopped run go on"
        ""
        control::resume;
    ":abort" "" Control Nothing
        "ends the stopped run"
        ""
        control::abort;
    ":stack" "" Control Nothing
        "shows the calls that are open in the stopped run"
        ""
        control::stack;
    ":regs" "" Control Nothing
        "shows the registers of the function in which the run is stopped"
        "A register that has not been written yet holds what was there before."
        control::registers;
    ":help" "[COMMAND]" Control Commands
        "lists the commands, or explains one"
        ""
        help::help;
    ":quit" "" Control Nothing
        "ends the session, as the end of the input does"
        ""
        control::quit;
}
