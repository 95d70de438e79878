//! Clocks, and waiting.

use std::mem::MaybeUninit;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::coded::{Refused, look};
use super::{HostCall, HostError};
use crate::host::io::POLL_MILLISECONDS;

/// Whose processor time is counted: the machine's thread's, where the system can tell.
#[cfg(target_os = "linux")]
const WHO: i32 = libc::RUSAGE_THREAD;
#[cfg(not(target_os = "linux"))]
const WHO: i32 = libc::RUSAGE_SELF;

pub(super) fn since_start(call: &mut HostCall) -> Result<(), HostError> {
    let nanoseconds = call.io().elapsed().as_nanos();
    call.set_int(0, nanoseconds as i64);
    Ok(())
}

pub(super) fn since_1970(call: &mut HostCall) -> Result<(), HostError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    call.set_int(0, since.unwrap_or_default().as_nanos() as i64);
    Ok(())
}

pub(super) fn cpu(call: &mut HostCall) -> Result<(), Refused> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: what is found has room.
    let result = unsafe { libc::getrusage(WHO, usage.as_mut_ptr()) };
    if result != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the call has succeeded, so it has filled it in.
    let usage = unsafe { usage.assume_init() };
    let nanoseconds = |time: libc::timeval| {
        let time = Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
        time.as_nanos() as i64
    };
    call.set_int(1, nanoseconds(usage.ru_utime));
    call.set_int(2, nanoseconds(usage.ru_stime));
    Ok(())
}

pub(super) fn collector(call: &mut HostCall) -> Result<(), HostError> {
    let nanoseconds = call.collector_time().as_nanos();
    call.set_int(0, nanoseconds as i64);
    Ok(())
}

pub(super) fn collections(call: &mut HostCall) -> Result<(), HostError> {
    call.set_int(0, call.n_collections() as i64);
    Ok(())
}

/// Waits, in parts between which it looks whether the run is to end.
pub(super) fn sleep(call: &mut HostCall) -> Result<(), HostError> {
    const PART: Duration = Duration::from_millis(POLL_MILLISECONDS as u64);
    let wanted = Duration::from_nanos(call.int(0).max(0) as u64);
    let started = Instant::now();
    loop {
        look(call)?;
        let rest = wanted.saturating_sub(started.elapsed());
        if rest.is_zero() {
            return Ok(());
        }
        thread::sleep(rest.min(PART));
    }
}
