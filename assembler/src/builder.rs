//! Programs without text, for compilers: the same IR, passes and checks that text gets.
//!
//! A [`Body`] is a function over any number of variables. Ops are methods, constants are operands,
//! results are fresh variables; registers are found when the body is defined. A small compiler:
//!
//! ```
//! use assembler::AssembleOptions;
//! use assembler::builder::{Arg, Body, BuildError, Callable, Kind, ModuleBuilder};
//! use vm::isa::Signature;
//!
//! enum Expr {
//!     Number(i64),
//!     Argument,
//!     Add(Box<Expr>, Box<Expr>),
//!     IfLess(Box<[Expr; 4]>),
//!     Recur(Box<Expr>),
//! }
//!
//! /// The value of an expression: a constant, or a variable that holds it.
//! fn compile(b: &mut Body, own: Callable, expr: &Expr) -> Result<Arg, BuildError> {
//!     Ok(match expr {
//!         Expr::Number(number) => Arg::from(*number),
//!         Expr::Argument => Arg::from(b.param(Kind::Int, 0)?),
//!         Expr::Add(lhs, rhs) => {
//!             let (lhs, rhs) = (compile(b, own, lhs)?, compile(b, own, rhs)?);
//!             Arg::from(b.add(lhs, rhs)?)
//!         }
//!         Expr::IfLess(parts) => {
//!             let [lhs, rhs, yes, no] = parts.as_ref();
//!             let (is_less, end) = (b.label(), b.label());
//!             let result = b.var(Kind::Int);
//!             let (lhs, rhs) = (compile(b, own, lhs)?, compile(b, own, rhs)?);
//!             b.jlt(lhs, rhs, is_less)?;
//!             let no = compile(b, own, no)?;
//!             b.def(result, no)?;
//!             b.jmp(end)?;
//!             b.bind(is_less);
//!             let yes = compile(b, own, yes)?;
//!             b.def(result, yes)?;
//!             b.bind(end);
//!             Arg::from(result)
//!         }
//!         Expr::Recur(argument) => {
//!             let argument = compile(b, own, argument)?;
//!             Arg::from(b.call_one(own, [argument])?)
//!         }
//!     })
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recur = |by| {
//!     let less = Expr::Add(Box::new(Expr::Argument), Box::new(Expr::Number(by)));
//!     Box::new(Expr::Recur(Box::new(less)))
//! };
//! let sum = Expr::Add(recur(-1), recur(-2));
//! let fib = Expr::IfLess(Box::new([Expr::Argument, Expr::Number(2), Expr::Argument, sum]));
//!
//! let mut module = ModuleBuilder::new(&AssembleOptions::default());
//! let file = module.file("fib.sml");
//! let unary = Signature { int_params: 1, int_results: 1, ..Signature::default() };
//! let (f, main) = (module.declare("fib", unary), module.declare("main", Signature::default()));
//!
//! let mut b = module.body(f);
//! b.declared_at(file, 10);
//! let result = compile(&mut b, module.callable(f)?, &fib)?;
//! b.ret([result])?;
//! module.define_body(b);
//!
//! let mut b = module.body(main);
//! let print = module.standard_host("print")?;
//! let number = b.call_one(module.callable(f)?, [20])?;
//! let text = b.str_of_int(number)?;
//! b.call(print, [text])?;
//! b.ret(())?;
//! module.define_body(b);
//!
//! let module = module.finish_verified()?;
//! assert_eq!(module.functions[0].name, "fib");
//! assert_eq!(module.sources.names[3], "fib\tfib.sml: 10");
//! # Ok(())
//! # }
//! ```
//!
//! **Where variables live.** In registers, 256 of each class, which are shared by variables that
//! are not alive together and chosen so that arguments are computed where their call wants them.
//! What is alive beyond that lives in a record that the function allocates on entry: each use is
//! then a load, each definition a store, and allocation profiles show the record.
//!
//! **Errors.** A [`Body`]'s methods refuse an operand at once; what only a whole function or module
//! shows, [`ModuleBuilder::finish`] says. Both name the function, block, op and line, and
//! [`Rejection::dump`] prints what there is.
//!
//! **Registers by number.** Whoever has chosen registers already, as the text's front end and code
//! generators with an allocator of their own, uses [`FunctionBuilder`]: ops as they are, over
//! registers, in the same module.

mod allocate;
mod body;
mod declare;
mod error;
mod function;
mod given;
mod index;
mod value;

use std::sync::Arc;

use vm::isa::Signature;
use vm::module::{Captures, ConstRef, Constant, HostImport, Module};
use vm::verify::VerifiedModule;

pub use crate::ir::{Callee, Class, Reg, Value};
pub use body::Body;
pub use error::{BuildError, Rejection};
pub use function::{FunctionBuilder, Label};
pub use value::{Arg, Callable, IntoArgs, Kind, Var};

use crate::diagnostic::{Diagnostic, Span, keep};
use crate::ir::{Function, Program, SourceName};
use crate::{AssembleOptions, emit, pass};
use index::Index;

/// How many registers of a class a function has.
const MAX_REGISTERS: usize = 256;

/// A function of the module that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub u32);

/// A source file's name, for line tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub u32);

/// A module that grows: declare functions, define each, finish.
///
/// ```
/// use assembler::AssembleOptions;
/// use assembler::builder::{Kind, ModuleBuilder, Value};
/// use vm::isa::Signature;
/// use vm::module::{Captures, ConstRef, Constant};
///
/// let unary = Signature { int_params: 1, int_results: 1, ..Signature::default() };
/// let mut module = ModuleBuilder::new(&AssembleOptions::default());
/// // What functions need: files of lines, constants, host functions, keys for tools.
/// let file = module.file("double.sml");
/// let primes = module.constant(Constant::Ints(vec![2, 3, 5, 7]));
/// let hello = module.text("hello");
/// let n_calls = module.int_global("n_calls", 0);
/// let greeting = module.ref_global("greeting", ConstRef::Null);
/// let print = module.standard_host("print")?;
/// let beep = module.host_callable("beep", Signature::default());
/// assert_eq!(module.host("beep", Signature::default()), 1);
/// module.metadata("compiler", "example 1.0");
///
/// // Declared first, functions may call each other whatever their order.
/// let double = module.declare("double", unary);
/// let counter = module.declare_closure("counter", unary, Captures { refs: 0, ints: 1 });
/// let sine = module.declare_extern("sine", unary, None);
/// let start = module.declare("start", Signature::default());
/// module.export(double);
/// module.set_entry(start);
/// module.set_unprofiled(counter);
/// module.set_register_limit(64);
///
/// let mut b = module.body(double);
/// b.declared_at(file, 1);
/// let twice = b.mul(b.param(Kind::Int, 0)?, 2)?;
/// b.ret([twice])?;
/// module.define_body(b);
///
/// let mut b = module.body(counter);
/// b.ret([b.param(Kind::Int, 0)?])?;
/// module.define_body(b);
///
/// let part = module.source("part", "double.sml", 3);
/// let mut b = module.body(start);
/// b.op("enter", [assembler::builder::Arg::Source(part)])?;
/// b.data(assembler::builder::Arg::Constant(primes))?;
/// let count = b.ld_gi(n_calls.clone())?;
/// let count = b.add(count, 1)?;
/// b.st_gi(n_calls, count)?;
/// b.st_gr(greeting.clone(), hello)?;
/// let greeting = b.ld_gr(greeting)?;
/// b.call(print, [greeting])?;
/// b.call(beep, ())?;
/// b.call_one(module.callable(sine)?, [1])?;
/// b.op("leave", [assembler::builder::Arg::Source(part)])?;
/// b.ret(())?;
/// module.define_body(b);
/// assert_eq!(module.finish()?.hosts.len(), 2);
///
/// // A library needs nothing to start with. Where a compiler has written out all profiling ops,
/// // none are added. Registers may be chosen by number, too.
/// let mut library = ModuleBuilder::new(&AssembleOptions::default());
/// library.set_library();
/// library.set_instrumented();
/// let same = library.declare("same", unary);
/// let mut by_number = library.function(same);
/// by_number.ret(&[Value::Reg(by_number.int_param(0))]);
/// library.define(by_number);
/// assert!(library.finish_verified()?.function_named("same").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModuleBuilder {
    pub(crate) options: AssembleOptions,
    pub(crate) program: Program,
    is_defined: Vec<bool>,
    has_entry: bool,
    constants: Index<Vec<u8>>,
    hosts: Index<(String, Signature)>,
    files: Index<String>,
    /// The names of files, for the errors of bodies that grow elsewhere.
    file_names: Arc<Vec<String>>,
    /// How many registers of a class may hold variables.
    register_limit: usize,
    /// Whether the module needs no function to start with.
    is_library: bool,
    /// Where instructions stand, by their spans.
    origins: Vec<error::Origin>,
    /// Problems with the text of which the module is made, and with what was defined.
    pub(crate) errors: Vec<Diagnostic>,
}

