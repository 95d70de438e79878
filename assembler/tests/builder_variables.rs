//! Variables without number: the registers they get, the constants that become part of ops, and
//! what is said of code that makes no sense.

use assembler::builder::{Arg, Body, BuildError, Kind, ModuleBuilder, Var};
use assembler::link::{LinkError, link};
use assembler::{AssembleOptions, print, print_ops};
use expect_test::{Expect, expect};
use vm::isa::{OPS, Op, Role, Signature};
use vm::module::ConstRef;

type Built<T> = Result<T, Box<dyn std::error::Error>>;

const UNARY: Signature = Signature {
    int_params: 1,
    ref_params: 0,
    int_results: 1,
    ref_results: 0,
};

/// A library of `f(i) -> i`, which `define` fills.
fn library(
    limit: usize,
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>,
) -> Result<ModuleBuilder, BuildError> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_register_limit(limit);
    module.set_library();
    let f = module.declare("f", UNARY);
    let file = module.file("f.sml");
    let mut body = module.body(f);
    body.declared_at(file, 1);
    define(&mut module, &mut body)?;
    module.define_body(body);
    Ok(module)
}

/// The ops of `f`, or what is wrong with it.
fn check_with(
    limit: usize,
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>,
    expected: Expect,
) {
    let actual = match library(limit, define).map(ModuleBuilder::finish) {
        Ok(Ok(module)) => print_ops(&module, &module.functions[0]),
        Ok(Err(rejection)) => format!("{rejection}\n"),
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&actual);
}

fn check(
    define: impl FnOnce(&mut ModuleBuilder, &mut Body) -> Result<(), BuildError>,
    expected: Expect,
) {
    check_with(256, define, expected);
}

