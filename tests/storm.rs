//! A storm of signals: another thread sends SIGPROF as fast as they are handled to a machine that
//! collects at every allocation. Each that is handled is counted, once, for somebody.

mod support;

use crate::support::lock::Lock;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, JoinHandle};

use profiler::{Kind, KindSet, Profile, Style};
use support::{campaign, verified};
use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::{GcStress, HeapConfig, Outcome, Vm, VmConfig};

/// A storm goes on until so many signals were handled, in short and in long.
const N_HANDLED: [u64; 2] = [5_000, 200_000];
/// The most signals that are sent before one must have been handled. Those that come while one is
/// waiting become one with it.
const MAX_BURST: u64 = 4;

/// A program that calls, makes closures, allocates, raises and handles until the host says that it
/// is enough.
const PROGRAM: &str = "
    host storm() -> i
    fun list(n: i) -> r {
        jeq n, 0, nothing
        m = sub n, 1
        xs = call list(m)
        xs = new 1, [xs], [n]
        ret xs
    nothing:
        ret null
    }
    fun sum(xs: r, total: i) -> i {
        jnull xs, done
        n = ld_i xs, 0
        xs = ld_r xs, 0
        total = add total, n
        total = call sum(xs, total)
        ret total
    done:
        ret total
    }
    closure fun adder{n: i}(x: i) -> i {
        n = cap n
        x = add x, n
        ret x
    }
    fun raising(xs: r) {
        raise xs
    }
    fun round(n: i) -> i {
        xs = call list(n)
        total = call sum(xs, 0)
        f = closure adder, [], [n]
        total: i = call_closure f(total)
        try caught(e) {
            call raising(xs)
        }
        ret 0
    caught:
        more = call sum(e, total)
        ret more
    }
    fun main() -> i {
        wrong = 0
    again:
        total = call round(20)
        jeq total, 440, right
        wrong = add wrong, 1
    right:
        goes_on = call storm()
        jne goes_on, 0, again
        ret wrong
    }";

/// The thread that sends.
struct Storm {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Storm {
    /// Sends signals to the thread that calls this, from another one.
    fn start() -> Storm {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        // SAFETY: it asks for the thread's own id, and cannot fail.
        let target = unsafe { libc::pthread_self() } as usize;
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while !ends.load(Relaxed) {
                let before = handled().load(Relaxed);
                for _ in 0..=sent % MAX_BURST {
                    // SAFETY: whoever has the storm is on the target, and dropping it waits for
                    // this thread; so the target lives.
                    let result =
                        unsafe { libc::pthread_kill(target as libc::pthread_t, libc::SIGPROF) };
                    assert_eq!(result, 0, "the signal could be sent");
                    sent += 1;
                }
                while handled().load(Relaxed) == before && !ends.load(Relaxed) {
                    thread::yield_now();
                }
            }
            sent
        });
        Storm {
            is_over,
            thread: Some(thread),
        }
    }

    /// Ends the storm: what was sent and is not handled yet is handled before this returns.
    fn end(mut self) -> u64 {
        self.is_over.store(true, Relaxed);
        let thread = self.thread.take().expect("it ends once");
        thread.join().expect("the storm sends")
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        // Also when the test fails in the midst of it.
        self.is_over.store(true, Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Counts the signals that are handled, whatever the profiler does. Handlers run one after the
/// other for the same signal.
fn handled() -> &'static AtomicU64 {
    static HANDLED: AtomicU64 = AtomicU64::new(0);
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let count = || {
            HANDLED.fetch_add(1, Relaxed);
        };
        // SAFETY: the action adds to an atomic, which a handler may do.
        let registered = unsafe { signal_hook::low_level::register(libc::SIGPROF, count) };
        registered.expect("a handler for SIGPROF");
    });
    &HANDLED
}

/// Runs the program in a storm, and compares what was handled with what was counted.
fn weather(style: Style) {
    let module = verified(PROGRAM);
    let kinds: KindSet = "time,alloc,count".parse().expect("kinds");
    // The machine's own timer ticks too, and each of its ticks is a signal like the others.
    let profile = Profile::new(kinds, module.sources.sources.len())
        .with_hz(1)
        .with_style(style);
    let profile = Arc::new(profile);
    let config = VmConfig {
        heap: HeapConfig {
            stress: GcStress::On,
            ..HeapConfig::default()
        },
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let mut hosts = Hosts::standard(io);
    let handled = handled();
    let before = handled.load(Relaxed);
    let wanted = campaign::size(N_HANDLED[0], N_HANDLED[1]);
    let storm = Lock::new(None);
    let sent = Arc::new(Lock::new(0));
    let (rounds, sends) = (Arc::new(Lock::new(0_u64)), sent.clone());
    let n_rounds = rounds.clone();
    let signature = Signature {
        int_results: 1,
        ..Signature::default()
    };
    hosts.offer("storm", signature, move |call| {
        let mut storm = storm.borrow_mut();
        storm.get_or_insert_with(Storm::start);
        n_rounds.set(n_rounds.get() + 1);
        let goes_on = handled.load(Relaxed) - before < wanted;
        if !goes_on && let Some(storm) = storm.take() {
            sends.set(storm.end());
        }
        call.set_int(0, i64::from(goes_on));
        Ok(())
    });
    let mut vm = Vm::new(module, hosts, config).expect("a machine");
    let outcome = vm.run();
    let handled = handled.load(Relaxed) - before;
    assert_eq!(
        outcome,
        Ok(Outcome::Returned(vec![0])),
        "no round went wrong"
    );
    let ticks = profile.data().counts(Kind::Time).totals;
    let counted = ticks.total + ticks.total_gc;
    let (sent, rounds) = (sent.get(), rounds.get());
    println!(
        "{style:?}: {sent} sent, {handled} handled, {counted} counted in {rounds} rounds, \
         {} of them in collections",
        ticks.total_gc
    );
    assert_eq!(counted, handled, "samples counted and handled");
    assert_eq!(vm.tick_rate().map(|rate| rate.ticks), Some(handled));
    let bytes = profile.data().counts(Kind::Alloc).totals.total;
    assert_eq!(bytes, vm.allocated_bytes(), "bytes");
    // main calls round, which calls list 21 times, and sum 21 times twice.
    let calls = profile.data().counts(Kind::Count).totals.total;
    assert_eq!(calls, rounds * (1 + 21 + 21 + 1 + 1 + 21), "calls");
}

#[test]
fn every_signal_that_is_handled_is_counted() {
    weather(Style::Current);
    weather(Style::Stack);
}
