//! The host functions that the `vm` command offers.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::io::Line;
use super::{HostCall, HostError, HostIo, Hosts, memprof};
use crate::interp::handlers::text::format_float;
use crate::isa::Signature;
use crate::units::Unit;

/// The work of a standard host function.
type Work = fn(&mut HostCall) -> Result<(), HostError>;

/// A standard host function.
#[derive(Debug)]
pub struct StandardFunction {
    /// The name by which modules import it.
    pub name: &'static str,
    /// Its parameters and results.
    pub signature: Signature,
    /// What it does.
    pub meaning: &'static str,
    /// What it touches of the world.
    pub touches: Touches,
    work: Work,
}

/// What of the world a standard host function touches. All but the first three need a [`Policy`]
/// that allows it.
///
/// [`Policy`]: super::Policy
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Nothing outside the machine.
    Nothing,
    /// Standard input, output or error output.
    Streams,
    /// The program's arguments.
    Arguments,
    /// Files that it reads. The function asks the policy for each.
    ReadFiles,
    /// Files that it writes. The function asks the policy for each.
    WrittenFiles,
    /// The environment's variables.
    Environment,
    /// A clock.
    Clock,
}

impl fmt::Display for Touches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Streams => "standard streams",
            Self::Arguments => "arguments",
            Self::ReadFiles => "files it reads",
            Self::WrittenFiles => "files it writes",
            Self::Environment => "the environment",
            Self::Clock => "the clock",
        })
    }
}

const fn function(
    name: &'static str,
    [int_params, ref_params, int_results, ref_results]: [u8; 4],
    meaning: &'static str,
    touches: Touches,
    work: Work,
) -> StandardFunction {
    let signature = Signature {
        int_params,
        ref_params,
        int_results,
        ref_results,
    };
    StandardFunction {
        name,
        signature,
        meaning,
        touches,
        work,
    }
}

