//! The five bodies: doubles in records, and loops with a dozen variables alive.

use assembler::builder::{Arg, Body};
use assembler::builder::{BuildError, Callable, Kind, ModuleBuilder, Var};
use vm::module::Constant;

use super::{function, print_and_return};

/// The rows of the bodies in the text.
fn rows() -> Vec<f64> {
    let text = include_str!("../../../benches/peers/nbody.asm");
    let (_, list) = text.split_once("f64 [").expect("the rows begin");
    let (list, _) = list.split_once(']').expect("the rows end");
    let numbers = list.split(',').map(|number| number.trim().parse());
    numbers.collect::<Result<_, _>>().expect("doubles")
}

pub(super) fn nbody(module: &mut ModuleBuilder, size: i64) -> Result<(), BuildError> {
    let read_bodies = read_bodies(module)?;
    let offset_momentum = offset_momentum(module)?;
    let energy = energy(module)?;
    let advance = advance(module)?;
    let (main, _) = function(module, "main", (0, 0), (0, 0))?;
    let mut b = module.body(main);
    let all = b.call_one(read_bodies, ())?;
    b.call(offset_momentum, [all])?;
    let steps = b.var(Kind::Int);
    b.def(steps, size)?;
    let next = b.label();
    b.bind(next);
    b.call(advance, (all, 0.01))?;
    let fewer = b.sub(steps, 1)?;
    b.def(steps, fewer)?;
    b.jgt(steps, 0, next)?;
    let value = b.call_one(energy, [all])?.as_float();
    let value = b.fmul(value, 1e9)?;
    let digits = b.ftoi(value)?;
    print_and_return(module, b, digits)
}

/// `var = var + by`.
fn step(b: &mut Body, var: Var, by: i64) -> Result<(), BuildError> {
    let sum = b.add(var, by)?;
    b.def(var, sum)
}

/// A field that holds a double.
fn field(b: &mut Body, record: Var, index: i64) -> Result<Var, BuildError> {
    Ok(b.ld_i(record, index)?.as_float())
}

fn fields(b: &mut Body, record: Var, first: i64) -> Result<[Var; 3], BuildError> {
    Ok([
        field(b, record, first)?,
        field(b, record, first + 1)?,
        field(b, record, first + 2)?,
    ])
}

fn store(b: &mut Body, record: Var, first: i64, values: [Var; 3]) -> Result<(), BuildError> {
    (first..)
        .zip(values)
        .try_for_each(|(index, value)| b.st_i(record, index, value))
}

/// A variable that starts with this value.
fn starting(b: &mut Body, kind: Kind, value: impl Into<Arg>) -> Result<Var, BuildError> {
    let var = b.var(kind);
    b.def(var, value)?;
    Ok(var)
}

/// The sum of the squares.
fn square(b: &mut Body, [x, y, z]: [Var; 3]) -> Result<Var, BuildError> {
    let (xx, yy) = (b.fmul(x, x)?, b.fmul(y, y)?);
    let sum = b.fadd(xx, yy)?;
    let zz = b.fmul(z, z)?;
    b.fadd(sum, zz)
}

/// From another body to this one.
fn distances(b: &mut Body, place: [Var; 3], other: Var) -> Result<[Var; 3], BuildError> {
    let mut apart = place;
    for (index, (from, apart)) in (0..).zip(place.into_iter().zip(&mut apart)) {
        let to = field(b, other, index)?;
        *apart = b.fsub(from, to)?;
    }
    Ok(apart)
}

fn read_bodies(module: &mut ModuleBuilder) -> Result<Callable, BuildError> {
    let (id, callable) = function(module, "read_bodies", (0, 0), (0, 1))?;
    let rows = Arg::Constant(module.constant(Constant::Floats(rows())));
    let mut b = module.body(id);
    let rows = b.data(rows)?;
    let values = b.len(rows)?;
    let count = b.quot(values, 7)?;
    let all = b.new_r(count, Arg::Null)?;
    let at = starting(&mut b, Kind::Int, 0)?;
    let n = starting(&mut b, Kind::Int, 0)?;
    let next = b.label();
    b.bind(next);
    let mut numbers = Vec::new();
    for _ in 0..7 {
        numbers.push(b.get_f(rows, at)?);
        step(&mut b, at, 1)?;
    }
    let body = b.new(1, (), numbers)?;
    b.set_r(all, n, body)?;
    step(&mut b, n, 1)?;
    b.jlt(n, count, next)?;
    b.ret([all])?;
    module.define_body(b);
    Ok(callable)
}

fn offset_momentum(module: &mut ModuleBuilder) -> Result<Callable, BuildError> {
    let (id, callable) = function(module, "offset_momentum", (0, 1), (0, 0))?;
    let mut b = module.body(id);
    let all = b.param(Kind::Ref, 0)?;
    let momentum = [(); 3].map(|()| b.var(Kind::Float));
    for var in momentum {
        b.def(var, 0.0)?;
    }
    let count = b.len(all)?;
    let n = starting(&mut b, Kind::Int, 0)?;
    let next = b.label();
    b.bind(next);
    let body = b.get_r(all, n)?;
    let mass = field(&mut b, body, 6)?;
    for (index, total) in (3..).zip(momentum) {
        let speed = field(&mut b, body, index)?;
        let product = b.fmul(speed, mass)?;
        let less = b.fsub(total, product)?;
        b.def(total, less)?;
    }
    step(&mut b, n, 1)?;
    b.jlt(n, count, next)?;
    let sun = b.get_r(all, 0)?;
    let mass = field(&mut b, sun, 6)?;
    let mut speeds = momentum;
    for speed in &mut speeds {
        *speed = b.fdiv(*speed, mass)?;
    }
    store(&mut b, sun, 3, speeds)?;
    b.ret(())?;
    module.define_body(b);
    Ok(callable)
}

