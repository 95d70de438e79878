//! Machines under a policy: which host functions ask for what, and what programs see of it.

use std::io;
use std::path::PathBuf;

use vm::host::{
    Denied, HostIo, HostValue, Hosts, Policy, STANDARD, StandardFunction, Touches, ValueKind,
};
use vm::isa::Signature;
use vm::{Outcome, RunError, Vm, VmConfig};

use crate::support::verified;

/// What an embedder offers who says nothing of a policy.
fn hosts() -> Hosts {
    Hosts::standard(HostIo::new(io::empty(), io::sink(), io::sink(), Vec::new()))
}

fn run(text: &str, hosts: Hosts) -> Result<Outcome, RunError> {
    let vm = Vm::new(verified(text), hosts, VmConfig::default());
    vm.expect("a machine can be made").run()
}

/// What a run was denied that it did not handle.
fn denied_by(result: Result<Outcome, RunError>) -> Option<Denied> {
    match result {
        Err(RunError::Uncaught { denied, .. }) => denied,
        _ => None,
    }
}

/// A program that calls a host function once, with zeros and the string `file`.
fn calling(function: &StandardFunction) -> String {
    let literal = |one: &HostValue| match one.kind {
        ValueKind::Int => "0",
        ValueKind::Float => "0.0",
        ValueKind::Ref => "s",
    };
    let arguments: Vec<&str> = function.params.iter().map(literal).collect();
    let results: Vec<String> = (0..function.results.len())
        .map(|k| format!("x{k}"))
        .collect();
    let results = match results.is_empty() {
        true => String::new(),
        false => format!("{} = ", results.join(", ")),
    };
    let (name, arguments) = (function.name, arguments.join(", "));
    format!("fun main() {{\n s = \"file\"\n {results}call {name}({arguments})\n ret\n}}")
}

/// A new host function comes with its class, or the table does not compile; what the class says
/// must be what the function asks for. An embedder who says nothing allows nothing.
#[test]
fn every_standard_function_is_denied_what_its_class_says_to_an_embedder_who_allows_nothing() {
    for function in STANDARD {
        let expected = match function.touches {
            Touches::Nothing | Touches::Streams | Touches::Arguments | Touches::OpenFiles => None,
            Touches::ReadFiles | Touches::ReadAndWrittenFiles => Some(Denied::Read("file".into())),
            Touches::WrittenFiles => Some(Denied::Write("file".into())),
            Touches::Environment => Some(Denied::Environment),
            Touches::Clock => Some(Denied::Clock),
        };
        let result = run(&calling(function), hosts());
        assert_eq!(denied_by(result), expected, "{}", function.name);
    }
}

#[test]
fn each_part_of_the_world_is_given_back_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let allowed = |policy: &Policy| {
        [
            policy.check_read(&file).is_ok(),
            policy.check_write(&file).is_ok(),
            policy.check_environment().is_ok(),
            policy.check_clock().is_ok(),
        ]
    };
    let nothing = Policy::nothing;
    let read = nothing().with_read(folder.path()).expect("a folder");
    let write = nothing().with_write(folder.path()).expect("a folder");
    assert_eq!(allowed(&nothing()), [false; 4]);
    assert_eq!(allowed(&read), [true, false, false, false]);
    assert_eq!(allowed(&write), [false, true, false, false]);
    assert_eq!(
        allowed(&nothing().with_environment()),
        [false, false, true, false]
    );
    assert_eq!(
        allowed(&nothing().with_clock()),
        [false, false, false, true]
    );
    assert_eq!(allowed(&Policy::everything()), [true; 4]);
}

#[test]
fn the_default_policy_allows_nothing() {
    let policy = Policy::default();
    assert_eq!(policy.check_clock(), Err(Denied::Clock));
    assert_eq!(policy.check_environment(), Err(Denied::Environment));
    let root = PathBuf::from("/");
    assert_eq!(policy.check_read(&root), Err(Denied::Read(root.clone())));
    assert_eq!(policy.check_write(&root), Err(Denied::Write(root.clone())));
}

#[test]
fn a_program_can_handle_a_denial_and_go_on() {
    let text = "
        fun main() {
            x = 1
            try denied(e) {
                x = call clock()
            }
            ret
        denied:
            code = ld_i e, 0
            call exit(code)
            ret
        }";
    let result = run(text, hosts());
    assert_eq!(result, Ok(Outcome::ExitCode(6)), "a host function failed");
}

#[test]
fn a_denial_that_was_handled_is_not_blamed_for_a_later_failure() {
    let text = "
        fun main() {
            try denied(e) {
                x = call clock()
            }
            ret
        denied:
            s = call arg(0)
            ret
        }";
    let result = run(text, hosts());
    assert!(matches!(&result, Err(RunError::Uncaught { .. })));
    assert_eq!(denied_by(result), None);
}

#[test]
fn an_embedders_own_function_asks_the_policy_in_one_line() {
    let mut hosts = hosts();
    let signature = Signature {
        int_results: 1,
        ..Signature::default()
    };
    hosts.offer("clock", signature, |call| {
        call.policy().check_environment()?;
        call.set_int(0, 7);
        Ok(())
    });
    let text = "fun main() {\n x = call clock()\n ret\n}";
    assert_eq!(denied_by(run(text, hosts)), Some(Denied::Environment));
}
