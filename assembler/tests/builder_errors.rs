//! Each error of the builder's variables: what it says, and that it names the function, the block,
//! the op and the line.

use assembler::AssembleOptions;
use assembler::builder::{Arg, Body, BuildError, Kind, ModuleBuilder, Var};
use vm::isa::Signature;
use vm::module::Captures;

const UNARY: Signature = Signature {
    int_params: 1,
    ref_params: 0,
    int_results: 1,
    ref_results: 0,
};

type Define = fn(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>;

/// The errors of a module of `f(i) -> i`, which `define` fills: the first method that refuses what
/// it is given, or all that `finish` finds.
fn errors(
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>,
) -> Vec<BuildError> {
    let options = AssembleOptions {
        profile_branch: true,
        ..AssembleOptions::default()
    };
    let mut module = ModuleBuilder::new(&options);
    module.set_library();
    module.set_register_limit(8);
    let f = module.declare("f", UNARY);
    let file = module.file("f.sml");
    let mut body = module.body(f);
    body.declared_at(file, 1);
    body.at_line(file, 2);
    match define(&mut module, &mut body) {
        Err(error) => vec![error],
        Ok(()) => {
            module.define_body(body);
            module
                .finish()
                .map_or_else(|rejection| rejection.errors, |_| Vec::new())
        }
    }
}

/// Defines `f`, gives 0 back, and hands on what else was done.
fn and_return(b: &mut Body) -> Result<(), BuildError> {
    b.ret([0])
}

/// What methods refuse at once.
const REFUSED: [(&str, Define); 23] = [
    (
        "parameter i1 is wanted of (i) -> (i) (`param`, block 0, f.sml:2)",
        |_, b| b.param(Kind::Int, 1).map(drop),
    ),
    (
        "parameter r0 is wanted of (i) -> (i) (`param`, block 0, f.sml:2)",
        |_, b| b.param(Kind::Ref, 0).map(drop),
    ),
    (
        "this function is called without a closure (`closure`, block 0, f.sml:2)",
        |_, b| b.closure().map(drop),
    ),
    (
        "a variable of kind r cannot hold the integer 1 (`def`, block 0, f.sml:2)",
        |_, b| {
            let x = b.var(Kind::Ref);
            b.def(x, 1)
        },
    ),
    (
        "a variable of kind i cannot hold a variable of kind f (`def`, block 0, f.sml:2)",
        |_, b| {
            let (x, y) = (b.var(Kind::Int), b.var(Kind::Float));
            b.def(x, y)
        },
    ),
    ("a label is no value (`value`, block 1, f.sml:2)", |_, b| {
        let label = b.label();
        b.value(label).map(drop)
    }),
    (
        "no op has this mnemonic (`ad`, block 0, f.sml:2)",
        |_, b| b.op("ad", (1, 2)).map(drop),
    ),
    (
        "`Body::call_closure` adds this op (`call_closure`, block 0, f.sml:2)",
        |_, b| b.op("call_closure", ()).map(drop),
    ),
    (
        "1 results and 2 operands are wanted, not 1 and 1 (`add`, block 0, f.sml:2)",
        |_, b| b.op("add", [1]).map(drop),
    ),
    (
        "1 results and 1 operands are wanted, not 0 and 1 (`neg`, block 0, f.sml:2)",
        |_, b| b.op_to("neg", &[], [1]),
    ),
    (
        "this gives 2 results, not one (`int_of_str`, block 0, f.sml:2)",
        |module, b| {
            let text = module.text("7");
            b.op_one("int_of_str", [text]).map(drop)
        },
    ),
    (
        "`lhs` is of kind f; the integer 1 does not fit (`fadd`, block 0, f.sml:2)",
        |_, b| b.fadd(1, 2.0).map(drop),
    ),
    (
        "`record` is of kind r; the double 1.5 does not fit (`ld_i`, block 0, f.sml:2)",
        |_, b| b.ld_i(1.5, 0).map(drop),
    ),
    (
        "`dst` is of kind i; a variable of kind f does not fit (`neg`, block 0, f.sml:2)",
        |_, b| {
            let x = b.var(Kind::Float);
            b.op_to("neg", &[x], [1])
        },
    ),
    (
        "`field` is of kind Field; the integer 256 does not fit (`ld_i`, block 0, f.sml:2)",
        |_, b| b.ld_i(Arg::Null, 256).map(drop),
    ),
    (
        "`target` is of kind Target; a list of labels does not fit (`jmp`, block 1, f.sml:2)",
        |_, b| {
            let label = b.label();
            b.jmp(vec![label])
        },
    ),
    (
        "`ints` is of kind i; a list does not fit (`new`, block 0, f.sml:2)",
        |_, b| b.new(1, (), vec![Arg::Int(1); 256]).map(drop),
    ),
    (
        "arguments: 1 i and 0 r are wanted, not 0 and 1 (`call`, block 0, f.sml:2)",
        |module, b| {
            let own = module.callable(b.id())?;
            b.call(own, [Arg::Null]).map(drop)
        },
    ),
    (
        "arguments: 1 i and 0 r are wanted, not 2 and 0 (`tail_call`, block 0, f.sml:2)",
        |module, b| {
            let own = module.callable(b.id())?;
            b.tail_call(own, (1, 2))
        },
    ),
    (
        "a function cannot be passed (`call`, block 0, f.sml:2)",
        |module, b| {
            let own = module.callable(b.id())?;
            let id = b.id();
            b.call(own, [id]).map(drop)
        },
    ),
    (
        "a closure is a reference (`tail_call_closure`, block 0, f.sml:2)",
        |_, b| {
            let n = b.param(Kind::Int, 0)?;
            b.tail_call_closure(n, UNARY, [1])
        },
    ),
    (
        "results: 1 i and 0 r are wanted, not 0 and 0 (`ret`, block 0, f.sml:2)",
        |_, b| b.ret(()),
    ),
    (
        "this gives 0 results, not one (`call`, block 0, f.sml:2)",
        |module, b| {
            let print = module.standard_host("print")?;
            let text = module.text("");
            b.call_one(print, [text]).map(drop)
        },
    ),
];

/// What only a whole function or module shows.
const FOUND: [(&str, Define); 15] = [
    (
        "this label is bound twice (`bind`, block 1, f.sml:2)",
        |_, b| {
            let label = b.label();
            b.bind(label);
            and_return(b)?;
            b.bind(label);
            and_return(b)
        },
    ),
    (
        "this label is another function's (`bind`, block 0, f.sml:2)",
        |module, b| {
            let g = module.declare_extern("g", UNARY, None);
            let mut other = module.body(g);
            let [.., label] = [(); 9].map(|()| other.label());
            b.bind(label);
            and_return(b)
        },
    ),
    (
        "this label is never bound (`jmp`, block 1, f.sml:2)",
        |_, b| {
            let label = b.label();
            b.jmp(label)
        },
    ),
    (
        "a label of this handler is never bound (`handle`, block 3, f.sml:2)",
        |_, b| {
            let [start, end, caught] = [(); 3].map(|()| b.label());
            b.handle(start, end, caught);
            and_return(b)
        },
    ),
    (
        "no branch is open here (`end_branch`, block 0, f.sml:2)",
        |_, b| {
            b.end_branch();
            and_return(b)
        },
    ),
    (
        "a branch is still open at the end of the function (`begin_branch`, block 0, f.sml:2)",
        |_, b| {
            b.begin_branch("left open");
            and_return(b)
        },
    ),
    (
        "branches nest deeper than 64 levels (`begin_branch`, block 0, f.sml:2)",
        |_, b| {
            (0..65).for_each(|_| b.begin_branch("deep"));
            (0..65).for_each(|_| b.end_branch());
            and_return(b)
        },
    ),
    (
        "control runs off the end of the function (`add_imm`, block 0, f.sml:2)",
        |_, b| {
            let n = b.param(Kind::Int, 0)?;
            b.add(n, 1).map(drop)
        },
    ),
    (
        "`x` may be used before it is defined (`add_imm`, block 0, f.sml:2)",
        |_, b| {
            let x = b.var(Kind::Int);
            b.name_var(x, "x");
            let sum = b.add(x, 1)?;
            b.ret([sum])
        },
    ),
    (
        "an op needs more registers of a class at once than the 8 there are (`new`, block 0, \
             f.sml:2)",
        |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let vars: Vec<Var> = (0..9).map(|_| b.add(n, 1)).collect::<Result<_, _>>()?;
            b.new(1, (), vars)?;
            and_return(b)
        },
    ),
    (
        "a host function cannot be tail-called (`tail_call`, block 0, f.sml:2)",
        |module, b| {
            let host = module.host_callable("host", UNARY);
            b.tail_call(host, [1])
        },
    ),
    (
        "this jumps into the middle of a branch; put the label before `.branch` (`jmp`, block 1, \
             f.sml:2)",
        |_, b| {
            let inside = b.label();
            b.jmp(inside)?;
            b.begin_branch("inside");
            b.bind(inside);
            b.end_branch();
            and_return(b)
        },
    ),
    (
        "`c` is not declared as a closure's function (`closure`, block 0, f.sml:2)",
        |module, b| {
            let c = module.declare_extern("c", UNARY, None);
            b.new_closure(c, (), ())?;
            and_return(b)
        },
    ),
    (
        "`c` captures 1 references and 0 integers, not 0 and 1 (`closure`, block 0, f.sml:2)",
        |module, b| {
            let captures = Captures { refs: 1, ints: 0 };
            let c = module.declare_extern("c", UNARY, Some(captures));
            b.new_closure(c, (), [1])?;
            and_return(b)
        },
    ),
    (
        "no source has the index 55 (`enter`, block 0, f.sml:2)",
        |_, b| {
            b.op("enter", [Arg::Source(55)])?;
            and_return(b)
        },
    ),
];