/// All standard host functions. The four numbers are `i` and `r` parameters and results.
///
/// `tests/sandbox` calls each of them under a policy that allows nothing.
pub static STANDARD: &[StandardFunction] = &[
    function(
        "print",
        [0, 1, 0, 0],
        "writes a string to the output",
        Touches::Streams,
        |call| call.write_text(0, HostIo::write),
    ),
    function(
        "print_int",
        [1, 0, 0, 0],
        "writes an integer in decimal to the output",
        Touches::Streams,
        |call| {
            let text = call.int(0).to_string();
            let written = call.io().write(text.as_bytes());
            written.map_err(|error| call.output_failed(&error))
        },
    ),
    function(
        "print_float",
        [1, 0, 0, 0],
        "writes a double in decimal to the output",
        Touches::Streams,
        |call| {
            let text = format_float(call.float(0));
            let written = call.io().write(text.as_bytes());
            written.map_err(|error| call.output_failed(&error))
        },
    ),
    function(
        "eprint",
        [0, 1, 0, 0],
        "writes a string to the error output",
        Touches::Streams,
        |call| call.write_text(0, HostIo::write_error),
    ),
    function(
        "read_line",
        [0, 0, 1, 1],
        "1 and a line with its newline, or 0 and an empty string",
        Touches::Streams,
        read_line,
    ),
    function(
        "arg_count",
        [0, 0, 1, 0],
        "the number of the program's arguments",
        Touches::Arguments,
        |call| {
            let count = call.io().arguments.len();
            call.set_int(0, count as i64);
            Ok(())
        },
    ),
    function(
        "arg",
        [1, 0, 0, 1],
        "the argument of this index, counted from 0",
        Touches::Arguments,
        |call| {
            let index = call.int(0) as u64 as usize;
            let argument = call
                .io()
                .arguments
                .get(index)
                .cloned()
                .ok_or(HostError::Failed)?;
            call.set_text(0, &argument)
        },
    ),
    function(
        "clock",
        [0, 0, 1, 0],
        "nanoseconds since the start",
        Touches::Clock,
        |call| {
            let nanoseconds = call.io().elapsed().as_nanos();
            call.set_int(0, nanoseconds as i64);
            Ok(())
        },
    ),
    function(
        "time",
        [0, 0, 1, 0],
        "nanoseconds since the start of 1970",
        Touches::Clock,
        |call| {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            call.set_int(0, since.as_nanos() as i64);
            Ok(())
        },
    ),
    function(
        "exit",
        [1, 0, 0, 0],
        "ends the run with this exit code, modulo 256",
        Touches::Nothing,
        |call| Err(HostError::Exit(call.int(0) as u8)),
    ),
    function(
        "gc",
        [0, 0, 0, 0],
        "collects the whole heap",
        Touches::Nothing,
        HostCall::collect_all,
    ),
    function(
        "profile_is_on",
        [0, 0, 1, 0],
        "1 when a profile is taken, otherwise 0 and the other `profile_` functions do nothing",
        Touches::Nothing,
        |call| {
            call.set_int(0, call.is_profiled() as i64);
            Ok(())
        },
    ),
    function(
        "profile_new",
        [0, 0, 1, 0],
        "an empty unit of profile data",
        Touches::Nothing,
        |call| {
            let unit = call.new_unit();
            call.set_int(0, unit.0 as i64);
            Ok(())
        },
    ),
    function(
        "profile_free",
        [1, 0, 0, 0],
        "frees a unit, which must not be current or freed",
        Touches::Nothing,
        |call| call.free_unit(unit_of(call)?),
    ),
    function(
        "profile_current",
        [0, 0, 1, 0],
        "the unit that is charged",
        Touches::Nothing,
        |call| {
            call.set_int(0, call.current_unit().0 as i64);
            Ok(())
        },
    ),
    function(
        "profile_switch",
        [1, 0, 1, 0],
        "makes a unit current and gives the one that was",
        Touches::Nothing,
        |call| {
            let before = call.switch_unit(unit_of(call)?)?;
            call.set_int(0, before.0 as i64);
            Ok(())
        },
    ),
    function(
        "profile_write",
        [1, 1, 0, 0],
        "writes a unit to a file; of several kinds, the kind is put into the name",
        Touches::WrittenFiles,
        |call| {
            let path = PathBuf::from(OsStr::from_bytes(call.text(0)?));
            call.write_unit(unit_of(call)?, &path)
        },
    ),
    function(
        "memprof_start",
        [3, 1, 1, 0],
        "samples allocations: rate, call stack size, seed and tracker; gives the profile",
        Touches::Nothing,
        memprof::start,
    ),
    function(
        "memprof_stop",
        [0, 0, 0, 0],
        "stops sampling; tracked blocks stay tracked until the profile is discarded",
        Touches::Nothing,
        memprof::stop,
    ),
    function(
        "memprof_discard",
        [1, 0, 0, 0],
        "discards a stopped profile",
        Touches::Nothing,
        memprof::discard,
    ),
    function(
        "memprof_is_sampling",
        [0, 0, 1, 0],
        "1 between `memprof_start` and `memprof_stop`, otherwise 0",
        Touches::Nothing,
        memprof::is_sampling,
    ),
    function(
        "memprof_error",
        [0, 0, 0, 1],
        "why the last `memprof_` function failed",
        Touches::Nothing,
        memprof::last_error,
    ),
    function(
        "memprof_depth",
        [0, 0, 1, 0],
        "in an allocation callback, the length of the call stack; otherwise 0",
        Touches::Nothing,
        memprof::depth,
    ),
    function(
        "memprof_frame",
        [1, 0, 0, 1],
        "in an allocation callback, the call of this index, the innermost being 0",
        Touches::Nothing,
        memprof::frame,
    ),
    function(
        "word_clock",
        [0, 0, 1, 0],
        "words allocated so far, headers included, those of callbacks excluded",
        Touches::Nothing,
        memprof::word_clock,
    ),
    function(
        "budget_start",
        [1, 0, 0, 0],
        "allows this many words until `budget_end` in the same function; more raise a fault",
        Touches::Nothing,
        memprof::budget_start,
    ),
    function(
        "budget_end",
        [0, 0, 1, 0],
        "ends the budget, and gives what is left of it",
        Touches::Nothing,
        memprof::budget_end,
    ),
    function(
        "external_alloc",
        [1, 0, 1, 0],
        "accounts for bytes outside the heap; gives what to free them by",
        Touches::Nothing,
        memprof::external_alloc,
    ),
    function(
        "external_free",
        [1, 0, 0, 0],
        "accounts for the end of what `external_alloc` gave",
        Touches::Nothing,
        memprof::external_free,
    ),
    function(
        "sin",
        [1, 0, 1, 0],
        "the sine of a double",
        Touches::Nothing,
        |call| unary(call, f64::sin),
    ),
    function(
        "cos",
        [1, 0, 1, 0],
        "the cosine of a double",
        Touches::Nothing,
        |call| unary(call, f64::cos),
    ),
    function(
        "exp",
        [1, 0, 1, 0],
        "e to the power of a double",
        Touches::Nothing,
        |call| unary(call, f64::exp),
    ),
    function(
        "ln",
        [1, 0, 1, 0],
        "the natural logarithm of a double",
        Touches::Nothing,
        |call| unary(call, f64::ln),
    ),
    function(
        "atan2",
        [2, 0, 1, 0],
        "the angle of the point (second, first)",
        Touches::Nothing,
        |call| {
            call.set_float(0, call.float(0).atan2(call.float(1)));
            Ok(())
        },
    ),
    function(
        "pow",
        [2, 0, 1, 0],
        "the first double to the power of the second",
        Touches::Nothing,
        |call| {
            call.set_float(0, call.float(0).powf(call.float(1)));
            Ok(())
        },
    ),
];

