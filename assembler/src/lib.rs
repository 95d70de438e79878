//! The assembler: text to bytecode modules and back.
//!
//! A text is parsed (`parser`), its names are looked up (`lower`), and functions grow as basic
//! blocks (`ir`, through the same [`builder`] that compilers use). The passes (`pass`) put in
//! profiling ops, find tail calls and give calls their windows; `emit` makes offsets of labels,
//! and the verifier has the last word. [`print()`] is the way back.

pub mod builder;
mod diagnostic;
mod emit;
mod ir;
mod lexer;
pub mod link;
mod lower;
mod outline;
mod parser;
mod pass;
mod print;
pub mod probe;
mod rewrite;
mod successors;
mod syntax;
#[cfg(test)]
mod testing;

use vm::module::Module;
use vm::verify::VerifiedModule;

pub use diagnostic::{Diagnostic, MAX_DIAGNOSTICS, Span};
pub use outline::function_names;
pub use pass::{PassInfo, passes};
pub use print::{print, print_ops, print_verified};

/// Which calls in tail position become tail calls. Tail calls that a text writes as such are not
/// in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TailCalls {
    /// All of them.
    #[default]
    Always,
    /// Those of a function to itself.
    SelfOnly,
    /// None.
    Never,
}

/// How much the assembler does for the speed of a program. What a program does and what profiles
/// charge to whom is the same at every level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptLevel {
    /// As the text says, op by op.
    O0,
    /// Arguments and results are computed where calls and returns want them.
    #[default]
    O1,
    /// All passes.
    O2,
}

impl OptLevel {
    /// The levels, lowest first.
    pub const ALL: [Self; 3] = [Self::O0, Self::O1, Self::O2];
}

/// What a run of the assembler can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembleOptions {
    /// Which calls in tail position become tail calls.
    pub tail_calls: TailCalls,
    /// Whether branches are sources of their own.
    pub profile_branch: bool,
    /// Up to how many ops functions are inlined; none are if it is not given.
    pub inline_ops: Option<u32>,
    /// How much is done for speed.
    pub opt_level: OptLevel,
    /// What the text's file is called in line tables, sources and messages.
    pub file_name: String,
}

impl Default for AssembleOptions {
    fn default() -> Self {
        Self {
            tail_calls: TailCalls::Always,
            profile_branch: false,
            inline_ops: None,
            opt_level: OptLevel::default(),
            file_name: "input.asm".into(),
        }
    }
}

/// Assembles a text. The module has passed the verifier.
///
/// ```
/// let module = assembler::assemble(
///     "fun main() {\n s = \"hello\\n\"\n call print(s)\n ret\n}",
///     &assembler::AssembleOptions::default(),
/// );
/// assert_eq!(module.expect("the text is right").functions.len(), 1);
/// ```
pub fn assemble(text: &str, options: &AssembleOptions) -> Result<Module, Vec<Diagnostic>> {
    Ok(assemble_verified(text, options)?.into_module())
}

/// As [`assemble`], and shows `watch` each pass that has run with a function that gives the
/// program's text behind it. Calls then have the windows that they would get there.
///
/// ```
/// use assembler::{AssembleOptions, OptLevel, assemble_watched};
/// let options = AssembleOptions { opt_level: OptLevel::O2, ..AssembleOptions::default() };
/// let text = "fun main() {\n n = 2\n n = add n, 1\n call print_int(n)\n ret\n}";
/// let mut folded = String::new();
/// assemble_watched(text, &options, &mut |pass, print| {
///     if pass.name == "fold" {
///         folded = print();
///     }
/// })
/// .expect("the text is right");
/// assert!(folded.contains("i0 = int 3"), "{folded}");
/// ```
///
/// # Errors
/// What is wrong with the text.
pub fn assemble_watched(
    text: &str,
    options: &AssembleOptions,
    watch: &mut dyn FnMut(&'static PassInfo, &dyn Fn() -> String),
) -> Result<Module, Vec<Diagnostic>> {
    Ok(watched(text, options, watch)?.into_module())
}

/// As [`assemble`], with the proof that the module may run.
///
/// # Errors
/// What is wrong with the text.
pub fn assemble_verified(
    text: &str,
    options: &AssembleOptions,
) -> Result<VerifiedModule, Vec<Diagnostic>> {
    watched(text, options, &mut |_, _| {})
}

fn watched(
    text: &str,
    options: &AssembleOptions,
    watch: &mut dyn FnMut(&'static PassInfo, &dyn Fn() -> String),
) -> Result<VerifiedModule, Vec<Diagnostic>> {
    let result = if u32::try_from(text.len()).is_ok() {
        assemble_spanned(text, options, watch)
    } else {
        Err(vec![Diagnostic::new(
            Span::default(),
            "a text of 4 GiB is too long",
        )])
    };
    result.map_err(|mut errors| {
        errors.sort_by_key(|error| error.span.start);
        errors.dedup();
        errors.truncate(MAX_DIAGNOSTICS);
        errors
    })
}

fn assemble_spanned(
    text: &str,
    options: &AssembleOptions,
    watch: &mut dyn FnMut(&'static PassInfo, &dyn Fn() -> String),
) -> Result<VerifiedModule, Vec<Diagnostic>> {
    let (statements, errors) = parser::parse(text);
    // Names that broken lines would have declared are not missed twice.
    if !errors.is_empty() {
        return Err(errors);
    }
    lower::lower(text, &statements, options).finish_watched(&mut |pass, program| {
        watch(pass, &|| pass::print_between(program));
    })
}

/// The programs of the page on embedding are compiled and run as examples of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
mod embedding_page {}
