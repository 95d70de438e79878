//! The body of one function, with variables in place of registers.

mod methods;
mod operands;

use std::sync::Arc;

use smallvec::SmallVec;
use vm::isa::{Op, Opcode, Signature};

use super::allocate::{self, Names, VarInfo};
use super::value::{Arg, Callable, IntoArgs, Kind, Var};
use super::{BuildError, FileId, FunctionBuilder, FunctionId, Label};
use crate::ir::*;

/// A function's body that grows op by op, over any number of variables.
///
/// Ops are methods named by their mnemonics, or [`Body::op`] for any of them. Each checks its
/// operands and gives its results in fresh variables. Constants are operands, too: they become part
/// of the op where it has an immediate form, and are loaded otherwise.
///
/// [`ModuleBuilder::define_body`](super::ModuleBuilder::define_body) decides where variables live.
///
/// Variables, labels, branches for profiles, and handlers:
///
/// ```
/// # use assembler::builder::{Arg, Kind, ModuleBuilder};
/// # use vm::isa::Signature;
/// # let mut module = ModuleBuilder::new(&Default::default());
/// # module.set_library();
/// # let unary = Signature { int_params: 1, int_results: 1, ..Signature::default() };
/// # let f = module.declare("f", unary);
/// # let file = module.file("f.sml");
/// let mut b = module.body(f);
/// assert_eq!(b.id(), f);
/// b.declared_at(file, 1);
/// let n = b.param(Kind::Int, 0)?;
/// let best = b.var(Kind::Int);
/// b.name_var(best, "best");
/// b.def(best, 0)?;
/// let before = b.get(best)?; // what it holds now, whatever it will hold
/// let limit = b.value(10)?; // a constant that is used again and again
///
/// let [start, end, caught] = [(); 3].map(|()| b.label());
/// b.bind(start);
/// b.at_line(file, 2);
/// b.begin_branch("division");
/// let quotient = b.quot(100, n)?;
/// b.end_branch();
/// b.def(best, quotient)?;
/// b.bind(end);
/// b.jlt(best, limit, caught)?;
/// b.ret([best])?;
/// let _exception = b.handle(start, end, caught);
/// b.bind(caught);
/// b.ret([before])?;
/// module.define_body(b);
/// # module.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Calls and closures:
///
/// ```
/// # use assembler::builder::{Arg, Kind, ModuleBuilder};
/// # use vm::isa::Signature;
/// # use vm::module::Captures;
/// # let mut module = ModuleBuilder::new(&Default::default());
/// # module.set_library();
/// # let unary = Signature { int_params: 1, int_results: 1, ..Signature::default() };
/// let add = module.declare_closure("add", unary, Captures { refs: 0, ints: 1 });
/// let mut b = module.body(add);
/// let captured = b.cap_i(b.closure()?, 0)?;
/// let sum = b.add(b.param(Kind::Int, 0)?, captured)?;
/// b.ret([sum])?;
/// module.define_body(b);
///
/// let f = module.declare("f", unary);
/// let itself = module.callable(f)?;
/// let mut b = module.body(f);
/// let n = b.param(Kind::Int, 0)?;
/// let (small, large) = (b.label(), b.label());
/// b.jlt(n, 10, small)?;
/// b.jgt(n, 1000, large)?;
/// let less = b.sub(n, 10)?;
/// let one = b.call_one(itself, [less])?; // one result
/// let all = b.call(itself, [one])?; // any number of results
/// b.tail_call(itself, all)?;
/// b.bind(small);
/// let add_n = b.new_closure(add, (), [n])?;
/// let sum = b.call_closure(add_n, unary, [1])?[0];
/// b.ret([sum])?;
/// b.bind(large);
/// let add_n = b.new_closure(add, (), [n])?;
/// b.tail_call_closure(add_n, unary, [2])?;
/// module.define_body(b);
/// # module.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Body {
    pub(super) inner: FunctionBuilder,
    pub(super) names: Names,
    file_names: Arc<Vec<String>>,
    location: Option<(FileId, u32)>,
    /// Variables of the parameters; the closure itself stands behind the references.
    params: [Vec<u32>; 2],
}

