//! Host functions that call back into the machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use profiler::{Kind, Style};
use vm::host::{HostCall, HostError, Hosts};
use vm::memprof::MemprofConfig;
use vm::{Access, CallError, Interrupt, Outcome, Root, RunError, Trap, Vm, VmConfig};

use crate::support::lock::Lock;
use crate::support::{Deaf, module_of, profile, signal};
use crate::{machine_with, quiet, stressed};

const TEXT: &str = "
    host map(r, r) -> (r)
    host twice(r, i) -> (i)
    host act()
    export fun doubled(array: r) -> r {
        f = closure double, [], []
        array = call map(f, array)
        ret array
    }
    closure fun double{}(x: r) -> r {
        n = ld_i x, 0
        n = add n, n
        x = new 1, [x], [n]
        ret x
    }
    export fun nested(n: i) -> i {
        f = closure deeper, [], []
        n = call twice(f, n)
        ret n
    }
    closure fun deeper{}(n: i) -> i {
        jeq n, 0, done
        m = sub n, 1
        f = closure deeper, [], []
        k = call twice(f, m)
        k = add k, 1
        ret k
    done:
        ret 0
    }
    export fun endless(n: i) -> i {
        f = closure more, [], []
        n = call twice(f, n)
        ret n
    }
    closure fun more{}(n: i) -> i {
        f = closure more, [], []
        n = call twice(f, n)
        ret n
    }
    export fun safe() -> i {
        f = closure raising, [], []
        n = 5
        try caught(e) {
            n = call twice(f, n)
        }
        ret n
    caught:
        n = ld_i e, 0
        ret n
    }
    export fun unsafe() -> i {
        f = closure raising, [], []
        n = 6
        n = call twice(f, n)
        ret n
    }
    closure fun raising{}(n: i) -> i {
        e = new 8, [], [n]
        raise e
    }
    export fun leaving() -> i {
        f = closure exiting, [], []
        n = 7
        n = call twice(f, n)
        ret n
    }
    closure fun exiting{}(n: i) -> i {
        call exit(n)
        ret n
    }
    export fun looping() -> i {
        f = closure looper, [], []
        n = 1
        n = call twice(f, n)
        ret n
    }
    closure fun looper{}(n: i) -> i {
        call act()
    again:
        n = add n, 1
        jmp again
    }
    export fun acting() -> i {
        f = closure actor, [], []
        n = 1
        n = call twice(f, n)
        ret n
    }
    closure fun actor{}(n: i) -> i {
        call act()
        p = new 4, [], [n]
        ret n
    }
    fun main() {
        ret
    }";

/// Hosts with `map`, which calls a closure for each element, `twice`, which calls one twice and
/// adds up, and `act`, which does this.
fn hosts(act: impl Fn() + Send + 'static) -> Hosts {
    let mut hosts = quiet();
    hosts.wrap("map", |call: &mut HostCall, f: Root, array: Root| {
        let elements = call.refs(&array)?;
        let mapped = elements
            .into_iter()
            .map(|element| call.call_closure(&f, (element,)));
        let mapped: Vec<Root> = mapped.collect::<Result<_, RunError>>()?;
        let mapped: Vec<&Root> = mapped.iter().collect();
        call.new_ref_array(&mapped).map_err(HostError::from)
    });
    hosts.wrap(
        "twice",
        |call: &mut HostCall, f: Root, n: i64| -> Result<i64, HostError> {
            let one: i64 = call.call_closure(&f, (n,))?;
            let other: i64 = call.call_closure(&f, (n,))?;
            Ok(one + other)
        },
    );
    hosts.wrap("act", act);
    hosts
}

fn call(vm: &mut Vm, name: &str) -> Result<i64, RunError> {
    let function = vm.typed::<(), i64>(name)?;
    function.call(vm, ())
}

#[test]
fn closures_are_called_with_objects_that_collections_move() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine_with(TEXT, hosts(|| ()), config);
        let doubled = vm.typed::<(&Root,), Root>("doubled").expect("it fits");
        let cells = (0..50).map(|n| vm.new_record(1, &[], &[n]).expect("memory"));
        let cells: Vec<Root> = cells.collect();
        let cells: Vec<&Root> = cells.iter().collect();
        let array = vm.new_ref_array(&cells).expect("there is memory");
        let result = doubled.call(&mut vm, (&array,)).expect("it runs");
        for (n, cell) in (0..).zip(vm.refs(&result).expect("an array")) {
            assert_eq!(vm.ints(&cell), Ok(&[2 * n][..]));
            let inner = vm.get_ref(&cell, 0).expect("its argument");
            assert_eq!(vm.is_same(&inner, cells[n as usize]), Ok(true));
        }
    }
}

