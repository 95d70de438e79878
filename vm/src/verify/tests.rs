//! One case for each message of the verifier: a function, and what is wrong with it.

mod constants;

use profiler::{NameId, Source, SourceMap, SourceSeqId};

use super::verify;
use crate::isa::*;
use crate::module::*;

/// A module whose entry function consists of these ops; more functions and tables to refer to
/// stand around it.
fn module(ops: &[Op]) -> Module {
    let mut sources = SourceMap::new();
    for name in ["s3\tx: 1", "s4\tx: 2"] {
        sources.names.push(name.into());
        let name = NameId(sources.names.len() as u32 - 1);
        sources.sources.push(Source {
            name,
            successors: SourceSeqId::EMPTY,
        });
    }
    let closure = Function {
        captures: Some(Captures { refs: 1, ints: 0 }),
        ..function("closure", &[Op::Ret {}])
    };
    let wide = Signature {
        int_params: 255,
        ref_params: 255,
        ..Signature::default()
    };
    Module {
        functions: vec![
            function("main", ops),
            closure,
            Function {
                signature: wide,
                ..function("wide", &[Op::Ret {}])
            },
            Function {
                signature: ONE_RESULT,
                ..function("result", &[int(0), Op::Ret {}])
            },
        ],
        constants: vec![Constant::Text(b"text".to_vec()), Constant::Ints(vec![1])],
        hosts: vec![HostImport {
            name: "host".into(),
            signature: Signature::default(),
        }],
        sources,
        ..Module::default()
    }
}

const ONE_RESULT: Signature = Signature {
    int_params: 0,
    ref_params: 0,
    int_results: 1,
    ref_results: 0,
};

fn function(name: &str, ops: &[Op]) -> Function {
    let mut code = Vec::new();
    ops.iter().for_each(|op| op.encode(&mut code));
    Function {
        name: name.into(),
        code,
        ..Function::default()
    }
}

fn int(register: u8) -> Op {
    Op::Int {
        dst: IOut(register),
        value: Int64(0),
    }
}

fn enter(source: u32) -> Op {
    Op::Enter {
        source: SourceRef(source),
    }
}

fn leave(source: u32) -> Op {
    Op::Leave {
        source: SourceRef(source),
    }
}

fn call(function: u32, ints: u8, refs: u8) -> Op {
    Op::Call {
        function: FuncId(function),
        ints: IWindow(ints),
        refs: RWindow(refs),
    }
}

/// An op that may raise, seven bytes long.
fn host() -> Op {
    Op::CallHost {
        host: HostId(0),
        ints: IWindow(0),
        refs: RWindow(0),
    }
}

fn messages(module: Module) -> Vec<String> {
    match verify(module) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .into_iter()
            .map(|error| error.kind.to_string())
            .collect(),
    }
}

#[track_caller]
fn check(ops: &[Op], expected: &str) {
    assert_eq!(messages(module(ops)), [expected]);
}

#[test]
fn good_code_passes() {
    let ops = [enter(3), enter(4), leave(4), int(0), leave(3), Op::Ret {}];
    assert_eq!(messages(module(&ops)), [""; 0]);
}

#[test]
fn indices_must_name_something() {
    let text = |constant| Op::Text {
        dst: ROut(0),
        constant: ConstId(constant),
    };
    let data = |constant| Op::Data {
        dst: ROut(0),
        constant: ConstId(constant),
    };
    let host = Op::CallHost {
        host: HostId(1),
        ints: IWindow(0),
        refs: RWindow(0),
    };
    let cases = [
        (text(2), "no constant has the index 2"),
        (text(1), "constant 1 is no string"),
        (data(0), "constant 0 is no array of numbers"),
        (call(9, 1, 0), "no function has the index 9"),
        (host, "no host function has the index 1"),
        (enter(9), "no source has the index 9"),
        (enter(0), "source 0 is the machine's own"),
        (leave(1), "source 1 is the machine's own"),
    ];
    for (op, expected) in cases {
        check(&[op, Op::Ret {}], expected);
    }
}

#[test]
fn closures_must_fit_their_function() {
    let closure = |function, refs: &[u8]| Op::Closure {
        dst: ROut(0),
        function: FuncId(function),
        refs: RRegs(refs.into()),
        ints: IRegs(RegisterList::new()),
    };
    let null = Op::Null { dst: ROut(0) };
    let cases = [
        (
            closure(0, &[]),
            "`main` is not declared as a closure's function",
        ),
        (
            closure(1, &[]),
            "`closure` captures 1 references and 0 integers, not 0 and 0",
        ),
        (
            call(1, 1, 0),
            "`closure` is a closure's function; call a closure",
        ),
        (
            Op::TailCall {
                function: FuncId(1),
            },
            "`closure` is a closure's function; call a closure",
        ),
    ];
    for (op, expected) in cases {
        check(&[null.clone(), op, Op::Ret {}], expected);
    }
}

