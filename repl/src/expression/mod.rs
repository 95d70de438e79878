//! Expressions: what is typed to be evaluated.
//!
//! ```text
//! input   = [ "let" NAME { "," NAME } "=" ] expr
//! expr    = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//! sum     = term { ("+" | "-") term }
//! term    = unary { ("*" | "/" | "%") unary }
//! unary   = "-" unary | suffix
//! suffix  = primary { "as" ("int" | "float") }
//! primary = INT | FLOAT | CHAR | STRING | "null" | "&" INT | "(" expr ")"
//!         | "[" [ expr { "," expr } ] "]"                   a list
//!         | "#" TAG "(" [ expr { "," expr } ] ")"           a record
//!         | ("i64" | "f64" | "bytes") "[" numbers "]"       an array
//!         | NAME "(" [ expr { "," expr } ] ")"              a call
//!         | NAME "{" [ expr { "," expr } ] "}"              a closure
//!         | NAME { ".i" N | ".f" N | ".r" N }               a value, or a field of it
//! ```

mod calls;
mod compile;
mod lex;
mod operators;
mod parse;

pub(crate) use compile::{Compiled, VALUE_HOST, compile};
pub(crate) use parse::parse;

use vm::module::Constant;

use crate::values::Kind;

/// A line of the language.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    /// The names that the results are bound to; none when they are only shown.
    pub(crate) names: Vec<String>,
    pub(crate) expr: Expr,
}

/// An expression and where it stands: the column of its first character, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) column: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind {
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    Null,
    Immediate(i64),
    List(Vec<Expr>),
    Record(u16, Vec<Expr>),
    Array(Constant),
    Name(String),
    Call(String, Vec<Expr>),
    Closure(String, Vec<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    As(Box<Expr>, Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) column: usize,
    pub(crate) message: String,
}

impl Wrong {
    pub(crate) fn new(column: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { column, message }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}
