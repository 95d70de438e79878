//! What the operating system offers: timers, clocks and signal masks.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::{io, ptr};

use super::CurrentCell;

/// This thread's timer.
#[derive(Debug)]
pub(super) enum Timer {
    /// A timer on the thread's own clock; its id is in the cell, for the handler.
    #[cfg(target_os = "linux")]
    Thread(libc::timer_t),
    /// A share in the timer of the process.
    Process,
}

impl Timer {
    pub(super) fn start(cell: &CurrentCell, first: u64, period: u64) -> io::Result<Timer> {
        #[cfg(target_os = "linux")]
        if let Ok(timer) = start_thread_timer(cell, first, period) {
            return Ok(Timer::Thread(timer));
        }
        // The shared timer has no overruns to ask for.
        cell.timer.store(ptr::null_mut(), Relaxed);
        start_process_timer(first, period)?;
        Ok(Timer::Process)
    }

    pub(super) fn stop(&mut self, cell: &CurrentCell) {
        cell.timer.store(ptr::null_mut(), Relaxed);
        match self {
            #[cfg(target_os = "linux")]
            Timer::Thread(timer) => {
                // SAFETY: the id came from `timer_create`, and this is its only deletion.
                unsafe { libc::timer_delete(*timer) };
            }
            Timer::Process => stop_process_timer(),
        }
    }
}

#[cfg(target_os = "linux")]
fn start_thread_timer(cell: &CurrentCell, first: u64, period: u64) -> io::Result<libc::timer_t> {
    // SAFETY: all-zero bytes are a valid `sigevent`, which is a plain C structure.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGPROF;
    // SAFETY: `gettid` has no preconditions.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let mut timer: libc::timer_t = ptr::null_mut();
    let clock = libc::CLOCK_THREAD_CPUTIME_ID;
    // SAFETY: both pointers are to live locals of the right types.
    check(unsafe { libc::timer_create(clock, &mut event, &mut timer) })?;
    cell.timer.store(timer, Relaxed);
    let timespec = |ns: u64| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    let spec = libc::itimerspec {
        it_interval: timespec(period),
        it_value: timespec(first),
    };
    // SAFETY: the timer was just made, `spec` is live, and the old value is not asked for.
    let set = check(unsafe { libc::timer_settime(timer, 0, &spec, ptr::null_mut()) });
    if set.is_err() {
        cell.timer.store(ptr::null_mut(), Relaxed);
        // SAFETY: the timer was just made, and this is its only deletion.
        unsafe { libc::timer_delete(timer) };
    }
    set.map(|()| timer)
}

/// How many expiries the signal that is being handled stands for beyond its own.
#[cfg(target_os = "linux")]
pub(super) fn overrun(timer: libc::timer_t) -> u64 {
    if timer.is_null() {
        return 0;
    }
    // SAFETY: an id that is not null is that of this thread's timer, which is deleted only
    // after the cell's copy is cleared. The function is async-signal-safe by POSIX.
    let overrun = unsafe { libc::timer_getoverrun(timer) };
    u64::try_from(overrun).unwrap_or(0)
}

/// The shared timer has no overrun count.
#[cfg(not(target_os = "linux"))]
pub(super) fn overrun(_timer: *mut libc::c_void) -> u64 {
    0
}

/// How many tickers share the timer of the process. The last one to stop stops it.
pub(super) static SHARERS: Mutex<usize> = Mutex::new(0);

pub(super) fn start_process_timer(first: u64, period: u64) -> io::Result<()> {
    // The lock is never held across a panic, and its number is valid whatever happened.
    let mut sharers = SHARERS.lock().unwrap_or_else(|error| error.into_inner());
    if *sharers == 0 {
        set_process_timer(first, period)?;
    }
    *sharers += 1;
    Ok(())
}

pub(super) fn stop_process_timer() {
    let mut sharers = SHARERS.lock().unwrap_or_else(|error| error.into_inner());
    *sharers = sharers.saturating_sub(1);
    if *sharers == 0 {
        // A timer that was set can be unset; there is nobody to report a failure to.
        let _ = set_process_timer(0, 0);
    }
}

fn set_process_timer(first: u64, period: u64) -> io::Result<()> {
    // Rounded up, because a period of zero would mean "never".
    let timeval = |ns: u64| {
        let us = ns.div_ceil(1000);
        libc::timeval {
            tv_sec: (us / 1_000_000) as libc::time_t,
            tv_usec: (us % 1_000_000) as libc::suseconds_t,
        }
    };
    let value = libc::itimerval {
        it_interval: timeval(period),
        it_value: timeval(first),
    };
    // SAFETY: `value` is live, and the old value is not asked for.
    check(unsafe { libc::setitimer(libc::ITIMER_PROF, &value, ptr::null_mut()) })
}

/// The CPU time of the calling thread, in nanoseconds; 0 if the system cannot tell.
pub(super) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live local of the right type.
    let got = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    if got == 0 {
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    } else {
        0
    }
}

/// Blocks or unblocks SIGPROF in the calling thread.
pub(super) fn mask_signal(how: libc::c_int) -> io::Result<()> {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the set before it is used, SIGPROF is a valid signal,
    // and the old mask is not asked for.
    let code = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPROF);
        libc::pthread_sigmask(how, set.as_ptr(), ptr::null_mut())
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
