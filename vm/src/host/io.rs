//! A machine's input, output and arguments.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::open_file::Filled;
use crate::machine::SIGNAL_BITS;

/// How long a blocked read waits before it looks whether the run should end.
pub(super) const POLL_MILLISECONDS: i32 = 20;

/// What standard host functions read and write.
pub struct HostIo {
    input: Input,
    output: Box<dyn Write + Send>,
    error: Box<dyn Write + Send>,
    pub(super) arguments: Vec<Vec<u8>>,
    pub(super) program_name: Vec<u8>,
    started: Instant,
    attention: Attention,
}

/// The attention word of the machine that reads and writes, once there is one.
type Attention = Arc<Mutex<Arc<AtomicU32>>>;

enum Input {
    /// The process's standard input, read so that a signal is noticed while it blocks.
    Process { buffer: Vec<u8>, is_at_end: bool },
    /// Anything else.
    Reader(io::BufReader<Box<dyn Read + Send>>),
}

impl fmt::Debug for HostIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostIo")
            .field("arguments", &self.arguments.len())
            .finish_non_exhaustive()
    }
}

impl HostIo {
    /// The process's own input and output. Output is buffered: [`HostIo::flush`] when a run ends.
    pub fn process(arguments: Vec<Vec<u8>>) -> Self {
        let attention = Attention::default();
        let output = ProcessOutput {
            attention: attention.clone(),
            is_given_up: false,
        };
        Self {
            input: Input::Process {
                buffer: Vec::new(),
                is_at_end: false,
            },
            output: Box::new(io::BufWriter::with_capacity(1 << 16, output)),
            error: Box::new(io::stderr()),
            arguments,
            program_name: Vec::new(),
            started: Instant::now(),
            attention,
        }
    }

    /// Other input and output, for embedders and tests.
    pub fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        error: impl Write + Send + 'static,
        arguments: Vec<Vec<u8>>,
    ) -> Self {
        Self {
            input: Input::Reader(io::BufReader::new(Box::new(input))),
            output: Box::new(output),
            error: Box::new(error),
            arguments,
            program_name: Vec::new(),
            started: Instant::now(),
            attention: Attention::default(),
        }
    }

    /// The same input and arguments with other places to write to.
    pub fn redirected(
        self,
        output: impl Write + Send + 'static,
        error: impl Write + Send + 'static,
    ) -> Self {
        Self {
            output: Box::new(output),
            error: Box::new(error),
            ..self
        }
    }

    /// The same with a name by which the program knows itself; without, it is empty.
    pub fn with_program_name(self, name: &[u8]) -> Self {
        Self {
            program_name: name.to_vec(),
            ..self
        }
    }

    /// Lets output that blocks be given up when this attention word asks for the end of a run.
    pub(crate) fn watch(&mut self, attention: Arc<AtomicU32>) {
        *self
            .attention
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = attention;
    }

    /// Writes to the output.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    /// Writes to the error output, behind everything written to the output so far.
    pub fn write_error(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.flush()?;
        self.error.write_all(bytes)
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// What has been read of the input and not been taken.
    pub(super) fn unread(&self) -> &[u8] {
        match &self.input {
            Input::Process { buffer, .. } => buffer,
            Input::Reader(reader) => reader.buffer(),
        }
    }

    /// Takes some of what was read.
    pub(super) fn take(&mut self, bytes: usize) {
        match &mut self.input {
            Input::Process { buffer, .. } => drop(buffer.drain(..bytes)),
            Input::Reader(reader) => io::BufRead::consume(reader, bytes),
        }
    }

    /// Reads more of the input, when all was taken that had been read.
    pub(super) fn fill(&mut self) -> io::Result<Filled> {
        self.output.flush()?;
        match &mut self.input {
            Input::Reader(reader) => match io::BufRead::fill_buf(reader) {
                Ok([]) => Ok(Filled::End),
                Ok(_) => Ok(Filled::More),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Filled::NotYet),
                Err(error) => Err(error),
            },
            Input::Process {
                is_at_end: true, ..
            } => Ok(Filled::End),
            Input::Process { buffer, is_at_end } => {
                if is_ready(libc::STDIN_FILENO, libc::POLLIN, POLL_MILLISECONDS)? {
                    *is_at_end = read_more(buffer)?;
                }
                Ok(match (buffer.is_empty(), *is_at_end) {
                    (false, _) => Filled::More,
                    (true, true) => Filled::End,
                    (true, false) => Filled::NotYet,
                })
            }
        }
    }
}

/// The process's standard output, written so that a signal is noticed while it blocks.
struct ProcessOutput {
    attention: Attention,
    /// Whether a run has ended because nobody reads: nothing is waited for after that.
    is_given_up: bool,
}

/// The most bytes that a pipe takes at once without blocking, when it takes any.
const PIPE_BYTES: usize = 4096;

impl Write for ProcessOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let wait_ms = if self.is_given_up {
            0
        } else {
            POLL_MILLISECONDS
        };
        while !is_ready(libc::STDOUT_FILENO, libc::POLLOUT, wait_ms)? {
            let attention = self
                .attention
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            self.is_given_up |= attention.load(Relaxed) & SIGNAL_BITS != 0;
            if self.is_given_up {
                return Err(io::Error::other(GivenUp));
            }
        }
        let part = &bytes[..bytes.len().min(PIPE_BYTES)];
        // SAFETY: the buffer is as long as is said.
        let count = unsafe { libc::write(libc::STDOUT_FILENO, part.as_ptr().cast(), part.len()) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Output was given up because the run is to end and nobody reads.
#[derive(Debug)]
struct GivenUp;

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted while nobody reads")
    }
}

impl std::error::Error for GivenUp {}

/// Whether output was given up because the run is to end.
pub(super) fn is_given_up(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<GivenUp>())
}

/// Waits a little until a descriptor is ready. A read or write would be restarted after a signal
/// and never notice it; `poll` is not restarted, and comes back by itself for the signal that came
/// just before.
pub(super) fn is_ready(fd: i32, events: i16, wait_ms: i32) -> io::Result<bool> {
    let mut fd = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    // SAFETY: one descriptor is passed, and one is counted.
    let ready = unsafe { libc::poll(&mut fd, 1, wait_ms) };
    if ready >= 0 {
        return Ok(ready > 0);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        error => Err(error),
    }
}

/// Appends what standard input has ready; `true` at its end.
fn read_more(buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut chunk = [0; 1 << 14];
    // SAFETY: the buffer is as long as is said.
    let count = unsafe { libc::read(libc::STDIN_FILENO, chunk.as_mut_ptr().cast(), chunk.len()) };
    if count >= 0 {
        buffer.extend_from_slice(&chunk[..count as usize]);
        return Ok(count == 0);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}
