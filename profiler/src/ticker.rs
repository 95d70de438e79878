//! The timer that ticks for time profiles. This is the only file that knows of signals.
//!
//! A tick is charged inside the signal handler, to the node that the VM has published at that
//! instant, never later, so a profile has no bias towards safepoints. The handler loads two
//! pointers and adds to two counters: it allocates nothing, takes no lock and walks nothing.
//!
//! On Linux each VM thread has a timer of its own on its CPU-time clock, whose signal goes to that
//! thread. Elsewhere, and where such timers are refused, all threads share `ITIMER_PROF`. The
//! kernel looks at both at its own clock tick, so 250 Hz is about the highest rate there is; ask
//! [`Ticker::rate`] for the one that came true.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::{fmt, io, ptr};

use crate::Node;

/// The highest tick rate that may be asked for, in ticks per second of CPU time.
pub const MAX_HZ: u32 = 10_000;

/// Where the VM publishes the node that is current, for the signal handler to find.
///
/// `current` is at offset 0, so that the VM's own handlers can write it directly.
#[repr(C)]
#[derive(Debug, Default)]
pub struct CurrentCell {
    current: AtomicPtr<Node>,
    ticks: AtomicU64,
    timer: AtomicPtr<libc::c_void>,
}

impl CurrentCell {
    /// A cell with nothing published.
    pub fn new() -> CurrentCell {
        CurrentCell::default()
    }

    /// Makes `node` current: from the next instruction on, ticks are charged to it. Null means
    /// that ticks are charged to no node.
    ///
    /// # Safety
    /// A node that is not null must live until something else is published here, or until the
    /// [`Ticker`] that uses the cell is dropped.
    #[inline(always)]
    pub unsafe fn publish(&self, node: *const Node) {
        self.current.store(node.cast_mut(), Relaxed);
    }

    /// Publishes nothing: ticks are charged to no node.
    #[inline]
    pub fn clear(&self) {
        self.current.store(ptr::null_mut(), Relaxed);
    }

    /// The node that is current, or null.
    #[inline]
    pub fn current(&self) -> *const Node {
        self.current.load(Relaxed)
    }

    /// All ticks that came while a [`Ticker`] used the cell, charged or not.
    pub fn ticks(&self) -> u64 {
        self.ticks.load(Relaxed)
    }

    /// The body of the signal handler.
    fn tick(&self) {
        let timer = self.timer.load(Relaxed);
        let ticks = 1 + os::overrun(timer);
        self.ticks.fetch_add(ticks, Relaxed);
        // SAFETY: whoever published the node promised (see `publish`) that it lives until
        // something else is published. This runs on the thread that publishes, between two of its
        // instructions, so nothing is published and no node is dropped meanwhile.
        if let Some(node) = unsafe { self.current.load(Relaxed).as_ref() } {
            node.ticks.fetch_add(ticks, Relaxed);
        }
    }
}

thread_local! {
    // A constant initialiser and a type with no destructor: the handler can read it at any time,
    // because no access ever allocates or registers anything.
    static CELL: Cell<*const CurrentCell> = const { Cell::new(ptr::null()) };
}

/// A running timer of the thread that started it. Dropping it stops the timer.
#[derive(Debug)]
pub struct Ticker {
    cell: Arc<CurrentCell>,
    timer: os::Timer,
    asked_hz: u32,
    first_tick: u64,
    start_seconds: f64,
    // Not `Send`: the timer and the thread-local cell belong to the thread that started it.
    not_send: PhantomData<*const ()>,
}

impl Ticker {
    /// Starts to tick `hz` times per second of this thread's CPU time; ticks are charged to the
    /// node that `cell` has. The first tick comes at a random moment within the first period, so
    /// that short runs are not biased. One ticker may run on each thread.
    ///
    /// # Errors
    /// If `hz` is 0 or above [`MAX_HZ`], if this thread has a ticker already, or if the system
    /// refuses the signal handler or the timer.
    pub fn start(cell: Arc<CurrentCell>, hz: u32) -> Result<Ticker, TickerError> {
        if hz == 0 || hz > MAX_HZ {
            return Err(TickerError::Rate { hz });
        }
        if !CELL.get().is_null() {
            return Err(TickerError::AlreadyRunning);
        }
        install_handler()?;
        let period_ns = 1_000_000_000 / u64::from(hz);
        let first_ns = 1 + RandomState::new().hash_one(period_ns) % period_ns;
        let first_tick = cell.ticks();
        let start_seconds = os::thread_cpu_seconds();
        // The cell is in place before the first signal can come, and is taken back if none will.
        CELL.set(Arc::as_ptr(&cell));
        match os::Timer::start(&cell, first_ns, period_ns) {
            Ok(timer) => Ok(Ticker {
                cell,
                timer,
                asked_hz: hz,
                first_tick,
                start_seconds,
                not_send: PhantomData,
            }),
            Err(error) => {
                CELL.set(ptr::null());
                Err(TickerError::Timer(error))
            }
        }
    }