impl Body {
    pub(super) fn begin(inner: FunctionBuilder, file_names: Arc<Vec<String>>) -> Self {
        let mut body = Self {
            names: Names::default(),
            file_names,
            location: None,
            params: [Vec::new(), Vec::new()],
            inner,
        };
        let (ints, refs) = body.inner.parameter_counts();
        for (class, count) in [(Class::Int, ints), (Class::Ref, refs)] {
            for index in 0..count {
                let number = body.names.add(VarInfo {
                    class,
                    param: Some(index as u8),
                });
                body.params[class as usize].push(number);
            }
        }
        body
    }

    /// The function that is being defined.
    pub fn id(&self) -> FunctionId {
        self.inner.id()
    }

    /// An error at the op that would come next.
    pub(super) fn error(&self, what: &str, message: impl AsRef<str>) -> BuildError {
        // A file that was declared after this body was started has no name here yet.
        let file = |file: FileId| match self.file_names.get(file.0 as usize) {
            Some(name) => name.clone(),
            None => format!("file {}", file.0),
        };
        BuildError {
            message: format!("in `{}`: {}", self.inner.name(), message.as_ref()),
            function: Some(self.inner.name().to_owned()),
            block: Some(self.inner.next_block()),
            op: Some(what.to_owned()),
            location: self.location.map(|(id, line)| (file(id), line)),
        }
    }

    /// The variable of a parameter, counted among those of its class: doubles and integers are
    /// counted together.
    ///
    /// # Errors
    /// When the signature has fewer.
    pub fn param(&self, kind: Kind, index: u8) -> Result<Var, BuildError> {
        let class = kind.class();
        let signature = self.inner.signature();
        let count = match class {
            Class::Int => signature.int_params,
            Class::Ref => signature.ref_params,
        };
        if index >= count {
            let letter = kind.letter();
            let message = format!("parameter {letter}{index} is wanted of {signature}");
            return Err(self.error("param", message));
        }
        Ok(self.var_of(self.params[class as usize][index as usize], kind))
    }

    /// The variable that holds the closure in a closure's function.
    ///
    /// # Errors
    /// When the function is no closure's.
    pub fn closure(&self) -> Result<Var, BuildError> {
        let index = self.inner.signature().ref_params as usize;
        match self.params[Class::Ref as usize].get(index) {
            Some(&number) => Ok(self.var_of(number, Kind::Ref)),
            None => Err(self.error("closure", "this function is called without a closure")),
        }
    }

    fn var_of(&self, number: u32, kind: Kind) -> Var {
        Var {
            function: self.id(),
            number,
            kind,
        }
    }

    /// A new variable, which must be defined on every path before it is used.
    pub fn var(&mut self, kind: Kind) -> Var {
        let number = self.names.add(VarInfo {
            class: kind.class(),
            param: None,
        });
        self.var_of(number, kind)
    }

    /// What a variable is called in messages.
    pub fn name_var(&mut self, var: Var, name: &str) {
        self.names.texts.insert(var.number, name.to_owned());
    }

    /// A label, to be bound once. A label begins a block.
    pub fn label(&mut self) -> Label {
        self.inner.label()
    }

    /// Puts a label before the next op. Control also falls into it from the op before.
    pub fn bind(&mut self, label: Label) {
        self.inner.bind(label);
    }

    /// Where the function itself stands; its profiling source says so.
    pub fn declared_at(&mut self, file: FileId, line: u32) {
        self.inner.declared_at(file, line);
    }

    /// Where the ops that follow come from.
    pub fn at_line(&mut self, file: FileId, line: u32) {
        self.location = Some((file, line));
        self.inner.at_line(file, line);
    }

    /// Begins a branch, which is a source of its own when branches are profiled. At most 64 nest.
    pub fn begin_branch(&mut self, name: &str) {
        self.inner.begin_branch(name);
    }

    /// Ends the branch that was begun last.
    pub fn end_branch(&mut self) {
        self.inner.end_branch();
    }

    /// Ops from `start` to before `end` raise to `target`; the variable holds the exception there.
    /// Of ranges that hold an op, the one added first counts.
    pub fn handle(&mut self, start: Label, end: Label, target: Label) -> Var {
        let var = self.var(Kind::Ref);
        self.inner.handle(start, end, target, Reg::reference(0));
        self.names.handlers.push(var.number);
        var
    }

