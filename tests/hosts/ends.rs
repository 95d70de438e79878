//! What becomes of open files when a run ends, however it does.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use vm::host::{HostIo, Hosts, Policy};
use vm::{HeapConfig, Outcome, Trap, VmConfig};

use crate::support::{stderr, vm};
use crate::{Place, make_pipe, trap_of};

fn hosts() -> Hosts {
    let io = HostIo::new(io::empty(), io::sink(), io::sink(), Vec::new());
    Hosts::standard(io).with_policy(Policy::everything())
}

#[test]
fn what_was_written_is_there_however_the_program_ends() {
    for end in [
        "ret",
        "call exit(7)\nret",
        "x = 0\nx = rem x, 0\nret",
        "forever:\njmp forever",
        "call main()\nret",
        "call fail()\nret",
    ] {
        let place = Place::new();
        let mut hosts = hosts();
        hosts.offer("fail", vm::isa::Signature::default(), |_| {
            Err(vm::host::HostError::Io("on purpose".into()))
        });
        let config = VmConfig {
            fuel: Some(100_000),
            stack_bytes: 1 << 20,
            ..VmConfig::default()
        };
        let text = format!(
            "host fail()
             fun main() {{
                 c, f = call file_append(\"<one>\")
                 c = call file_write(f, \"text\")
                 {end}
             }}"
        );
        let mut machine = place.machine_with(&text, hosts, config);
        let _ = machine.run();
        assert!(place.text("one").starts_with("text"), "{end}");
    }
}

#[test]
fn what_was_written_is_there_when_a_host_function_panics() {
    let place = Place::new();
    let mut hosts = hosts();
    hosts.offer("fail", vm::isa::Signature::default(), |_| {
        panic!("on purpose")
    });
    let text = "
        host fail()
        fun main() {
            c, f = call file_create(\"<one>\")
            c = call file_write(f, \"text\")
            call fail()
            ret
        }";
    let mut machine = place.machine_with(text, hosts, VmConfig::default());
    let run = std::panic::AssertUnwindSafe(|| machine.run());
    assert!(std::panic::catch_unwind(run).is_err());
    assert_eq!(place.text("one"), "text");
}

#[test]
fn what_cannot_be_written_at_the_end_is_told() {
    let place = Place::new();
    let text = "fun main() {
        c, f = call file_create(\"/dev/full\")
        c = call file_write(f, \"text\")
        call num(c, 0)
        ret
    }";
    let text = text.to_owned() + "\nexport fun nothing() {\n ret\n}";
    let mut machine = place.machine_with(&text, hosts(), VmConfig::default());
    let message = "cannot write /dev/full: No space left on device (os error 28)";
    assert_eq!(trap_of(machine.run()), Trap::Host(message.into()));
    // It is told once.
    let nothing = machine
        .module()
        .function_named("nothing")
        .expect("the function");
    assert_eq!(
        machine.call(nothing, &[]),
        Ok(Outcome::Returned(Vec::new()))
    );
    std::fs::write(place.path("full.asm"), place.program(&text)).expect("a program");
    let output = vm(&place.path(""))
        .arg("full.asm")
        .output()
        .expect("vm runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), format!("vm: {message}\n"));
}

/// A pipe tells its reader when the last writer has closed it.
#[test]
fn files_are_closed_when_the_machine_is_gone() {
    let place = Place::new();
    make_pipe(&place.path("pipe"));
    let reader = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(place.path("pipe"));
    let mut reader = reader.expect("a pipe");
    let text = "fun main() {
        c, f = call file_append(\"<pipe>\")
        c = call file_write(f, \"text\")
        ret
    }";
    let mut machine = place.machine_with(text, hosts(), VmConfig::default());
    machine.run().expect("the pipe has room");
    let mut buffer = [0; 16];
    assert_eq!(reader.read(&mut buffer).expect("what was written"), 4);
    let nothing = reader.read(&mut buffer).expect_err("the pipe is open");
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    drop(machine);
    assert_eq!(reader.read(&mut buffer).expect("the end"), 0);
}

/// What is gathered outside of the heap is held to its limit, too.
#[test]
fn a_file_without_end_is_no_more_than_the_heap_may_hold() {
    let place = Place::new();
    for body in [
        "c, s = call read_file(\"/dev/zero\")",
        "c, f = call file_open(\"/dev/zero\")\nc, s = call file_read(f, 1000000000000)",
        "c, f = call file_open(\"/dev/zero\")\nc, s = call file_read_line(f)",
    ] {
        let config = VmConfig {
            heap: HeapConfig {
                max_bytes: 16 << 20,
                ..HeapConfig::default()
            },
            ..VmConfig::default()
        };
        let text = format!("fun main() {{\n{body}\nret\n}}");
        let mut machine = place.machine_with(&text, hosts(), config);
        let trap = trap_of(machine.run());
        assert!(matches!(trap, Trap::OutOfMemory(_)), "{body}: {trap:?}");
    }
}

/// Each KiB costs a unit, so a program with little fuel cannot keep the disk busy.
#[test]
fn reading_and_writing_cost_fuel_by_the_bytes() {
    let place = Place::new();
    place.write("one", &"x".repeat(1 << 20));
    for body in [
        "c, s = call read_file(\"<one>\")",
        "s = new_b 1048576, 0\nc, f = call file_create(\"<two>\")\nc = call file_write(f, s)",
    ] {
        let run = |fuel| {
            let config = VmConfig {
                fuel: Some(fuel),
                ..VmConfig::default()
            };
            let text = format!("fun main() {{\n{body}\nret\n}}");
            place.machine_with(&text, hosts(), config).run()
        };
        assert_eq!(trap_of(run(900)), Trap::OutOfFuel, "{body}");
        assert_eq!(run(10_000), Ok(Outcome::Returned(Vec::new())), "{body}");
    }
}
