//! The builder's variables, run: what does not fit into registers is spilled, and nobody can tell.

mod smith;
#[path = "../support/mod.rs"]
mod support;

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, BuildError, Kind, ModuleBuilder, Var};
use profiler::Kind as ProfileKind;
use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::{GcStress, Outcome, RunError, Vm, VmConfig};

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
            // What nobody catches is a result as any other.
            Err(RunError::Uncaught { exception, .. }) => {
                seen.extend(exception.bytes().map(u64::from))
            }
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
