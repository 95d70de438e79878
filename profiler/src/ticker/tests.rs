//! Tests of the ticker, which share the process's timers and so take turns.

use super::*;
use crate::SourceId;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The tests of this file take turns: the shared timer of one would tick for the others.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|error| error.into_inner())
}

/// Keeps this thread busy until it has used `seconds` of CPU time, or `is_done`.
fn burn(seconds: f64, is_done: impl Fn() -> bool) {
    let end = os::thread_cpu_ns() + (seconds * 1e9) as u64;
    while os::thread_cpu_ns() < end && !is_done() {}
}

/// Burns CPU time with `node` current until `n_ticks` have come, and returns the rate. On a
/// busy machine ticks may come late, many at once, so no time would be long enough.
fn profile(node: &Node, hz: u32, n_ticks: u64) -> Rate {
    let cell = Arc::new(CurrentCell::new());
    // SAFETY: the node outlives the ticker, which is dropped at the end of this function.
    unsafe { cell.publish(node) };
    let ticker = Ticker::start(Arc::clone(&cell), hz).unwrap();
    burn(20.0, || cell.ticks() >= n_ticks);
    ticker.rate()
}

/// No more ticks come than were asked for, but for the one that is early by chance.
fn assert_not_too_fast(rate: Rate) {
    let at_most = rate.cpu_seconds * f64::from(rate.asked_hz) + 2.0;
    assert!(rate.ticks as f64 <= at_most, "{rate:?}");
}

#[test]
fn ticks_go_to_the_published_node() {
    let _alone = alone();
    let node = Node::new(SourceId::MAIN);
    let rate = profile(&node, 100, 30);
    assert!(rate.ticks >= 30, "{rate:?}");
    // The node may have got ticks after the rate was read and before the timer was stopped.
    assert!(node.ticks.load(Relaxed) >= rate.ticks, "{node:?} {rate:?}");
    assert_eq!(rate.asked_hz, 100);
    assert_eq!(
        rate.measured_hz(),
        Some(rate.ticks as f64 / rate.cpu_seconds)
    );
    assert_not_too_fast(rate);
}

#[test]
fn ticks_with_nothing_published_are_only_counted() {
    let _alone = alone();
    let cell = Arc::new(CurrentCell::new());
    let ticker = Ticker::start(Arc::clone(&cell), 200).unwrap();
    burn(20.0, || cell.ticks() > 0);
    drop(ticker);
    assert!(cell.ticks() > 0);
}

#[test]
fn a_stopped_timer_does_not_tick() {
    let _alone = alone();
    let node = Node::new(SourceId::MAIN);
    profile(&node, 200, 5);
    let before = node.ticks.load(Relaxed);
    burn(0.1, || false);
    assert_eq!(node.ticks.load(Relaxed), before);
}

#[test]
fn every_thread_has_its_own_ticks() {
    let _alone = alone();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let rate = profile(&Node::new(SourceId::MAIN), 100, 15);
                assert!(rate.ticks >= 15, "{rate:?}");
                assert_not_too_fast(rate);
            });
        }
    });
}

#[test]
fn a_thread_has_one_ticker_at_a_time() {
    let _alone = alone();
    let cell = Arc::new(CurrentCell::new());
    let first = Ticker::start(Arc::clone(&cell), 100).unwrap();
    let error = Ticker::start(Arc::clone(&cell), 100).unwrap_err();
    assert_eq!(error.to_string(), "this thread is being profiled already");
    drop(first);
    assert!(Ticker::start(cell, 100).is_ok());
}

#[test]
fn a_storm_of_signals_loses_nothing() {
    let _alone = alone();
    let node = Node::new(SourceId::MAIN);
    let cell = Arc::new(CurrentCell::new());
    // SAFETY: the node outlives the ticker.
    unsafe { cell.publish(&node) };
    let ticker = Ticker::start(Arc::clone(&cell), 100).unwrap();
    // SAFETY: `pthread_self` has no preconditions.
    let thread = unsafe { libc::pthread_self() } as usize;
    let storm = std::thread::spawn(move || {
        for _ in 0..20_000 {
            // SAFETY: the thread lives until it has joined this one.
            unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGPROF) };
        }
    });
    // Bytes are charged meanwhile: a signal in the midst of that must not lose any.
    let mut n_charged = 0;
    while !storm.is_finished() {
        node.charge_bytes(1);
        n_charged += 1;
    }
    storm.join().unwrap();
    drop(ticker);
    assert!(cell.ticks() > 0);
    assert_eq!(node.ticks.load(Relaxed), cell.ticks());
    assert_eq!(node.bytes.load(Relaxed), n_charged);
}