#[test]
fn arguments_are_computed_in_their_windows() {
    check(
        |module, b| {
            let fib = module.callable(b.id())?;
            let n = b.param(Kind::Int, 0)?;
            let small = b.label();
            b.jlt(n, 2, small)?;
            let one = b.sub(n, 1)?;
            let one = b.call_one(fib, [one])?;
            let two = b.sub(n, 2)?;
            let two = b.call_one(fib, [two])?;
            let sum = b.add(one, two)?;
            b.ret([sum])?;
            b.bind(small);
            b.ret([n])
        },
        expect![[r#"
            fun f(i) -> i {
                enter s3
                jlt_imm i0, 2, L0
                i1 = add_imm i0, -1
                call f, i1, r0
                i2 = add_imm i0, -2
                call f, i2, r0
                i0 = add i1, i2
                leave s3
                ret
            L0:
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn a_loop_needs_no_moves() {
    check(
        |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let (sum, i) = (b.var(Kind::Int), b.var(Kind::Int));
            b.def(sum, 0)?;
            b.def(i, 0)?;
            let again = b.label();
            b.bind(again);
            let next = b.add(sum, i)?;
            b.def(sum, next)?;
            let next = b.add(i, 1)?;
            b.def(i, next)?;
            b.jlt(i, n, again)?;
            b.ret([sum])
        },
        expect![[r#"
            fun f(i) -> i {
                enter s3
                i1 = int 0
                i2 = int 0
            L0:
                i1 = add i1, i2
                i2 = add_imm i2, 1
                jlt i2, i0, L0
                leave s3
                i0 = mov i1
                ret
            }
        "#]],
    );
}

#[test]
fn constants_become_part_of_ops_where_there_is_such_a_form() {
    check(
        |module, b| {
            let n = b.param(Kind::Int, 0)?;
            let out = b.label();
            b.jlt(3, n, out)?;
            b.jge(n, i64::MAX, out)?;
            let a = b.add(1, n)?;
            let a = b.sub(a, 2)?;
            let a = b.sub(3, a)?;
            let a = b.mul(a, 4)?;
            let a = b.rem(a, 5)?;
            let a = b.sub_ovf(a, i64::MIN)?;
            let x = b.itof(a)?;
            let x = b.fmul(x, 2.5)?;
            let a = b.ftoi(x)?;
            let hello = module.text("hello");
            let length = b.len(hello)?;
            let a = b.add(a, length)?;
            b.ret([a])?;
            b.bind(out);
            b.ret([0])
        },
        expect![[r#"
            fun f(i) -> i {
                enter s3
                jgt_imm i0, 3, L0
                i1 = int 9223372036854775807
                jge i0, i1, L0
                i0 = add_imm i0, 1
                i0 = add_imm i0, -2
                i0 = rsub_imm i0, 3
                i0 = mul_imm i0, 4
                i0 = rem_imm i0, 5
                i1 = int -9223372036854775808
                i0 = sub_ovf i0, i1
                i0 = itof i0
                i0 = fmul_imm i0, 2.5
                i0 = ftoi i0
                r0 = text "hello"
                i1 = len r0
                i0 = add i0, i1
                leave s3
                ret
            L0:
                leave s3
                i0 = int 0
                ret
            }
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_spilled_into_a_record() {
    check_with(
        2,
        |_, b| {
            let n = b.param(Kind::Int, 0)?;
            let vars: Vec<Var> = (1..4).map(|i| b.mul(n, i)).collect::<Result<_, _>>()?;
            let mut sum = n;
            for var in vars {
                sum = b.add(sum, var)?;
            }
            b.ret([sum])
        },
        expect![[r#"
            fun f(i) -> i {
                enter s3
                r0 = null
                i1 = int 0
                r0 = new 65535, [], [i1, i1, i1]
                i1 = mul_imm i0, 1
                st_i r0, 2, i1
                i1 = mul_imm i0, 2
                st_i r0, 0, i1
                i1 = mul_imm i0, 3
                st_i r0, 1, i1
                i1 = ld_i r0, 2
                i0 = add i0, i1
                i1 = ld_i r0, 0
                i0 = add i0, i1
                i1 = ld_i r0, 1
                i0 = add i0, i1
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn errors_say_where_the_op_stands() {
    check(
        |module, b| {
            let file = module.file("f.sml");
            b.at_line(file, 9);
            let n = b.param(Kind::Int, 0)?;
            b.fadd(n, 1.0).map(drop)
        },
        expect![[r#"
            in `f`: `lhs` is of kind f; a variable of kind i does not fit (`fadd`, block 0, f.sml:9)
        "#]],
    );
    check(
        |module, b| {
            let file = module.file("f.sml");
            b.at_line(file, 13);
            let x = b.var(Kind::Int);
            b.name_var(x, "x");
            b.ret([x])
        },
        expect![[r#"
            in `f`: `x` may be used before it is defined (`ret`, block 0, f.sml:13)
        "#]],
    );
    check(
        |_, b| b.op("ad", (1, 2)).map(drop),
        expect![[r#"
            in `f`: no op has this mnemonic (`ad`, block 0)
        "#]],
    );
    check(
        |_, b| b.op("call", (1, 2)).map(drop),
        expect![[r#"
            in `f`: `Body::call` adds this op (`call`, block 0)
        "#]],
    );
    check(
        |_, b| b.add(1, Arg::Null).map(drop),
        expect![[r#"
            in `f`: `lhs` is of kind i; null does not fit (`add_imm`, block 0)
        "#]],
    );
    check(
        |_, b| b.op("add", [1]).map(drop),
        expect![[r#"
            in `f`: 1 results and 2 operands are wanted, not 1 and 1 (`add`, block 0)
        "#]],
    );
    check(
        |_, b| b.ret([Arg::Null]),
        expect![[r#"
            in `f`: results: 1 i and 0 r are wanted, not 0 and 1 (`ret`, block 0)
        "#]],
    );
    check(
        |_, b| b.add(1, 2).map(drop),
        expect![[r#"
            in `f`: control runs off the end of the function (`add_imm`, block 0)
        "#]],
    );
}

#[test]
fn variables_of_other_functions_are_refused() -> Built<()> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let (f, g) = (module.declare("f", UNARY), module.declare("g", UNARY));
    let one = module.body(f).param(Kind::Int, 0)?;
    let error = module
        .body(g)
        .ret([one])
        .expect_err("`one` is a variable of f");
    expect!["in `g`: a variable of another function stands here (`ret`, block 0)"]
        .assert_eq(&error.to_string());
    Ok(())
}

#[test]
fn a_rejected_module_can_be_printed() -> Built<()> {
    let rejection = library(256, |_, b| {
        let n = b.param(Kind::Int, 0)?;
        let source = Arg::Source(55);
        b.op("enter", [source])?;
        let more = b.add(n, 1)?;
        b.ret([more])
    })?
    .finish()
    .expect_err("there is no such source");
    let dump = rejection.dump();
    let lines = dump.split_inclusive('\n');
    let code = lines.filter(|line| !line.starts_with(".sources"));
    expect![[r#"
        in `f`: no source has the index 55 (`enter`, block 0)
        .instrumented
        .entry @1

        .file "f.sml"
        fun f(i) -> i {
            .line 1
            enter @3
            enter @55
            i0 = add_imm i0, 1
            leave @3
            ret
        }

        fun "<library>"() {
            ret
        }
    "#]]
    .assert_eq(&format!("{rejection}\n{}", code.collect::<String>()));
    Ok(())
}

#[test]
fn every_op_is_reached_by_its_mnemonic() {
    let methods = [
        "call",
        "call_closure",
        "call_host",
        "tail_call",
        "tail_call_closure",
        "ret",
    ];
    for info in OPS.iter().filter(|info| !methods.contains(&info.mnemonic)) {
        let done = library(256, |module, b| {
            let inputs = info.operands.iter().filter_map(|operand| {
                let is_float = info.doc.contains(&format!("f[{}]", operand.name));
                Some(match operand.role {
                    Role::IOut | Role::ROut => return None,
                    Role::IIn if is_float => Arg::Float(1.5),
                    Role::IIn | Role::Int64 | Role::Int32 | Role::Field | Role::Tag => Arg::Int(1),
                    Role::Float64 => Arg::Float(0.5),
                    Role::RIn => module.text("r"),
                    Role::IRegs | Role::RRegs => Arg::List(Vec::new()),
                    Role::Target => Arg::Label(b.label()),
                    Role::Targets => Arg::Labels(vec![b.label()]),
                    Role::FuncId => Arg::Function(b.id()),
                    Role::ConstId => module.text("c"),
                    Role::SourceRef => Arg::Source(3),
                    Role::IntGlobal => module.int_global("g", 1),
                    Role::RefGlobal => module.ref_global("g", ConstRef::Null),
                    role => panic!("{}: {role:?}", info.mnemonic),
                })
            });
            let inputs: Vec<Arg> = inputs.collect();
            b.op(info.mnemonic, inputs).map(drop)
        });
        assert!(done.is_ok(), "{}: {done:?}", info.mnemonic);
    }
}

#[test]
fn functions_of_other_modules_are_linked_by_name() -> Built<()> {
    let provider = library(256, |_, b| {
        let n = b.param(Kind::Int, 0)?;
        let twice = b.mul(n, 2)?;
        b.ret([twice])
    })?
    .finish()?;
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_library();
    let f = module.declare_extern("f", UNARY, None);
    let user = module.declare("user", UNARY);
    let mut body = module.body(user);
    let result = body.call_one(module.callable(f)?, [21])?;
    body.ret([result])?;
    module.define_body(body);
    let module = module.finish_verified()?.into_module();
    let user = module.function_named("user").ok_or("`user` is there")?;
    let error = link(&[(&module, user)], |_| None).expect_err("nobody defines `f`");
    assert!(matches!(error, LinkError::Missing { .. }));
    expect!["`user` calls `f`, which no module defines"].assert_eq(&error.to_string());
    let linked = link(&[(&module, user)], |name| {
        Some((&provider, provider.function_named(name)?))
    })?;
    let ops: Vec<Op> = linked.functions[1]
        .ops()
        .map(|op| op.map(|(_, op)| op))
        .collect::<Result<_, _>>()?;
    assert!(ops.iter().any(|op| matches!(op, Op::MulImm { .. })));
    Ok(())
}

#[test]
fn a_function_may_have_no_source_of_its_own() -> Built<()> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_library();
    for name in ["outer", "outer@int"] {
        let id = module.declare(name, UNARY);
        if name == "outer" {
            module.set_unprofiled(id);
        }
        let mut body = module.body(id);
        body.ret([body.param(Kind::Int, 0)?])?;
        module.define_body(body);
    }
    expect![[r#"
        .instrumented
        .entry @2
        source s3 = "outer@int" "" 0

        fun outer(i) -> i {
            ret
        }

        fun "outer@int"(i) -> i {
            enter s3
            leave s3
            ret
        }

        fun "<library>"() {
            ret
        }
    "#]]
    .assert_eq(&print(&module.finish()?));
    Ok(())
}
