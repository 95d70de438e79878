//! A panic in code of the embedder's is carried across the machine, which can be used again.

use crate::support::lock::Lock;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, Tracker};
use vm::{Interrupt, Outcome, Vm, VmConfig};

use crate::{PLAIN, machine_with, marking_hosts};

/// What a run of the machine panics with.
fn panic_of(vm: &mut Vm) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| vm.run())).expect_err("the run panics");
    match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default(),
    }
}

#[test]
fn a_panic_in_a_host_function_reaches_the_caller_and_loses_nothing() {
    let text = "host fail()
        fun main() {
            n = 10
            x = new 1, [], [n]
            call fail()
            ret
        }
        export fun twice(n: i) -> i {
            n = add n, n
            ret n
        }";
    let (mut hosts, _) = marking_hosts();
    let n_calls = Arc::new(Lock::new(0));
    let counted = n_calls.clone();
    hosts.offer("fail", PLAIN, move |_| {
        counted.set(counted.get() + 1);
        match counted.get() {
            1 => panic!("the host's own fault"),
            _ => Ok(()),
        }
    });
    let mut vm = machine_with(text, hosts, VmConfig::default());
    assert_eq!(panic_of(&mut vm), "the host's own fault");
    let bytes = vm.allocated_bytes();
    let twice = vm.module().function_named("twice").expect("the function");
    assert_eq!(vm.call(twice, &[21]), Ok(Outcome::Returned(vec![42])));
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    assert_eq!(vm.allocated_bytes(), 2 * bytes);
}

#[test]
fn a_panic_deep_in_the_program_leaves_no_frame() {
    let text = "host fail()
        fun deep(n: i) {
            jgt n, 0, go
            call fail()
            ret
        go: n = sub n, 1
            call deep(n)
            ret
        }
        fun main() {
            n = 1000
            call deep(n)
            ret
        }";
    let (mut hosts, _) = marking_hosts();
    hosts.offer("fail", PLAIN, |_| panic!("deep down"));
    let mut vm = machine_with(text, hosts, VmConfig::default());
    for _ in 0..1000 {
        assert_eq!(panic_of(&mut vm), "deep down");
    }
}

#[test]
fn a_panic_in_a_writer_reaches_the_caller() {
    struct Broken;
    impl io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("no paper")
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let io = HostIo::new(io::empty(), Broken, io::sink(), Vec::new());
    let text = r#"fun main() {
            call print("x")
            ret
        }"#;
    let mut vm = machine_with(text, Hosts::standard(io), VmConfig::default());
    assert_eq!(panic_of(&mut vm), "no paper");
    assert_eq!(panic_of(&mut vm), "no paper");
}

#[test]
fn a_panic_in_a_snapshot_action_reaches_the_caller_and_keeps_the_action() {
    let text = "host snap()
        fun main() {
            call snap()
        l:  jmp l2
        l2: ret
        }
        export fun turn(n: i) {
            call snap()
        l:  n = sub n, 1
            jgt n, 0, l
            ret
        }";
    let interrupt = Interrupt::new();
    let (mut hosts, _) = marking_hosts();
    let snap = interrupt.clone();
    hosts.offer("snap", PLAIN, move |_| {
        snap.snapshot();
        Ok(())
    });
    let mut vm = machine_with(text, hosts, VmConfig::default());
    vm.share_interrupt(&interrupt);
    let n_taken = Arc::new(Lock::new(0));
    let taken = n_taken.clone();
    vm.on_snapshot(move |_| {
        taken.set(taken.get() + 1);
        if taken.get() == 1 {
            panic!("no picture");
        }
    });
    let turn = vm.module().function_named("turn").expect("the function");
    let first = catch_unwind(AssertUnwindSafe(|| vm.call(turn, &[10])));
    assert!(first.is_err());
    assert_eq!(vm.call(turn, &[10]), Ok(Outcome::Returned(vec![])));
    assert_eq!(n_taken.get(), 2);
}

/// A tracker that panics when it hears of one thing for the first time.
struct Fragile {
    at: &'static str,
    is_broken: bool,
}

impl Fragile {
    fn hear(&mut self, what: &'static str) {
        if what == self.at && !self.is_broken {
            self.is_broken = true;
            panic!("{}", self.at);
        }
    }
}

impl Tracker for Fragile {
    fn alloc_minor(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.hear("alloc_minor");
        Some(0)
    }
    fn alloc_major(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.hear("alloc_major");
        Some(0)
    }
    fn promote(&mut self, _: u64, _: &GcEvent) -> Option<u64> {
        self.hear("promote");
        Some(0)
    }
    fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {
        self.hear("dealloc_minor");
    }
    fn dealloc_major(&mut self, _: u64, _: &GcEvent) {
        self.hear("dealloc_major");
    }
    fn collected(&mut self, _: bool) {
        self.hear("collected");
    }
}

#[test]
fn a_panic_in_a_tracker_reaches_the_caller_and_the_heap_is_renewed() {
    let text = "fun main() {
            n = 10000
            x = null
            big = new_i n, n
        l:  x = new 1, [x], [n]
            y = new 2, [x], []
            n = sub n, 1
            jgt n, 0, l
            call gc()
            x = null
            big = null
            y = null
            call gc()
            ret
        }";
    let heard = [
        "alloc_minor",
        "alloc_major",
        "promote",
        "dealloc_minor",
        "dealloc_major",
        "collected",
    ];
    for at in heard {
        let (hosts, _) = marking_hosts();
        let mut vm = machine_with(text, hosts, VmConfig::default());
        let config = MemprofConfig {
            rate: 0.5,
            ..MemprofConfig::default()
        };
        let tracker = Fragile {
            at,
            is_broken: false,
        };
        let profile = vm.memprof_start(config, Box::new(tracker));
        let profile = profile.expect("a profile starts");
        assert_eq!(panic_of(&mut vm), at);
        assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])), "{at}");
        vm.memprof_stop(profile).expect("the profile still samples");
        vm.memprof_discard(profile).expect("the profile is stopped");
        assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])), "{at}");
    }
}
