//! The standard host functions on files, folders and streams, as programs see them. What they are
//! denied is in `tests/sandbox`; functions that touch nothing are in `tests/cases`.

#[path = "../support/mod.rs"]
mod support;

mod ends;
mod files;
mod folders;
mod surroundings;
mod waits;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use vm::host::{HostIo, Hosts, Policy};
use vm::{GcStress, Outcome, RunError, Vm, VmConfig};

/// Functions that the programs of these tests use: `say` prints a code and a text, `num` a code and
/// a number, each on a line.
const PRELUDE: &str = "
    fun say(code: i, text: r) {
        call print_int(code)
        call print(\" \")
        call print_line(text)
        ret
    }
    fun num(code: i, number: i) {
        call print_int(code)
        call print(\" \")
        call print_int(number)
        call print(\"\\n\")
        ret
    }
    ";

/// What was printed, to be looked at when the machine is gone.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    fn text(&self) -> String {
        let bytes = self.0.lock().expect("nobody panics while writing").clone();
        String::from_utf8(bytes).expect("programs print text")
    }
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("nobody panics while writing")
            .extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A folder, and programs that say its files by names in brackets: `<one>` is the path of
/// `one`.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let folder = fs::canonicalize(self.folder.path()).expect("the folder is there");
        folder.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// The functions, with paths for names in `<>`.
    fn program(&self, functions: &str) -> String {
        let mut text = PRELUDE.to_owned();
        let mut rest = functions;
        while let Some((before, after)) = rest.split_once('<') {
            let (name, behind) = after.split_once('>').expect("a name ends");
            text += before;
            text += self.path(name).to_str().expect("the folder's path is text");
            rest = behind;
        }
        text + rest
    }

    /// A machine that may do all, over this input.
    fn machine(&self, functions: &str, input: impl Read + Send + 'static) -> (Vm, Printed) {
        let printed = Printed::default();
        let io = HostIo::new(input, printed.clone(), io::sink(), Vec::new());
        let hosts = Hosts::standard(io).with_policy(Policy::everything());
        (
            self.machine_with(functions, hosts, VmConfig::default()),
            printed,
        )
    }

    fn machine_with(&self, functions: &str, hosts: Hosts, mut config: VmConfig) -> Vm {
        if support::is_stressed() {
            config.heap.stress = GcStress::On;
        }
        let module = support::verified(&self.program(functions));
        Vm::new(module, hosts, config).expect("a machine can be made")
    }

    /// Runs the body of `main`, and gives what it prints.
    fn run(&self, body: &str) -> String {
        self.run_with_input(body, io::empty())
    }

    fn run_with_input(&self, body: &str, input: impl Read + Send + 'static) -> String {
        let (mut vm, printed) = self.machine(&format!("fun main() {{\n{body}\nret\n}}"), input);
        let result = vm.run();
        assert_eq!(result, Ok(Outcome::Returned(Vec::new())), "{body}");
        printed.text()
    }
}

/// How a run ends that meets a trap.
fn trap_of(result: Result<Outcome, RunError>) -> vm::Trap {
    match result {
        Err(RunError::Trap { trap, .. }) => trap,
        other => panic!("no trap: {other:?}"),
    }
}

/// Makes a named pipe.
fn make_pipe(path: &Path) {
    let path = std::ffi::CString::new(path.to_str().expect("text")).expect("no zero byte");
    // SAFETY: the path ends in NUL.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}
