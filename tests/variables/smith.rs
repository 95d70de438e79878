//! Random programs give the same over few and many registers: straight code, branches, jump
//! tables, loops that end, many variables that are alive together, records, doubles, calls with
//! windows of any width, closures, tail calls of both kinds, exceptions that are caught here or by
//! a caller, and such that nobody catches.

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, BuildError, FunctionId, Kind, ModuleBuilder, Var};
use vm::GcStress;
use vm::isa::Signature;
use vm::module::Captures;

use crate::support::{Random, campaign};
use crate::{Built, UNARY, results};

/// What a wide function takes and gives: a call of one has windows of ten registers.
const WIDE: Signature = Signature {
    int_params: 6,
    ref_params: 4,
    int_results: 2,
    ref_results: 1,
};

/// The functions that a random one may call.
#[derive(Default)]
struct Callees {
    unary: Vec<FunctionId>,
    closures: Vec<FunctionId>,
    wide: Vec<FunctionId>,
}

struct Smith<'a> {
    random: Random,
    module: &'a mut ModuleBuilder,
    body: Body,
    ints: Vec<Var>,
    floats: Vec<Var>,
    refs: Vec<Var>,
    callees: &'a Callees,
    is_wide: bool,
    /// How many handlers cover the code that is being made: there no tail call may stand.
    n_handlers: usize,
}

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
        let value = match self.random.below(10) {
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
            8 => self.wide_call()?,
            _ => {
                let var = self.ints[self.random.below(self.ints.len())];
                self.body.get(var)?
            }
        };
        self.keep(value)
    }

    /// One of these functions; `None` when there are none.
    fn one_of(&mut self, functions: &[FunctionId]) -> Option<FunctionId> {
        (!functions.is_empty()).then(|| functions[self.random.below(functions.len())])
    }

    fn closure(&mut self, function: FunctionId) -> Result<Var, BuildError> {
        let (captured, record) = (self.int(), self.reference());
        self.body.new_closure(function, [record], [captured])
    }

    fn call(&mut self) -> Result<Var, BuildError> {
        let argument = self.int();
        let callees = self.callees;
        if self.random.below(3) == 0
            && let Some(function) = self.one_of(&callees.closures)
        {
            let closure = self.closure(function)?;
            return Ok(self.body.call_closure(closure, UNARY, [argument])?[0]);
        }
        match self.one_of(&callees.unary) {
            None => self.body.value(argument),
            Some(callee) => {
                let callee = self.module.callable(callee)?;
                self.body.call_one(callee, [argument])
            }
        }
    }

    /// A call that passes and gives several values of each class, in any order.
    fn wide_call(&mut self) -> Result<Var, BuildError> {
        let callees = self.callees;
        let Some(callee) = self.one_of(&callees.wide) else {
            return self.call();
        };
        let mut args: Vec<Arg> = Vec::new();
        let mut left = [WIDE.int_params, WIDE.ref_params];
        while left != [0, 0] {
            let class = self.random.below(2);
            if left[class] == 0 {
                continue;
            }
            left[class] -= 1;
            args.push(match class {
                0 if left[0] == 0 => self.float(),
                0 => self.int(),
                _ => Arg::from(self.reference()),
            });
        }
        let callee = self.module.callable(callee)?;
        let results = self.body.call(callee, args)?;
        self.keep(results[2])?;
        let sum = self.body.sub(results[0], results[1])?;
        Ok(sum)
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
            match self.random.below(if depth == 0 { 9 } else { 17 }) {
                9 | 10 => self.branch(depth - 1)?,
                11 => self.repeat(depth - 1)?,
                12 | 13 => self.attempt(depth - 1)?,
                14 => self.choose(depth - 1)?,
                15 => self.hoard(depth - 1)?,
                16 => self.leave_early()?,
                _ => self.simple()?,
            }
        }
        Ok(())
    }

    /// A jump table, the end of which is a case, too.
    fn choose(&mut self, depth: usize) -> Result<(), BuildError> {
        let value = self.int();
        let index = self.body.and(value, 3)?;
        let cases = [(); 3].map(|()| self.body.label());
        let end = self.body.label();
        self.body.switch(index, cases.to_vec())?;
        self.scoped(0)?;
        self.body.jmp(end)?;
        for case in cases {
            self.body.bind(case);
            self.scoped(depth)?;
            self.body.jmp(end)?;
        }
        self.body.bind(end);
        Ok(())
    }

    /// Many variables that are alive across other code.
    fn hoard(&mut self, depth: usize) -> Result<(), BuildError> {
        let count = match self.random.below(8) {
            0 => 300,
            _ => 4 + self.random.below(30),
        };
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(match self.random.below(3) {
                0 => {
                    let (one, two) = (self.int(), self.int());
                    self.body.xor(one, two)?
                }
                1 => {
                    let (one, two) = (self.float(), self.float());
                    self.body.fadd(one, two)?
                }
                _ => {
                    let (inner, one, two) = (self.reference(), self.int(), self.float());
                    self.body.new(2, [inner], Arg::List(vec![one, two]))?
                }
            });
        }
        self.scoped(depth)?;
        let sum = self.ints[self.random.below(self.ints.len())];
        for var in held {
            let number = match var.kind() {
                Kind::Ref => self.body.ld_i(var, 0)?,
                _ => var.as_int(),
            };
            let product = self.body.mul(sum, 33)?;
            let total = self.body.add(product, number)?;
            self.body.def(sum, total)?;
        }
        Ok(())
    }

    /// Leaves the function on a condition: by a return, a raise or a tail call.
    fn leave_early(&mut self) -> Result<(), BuildError> {
        let stay = self.body.label();
        let value = self.int();
        let low = self.body.and(value, 7)?;
        self.body.jne(low, self.random.below(8) as i64, stay)?;
        match self.random.below(4) {
            0 => {
                let (inner, one, two) = (self.reference(), self.int(), self.float());
                let exception = self.body.new(3, [inner], Arg::List(vec![one, two]))?;
                self.body.raise(exception)?;
            }
            _ => {
                let value = self.ints[self.random.below(self.ints.len())];
                self.give_back(value)?;
            }
        }
        self.body.bind(stay);
        Ok(())
    }

    /// Ends the function with a value, or with what a callee makes of it.
    fn give_back(&mut self, value: Var) -> Result<(), BuildError> {
        let (callees, may_call) = (self.callees, self.n_handlers == 0);
        if self.is_wide {
            let record = self.reference();
            let (one, two) = (self.int(), self.int());
            return match self.one_of(&callees.wide) {
                Some(callee) if may_call && self.random.below(3) == 0 => {
                    let callee = self.module.callable(callee)?;
                    let args: Vec<Arg> = vec![
                        one,
                        value.into(),
                        record.into(),
                        two,
                        record.into(),
                        self.float(),
                        self.reference().into(),
                        self.int(),
                        record.into(),
                        self.float(),
                    ];
                    self.body.tail_call(callee, args)
                }
                _ => self.body.ret((record, value, one)),
            };
        }
        match self.random.below(3) {
            0 if may_call && let Some(callee) = self.one_of(&callees.unary) => {
                let callee = self.module.callable(callee)?;
                self.body.tail_call(callee, [value])
            }
            1 if may_call && let Some(function) = self.one_of(&callees.closures) => {
                let closure = self.closure(function)?;
                self.body.tail_call_closure(closure, UNARY, [value])
            }
            _ => self.body.ret([value]),
        }
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

    /// Code that may raise, a division that may fault, and a handler.
    fn attempt(&mut self, depth: usize) -> Result<(), BuildError> {
        let labels = [(); 4].map(|()| self.body.label());
        let [start, end, caught, after] = labels;
        self.body.bind(start);
        self.n_handlers += 1;
        self.scoped(depth)?;
        self.n_handlers -= 1;
        let (lhs, rhs) = (self.int(), self.ints[self.random.below(self.ints.len())]);
        let quotient = self.body.quot(lhs, rhs)?;
        let var = self.ints[self.random.below(self.ints.len())];
        self.body.def(var, quotient)?;
        self.body.bind(end);
        self.body.jmp(after)?;
        let exception = self.body.handle(start, end, caught);
        self.body.bind(caught);
        if depth > 0 {
            self.scoped(depth - 1)?;
        }
        let (tag, code) = (self.body.tag(exception)?, self.body.ld_i(exception, 0)?);
        let sum = self.body.add(tag, code)?;
        self.body.def(var, sum)?;
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
        self.give_back(sum)?;
        Ok(self.body)
    }
}

