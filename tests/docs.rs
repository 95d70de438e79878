//! The commands of the pages print what the pages say, and their programs assemble.

mod support;

use std::error::Error;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use support::{module_of, root};
use tempfile::TempDir;

/// A fenced block of a page.
struct Block {
    /// The number of the fence's line.
    line: usize,
    /// What stands behind the fence: the language, then perhaps a comma and a remark.
    info: String,
    text: String,
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).expect("the page is there")
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(info), false) => {
                blocks.push(Block {
                    line: number + 1,
                    info: info.to_owned(),
                    text: String::new(),
                });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                let block = blocks.last_mut().expect("a block is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!is_open, "the last fence is not closed");
    blocks
}

/// What the pages run. Other lines of `sh` blocks are for the reader.
const COMMANDS: [&str; 8] = [
    "vm ", "mlprof ", "cat ", "head ", "printf ", "cp ", "sed ", "mkdir ",
];

fn is_run(line: &str) -> bool {
    COMMANDS.iter().any(|command| line.starts_with(command)) && !line.contains("# not run")
}

/// A folder as the pages assume it: the examples, the programs that a page shows, an executable of
/// MLton's, and `vm` and `mlprof` in `bin`.
fn folder_for(page: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let link = |to: &Path, name: &str| symlink(to, path.join(name)).expect("a link");
    link(&root().join("examples"), "examples");
    for folder in ["bin", "mlton"] {
        fs::create_dir(path.join(folder)).expect("a folder");
    }
    link(Path::new(env!("CARGO_BIN_EXE_vm")), "bin/vm");
    link(Path::new(env!("CARGO_BIN_EXE_vm")), "bin/mlprof");
    write_shown_programs(page, path);
    let golden = root().join("tests/golden/list-rev/alloc-stack");
    link(&golden.join("mlmon.out"), "mlton/mlmon.out");
    let answer = golden.join("sources.txt");
    let stand_in = path.join("mlton/list-rev");
    fs::write(
        &stand_in,
        format!("#!/bin/sh\nexec cat '{}'\n", answer.display()),
    )
    .expect("a script");
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).expect("permissions");
    folder
}

/// A program whose name in backquotes comes last before its block is written to that file.
fn write_shown_programs(page: &str, folder: &Path) {
    for (before, after) in page
        .match_indices("```asm\n")
        .map(|(at, _)| page.split_at(at))
    {
        let paragraph = before.trim_end().rsplit("\n\n").next().unwrap_or_default();
        let names = paragraph.split('`').skip(1).step_by(2);
        if let Some(name) = names.filter(|name| name.ends_with(".asm")).last() {
            let text = after["```asm\n".len()..].split("```").next();
            fs::write(folder.join(name), text.unwrap_or_default()).expect("a program");
        }
    }
}

/// What the lines of a block print, one after the other on one pipe, and whether all succeed.
fn run(block: &Block, folder: &Path) -> (String, bool) {
    let mut printed = String::new();
    let mut is_success = true;
    let path = std::env::var("PATH").unwrap_or_default();
    for line in block.text.lines().filter(|line| is_run(line)) {
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("exec 2>&1; {line}"))
            .current_dir(folder)
            .env("PATH", format!("{}/bin:{path}", folder.display()))
            .env_remove("VM_PROFILE")
            .env_remove("VM_GC_STRESS")
            .stdin(Stdio::null())
            .output()
            .expect("sh runs");
        printed.push_str(&String::from_utf8_lossy(&output.stdout));
        is_success &= output.status.success();
    }
    (printed, is_success)
}

