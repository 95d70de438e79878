//! Host functions with Rust's types, and how they fail.

use std::sync::Arc;

use vm::host::{HostCall, HostError};
use vm::{Access, Outcome, Root, RootError, RunError, VmConfig};

use crate::support::lock::Lock;
use crate::{machine_with, quiet, stressed};

/// A machine whose `main` calls host functions, and the texts that it has handed to `tell`.
fn told(
    text: &str,
    config: VmConfig,
    offer: impl FnOnce(&mut vm::host::Hosts),
) -> (Result<Outcome, RunError>, Vec<String>) {
    let mut hosts = quiet();
    let told = Arc::new(Lock::new(Vec::new()));
    let tell = told.clone();
    hosts.wrap("tell", move |text: &str| {
        tell.borrow_mut().push(text.to_owned())
    });
    offer(&mut hosts);
    let text = format!("host tell(r)\n{text}");
    let result = machine_with(&text, hosts, config).run();
    (result, told.take())
}

#[test]
fn closures_take_and_give_rust_types() {
    let text = "
        host join(r, i, r) -> (r)
        host halve(i) -> (i)
        host even(i) -> (i)
        host both(i, i) -> (i, r, i)
        host bytes(r) -> (r)
        fun main() {
            a = \"a\"
            n = 3
            text = call join(a, n, a)
            call tell(text)
            x = 9.0
            y = call halve(x)
            text = str_of_float y
            call tell(text)
            even = call even(n)
            low, text, high = call both(n, even)
            call tell(text)
            text = str_of_int high
            call tell(text)
            text = call bytes(text)
            call tell(text)
            ret
        }";
    for config in [VmConfig::default(), stressed()] {
        let (result, told) = told(text, config, |hosts| {
            hosts.wrap("join", |one: &str, n: u8, other: String| {
                format!("{one}{}", other.repeat(n.into()))
            });
            hosts.wrap("halve", |x: f64| x / 2.0);
            hosts.wrap("even", |n: i64| n % 2 == 0);
            hosts.wrap("both", |n: i64, is_even: bool| {
                (n, format!("{n} {is_even}"), -n)
            });
            hosts.wrap("bytes", |bytes: &[u8]| -> Vec<u8> {
                bytes.iter().rev().copied().collect()
            });
        });
        assert_eq!(result, Ok(Outcome::Returned(vec![])));
        assert_eq!(told, ["aaaa", "4.5", "3 false", "-3", "3-"]);
    }
}

#[test]
fn closures_with_the_machine_make_and_read_objects() {
    let text = "
        host swap(r) -> (r)
        host word(r, i) -> (r)
        fun main() {
            a = \"left\"
            b = \"right\"
            pair = new 3, [a, b], []
            pair = call swap(pair)
            a = ld_r pair, 0
            call tell(a)
            two = 2
            text = call word(a, two)
            call tell(text)
            ret
        }";
    for config in [VmConfig::default(), stressed()] {
        let (result, told) = told(text, config, |hosts| {
            hosts.wrap(
                "swap",
                |call: &mut HostCall, pair: Root| -> Result<Root, HostError> {
                    let fields = call.refs(&pair)?;
                    Ok(call.new_record(3, &[&fields[1], &fields[0]], &[])?)
                },
            );
            hosts.wrap("word", |call: &mut HostCall, text: &str, n: i64| {
                let parts = vec![text; n as usize];
                // What is borrowed stays where it is while the machine collects.
                call.collect_all()?;
                call.new_text(parts.join(" ")).map_err(HostError::from)
            });
        });
        assert_eq!(result, Ok(Outcome::Returned(vec![])));
        assert_eq!(told, ["right", "right right"]);
    }
}

/// A program that hands on what a host function does, and says what it has caught.
const HANDLED: &str = "
    host act() -> (i)
    fun main() {
        try caught(e) {
            x = call act()
        }
        done = \"returned\"
        call tell(done)
        ret
    caught:
        tag = tag e
        text = str_of_int tag
        call tell(text)
        ret
    }";

const UNHANDLED: &str = "
    host act() -> (i)
    fun main() {
        x = call act()
        ret
    }";

