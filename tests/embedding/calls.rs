//! Functions called with Rust's types, and calls that make no sense.

use vm::isa::Signature;
use vm::{
    Access, CallError, Kind, ObjectError, Outcome, Program, Root, RootError, RunError, Value, Vm,
    VmConfig,
};

use crate::support::{machine, verified};
use crate::{machine_with, quiet, stressed};

const TEXT: &str = "
    export fun area(width: i, height: i) -> i {
        x = mul width, height
        ret x
    }
    export fun greet(greeting: r, name: r) -> r {
        both = cat greeting, name
        ret both
    }
    export fun split(whole: i, text: r) -> (i, r, i, r) {
        half = shr whole, 1
        rest = sub whole, half
        copy = cat text, text
        ret half, text, rest, copy
    }
    export fun half(x: i) -> i {
        two = 2.0
        y = fdiv x, two
        ret y
    }
    export fun adder(n: i) -> r {
        f = closure inner, [], [n]
        ret f
    }
    closure fun inner{n: i}(x: i) -> i {
        n = cap n
        x = add x, n
        ret x
    }
    export fun leave(code: i) -> i {
        call exit(code)
        ret code
    }
    export fun fail(p: r) -> i {
        raise p
    }
    fun main() {
        ret
    }";

#[test]
fn typed_functions_take_and_give_rust_types() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine(TEXT, config);
        let area = vm.typed::<(i64, i64), i64>("area").expect("it fits");
        assert_eq!(area.call(&mut vm, (6, 7)), Ok(42));
        let half = vm.typed::<(f64,), f64>("half").expect("doubles are bits");
        assert_eq!(half.call(&mut vm, (5.0,)), Ok(2.5));
        let greet = vm
            .typed::<(&str, String), String>("greet")
            .expect("it fits");
        let greeting = greet.call(&mut vm, ("good ", "morning".into()));
        assert_eq!(greeting.as_deref(), Ok("good morning"));
        let split = vm.typed::<(u32, &[u8]), (i32, i64, Vec<u8>, Root)>("split");
        let split = split.expect("classes keep their own order");
        let (low, high, text, twice) = split.call(&mut vm, (9, b"ab")).expect("it runs");
        assert_eq!((low, high, text.as_slice()), (4, 5, &b"ab"[..]));
        assert_eq!(vm.bytes(&twice), Ok(&b"abab"[..]));
    }
}

#[test]
fn a_result_that_rust_cannot_hold_is_an_error() {
    let mut vm = machine(TEXT, VmConfig::default());
    let area = vm.typed::<(i64, i64), u8>("area").expect("it fits");
    assert_eq!(area.call(&mut vm, (5, 5)), Ok(25));
    let error = area.call(&mut vm, (50, 50)).expect_err("2500 is no byte");
    assert_eq!(error.to_string(), "the Rust type does not hold 2500");
    let greet = vm.typed::<(&[u8], &str), String>("greet").expect("it fits");
    let error = greet.call(&mut vm, (b"\xff", "")).expect_err("no UTF-8");
    let wanted = RunError::Call(CallError::Object(ObjectError::NotUtf8));
    assert_eq!(error, wanted);
}

#[test]
fn lookups_that_find_nothing_that_fits_say_why() {
    let vm = machine(TEXT, VmConfig::default());
    let text = |error: CallError| error.to_string();
    let missing = vm.typed::<(), ()>("areas").map(|_| ());
    assert_eq!(
        missing.map_err(text),
        Err("the program has no function named `areas`".into())
    );
    let other = vm.typed::<(i64, &str), f64>("area").map(|_| ());
    assert_eq!(
        other.map_err(text),
        Err("the function `area` is (i, i) -> (i), not (i, r) -> (i)".into())
    );
    let inner = vm.typed::<(i64,), i64>("inner").map(|_| ());
    assert_eq!(
        inner.map_err(text),
        Err("the function `inner` is called through closures only".into())
    );
    let area = Access::function(&vm, "area").expect("it is there");
    assert_eq!(vm.module().functions[area as usize].name, "area");
}

#[test]
fn wrong_calls_are_errors_and_the_machine_goes_on() {
    let mut vm = machine(TEXT, VmConfig::default());
    let n_functions = vm.module().functions.len() as u32;
    let area = vm.function("area").expect("the function");
    let greet = vm.function("greet").expect("the function");
    let inner = vm.function("inner").expect("the function");
    let ints = |int_params: u8, ref_params: u8| Signature {
        int_params,
        ref_params,
        int_results: 1,
        ref_results: 0,
    };
    let wrong = [
        (n_functions, vec![], CallError::NoFunction(n_functions)),
        (u32::MAX, vec![1], CallError::NoFunction(u32::MAX)),
        (inner, vec![1], CallError::NeedsCaptures("inner".into())),
        (
            area,
            vec![1],
            CallError::Signature {
                function: "area".into(),
                wanted: ints(1, 0),
                offered: ints(2, 0),
            },
        ),
    ];
    for (function, arguments, error) in wrong {
        assert_eq!(
            vm.call(function, &arguments),
            Err(RunError::Call(error.clone()))
        );
        let values: Vec<Value> = arguments.iter().map(|&int| Value::Int(int)).collect();
        assert_eq!(vm.invoke(function, &values), Err(RunError::Call(error)));
    }
    assert!(matches!(
        vm.call(greet, &[]),
        Err(RunError::Call(CallError::Signature { .. }))
    ));
    assert_eq!(vm.call(area, &[2, 3]), Ok(Outcome::Returned(vec![6])));
}

