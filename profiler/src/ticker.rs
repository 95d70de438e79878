//! The timer that ticks for time profiles. This is the only module that knows of signals.
//!
//! A tick is charged inside the signal handler, to the node that the VM has published at that
//! instant, never later, so a profile has no bias towards safepoints. The handler loads two
//! pointers and adds to two counters: it allocates nothing, takes no lock and walks nothing.
//!
//! On Linux each VM thread has a timer of its own on its CPU-time clock, whose signal goes to that
//! thread. Elsewhere, and where such timers are refused, all threads share `ITIMER_PROF`. The
//! kernel looks at both at its own clock tick, so 250 Hz is about the highest rate there is; ask
//! [`Ticker::rate`] for the one that came true. On a busy machine a thread may not be running at
//! any clock tick for a while. Its ticks then come late, as the overrun count of the next signal,
//! and are charged to the node that is current by then; what is due when the timer stops is lost.
//!
//! The signal of the shared timer may go to any thread. One that runs no VM ignores it, but still
//! is interrupted, and on macOS its first look at a thread-local may allocate: such a thread calls
//! [`Ticker::block_in_this_thread`].
//!
//! A SIGPROF that somebody else sends counts as a tick too, because signal-hook does not tell its
//! actions who sent a signal.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU64, compiler_fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::{fmt, io, ptr};

use crate::Node;

mod os;
mod source;
#[cfg(test)]
mod tests;

