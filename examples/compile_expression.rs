//! A compiler for a small language, through the builder: functions, closures, `let`, `if`,
//! recursion, exceptions. It compiles a program, runs it, and counts the calls of each function.
//!
//! ```text
//! program ::= (fn name (param ...) expr) ... expr
//! expr    ::= number | name | (op expr expr), with op one of + - * / < =
//!           | (let name expr expr) | (if expr expr expr)
//!           | (fn name (param ...) expr)      a closure, which knows itself by its name
//!           | (expr expr ...)                 a call of a function of the program, or a closure
//!           | (raise expr) | (try expr name expr)
//! ```
//!
//! `cargo run --example compile_expression` runs it.

#[path = "compile_expression/reader.rs"]
mod reader;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, Callable, FileId, Kind, ModuleBuilder, Var};
use profiler::{Kind::Count, Profile, SourceId};
use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::module::Captures;
use vm::{Outcome, Vm, VmConfig};

use reader::{Node, mentions};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What `main` runs.
pub(crate) const PROGRAM: &str = "
(fn fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(fn compose (f g) (fn composed (x) (f (g x))))
(fn safe-div (x y) (try (if (= y 0) (raise x) (/ x y)) thrown (- 0 thrown)))
(let sum (fn sum (n) (if (= n 0) 0 (+ n (sum (- n 1)))))
  (let both (compose sum (fn fibonacci (n) (fib n)))
    (+ (both 10) (safe-div 7 0))))
";

fn main() -> Result<()> {
    let (result, calls) = run(PROGRAM)?;
    println!("{result}");
    for (name, count) in calls {
        println!("{count:6} calls of {}", name.replace('\t', ", "));
    }
    Ok(())
}

/// Compiles and runs a program: its result, and how often each function was called.
pub(crate) fn run(text: &str) -> Result<(i64, Vec<(String, u64)>)> {
    let module = compile(text)?.finish_verified()?;
    let sources = module.sources.clone();
    let profile = Arc::new(Profile::new(Count.into(), sources.sources.len()));
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let mut vm = Vm::new(module, Hosts::standard(HostIo::process(vec![])), config)?;
    let outcome = vm.run().map_err(|error| vm.describe_error(&error))?;
    let Outcome::Returned(values) = outcome else {
        return Err("the language has no way to exit".into());
    };
    let counts = (0..).zip(profile.data().counts(Count).sources);
    let named = |(id, count)| Some((sources.name_of(SourceId(id))?.to_owned(), count));
    let called = counts.filter_map(named).filter(|&(_, count)| count > 0);
    Ok((values[0], called.collect()))
}

/// The name, parameters and body of `(fn name (param ...) expr)`.
fn parts_of_fn(node: &Node) -> Result<(&str, Vec<&str>, &Node)> {
    match node.parts.as_slice() {
        [head, name, params, body] if head.word == "fn" => {
            let params = params.parts.iter().map(|param| param.word.as_str());
            Ok((&name.word, params.collect(), body))
        }
        _ => Err(format!("line {}: a function should stand here", node.line).into()),
    }
}

/// All values are references: immediates for numbers, and closures. So functions need no types,
/// and all of as many parameters have one signature.
fn signature(n_params: usize) -> Result<Signature> {
    let ref_params = u8::try_from(n_params)?;
    Ok(Signature {
        ref_params,
        ref_results: 1,
        ..Signature::default()
    })
}

fn compile(text: &str) -> Result<ModuleBuilder> {
    let mut nodes = reader::read(text)?;
    let last = nodes.pop().ok_or("the program is empty")?;
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let mut program = Program {
        file: module.file("program.exp"),
        module,
        functions: HashMap::new(),
        n_closures: 0,
    };
    // All are declared before any is defined, so that they can call each other.
    let mut bodies = Vec::new();
    for node in &nodes {
        let (name, params, _) = parts_of_fn(node)?;
        let id = program.module.declare(name, signature(params.len())?);
        let callable = program.module.callable(id)?;
        program.functions.insert(name.to_owned(), callable);
        bodies.push(program.module.body(id));
    }
    for (node, body) in nodes.iter().zip(bodies) {
        Function::new(&mut program, body).define(node)?;
    }
    let mut number = signature(0)?;
    (number.int_results, number.ref_results) = (1, 0);
    let id = program.module.declare("main", number);
    let body = program.module.body(id);
    let mut main = Function::new(&mut program, body);
    let value = main.number(&last)?;
    main.body.ret([value])?;
    main.program.module.define_body(main.body);
    Ok(program.module)
}

struct Program {
    module: ModuleBuilder,
    file: FileId,
    functions: HashMap<String, Callable>,
    n_closures: usize,
}

/// A function that is being compiled, with the names that are known, the innermost last.
struct Function<'a> {
    program: &'a mut Program,
    body: Body,
    names: Vec<(String, Var)>,
}