/// The signature of the standard host function of this name.
pub fn standard_signature(name: &str) -> Option<Signature> {
    STANDARD
        .iter()
        .find(|function| function.name == name)
        .map(|function| function.signature)
}

/// Offers all of them.
pub(super) fn offer(hosts: &mut Hosts) {
    for &StandardFunction {
        name,
        signature,
        touches,
        work,
        ..
    } in STANDARD
    {
        match touches {
            Touches::Clock => hosts.offer(name, signature, move |call| {
                call.policy().check_clock()?;
                work(call)
            }),
            Touches::Environment => hosts.offer(name, signature, move |call| {
                call.policy().check_environment()?;
                work(call)
            }),
            _ => hosts.offer_shared(name, signature, Box::new(work)),
        }
    }
}

/// The unit that the first argument names.
fn unit_of(call: &HostCall) -> Result<Unit, HostError> {
    u32::try_from(call.int(0))
        .map(Unit)
        .map_err(|_| HostError::Failed)
}

fn unary(call: &mut HostCall, function: fn(f64) -> f64) -> Result<(), HostError> {
    call.set_float(0, function(call.float(0)));
    Ok(())
}

fn read_line(call: &mut HostCall) -> Result<(), HostError> {
    let attention: *mut HostCall = call;
    // SAFETY: the call outlives the read, which has nothing of the heap that a snapshot could move.
    let interrupted = || unsafe { (*attention).interrupted() };
    let line = call.io().read_line(interrupted);
    match line.map_err(|error| HostError::Io(format!("cannot read the input: {error}")))? {
        Line::Read(line) => {
            call.set_int(0, 1);
            call.set_text(0, &line)
        }
        Line::End => {
            call.set_int(0, 0);
            call.set_text(0, b"")
        }
        Line::Interrupted(signal) => Err(HostError::Interrupted(signal)),
    }
}
