//! Five programs of `benches/peers`, as a compiler would write them through the builder: a fresh
//! variable for each value, and no thought of registers. Tests and benchmarks compare them with the
//! texts, whose authors chose the names that share registers.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "tests and benchmarks use their own part"
)]

mod nbody;

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, BuildError, Callable, FunctionId, Kind, ModuleBuilder};
use vm::isa::Signature;
use vm::module::{Captures, Module};

/// A program twice: in assembly, and through the builder.
pub struct Program {
    /// The name of both.
    pub name: &'static str,
    text: &'static str,
    /// What stands in the text before its size, and the size.
    size_in_text: (&'static str, &'static str),
    build: fn(&mut ModuleBuilder, i64) -> Result<(), BuildError>,
    /// A size that runs for some milliseconds in an optimised build.
    pub bench_size: i64,
    /// A size for which debug builds are fast enough.
    pub test_size: i64,
}

/// All programs.
pub const PROGRAMS: [Program; 5] = [
    Program {
        name: "fib",
        text: include_str!("../../../benches/peers/fib.asm"),
        size_in_text: ("fib(", "35"),
        build: fib,
        bench_size: 27,
        test_size: 12,
    },
    Program {
        name: "tak",
        text: include_str!("../../../benches/peers/tak.asm"),
        size_in_text: ("left = ", "20"),
        build: tak,
        bench_size: 1,
        test_size: 1,
    },
    Program {
        name: "sieve",
        text: include_str!("../../../benches/peers/sieve.asm"),
        size_in_text: ("sieve(", "2_000_000"),
        build: sieve,
        bench_size: 200_000,
        test_size: 2_000,
    },
    Program {
        name: "hof",
        text: include_str!("../../../benches/peers/hof.asm"),
        size_in_text: ("jle n, ", "15000"),
        build: hof,
        bench_size: 250,
        test_size: 3,
    },
    Program {
        name: "nbody",
        text: include_str!("../../../benches/peers/nbody.asm"),
        size_in_text: ("steps = ", "500_000"),
        build: nbody::nbody,
        bench_size: 10_000,
        test_size: 20,
    },
];

impl Program {
    /// The assembly for this size.
    ///
    /// # Panics
    /// When the text does not say its size where it should.
    pub fn by_hand(&self, size: i64) -> String {
        let (before, known) = self.size_in_text;
        let plain = format!("{before}{known}");
        assert!(self.text.contains(&plain), "{} has no `{plain}`", self.name);
        self.text.replace(&plain, &format!("{before}{size}"))
    }

    /// The module for this size that the builder makes.
    ///
    /// # Errors
    /// When the builder refuses it.
    pub fn built(&self, size: i64) -> Result<Module, Box<dyn std::error::Error>> {
        let mut module = ModuleBuilder::new(&AssembleOptions::default());
        (self.build)(&mut module, size)?;
        Ok(module.finish()?)
    }
}

fn signature(params: (u8, u8), results: (u8, u8)) -> Signature {
    Signature {
        int_params: params.0,
        ref_params: params.1,
        int_results: results.0,
        ref_results: results.1,
    }
}

fn function(
    module: &mut ModuleBuilder,
    name: &str,
    params: (u8, u8),
    results: (u8, u8),
) -> Result<(FunctionId, Callable), BuildError> {
    let id = module.declare(name, signature(params, results));
    Ok((id, module.callable(id)?))
}

/// Prints a number and a newline, and returns.
fn print_and_return(
    module: &mut ModuleBuilder,
    mut b: Body,
    number: impl Into<Arg>,
) -> Result<(), BuildError> {
    let print_int = module.standard_host("print_int")?;
    let print = module.standard_host("print")?;
    b.call(print_int, [number.into()])?;
    let newline = module.text("\n");
    b.call(print, [newline])?;
    b.ret(())?;
    module.define_body(b);
    Ok(())
}

/// Defines `main` as the sum of what `count` rounds give, counted down to 0.
fn sum_of_rounds(
    module: &mut ModuleBuilder,
    count: i64,
    callee: Callable,
    args: &[i64],
) -> Result<(), BuildError> {
    let (main, _) = function(module, "main", (0, 0), (0, 0))?;
    let mut b = module.body(main);
    let (sum, left) = (b.var(Kind::Int), b.var(Kind::Int));
    b.def(sum, 0)?;
    b.def(left, count)?;
    let next = b.label();
    b.bind(next);
    let n = b.call_one(callee, args)?;
    let more = b.add(sum, n)?;
    b.def(sum, more)?;
    let fewer = b.sub(left, 1)?;
    b.def(left, fewer)?;
    b.jgt(left, 0, next)?;
    print_and_return(module, b, sum)
}

fn fib(module: &mut ModuleBuilder, size: i64) -> Result<(), BuildError> {
    let (id, fib) = function(module, "fib", (1, 0), (1, 0))?;
    let mut b = module.body(id);
    let n = b.param(Kind::Int, 0)?;
    let recursive = b.label();
    b.jge(n, 2, recursive)?;
    b.ret([n])?;
    b.bind(recursive);
    let less = b.sub(n, 1)?;
    let one = b.call_one(fib, [less])?;
    let less = b.sub(n, 2)?;
    let two = b.call_one(fib, [less])?;
    let sum = b.add(one, two)?;
    b.ret([sum])?;
    module.define_body(b);

    let (main, _) = function(module, "main", (0, 0), (0, 0))?;
    let mut b = module.body(main);
    let n = b.call_one(fib, [size])?;
    print_and_return(module, b, n)
}