#[test]
fn an_object_or_a_tag_is_raised_as_an_exception() {
    for config in [VmConfig::default(), stressed()] {
        let (result, told) = told(HANDLED, config, |hosts| {
            hosts.wrap("act", |call: &mut HostCall| -> Result<i64, HostError> {
                let why = call.new_text("why")?;
                let exception = call.new_record(12, &[&why], &[])?;
                Err(HostError::Raise(exception))
            });
        });
        assert_eq!(result, Ok(Outcome::Returned(vec![])));
        assert_eq!(told, ["12"]);
    }
    let (_, told) = told(HANDLED, VmConfig::default(), |hosts| {
        hosts.wrap("act", |call: &mut HostCall| -> Result<i64, HostError> {
            Err(call.exception(34))
        });
    });
    assert_eq!(told, ["34"]);
}

#[test]
fn a_failure_with_a_message_is_a_fault_whose_message_the_error_has() {
    let fail = |hosts: &mut vm::host::Hosts| {
        hosts.wrap("act", |_: &mut HostCall| -> Result<i64, HostError> {
            let number: Result<i64, _> = "12x".parse();
            number.map_err(HostError::other)
        });
    };
    let (result, told) = told(UNHANDLED, VmConfig::default(), fail);
    let error = result.expect_err("nobody handles it");
    let text = "uncaught exception: a host function failed: invalid digit found in string";
    assert_eq!(error.to_string(), text);
    assert!(told.is_empty());
    let (result, told) = self::told(HANDLED, VmConfig::default(), fail);
    assert_eq!(result, Ok(Outcome::Returned(vec![])));
    assert_eq!(told, [vm::FAULT_TAG.to_string()]);
}

#[test]
fn an_argument_that_rust_cannot_hold_is_a_failure_that_says_so() {
    let text = "
        host act(r, i)
        fun main() {
            a = \"\\xff\"
            n = 300
            call act(a, n)
            ret
        }";
    let (result, _) = told(text, VmConfig::default(), |hosts| {
        hosts.wrap("act", |_: &str, _: i64| ());
    });
    let message = result.expect_err("no UTF-8").to_string();
    assert!(message.ends_with("the string is no UTF-8"), "{message}");
    let (result, _) = told(text, VmConfig::default(), |hosts| {
        hosts.wrap("act", |_: &[u8], _: u8| ());
    });
    let message = result.expect_err("no byte").to_string();
    assert!(
        message.ends_with("the Rust type does not hold 300"),
        "{message}"
    );
}

#[test]
fn a_handle_of_another_machine_is_refused_in_a_result() {
    let mut other = machine_with("fun main() {\n ret\n}", quiet(), VmConfig::default());
    let foreign = other.new_text("foreign").expect("there is memory");
    let text = "
        host act() -> (r)
        fun main() {
            x = call act()
            ret
        }";
    for raises in [false, true] {
        let foreign = foreign.clone();
        let (result, _) = told(text, VmConfig::default(), |hosts| {
            hosts.wrap("act", move |_: &mut HostCall| match raises {
                false => Ok(foreign.clone()),
                true => Err(HostError::Raise(foreign.clone())),
            });
        });
        let message = result.expect_err("it is refused").to_string();
        assert!(
            message.ends_with(&RootError::Foreign.to_string()),
            "{message}"
        );
    }
}

#[test]
fn a_host_function_without_types_hands_handles_on() {
    let text = "
        host act(r, r) -> (r)
        fun main() {
            a = \"first\"
            b = \"second\"
            x = call act(a, b)
            call tell(x)
            ret
        }";
    let signature = vm::isa::Signature {
        ref_params: 2,
        ref_results: 1,
        ..Default::default()
    };
    for config in [VmConfig::default(), stressed()] {
        let (result, told) = told(text, config, |hosts| {
            let mut kept: Vec<Root> = Vec::new();
            hosts.offer("act", signature, move |call| {
                kept.push(call.root(1)?);
                assert_eq!(call.root(2), Err(HostError::Failed), "beyond the signature");
                call.collect_all()?;
                call.set_root(0, &kept[0])
            });
        });
        assert_eq!(result, Ok(Outcome::Returned(vec![])));
        assert_eq!(told, ["second"]);
    }
}