/// Runs a page's commands in their order and compares with the block that follows them, or writes
/// what they print into the page when `BLESS=1` is set. The numbers by which profiles know their
/// programs are among it, so a change of the instruction set changes the pages.
fn check_commands(name: &str) {
    let page = page(name);
    let folder = folder_for(&page);
    let blocks = blocks(&page);
    let mut wrong = String::new();
    let mut blessed = String::new();
    let mut rest = page.as_str();
    let mut n_compared = 0;
    for (place, block) in blocks.iter().enumerate() {
        if block.info != "sh" || !block.text.lines().any(is_run) {
            continue;
        }
        let (mut printed, is_success) = run(block, folder.path());
        let next = blocks.get(place + 1).filter(|next| next.info == "text");
        if let Some(next) = next {
            n_compared += 1;
            // A file need not end in a newline; a fence is on a line of its own.
            if !printed.ends_with('\n') {
                printed.push('\n');
            }
            if printed != next.text {
                wrong += &format!(
                    "docs/{name}:{}: the page has\n{}but the commands print\n{printed}\n",
                    next.line, next.text
                );
            }
            let fence = format!("```text\n{}```\n", next.text);
            let (before, after) = rest.split_once(&fence).expect("the block is in the page");
            blessed += &format!("{before}```text\n{printed}```\n");
            rest = after;
        } else if !is_success {
            wrong += &format!("docs/{name}:{}: this fails:\n{printed}\n", block.line);
        }
    }
    assert!(n_compared > 5, "docs/{name} has only {n_compared} outputs");
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        let path = root().join("docs").join(name);
        fs::write(path, blessed + rest).expect("the page can be written");
        return;
    }
    assert!(wrong.is_empty(), "{wrong}BLESS=1 accepts");
}

#[test]
fn the_guide_to_profiling_shows_what_the_commands_print() {
    check_commands("profiling.md");
}

#[test]
fn the_page_on_mlmon_shows_what_the_commands_print() {
    check_commands("mlmon.md");
}

#[test]
fn the_guide_to_memory_shows_what_the_commands_print() {
    check_commands("memory.md");
}

#[test]
fn the_page_on_sandboxes_shows_what_the_commands_print() {
    check_commands("sandbox.md");
}

#[test]
fn the_recipes_print_what_the_page_says() {
    check_commands("recipes.md");
}

#[test]
fn the_pages_programs_assemble() {
    for (name, n_programs) in [
        ("profiling.md", 2),
        ("mlmon.md", 0),
        ("memory.md", 2),
        ("sandbox.md", 2),
        ("recipes.md", 32),
    ] {
        let blocks = blocks(&page(name));
        let programs: Vec<_> = blocks.iter().filter(|block| block.info == "asm").collect();
        assert_eq!(programs.len(), n_programs, "{name}");
        for program in programs {
            module_of(&program.text);
        }
    }
}

/// Pages, headings and files that the pages link to are there.
#[test]
fn links_lead_somewhere() {
    let names = [
        "profiling.md",
        "mlmon.md",
        "memory.md",
        "sandbox.md",
        "security.md",
        "fuzzing.md",
        "recipes.md",
        "assembly.md",
        "compilers.md",
    ];
    for name in names {
        let text = page(name);
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if target.starts_with("https://") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() {
                text.clone()
            } else {
                page(file)
            };
            let is_there = heading.is_empty() || linked.lines().any(|line| anchor(line) == heading);
            assert!(is_there, "docs/{name}: {target}");
        }
    }
}

/// What a heading is linked by.
fn anchor(line: &str) -> String {
    let Some(title) = line.strip_prefix('#') else {
        return String::new();
    };
    let title = title.trim_start_matches('#').trim().to_lowercase();
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The page's Rust is the body of this function, so it compiles and does what the page says.
fn the_pages_rust(text: &str, folder: &Path) -> Result<u64, Box<dyn Error>> {
    use std::sync::Arc;

    use assembler::{AssembleOptions, assemble};
    use profiler::{Kind, KindSet, Profile, Style};
    use vm::host::{HostIo, Hosts};
    use vm::verify::verify;
    use vm::{Vm, VmConfig};

    let module = assemble(text, &AssembleOptions::default()).expect("the text is right");
    let sources = module.source_map();
    let kinds: KindSet = "alloc,count".parse().expect("two kinds");
    let profile = Profile::new(kinds, sources.sources.len()).with_style(Style::Stack);
    let config = VmConfig {
        profile: Some(Arc::new(profile)),
        ..VmConfig::default()
    };
    let hosts = Hosts::standard(HostIo::process(Vec::new()));
    let program = verify(module).expect("what the assembler makes verifies");
    let mut vm = Vm::new(program, hosts, config)?;

    let request = vm.new_unit();
    let outcome = vm.with_unit(request, |vm| vm.run())?;
    let data = vm.unit_data(request)?.expect("a profile is taken");
    let bytes = data.counts(Kind::Alloc).totals.total;
    data.write(Kind::Alloc, &sources, &folder.join("request.out"))?;
    vm.free_unit(request)?;

    assert!(outcome.is_ok());
    Ok(bytes)
}

#[test]
fn the_pages_rust_compiles_and_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "fun main() {\n x = new 1, [], []\n ret\n}";
    let bytes = the_pages_rust(text, folder.path());
    assert_eq!(bytes.expect("it works"), 8);
    assert!(folder.path().join("request.out").exists());
    // The page has no folder, which is the only difference.
    let here = include_str!("docs.rs")
        .replace("&folder.join(\"request.out\")", "\"request.out\".as_ref()");
    check_shown("profiling.md", &here);
}

