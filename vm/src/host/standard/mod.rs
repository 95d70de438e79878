//! The host functions that the `vm` command offers.
//!
//! `table.rs` lists them all; the other files do their work, one topic each.

mod coded;
mod date;
mod environment;
mod files;
mod folders;
mod math;
mod numbers;
mod profile;
mod random;
mod scan;
mod streams;
mod table;
mod time;

pub use table::STANDARD;

use std::fmt;

use super::open_file::OpenFiles;
use super::{HostCall, HostError, HostFunction};
use crate::isa::Signature;

/// The work of a standard host function.
type Work = fn(&mut HostCall) -> Result<(), HostError>;

/// What the functions keep for a machine from call to call.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) files: OpenFiles,
    random: random::Random,
}

/// What a parameter or result of a host function is. The machine has two classes of registers; its
/// `i` registers hold doubles, too, and this says which do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// 64 bits in an `i` register that are no double.
    Int,
    /// A double in an `i` register.
    Float,
    /// A reference in an `r` register.
    Ref,
}

impl ValueKind {
    /// The letter that stands for it in text.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Int => "i",
            Self::Float => "f",
            Self::Ref => "r",
        }
    }
}

/// A parameter or result of a standard host function.
#[derive(Clone, Copy, Debug)]
pub struct HostValue {
    /// Its name, for readers.
    pub name: &'static str,
    /// What it is.
    pub kind: ValueKind,
}

/// A standard host function.
#[derive(Debug)]
pub struct StandardFunction {
    /// The name by which modules import it.
    pub name: &'static str,
    /// Its parameters, in the order in which a text passes them.
    pub params: &'static [HostValue],
    /// Its results, in the order in which a text takes them.
    pub results: &'static [HostValue],
    /// How many of both there are of each of the machine's classes.
    pub signature: Signature,
    /// What it is for: functions of a topic stand together.
    pub topic: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// What it touches of the world.
    pub touches: Touches,
    work: Work,
}

impl StandardFunction {
    /// Its parameters and results with their names: `(file: i, limit: i) -> (code: i, text: r)`.
    pub fn declaration(&self) -> String {
        self.written(|one| format!("{}: {}", one.name, one.kind.letter()))
    }

    /// Its parameters and results by their letters: `(i, i) -> (i, r)`.
    pub fn kinds(&self) -> String {
        self.written(|one| one.kind.letter().to_owned())
    }

    fn written(&self, one: impl Fn(&HostValue) -> String) -> String {
        let list = |values: &[HostValue]| values.iter().map(&one).collect::<Vec<_>>().join(", ");
        format!("({}) -> ({})", list(self.params), list(self.results))
    }
}

/// The signature that these parameters and results have.
const fn signature_of(params: &[HostValue], results: &[HostValue]) -> Signature {
    const fn count(values: &[HostValue]) -> (u8, u8) {
        let (mut ints, mut refs) = (0, 0);
        let mut index = 0;
        while index < values.len() {
            match values[index].kind {
                ValueKind::Int | ValueKind::Float => ints += 1,
                ValueKind::Ref => refs += 1,
            }
            index += 1;
        }
        (ints, refs)
    }
    let ((int_params, ref_params), (int_results, ref_results)) = (count(params), count(results));
    Signature {
        int_params,
        ref_params,
        int_results,
        ref_results,
    }
}

/// What of the world a standard host function touches. All but the first four need a [`Policy`]
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
    /// Files that the program has opened, standard streams among them. Whoever opened them asked.
    OpenFiles,
    /// Files that it reads. The function asks the policy for each.
    ReadFiles,
    /// Files that it writes. The function asks the policy for each.
    WrittenFiles,
    /// Files that it reads and writes. The function asks the policy for both.
    ReadAndWrittenFiles,
    /// The environment's variables, or the current folder.
    Environment,
    /// A clock, or the time zone.
    Clock,
}

impl fmt::Display for Touches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Streams => "standard streams",
            Self::Arguments => "arguments",
            Self::OpenFiles => "open files",
            Self::ReadFiles => "files it reads",
            Self::WrittenFiles => "files it writes",
            Self::ReadAndWrittenFiles => "files it reads and writes",
            Self::Environment => "the environment",
            Self::Clock => "the clock",
        })
    }
}

/// The standard host function of this name.
pub fn standard_function(name: &str) -> Option<&'static StandardFunction> {
    STANDARD.iter().find(|function| function.name == name)
}

/// The signature of the standard host function of this name.
pub fn standard_signature(name: &str) -> Option<Signature> {
    standard_function(name).map(|function| function.signature)
}

/// A host function's signature as text: with `f` where a standard one means a double.
pub(super) fn shown(name: &str, signature: Signature) -> String {
    match standard_function(name) {
        Some(function) if function.signature == signature => function.kinds(),
        _ => signature.to_string(),
    }
}

/// What a function does, behind the question whether its class is allowed. Functions on files ask
/// for each path.
pub(super) fn checked_work(function: &StandardFunction) -> HostFunction {
    let work = function.work;
    match function.touches {
        Touches::Clock => Box::new(move |call| {
            call.policy().check_clock()?;
            work(call)
        }),
        Touches::Environment => Box::new(move |call| {
            call.policy().check_environment()?;
            work(call)
        }),
        _ => Box::new(work),
    }
}