fn tak(module: &mut ModuleBuilder, size: i64) -> Result<(), BuildError> {
    let (id, tak) = function(module, "tak", (3, 0), (1, 0))?;
    let mut b = module.body(id);
    let [x, y, z] = [0, 1, 2].map(|index| b.param(Kind::Int, index));
    let (x, y, z) = (x?, y?, z?);
    let smaller = b.label();
    b.jlt(y, x, smaller)?;
    b.ret([z])?;
    b.bind(smaller);
    let mut results = Vec::new();
    for [first, second, third] in [[x, y, z], [y, z, x], [z, x, y]] {
        let less = b.sub(first, 1)?;
        results.push(b.call_one(tak, [less, second, third])?);
    }
    b.tail_call(tak, results)?;
    module.define_body(b);
    sum_of_rounds(module, size, tak, &[24, 16, 8])
}

fn sieve(module: &mut ModuleBuilder, size: i64) -> Result<(), BuildError> {
    let (id, sieve) = function(module, "sieve", (1, 0), (1, 0))?;
    let mut b = module.body(id);
    let limit = b.param(Kind::Int, 0)?;
    let one = b.value(1)?;
    let is_composite = b.new_b(limit, 0)?;
    let (count, n, multiple) = (b.var(Kind::Int), b.var(Kind::Int), b.var(Kind::Int));
    b.def(count, 0)?;
    b.def(n, 2)?;
    let [next, cross_out, skip] = [(); 3].map(|()| b.label());
    b.bind(next);
    let composite = b.get_b(is_composite, n)?;
    b.jne(composite, 0, skip)?;
    let more = b.add(count, 1)?;
    b.def(count, more)?;
    let double = b.add(n, n)?;
    b.def(multiple, double)?;
    b.jge(multiple, limit, skip)?;
    b.bind(cross_out);
    b.set_b(is_composite, multiple, one)?;
    let further = b.add(multiple, n)?;
    b.def(multiple, further)?;
    b.jlt(multiple, limit, cross_out)?;
    b.bind(skip);
    let following = b.add(n, 1)?;
    b.def(n, following)?;
    b.jlt(n, limit, next)?;
    b.ret([count])?;
    module.define_body(b);
    sum_of_rounds(module, 5, sieve, &[size])
}

fn hof(module: &mut ModuleBuilder, size: i64) -> Result<(), BuildError> {
    let (map_id, map) = function(module, "map", (0, 2), (0, 1))?;
    let mut b = module.body(map_id);
    let (f, xs) = (b.param(Kind::Ref, 0)?, b.param(Kind::Ref, 1)?);
    let empty = b.label();
    b.jnull(xs, empty)?;
    let x = b.ld_i(xs, 0)?;
    let y = b.call_closure(f, signature((1, 0), (1, 0)), [x])?[0];
    let tail = b.ld_r(xs, 0)?;
    let tail = b.call_one(map, [f, tail])?;
    let ys = b.new(1, [tail], [y])?;
    b.ret([ys])?;
    b.bind(empty);
    b.ret([Arg::Null])?;
    module.define_body(b);

    let (fold_id, fold) = function(module, "fold", (1, 2), (1, 0))?;
    let mut b = module.body(fold_id);
    let f = b.param(Kind::Ref, 0)?;
    let (total, xs) = (b.param(Kind::Int, 0)?, b.param(Kind::Ref, 1)?);
    let (next, done) = (b.label(), b.label());
    b.jnull(xs, done)?;
    b.bind(next);
    let x = b.ld_i(xs, 0)?;
    let sum = b.call_closure(f, signature((2, 0), (1, 0)), [total, x])?[0];
    b.def(total, sum)?;
    let tail = b.ld_r(xs, 0)?;
    b.def(xs, tail)?;
    b.jnonnull(xs, next)?;
    b.bind(done);
    b.ret([total])?;
    module.define_body(b);

    let captures = Captures { refs: 0, ints: 0 };
    let plus = module.declare_closure("plus", signature((2, 0), (1, 0)), captures);
    let mut b = module.body(plus);
    let sum = b.add(b.param(Kind::Int, 0)?, b.param(Kind::Int, 1)?)?;
    b.ret([sum])?;
    module.define_body(b);

    let captures = Captures { refs: 0, ints: 1 };
    let add = module.declare_closure("add", signature((1, 0), (1, 0)), captures);
    let mut b = module.body(add);
    let n = b.cap_i(b.closure()?, 0)?;
    let sum = b.add(b.param(Kind::Int, 0)?, n)?;
    b.ret([sum])?;
    module.define_body(b);
    hof_main(module, size, (map, fold), (plus, add))
}

fn hof_main(
    module: &mut ModuleBuilder,
    size: i64,
    (map, fold): (Callable, Callable),
    (plus, add): (FunctionId, FunctionId),
) -> Result<(), BuildError> {
    let (main, _) = function(module, "main", (0, 0), (0, 0))?;
    let mut b = module.body(main);
    let (xs, n, sum) = (b.var(Kind::Ref), b.var(Kind::Int), b.var(Kind::Int));
    b.def(xs, Arg::Null)?;
    b.def(n, 1000)?;
    let (cell, next) = (b.label(), b.label());
    b.bind(cell);
    let list = b.new(1, [xs], [n])?;
    b.def(xs, list)?;
    let fewer = b.sub(n, 1)?;
    b.def(n, fewer)?;
    b.jgt(n, 0, cell)?;
    let plus = b.new_closure(plus, (), ())?;
    b.def(sum, 0)?;
    b.def(n, 1)?;
    b.bind(next);
    let f = b.new_closure(add, (), [n])?;
    let ys = b.call_one(map, [f, xs])?;
    let total = b.call_one(fold, (plus, 0, ys))?;
    let more = b.add(sum, total)?;
    b.def(sum, more)?;
    let following = b.add(n, 1)?;
    b.def(n, following)?;
    b.jle(n, size, next)?;
    print_and_return(module, b, sum)
}
