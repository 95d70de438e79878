//! Variables and what else can stand as an operand.

use super::{FunctionId, Label};
use crate::ir::{Callee, Class};

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A 64-bit integer, in an `i` register.
    Int,
    /// A double, in an `i` register.
    Float,
    /// A reference, in an `r` register.
    Ref,
}

impl Kind {
    /// The class of the registers that hold such values.
    pub fn class(self) -> Class {
        match self {
            Self::Int | Self::Float => Class::Int,
            Self::Ref => Class::Ref,
        }
    }

    /// The letter by which texts call it: `i`, `f` or `r`.
    pub fn letter(self) -> char {
        match self {
            Self::Int => 'i',
            Self::Float => 'f',
            Self::Ref => 'r',
        }
    }
}

/// A variable of one function. There may be any number of them, and each may be written any number
/// of times: where it lives is decided when the function is defined.
///
/// ```
/// # use assembler::builder::{Class, Kind, ModuleBuilder};
/// # let mut module = ModuleBuilder::new(&Default::default());
/// # let f = module.declare("f", Default::default());
/// let mut b = module.body(f);
/// let x = b.var(Kind::Float);
/// assert_eq!((x.kind(), x.kind().letter(), x.kind().class()), (Kind::Float, 'f', Class::Int));
/// b.def(x, 0.5)?;
/// let bits = b.shr(x.as_int(), 52)?;
/// b.fadd(bits.as_float(), x)?;
/// # Ok::<(), assembler::builder::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Var {
    pub(super) function: FunctionId,
    pub(super) number: u32,
    pub(super) kind: Kind,
}

impl Var {
    /// What it holds.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// The same variable, its bits taken for a double's. A reference stays one.
    pub fn as_float(self) -> Self {
        self.taken_as(Kind::Float)
    }

    /// The same variable, its bits taken for an integer. A reference stays one.
    pub fn as_int(self) -> Self {
        self.taken_as(Kind::Int)
    }

    fn taken_as(self, kind: Kind) -> Self {
        match self.kind {
            Kind::Ref => self,
            Kind::Int | Kind::Float => Self { kind, ..self },
        }
    }
}

/// What can stand as an operand: a variable, a constant, or what a table of the module holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// What a variable holds.
    Var(Var),
    /// An integer; also a field, a tag or a number of bits where an op wants one.
    Int(i64),
    /// A double.
    Float(f64),
    /// The null reference.
    Null,
    /// A constant of the pool, as [`ModuleBuilder::text`](super::ModuleBuilder::text) gives it: a
    /// string is an operand wherever a reference is.
    Constant(u32),
    /// A constant object, as [`ModuleBuilder::object`](super::ModuleBuilder::object) gives it: an
    /// operand wherever a reference is.
    Object(u32),
    /// A global word, for `ld_gi` and `st_gi`, as
    /// [`ModuleBuilder::int_global`](super::ModuleBuilder::int_global) gives it.
    IntGlobal(u32),
    /// A global reference, for `ld_gr` and `st_gr`, as
    /// [`ModuleBuilder::ref_global`](super::ModuleBuilder::ref_global) gives it.
    RefGlobal(u32),
    /// A label to jump to.
    Label(Label),
    /// The labels of a jump table.
    Labels(Vec<Label>),
    /// Several values, where an op takes a list.
    List(Vec<Arg>),
    /// A function, for closures.
    Function(FunctionId),
    /// A profiling source, for explicit Enters and Leaves.
    Source(u32),
}

macro_rules! arg_from {
    ($($from:ty, $value:ident => $arg:expr;)+) => { $(
        impl From<$from> for Arg {
            fn from($value: $from) -> Self {
                $arg
            }
        }
    )+ };
}

arg_from! {
    Var, var => Self::Var(var);
    &Var, var => Self::Var(*var);
    i64, value => Self::Int(value);
    i32, value => Self::Int(value.into());
    f64, value => Self::Float(value);
    Label, label => Self::Label(label);
    Vec<Label>, labels => Self::Labels(labels);
    Vec<Arg>, list => Self::List(list);
    (), _nothing => Self::List(Vec::new());
    Vec<Var>, list => Self::List(list.into_iter().map(Self::Var).collect());
    FunctionId, function => Self::Function(function);
}

impl<T: Into<Arg>, const N: usize> From<[T; N]> for Arg {
    fn from(list: [T; N]) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

/// Operands side by side: a tuple, an array, a slice or a vector of what can be an [`Arg`].
///
/// ```
/// use assembler::builder::{Arg, IntoArgs};
///
/// assert_eq!((1, 0.5).into_args(), [Arg::Int(1), Arg::Float(0.5)]);
/// assert_eq!([1, 2].into_args(), (1, 2).into_args());
/// assert!(().into_args().is_empty());
/// ```
pub trait IntoArgs {
    /// The operands in their order.
    fn into_args(self) -> Vec<Arg>;
}

impl<T: Into<Arg>> IntoArgs for Vec<T> {
    fn into_args(self) -> Vec<Arg> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<Arg> + Clone> IntoArgs for &[T] {
    fn into_args(self) -> Vec<Arg> {
        self.iter().cloned().map(Into::into).collect()
    }
}

impl<T: Into<Arg>, const N: usize> IntoArgs for [T; N] {
    fn into_args(self) -> Vec<Arg> {
        self.into_iter().map(Into::into).collect()
    }
}

macro_rules! tuples_into_args {
    ($( ($($name:ident),*) )+) => { $(
        impl<$($name: Into<Arg>),*> IntoArgs for ($($name,)*) {
            fn into_args(self) -> Vec<Arg> {
                #[allow(non_snake_case, reason = "a variable is named after its type")]
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    )+ };
}

tuples_into_args! { () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) }

/// Something that can be called directly, with its signature:
/// [`ModuleBuilder::callable`](super::ModuleBuilder::callable) and
/// [`ModuleBuilder::standard_host`](super::ModuleBuilder::standard_host) give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Callable {
    pub(super) callee: Callee,
    /// What it takes and gives.
    pub signature: vm::isa::Signature,
}
