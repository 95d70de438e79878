//! What holds of every profile, on random programs: with recursion, exceptions at every point,
//! branches, inlining, and all settings of tail calls.
//!
//! `TALLY_CAMPAIGN=long` tries many more programs, `TALLY_SEED` says with which to begin.

#[allow(dead_code, reason = "the generator is wanted, not the interpreter")]
mod reference;
mod support;

use crate::support::lock::Lock;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use assembler::{AssembleOptions, OptLevel, TailCalls, assemble};
use profiler::mlmon::CountRow;
use profiler::{Kind, KindSet, Profile, ProfileData, SourceFilter, SourceId, SourceMap, Style};
use reference::smith::Program;
use support::{Random, campaign};
use vm::host::{HostIo, Hosts};
use vm::verify::{VerifiedModule, verify};
use vm::{HeapConfig, RunError, Trap, Vm, VmConfig};

/// How many programs are tried, in short and in long.
const PROGRAMS: [u64; 2] = [20, 180];
/// Programs that run longer are passed over.
const MAX_OPS: u64 = 60_000;
/// Nodes of a tree that is exact: more than any of these programs makes.
const NODES: usize = 1 << 22;
const KINDS: [Kind; 2] = [Kind::Alloc, Kind::Count];

/// Output that can be read after the machine is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Lock<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What can be seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    end: String,
    output: Vec<u8>,
    bytes: u64,
}

/// Runs a module; `None` when it takes too long, or stops where a frame more or less matters.
fn run(module: &VerifiedModule, profile: Option<Arc<Profile>>, fuel: Option<u64>) -> Option<Seen> {
    let config = VmConfig {
        heap: HeapConfig {
            nursery_bytes: 16 << 10,
            ..HeapConfig::default()
        },
        stack_bytes: 8 << 20,
        fuel,
        profile,
        ..VmConfig::default()
    };
    let output = Shared::default();
    let arguments = vec![b"one".to_vec(), b"two".to_vec()];
    let io = HostIo::new(std::io::empty(), output.clone(), std::io::sink(), arguments);
    let mut vm = Vm::new(module.clone(), Hosts::standard(io), config).expect("a machine");
    let end = match vm.run() {
        Err(RunError::Trap {
            trap: Trap::StackOverflow { .. } | Trap::OutOfFuel,
            ..
        }) => return None,
        Err(RunError::Uncaught { exception, .. }) => format!("uncaught: {exception}"),
        other => format!("{other:?}"),
    };
    let bytes = vm.allocated_bytes();
    let output = output.0.take();
    Some(Seen { end, output, bytes })
}

/// A program under one choice of options.
struct Case {
    module: VerifiedModule,
    sources: SourceMap,
    what: String,
}

impl Case {
    fn new(text: &str, options: &AssembleOptions) -> Case {
        let module = assemble(text, options).expect("generated programs assemble");
        Case {
            sources: module.source_map(),
            module: verify(module).expect("what the assembler makes verifies"),
            what: format!("{options:?}"),
        }
    }

    fn profile(&self, style: Style) -> Profile {
        let kinds: KindSet = "time,alloc,count".parse().expect("kinds");
        Profile::new(kinds, self.sources.sources.len())
            .with_node_limit(NODES)
            .with_style(style)
    }

    /// Runs under a profile, which must not change what is seen.
    fn run(&self, profile: Profile, seen: &Seen) -> Arc<Profile> {
        let profile = Arc::new(profile);
        let again = run(&self.module, Some(profile.clone()), None);
        assert_eq!(
            again.as_ref(),
            Some(seen),
            "{}: a profile changes the run",
            self.what
        );
        profile
    }

    fn check(&self, seen: &Seen, random: &mut Random) {
        let current = self.run(self.profile(Style::Current), seen);
        let stack = self.run(self.profile(Style::Stack), seen);
        assert_eq!(
            stack.data().notice(),
            None,
            "{}: the tree is exact",
            self.what
        );
        for kind in KINDS {
            self.check_sums(current.data(), kind, seen);
            self.check_sums(stack.data(), kind, seen);
            self.check_stack(stack.data(), kind);
            let of = |data: &ProfileData| data.counts(kind).sources;
            assert_eq!(
                of(current.data()),
                of(stack.data()),
                "{}: styles, {kind}",
                self.what
            );
        }
        let folded = self.run(self.profile(Style::Stack).with_fold_recursion(true), seen);
        for kind in KINDS {
            let (one, other) = (folded.data().counts(kind), stack.data().counts(kind));
            assert_eq!(one, other, "{}: folding changes {kind}", self.what);
        }
        self.check_filter(stack.data(), seen, random);
    }