impl ModuleBuilder {
    /// A module without functions.
    pub fn new(options: &AssembleOptions) -> Self {
        Self {
            options: options.clone(),
            program: Program::default(),
            is_defined: Vec::new(),
            has_entry: false,
            constants: Index::default(),
            hosts: Index::default(),
            files: Index::default(),
            file_names: Arc::default(),
            register_limit: MAX_REGISTERS,
            is_library: false,
            origins: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// A new function, which may be called before it is defined. One that is named `main` is
    /// the entry, unless [`ModuleBuilder::set_entry`] chooses another.
    pub fn declare(&mut self, name: &str, signature: Signature) -> FunctionId {
        let id = self.program.functions.len() as u32;
        if name == "main" && !self.has_entry {
            self.program.entry = id;
            self.has_entry = true;
        }
        let function = Function {
            name: name.to_owned(),
            signature,
            ..Function::default()
        };
        self.program.functions.push(function);
        self.is_defined.push(false);
        FunctionId(id)
    }

    /// A new function that is called through closures with these captures.
    pub fn declare_closure(
        &mut self,
        name: &str,
        signature: Signature,
        captures: Captures,
    ) -> FunctionId {
        let id = self.declare(name, signature);
        self.program.functions[id.0 as usize].captures = Some(captures);
        id
    }

    /// Lets embedders look the function up by its name.
    pub fn export(&mut self, function: FunctionId) {
        if let Some(function) = self.program.functions.get_mut(function.0 as usize) {
            function.is_exported = true;
        }
    }

    /// Chooses the function with which a run starts.
    pub fn set_entry(&mut self, function: FunctionId) {
        self.program.entry = function.0;
        self.has_entry = true;
    }

    /// The index of a host function, which is imported when it is not yet.
    pub fn host(&mut self, name: &str, signature: Signature) -> u32 {
        let import = HostImport {
            name: name.to_owned(),
            signature,
        };
        let key = |host: &HostImport| (host.name.clone(), host.signature);
        self.hosts.intern(&mut self.program.hosts, import, key)
    }

    /// The index of a constant, which is added when no equal one is there.
    pub fn constant(&mut self, constant: Constant) -> u32 {
        self.constants
            .intern(&mut self.program.constants, constant, constant_bits)
    }

    /// A new profiling source for explicit `enter` and `leave` ops. Sources of the same label,
    /// file and line share one name in reports.
    pub fn source(&mut self, label: &str, file: &str, line: u32) -> u32 {
        self.source_named(SourceName::at(label, file, line))
    }

    /// A new profiling source by the text of its name.
    pub(crate) fn source_named(&mut self, name: SourceName) -> u32 {
        self.program.sources.push(name);
        crate::ir::FIRST_OWN_SOURCE + self.program.sources.len() as u32 - 1
    }

    /// A source file's id, for [`FunctionBuilder::at_line`].
    pub fn file(&mut self, name: &str) -> FileId {
        let known = self.files.get(name);
        FileId(known.unwrap_or_else(|| {
            Arc::make_mut(&mut self.file_names).push(name.to_owned());
            self.files
                .intern(&mut self.program.files, name.to_owned(), String::clone)
        }))
    }

    /// Adds a key and a value for tools.
    pub fn metadata(&mut self, key: &str, value: &str) {
        self.program
            .metadata
            .push((key.to_owned(), value.to_owned()));
    }

    /// Says that all profiling ops are written out: `instrument` and `shrink` leave the module as
    /// it is.
    pub fn set_instrumented(&mut self) {
        self.program.is_instrumented = true;
    }

    /// Starts the body of a function.
    pub fn function(&self, id: FunctionId) -> FunctionBuilder {
        let function = self
            .program
            .functions
            .get(id.0 as usize)
            .cloned()
            .unwrap_or_default();
        FunctionBuilder::new(id, function)
    }

    /// Gives a function its body. What is wrong with it, [`ModuleBuilder::finish`] says.
    pub fn define(&mut self, mut builder: FunctionBuilder) {
        builder.number_origins(&mut self.origins);
        self.define_numbered(builder);
    }

    /// Gives a function a body over variables, each of which gets a register, or a field of the
    /// function's frame record when registers do not suffice. What is wrong with it,
    /// [`ModuleBuilder::finish`] says.
    pub fn define_body(&mut self, mut body: Body) {
        body.inner.number_origins(&mut self.origins);
        let allocated = allocate::allocate(body.into(), self.register_limit);
        let known = self.errors.len();
        let id = allocated.builder.id();
        for error in allocated.errors {
            keep(&mut self.errors, error);
        }
        self.name_errors(id, known);
        self.define_numbered(allocated.builder);
    }

    fn define_numbered(&mut self, builder: FunctionBuilder) {
        let known = self.errors.len();
        let id = builder.id();
        self.define_spanned(builder);
        self.name_errors(id, known);
    }

    /// Without a text to point at, the function's name must do.
    fn name_errors(&mut self, id: FunctionId, first: usize) {
        let Some(function) = self.program.functions.get(id.0 as usize) else {
            return;
        };
        for error in self.errors.iter_mut().skip(first) {
            error.message = format!("in `{}`: {}", function.name, error.message);
        }
    }

    /// As [`ModuleBuilder::define`], for functions whose errors have spans.
    pub(crate) fn define_spanned(&mut self, builder: FunctionBuilder) {
        let id = builder.id();
        let (function, errors) = builder.finish(&self.program);
        errors
            .into_iter()
            .for_each(|error| keep(&mut self.errors, error));
        let Some(is_defined) = self.is_defined.get_mut(id.0 as usize) else {
            let message = format!("no function has the index {}", id.0);
            self.errors.push(Diagnostic::new(function.span, message));
            return;
        };
        if std::mem::replace(is_defined, true) {
            self.errors
                .push(Diagnostic::new(function.span, "it is defined twice"));
        }
        let is_exported = self.program.functions[id.0 as usize].is_exported;
        self.program.functions[id.0 as usize] = Function {
            is_exported,
            ..function
        };
    }

    /// Runs the passes, emits the module and verifies it.
    ///
    /// # Errors
    /// What is wrong, with all that there is of the module: [`Rejection::dump`] prints it.
    pub fn finish(self) -> Result<Module, Rejection> {
        Ok(self.finish_verified()?.into_module())
    }

    /// As [`ModuleBuilder::finish`], with the proof that the module may run: what
    /// [`vm::Vm::new`](vm::Vm) wants.
    ///
    /// # Errors
    /// As for [`ModuleBuilder::finish`].
    pub fn finish_verified(mut self) -> Result<VerifiedModule, Rejection> {
        self.finish_spanned().map_err(|errors| Rejection {
            errors: errors
                .into_iter()
                .map(|error| self.located(error))
                .collect(),
            program: Box::new(std::mem::take(&mut self.program)),
        })
    }

    /// As [`ModuleBuilder::finish_verified`], with errors that say where in the text they are.
    fn finish_spanned(&mut self) -> Result<VerifiedModule, Vec<Diagnostic>> {
        self.finish_watched(&mut |_, _| {})
    }

    /// The same; `watch` sees what each pass has left.
    pub(crate) fn finish_watched(
        &mut self,
        watch: &mut dyn FnMut(&'static pass::PassInfo, &Program),
    ) -> Result<VerifiedModule, Vec<Diagnostic>> {
        if self.is_library && !self.has_entry {
            self.add_library_entry();
        }
        let functions = self.program.functions.iter_mut().zip(&self.is_defined);
        for (index, (function, is_defined)) in (0..).zip(functions) {
            if !is_defined {
                // A builder's function has no place in a text.
                if function.span == Span::default() {
                    error::number_function(&mut self.origins, index, function);
                }
                let message = format!("`{}` is declared and never defined", function.name);
                keep(&mut self.errors, Diagnostic::new(function.span, message));
            }
        }
        if !self.has_entry {
            let error = Diagnostic::new(Span::default(), "no function is named `main`");
            self.errors
                .push(error.with_help("`.entry NAME` chooses another one to start with"));
        }
        if !self.errors.is_empty() {
            return Err(std::mem::take(&mut self.errors));
        }
        pass::run_all(&mut self.program, &self.options, watch)?;
        emit::emit_verified(&self.program)
    }
}

/// What makes a constant the same as another one: its kind and its bits, so that `-0.0` stays
/// itself.
pub(crate) fn constant_bits(constant: &Constant) -> Vec<u8> {
    let raw = |ints: &[i64]| -> Vec<u8> { ints.iter().flat_map(|one| one.to_le_bytes()).collect() };
    let references = |refs: &[ConstRef]| -> Vec<u8> {
        let bits = |one: &ConstRef| match *one {
            ConstRef::Null => (0, 0),
            ConstRef::Immediate(number) => (1, number),
            ConstRef::Constant(index) => (2, index.into()),
        };
        let all = refs.iter().map(bits).flat_map(|(kind, bits)| [kind, bits]);
        raw(&all.collect::<Vec<i64>>())
    };
    let count = |length: usize| raw(&[length as i64]);
    let (kind, bits): (u8, Vec<u8>) = match constant {
        Constant::Text(bytes) => (0, bytes.clone()),
        Constant::Bytes(bytes) => (1, bytes.clone()),
        Constant::Ints(values) => (2, raw(values)),
        Constant::Floats(values) => (3, values.iter().flat_map(|one| one.to_le_bytes()).collect()),
        Constant::Refs(refs) => (4, references(refs)),
        Constant::Record { tag, refs, ints } => {
            let head = [count(*tag as usize), count(refs.len())].concat();
            (5, [head, references(refs), raw(ints)].concat())
        }
        Constant::Closure {
            function,
            refs,
            ints,
        } => {
            let head = [count(*function as usize), count(refs.len())].concat();
            (6, [head, references(refs), raw(ints)].concat())
        }
    };
    [vec![kind], bits].concat()
}