#[test]
fn calls_back_nest_and_host_functions_may_be_entered_again() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine_with(TEXT, hosts(|| ()), config);
        let nested = vm.typed::<(i64,), i64>("nested").expect("it fits");
        // f(n) = 2 g(n), g(0) = 0, g(n) = 2 g(n - 1) + 1, so g(n) = 2^n - 1.
        assert_eq!(nested.call(&mut vm, (8,)), Ok(510));
    }
}

#[test]
fn calls_back_without_end_meet_a_limit_before_the_native_stack_does() {
    let mut vm = machine_with(TEXT, hosts(|| ()), VmConfig::default());
    let endless = vm.typed::<(i64,), i64>("endless").expect("it fits");
    let error = endless.call(&mut vm, (1,)).expect_err("it has no end");
    let limit = CallError::TooDeep { limit: 128 }.to_string();
    assert!(error.to_string().ends_with(&limit), "{error}");
    assert_eq!(call(&mut vm, "safe"), Ok(5), "the machine goes on");
}

#[test]
fn a_full_stack_ends_a_call_back_and_its_caller() {
    let config = VmConfig {
        stack_bytes: 64 << 10,
        ..VmConfig::default()
    };
    let mut vm = machine_with(TEXT, hosts(|| ()), config);
    let endless = vm.typed::<(i64,), i64>("endless").expect("it fits");
    assert!(matches!(
        endless.call(&mut vm, (1,)),
        Err(RunError::Trap {
            trap: Trap::StackOverflow { .. },
            ..
        })
    ));
    assert_eq!(call(&mut vm, "safe"), Ok(5), "the machine goes on");
}

#[test]
fn an_exception_goes_through_a_host_function_as_the_same_object() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine_with(TEXT, hosts(|| ()), config);
        assert_eq!(call(&mut vm, "safe"), Ok(5));
        let Err(error) = call(&mut vm, "unsafe") else {
            panic!("nobody handles it");
        };
        let RunError::Uncaught { object, .. } = &error else {
            panic!("{error}");
        };
        let object = object.clone().expect("the exception");
        assert_eq!(vm.ints(&object), Ok(&[6][..]));
        // It was raised again where the host function was called.
        let text = vm.describe_error(&error);
        assert!(text.contains("in unsafe"), "{text}");
    }
}

#[test]
fn an_exit_goes_through_a_host_function() {
    let mut vm = machine_with(TEXT, hosts(|| ()), VmConfig::default());
    assert_eq!(call(&mut vm, "leaving"), Err(RunError::Exit(7)));
    let leaving = vm.function("leaving").expect("the function");
    assert_eq!(vm.call(leaving, &[]), Ok(Outcome::ExitCode(7)));
}

#[test]
fn an_interrupt_ends_a_call_back_and_its_caller_with_the_whole_backtrace() {
    let asked: Arc<Lock<Option<Interrupt>>> = Arc::default();
    let interrupt = asked.clone();
    let act = move || {
        if let Some(interrupt) = &*interrupt.borrow() {
            interrupt.raise(signal(3));
        }
    };
    let mut vm = machine_with(TEXT, hosts(act), VmConfig::default());
    asked.set(Some(vm.interrupt()));
    let error = call(&mut vm, "looping").expect_err("it is interrupted");
    assert!(matches!(
        &error,
        RunError::Trap {
            trap: Trap::Interrupted(3),
            ..
        }
    ));
    let text = vm.describe_error(&error);
    let (inner, outer) = (text.find("in looper"), text.find("in looping"));
    assert!(inner.is_some() && inner < outer, "{text}");
    assert_eq!(call(&mut vm, "safe"), Ok(5), "the machine goes on");
}

#[test]
fn a_panic_goes_through_all_levels_to_whoever_called_the_machine() {
    let is_armed = Arc::new(Lock::new(true));
    let armed = is_armed.clone();
    let act = move || assert!(!armed.get(), "by design");
    let mut vm = machine_with(TEXT, hosts(act), VmConfig::default());
    let result = catch_unwind(AssertUnwindSafe(|| call(&mut vm, "acting")));
    assert!(result.is_err(), "the panic goes on");
    is_armed.set(false);
    assert_eq!(call(&mut vm, "acting"), Ok(2), "the machine goes on");
    assert_eq!(call(&mut vm, "safe"), Ok(5));
}