#[test]
fn a_thread_can_keep_ticks_away() {
    let _alone = alone();
    install_handler().unwrap();
    let cell = CurrentCell::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            Ticker::block_in_this_thread().unwrap();
            set_cell(&cell);
            // SAFETY: the handler of the signal is installed.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGPROF) };
            set_cell(ptr::null());
        });
    });
    assert_eq!(cell.ticks(), 0);
    // A ticker ends it.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            Ticker::block_in_this_thread().unwrap();
            let node = Node::new(SourceId::MAIN);
            assert!(profile(&node, 100, 1).ticks > 0);
        });
    });
}

#[test]
fn a_senseless_rate_is_refused() {
    for hz in [0, MAX_HZ + 1] {
        let error = Ticker::start(Arc::default(), hz).unwrap_err().to_string();
        let text = "is not a tick rate: choose from 1 to 10000 ticks per second";
        assert_eq!(error, format!("{hz} {text}"));
    }
}

#[test]
fn the_published_node_is_at_offset_zero() {
    assert_eq!(std::mem::offset_of!(CurrentCell, current), 0);
}

#[test]
fn the_shared_timer_ticks_too() {
    let _alone = alone();
    let cell = CurrentCell::new();
    install_handler().unwrap();
    set_cell(&cell);
    os::start_process_timer(1, 1_000_000).unwrap();
    // Other threads of the test process take some of the signals.
    burn(20.0, || cell.ticks() >= 3);
    os::stop_process_timer();
    set_cell(ptr::null());
    assert!(cell.ticks() >= 3);
    assert_eq!(*os::SHARERS.lock().unwrap(), 0);
}

#[test]
fn a_rate_that_falls_short_is_told() {
    let rate = |asked_hz, ticks, cpu_seconds| Rate {
        asked_hz,
        ticks,
        cpu_seconds,
    };
    let short = rate(1000, 500, 2.0);
    assert!(short.is_short());
    let text = "1000 ticks a second were asked for, and the system gave 250";
    assert_eq!(short.summary().as_deref(), Some(text));
    let right = rate(100, 197, 2.0);
    assert!(!right.is_short());
    let text = "100 ticks a second were asked for, and 98 came";
    assert_eq!(right.summary().as_deref(), Some(text));
    // So little time says nothing; and no tick in a second is short of any rate.
    let brief = rate(100, 10, 0.4);
    assert!(!brief.is_short() && brief.summary().is_none());
    assert!(rate(100, 0, 1.0).is_short());
}

#[test]
fn ticks_and_time_can_be_made_by_hand() {
    let manual = ManualTicks::default();
    let source = TickSource::Manual(manual.clone());
    let [first, second] = [SourceId::MAIN, SourceId::GC].map(Node::new);
    let cell = Arc::new(CurrentCell::new());
    // Without a ticker nothing is charged and no time passes for the cell.
    manual.tick(7);
    assert_eq!((cell.take_cpu_ns(), cell.ticks()), (0, 0));
    let ticker = Ticker::start_from(Arc::clone(&cell), 100, &source).unwrap();
    for (node, n) in [(&first, 3), (&second, 4), (&first, 1)] {
        // SAFETY: the nodes outlive the ticker.
        unsafe { cell.publish(node) };
        manual.tick(n);
    }
    manual.advance(Duration::from_millis(20));
    assert_eq!(cell.take_cpu_ns(), 20_000_000);
    manual.advance(Duration::from_millis(60));
    assert_eq!(cell.take_cpu_ns(), 60_000_000);
    let expected = Rate {
        asked_hz: 100,
        ticks: 8,
        cpu_seconds: 0.08,
    };
    assert_eq!(ticker.rate(), expected);
    drop(ticker);
    manual.tick(7);
    let ticks = [&first, &second].map(|node| node.ticks.load(Relaxed));
    assert_eq!((ticks, cell.ticks()), ([4, 4], 8));
}

#[test]
fn ticks_made_by_hand_serve_one_ticker_on_its_thread() {
    let manual = ManualTicks::default();
    let source = TickSource::Manual(manual.clone());
    let ticker = Ticker::start_from(Arc::default(), 100, &source).unwrap();
    let second = Ticker::start_from(Arc::default(), 100, &source);
    assert!(matches!(second, Err(TickerError::AlreadyRunning)));
    let elsewhere = std::thread::spawn(move || manual.tick(1)).join();
    assert!(elsewhere.is_err(), "a tick on a thread that has no machine");
    drop(ticker);
    assert!(Ticker::start_from(Arc::default(), 100, &source).is_ok());
}
