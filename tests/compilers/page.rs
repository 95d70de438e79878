//! The Rust of `docs/compilers.md` is a part of these functions, so it compiles and does what the
//! page says.

use assembler::builder::{Arg, Body, BuildError, FunctionId, Kind, ModuleBuilder};
use assembler::{AssembleOptions, print_ops};
use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::module::{Captures, Module};
use vm::verify::verify;
use vm::{FAULT_TAG, Fault, Outcome, Vm, VmConfig};

use crate::support::{profile, root};

type Result<T> = std::result::Result<T, BuildError>;

fn signature(params: (u8, u8), results: (u8, u8)) -> Signature {
    Signature {
        int_params: params.0,
        ref_params: params.1,
        int_results: results.0,
        ref_results: results.1,
    }
}

fn library() -> ModuleBuilder {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_library();
    module
}

/// Adds a function that `define` fills.
fn function(
    module: &mut ModuleBuilder,
    (name, signature): (&str, Signature),
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<()>,
) -> Result<FunctionId> {
    let id = module.declare(name, signature);
    let mut body = module.body(id);
    define(module, &mut body)?;
    module.define_body(body);
    Ok(id)
}

/// What a function of a module gives, and how many bytes are allocated meanwhile.
fn call(module: &Module, name: &str, args: &[i64]) -> std::result::Result<(i64, u64), String> {
    let program = verify(module.clone()).expect("what the builder makes verifies");
    let profile = profile("alloc", module);
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let function = program.function_named(name).expect("the function is there");
    let mut vm = Vm::new(program, Hosts::standard(io), config).expect("a machine");
    match vm.call(function, args) {
        Ok(Outcome::Returned(values)) => {
            let bytes = profile.data().counts(profiler::Kind::Alloc).totals.total;
            Ok((values.first().copied().unwrap_or_default(), bytes))
        }
        Ok(Outcome::ExitCode(code)) => Err(format!("exit code {code}")),
        Err(error) => Err(vm.describe_error(&error)),
    }
}

fn power() -> Result<ModuleBuilder> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let file = module.file("power.lang");
    let binary = Signature {
        int_params: 2,
        int_results: 1,
        ..Signature::default()
    };
    let power = module.declare("power", binary);

    let mut b = module.body(power);
    b.declared_at(file, 1);
    let (x, n) = (b.param(Kind::Int, 0)?, b.param(Kind::Int, 1)?);
    let result = b.var(Kind::Int);
    b.def(result, 1)?;
    let (again, done) = (b.label(), b.label());
    b.bind(again);
    b.at_line(file, 2);
    b.jle(n, 0, done)?;
    let product = b.mul(result, x)?;
    b.def(result, product)?;
    let less = b.sub(n, 1)?;
    b.def(n, less)?;
    b.jmp(again)?;
    b.bind(done);
    b.ret([result])?;
    module.define_body(b);

    module.set_library();
    Ok(module)
}

fn fib() -> Result<ModuleBuilder> {
    let mut module = library();
    function(
        &mut module,
        ("fib", signature((1, 0), (1, 0))),
        |module, b| {
            let (own, n) = (module.callable(b.id())?, b.param(Kind::Int, 0)?);
            let small = b.label();
            b.jlt(n, 2, small)?;
            let less = b.sub(n, 1)?;
            let one = b.call_one(own, [less])?;
            let less = b.sub(n, 2)?;
            let two = b.call_one(own, [less])?;
            let sum = b.add(one, two)?;
            b.ret([sum])?;
            b.bind(small);
            b.ret([n])
        },
    )?;
    Ok(module)
}

fn sum_of_list(b: &mut Body) -> Result<()> {
    let (xs, total) = (b.param(Kind::Ref, 0)?, b.var(Kind::Int));
    b.def(total, 0)?;
    let (next, done) = (b.label(), b.label());
    b.bind(next);
    b.jnull(xs, done)?;
    let (head, tail) = (b.ld_i(xs, 0)?, b.ld_r(xs, 0)?);
    let sum = b.add(total, head)?;
    b.def(total, sum)?;
    b.def(xs, tail)?;
    b.jmp(next)?;
    b.bind(done);
    b.ret([total])?;
    Ok(())
}

