//! Input and output that fail, block or come in pieces.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use vm::host::{HostIo, Hosts};
use vm::{Outcome, RunError, Trap, VmConfig};

use crate::{machine_with, support};

/// Prints each line of the input.
const ECHO: &str = "
    fun main() {
    l:  more: i, line: r = call read_line()
        jeq more, 0, end
        call print(line)
        jmp l
    end:
        ret
    }";

/// A reader, or writer, of a byte at a time that is interrupted before each.
struct Bitty<T> {
    inner: T,
    is_interrupted: bool,
}

impl<T> Bitty<T> {
    fn new(inner: T) -> Self {
        Self {
            inner,
            is_interrupted: false,
        }
    }

    fn interrupt(&mut self) -> io::Result<()> {
        self.is_interrupted = !self.is_interrupted;
        match self.is_interrupted {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl<T: Read> Read for Bitty<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt()?;
        let end = buffer.len().min(1);
        self.inner.read(&mut buffer[..end])
    }
}

impl<T: Write> Write for Bitty<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupt()?;
        self.inner.write(&bytes[..bytes.len().min(1)])
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[test]
fn interrupted_and_short_transfers_lose_nothing() {
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let input = "one\ntwo\n\nlast";
    let io = HostIo::new(
        Bitty::new(input.as_bytes()),
        Bitty::new(writer),
        io::sink(),
        Vec::new(),
    );
    let mut vm = machine_with(ECHO, Hosts::standard(io), VmConfig::default());
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    drop(vm);
    let mut output = String::new();
    reader.read_to_string(&mut output).expect("the output");
    assert_eq!(output, input);
}

#[test]
fn output_that_fails_ends_the_run_with_its_message() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let io = HostIo::new("x\n".as_bytes(), Full, io::sink(), Vec::new());
    let mut vm = machine_with(ECHO, Hosts::standard(io), VmConfig::default());
    let result = vm.run();
    let Err(RunError::Trap {
        trap: Trap::Host(message),
        ..
    }) = result
    else {
        panic!("{result:?}");
    };
    assert!(
        message.starts_with("cannot write the output: "),
        "{message}"
    );
}

#[test]
fn input_that_fails_ends_the_run_with_its_message() {
    struct Torn;
    impl Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let io = HostIo::new(Torn, io::sink(), io::sink(), Vec::new());
    let mut vm = machine_with(ECHO, Hosts::standard(io), VmConfig::default());
    let result = vm.run();
    assert!(
        matches!(&result, Err(RunError::Trap { trap: Trap::Host(message), .. })
            if message.starts_with("cannot read the input: ")),
        "{result:?}"
    );
}

fn vm_on(folder: &Path, options: &[&str], text: &str) -> Command {
    std::fs::write(folder.join("program.asm"), text).expect("a program");
    let mut command = support::vm(folder);
    command.args(options).arg("program.asm");
    command
}

const TALKATIVE: &str = r#"
    fun main() {
    l:  call print("all work and no play makes jack a dull boy\n")
        jmp l
    }"#;

#[test]
fn a_full_disk_is_an_error_with_an_exit_code() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let full = std::fs::File::options().write(true).open("/dev/full");
    let output = vm_on(folder.path(), &[], TALKATIVE)
        .stdout(full.expect("a full disk"))
        .output()
        .expect("vm runs");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("cannot write the output"), "{message}");
}

#[test]
fn a_reader_that_goes_away_ends_the_run_as_sigpipe_would() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = vm_on(folder.path(), &[], TALKATIVE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("vm runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("vm ends");
    assert_eq!(output.status.code(), Some(128 + libc::SIGPIPE));
    assert!(output.stderr.is_empty());
}

/// A write that blocks is restarted after a signal and would never notice it.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_run_whose_output_nobody_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = vm_on(folder.path(), &["--profile", "count"], TALKATIVE)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("vm runs");
    let reader = child.stdout.take().expect("a pipe");
    wait_until_full(&reader);
    let process = child.id() as i32;
    // SAFETY: the child has not been waited for, so the number is its own.
    unsafe { libc::kill(process, libc::SIGINT) };
    let status = child.wait().expect("vm ends");
    assert_eq!(status.signal(), Some(libc::SIGINT));
    drop(reader);
}

/// Waits until a pipe takes no more.
#[cfg(target_os = "linux")]
fn wait_until_full(pipe: &impl AsRawFd) {
    // SAFETY: the calls look at a descriptor that is open; the integer outlives them.
    let size = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_GETPIPE_SZ) };
    support::wait_until("a full pipe", || {
        let mut n_bytes: libc::c_int = 0;
        // SAFETY: as above.
        unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut n_bytes) };
        n_bytes > size - 4096
    });
}