#[test]
fn calls_must_have_room_and_move() {
    let wide = Signature {
        int_params: 0,
        ref_params: 255,
        ..Signature::default()
    };
    let call_closure = Op::CallClosure {
        closure: RIn(0),
        sig: Sig(wide),
        ints: IWindow(1),
        refs: RWindow(1),
    };
    let cases = [
        (call(2, 2, 0), "the window at i2 has no room for "),
        (call(2, 0, 2), "the window at r2 has no room for "),
        (call_closure, "the window at r1 has no room for "),
        (
            call(3, 0, 0),
            "a call's windows must not both start at register 0",
        ),
    ];
    for (op, expected) in cases {
        let found = messages(module(&[op, Op::Ret {}]));
        assert!(found[0].starts_with(expected), "{found:?}");
    }
}

#[test]
fn a_tail_call_must_return_what_its_function_does() {
    let sig = Sig(ONE_RESULT);
    let expected = "a tail call of () -> (i) cannot return the results of () -> ()";
    check(
        &[Op::TailCall {
            function: FuncId(3),
        }],
        expected,
    );
    let null = Op::Null { dst: ROut(0) };
    check(
        &[
            null,
            Op::TailCallClosure {
                closure: RIn(0),
                sig,
            },
        ],
        expected,
    );
}

#[test]
fn control_must_stay_inside() {
    check(&[], "the function is empty");
    check(&[int(0)], "control runs off the end of the function");
    check(
        &[Op::Jmp { target: Target(1) }],
        "the target 0x1 is not the offset of an op",
    );
    let targets = Targets([0, 99].into_iter().collect());
    let switch = Op::Switch {
        index: IIn(0),
        targets,
    };
    check(
        &[int(0), switch, Op::Ret {}],
        "the target 0x63 is not the offset of an op",
    );
    let mut broken = module(&[Op::Ret {}]);
    broken.functions[0].code = vec![0xff];
    assert_eq!(
        messages(broken),
        ["offset 0x0: no opcode has the byte 0xff"]
    );
}

#[test]
fn bit_counts_have_bounds() {
    for bits in [0, 65, -1] {
        let op = Op::SExt {
            dst: IOut(0),
            src: IIn(0),
            bits: Int32(bits),
        };
        check(
            &[int(0), op, Op::Ret {}],
            &format!("{bits} bits; from 1 to 64 can be kept"),
        );
    }
}

#[test]
fn registers_must_be_written_before_they_are_read() {
    check(
        &[
            Op::Mov {
                dst: IOut(1),
                src: IIn(0),
            },
            Op::Ret {},
        ],
        "i0 may be read before it is written",
    );
    check(
        &[
            Op::RMov {
                dst: ROut(1),
                src: RIn(7),
            },
            Op::Ret {},
        ],
        "r7 may be read before it is written",
    );
    // Written on one of two paths only.
    let jump = Op::JeqImm {
        lhs: IIn(0),
        rhs: Int32(0),
        target: Target(30),
    };
    let read = Op::Mov {
        dst: IOut(0),
        src: IIn(1),
    };
    check(
        &[int(0), jump, int(1), read, Op::Ret {}],
        "i1 may be read before it is written",
    );
    // Written, but above a call's window since.
    let ops = [
        int(5),
        call(3, 1, 0),
        Op::Mov {
            dst: IOut(0),
            src: IIn(5),
        },
        Op::Ret {},
    ];
    check(&ops, "i5 may be read before it is written");
    // A result that is not there.
    let mut module = module(&[Op::Ret {}]);
    module.functions[3] = Function {
        signature: ONE_RESULT,
        ..function("result", &[Op::Ret {}])
    };
    assert_eq!(messages(module), ["i0 may be read before it is written"]);
}

#[test]
fn sources_must_nest() {
    check(
        &[leave(3), Op::Ret {}],
        "unmatched leave: no source is open",
    );
    check(
        &[enter(3), enter(4), leave(3), leave(4), Op::Ret {}],
        "mismatched leave: source 4 was opened last, not 3",
    );
    check(
        &[enter(3), Op::Ret {}],
        "nonempty sources when leaving function",
    );
    check(
        &[
            Op::Null { dst: ROut(0) },
            enter(3),
            Op::Raise { exception: RIn(0) },
        ],
        "nonempty sources when leaving function",
    );
    check(
        &[enter(3), Op::MatchFail {}],
        "nonempty sources when leaving function",
    );
    let jump = Op::JeqImm {
        lhs: IIn(0),
        rhs: Int32(0),
        target: Target(25),
    };
    check(
        &[int(0), jump, enter(3), Op::Ret {}],
        "mismatched block: paths with different open sources join here",
    );
}

