//! The builder's variables, run: what does not fit into registers is spilled, and nobody can tell.

mod support;

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, BuildError, FunctionId, Kind, ModuleBuilder, Var};
use profiler::Kind as ProfileKind;
use support::Random;
use support::campaign;
use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::{GcStress, Outcome, Vm, VmConfig};

type Built<T> = Result<T, Box<dyn std::error::Error>>;

const UNARY: Signature = Signature {
    int_params: 1,
    ref_params: 0,
    int_results: 1,
    ref_results: 0,
};

/// What `f` gives for some arguments, and how often each source was entered.
fn results(module: ModuleBuilder, stress: GcStress) -> Built<Vec<u64>> {
    let module = module.finish_verified()?;
    let profile = support::profile("count", &module);
    let mut config = VmConfig {
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    config.heap.stress = stress;
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let function = module
        .function_named("f")
        .ok_or("no function is called `f`")?;
    let mut vm = Vm::new(module, Hosts::standard(io), config)?;
    let mut seen = Vec::new();
    for argument in [0, 1, 7, -3] {
        match vm.call(function, &[argument]) {
            Ok(Outcome::Returned(values)) => seen.extend(values.iter().map(|&value| value as u64)),
            Ok(Outcome::ExitCode(code)) => return Err(format!("it ended with {code}").into()),
            Err(error) => return Err(vm.describe_error(&error).into()),
        }
    }
    seen.extend(profile.data().counts(ProfileKind::Count).sources);
    Ok(seen)
}

/// A module of `f(i) -> i`, which `define` fills, and what it gives.
fn run(
    limit: usize,
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>,
) -> Built<Vec<u64>> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_register_limit(limit);
    module.set_library();
    let f = module.declare("f", UNARY);
    let mut body = module.body(f);
    define(&mut module, &mut body)?;
    module.define_body(body);
    results(module, GcStress::Off)
}

#[test]
fn three_hundred_variables_may_be_alive() -> Built<()> {
    for limit in [3, 256] {
        let seen = run(limit, |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let vars: Vec<Var> = (0..300)
                .map(|index| b.add(n, index))
                .collect::<Result<_, _>>()?;
            let sum = b.var(Kind::Int);
            b.def(sum, 0)?;
            for var in vars {
                let next = b.add(sum, var)?;
                b.def(sum, next)?;
            }
            b.ret([sum])
        })?;
        assert_eq!(seen[..2], [299 * 150, 299 * 150 + 300]);
    }
    Ok(())
}

#[test]
fn a_literal_of_250_elements_is_a_record() -> Built<()> {
    let seen = run(256, |module, b| {
        let n = b.param(Kind::Int, 0)?;
        let texts: Vec<Arg> = (0..250)
            .map(|index| module.text(index.to_string()))
            .collect();
        let ints: Vec<Var> = (0..250)
            .map(|index| b.mul(n, index))
            .collect::<Result<_, _>>()?;
        let record = b.new(1, texts, ints)?;
        let last = b.ld_i(record, 249)?;
        let text = b.ld_r(record, 249)?;
        let length = b.len(text)?;
        let sum = b.add(last, length)?;
        b.ret([sum])
    })?;
    assert_eq!(seen[..2], [3, 252]);
    Ok(())
}

#[test]
fn references_are_spilled_beyond_the_frame_record() -> Built<()> {
    let seen = run(256, |module, b| {
        let print = module.standard_host("print")?;
        let n = b.param(Kind::Int, 0)?;
        let lists: Vec<Var> = (0..1_000)
            .map(|index| b.new(1, Arg::List(Vec::new()), [Arg::from(index), n.into()]))
            .collect::<Result<_, _>>()?;
        let text = module.text("");
        b.call(print, [text])?;
        let sum = b.var(Kind::Int);
        b.def(sum, 0)?;
        for list in lists {
            let field = b.ld_i(list, 0)?;
            let next = b.add(sum, field)?;
            b.def(sum, next)?;
        }
        b.ret([sum])
    })?;
    assert_eq!(seen[0], 999 * 500);
    Ok(())
}

#[test]
fn three_hundred_lets_nest() -> Built<()> {
    let seen = run(256, |module, b| {
        let f = module.callable(b.id())?;
        let n = b.param(Kind::Int, 0)?;
        let small = b.label();
        b.jle(n, 0, small)?;
        let mut vars = vec![n];
        for _ in 0..300 {
            let inner = b.add(vars[vars.len() - 1], 1)?;
            vars.push(inner);
        }
        let zero = b.call_one(f, [0])?;
        let mut sum = zero;
        for var in vars.into_iter().rev() {
            sum = b.add(sum, var)?;
        }
        b.ret([sum])?;
        b.bind(small);
        b.ret([0])
    })?;
    assert_eq!(seen[1], (1..=301).sum::<u64>());
    Ok(())
}

