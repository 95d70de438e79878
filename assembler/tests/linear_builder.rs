//! Modules of the builder take memory and work that are linear in their size, as far as work
//! allocates.

mod counting;

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, BuildError, Kind, ModuleBuilder, Var};
use counting::{Work, measure};
use vm::isa::Signature;

const UNARY: Signature = Signature {
    int_params: 1,
    ref_params: 0,
    int_results: 1,
    ref_results: 0,
};

/// A shape of module, of a size that is a number of ops, more or less.
type Shape = fn(&mut ModuleBuilder, usize) -> Result<(), BuildError>;

const SHAPES: [(&str, Shape); 9] = [
    ("one function", |module, size| {
        function(module, "f", |_, b| straight(b, size))
    }),
    ("many functions", |module, size| {
        (0..size / 10)
            .try_for_each(|index| function(module, &format!("f{index}"), |_, b| straight(b, 10)))
    }),
    ("calls of one another", |module, size| {
        let ids: Vec<_> = (0..size / 4)
            .map(|index| module.declare(&format!("f{index}"), UNARY))
            .collect();
        for (index, &id) in ids.iter().enumerate() {
            let mut b = module.body(id);
            let callee = module.callable(ids[(index * 7 + 1) % ids.len()])?;
            let n = b.param(Kind::Int, 0)?;
            let one = b.call_one(callee, [n])?;
            let two = b.call_one(callee, [one])?;
            b.ret([two])?;
            module.define_body(b);
        }
        Ok(())
    }),
    ("jumps to one label", |module, size| {
        function(module, "f", |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let end = b.label();
            (0..size as i64).try_for_each(|index| b.jeq(n, index, end))?;
            b.bind(end);
            b.ret([n])
        })
    }),
    ("variables alive across blocks", |module, size| {
        function(module, "f", |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let vars: Vec<Var> = (0..size as i64 / 4)
                .map(|index| b.add(n, index))
                .collect::<Result<_, _>>()?;
            let sum = b.var(Kind::Int);
            b.def(sum, 0)?;
            for var in vars {
                let next = b.label();
                b.jlt(var, n, next)?;
                let more = b.add(sum, var)?;
                b.def(sum, more)?;
                b.bind(next);
            }
            b.ret([sum])
        })
    }),
    ("handlers", |module, size| {
        function(module, "f", |_, b| {
            let result = b.param(Kind::Int, 0)?;
            for _ in 0..size / 4 {
                let [start, end, caught] = [(); 3].map(|()| b.label());
                b.bind(start);
                let quotient = b.quot(100, result)?;
                b.def(result, quotient)?;
                b.bind(end);
                b.jmp(caught)?;
                b.handle(start, end, caught);
                b.bind(caught);
            }
            b.ret([result])
        })
    }),
    ("texts", |module, size| {
        function(module, "f", |module, b| {
            for index in 0..size {
                let text = module.text(format!("text {index}"));
                b.len(text)?;
            }
            b.ret([0])
        })
    }),
    ("hosts", |module, size| {
        function(module, "f", |module, b| {
            let mut last = b.param(Kind::Int, 0)?;
            for index in 0..size {
                let host = module.host_callable(&format!("host{index}"), UNARY);
                last = b.call_one(host, [last])?;
            }
            b.ret([last])
        })
    }),
    ("files and lines", |module, size| {
        function(module, "f", |module, b| {
            let mut last = b.param(Kind::Int, 0)?;
            for index in 0..size {
                let file = module.file(&format!("file{}", index / 10));
                b.at_line(file, index as u32);
                last = b.add(last, 1)?;
            }
            b.ret([last])
        })
    }),
];

/// Defines `f(i) -> i`, which `define` fills.
fn function(
    module: &mut ModuleBuilder,
    name: &str,
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let id = module.declare(name, UNARY);
    let mut body = module.body(id);
    define(module, &mut body)?;
    module.define_body(body);
    Ok(())
}

/// Ops one after the other, with a label at every tenth.
fn straight(b: &mut Body, count: usize) -> Result<(), BuildError> {
    let n = b.param(Kind::Int, 0)?;
    let mut last = Arg::from(n);
    for index in 0..count {
        if index % 10 == 9 {
            let next = b.label();
            b.jlt(last.clone(), n, next)?;
            b.bind(next);
        } else {
            last = Arg::from(b.add(last, n)?);
        }
    }
    b.ret([last])
}

/// What it takes to build a module, and then to finish it.
fn build(shape: Shape, size: usize) -> (Work, Work) {
    let (building, module) = measure(|| {
        let mut module = ModuleBuilder::new(&AssembleOptions::default());
        module.set_library();
        shape(&mut module, size).expect("the shape is right");
        module
    });
    let (finishing, module) = measure(|| module.finish());
    module.expect("the module is right");
    (building, finishing)
}

#[test]
fn work_is_linear_in_the_size_of_the_module() {
    for (name, shape) in SHAPES {
        let (small, large) = (build(shape, 2_000), build(shape, 8_000));
        let steps = [
            ("to build", small.0, large.0),
            ("to finish", small.1, large.1),
        ];
        for (step, small, large) in steps {
            let pairs = [
                ("bytes", small.total_bytes, large.total_bytes),
                ("blocks", small.blocks, large.blocks),
                ("bytes at a time", small.peak_bytes, large.peak_bytes),
            ];
            for (what, small, large) in pairs {
                assert!(
                    large < 6 * small,
                    "{name}: {step} takes {small} {what}, of four times the size {large}"
                );
            }
        }
    }
}

/// What is verified once is copied once: the proof takes no work that the module alone would not.
#[test]
fn the_proof_costs_nothing_more() {
    let module = || {
        let mut module = ModuleBuilder::new(&AssembleOptions::default());
        module.set_library();
        function(&mut module, "f", |_, b| straight(b, 1_000)).expect("it is right");
        module
    };
    let (plain, verified) = (module(), module());
    let (plain, _) = measure(|| plain.finish().expect("it is right"));
    let (verified, _) = measure(|| verified.finish_verified().expect("it is right"));
    assert_eq!(plain.total_bytes, verified.total_bytes);
}

/// An op takes no block of its own when a module is finished, and a function a few dozen.
#[test]
fn finishing_allocates_little_for_an_op_or_a_function() {
    let finish = |shape: &str, size: usize| {
        let (_, shape) = SHAPES
            .iter()
            .find(|(name, _)| *name == shape)
            .expect("it is there");
        build(*shape, size).1.blocks
    };
    // Debug builds verify smaller programs after each pass.
    let (few, many) = (
        finish("one function", 21_000),
        finish("one function", 31_000),
    );
    assert!(
        many - few < 10_000 / 2,
        "{} blocks for 10,000 ops",
        many - few
    );
    let (few, many) = (
        finish("many functions", 21_000),
        finish("many functions", 31_000),
    );
    let per_function = (many - few) / 1_000;
    assert!(per_function < 60, "{per_function} blocks for a function");
}