/// `main` with ops of known offsets and one handler range.
fn handled(ops: &[Op], start: u32, end: u32, target: u32) -> Module {
    let mut module = module(ops);
    module.functions[0].handlers.push(HandlerRange {
        start,
        end,
        target,
        register: 0,
    });
    module
}

#[test]
fn handlers_must_cover_and_start_at_ops() {
    let ops = [int(0), int(1), Op::Ret {}];
    let cases = [
        (10, 10, 20, "a handler's range is empty"),
        (1, 10, 20, "a handler's range does not begin and end at ops"),
        (0, 11, 20, "a handler's range does not begin and end at ops"),
        (0, 10, 21, "a handler does not start at an op"),
    ];
    for (start, end, target, expected) in cases {
        assert_eq!(messages(handled(&ops, start, end, target)), [expected]);
    }
}

#[test]
fn a_handler_starts_with_what_its_range_does() {
    // Registers: what the range writes may not have been written.
    let read = Op::Mov {
        dst: IOut(0),
        src: IIn(1),
    };
    let ops = [host(), int(1), Op::Ret {}, read, Op::Ret {}];
    assert_eq!(
        messages(handled(&ops, 0, 17, 18)),
        ["i1 may be read before it is written"]
    );
    // Sources: what is open where the range starts must stay open in it.
    let ops = [enter(3), host(), leave(3), host(), Op::Ret {}, Op::Ret {}];
    let expected = "a source that is open where a handler's range starts is left inside it";
    assert_eq!(messages(handled(&ops, 5, 24, 25)), [expected]);
    // Unless for leaving the function, which raises nothing.
    let ops = [
        enter(3),
        host(),
        leave(3),
        int(0),
        Op::Ret {},
        leave(3),
        Op::Ret {},
    ];
    assert_eq!(messages(handled(&ops, 5, 28, 28)), [""; 0]);
    // A way into the middle of a range that does not pass its start.
    let ops = [
        Op::Jmp { target: Target(12) },
        host(),
        host(),
        Op::Ret {},
        Op::Ret {},
    ];
    let expected = "a handler's range is entered before its first op";
    assert_eq!(messages(handled(&ops, 5, 19, 20)), [expected]);
}

#[test]
fn the_entry_function_takes_and_captures_nothing() {
    let mut with_parameters = module(&[Op::Ret {}]);
    with_parameters.entry = 2;
    assert_eq!(
        messages(with_parameters),
        ["the entry function must have no parameters"]
    );
    let mut of_a_closure = module(&[Op::Ret {}]);
    of_a_closure.entry = 1;
    assert_eq!(
        messages(of_a_closure),
        ["the entry function must not be a closure's"]
    );
    let mut missing = module(&[Op::Ret {}]);
    missing.entry = 99;
    assert_eq!(
        messages(missing),
        ["the module has no function to start with"]
    );
}

#[test]
fn names_and_tables_must_make_sense() {
    let mut twice = module(&[Op::Ret {}]);
    twice.functions[3].name = "main".into();
    assert_eq!(messages(twice), ["two functions are named `main`"]);
    let mut lines = module(&[int(0), Op::Ret {}]);
    lines.functions[0].lines.push(LineEntry {
        offset: 1,
        file: 0,
        line: 1,
    });
    lines.files.push("x".into());
    assert_eq!(
        messages(lines),
        ["a line table names an offset that is no op's"]
    );
    let mut falling = module(&[int(0), Op::Ret {}]);
    falling.files.push("x".into());
    for offset in [10, 0] {
        falling.functions[0].lines.push(LineEntry {
            offset,
            file: 0,
            line: 1,
        });
    }
    assert_eq!(messages(falling), ["a line table's offsets must rise"]);
    let mut file = module(&[Op::Ret {}]);
    file.functions[0].lines.push(LineEntry {
        offset: 0,
        file: 7,
        line: 1,
    });
    assert_eq!(
        messages(file),
        ["a line table names file 7, which does not exist"]
    );
    let mut sources = module(&[Op::Ret {}]);
    sources.sources.names[3].push('\n');
    assert_eq!(messages(sources).len(), 1);
    let mut parameters = module(&[Op::Ret {}]);
    parameters.functions[1].signature.ref_params = 255;
    parameters.functions[1].signature.ref_results = 0;
    assert_eq!(
        messages(parameters),
        [""; 0],
        "255 parameters and the closure are 256 registers"
    );
}

#[test]
fn many_errors_are_cut() {
    let mut broken = module(&[Op::Ret {}]);
    for index in 0..100 {
        broken
            .functions
            .push(function(&format!("f{index}"), &[int(0)]));
    }
    assert_eq!(messages(broken).len(), super::MAX_ERRORS);
}
