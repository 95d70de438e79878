//! Programs that inputs are made of: the examples, and programs that do what is easily got wrong.

use std::sync::LazyLock;

use assembler::{AssembleOptions, OptLevel, TailCalls, assemble};
use vm::module::Module;

use super::shapes::{SHAPES, TOO_INTERTWINED};

/// Name and text of an example.
macro_rules! example {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../examples/", $name, ".asm")),
        )
    };
}
/// The texts of `examples/`, by name. A test says when one is missing.
pub const EXAMPLES: [(&str, &str); 15] = [
    example!("binary-trees"),
    example!("closures"),
    example!("even-odd"),
    example!("exceptions"),
    example!("fib-tak"),
    example!("fib"),
    example!("hello"),
    example!("leak"),
    example!("list-rev"),
    example!("mandelbrot"),
    example!("n-queens"),
    example!("nbody"),
    example!("sieve"),
    example!("tak"),
    example!("word-count"),
];

/// Programs for what has to be seen to between two ops: work in parts, callbacks of memory
/// profiles, units, exceptions out of all of them.
const SEEDS: [&str; 6] = [
    include_str!("../seeds/bulk.asm"),
    include_str!("../seeds/callbacks.asm"),
    include_str!("../seeds/faults.asm"),
    include_str!("../seeds/units.asm"),
    include_str!("../../memprof/walk/chaos.asm"),
    include_str!("../../cases/gc-under-stress.asm"),
];

/// All programs as text.
pub fn texts() -> Vec<&'static str> {
    let examples = EXAMPLES.iter().map(|(_, text)| *text);
    examples.chain(SEEDS).collect()
}

/// About how many bytes of code a program of a hard shape has.
const SHAPE_BYTES: usize = 300;

/// All programs as modules, each with options of its own so that branches are sources, calls are
/// tail calls and functions are inlined in some; behind them, programs whose shape is hard to
/// verify or load.
pub fn modules() -> &'static [Module] {
    static MODULES: LazyLock<Vec<Module>> = LazyLock::new(|| {
        let numbered = (0_u32..).zip(texts());
        let assembled = numbered.map(|(number, text)| {
            assemble(text, &options(number)).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
        });
        let shapes = SHAPES.iter().chain(TOO_INTERTWINED);
        assembled
            .chain(shapes.map(|(_, make)| make(SHAPE_BYTES)))
            .collect()
    });
    &MODULES
}

/// Options of the assembler by number.
pub fn options(number: u32) -> AssembleOptions {
    AssembleOptions {
        tail_calls: [TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never][number as usize % 3],
        profile_branch: number & 1 != 0,
        inline_ops: (number & 6 == 6).then_some(20),
        opt_level: OptLevel::ALL[number as usize / 8 % 3],
        file_name: "input.asm".into(),
    }
}