fn count(module: &mut ModuleBuilder, unary: Signature) -> Result<FunctionId> {
    let captures = Captures { refs: 0, ints: 1 };
    let count = module.declare_closure("count", unary, captures);
    let mut b = module.body(count);
    let (own, n) = (b.closure()?, b.param(Kind::Int, 0)?);
    let step = b.cap_i(own, 0)?;
    let more = b.label();
    b.jgt(n, 0, more)?;
    b.ret([n])?;
    b.bind(more);
    let less = b.sub(n, step)?;
    b.tail_call_closure(own, unary, [less])?;
    module.define_body(b);
    Ok(count)
}

/// A local function that says 1 or 0: `at_zero` for 0, otherwise what the other one says.
fn parity(module: &mut ModuleBuilder, name: &str, at_zero: i64) -> Result<FunctionId> {
    let unary = signature((1, 0), (1, 0));
    let id = module.declare_closure(name, unary, Captures { refs: 1, ints: 0 });
    let mut b = module.body(id);
    let n = b.param(Kind::Int, 0)?;
    let more = b.label();
    b.jgt(n, 0, more)?;
    b.ret([at_zero])?;
    b.bind(more);
    let other = b.cap_r(b.closure()?, 0)?;
    let less = b.sub(n, 1)?;
    b.tail_call_closure(other, unary, [less])?;
    module.define_body(b);
    Ok(id)
}

fn mutual(b: &mut Body, is_even: FunctionId, is_odd: FunctionId) -> Result<()> {
    let even = b.new_closure(is_even, [Arg::Null], ())?;
    let odd = b.new_closure(is_odd, [even], ())?;
    b.st_cap_r(even, 0, odd)?;
    let n = b.param(Kind::Int, 0)?;
    let result = b.call_closure(even, signature((1, 0), (1, 0)), [n])?;
    b.ret(result)
}

fn divide(b: &mut Body) -> Result<()> {
    let n = b.param(Kind::Int, 0)?;
    let [start, end, caught, other] = [(); 4].map(|()| b.label());
    b.bind(start);
    let quotient = b.quot(100, n)?;
    b.ret([quotient])?;
    b.bind(end);
    let exception = b.handle(start, end, caught);
    b.bind(caught);
    b.jntag(exception, FAULT_TAG as i64, other)?;
    let code = b.ld_i(exception, 0)?;
    b.jne(code, Fault::DivideByZero as i64, other)?;
    b.ret([-1])?;
    b.bind(other);
    b.raise(exception)?;
    Ok(())
}

/// `add 3`, called with an argument.
fn curried() -> Result<ModuleBuilder> {
    let mut module = library();
    let (unary, curried) = (signature((1, 0), (1, 0)), signature((1, 0), (0, 1)));
    let captures = Captures { refs: 0, ints: 1 };
    let outer = module.declare("add", curried);
    module.set_unprofiled(outer);
    let inner = module.declare_closure("add.inner", unary, captures);
    let mut b = module.body(outer);
    let closure = b.new_closure(inner, (), [b.param(Kind::Int, 0)?])?;
    b.ret([closure])?;
    module.define_body(b);
    let mut b = module.body(inner);
    let captured = b.cap_i(b.closure()?, 0)?;
    let sum = b.add(captured, b.param(Kind::Int, 0)?)?;
    b.ret([sum])?;
    module.define_body(b);
    let outer = module.callable(outer)?;
    function(&mut module, ("f", unary), |_, b| {
        let add = b.call_one(outer, [3])?;
        let result = b.call_closure(add, unary, [b.param(Kind::Int, 0)?])?;
        b.ret(result)
    })?;
    Ok(module)
}

fn finished(module: Result<ModuleBuilder>) -> Module {
    let finished = module.map(ModuleBuilder::finish);
    finished
        .expect("the ops are right")
        .expect("the module is right")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/compilers.md")).expect("the page is there")
}

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<String> {
    let page = page();
    let parts = page.split("```").skip(1).step_by(2);
    let fence = format!("{language}\n");
    parts
        .filter_map(|part| Some(part.strip_prefix(&fence)?.to_owned()))
        .collect()
}

#[test]
fn all_rust_of_the_page_is_in_this_file() {
    let here: Vec<_> = include_str!("page.rs").lines().map(str::trim).collect();
    let shown = blocks("rust");
    assert!(shown.len() > 5, "the page has {} blocks", shown.len());
    for block in shown {
        let lines: Vec<_> = block.lines().map(str::trim).collect();
        assert!(
            here.windows(lines.len()).any(|window| window == lines),
            "this file has no such lines:\n{block}"
        );
    }
}

#[test]
fn the_page_shows_what_functions_become() {
    let shown = blocks("text");
    for module in [finished(power()), finished(fib())] {
        let ops = print_ops(&module, &module.functions[0]);
        assert!(shown.contains(&ops), "the page does not show\n{ops}");
    }
}