    /// Gives a variable a value, whatever it held before.
    ///
    /// # Errors
    /// When the value is of another kind.
    pub fn def(&mut self, var: Var, value: impl Into<Arg>) -> Result<(), BuildError> {
        let value = value.into();
        let class = var.kind.class();
        match value {
            Arg::Var(source) if source.kind == var.kind => {
                let opcode = match class {
                    Class::Int => Opcode::Mov,
                    Class::Ref => Opcode::RMov,
                };
                self.op_to(opcode.info().mnemonic, &[var], [source])
            }
            value if self.fits(var.kind, &value) => self.load_to(var, value),
            value => {
                let what = operands::describe(&value);
                let message = format!(
                    "a variable of kind {} cannot hold {what}",
                    var.kind.letter()
                );
                Err(self.error("def", message))
            }
        }
    }

    /// What a variable holds now, in a variable of its own that later definitions leave alone.
    /// Where none come before the last use, use the variable itself.
    ///
    /// # Errors
    /// When the variable is another function's.
    pub fn get(&mut self, var: Var) -> Result<Var, BuildError> {
        let copy = self.var(var.kind);
        self.def(copy, var)?;
        Ok(copy)
    }

    /// A reference's immediate, or a constant of any kind, in a variable.
    ///
    /// # Errors
    /// When the value is no constant and no variable.
    pub fn value(&mut self, value: impl Into<Arg>) -> Result<Var, BuildError> {
        let value = value.into();
        let kind = match &value {
            Arg::Var(var) => return Ok(*var),
            Arg::Int(_) => Kind::Int,
            Arg::Float(_) => Kind::Float,
            Arg::Null | Arg::Constant(_) | Arg::Object(_) => Kind::Ref,
            other => {
                let message = format!("{} is no value", operands::describe(other));
                return Err(self.error("value", message));
            }
        };
        let var = self.var(kind);
        self.load_to(var, value)?;
        Ok(var)
    }

    /// Calls a function of the module or of the host. Arguments stand in their order within each
    /// class; so do the results, integers first.
    ///
    /// # Errors
    /// When the arguments do not fit the signature.
    pub fn call(
        &mut self,
        callable: Callable,
        args: impl IntoArgs,
    ) -> Result<Vec<Var>, BuildError> {
        self.emit_call(callable.callee, callable.signature, None, args.into_args())
    }

    /// As [`Body::call`], for what gives one result.
    ///
    /// # Errors
    /// Also when it gives another number of results.
    pub fn call_one(&mut self, callable: Callable, args: impl IntoArgs) -> Result<Var, BuildError> {
        let results = self.call(callable, args)?;
        self.one(results, "call")
    }

    /// Calls a closure, taken to have this signature.
    ///
    /// # Errors
    /// When the arguments do not fit the signature, or `closure` is no reference.
    pub fn call_closure(
        &mut self,
        closure: Var,
        signature: Signature,
        args: impl IntoArgs,
    ) -> Result<Vec<Var>, BuildError> {
        let callee = Callee::Closure {
            register: 0,
            signature,
        };
        self.emit_call(callee, signature, Some(closure), args.into_args())
    }

    /// Calls in place of this function, which ends here.
    ///
    /// # Errors
    /// When the arguments do not fit the signature.
    pub fn tail_call(&mut self, callable: Callable, args: impl IntoArgs) -> Result<(), BuildError> {
        let (values, reads) =
            self.call_values("tail_call", callable.signature, None, args.into_args())?;
        let action = Action::TailCall(callable.callee, values);
        self.push(action, SmallVec::new(), reads);
        Ok(())
    }

    /// Calls a closure in place of this function, which ends here.
    ///
    /// # Errors
    /// As for [`Body::call_closure`].
    pub fn tail_call_closure(
        &mut self,
        closure: Var,
        signature: Signature,
        args: impl IntoArgs,
    ) -> Result<(), BuildError> {
        let args = args.into_args();
        let (values, reads) =
            self.call_values("tail_call_closure", signature, Some(closure), args)?;
        let callee = Callee::Closure {
            register: 0,
            signature,
        };
        self.push(Action::TailCall(callee, values), SmallVec::new(), reads);
        Ok(())
    }

