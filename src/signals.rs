//! Signals that end a run: the first one politely, the second one at once.

use std::num::NonZeroU8;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level;
use vm::Interrupt;

/// Lets SIGINT, SIGTERM and SIGHUP end the machine's run. A second signal kills the process, so
/// that nothing can make it deaf.
pub(crate) fn end_run_on_signal(interrupt: &Interrupt) -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let interrupt = interrupt.clone();
        let seen = std::sync::atomic::AtomicBool::new(false);
        let action = move || {
            if seen.swap(true, std::sync::atomic::Ordering::Relaxed) {
                // A failure leaves nothing better to do than to go on.
                let _ = low_level::emulate_default_handler(signal);
            }
            interrupt.raise(number(signal));
        };
        // SAFETY: the action touches atomics only, or ends the process by ways that are
        // async-signal-safe.
        unsafe { low_level::register(signal, action)? };
    }
    Ok(())
}

/// Lets SIGINT stop what a session evaluates, as often as it comes.
pub(crate) fn stop_evaluation_on_signal(interrupt: &Interrupt) -> std::io::Result<()> {
    let interrupt = interrupt.clone();
    // SAFETY: the action sets bits of an atomic.
    unsafe { low_level::register(SIGINT, move || interrupt.raise(number(SIGINT)))? };
    Ok(())
}

/// Lets SIGUSR1 take a snapshot of a running machine's profile.
pub(crate) fn snapshot_on_signal(interrupt: &Interrupt) -> std::io::Result<()> {
    let interrupt = interrupt.clone();
    // SAFETY: the action sets a bit of an atomic.
    unsafe { low_level::register(SIGUSR1, move || interrupt.snapshot())? };
    Ok(())
}

/// Takes a snapshot of a running machine's profile every so often, counted from the end of the one
/// before, which `taken` tells: snapshots that take longer than that must not be all that is done.
pub(crate) fn snapshot_every(
    interrupt: Interrupt,
    interval: Duration,
    taken: Receiver<()>,
) -> std::io::Result<()> {
    let work = move || {
        loop {
            thread::sleep(interval);
            interrupt.snapshot();
            if taken.recv().is_err() {
                break;
            }
        }
    };
    thread::Builder::new().spawn(work).map(drop)
}

/// A signal's number as an interrupt takes it.
fn number(signal: i32) -> NonZeroU8 {
    u8::try_from(signal)
        .ok()
        .and_then(NonZeroU8::new)
        .unwrap_or(NonZeroU8::MAX)
}

/// Ends the process as the signal would have.
pub(crate) fn die_of(signal: u8) {
    // If the process cannot be ended so, the caller's exit code says the same.
    let _ = low_level::emulate_default_handler(signal as i32);
}