#[test]
fn the_pages_programs_give_what_they_should() {
    let unary = signature((1, 0), (1, 0));
    assert_eq!(call(&finished(power()), "power", &[3, 4]), Ok((81, 0)));
    assert_eq!(call(&finished(fib()), "fib", &[20]), Ok((6765, 0)));

    let mut module = library();
    let sum = function(&mut module, ("sum", signature((0, 1), (1, 0))), |_, b| {
        sum_of_list(b)
    });
    let sum = sum.and_then(|id| module.callable(id)).expect("it is right");
    let done = function(&mut module, ("f", unary), |_, b| {
        let n = b.param(Kind::Int, 0)?;
        let one = b.new(1, [Arg::Null], [n])?;
        let two = b.new(1, [one], [n])?;
        let total = b.call_one(sum, [two])?;
        b.ret([total])
    });
    assert_eq!(
        call(&finished(done.map(|_| module)), "f", &[21]),
        Ok((42, 48))
    );

    let mut module = library();
    let counting = count(&mut module, unary).expect("it is right");
    let done = function(&mut module, ("f", unary), |_, b| {
        let closure = b.new_closure(counting, (), [3])?;
        let result = b.call_closure(closure, unary, [b.param(Kind::Int, 0)?])?;
        b.ret(result)
    });
    assert_eq!(
        call(&finished(done.map(|_| module)), "f", &[100]),
        Ok((-2, 24))
    );

    let mut module = library();
    let is_even = parity(&mut module, "even", 1).expect("it is right");
    let is_odd = parity(&mut module, "odd", 0).expect("it is right");
    let done = function(&mut module, ("f", unary), |_, b| mutual(b, is_even, is_odd));
    let module = finished(done.map(|_| module));
    assert_eq!(call(&module, "f", &[1_000]), Ok((1, 48)));
    assert_eq!(call(&module, "f", &[7]), Ok((0, 48)));

    let mut module = library();
    let done = function(&mut module, ("f", unary), |_, b| divide(b));
    let module = finished(done.map(|_| module));
    assert_eq!(call(&module, "f", &[7]).map(|(value, _)| value), Ok(14));
    assert_eq!(call(&module, "f", &[0]).map(|(value, _)| value), Ok(-1));

    let module = finished(curried());
    assert_eq!(call(&module, "f", &[4]), Ok((7, 24)));
    let names = module.sources.names.iter().skip(3);
    let labels: Vec<_> = names.filter_map(|name| name.split('\t').next()).collect();
    assert_eq!(labels, ["add.inner", "f"]);
}

/// The bytes that the page's table gives for each representation.
#[test]
fn representations_take_as_many_bytes_as_the_page_says() {
    let unary = signature((1, 0), (1, 0));
    let bytes = |define: &dyn Fn(&mut ModuleBuilder, &mut Body) -> Result<()>| {
        let mut module = library();
        let captured = module.declare_closure("c", unary, Captures { refs: 1, ints: 2 });
        let mut body = module.body(captured);
        body.ret([0]).expect("it is right");
        module.define_body(body);
        let done = function(&mut module, ("f", unary), |module, b| {
            define(module, b)?;
            b.ret([0])
        });
        call(&finished(done.map(|_| module)), "f", &[5]).map(|(_, bytes)| bytes)
    };
    assert_eq!(bytes(&|_, b| b.to_imm(1).map(drop)), Ok(0));
    assert_eq!(bytes(&|_, b| b.new(0, (), [0.5]).map(drop)), Ok(16));
    assert_eq!(
        bytes(&|_, b| b.new(0, (), [0.5, 1.0, 2.0]).map(drop)),
        Ok(32)
    );
    assert_eq!(bytes(&|_, b| b.new(0, [Arg::Null], [1]).map(drop)), Ok(24));
    let closure = |_: &mut ModuleBuilder, b: &mut Body| {
        let own = FunctionId(0);
        b.new_closure(own, [Arg::Null], [1, 2]).map(drop)
    };
    assert_eq!(bytes(&closure), Ok(16 + 3 * 8));
    assert_eq!(bytes(&|_, b| b.new_i(10, 0).map(drop)), Ok(16 + 10 * 8));
    assert_eq!(bytes(&|_, b| b.new_b(10, 0).map(drop)), Ok(16 + 16));
    assert_eq!(
        bytes(&|_, b| b.str_of_int(1_000_000_000).map(drop)),
        Ok(16 + 16)
    );
}
