//! A storm of signals: another thread sends SIGPROF ten thousand times a second to a machine that
//! collects at every allocation. Each that is handled is counted, once, for somebody.
//!
//! `TALLY_STORM_SECONDS` says for how long.

mod support;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use repl::assembler::vm::host::{HostIo, Hosts};
use repl::assembler::vm::isa::Signature;
use repl::assembler::vm::profiler::{Kind, KindSet, Profile, Style};
use repl::assembler::vm::{GcStress, HeapConfig, Outcome, Vm, VmConfig};
use support::verified;

/// How long the storms last together, in seconds, unless the environment says otherwise.
const SECONDS: f64 = 2.0;
/// A storm goes on until so many signals were handled: on a busy machine many that are sent become
/// one.
const MIN_HANDLED: u64 = 500;
/// How many signals a second are sent.
const RATE: u32 = 10_000;

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
            let (start, mut sent) = (Instant::now(), 0);
            while !ends.load(Relaxed) {
                let due = start + Duration::from_secs(1) / RATE * sent as u32;
                // To sleep lets the machine run, and handle the signal, when both share a core.
                thread::sleep(due.saturating_duration_since(Instant::now()));
                // SAFETY: whoever has the storm is on the target, and dropping it waits for
                // this thread; so the target lives.
                let result =
                    unsafe { libc::pthread_kill(target as libc::pthread_t, libc::SIGPROF) };
                assert_eq!(result, 0, "the signal could be sent");
                sent += 1;
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

fn seconds() -> f64 {
    let asked = std::env::var("TALLY_STORM_SECONDS").ok();
    asked.map_or(SECONDS, |text| text.parse().expect("a number of seconds"))
}

/// Runs the program in a storm, and compares what was handled with what was counted.
fn weather(style: Style, lasts: Duration) {
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
    let storm = RefCell::new(None);
    let sent = Rc::new(Cell::new(0));
    let start = Instant::now();
    let (rounds, sends) = (Rc::new(Cell::new(0_u64)), sent.clone());
    let n_rounds = rounds.clone();
    let signature = Signature {
        int_results: 1,
        ..Signature::default()
    };
    hosts.offer("storm", signature, move |call| {
        let mut storm = storm.borrow_mut();
        storm.get_or_insert_with(Storm::start);
        n_rounds.set(n_rounds.get() + 1);
        let goes_on = start.elapsed() < lasts || handled.load(Relaxed) - before < MIN_HANDLED;
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
    let lasts = Duration::from_secs_f64(seconds() / 2.0);
    weather(Style::Current, lasts);
    weather(Style::Stack, lasts);
}