#[test]
fn a_function_that_changes_what_it_captures_is_not_entered_again() {
    let text = "
        host count(r) -> (i)
        closure fun again{}() -> i {
            f = closure again, [], []
            n = call count(f)
            ret n
        }
        fun main() -> i {
            f = closure again, [], []
            n = call count(f)
            ret n
        }";
    let signature = vm::isa::Signature {
        ref_params: 1,
        int_results: 1,
        ..Default::default()
    };
    let mut hosts = quiet();
    let mut n_calls = 0;
    hosts.offer("count", signature, move |call| {
        n_calls += 1;
        let closure = call.root(0)?;
        let result = call.call_closure::<(), i64>(&closure, ());
        let error = result.expect_err("it is running");
        assert!(
            error.to_string().contains("`count` is called again"),
            "{error}"
        );
        call.set_int(0, n_calls);
        Ok(())
    });
    let mut vm = machine_with(text, hosts, VmConfig::default());
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![1])));
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![2])));
}

/// The counts of sources by name, with what the machine allocated.
fn counted(kinds: &str, style: Style, config: VmConfig) -> (Vec<(String, u64)>, u64, u64) {
    let module = module_of(TEXT);
    let sources = module.source_map();
    let profile = profile(kinds, &module);
    let profile = Arc::into_inner(profile).expect("nobody else has it");
    let profile = Arc::new(profile.with_style(style));
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..config
    };
    let mut vm = machine_with(TEXT, hosts(|| ()), config);
    let nested = vm.typed::<(i64,), i64>("nested").expect("it fits");
    assert_eq!(nested.call(&mut vm, (5,)), Ok(62));
    assert_eq!(call(&mut vm, "acting"), Ok(2));
    assert_eq!(call(&mut vm, "safe"), Ok(5));
    let kind = if kinds == "count" {
        Kind::Count
    } else {
        Kind::Alloc
    };
    let counts = profile.data().counts(kind);
    let named = counts.sources.iter().enumerate().map(|(index, &count)| {
        let name = sources.names[sources.sources[index].name.index()].clone();
        (
            name.split('\t').next().unwrap_or_default().to_owned(),
            count,
        )
    });
    let named = named.filter(|(_, count)| *count > 0).collect();
    (named, counts.totals.total, vm.allocated_bytes())
}

#[test]
fn profiles_are_exact_where_host_functions_call_back() {
    for style in [Style::Current, Style::Stack] {
        for config in [VmConfig::default(), stressed()] {
            let (named, total, allocated) = counted("alloc", style, config.clone());
            assert_eq!(total, allocated, "{named:?}");
            let bytes = |name: &str| {
                named
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|one| one.1)
            };
            // Two of 16 bytes, and one closure of 16 for each of 31 calls that go on.
            assert_eq!(bytes("actor"), Some(32), "{named:?} {style:?}");
            assert_eq!(bytes("deeper"), Some(16 * 62), "{named:?} {style:?}");
            assert_eq!(bytes("raising"), Some(16), "{named:?} {style:?}");
            let (named, ..) = counted("count", style, config);
            let calls = |name: &str| {
                named
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|one| one.1)
            };
            assert_eq!(calls("deeper"), Some(126), "{named:?} {style:?}");
            assert_eq!(calls("actor"), Some(2), "{named:?} {style:?}");
            assert_eq!(calls("raising"), Some(1), "{named:?} {style:?}");
        }
    }
}

#[test]
fn samples_within_calls_back_see_the_whole_stack() {
    let mut vm = machine_with(TEXT, hosts(|| ()), VmConfig::default());
    let config = MemprofConfig {
        rate: 1.0,
        ..MemprofConfig::default()
    };
    vm.memprof_start(config, Box::new(Deaf)).expect("it starts");
    let nested = vm.typed::<(i64,), i64>("nested").expect("it fits");
    // As deep as calls back go, so that frames have barriers.
    assert_eq!(nested.call(&mut vm, (10,)), Ok(2046));
    assert_eq!(call(&mut vm, "safe"), Ok(5));
    assert!(call(&mut vm, "unsafe").is_err());
    assert_eq!(nested.call(&mut vm, (3,)), Ok(14));
}