    /// The rate asked for and what came true so far.
    pub fn rate(&self) -> Rate {
        Rate {
            asked_hz: self.asked_hz,
            ticks: self.cell.ticks() - self.first_tick,
            cpu_seconds: os::thread_cpu_seconds() - self.start_seconds,
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // The timer stops first. The handler stays installed: a signal that is still on its way
        // finds no cell and does nothing, where the default action would end the process.
        self.timer.stop(&self.cell);
        CELL.set(ptr::null());
    }
}

/// How often the timer was asked to tick, and how often it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Ticks per second of CPU time that were asked for.
    pub asked_hz: u32,
    /// Ticks that came, timer overruns included.
    pub ticks: u64,
    /// CPU time of the thread meanwhile, in seconds.
    pub cpu_seconds: f64,
}

impl Rate {
    /// Ticks per second of CPU time that came, or `None` before any CPU time has passed.
    pub fn measured_hz(&self) -> Option<f64> {
        (self.cpu_seconds > 0.0).then(|| self.ticks as f64 / self.cpu_seconds)
    }
}

/// Why a [`Ticker`] did not start.
#[derive(Debug)]
pub enum TickerError {
    /// The rate is 0 or above [`MAX_HZ`].
    Rate {
        /// The rate that was asked for.
        hz: u32,
    },
    /// This thread has a ticker already.
    AlreadyRunning,
    /// The signal handler could not be installed.
    Handler(io::Error),
    /// The timer could not be made or started.
    Timer(io::Error),
}

impl fmt::Display for TickerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TickerError::Rate { hz } => {
                write!(
                    f,
                    "{hz} is not a tick rate: choose from 1 to {MAX_HZ} ticks per second"
                )
            }
            TickerError::AlreadyRunning => f.write_str("this thread is being profiled already"),
            TickerError::Handler(error) => write!(f, "cannot handle SIGPROF: {error}"),
            TickerError::Timer(error) => write!(f, "cannot start the profiling timer: {error}"),
        }
    }
}

impl std::error::Error for TickerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TickerError::Handler(error) | TickerError::Timer(error) => Some(error),
            TickerError::Rate { .. } | TickerError::AlreadyRunning => None,
        }
    }
}

/// Installs the handler of SIGPROF once for the whole process, and never removes it.
fn install_handler() -> Result<(), TickerError> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: the action is async-signal-safe. It reads a thread-local with a constant
        // initialiser and no destructor, calls `timer_getoverrun`, which POSIX lists as safe, and
        // touches atomics. It cannot panic.
        let registered = unsafe { signal_hook::low_level::register(libc::SIGPROF, on_signal) };
        registered
            .map(drop)
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
    });
    installed.map_err(|code| TickerError::Handler(io::Error::from_raw_os_error(code)))
}

fn on_signal() {
    // `try_with` cannot fail for a type with no destructor, and unlike `with` has no panic in it.
    let cell = CELL.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: a cell that is not null is kept alive by this thread's `Ticker`, which clears the
    // pointer, on this thread, before it lets go of the cell.
    if let Some(cell) = unsafe { cell.as_ref() } {
        cell.tick();
    }
}

