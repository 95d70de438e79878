//! The interactive session at a real terminal: keys go in, what a user would see comes out.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use support::vm;
use tempfile::TempDir;

/// How long anything may take, on the slowest machine: nothing is measured here.
const PATIENCE: Duration = Duration::from_secs(60);
const CTRL_A: &str = "\x01";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const ENTER: &str = "\r";
const TAB: &str = "\t";
const BACKSPACE: &str = "\x7f";
const UP: &str = "\x1b[A";

/// A session at a terminal.
struct Terminal {
    child: Child,
    keys: File,
    seen: Arc<(Mutex<Vec<u8>>, Condvar)>,
    /// How much of what was seen has been expected.
    read: usize,
    /// The session's home.
    home: TempDir,
}

impl Terminal {
    fn start() -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), &[("NO_COLOR", "1")])
    }

    fn start_in(home: TempDir, variables: &[(&str, &str)]) -> Self {
        let (master, slave) = open_terminal();
        let mut command = vm(home.path());
        command
            .arg("repl")
            .env_remove("VM_GC_STRESS")
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .env("HOME", home.path())
            .env("XDG_STATE_HOME", home.path().join("state"))
            .envs(variables.iter().copied())
            .stdin(slave.try_clone().expect("a descriptor"))
            .stdout(slave.try_clone().expect("a descriptor"))
            .stderr(slave);
        // SAFETY: both calls are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                // The terminal becomes the controlling one, so that keys become signals.
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the session starts");
        drop(command);
        let seen = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let shared = seen.clone();
        let mut output = master.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // When the session is over, the read fails.
            while let Ok(count @ 1..) = output.read(&mut chunk) {
                let (bytes, news) = &*shared;
                bytes.lock().expect("no panic").extend(&chunk[..count]);
                news.notify_all();
            }
        });
        let mut terminal = Self {
            child,
            keys: master,
            seen,
            read: 0,
            home,
        };
        terminal.expect("vm> ");
        terminal
    }

    fn send(&mut self, keys: &str) {
        self.keys
            .write_all(keys.as_bytes())
            .expect("the terminal takes keys");
    }

    /// Types an entry and waits for this in the answer, and for the prompt.
    fn ask(&mut self, entry: &str, answer: &str) {
        self.send(entry);
        self.send(ENTER);
        self.expect(answer);
        self.expect("vm> ");
    }

    /// Waits for a text behind what was expected before.
    fn expect(&mut self, text: &str) {
        let start = Instant::now();
        let (bytes, news) = &*self.seen;
        let mut bytes = bytes.lock().expect("no panic");
        loop {
            let rest = &bytes[self.read..];
            let found = rest
                .windows(text.len())
                .position(|window| window == text.as_bytes());
            if let Some(at) = found {
                self.read += at + text.len();
                return;
            }
            let left = PATIENCE.saturating_sub(start.elapsed());
            assert!(
                !left.is_zero(),
                "no {text:?} in {:?}",
                String::from_utf8_lossy(rest)
            );
            bytes = news.wait_timeout(bytes, left).expect("no panic").0;
        }
    }

    fn end(mut self) -> (ExitStatus, TempDir) {
        self.send(CTRL_D);
        let status = self.child.wait().expect("the session ends");
        (
            status,
            std::mem::replace(&mut self.home, tempfile::tempdir().expect("a folder")),
        )
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pair of a terminal's two sides: ours, and the session's.
fn open_terminal() -> (File, OwnedFd) {
    let size = window(24, 80);
    let (mut master, mut slave) = (0, 0);
    let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: the descriptors are written where they are wanted, and owned from then on.
    unsafe {
        let result = libc::openpty(&mut master, &mut slave, name, settings, &size);
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        // The session must not inherit our side, or it would never see its end.
        libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(slave, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

fn window(rows: u16, columns: u16) -> libc::winsize {
    libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

#[test]
fn entries_are_edited_and_completed() {
    let mut terminal = Terminal::start();
    terminal.ask(&format!("1 + 49{BACKSPACE}1"), "\n42\r\n");
    terminal.ask(&format!(" + 1{CTRL_A}5"), "\n6\r\n");
    terminal.ask("fun factorise(n: i) -> i { ret n }", "defined factorise");
    terminal.ask(&format!("fact{TAB}(77)"), "\n77\r\n");
    terminal.ask(&format!(":prof cou{TAB} factor{TAB}(1)"), "kept as #1");
    terminal.ask(&format!(":prof show #{TAB}"), "factorise");
    fs::write(
        terminal.home.path().join("program.asm"),
        "fun main() { ret }",
    )
    .expect("a file");
    terminal.ask(&format!(":load prog{TAB}"), "program.asm: 1 functions");
    // What a function takes stands behind the cursor.
    terminal.send("factorise(");
    terminal.expect("i) -> (i)");
    terminal.ask("3)", "\n3\r\n");
    let (status, _) = terminal.end();
    assert!(status.success(), "{status}");
}

#[test]
fn a_definition_of_several_lines_is_one_item_of_history() {
    let mut terminal = Terminal::start();
    terminal.ask("fun seven() -> i {\r    ret 7\r}", "\ndefined seven\r\n");
    terminal.ask("seven()", "\n7\r\n");
    terminal.ask(&format!("{UP}{UP}"), "\nredefined seven\r\n");
    // The next session remembers.
    let (status, home) = terminal.end();
    assert!(status.success(), "{status}");
    let history = fs::read_to_string(home.path().join("state/vm/history"));
    assert!(
        history.expect("the history").contains("seven"),
        "it is kept"
    );
    let mut terminal = Terminal::start_in(home, &[("NO_COLOR", "1")]);
    terminal.ask(UP, "\ndefined seven\r\n");
    terminal.ask("seven()", "\n7\r\n");
}

/// Programs that say on the error output, which is not buffered, that they have begun.
const ENDLESS: [(&str, &str); 3] = [
    (
        "spin",
        "fun spin() {\n s = \"begun\"\n call eprint(s)\nagain:\n jmp again\n}",
    ),
    (
        "collect",
        "fun collect() {\n n = 300000\n xs = null\nmore:\n xs = new 1, [xs], [n]\n \
         n = sub n, 1\n jgt n, 0, more\n s = \"begun\"\n call eprint(s)\nagain:\n call gc()\n \
         n = ld_i xs, 0\n jmp again\n}",
    ),
    (
        "wait",
        "fun wait() -> r {\n s = \"begun\"\n call eprint(s)\n ok, line = call read_line()\n \
         ret line\n}",
    ),
];

#[test]
fn ctrl_c_stops_what_runs_and_the_session_goes_on() {
    let mut terminal = Terminal::start();
    for (name, text) in ENDLESS {
        terminal.ask(&text.replace('\n', ENTER), &format!("\ndefined {name}\r\n"));
        terminal.send(&format!("{name}(){ENTER}"));
        terminal.expect("begun");
        terminal.send(CTRL_C);
        terminal.expect("error: interrupted\r\n");
        terminal.expect(&format!("in {name} "));
        terminal.expect("vm> ");
        terminal.ask("20 + 22", "\n42\r\n");
    }
    // What a profile has seen so far is kept.
    terminal.send(&format!(":prof count spin(){ENTER}"));
    terminal.expect("begun");
    terminal.send(CTRL_C);
    terminal.expect("error: interrupted\r\n");
    terminal.expect("kept as #1, partial\r\n");
    terminal.expect("vm> ");
    // A run that was stopped at a breakpoint and goes on is stopped too.
    terminal.ask(":break spin", "runs stop at spin");
    terminal.send(&format!("spin(){ENTER}"));
    terminal.expect("stopped in spin");
    terminal.expect("vm[stopped]> ");
    terminal.send(&format!(":continue{ENTER}"));
    terminal.expect("begun");
    terminal.send(CTRL_C);
    terminal.expect("error: interrupted\r\n");
    terminal.expect("vm> ");
    terminal.ask(":break off", "runs do not stop");
    // A program that waits gets a line.
    terminal.send(&format!("wait(){ENTER}"));
    terminal.expect("begun");
    terminal.send(&format!("hello{ENTER}"));
    terminal.expect("\"hello\\n\"\r\n");
    terminal.expect("vm> ");
    // Nothing is lost at the prompt either.
    terminal.send(CTRL_C);
    terminal.expect("leaves the session");
    terminal.expect("vm> ");
    let (status, _) = terminal.end();
    assert!(status.success(), "{status}");
}

#[test]
fn a_terminal_may_change_its_size() {
    let mut terminal = Terminal::start();
    terminal.send("1 + ");
    let size = window(10, 30);
    // SAFETY: the descriptor is a terminal's, and the size is read only.
    let result = unsafe { libc::ioctl(terminal.keys.as_raw_fd(), libc::TIOCSWINSZ, &size) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    terminal.ask("41", "\n42\r\n");
    // An entry longer than the window.
    let long = "1 + ".repeat(20);
    terminal.ask(&format!("{long}1"), "\n21\r\n");
}

#[test]
fn words_are_coloured_unless_the_user_minds() {
    let home = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start_in(home, &[]);
    terminal.send("fun f() { jmp");
    terminal.expect("\x1b[34mjmp\x1b[0m");
    let mut plain = Terminal::start();
    plain.ask("fun g() { ret }", "defined g");
    let (bytes, _) = &*plain.seen;
    let seen = String::from_utf8_lossy(&bytes.lock().expect("no panic")).into_owned();
    assert!(!seen.contains("\x1b[34m"), "{seen:?}");
}

#[test]
fn a_state_folder_that_cannot_be_made_is_no_trouble() {
    let home = tempfile::tempdir().expect("a folder");
    let state = home.path().join("a-file");
    fs::write(&state, "").expect("a file");
    let variables = [("XDG_STATE_HOME", state.to_str().expect("text"))];
    let mut terminal = Terminal::start_in(home, &variables);
    terminal.ask("1 + 1", "\n2\r\n");
    assert!(!Path::new(&state).is_dir());
}
