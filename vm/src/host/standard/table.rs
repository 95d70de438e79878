//! The one list of the standard host functions.
//!
//! A row reads
//!
//! ```text
//! /// What the function does.
//! What-it-touches name(parameter: kind, ...) -> (result: kind, ...) = its work;
//! ```
//!
//! A kind is `i` for an integer, `f` for a double, `r` for a reference. Functions that the world
//! may refuse give a code first: 0 for success, otherwise the number of a system's error, of which
//! `error_message` tells the meaning. Then the other results are 0 and empty.
//!
//! `tests/sandbox` calls each of them under a policy that allows nothing; `docs/hosts.md` is made
//! of the list.

use super::coded::{coded, error_message};
use super::{HostValue, StandardFunction, Touches, ValueKind, signature_of};
use super::{
    date, environment, files, folders, math, numbers, profile, random, scan, streams, time,
};
use crate::host::{OpenMode, memprof};

macro_rules! kind {
    (i) => {
        ValueKind::Int
    };
    (f) => {
        ValueKind::Float
    };
    (r) => {
        ValueKind::Ref
    };
}

macro_rules! values {
    ($($name:ident: $kind:ident),*) => {
        &[$(HostValue { name: stringify!($name), kind: kind!($kind) }),*]
    };
}

macro_rules! standard {
    ($($topic:literal {
        $(
            $(#[doc = $meaning:literal])+
            $touches:ident $name:ident($($params:tt)*) -> ($($results:tt)*) = $work:expr;
        )*
    })*) => {
        /// All standard host functions, by topic.
        pub static STANDARD: &[StandardFunction] = &[$($(StandardFunction {
            name: stringify!($name),
            params: values!($($params)*),
            results: values!($($results)*),
            signature: signature_of(values!($($params)*), values!($($results)*)),
            topic: $topic,
            meaning: concat!($($meaning),+).trim_ascii(),
            touches: Touches::$touches,
            work: $work,
        },)*)*];
    };
}

standard! {
    "Streams" {
        /// writes a string to the output
        Streams print(text: r) -> () = streams::print;
        /// writes a string and a newline to the output
        Streams print_line(text: r) -> () = streams::print_line;
        /// writes an integer in decimal to the output
        Streams print_int(number: i) -> () = streams::print_int;
        /// writes a double in decimal to the output
        Streams print_float(number: f) -> () = streams::print_float;
        /// writes a string to the error output
        Streams eprint(text: r) -> () = streams::eprint;
        /// 1 and a line with its newline, or 0 and an empty string
        Streams read_line() -> (is_there: i, line: r) = streams::read_line;
    }

    "Files" {
        /// opens a file to be read
        ReadFiles file_open(path: r) -> (code: i, file: i)
            = |call| coded(call, |call| files::open(call, OpenMode::Read));
        /// opens a file to be written from its start; makes it, or empties it
        WrittenFiles file_create(path: r) -> (code: i, file: i)
            = |call| coded(call, |call| files::open(call, OpenMode::Write));
        /// opens a file to be written behind what is there; makes it if it is not there
        WrittenFiles file_append(path: r) -> (code: i, file: i)
            = |call| coded(call, |call| files::open(call, OpenMode::Append));
        /// opens a file to be read and written; makes it if it is not there
        ReadAndWrittenFiles file_update(path: r) -> (code: i, file: i)
            = |call| coded(call, |call| files::open(call, OpenMode::Update));
        /// makes a file in a folder, with a name that nothing there has, and opens it to be written
        WrittenFiles file_temporary(folder: r) -> (code: i, file: i, path: r)
            = |call| coded(call, files::make_temporary);
        /// reads this many bytes, fewer at the end only
        OpenFiles file_read(file: i, limit: i) -> (code: i, text: r)
            = |call| coded(call, files::read);
        /// reads what there is, at most this many bytes, none at the end only
        OpenFiles file_read_some(file: i, limit: i) -> (code: i, text: r)
            = |call| coded(call, files::read_some);
        /// reads to the end
        OpenFiles file_read_all(file: i) -> (code: i, text: r)
            = |call| coded(call, files::read_all);
        /// reads a line with its newline; an empty string at the end
        OpenFiles file_read_line(file: i) -> (code: i, text: r)
            = |call| coded(call, files::read_line);
        /// writes a string or a byte array
        OpenFiles file_write(file: i, text: r) -> (code: i) = |call| coded(call, files::write);
        /// writes this many bytes of a string or a byte array, from this one on
        OpenFiles file_write_part(file: i, text: r, start: i, count: i) -> (code: i)
            = |call| coded(call, files::write_part);
        /// goes to a place counted from the start (0), from here (1) or from the end (2)
        OpenFiles file_seek(file: i, offset: i, from: i) -> (code: i, position: i)
            = |call| coded(call, files::seek);
        /// where the next byte is read or written
        OpenFiles file_position(file: i) -> (code: i, position: i)
            = |call| coded(call, files::position);
        /// how many bytes a file has
        OpenFiles file_size(file: i) -> (code: i, bytes: i) = |call| coded(call, files::size);
        /// writes out what waits in the buffer; the end of a run does it, too
        OpenFiles file_flush(file: i) -> (code: i) = |call| coded(call, files::flush);
        /// closes a file, also where what waits cannot be written; a standard stream stays open
        OpenFiles file_close(file: i) -> (code: i) = |call| coded(call, files::close);
        /// reads a whole file
        ReadFiles read_file(path: r) -> (code: i, text: r) = |call| coded(call, files::read_file);
        /// what a code means
        Nothing error_message(code: i) -> (message: r) = error_message;
    }

    "Folders and names" {
        /// what is there: 1 for a file, 2 for a folder, 3 for anything else; its size, and when it
        /// was modified, in nanoseconds since the start of 1970
        ReadFiles path_info(path: r) -> (code: i, kind: i, bytes: i, modified: i)
            = |call| coded(call, folders::info);
        /// the path from the root, without links, of what is there
        ReadFiles path_resolve(path: r) -> (code: i, path: r)
            = |call| coded(call, folders::resolve);
        /// moves a file or folder, in place of what has the new name
        WrittenFiles path_rename(from: r, to: r) -> (code: i)
            = |call| coded(call, folders::rename);
        /// removes a file, or a symbolic link itself
        WrittenFiles file_remove(path: r) -> (code: i) = |call| coded(call, folders::remove_file);
        /// the names in a folder in the order of their bytes, each with a zero byte behind it
        ReadFiles folder_list(path: r) -> (code: i, names: r) = |call| coded(call, folders::list);
        /// makes a folder
        WrittenFiles folder_make(path: r) -> (code: i) = |call| coded(call, folders::make_folder);
        /// removes an empty folder
        WrittenFiles folder_remove(path: r) -> (code: i)
            = |call| coded(call, folders::remove_folder);
        /// the path of the current folder
        Environment folder_current() -> (code: i, path: r)
            = |call| coded(call, environment::current_folder);
    }

    "The program" {
        /// the number of the program's arguments
        Arguments arg_count() -> (count: i) = streams::argument_count;
        /// the argument of this index, counted from 0
        Arguments arg(index: i) -> (text: r) = streams::argument;
        /// the name by which the program was started; empty if nobody says
        Arguments program_name() -> (name: r) = environment::program_name;
        /// 1 and the value of an environment variable, or 0 and an empty string
        Environment environment_variable(name: r) -> (is_there: i, value: r)
            = environment::variable;
        /// ends the run with this exit code, modulo 256
        Nothing exit(code: i) -> () = streams::exit;
        /// collects the whole heap
        Nothing gc() -> () = super::HostCall::collect_all;
        /// how many collections there were so far: when there are more, look at weak references
        Nothing gc_count() -> (collections: i) = time::collections;
    }

    "Profiles" {
        /// 1 when a profile is taken, otherwise 0 and the other `profile_` functions do nothing
        Nothing profile_is_on() -> (is_on: i) = profile::is_on;
        /// an empty unit of profile data
        Nothing profile_new() -> (unit: i) = profile::new;
        /// frees a unit, which must not be current or freed
        Nothing profile_free(unit: i) -> () = profile::free;
        /// the unit that is charged
        Nothing profile_current() -> (unit: i) = profile::current;
        /// makes a unit current and gives the one that was
        Nothing profile_switch(unit: i) -> (before: i) = profile::switch;
        /// writes a unit to a file; of several kinds, the kind is put into the name
        WrittenFiles profile_write(unit: i, path: r) -> () = profile::write;
    }

    "Memory" {
        /// samples allocations: rate, call stack size, seed and tracker; gives the profile
        Nothing memprof_start(rate: f, size: i, seed: i, tracker: r) -> (profile: i)
            = memprof::start;
        /// stops sampling; tracked blocks stay tracked until the profile is discarded
        Nothing memprof_stop() -> () = memprof::stop;
        /// discards a stopped profile
        Nothing memprof_discard(profile: i) -> () = memprof::discard;
        /// 1 between `memprof_start` and `memprof_stop`, otherwise 0
        Nothing memprof_is_sampling() -> (is_sampling: i) = memprof::is_sampling;
        /// why the last `memprof_` function failed
        Nothing memprof_error() -> (message: r) = memprof::last_error;
        /// in an allocation callback, the length of the call stack; otherwise 0
        Nothing memprof_depth() -> (count: i) = memprof::depth;
        /// in an allocation callback, the call of this index, the innermost being 0
        Nothing memprof_frame(index: i) -> (call: r) = memprof::frame;
        /// words allocated so far, headers included, those of callbacks excluded
        Nothing word_clock() -> (words: i) = memprof::word_clock;
        /// allows this many words until `budget_end` in the same function; more raise a fault
        Nothing budget_start(words: i) -> () = memprof::budget_start;
        /// ends the budget, and gives what is left of it
        Nothing budget_end() -> (words: i) = memprof::budget_end;
        /// accounts for bytes outside the heap; gives what to free them by
        Nothing external_alloc(bytes: i) -> (block: i) = memprof::external_alloc;
        /// accounts for the end of what `external_alloc` gave
        Nothing external_free(block: i) -> () = memprof::external_free;
    }

    "Time" {
        /// nanoseconds since the start
        Clock clock() -> (nanoseconds: i) = time::since_start;
        /// nanoseconds since the start of 1970
        Clock time() -> (nanoseconds: i) = time::since_1970;
        /// nanoseconds that the processor has spent on the machine's thread, in programs and system
        Clock cpu_time() -> (code: i, user: i, system: i) = |call| coded(call, time::cpu);
        /// nanoseconds that collections have taken
        Clock gc_time() -> (nanoseconds: i) = time::collector;
        /// waits this many nanoseconds; a signal ends the run meanwhile
        Clock sleep(nanoseconds: i) -> () = time::sleep;
        /// a second since the start of 1970 as a date in UTC: months and days from 1, weekdays from
        /// 0 for Sunday, days of the year from 0
        Nothing date_utc(seconds: i) -> (year: i, month: i, day: i, hour: i, minute: i, second: i,
            weekday: i, yearday: i) = date::utc;
        /// the same in local time, and how many seconds that is ahead of UTC
        Clock date_local(seconds: i) -> (year: i, month: i, day: i, hour: i, minute: i, second: i,
            weekday: i, yearday: i, offset: i) = date::local;
        /// the second of a date in UTC; what is beyond a month, a day and so on is carried over
        Nothing seconds_utc(year: i, month: i, day: i, hour: i, minute: i, second: i)
            -> (seconds: i) = date::seconds_of_utc;
        /// the same of a date in local time
        Clock seconds_local(year: i, month: i, day: i, hour: i, minute: i, second: i)
            -> (seconds: i) = date::seconds_of_local;
    }

    "Random numbers" {
        /// starts the machine's generator, xoshiro256++, anew; without this its seed is 0
        Nothing random_seed(seed: i) -> () = random::seed;
        /// a number from 0 to below this one, which must be more than 0
        Nothing random_int(below: i) -> (number: i) = random::int;
        /// 64 random bits
        Nothing random_bits() -> (bits: i) = random::bits;
        /// a double from 0 to below 1, a multiple of 2^-53
        Nothing random_float() -> (number: f) = random::float;
    }

    "Numbers and text" {
        /// a double with this many digits behind the point, at most 1,100
        Nothing format_fixed(x: f, digits: i) -> (text: r) = numbers::fixed;
        /// a double with an exponent, and this many digits behind the point
        Nothing format_scientific(x: f, digits: i) -> (text: r) = numbers::scientific;
        /// a double with at most this many digits, with an exponent where C's `%g` has one
        Nothing format_general(x: f, digits: i) -> (text: r) = numbers::general;
        /// the shortest digits that read back as the double: it is `0.DIGITS * 10^exponent` but for
        /// its sign; none for 0, `inf` or `NaN` for what has none
        Nothing shortest_digits(x: f) -> (exponent: i, digits: r) = numbers::shortest;
        /// an integer in a radix from 2 to 36
        Nothing format_int(number: i, radix: i) -> (text: r) = numbers::int;
        /// an integer taken as 64 bits without a sign, in a radix from 2 to 36
        Nothing format_word(number: i, radix: i) -> (text: r) = numbers::word;
        /// the integer, perhaps with a sign, that begins at a place of a string or a byte array,
        /// and how many bytes it has: 0 if there is none; whether 64 bits hold it, otherwise it is
        /// 0
        Nothing scan_int(text: r, start: i, radix: i) -> (used: i, number: i, fits: i) = scan::int;
        /// the same without a sign
        Nothing scan_word(text: r, start: i, radix: i) -> (used: i, number: i, fits: i)
            = scan::word;
        /// the double that begins at a place, `inf` and `nan` among them, and how many bytes it has
        Nothing scan_float(text: r, start: i) -> (used: i, number: f) = scan::float;
    }

    "Mathematics" {
        /// the sine
        Nothing sin(x: f) -> (y: f) = |call| math::unary(call, f64::sin);
        /// the cosine
        Nothing cos(x: f) -> (y: f) = |call| math::unary(call, f64::cos);
        /// the tangent
        Nothing tan(x: f) -> (y: f) = |call| math::unary(call, f64::tan);
        /// the angle whose sine it is, from -pi/2 to pi/2
        Nothing asin(x: f) -> (y: f) = |call| math::unary(call, f64::asin);
        /// the angle whose cosine it is, from 0 to pi
        Nothing acos(x: f) -> (y: f) = |call| math::unary(call, f64::acos);
        /// the angle whose tangent it is, from -pi/2 to pi/2
        Nothing atan(x: f) -> (y: f) = |call| math::unary(call, f64::atan);
        /// the angle of the point (x, y), from -pi to pi
        Nothing atan2(y: f, x: f) -> (angle: f) = |call| math::binary(call, f64::atan2);
        /// the hyperbolic sine
        Nothing sinh(x: f) -> (y: f) = |call| math::unary(call, f64::sinh);
        /// the hyperbolic cosine
        Nothing cosh(x: f) -> (y: f) = |call| math::unary(call, f64::cosh);
        /// the hyperbolic tangent
        Nothing tanh(x: f) -> (y: f) = |call| math::unary(call, f64::tanh);
        /// e to this power
        Nothing exp(x: f) -> (y: f) = |call| math::unary(call, f64::exp);
        /// the natural logarithm
        Nothing ln(x: f) -> (y: f) = |call| math::unary(call, f64::ln);
        /// the logarithm to the base 2
        Nothing log2(x: f) -> (y: f) = |call| math::unary(call, f64::log2);
        /// the logarithm to the base 10
        Nothing log10(x: f) -> (y: f) = |call| math::unary(call, f64::log10);
        /// the first to the power of the second
        Nothing pow(base: f, exponent: f) -> (y: f) = |call| math::binary(call, f64::powf);
        /// the cube root
        Nothing cbrt(x: f) -> (y: f) = |call| math::unary(call, f64::cbrt);
        /// the distance of the point (x, y) from the origin
        Nothing hypot(x: f, y: f) -> (distance: f) = |call| math::binary(call, f64::hypot);
        /// parts with `x = part * 2^exponent`, where `part` is at least 1/2 and less than 1 but for
        /// its sign
        Nothing frexp(x: f) -> (part: f, exponent: i) = math::frexp;
        /// `part * 2^exponent`, rounded once
        Nothing ldexp(part: f, exponent: i) -> (x: f) = math::ldexp;
        /// the double next to x on the way to y; x where they are equal
        Nothing next_after(x: f, y: f) -> (next: f) = |call| math::binary(call, math::next_after);
    }
}