    /// Returns values.
    ///
    /// # Errors
    /// When they are not what the function's signature gives.
    pub fn ret(&mut self, values: impl IntoArgs) -> Result<(), BuildError> {
        let own = self.inner.signature();
        let wanted = (own.int_results, own.ref_results);
        let (values, reads) = self.values("ret", "results", wanted, values.into_args())?;
        self.push(Action::Ret(values), SmallVec::new(), reads);
        Ok(())
    }

    fn emit_call(
        &mut self,
        callee: Callee,
        signature: Signature,
        closure: Option<Var>,
        args: Vec<Arg>,
    ) -> Result<Vec<Var>, BuildError> {
        let (args, reads) = self.call_values("call", signature, closure, args)?;
        let mut vars = Vec::new();
        for _ in 0..signature.int_results {
            vars.push(self.var(Kind::Int));
        }
        for _ in 0..signature.ref_results {
            vars.push(self.var(Kind::Ref));
        }
        let dummy = |var: &Var| Reg {
            class: var.kind.class(),
            index: 0,
        };
        let action = Action::Call(Call {
            callee,
            args,
            results: vars.iter().map(dummy).collect(),
            windows: None,
        });
        self.push(action, vars.iter().map(|var| var.number).collect(), reads);
        Ok(vars)
    }

    fn call_values(
        &mut self,
        what: &str,
        signature: Signature,
        closure: Option<Var>,
        args: Vec<Arg>,
    ) -> Result<(Vec<Value>, Reads), BuildError> {
        let wanted = (signature.int_params, signature.ref_params);
        let (values, mut reads) = self.values(what, "arguments", wanted, args)?;
        if let Some(closure) = closure {
            self.check_own(what, closure)?;
            if closure.kind != Kind::Ref {
                return Err(self.error(what, "a closure is a reference"));
            }
            reads.insert(0, closure.number);
        }
        Ok((values, reads))
    }

    /// Values of a call or return, checked against how many of each class are wanted.
    fn values(
        &mut self,
        what: &str,
        of_what: &str,
        wanted: (u8, u8),
        args: Vec<Arg>,
    ) -> Result<(Vec<Value>, Reads), BuildError> {
        let mut values = Vec::with_capacity(args.len());
        let mut reads = Reads::new();
        let mut counts = [0_usize; 2];
        for arg in args {
            let value = match arg {
                Arg::Var(var) => {
                    self.check_own(what, var)?;
                    reads.push(var.number);
                    Value::Reg(Reg {
                        class: var.kind.class(),
                        index: 0,
                    })
                }
                Arg::Int(value) => Value::Int(value),
                Arg::Float(value) => Value::Float(value),
                Arg::Null => Value::Null,
                Arg::Constant(id) => Value::Text(id),
                Arg::Object(id) => Value::Object(id),
                other => {
                    let message = format!("{} cannot be passed", operands::describe(&other));
                    return Err(self.error(what, message));
                }
            };
            counts[value.class() as usize] += 1;
            values.push(value);
        }
        if counts != [wanted.0 as usize, wanted.1 as usize] {
            let message = format!(
                "{of_what}: {} i and {} r are wanted, not {} and {}",
                wanted.0, wanted.1, counts[0], counts[1]
            );
            return Err(self.error(what, message));
        }
        Ok((values, reads))
    }

    fn check_own(&self, what: &str, var: Var) -> Result<(), BuildError> {
        match var.function == self.id() {
            true => Ok(()),
            false => Err(self.error(what, "a variable of another function stands here")),
        }
    }

    fn one(&self, results: Vec<Var>, what: &str) -> Result<Var, BuildError> {
        match results.as_slice() {
            [var] => Ok(*var),
            vars => {
                let message = format!("this gives {} results, not one", vars.len());
                Err(self.error(what, message))
            }
        }
    }

    fn push(&mut self, action: Action, writes: Writes, reads: Reads) {
        let block = self.inner.push(action) as usize;
        let length = self.inner.block_length(block);
        self.names.operands.add(block, length, writes, reads);
    }

    fn push_op(&mut self, op: Op, writes: Writes, reads: Reads) {
        self.push(Action::Op(op), writes, reads);
    }
}

pub(super) type Writes = SmallVec<[u32; 2]>;
pub(super) type Reads = SmallVec<[u32; 4]>;

impl From<Body> for allocate::Draft {
    fn from(body: Body) -> Self {
        allocate::Draft {
            builder: body.inner,
            names: body.names,
        }
    }
}
