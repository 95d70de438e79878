//! The builder: what text can say can be built, and no misuse panics.

use assembler::builder::{Callee, FunctionBuilder, FunctionId, Label, ModuleBuilder, Reg, Value};
use assembler::{AssembleOptions, assemble, print};
use expect_test::{Expect, expect};
use vm::isa::*;
use vm::module::{Captures, Constant};

fn unary() -> Signature {
    Signature {
        int_params: 1,
        int_results: 1,
        ..Signature::default()
    }
}

/// A module of `main` and `f(i) -> i`, which `define` fills; the errors or the canonical text.
fn check(define: impl FnOnce(&mut ModuleBuilder, &mut FunctionBuilder), expected: Expect) {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let f = module.declare("f", unary());
    let main = module.declare("main", Signature::default());
    let mut builder = module.function(f);
    define(&mut module, &mut builder);
    module.define(builder);
    let mut builder = module.function(main);
    builder.ret(&[]);
    module.define(builder);
    let actual = match module.finish() {
        Ok(module) => print(&module),
        Err(rejection) => format!("{rejection}\n"),
    };
    expected.assert_eq(&actual);
}

#[test]
fn the_builder_gives_what_the_text_gives() {
    let text = "
        closure fun inner{r}(i) -> i {
            try caught(e) {
                i0 = add i0, 1
                call print(\"hi\")
            }
            ret i0
        caught:
            raise e
        }
        export fun main() { ret }
        .metadata \"by\", \"test\"";
    let options = AssembleOptions {
        file_name: "t".into(),
        ..Default::default()
    };
    let from_text = assemble(text, &options).expect("the text is right");

    let mut module = ModuleBuilder::new(&options);
    let inner = module.declare_closure("inner", unary(), Captures { refs: 1, ints: 0 });
    let main = module.declare("main", Signature::default());
    module.export(main);
    let file = module.file("t");
    let print_sig = Signature {
        ref_params: 1,
        ..Signature::default()
    };
    let print_host = module.host("print", print_sig);
    let hi = module.constant(Constant::Text(b"hi".to_vec()));
    let mut f = module.function(inner);
    f.declared_at(file, 2);
    let exception = f.new_ref();
    let (start, end, caught) = (f.label(), f.label(), f.label());
    f.bind(start);
    f.at_line(file, 4);
    f.op(Op::AddImm {
        dst: IOut(0),
        lhs: IIn(0),
        rhs: Int32(1),
    });
    f.at_line(file, 5);
    f.call(Callee::Host(print_host), &[Value::Text(hi)], &[]);
    f.bind(end);
    f.handle(start, end, caught, exception);
    f.at_line(file, 7);
    f.ret(&[f.int_param(0).into()]);
    f.bind(caught);
    f.at_line(file, 9);
    f.op(Op::Raise {
        exception: RIn(exception.index),
    });
    module.define(f);
    let mut f = module.function(main);
    f.declared_at(file, 11);
    f.at_line(file, 11);
    f.ret(&[]);
    module.define(f);
    module.metadata("by", "test");
    let built = module.finish().expect("the module is complete");
    assert_eq!(print(&built), print(&from_text));
}

#[test]
fn calls_may_be_given_as_ops() {
    check(
        |_, f| {
            f.op(Op::Mov {
                dst: IOut(3),
                src: IIn(0),
            });
            f.op(Op::Call {
                function: FuncId(0),
                ints: IWindow(3),
                refs: RWindow(0),
            });
            f.ret(&[Value::Reg(Reg::int(3))]);
        },
        expect![[r#"
            .instrumented
            source s3 = "f" "" 0

            fun f(i) -> i {
                enter s3
                leave s3
                tail_call f
            }

            fun main() {
                ret
            }
        "#]],
    );
}

#[test]
fn branches_of_the_builder_end() {
    check(
        |_, f| {
            f.begin_branch("open");
            f.ret(&[Value::Int(1)]);
        },
        expect![[r#"
            in `f`: a branch is still open at the end of the function (`begin_branch`, block 0)
        "#]],
    );
}

#[test]
fn labels_must_be_bound_once_and_be_ones_own() {
    check(
        |_, f| {
            let label = f.label();
            f.op(Op::Jmp {
                target: Target(label.0),
            });
            f.bind(Label(99));
            let twice = f.label();
            f.bind(twice);
            f.bind(twice);
            f.op(Op::Jmp { target: Target(77) });
            f.handle(label, Label(88), twice, Reg::reference(0));
            f.handle(twice, twice, twice, Reg::int(0));
        },
        expect![[r#"
            in `f`: this label is another function's (`bind`, block 2)
            in `f`: this label is bound twice (`bind`, block 2)
            in `f`: an exception arrives in an r register (`handle`, block 3)
            in `f`: this label is never bound (`jmp`, block 1)
            in `f`: this label is never bound (`jmp`, block 2)
            in `f`: a label of this handler is never bound (`handle`, block 3)
        "#]],
    );
}

#[test]
fn calls_must_fit_their_callees() {
    check(
        |module, f| {
            let host = module.host("h", Signature::default());
            f.call(Callee::Function(0), &[], &[]);
            f.call(Callee::Function(0), &[Value::Null], &[Reg::int(0)]);
            f.call(Callee::Function(7), &[], &[]);
            f.call(Callee::Host(7), &[], &[]);
            f.op(Op::Call {
                function: FuncId(8),
                ints: IWindow(0),
                refs: RWindow(0),
            });
            f.ret(&[]);
            f.tail_call(Callee::Host(host), &[]);
        },
        expect![[r#"
            in `f`: arguments: 1 i and 0 r are wanted, not 0 and 0 (`call`, block 0)
            in `f`: arguments: 1 i and 0 r are wanted, not 0 and 1 (`call`, block 0)
            in `f`: no function has the index 7 (`call`, block 0)
            in `f`: no host function has the index 7 (`call`, block 0)
            in `f`: no function has the index 8 (`call`, block 0)
            in `f`: results: 1 i and 0 r are wanted, not 0 and 0 (`ret`, block 0)
            in `f`: a host function cannot be tail-called (`tail_call`, block 1)
        "#]],
    );
}

#[test]
fn lists_have_limits() {
    check(
        |_, f| {
            let ints = IRegs(std::iter::repeat_n(0, 256).collect());
            f.op(Op::New {
                dst: ROut(0),
                tag: Tag(0),
                refs: RRegs(Default::default()),
                ints,
            });
            let label = f.label();
            f.bind(label);
            let targets = Targets(std::iter::repeat_n(label.0, 70_000).collect());
            f.op(Op::Switch {
                index: IIn(0),
                targets,
            });
            f.ret(&[Value::Int(0)]);
        },
        expect![[r#"
            in `f`: `new` takes at most 255 registers and 65535 targets (`new`, block 0)
            in `f`: `switch` takes at most 255 registers and 65535 targets (`switch`, block 0)
        "#]],
    );
}

#[test]
fn functions_are_declared_and_defined_once() {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let f = module.declare("f", Signature::default());
    module.declare("g", Signature::default());
    for id in [f, f, FunctionId(9)] {
        let mut builder = module.function(id);
        builder.ret(&[]);
        module.define(builder);
    }
    module.set_entry(FunctionId(9));
    let rejection = module.finish().expect_err("three things are wrong");
    let errors = format!("{rejection}\n");
    expect![[r#"
        in `f`: it is defined twice
        no function has the index 9
        `g` is declared and never defined
    "#]]
    .assert_eq(&errors);
}

#[test]
fn the_verifier_checks_what_is_built() {
    check(
        |_, f| {
            f.op(Op::Enter {
                source: SourceRef(55),
            });
            f.ret(&[Value::Int(1)]);
        },
        expect![[r#"
            in `f`: no source has the index 55 (`enter`, block 0)
        "#]],
    );
    check(
        |_, _| {},
        expect![
            "in `f`: control runs off the end of the function; behind this op nothing stands: \
            end with `ret`, `raise`, a jump or a tail call\n"
        ],
    );
}
