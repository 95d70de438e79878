//! What several test programs need.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses its own part"
)]

pub mod campaign;
pub mod lock;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assembler::{AssembleOptions, assemble};
use profiler::{Kind, KindSet, Profile};
use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocInfo, GcEvent, Tracker};
use vm::module::Module;
use vm::verify::{VerifiedModule, verify};
use vm::{GcStress, Vm, VmConfig};

/// The repository's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Waits until something has happened in another thread or process, without taking its core.
///
/// # Panics
/// After a minute, so that what never happens is a failure.
pub fn wait_until(what: &str, has_happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !has_happened() {
        assert!(start.elapsed() < Duration::from_secs(60), "no {what}");
        std::thread::yield_now();
    }
}

/// The `vm` command, to be run in a folder of its own so that it leaves nothing behind.
pub fn vm(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vm"));
    command.current_dir(folder).env_remove("VM_PROFILE");
    command
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Files of a folder with this ending, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.extension().is_some_and(|one| one == ending))
        .collect();
    files.sort();
    files
}

/// Assembles text that must assemble.
pub fn module_of(text: &str) -> Module {
    let options = AssembleOptions {
        file_name: "test.asm".into(),
        ..AssembleOptions::default()
    };
    assemble(text, &options).unwrap_or_else(|errors| {
        let shown: Vec<_> = errors
            .iter()
            .map(|error| error.render("test.asm", text))
            .collect();
        panic!("{}", shown.join("\n"))
    })
}

/// Assembles and verifies text that must do both.
pub fn verified(text: &str) -> VerifiedModule {
    verify(module_of(text)).expect("what the assembler makes verifies")
}

/// Whether the environment asks for a collection at every allocation, of the `vm` command and of
/// machines that tests make themselves.
pub fn is_stressed() -> bool {
    std::env::var_os("VM_GC_STRESS").is_some_and(|value| value == "true")
}

/// A machine for text, without input, whose output goes nowhere.
pub fn machine(text: &str, mut config: VmConfig) -> Vm {
    if is_stressed() {
        config.heap.stress = GcStress::On;
    }
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    Vm::new(verified(text), Hosts::standard(io), config).expect("a machine can be made")
}

/// A profile of these kinds for a module.
pub fn profile(kinds: &str, module: &Module) -> Arc<Profile> {
    let kinds: KindSet = kinds.parse().expect("kinds");
    Arc::new(Profile::new(kinds, module.sources.sources.len()))
}

/// A machine for text under a time profile, which says when it is busy, without input and output.
pub fn watched_machine(text: &str, config: VmConfig) -> (Vm, Arc<Profile>) {
    let n_sources = module_of(text).sources.sources.len();
    let profile = Arc::new(Profile::new(Kind::Time.into(), n_sources).with_hz(1000));
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..config
    };
    (machine(text, config), profile)
}

/// Interrupts a machine from another thread, once it has been busy for some ticks.
pub fn interrupt_when_busy(vm: &Vm, profile: Arc<Profile>, number: u8) -> JoinHandle<()> {
    let interrupt = vm.interrupt();
    std::thread::spawn(move || {
        wait_until("ticks", || {
            profile.data().counts(Kind::Time).totals.total >= 3
        });
        interrupt.raise(signal(number));
    })
}

/// A small generator of known quality (splitmix64), so that a failure repeats.
pub struct Random(pub u64);

impl Random {
    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Compares with a file, or writes it when `BLESS=1` is set.
pub fn expect_file(path: &Path, actual: &str) {
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, actual).expect("the expected text can be written");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        expected,
        actual,
        "{} differs; BLESS=1 accepts",
        path.display()
    );
}

/// A signal's number, as an interrupt takes it.
pub fn signal(number: u8) -> std::num::NonZeroU8 {
    std::num::NonZeroU8::new(number).expect("no signal has the number 0")
}

/// A tracker that hears nothing.
pub struct Deaf;

impl Tracker for Deaf {
    fn alloc_minor(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        None
    }

    fn alloc_major(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        None
    }

    fn promote(&mut self, _: u64, _: &GcEvent) -> Option<u64> {
        None
    }

    fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {}

    fn dealloc_major(&mut self, _: u64, _: &GcEvent) {}
}