    fn check_sums(&self, data: &ProfileData, kind: Kind, seen: &Seen) {
        let counts = data.counts(kind);
        let sum: u64 = counts.sources.iter().sum();
        let all = counts.totals.total + counts.totals.total_gc;
        assert_eq!(sum, all, "{}: the sum of {kind}", self.what);
        assert_eq!(
            counts.sources[1], counts.totals.total_gc,
            "{}: <gc>",
            self.what
        );
        if kind == Kind::Alloc {
            assert_eq!(
                counts.totals.total, seen.bytes,
                "{}: the heap's count",
                self.what
            );
        }
    }

    fn check_stack(&self, data: &ProfileData, kind: Kind) {
        let counts = data.counts(kind);
        let totals = counts.totals;
        for (id, row) in counts.rows.iter().enumerate() {
            let is_gc = id == SourceId::GC.index();
            let name = self.sources.name_of(SourceId(id as u32));
            let fits = row.stack <= totals.total
                && row.stack_gc <= totals.total_gc
                && (is_gc || row.current <= row.stack);
            assert!(fits, "{}: {name:?} has {row:?} of {totals:?}", self.what);
        }
        let main = counts.rows[SourceId::MAIN.index()];
        let all = (totals.total, totals.total_gc);
        assert_eq!((main.stack, main.stack_gc), all, "{}: <main>", self.what);
    }

    /// Leaves some sources out, and compares with what the whole tree says they would have had.
    fn check_filter(&self, whole: &ProfileData, seen: &Seen, random: &mut Random) {
        // A tail call of what is no closure faults when the function's source is left already. That
        // is `<unknown>`'s, unless the source is one that is left out: then it was never entered.
        if whole.counts(Kind::Alloc).sources[SourceId::UNKNOWN.index()] > 0 {
            return;
        }
        let label = |name: &String| name.split('\t').next().unwrap_or_default().to_owned();
        let labels: HashSet<String> = self.sources.names.iter().map(label).collect();
        let mut labels: Vec<String> = labels.into_iter().collect();
        labels.sort();
        labels.retain(|_| random.below(2) == 0);
        let exclude: Vec<String> = labels
            .iter()
            .map(|label| format!("^{}$", escaped(label)))
            .collect();
        let filter = SourceFilter::parse(&[], &exclude).expect("regular expressions");
        let is_kept = |source: SourceId| {
            let name = self.sources.name_of(source).expect("a source");
            filter.keeps(name)
        };
        for style in [Style::Current, Style::Stack] {
            let profile = self.profile(style).with_filter(&filter, &self.sources);
            let profile = self.run(profile, seen);
            for kind in KINDS {
                self.check_sums(profile.data(), kind, seen);
                let rows = profile.data().counts(kind).rows;
                for (id, expected) in projected(whole, kind, is_kept).into_iter().enumerate() {
                    // Nothing says whether `<unknown>` is on the stack of what is left out.
                    let has_stack = style == Style::Stack && id != SourceId::UNKNOWN.index();
                    let expected = CountRow {
                        stack: if has_stack {
                            expected.stack
                        } else {
                            rows[id].stack
                        },
                        stack_gc: rows[id].stack_gc,
                        ..expected
                    };
                    let name = self.sources.name_of(SourceId(id as u32));
                    let what = format!(
                        "{} without {labels:?}: {name:?} {kind} {style:?}",
                        self.what
                    );
                    assert_eq!(rows[id], expected, "{what}");
                }
            }
        }
    }
}

/// A regular expression for a text.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c.is_alphanumeric() {
        true => c.to_string(),
        false => format!("[{c}]"),
    };
    text.chars().map(escape).collect()
}

