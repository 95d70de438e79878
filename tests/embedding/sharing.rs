//! Programs shared by machines and threads; machines handed from thread to thread.

use std::error::Error;
use std::thread;

use vm::host::{HostError, Hosts, LinkError};
use vm::isa::Signature;
use vm::module::{Module, write};
use vm::{
    Access, CallError, Interrupt, ObjectError, Outcome, Program, ProgramError, Root, RootError,
    RunError, Trap, TypedFunction, Vm, VmConfig, VmError,
};

use crate::quiet;
use crate::support::{module_of, verified};

const SUM: &str = "
    export fun sum(n: i) -> i {
        total = 0
    again:
        jeq n, 0, done
        total = add total, n
        n = sub n, 1
        jmp again
    done:
        ret total
    }
    export fun name() -> r {
        s = \"a constant\"
        ret s
    }
    fun main() {
        ret
    }";

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn machines_and_handles_can_be_sent_and_programs_shared() {
    is_send::<Vm>();
    is_send::<Hosts>();
    is_send::<Root>();
    is_sync::<Root>();
    is_send::<Program>();
    is_sync::<Program>();
    is_send::<Interrupt>();
    is_send::<TypedFunction<(i64, String), Root>>();
    is_sync::<TypedFunction<(i64, String), Root>>();
}

#[test]
fn every_error_is_a_standard_error() {
    fn is_error<T: Error + Send + Sync + 'static>() {}
    is_error::<VmError>();
    is_error::<RunError>();
    is_error::<CallError>();
    is_error::<ObjectError>();
    is_error::<RootError>();
    is_error::<HostError>();
    is_error::<LinkError>();
    is_error::<ProgramError>();
    is_error::<Trap>();
    is_error::<vm::OutOfMemory>();
    is_error::<vm::HoldError>();
    is_error::<vm::UnitError>();
    is_error::<vm::memprof::MemprofError>();
}

#[test]
fn one_program_runs_on_several_threads_at_once() {
    let program = Program::new(verified(SUM));
    let threads: Vec<_> = (1..5_i64)
        .map(|number| {
            let program = program.clone();
            thread::spawn(
                move || -> Result<(i64, String), Box<dyn Error + Send + Sync>> {
                    let mut vm = Vm::new(&program, quiet(), VmConfig::default())?;
                    let sum = vm.typed::<(i64,), i64>("sum")?;
                    let name = vm.typed::<(), String>("name")?;
                    let total = sum.call(&mut vm, (number * 1000,))?;
                    Ok((total, name.call(&mut vm, ())?))
                },
            )
        })
        .collect();
    for (number, thread) in (1..).zip(threads) {
        let (total, name) = thread.join().expect("no panic").expect("it runs");
        let n = number * 1000;
        assert_eq!((total, name.as_str()), (n * (n + 1) / 2, "a constant"));
    }
}

#[test]
fn a_machine_goes_on_in_another_thread_with_what_it_holds() {
    let program = Program::new(verified(SUM));
    let mut vm = Vm::new(&program, quiet(), VmConfig::default()).expect("a machine");
    let text = vm.new_text("handed over").expect("there is memory");
    let (mut vm, text) = thread::spawn(move || {
        let sum = vm.typed::<(i64,), i64>("sum").expect("the function");
        assert_eq!(sum.call(&mut vm, (4,)), Ok(10));
        (vm, text)
    })
    .join()
    .expect("no panic");
    assert_eq!(vm.bytes(&text), Ok(&b"handed over"[..]));
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
}

#[test]
fn constants_outlive_the_program_that_made_them() {
    let mut vm = {
        let program = Program::new(verified(SUM));
        Vm::new(&program, quiet(), VmConfig::default()).expect("a machine")
    };
    let name = vm.typed::<(), Root>("name").expect("the function");
    let first = name.call(&mut vm, ()).expect("it runs");
    let second = name.call(&mut vm, ()).expect("it runs");
    assert_eq!(vm.is_same(&first, &second), Ok(true), "one object");
    assert_eq!(vm.bytes(&first), Ok(&b"a constant"[..]));
}

#[test]
fn a_program_is_made_of_bytes_or_refused_with_its_reasons() {
    let bytes = write(&module_of(SUM));
    let program = Program::from_bytes(&bytes).expect("what was written is read");
    assert!(Vm::new(&program, quiet(), VmConfig::default()).is_ok());
    let error = Program::from_bytes(&bytes[..bytes.len() / 2]).expect_err("a half");
    assert!(matches!(error, ProgramError::Read(_)));
    assert!(error.source().is_some());
    let error = Program::from_module(Module::default()).expect_err("no function");
    assert!(matches!(&error, ProgramError::Verify(errors) if errors.len() == 1));
    assert_eq!(
        error.to_string(),
        error.source().expect("the first reason").to_string()
    );
}

#[test]
fn what_cannot_be_linked_is_named_with_both_signatures() {
    let text = "fun main() {\n i = 1\n x = call twice(i)\n ret\n}
        host twice(i) -> (i)";
    let program = Program::new(verified(text));
    let error = Vm::new(&program, quiet(), VmConfig::default()).expect_err("nobody offers it");
    let int_to_int = Signature {
        int_params: 1,
        int_results: 1,
        ..Signature::default()
    };
    let missing = LinkError::Missing {
        name: "twice".into(),
        wanted: int_to_int,
    };
    assert_eq!(error, VmError::Link(missing));
    let text = "no host function is named `twice`; the program wants (i) -> (i)";
    assert_eq!(error.to_string(), text);
    let mut hosts = quiet();
    hosts.wrap("twice", |text: &str| text.len() as i64);
    let error = Vm::new(&program, hosts, VmConfig::default()).expect_err("it wants a string");
    let text = "the host function `twice` is (r) -> (i), not (i) -> (i)";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.source().expect("why").to_string(), text);
}

/// The memory of stacks is kept for the next machine, which must not see what was there.
#[test]
fn a_machine_sees_nothing_of_those_before() {
    let text = "
        host look()
        fun deep(n: i, secret: i) {
            jeq n, 0, done
            copy = new 1, [], [secret]
            n = sub n, 1
            call deep(n, secret)
            p = ld_i copy, 0
        done:
            ret
        }
        export fun leave(secret: i) {
            n = 40
            call deep(n, secret)
            ret
        }
        export fun see() {
            call look()
            ret
        }
        fun main() {
            ret
        }";
    let program = Program::new(verified(text));
    for secret in 1..20 {
        let mut hosts = quiet();
        hosts.offer("look", Signature::default(), |call| {
            let (ints, refs) = (call.caller_ints(255), call.caller_refs(255, 10));
            assert!(ints.iter().all(|&int| int == 0), "{ints:?}");
            assert_eq!(refs.objects, [], "{refs:?}");
            Ok(())
        });
        let mut vm = Vm::new(&program, hosts, VmConfig::default()).expect("a machine");
        let see = vm.typed::<(), ()>("see").expect("it fits");
        let leave = vm.typed::<(i64,), ()>("leave").expect("it fits");
        see.call(&mut vm, ()).expect("nothing is there");
        leave.call(&mut vm, (secret << 40,)).expect("it runs");
    }
}