/// Defines each case and compares the first error with what is expected; its parts must say the
/// same as its text.
fn check(cases: &[(&str, Define)], most_errors: usize) {
    let mut wrong = String::new();
    for (expected, define) in cases {
        let found = errors(define);
        let first = found.first();
        let text = first.map_or("nothing".into(), BuildError::to_string);
        let is_placed = first.is_some_and(|error| {
            error.function.as_deref() == Some("f")
                && error.block.is_some()
                && error.op.is_some()
                && error.location == Some(("f.sml".into(), 2))
        });
        if text != format!("in `f`: {expected}") || !is_placed || found.len() > most_errors {
            wrong += &format!("{expected}\nis wanted, not {found:?}\n{text}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_methods_refuse_names_its_place() {
    check(&REFUSED, 1);
}

#[test]
fn what_finish_finds_names_its_place() {
    check(&FOUND, 2);
}

#[test]
fn errors_of_a_function_or_a_module_name_it() {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let file = module.file("g.sml");
    let (f, g) = (module.declare("f", UNARY), module.declare("g", UNARY));
    for line in 1..3 {
        let mut body = module.body(g);
        body.declared_at(file, line);
        body.ret([1]).expect("it is right");
        module.define_body(body);
    }
    let foreign = {
        let mut other = ModuleBuilder::new(&AssembleOptions::default());
        (0..3)
            .map(|_| other.declare("other", UNARY))
            .last()
            .expect("three are declared")
    };
    module.define_body(module.body(foreign));
    let unknown = module
        .callable(foreign)
        .expect_err("it is another module's");
    assert_eq!(unknown.to_string(), "no function has the index 2");
    let unknown = module.standard_host("prind").expect_err("there is none");
    assert_eq!(
        unknown.to_string(),
        "no standard host function is called `prind`"
    );
    let rejection = module.finish().expect_err("much is wrong");
    let lines: Vec<String> = rejection.errors.iter().map(BuildError::to_string).collect();
    assert_eq!(
        lines,
        [
            "in `g`: it is defined twice (g.sml:2)",
            "control runs off the end of the function",
            "no function has the index 2",
            "`f` is declared and never defined",
            "no function is named `main`; `.entry NAME` chooses another one to start with",
        ]
    );
    assert_eq!(rejection.errors[3].function.as_deref(), Some("f"));
    assert_eq!(f.0, 0);
}