/// The Rust of a page is a part of this text.
fn check_shown(name: &str, here: &str) {
    let here: Vec<_> = here.lines().map(str::trim).collect();
    let blocks = blocks(&page(name));
    let shown = blocks.iter().find(|block| block.info == "rust");
    let shown = &shown.expect("some Rust").text;
    let shown: Vec<_> = shown.lines().map(str::trim).collect();
    assert!(
        here.windows(shown.len()).any(|lines| lines == shown),
        "docs/{name} has other Rust than this file"
    );
}

/// The Rust of the page on memory is the body of this function.
fn the_memory_pages_rust(vm: &mut vm::Vm) -> Result<u64, Box<dyn Error>> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, Tracker};

    struct Survivors(Arc<AtomicU64>);

    impl Tracker for Survivors {
        fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
            Some(info.clock_words)
        }
        fn alloc_major(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
            None
        }
        fn promote(&mut self, words: u64, _: &GcEvent) -> Option<u64> {
            self.0.fetch_add(words, Relaxed);
            None
        }
        fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {}
        fn dealloc_major(&mut self, _: u64, _: &GcEvent) {}
    }

    let words = Arc::new(AtomicU64::new(0));
    let config = MemprofConfig {
        rate: 1.0,
        ..MemprofConfig::default()
    };
    let profile = vm.memprof_start(config, Box::new(Survivors(words.clone())))?;
    let outcome = vm.with_budget(1_000_000, |vm| vm.run());
    vm.memprof_stop(profile)?;
    vm.memprof_discard(profile)?;

    assert!(outcome.is_ok());
    Ok(words.load(Relaxed))
}

#[test]
fn the_memory_pages_rust_compiles_and_works() {
    let text = "fun main() {
 n = 7
 x = new 1, [], [n]
 y = new 1, [], [n, n]
 y = null
 call gc()
 n = ld_i x, 0
 ret
}";
    let mut vm = support::machine(text, vm::VmConfig::default());
    assert_eq!(the_memory_pages_rust(&mut vm).expect("it works"), 2);
    check_shown("memory.md", include_str!("docs.rs"));
}

/// The Rust of the page on sandboxes is the body of this function.
fn the_sandbox_pages_rust(
    program: vm::verify::VerifiedModule,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    use vm::host::{Denied, HostIo, Hosts, Policy};
    use vm::{RunError, Vm, VmConfig};

    let policy = Policy::nothing().with_write(folder)?;
    let hosts = Hosts::standard(HostIo::process(Vec::new())).with_policy(policy);
    let mut vm = Vm::new(program, hosts, VmConfig::default())?;
    match vm.run() {
        Err(RunError::Uncaught {
            denied: Some(Denied::Clock),
            ..
        }) => println!("this program needs a clock"),
        other => println!("{other:?}"),
    }
    Ok(())
}

#[test]
fn the_sandbox_pages_rust_compiles_and_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = support::verified("fun main() {\n t = call time()\n ret\n}");
    the_sandbox_pages_rust(program, folder.path()).expect("it works");
    check_shown("sandbox.md", include_str!("docs.rs"));
}