fn define(
    module: &mut ModuleBuilder,
    id: FunctionId,
    callees: &Callees,
    signature: Signature,
    seed: u64,
) -> Result<(), BuildError> {
    let mut body = module.body(id);
    let parameter = body.param(Kind::Int, 0)?;
    let float = body.itof(parameter)?;
    let null = body.value(Arg::Null)?;
    let record = body.new(1, [null], [parameter, float])?;
    let (mut ints, mut floats, mut refs) = (vec![parameter], vec![float], vec![record]);
    for index in 1..signature.int_params {
        // The last one is a double.
        match index + 1 == signature.int_params {
            true => floats.push(body.param(Kind::Float, index)?),
            false => ints.push(body.param(Kind::Int, index)?),
        }
    }
    for index in 0..signature.ref_params {
        refs.push(body.param(Kind::Ref, index)?);
    }
    if let Ok(closure) = body.closure() {
        ints.push(body.cap_i(closure, 0)?);
        refs.push(body.cap_r(closure, 0)?);
    }
    let mut smith = Smith {
        random: Random(seed),
        module,
        body,
        ints,
        floats,
        refs,
        callees,
        is_wide: signature == WIDE,
        n_handlers: 0,
    };
    smith.code(2)?;
    let body = smith.end()?;
    module.define_body(body);
    Ok(())
}