use source::{Clock, Meter};
pub use source::{ManualTicks, TickSource};

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
    /// The clock of the ticker that runs, if one does. The signal handler does not look at it.
    meter: Mutex<Option<Meter>>,
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
        // The fences are for the compiler alone and cost no instruction: what was done to the node
        // stays before the store, and what is done to the one before it stays after.
        compiler_fence(SeqCst);
        self.current.store(node.cast_mut(), Relaxed);
        compiler_fence(SeqCst);
    }

    /// Publishes nothing: ticks are charged to no node.
    #[inline]
    pub fn clear(&self) {
        // SAFETY: null is no node, so there is nothing that must live.
        unsafe { self.publish(ptr::null()) };
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

    /// Nanoseconds of the thread's CPU time since this was last asked, or since the [`Ticker`] of
    /// this cell has started; 0 while there is none. For the ticker's own thread.
    pub fn take_cpu_ns(&self) -> u64 {
        self.meter().as_mut().map_or(0, Meter::take_ns)
    }

    fn meter(&self) -> MutexGuard<'_, Option<Meter>> {
        // What it holds is whole whenever the lock is free.
        self.meter.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// The body of the signal handler.
    fn tick(&self) {
        let timer = self.timer.load(Relaxed);
        self.charge(1 + os::overrun(timer));
    }

    /// Charges ticks to the node that is current. Only on the thread that publishes.
    fn charge(&self, ticks: u64) {
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
    driver: Driver,
    clock: Clock,
    asked_hz: u32,
    first_tick: u64,
    start_ns: u64,
    // Not `Send`: the timer and the thread-local cell belong to the thread that started it.
    not_send: PhantomData<*const ()>,
}

/// What makes the ticks of a ticker.
#[derive(Debug)]
enum Driver {
    System(os::Timer),
    Manual(ManualTicks),
}

impl Ticker {
    /// As [`Ticker::start_from`], with the system's timer and clock.
    ///
    /// # Errors
    /// As for [`Ticker::start_from`].
    pub fn start(cell: Arc<CurrentCell>, hz: u32) -> Result<Ticker, TickerError> {
        Ticker::start_from(cell, hz, &TickSource::System)
    }

    /// Starts to tick `hz` times per second of this thread's CPU time; ticks are charged to the
    /// node that `cell` has. The first tick comes at a random moment within the first period, so
    /// that short runs are not biased. One ticker of the system's may run on each thread. Ticks
    /// that are made by hand come when they are made, whatever `hz` is.
    ///
    /// # Errors
    /// If `hz` is 0 or above [`MAX_HZ`], if this thread or the source has a ticker already, or if
    /// the system refuses the signal handler or the timer.
    pub fn start_from(
        cell: Arc<CurrentCell>,
        hz: u32,
        source: &TickSource,
    ) -> Result<Ticker, TickerError> {
        if hz == 0 || hz > MAX_HZ {
            return Err(TickerError::Rate { hz });
        }
        let clock = Clock::of(source);
        let first_tick = cell.ticks();
        let start_ns = clock.now_ns();
        let driver = match source {
            TickSource::System => Driver::System(start_system(&cell, hz)?),
            TickSource::Manual(manual) => {
                manual.attach(&cell)?;
                Driver::Manual(manual.clone())
            }
        };
        *cell.meter() = Some(Meter {
            clock: clock.clone(),
            taken_ns: start_ns,
        });
        Ok(Ticker {
            cell,
            driver,
            clock,
            asked_hz: hz,
            first_tick,
            start_ns,
            not_send: PhantomData,
        })
    }

    /// Keeps the ticks of all tickers away from this thread, for threads that run no VM. Threads
    /// that it starts inherit that. A ticker that this thread starts ends it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn block_in_this_thread() -> io::Result<()> {
        os::mask_signal(libc::SIG_BLOCK)
    }

    /// The rate asked for and what came true so far.
    pub fn rate(&self) -> Rate {
        Rate {
            asked_hz: self.asked_hz,
            ticks: self.cell.ticks() - self.first_tick,
            cpu_seconds: self.clock.now_ns().saturating_sub(self.start_ns) as f64 / 1e9,
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        match &mut self.driver {
            // The timer stops first. The handler stays installed: a signal that is still on its way
            // finds no cell and does nothing, where the default action would end the process.
            Driver::System(timer) => {
                timer.stop(&self.cell);
                set_cell(ptr::null());
            }
            Driver::Manual(manual) => manual.detach(),
        }
        *self.cell.meter() = None;
    }
}

/// Starts the system's timer for this thread.
fn start_system(cell: &Arc<CurrentCell>, hz: u32) -> Result<os::Timer, TickerError> {
    if !CELL.get().is_null() {
        return Err(TickerError::AlreadyRunning);
    }
    install_handler()?;
    os::mask_signal(libc::SIG_UNBLOCK).map_err(TickerError::Handler)?;
    let period_ns = 1_000_000_000 / u64::from(hz);
    let first_ns = 1 + RandomState::new().hash_one(period_ns) % period_ns;
    // The cell is in place before the first signal can come, and is taken back if none will.
    set_cell(Arc::as_ptr(cell));
    os::Timer::start(cell, first_ns, period_ns).map_err(|error| {
        set_cell(ptr::null());
        TickerError::Timer(error)
    })
}

/// How much CPU time tells a measured rate from chance, in seconds.
const MIN_SECONDS: f64 = 0.5;

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

    /// The rate asked for and the one that came, in one sentence; `None` if there was not enough
    /// CPU time to tell one from the other.
    pub fn summary(&self) -> Option<String> {
        let measured = self.known_hz()?;
        let asked = self.asked_hz;
        Some(if self.is_short() {
            format!("{asked} ticks a second were asked for, and the system gave {measured:.0}")
        } else {
            format!("{asked} ticks a second were asked for, and {measured:.0} came")
        })
    }

    /// Whether clearly fewer ticks came than were asked for: many systems look at CPU timers only
    /// 250 times a second.
    pub fn is_short(&self) -> bool {
        let enough = 0.8 * f64::from(self.asked_hz);
        self.known_hz().is_some_and(|measured| measured < enough)
    }

    /// The measured rate, if it is more than chance.
    fn known_hz(&self) -> Option<f64> {
        self.measured_hz()
            .filter(|_| self.cpu_seconds >= MIN_SECONDS)
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

/// Sets this thread's cell. The handler may run between any two instructions, so the compiler may
/// not move the store: before the cell is ready, or to after it is freed.
fn set_cell(cell: *const CurrentCell) {
    compiler_fence(SeqCst);
    CELL.set(cell);
    compiler_fence(SeqCst);
}

/// Not inlined, so that a test can look at what it calls.
#[inline(never)]
fn on_signal() {
    // `try_with` cannot fail for a type with no destructor, and unlike `with` has no panic in it.
    let cell = CELL.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: a cell that is not null is kept alive by this thread's `Ticker`, which clears the
    // pointer, on this thread, before it lets go of the cell.
    if let Some(cell) = unsafe { cell.as_ref() } {
        cell.tick();
    }
}