/// What the operating system offers.
mod os {
    use super::*;

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
    fn start_thread_timer(
        cell: &CurrentCell,
        first: u64,
        period: u64,
    ) -> io::Result<libc::timer_t> {
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
    static SHARERS: Mutex<usize> = Mutex::new(0);

    fn start_process_timer(first: u64, period: u64) -> io::Result<()> {
        // The lock is never held across a panic, and its number is valid whatever happened.
        let mut sharers = SHARERS.lock().unwrap_or_else(|error| error.into_inner());
        if *sharers == 0 {
            set_process_timer(first, period)?;
        }
        *sharers += 1;
        Ok(())
    }

    fn stop_process_timer() {
        let mut sharers = SHARERS.lock().unwrap_or_else(|error| error.into_inner());
        *sharers = sharers.saturating_sub(1);
        if *sharers == 0 {
            // A timer that was set can be unset; there is nobody to report a failure to.
            let _ = set_process_timer(0, 0);
        }
    }

    fn set_process_timer(first: u64, period: u64) -> io::Result<()> {
        // A period of less than a microsecond would mean "never".
        let timeval = |ns: u64| libc::timeval {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_usec: (ns % 1_000_000_000).div_ceil(1000) as libc::suseconds_t,
        };
        let value = libc::itimerval {
            it_interval: timeval(period),
            it_value: timeval(first),
        };
        // SAFETY: `value` is live, and the old value is not asked for.
        check(unsafe { libc::setitimer(libc::ITIMER_PROF, &value, ptr::null_mut()) })
    }

    /// The CPU time of the calling thread, in seconds; 0 if the system cannot tell.
    pub(super) fn thread_cpu_seconds() -> f64 {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a live local of the right type.
        let got = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        if got == 0 {
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        } else {
            0.0
        }
    }

    fn check(result: libc::c_int) -> io::Result<()> {
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_shared_timer_ticks_too() {
            let _alone = super::super::tests::alone();
            let cell = CurrentCell::new();
            install_handler().unwrap();
            CELL.set(&cell);
            start_process_timer(1, 1_000_000).unwrap();
            // Other threads of the test process take some of the signals.
            while cell.ticks() < 3 {
                std::hint::spin_loop();
            }
            stop_process_timer();
            CELL.set(ptr::null());
            assert_eq!(*SHARERS.lock().unwrap(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceId;
    use std::sync::MutexGuard;

    /// The tests of this file take turns: the shared timer of one would tick for the others.
    pub(super) fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// Keeps this thread busy until it has used `seconds` of CPU time.
    fn burn(seconds: f64) {
        let end = os::thread_cpu_seconds() + seconds;
        while os::thread_cpu_seconds() < end {}
    }

    /// Burns CPU time with `node` current, and returns the rate.
    fn profile(node: &Node, hz: u32, seconds: f64) -> Rate {
        let cell = Arc::new(CurrentCell::new());
        // SAFETY: the node outlives the ticker, which is dropped at the end of this function.
        unsafe { cell.publish(node) };
        let ticker = Ticker::start(Arc::clone(&cell), hz).unwrap();
        burn(seconds);
        ticker.rate()
    }

    #[test]
    fn ticks_go_to_the_published_node() {
        let _alone = alone();
        let node = Node::new(SourceId::MAIN);
        let rate = profile(&node, 100, 0.5);
        let ticks = node.ticks.load(Relaxed);
        assert!(
            (30..=60).contains(&ticks),
            "{ticks} ticks in 0.5 s at 100 Hz"
        );
        // Those that came between reading the rate and stopping the timer are the difference.
        assert!(ticks - rate.ticks <= 2, "{ticks} {rate:?}");
        assert_eq!(rate.asked_hz, 100);
        let hz = rate.measured_hz().unwrap();
        assert!((60.0..=120.0).contains(&hz), "{hz}");
    }

    #[test]
    fn ticks_with_nothing_published_are_only_counted() {
        let _alone = alone();
        let cell = Arc::new(CurrentCell::new());
        let ticker = Ticker::start(Arc::clone(&cell), 200).unwrap();
        burn(0.1);
        drop(ticker);
        assert!(cell.ticks() > 0);
    }

    #[test]
    fn a_stopped_timer_does_not_tick() {
        let _alone = alone();
        let node = Node::new(SourceId::MAIN);
        profile(&node, 200, 0.05);
        let before = node.ticks.load(Relaxed);
        burn(0.1);
        assert_eq!(node.ticks.load(Relaxed), before);
    }

    #[test]
    fn every_thread_has_its_own_ticks() {
        let _alone = alone();
        let count = || {
            let node = Node::new(SourceId::MAIN);
            profile(&node, 100, 0.3);
            node.ticks.load(Relaxed)
        };
        let ticks: Vec<u64> = std::thread::scope(|scope| {
            let threads = [scope.spawn(count), scope.spawn(count), scope.spawn(count)];
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(
            ticks.iter().all(|ticks| (15..=40).contains(ticks)),
            "{ticks:?}"
        );
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
}
