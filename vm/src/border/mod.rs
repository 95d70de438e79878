//! The border between Rust and programs: what goes across, and in which shape.
//!
//! | module | what it holds |
//! |---|---|
//! | `error` | why a call does not return, and why an object cannot be had |
//! | `access` | what Rust can do with a machine, between runs and within host functions |
//! | `build`, `look` | objects made and read |
//! | `convert` | Rust's types as registers |
//! | `typed` | functions of programs with Rust's types |
//! | `wrap` | closures as host functions |
//! | `enter` | the way into a function, from outside and from a host function |

mod access;
mod build;
mod convert;
pub(crate) mod enter;
mod error;
mod look;
mod typed;
mod wrap;

pub use access::{Access, Value};
pub use convert::{FromProgram, ToProgram};
pub use error::{CallError, ObjectError, Outcome, Progress, RunError};
pub use look::Kind;
pub use typed::TypedFunction;
pub use wrap::{Argument, HostClosure, HostResult};

pub(crate) use access::Reach;
pub(crate) use convert::{Giver, Taker};
