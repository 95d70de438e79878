//! The interactive session: define functions, evaluate expressions, profile them, compare.
//!
//! [`Session`] is pure: an entry goes in, a text comes out, and no terminal is needed.
//!
//! | module | what it holds |
//! |---|---|
//! | `session` | what an entry does |
//! | `program` | functions by name, from files and from what was typed |
//! | `expression` | the language of expressions: lexer, parser, compiler |
//! | `values` | what names are bound to |
//! | `evaluate` | one evaluation: a machine of its own |
//! | `debugger` | runs that stop |
//! | `runs` | the profiles that are kept, compared, shown as trees |
//! | `commands` | the one table of commands, and what they do |
//! | `render` | values and figures as text |
//! | `validate` | whether an entry is whole |
//! | `complete`, `highlight` | what the editor offers and how it looks |
//! | `edge` | the terminal, or lines from a file or a pipe |

mod commands;
mod complete;
mod debugger;
mod edge;
mod evaluate;
mod expression;
mod highlight;
mod io;
mod objects;
mod program;
mod recording;
mod render;
mod runs;
mod session;
mod validate;
mod values;

pub use commands::{command_names, manual};
pub use edge::{batch, interact};
pub use io::{SessionIo, SharedLines};
pub use session::{Reply, Session};
