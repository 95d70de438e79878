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

/// What a run of the assembler can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembleOptions {
    /// Which calls in tail position become tail calls.
    pub tail_calls: TailCalls,
    /// Whether branches are sources of their own.
    pub profile_branch: bool,
    /// Up to how many ops functions are inlined; none are if it is not given.
    pub inline_ops: Option<u32>,
    /// What the text's file is called in line tables, sources and messages.
    pub file_name: String,
}

impl Default for AssembleOptions {
    fn default() -> Self {
        Self {
            tail_calls: TailCalls::Always,
            profile_branch: false,
            inline_ops: None,
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
    let result = if u32::try_from(text.len()).is_ok() {
        assemble_spanned(text, options)
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

/// As [`assemble`], with the proof that the module may run.
///
/// # Errors
/// What is wrong with the text.
pub fn assemble_verified(
    text: &str,
    options: &AssembleOptions,
) -> Result<VerifiedModule, Vec<Diagnostic>> {
    let module = assemble(text, options)?;
    vm::verify::verify(module).map_err(|errors| {
        let message = |error: &vm::verify::VerifyError| error.to_string();
        let errors = errors.iter().map(message);
        errors
            .map(|message| Diagnostic::new(Span::default(), message))
            .collect()
    })
}

fn assemble_spanned(text: &str, options: &AssembleOptions) -> Result<Module, Vec<Diagnostic>> {
    let (statements, errors) = parser::parse(text);
    // Names that broken lines would have declared are not missed twice.
    if !errors.is_empty() {
        return Err(errors);
    }
    lower::lower(text, &statements, options).finish_spanned()
}

/// The programs of the page on embedding are compiled and run as examples of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
mod embedding_page {}
