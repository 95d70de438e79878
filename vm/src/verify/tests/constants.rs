//! Constants that refer to others, and globals.

use super::*;

fn record(refs: &[ConstRef]) -> Constant {
    Constant::Record {
        tag: 0,
        refs: refs.to_vec(),
        ints: Vec::new(),
    }
}

/// A module with more constants, behind a string (0) and integers (1).
fn with_constants(constants: &[Constant]) -> Module {
    let mut module = module(&[Op::Ret {}]);
    module.constants.extend_from_slice(constants);
    module
}

#[test]
fn constants_refer_to_constants_before_them() {
    let good = record(&[
        ConstRef::Constant(0),
        ConstRef::Null,
        ConstRef::Constant(1),
        ConstRef::Immediate(i64::MAX >> 1),
        ConstRef::Immediate(i64::MIN >> 1),
    ]);
    assert_eq!(messages(with_constants(&[good])), [""; 0]);
    for ahead in [2, 3, 9, u32::MAX] {
        let wrong = [record(&[ConstRef::Constant(ahead)]), record(&[])];
        let expected = format!("constant 2 refers to constant {ahead}, which must stand before it");
        assert_eq!(messages(with_constants(&wrong)), [expected]);
        let wrong = [Constant::Refs(vec![
            ConstRef::Null,
            ConstRef::Constant(ahead),
        ])];
        assert_eq!(messages(with_constants(&wrong)).len(), 1);
    }
}

#[test]
fn immediates_have_63_bits() {
    for number in [1 << 62, -(1 << 62) - 1, i64::MIN, i64::MAX] {
        let expected = format!("the immediate {number} needs more than 63 bits");
        let wrong = Constant::Refs(vec![ConstRef::Immediate(number)]);
        assert_eq!(
            messages(with_constants(&[wrong])),
            std::slice::from_ref(&expected)
        );
        let mut wrong = module(&[Op::Ret {}]);
        wrong.globals.refs.push(Global {
            name: "g".into(),
            value: ConstRef::Immediate(number),
        });
        assert_eq!(messages(wrong), [expected]);
    }
}

#[test]
fn records_have_255_fields_of_a_class() {
    let of = |n_refs, n_ints| {
        with_constants(&[Constant::Record {
            tag: 65535,
            refs: vec![ConstRef::Null; n_refs],
            ints: vec![0; n_ints],
        }])
    };
    assert_eq!(messages(of(255, 255)), [""; 0]);
    let expected = ["constant 2 has more than 255 fields of a class"];
    assert_eq!(messages(of(256, 0)), expected);
    assert_eq!(messages(of(0, 256)), expected);
}

#[test]
fn constant_closures_fit_their_function() {
    let closure = |function, n_refs, n_ints| {
        with_constants(&[Constant::Closure {
            function,
            refs: vec![ConstRef::Null; n_refs],
            ints: vec![0; n_ints],
        }])
    };
    assert_eq!(messages(closure(1, 1, 0)), [""; 0]);
    let cases = [
        (closure(9, 1, 0), "no function has the index 9"),
        (
            closure(0, 0, 0),
            "`main` is not declared as a closure's function",
        ),
        (
            closure(1, 0, 0),
            "`closure` captures 1 references and 0 integers, not 0 and 0",
        ),
        (
            closure(1, 1, 1),
            "`closure` captures 1 references and 0 integers, not 1 and 1",
        ),
    ];
    for (module, expected) in cases {
        assert_eq!(messages(module), [expected]);
    }
}

#[test]
fn globals_must_be_there() {
    let ops = [
        Op::LdGI {
            dst: IOut(0),
            global: IntGlobal(1),
        },
        Op::LdGR {
            dst: ROut(0),
            global: RefGlobal(1),
        },
        Op::StGI {
            global: IntGlobal(1),
            src: IIn(0),
        },
        Op::StGR {
            global: RefGlobal(1),
            src: RIn(0),
        },
    ];
    for op in ops {
        let null = Op::Null { dst: ROut(0) };
        let mut module = module(&[int(0), null, op.clone(), Op::Ret {}]);
        module.globals.ints.push(Global {
            name: "i".into(),
            value: 0,
        });
        module.globals.refs.push(Global {
            name: "r".into(),
            value: ConstRef::Null,
        });
        let expected = ["no global has the index 1"];
        assert_eq!(messages(module.clone()), expected, "{op:?}");
        let (ints, refs) = (&mut module.globals.ints, &mut module.globals.refs);
        ints.push(ints[0].clone());
        refs.push(refs[0].clone());
        assert_eq!(messages(module), [""; 0], "{op:?}");
    }
}

#[test]
fn globals_start_as_constants_that_are_there() {
    let mut wrong = module(&[Op::Ret {}]);
    for (constant, is_there) in [(0, true), (1, true), (2, false), (u32::MAX, false)] {
        wrong.globals.refs = vec![Global {
            name: "g".into(),
            value: ConstRef::Constant(constant),
        }];
        let expected = format!("no constant has the index {constant}");
        let expected = if is_there { vec![] } else { vec![expected] };
        assert_eq!(messages(wrong.clone()), expected);
    }
}

#[test]
fn an_op_names_a_constant_of_its_kind() {
    let constant = |id| Op::Constant {
        dst: ROut(0),
        constant: ConstId(id),
    };
    for id in 0..2 {
        assert_eq!(messages(module(&[constant(id), Op::Ret {}])), [""; 0]);
    }
    check(&[constant(2), Op::Ret {}], "no constant has the index 2");
    let mut wrong = module(&[
        Op::Data {
            dst: ROut(0),
            constant: ConstId(2),
        },
        Op::Ret {},
    ]);
    wrong.constants.push(Constant::Refs(Vec::new()));
    assert_eq!(messages(wrong), ["constant 2 is no array of numbers"]);
}