impl<'a> Function<'a> {
    fn new(program: &'a mut Program, body: Body) -> Self {
        Self {
            program,
            body,
            names: Vec::new(),
        }
    }

    fn define(mut self, node: &Node) -> Result<()> {
        self.body.declared_at(self.program.file, node.line);
        let (_, params, expr) = parts_of_fn(node)?;
        for (index, name) in (0..).zip(params) {
            let param = self.body.param(Kind::Ref, index)?;
            self.names.push((name.to_owned(), param));
        }
        let value = self.value(expr)?;
        // If this is what a call gave, the call becomes a tail call when the module is finished.
        self.body.ret([value])?;
        self.program.module.define_body(self.body);
        Ok(())
    }

    /// The value of an expression as a reference.
    fn value(&mut self, node: &Node) -> Result<Var> {
        match self.expr(node)? {
            Arg::Var(var) if var.kind() == Kind::Ref => Ok(var),
            number => Ok(self.body.to_imm(number)?),
        }
    }

    /// The value of an expression as a number. A closure raises a fault here.
    fn number(&mut self, node: &Node) -> Result<Arg> {
        match self.expr(node)? {
            Arg::Var(var) if var.kind() == Kind::Ref => Ok(self.body.of_imm(var)?.into()),
            number => Ok(number),
        }
    }

    /// The value of an expression as it comes: a number becomes a reference only where it must,
    /// so `(+ (* x x) 1)` makes none of the product, and constants become part of ops.
    fn expr(&mut self, node: &Node) -> Result<Arg> {
        let (line, parts) = (node.line, node.parts.as_slice());
        self.body.at_line(self.program.file, line);
        match (parts.first().map_or("", |first| &first.word), parts) {
            ("", []) => self.word(node),
            ("+", [_, lhs, rhs]) => self.binary("add_ovf", lhs, rhs),
            ("-", [_, lhs, rhs]) => self.binary("sub_ovf", lhs, rhs),
            ("*", [_, lhs, rhs]) => self.binary("mul_ovf", lhs, rhs),
            ("/", [_, lhs, rhs]) => self.binary("quot", lhs, rhs),
            ("<", [_, lhs, rhs]) => self.binary("lt", lhs, rhs),
            ("=", [_, lhs, rhs]) => self.binary("eq", lhs, rhs),
            ("let", [_, name, bound, rest]) => {
                let bound = self.value(bound)?;
                self.names.push((name.word.clone(), bound));
                let value = self.expr(rest)?;
                self.names.pop();
                Ok(value)
            }
            ("if", [_, condition, yes, no]) => self.choice(condition, yes, no),
            ("fn", _) => self.closure(node),
            ("try", [_, tried, name, rescue]) => self.attempt(tried, &name.word, rescue),
            ("raise", [_, exception]) => {
                let exception = self.value(exception)?;
                self.body.raise(exception)?;
                // Control never comes behind it, where something must be its value all the same.
                Ok(Arg::Int(0))
            }
            (_, [callee, args @ ..]) => self.call(callee, args),
            (_, []) => Err(format!("line {line}: this means nothing").into()),
        }
    }