/// A program of functions that call those before them, the last of which is `f`. Only if asked
/// for, some have more parameters than three registers hold.
fn program(seed: u64, limit: usize, has_wide: bool) -> Built<ModuleBuilder> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_register_limit(limit);
    module.set_library();
    let mut callees = Callees::default();
    for index in 0..5 {
        let name = if index == 4 {
            "f".into()
        } else {
            format!("g{index}")
        };
        let captures = Captures { refs: 1, ints: 1 };
        let signature = if index == 2 && has_wide { WIDE } else { UNARY };
        let id = match index {
            1 => module.declare_closure(&name, signature, captures),
            _ => module.declare(&name, signature),
        };
        define(&mut module, id, &callees, signature, seed * 5 + index)?;
        match index {
            1 => callees.closures.push(id),
            2 if has_wide => callees.wide.push(id),
            _ => callees.unary.push(id),
        }
    }
    Ok(module)
}

/// Each program gives the same at each limit, and under stress.
fn check(limits: [usize; 3], has_wide: bool) -> Built<()> {
    let first = campaign::first_seed(1);
    for seed in first..first + campaign::size(25, 300) {
        let at = |limit, stress| -> Built<Vec<u64>> {
            let outcome = program(seed, limit, has_wide).and_then(|module| results(module, stress));
            Ok(outcome.map_err(|error| format!("seed {seed}, limit {limit}: {error}"))?)
        };
        let [few, some, all] = limits;
        let expected = at(all, GcStress::Off)?;
        for limit in [few, some] {
            let found = at(limit, GcStress::Off)?;
            assert_eq!(found, expected, "seed {seed}, limit {limit}");
        }
        if seed % 8 == 0 {
            assert_eq!(at(few, GcStress::On)?, expected, "seed {seed}, stressed");
        }
    }
    Ok(())
}

#[test]
fn programs_give_the_same_with_any_number_of_registers() -> Built<()> {
    check([3, 8, 256], false)
}

#[test]
fn programs_with_wide_calls_give_the_same_with_any_number_of_registers() -> Built<()> {
    check([8, 20, 256], true)
}