fn energy(module: &mut ModuleBuilder) -> Result<Callable, BuildError> {
    let (id, callable) = function(module, "energy", (0, 1), (1, 0))?;
    let mut b = module.body(id);
    let all = b.param(Kind::Ref, 0)?;
    let half = b.value(0.5)?;
    let total = starting(&mut b, Kind::Float, 0.0)?;
    let count = b.len(all)?;
    let n = starting(&mut b, Kind::Int, 0)?;
    let [next, other, last] = [(); 3].map(|()| b.label());
    b.bind(next);
    let body = b.get_r(all, n)?;
    let place = fields(&mut b, body, 0)?;
    let speed = fields(&mut b, body, 3)?;
    let mass = field(&mut b, body, 6)?;
    let squared = square(&mut b, speed)?;
    let part = b.fmul(half, mass)?;
    let part = b.fmul(part, squared)?;
    let more = b.fadd(total, part)?;
    b.def(total, more)?;
    step(&mut b, n, 1)?;
    let other_n = starting(&mut b, Kind::Int, n)?;
    b.jge(other_n, count, last)?;
    b.bind(other);
    let body = b.get_r(all, other_n)?;
    let apart = distances(&mut b, place, body)?;
    let squared = square(&mut b, apart)?;
    let distance = b.fsqrt(squared)?;
    let part = field(&mut b, body, 6)?;
    let part = b.fmul(mass, part)?;
    let part = b.fdiv(part, distance)?;
    let less = b.fsub(total, part)?;
    b.def(total, less)?;
    step(&mut b, other_n, 1)?;
    b.jlt(other_n, count, other)?;
    b.bind(last);
    b.jlt(n, count, next)?;
    b.ret([total])?;
    module.define_body(b);
    Ok(callable)
}

fn advance(module: &mut ModuleBuilder) -> Result<Callable, BuildError> {
    let (id, callable) = function(module, "advance", (1, 1), (0, 0))?;
    let mut b = module.body(id);
    let all = b.param(Kind::Ref, 0)?;
    let dt = b.param(Kind::Float, 0)?;
    let count = b.len(all)?;
    let n = starting(&mut b, Kind::Int, 0)?;
    let [next, attract, move_on] = [(); 3].map(|()| b.label());
    b.bind(next);
    let body = b.get_r(all, n)?;
    let place = fields(&mut b, body, 0)?;
    let mut speed = [(); 3].map(|()| b.var(Kind::Float));
    for (index, var) in (3..).zip(&mut speed) {
        let value = field(&mut b, body, index)?;
        b.def(*var, value)?;
    }
    let mass = field(&mut b, body, 6)?;
    step(&mut b, n, 1)?;
    let m = starting(&mut b, Kind::Int, n)?;
    b.jge(m, count, move_on)?;
    b.bind(attract);
    attract_pair(&mut b, (all, m), (place, speed, mass), dt)?;
    step(&mut b, m, 1)?;
    b.jlt(m, count, attract)?;
    b.bind(move_on);
    store(&mut b, body, 3, speed)?;
    for (index, (from, speed)) in (0..).zip(place.into_iter().zip(speed)) {
        let part = b.fmul(dt, speed)?;
        let to = b.fadd(from, part)?;
        b.st_i(body, index, to)?;
    }
    b.jlt(n, count, next)?;
    b.ret(())?;
    module.define_body(b);
    Ok(callable)
}

/// A body is pulled to another one, and that one to it.
fn attract_pair(
    b: &mut Body,
    (all, m): (Var, Var),
    (place, speed, mass): ([Var; 3], [Var; 3], Var),
    dt: Var,
) -> Result<(), BuildError> {
    let other = b.get_r(all, m)?;
    let apart = distances(b, place, other)?;
    let squared = square(b, apart)?;
    let distance = b.fsqrt(squared)?;
    let cubed = b.fmul(squared, distance)?;
    let pull = b.fdiv(dt, cubed)?;
    let other_mass = field(b, other, 6)?;
    let other_pull = b.fmul(other_mass, pull)?;
    for (speed, apart) in speed.into_iter().zip(apart) {
        let part = b.fmul(apart, other_pull)?;
        let less = b.fsub(speed, part)?;
        b.def(speed, less)?;
    }
    let pull = b.fmul(mass, pull)?;
    for (index, apart) in (3..).zip(apart) {
        let speed = field(b, other, index)?;
        let part = b.fmul(apart, pull)?;
        let more = b.fadd(speed, part)?;
        b.st_i(other, index, more)?;
    }
    Ok(())
}