/// The columns that a whole tree has when only some sources are kept: bytes go to the closest
/// context around that is kept, calls of others are not counted.
fn projected(whole: &ProfileData, kind: Kind, is_kept: impl Fn(SourceId) -> bool) -> Vec<CountRow> {
    let mut rows = vec![CountRow::default(); whole.nodes().len()];
    let contexts: Vec<_> = whole.contexts().collect();
    for (node, parent) in &contexts {
        let own = match kind {
            Kind::Alloc => node.bytes.load(Relaxed),
            _ => node.calls.load(Relaxed),
        };
        if own == 0 || (kind == Kind::Count && !is_kept(node.source)) {
            continue;
        }
        let mut path = vec![node.source];
        let mut around = *parent;
        while let Some(index) = around {
            path.push(contexts[index].0.source);
            around = contexts[index].1;
        }
        path.retain(|&source| is_kept(source));
        let nearest = path.first().expect("<main> is kept and below everything");
        rows[nearest.index()].current += own;
        if node.source != SourceId::GC {
            let distinct: HashSet<SourceId> = path.into_iter().collect();
            for source in distinct {
                rows[source.index()].stack += own;
            }
        }
    }
    rows
}

/// The columns of each name, its copies together. What collections move is left out, for it
/// depends on where references stand.
fn columns(case: &Case, seen: &Seen) -> HashMap<String, Vec<[u64; 2]>> {
    let profile = case.run(case.profile(Style::Stack), seen);
    let mut columns: HashMap<String, Vec<[u64; 2]>> = HashMap::new();
    for kind in KINDS {
        let file = profile.data().mlmon(kind, &case.sources).expect("rows");
        let named = case.sources.names.iter().zip(&file.names);
        for (name, row) in named.filter(|(name, _)| *name != "<gc>") {
            let columns = columns.entry(name.clone()).or_default();
            columns.push([row.current, row.stack]);
        }
    }
    columns
}

/// With inlining a program's functions have the figures that they have without, and none has
/// others.
fn check_inlining(text: &str, options: &AssembleOptions, case: &Case, seen: &Seen) {
    let plain = Case::new(
        text,
        &AssembleOptions {
            inline_ops: None,
            ..options.clone()
        },
    );
    // Without inlining the stack may be too small.
    let Some(again) = run(&plain.module, None, None) else {
        return;
    };
    assert_eq!(&again, seen, "{}: inlining changes the run", case.what);
    let [plain, inlined] = [&plain, case].map(|case| columns(case, seen));
    for (name, columns) in &plain {
        assert_eq!(inlined.get(name), Some(columns), "{}: {name}", case.what);
    }
    assert_eq!(plain.len(), inlined.len(), "{}: names", case.what);
}

/// The files of two runs are the same, byte for byte.
fn check_files(case: &Case, seen: &Seen, folder: &Path) {
    for style in [Style::Current, Style::Stack] {
        let profiles = [0, 1].map(|_| case.run(case.profile(style), seen));
        for kind in KINDS {
            let files = profiles.each_ref().map(|profile| {
                let path = folder.join("mlmon.out");
                profile.write(kind, &case.sources, &path).expect("a file");
                std::fs::read(&path).expect("what was written")
            });
            assert!(files[0] == files[1], "{}: {kind} files differ", case.what);
        }
    }
}

#[test]
fn properties_of_profiles_hold() {
    let programs = campaign::size(PROGRAMS[0], PROGRAMS[1]);
    let first = campaign::first_seed(1_000);
    let folder = tempfile::tempdir().expect("a folder");
    let (mut n_checked, mut n_inlined) = (0, 0);
    for seed in first..first + programs {
        let text = Program::new(seed).text();
        let mut random = Random(seed);
        for tail_calls in [TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never] {
            let options = AssembleOptions {
                tail_calls,
                profile_branch: random.below(2) == 0,
                inline_ops: [None, Some(5), Some(40)][random.below(3)],
                opt_level: OptLevel::ALL[random.below(3)],
                file_name: "smith.asm".into(),
            };
            let mut case = Case::new(&text, &options);
            case.what = format!("seed {seed}, {}", case.what);
            let within = run(&case.module, None, Some(MAX_OPS));
            let Some(seen) = within else { continue };
            case.check(&seen, &mut random);
            check_files(&case, &seen, folder.path());
            n_checked += 1;
            if options.inline_ops.is_some() {
                check_inlining(&text, &options, &case, &seen);
                let has_copies = case.sources.sources.len() > case.sources.names.len();
                n_inlined += u64::from(has_copies);
            }
        }
    }
    assert!(
        n_checked * 2 > programs,
        "only {n_checked} runs were checked"
    );
    assert!(
        n_inlined * 2 > programs,
        "only {n_inlined} programs were inlined in"
    );
}
