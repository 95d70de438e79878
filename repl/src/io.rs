//! Where the programs of a session read and write.

use std::io::{self, BufRead, BufWriter, LineWriter, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vm::host::HostIo;

/// What programs read and write.
#[derive(Clone)]
pub struct SessionIo {
    input: Input,
    output: Output,
}

#[derive(Clone)]
enum Input {
    /// The process's standard input, in which a signal can interrupt a read.
    Process,
    Lines(SharedLines),
    Empty,
}

/// Lines that a session and its programs read in turns.
pub type SharedLines = Arc<Mutex<dyn BufRead + Send>>;

impl std::fmt::Debug for SessionIo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionIo").finish_non_exhaustive()
    }
}

impl SessionIo {
    /// Programs read the process's standard input and write its standard output.
    pub fn process() -> Self {
        Self {
            input: Input::Process,
            output: Output::new(io::stdout()),
        }
    }

    /// Programs read nothing, and write here.
    pub fn new(output: impl Write + Send + 'static) -> Self {
        Self {
            input: Input::Empty,
            output: Output::new(output),
        }
    }

    /// Programs read these lines.
    pub fn with_lines(self, lines: SharedLines) -> Self {
        Self {
            input: Input::Lines(lines),
            ..self
        }
    }

    /// Writes a text of the session itself, on a line of its own.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_text(&self, text: &str) -> io::Result<()> {
        let mut state = self.output.lock();
        if !state.is_at_start {
            state.writer.write_all(b"\n")?;
        }
        state.is_at_start = true;
        state.writer.write_all(text.as_bytes())?;
        state.writer.flush()
    }

    /// For one run of a program.
    pub(crate) fn host(&self, arguments: Vec<Vec<u8>>) -> HostIo {
        let output = self.output.clone();
        let error = Unbuffered(output.clone());
        match &self.input {
            // Somebody may be watching.
            Input::Process => HostIo::process(arguments).redirected(LineWriter::new(output), error),
            Input::Lines(lines) => {
                let input = OneLine(lines.clone());
                HostIo::new(input, BufWriter::new(output), error, arguments)
            }
            Input::Empty => HostIo::new(io::empty(), BufWriter::new(output), error, arguments),
        }
    }

    /// For runs whose output nobody wants.
    pub(crate) fn silent(arguments: Vec<Vec<u8>>) -> HostIo {
        HostIo::new(io::empty(), io::sink(), io::sink(), arguments)
    }
}

/// Output of which it is known whether a line is begun.
#[derive(Clone)]
struct Output(Arc<Mutex<OutputState>>);

struct OutputState {
    writer: Box<dyn Write + Send>,
    is_at_start: bool,
}

impl Output {
    fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(OutputState {
            writer: Box::new(writer),
            is_at_start: true,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        // A writer that panicked has written what it has.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        let count = state.writer.write(bytes)?;
        if let Some(last) = bytes[..count].last() {
            state.is_at_start = *last == b'\n';
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().writer.flush()
    }
}

/// What is written here is out at once.
struct Unbuffered(Output);

impl Write for Unbuffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.write(bytes)?;
        self.0.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Reads no further than to the end of a line, so that the next line is left for others.
struct OneLine(SharedLines);

impl Read for OneLine {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = lines.fill_buf()?;
        let end = ready.iter().position(|&byte| byte == b'\n');
        let count = end.map_or(ready.len(), |end| end + 1).min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        lines.consume(count);
        Ok(count)
    }
}