#[test]
fn a_handler_finds_spilled_variables_as_they_were() -> Built<()> {
    for limit in [3, 256] {
        let seen = run(limit, |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let others: Vec<Var> = (0..20)
                .map(|index| b.add(n, index))
                .collect::<Result<_, _>>()?;
            let x = b.var(Kind::Int);
            b.def(x, 5)?;
            let (start, end, caught) = (b.label(), b.label(), b.label());
            b.bind(start);
            let quotient = b.quot(100, n)?;
            b.def(x, quotient)?;
            b.bind(end);
            b.ret([x])?;
            let exception = b.handle(start, end, caught);
            b.bind(caught);
            let tag = b.tag(exception)?;
            let mut sum = b.rem(tag, 1)?;
            for other in others {
                sum = b.add(sum, other)?;
            }
            sum = b.mul(sum, x)?;
            b.ret([sum])
        })?;
        assert_eq!(seen[..3], [190 * 5, 100, 14]);
    }
    Ok(())
}

/// Random programs: straight code, branches, loops that end, calls, records, faults that are
/// caught.
struct Smith<'a> {
    random: Random,
    module: &'a mut ModuleBuilder,
    body: Body,
    ints: Vec<Var>,
    floats: Vec<Var>,
    refs: Vec<Var>,
    callees: &'a [FunctionId],
    closures: &'a [FunctionId],
}

/// What random closures' functions take and give.
const CLOSURE: Signature = UNARY;

impl Smith<'_> {
    fn int(&mut self) -> Arg {
        match self.random.below(5) {
            0 => Arg::from(self.random.next() as i64 >> self.random.below(64)),
            _ => Arg::from(self.ints[self.random.below(self.ints.len())]),
        }
    }

    fn float(&mut self) -> Arg {
        match self.random.below(5) {
            0 => Arg::from(self.random.below(100) as f64 / 8.0),
            _ => Arg::from(self.floats[self.random.below(self.floats.len())]),
        }
    }

    /// A record of one reference and two numbers.
    fn reference(&mut self) -> Var {
        self.refs[self.random.below(self.refs.len())]
    }

    /// Puts a value into a variable that is there, or lets it be one.
    fn keep(&mut self, value: Var) -> Result<(), BuildError> {
        let list = match value.kind() {
            Kind::Int => &mut self.ints,
            Kind::Float => &mut self.floats,
            Kind::Ref => &mut self.refs,
        };
        let at = self.random.below(2 * list.len());
        match list.get(at).copied() {
            Some(var) if list.len() > 4 => self.body.def(var, value),
            _ => {
                // Later code must not depend on a definition that a branch may skip.
                list.push(value);
                Ok(())
            }
        }
    }

    fn simple(&mut self) -> Result<(), BuildError> {
        const INT_OPS: [&str; 12] = [
            "add", "sub", "mul", "and", "or", "xor", "shl", "sar", "eq", "lt", "le", "ult",
        ];
        const FLOAT_OPS: [&str; 3] = ["fadd", "fsub", "fmul"];
        let value = match self.random.below(9) {
            0..4 => {
                let (lhs, rhs) = (self.int(), self.int());
                self.body
                    .op_one(INT_OPS[self.random.below(12)], (lhs, rhs))?
            }
            4 => {
                let (lhs, rhs) = (self.float(), self.float());
                self.body
                    .op_one(FLOAT_OPS[self.random.below(3)], (lhs, rhs))?
            }
            5 => {
                let (inner, one, two) = (self.reference(), self.int(), self.float());
                self.body.new(2, [inner], Arg::List(vec![one, two]))?
            }
            6 => {
                let record = self.reference();
                match self.random.below(3) {
                    0 => self.body.ld_i(record, 0)?,
                    1 => self.body.ld_i(record, 1)?.as_float(),
                    _ => {
                        let value = self.int();
                        return self.body.st_i(record, 0, value);
                    }
                }
            }
            7 => self.call()?,
            _ => {
                let var = self.ints[self.random.below(self.ints.len())];
                self.body.get(var)?
            }
        };
        self.keep(value)
    }

    fn call(&mut self) -> Result<Var, BuildError> {
        let argument = self.int();
        if !self.closures.is_empty() && self.random.below(3) == 0 {
            let function = self.closures[self.random.below(self.closures.len())];
            let (captured, record) = (self.int(), self.reference());
            let closure = self.body.new_closure(function, [record], [captured])?;
            return Ok(self.body.call_closure(closure, CLOSURE, [argument])?[0]);
        }
        match self.callees.is_empty() {
            true => self.body.value(argument),
            false => {
                let callee = self.callees[self.random.below(self.callees.len())];
                let callee = self.module.callable(callee)?;
                self.body.call_one(callee, [argument])
            }
        }
    }

    /// Code whose fresh variables are forgotten afterwards.
    fn scoped(&mut self, depth: usize) -> Result<(), BuildError> {
        let lengths = (self.ints.len(), self.floats.len(), self.refs.len());
        self.code(depth)?;
        self.ints.truncate(lengths.0);
        self.floats.truncate(lengths.1);
        self.refs.truncate(lengths.2);
        Ok(())
    }

    fn code(&mut self, depth: usize) -> Result<(), BuildError> {
        for _ in 0..3 + self.random.below(5) {
            match self.random.below(if depth == 0 { 8 } else { 12 }) {
                8 | 9 => self.branch(depth - 1)?,
                10 => self.repeat(depth - 1)?,
                11 => self.attempt(depth - 1)?,
                _ => self.simple()?,
            }
        }
        Ok(())
    }

    fn branch(&mut self, depth: usize) -> Result<(), BuildError> {
        let (lhs, rhs) = (self.int(), self.int());
        let (other, end) = (self.body.label(), self.body.label());
        self.body.jlt(lhs, rhs, other)?;
        self.scoped(depth)?;
        self.body.jmp(end)?;
        self.body.bind(other);
        self.scoped(depth)?;
        self.body.bind(end);
        Ok(())
    }

    fn repeat(&mut self, depth: usize) -> Result<(), BuildError> {
        let count = self.body.var(Kind::Int);
        self.body.def(count, 1 + self.random.below(3) as i64)?;
        let again = self.body.label();
        self.body.bind(again);
        self.scoped(depth)?;
        let next = self.body.add(count, -1)?;
        self.body.def(count, next)?;
        self.body.jgt(count, 0, again)
    }

    /// A division that may fault, and a handler.
    fn attempt(&mut self, depth: usize) -> Result<(), BuildError> {
        let labels = [(); 4].map(|()| self.body.label());
        let [start, end, caught, after] = labels;
        self.body.bind(start);
        self.scoped(depth)?;
        let (lhs, rhs) = (self.int(), self.ints[self.random.below(self.ints.len())]);
        let quotient = self.body.quot(lhs, rhs)?;
        let var = self.ints[self.random.below(self.ints.len())];
        self.body.def(var, quotient)?;
        self.body.bind(end);
        self.body.jmp(after)?;
        let exception = self.body.handle(start, end, caught);
        self.body.bind(caught);
        let tag = self.body.tag(exception)?;
        self.body.def(var, tag)?;
        self.body.bind(after);
        Ok(())
    }

    /// The sum of all that is there.
    fn end(mut self) -> Result<Body, BuildError> {
        let mut sum = self.ints[0];
        for &var in &self.ints[1..] {
            let product = self.body.mul(sum, 31)?;
            sum = self.body.add(product, var)?;
        }
        for &var in &self.floats {
            sum = self.body.xor(sum, var.as_int())?;
        }
        for &record in &self.refs {
            let number = self.body.ld_i(record, 0)?;
            sum = self.body.add(sum, number)?;
        }
        match self.callees {
            [callee, ..] if self.random.below(2) == 0 => {
                let callee = self.module.callable(*callee)?;
                self.body.tail_call(callee, [sum])?;
            }
            _ => self.body.ret([sum])?,
        }
        Ok(self.body)
    }
}

