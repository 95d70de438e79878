//! Functions that wait: a signal ends the run meanwhile.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;

use vm::host::{HostIo, Hosts, Policy};
use vm::isa::Signature;
use vm::{Interrupt, Trap, VmConfig};

use crate::support::signal;
use crate::{Place, make_pipe, trap_of};

/// Runs the body of `main`, in which the host function `raise` asks for the end of the run.
fn interrupted(place: &Place, body: &str) -> Trap {
    let io = HostIo::new(io::empty(), io::sink(), io::sink(), Vec::new());
    let mut hosts = Hosts::standard(io).with_policy(Policy::everything());
    let interrupt = std::sync::Arc::new(std::sync::OnceLock::<Interrupt>::new());
    let raised = interrupt.clone();
    hosts.offer("raise", Signature::default(), move |_| {
        raised
            .get()
            .expect("it is set before the run")
            .raise(signal(2));
        Ok(())
    });
    let text = format!("host raise()\nfun main() {{\n{body}\nret\n}}");
    let mut machine = place.machine_with(&text, hosts, VmConfig::default());
    let _ = interrupt.set(machine.interrupt());
    trap_of(machine.run())
}

/// Nobody waits an hour for these, and nobody ever reads or writes the pipe.
#[test]
fn a_signal_ends_what_waits() {
    let place = Place::new();
    make_pipe(&place.path("pipe"));
    let both_ends = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(place.path("pipe"));
    let _pipe = both_ends.expect("a pipe");
    for body in [
        "call raise()\ncall sleep(3600000000000)",
        "c, f = call file_open(\"<pipe>\")\ncall raise()\nc, s = call file_read(f, 1)",
        "c, f = call file_open(\"<pipe>\")\ncall raise()\nc, s = call file_read_line(f)",
        "c, f = call file_append(\"<pipe>\")
         s = new_b 1000000, 0
         call raise()
         c = call file_write(f, s)
         c = call file_flush(f)",
    ] {
        assert_eq!(interrupted(&place, body), Trap::Interrupted(2), "{body}");
    }
}

/// The run is over before anybody could look, but for the text that waits.
#[test]
fn a_signal_gives_up_what_waits_at_the_end() {
    let place = Place::new();
    make_pipe(&place.path("pipe"));
    let pipe = place.path("pipe");
    let both_ends = File::options().read(true).write(true).open(&pipe);
    let _both_ends = both_ends.expect("a pipe");
    let trap = interrupted(
        &place,
        "c, f = call file_append(\"<pipe>\")
         s = new_b 100000, 0
         c = call file_write(f, s)
         call raise()",
    );
    let message = "interrupted while nobody reads";
    let message = format!("cannot write {}: {message}", pipe.display());
    assert_eq!(trap, Trap::Host(message));
}

#[test]
fn a_pipe_is_awaited_and_read_to_its_end() {
    let place = Place::new();
    make_pipe(&place.path("pipe"));
    let path = place.path("pipe");
    let writer = thread::spawn(move || {
        // This waits until the program has opened the pipe.
        let mut pipe = File::options().write(true).open(path).expect("a pipe");
        for part in ["one ", "two\n", "three"] {
            pipe.write_all(part.as_bytes()).expect("the program reads");
        }
    });
    let printed = place.run(
        "c, f = call file_open(\"<pipe>\")
         c, s = call file_read_line(f)
         call say(c, s)
         c, s = call file_read_all(f)
         call say(c, s)",
    );
    writer.join().expect("all was written");
    assert_eq!(printed, "0 one two\n\n0 three\n");
}

#[test]
fn a_machine_waits_for_whoever_reads_its_pipe_at_the_end() {
    let place = Place::new();
    make_pipe(&place.path("pipe"));
    let path = place.path("pipe");
    let both_ends = File::options().read(true).write(true).open(&path);
    let keeps_it_open = both_ends.expect("a pipe");
    let reader = thread::spawn(move || {
        let mut pipe = File::open(path).expect("a pipe");
        let mut count = [0; 300_000];
        io::Read::read_exact(&mut pipe, &mut count).expect("the program writes");
        count.iter().filter(|&&byte| byte == 7).count()
    });
    place.run(
        "s = new_b 300000, 7
         c, f = call file_append(\"<pipe>\")
         c = call file_write(f, s)",
    );
    assert_eq!(reader.join().expect("all was read"), 300_000);
    drop(keeps_it_open);
}