    fn word(&mut self, Node { line, word, .. }: &Node) -> Result<Arg> {
        if let Some((_, var)) = self.names.iter().rev().find(|(name, _)| name == word) {
            return Ok(Arg::from(var));
        }
        let number = word.parse::<i64>();
        Ok(number
            .map_err(|_| format!("line {line}: nothing is called `{word}`"))?
            .into())
    }

    fn binary(&mut self, op: &str, lhs: &Node, rhs: &Node) -> Result<Arg> {
        let operands = [self.number(lhs)?, self.number(rhs)?];
        Ok(self.body.op_one(op, operands)?.into())
    }

    /// Both sides put their value into one variable: that is all that a join needs.
    fn choice(&mut self, condition: &Node, yes: &Node, no: &Node) -> Result<Arg> {
        let (otherwise, end) = (self.body.label(), self.body.label());
        let result = self.body.var(Kind::Ref);
        let condition = self.number(condition)?;
        self.body.jeq(condition, 0, otherwise)?;
        let value = self.value(yes)?;
        self.body.def(result, value)?;
        self.body.jmp(end)?;
        self.body.bind(otherwise);
        let value = self.value(no)?;
        self.body.def(result, value)?;
        self.body.bind(end);
        Ok(Arg::from(result))
    }

    /// A closure over the variables around it that it mentions. It finds itself in the variable
    /// that holds the closure that was called, so recursion needs no cell that is filled in later.
    fn closure(&mut self, node: &Node) -> Result<Arg> {
        let (name, params, _) = parts_of_fn(node)?;
        let mut captured = self.names.clone();
        captured.retain(|(name, _)| mentions(node, name));
        let (refs, ints) = (u8::try_from(captured.len())?, 0);
        // Profiles show the name; it must be the only one of its kind.
        self.program.n_closures += 1;
        let unique = format!("{name}#{}", self.program.n_closures);
        let (signature, captures) = (signature(params.len())?, Captures { refs, ints });
        let module = &mut self.program.module;
        let id = module.declare_closure(&unique, signature, captures);
        let body = module.body(id);
        let mut inner = Function::new(self.program, body);
        let own = inner.body.closure()?;
        for (field, (name, _)) in (0..).zip(&captured) {
            let value = inner.body.cap_r(own, field)?;
            inner.names.push((name.clone(), value));
        }
        inner.names.push((name.to_owned(), own));
        inner.define(node)?;
        let values: Vec<Var> = captured.iter().map(|&(_, var)| var).collect();
        Ok(self.body.new_closure(id, values, ())?.into())
    }

    fn call(&mut self, callee: &Node, args: &[Node]) -> Result<Arg> {
        let args: Result<Vec<Var>> = args.iter().map(|arg| self.value(arg)).collect();
        let args = args?;
        let is_hidden = self.names.iter().any(|(name, _)| *name == callee.word);
        let known = self.program.functions.get(&callee.word).copied();
        if let Some(function) = known.filter(|_| !is_hidden) {
            return Ok(self.body.call_one(function, args)?.into());
        }
        let (closure, signature) = (self.value(callee)?, signature(args.len())?);
        Ok(self.body.call_closure(closure, signature, args)?[0].into())
    }

    /// Ops between the labels raise to the handler. It finds all variables as they were when the
    /// op raised, and the exception in one of its own.
    fn attempt(&mut self, tried: &Node, name: &str, rescue: &Node) -> Result<Arg> {
        let [start, end, caught, after] = [(); 4].map(|()| self.body.label());
        let result = self.body.var(Kind::Ref);
        self.body.bind(start);
        let value = self.value(tried)?;
        self.body.def(result, value)?;
        self.body.bind(end);
        self.body.jmp(after)?;
        let exception = self.body.handle(start, end, caught);
        self.body.bind(caught);
        self.names.push((name.to_owned(), exception));
        let value = self.value(rescue)?;
        self.names.pop();
        self.body.def(result, value)?;
        self.body.bind(after);
        Ok(Arg::from(result))
    }
}