fn define(
    module: &mut ModuleBuilder,
    id: FunctionId,
    (callees, closures): (&[FunctionId], &[FunctionId]),
    seed: u64,
) -> Result<(), BuildError> {
    let mut body = module.body(id);
    let parameter = body.param(Kind::Int, 0)?;
    let float = body.itof(parameter)?;
    let null = body.value(Arg::Null)?;
    let record = body.new(1, [null], [parameter, float])?;
    let (mut ints, mut refs) = (vec![parameter], vec![record]);
    if let Ok(closure) = body.closure() {
        ints.push(body.cap_i(closure, 0)?);
        refs.push(body.cap_r(closure, 0)?);
    }
    let mut smith = Smith {
        random: Random(seed),
        module,
        body,
        ints,
        floats: vec![float],
        refs,
        callees,
        closures,
    };
    smith.code(2)?;
    let body = smith.end()?;
    module.define_body(body);
    Ok(())
}

/// A program of closures' functions, functions that call them, and `f`.
fn program(seed: u64, limit: usize) -> Built<ModuleBuilder> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_register_limit(limit);
    module.set_library();
    let captures = vm::module::Captures { refs: 1, ints: 1 };
    let mut functions: Vec<FunctionId> = Vec::new();
    let mut closures: Vec<FunctionId> = Vec::new();
    for index in 0..4 {
        let name = if index == 3 {
            "f".into()
        } else {
            format!("g{index}")
        };
        let id = match index {
            1 => module.declare_closure(&name, CLOSURE, captures),
            _ => module.declare(&name, UNARY),
        };
        define(&mut module, id, (&functions, &closures), seed * 4 + index)?;
        match index {
            1 => closures.push(id),
            _ => functions.push(id),
        }
    }
    Ok(module)
}

#[test]
fn programs_give_the_same_with_any_number_of_registers() -> Built<()> {
    let first = campaign::first_seed(1);
    for seed in first..first + campaign::size(40, 300) {
        let at = |limit, stress| -> Built<Vec<u64>> {
            let outcome = results(program(seed, limit)?, stress);
            Ok(outcome.map_err(|error| format!("seed {seed}, limit {limit}: {error}"))?)
        };
        let expected = at(256, GcStress::Off)?;
        for limit in [4, 8] {
            assert_eq!(
                at(limit, GcStress::Off)?,
                expected,
                "seed {seed}, limit {limit}"
            );
        }
        if seed % 8 == 0 {
            assert_eq!(at(4, GcStress::On)?, expected, "seed {seed}, stressed");
        }
    }
    Ok(())
}
