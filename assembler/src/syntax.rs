//! What a text says, before names are looked up.

use vm::isa::Signature;

use crate::diagnostic::Span;
use crate::ir::Class;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// The class letter of a parameter or register: `f` is an `i` register that holds a double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Float,
    Ref,
}

impl Kind {
    pub(crate) fn class(self) -> Class {
        match self {
            Self::Int | Self::Float => Class::Int,
            Self::Ref => Class::Ref,
        }
    }

    pub(crate) fn letter(self) -> &'static str {
        match self {
            Self::Int => "i",
            Self::Float => "f",
            Self::Ref => "r",
        }
    }
}

/// The letters of a list of classes: `i, r`.
pub(crate) fn letters(kinds: &[Kind]) -> String {
    let letters: Vec<&str> = kinds.iter().map(|kind| kind.letter()).collect();
    letters.join(", ")
}

/// A parameter, capture or result; the name may be left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Param {
    pub(crate) name: Option<Name>,
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fun {
    pub(crate) name: Name,
    pub(crate) is_exported: bool,
    pub(crate) captures: Option<Vec<Param>>,
    pub(crate) params: Vec<Param>,
    pub(crate) results: Vec<Param>,
    pub(crate) body: Vec<Stmt>,
}

/// A statement, at the top level or in a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StmtKind {
    Host {
        name: Name,
        params: Vec<Param>,
        results: Vec<Param>,
    },
    Data {
        name: Name,
        value: Data,
    },
    /// `data k = record 3 [null, x] [1]`, `closure f [x] [1]`, `refs [x, y]`.
    Object {
        name: Name,
        value: ObjectData,
    },
    /// `global g: i = 5`.
    Global {
        name: Name,
        kind: Kind,
        value: Option<Arg>,
    },
    /// `source s = "label" "file" 1`, or with the one text that reports show.
    Source {
        name: Name,
        label: String,
        place: Option<(String, u32)>,
    },
    Fun(Box<Fun>),
    Directive {
        name: Name,
        args: Vec<Arg>,
    },
    Label(Name),
    Try {
        target: Name,
        register: Name,
        body: Vec<Stmt>,
    },
    Op(OpStmt),
}

/// `a, b = mnemonic x, y`, `a = call f(x, y)` or `a = x`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpStmt {
    pub(crate) dsts: Vec<Dst>,
    /// Absent in `a = x`.
    pub(crate) mnemonic: Option<Name>,
    pub(crate) args: Vec<Arg>,
    /// What stands in parentheses behind the callee.
    pub(crate) call_args: Option<Vec<Arg>>,
}

/// A written register, perhaps with its class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dst {
    pub(crate) name: Name,
    pub(crate) kind: Option<Kind>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arg {
    pub(crate) kind: ArgKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ArgKind {
    Name(String),
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    List(Vec<Arg>),
    Data(Data),
    Sig(Signature),
    /// `@3`: what is named by its index.
    Index(u32),
}

/// A constant that is written out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

/// A constant that refers to others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectData {
    pub(crate) kind: ObjectKind,
    pub(crate) refs: Vec<Arg>,
    pub(crate) ints: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObjectKind {
    Record(u16),
    /// Of the function that is named.
    Closure(Arg),
    Refs,
}

impl ArgKind {
    /// The name of what is called, as it was written.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Index(index) => format!("@{index}"),
            other => other.describe(),
        }
    }

    /// What the operand is called in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Int(_) => "an integer".into(),
            Self::Float(_) => "a double".into(),
            Self::Text(_) => "a string".into(),
            Self::List(_) => "a list".into(),
            Self::Data(_) => "a constant".into(),
            Self::Sig(_) => "a signature".into(),
            Self::Index(index) => format!("`@{index}`"),
        }
    }
}