#[test]
fn a_function_of_another_program_is_refused() {
    let mut vm = machine(TEXT, VmConfig::default());
    let other = machine(TEXT, VmConfig::default());
    let area = other.typed::<(i64, i64), i64>("area").expect("it fits");
    assert_eq!(
        area.call(&mut vm, (1, 1)),
        Err(RunError::Call(CallError::OtherProgram))
    );
    let program = Program::new(verified(TEXT));
    let make = || Vm::new(&program, quiet(), VmConfig::default()).expect("a machine");
    let area = make().typed::<(i64, i64), i64>("area").expect("it fits");
    assert_eq!(area.call(&mut make(), (3, 3)), Ok(9), "machines may differ");
}

#[test]
fn an_argument_of_another_machine_is_refused() {
    let mut vm = machine(TEXT, VmConfig::default());
    let mut other = machine(TEXT, VmConfig::default());
    let foreign = other.new_text("foreign").expect("there is memory");
    let greet = vm.typed::<(&str, &Root), String>("greet").expect("it fits");
    let wanted = CallError::Object(ObjectError::Root(RootError::Foreign));
    for _ in 0..2 {
        let result = greet.call(&mut vm, ("hello ", &foreign));
        assert_eq!(result, Err(RunError::Call(wanted.clone())));
    }
    let own = vm.new_text("own").expect("there is memory");
    let result = greet.call(&mut vm, ("hello ", &own));
    assert_eq!(
        result.as_deref(),
        Ok("hello own"),
        "nothing was left behind"
    );
}

#[test]
fn values_without_types_go_in_and_come_out() {
    let mut vm = machine(TEXT, VmConfig::default());
    let split = vm.function("split").expect("the function");
    let text = vm.new_text("x").expect("there is memory");
    let values = vm.invoke(split, &[Value::Int(3), Value::Ref(text.clone())]);
    let values = values.expect("it runs");
    let [
        Value::Int(1),
        Value::Int(2),
        Value::Ref(same),
        Value::Ref(twice),
    ] = &values[..]
    else {
        panic!("{values:?}");
    };
    assert_eq!(vm.is_same(same, &text), Ok(true));
    assert_eq!(vm.bytes(twice), Ok(&b"xx"[..]));
    let half = vm.function("half").expect("the function");
    let bits = 0.5_f64.to_bits() as i64;
    assert_eq!(
        vm.invoke(half, &[Value::Float(1.0)]),
        Ok(vec![Value::Int(bits)])
    );
}

#[test]
fn closures_are_made_called_and_looked_into() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine(TEXT, config);
        let adder = vm.typed::<(i64,), Root>("adder").expect("it fits");
        let add_five = adder.call(&mut vm, (5,)).expect("it runs");
        assert_eq!(vm.call_closure::<_, i64>(&add_five, (37,)), Ok(42));
        let inner = vm.function("inner").expect("the function");
        assert_eq!(vm.kind(&add_five), Ok(Kind::Closure(inner)));
        assert_eq!(vm.ints(&add_five), Ok(&[5][..]));
        let add_one = vm.new_closure(inner, &[], &[1]).expect("it captures one");
        assert_eq!(vm.call_closure::<_, i64>(&add_one, (1,)), Ok(2));
        let wrong = vm.new_closure(inner, &[&add_one], &[]);
        assert_eq!(wrong, Err(ObjectError::WrongFields));
        let wrong = vm.call_closure::<(), i64>(&add_one, ());
        assert!(matches!(
            wrong,
            Err(RunError::Call(CallError::Signature { .. }))
        ));
        let text = vm.new_text("no closure").expect("there is memory");
        let wrong = vm.call_closure::<_, i64>(&text, (1,));
        assert_eq!(wrong, Err(RunError::Call(CallError::NoClosure)));
    }
}

#[test]
fn an_exit_is_an_outcome_or_an_error_where_a_result_is_wanted() {
    let mut vm = machine(TEXT, VmConfig::default());
    let leave = vm.function("leave").expect("the function");
    assert_eq!(vm.call(leave, &[3]), Ok(Outcome::ExitCode(3)));
    let leave = vm.typed::<(i64,), i64>("leave").expect("it fits");
    assert_eq!(leave.call(&mut vm, (4,)), Err(RunError::Exit(4)));
}

#[test]
fn an_exception_comes_with_its_object() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine_with(TEXT, quiet(), config);
        let fail = vm.typed::<(&Root,), i64>("fail").expect("it fits");
        let why = vm.new_text("for a reason").expect("there is memory");
        let problem = vm.new_record(9, &[&why], &[77]).expect("there is memory");
        let Err(RunError::Uncaught {
            object: Some(object),
            ..
        }) = fail.call(&mut vm, (&problem,))
        else {
            panic!("it raises");
        };
        assert_eq!(vm.is_same(&object, &problem), Ok(true));
        assert_eq!(vm.ints(&object), Ok(&[77][..]));
    }
}
