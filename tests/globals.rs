//! Globals and constants that are objects, as embedders, files and linked modules have them.

mod support;

use assembler::link::{link, verify_linked};
use assembler::{AssembleOptions, print};
use support::{machine, module_of};
use vm::isa::Signature;
use vm::module::{ConstRef, Constant, Function, Global, Globals, Module, read, write};
use vm::verify::{VerifiedModule, verify};
use vm::{HeapConfig, Outcome, RunError, Trap, Vm, VmConfig};

fn call(vm: &mut Vm, name: &str, ints: &[i64]) -> Result<Outcome, RunError> {
    let function = vm.module().function_named(name).expect("the function");
    vm.call(function, ints)
}

fn returned(values: &[i64]) -> Result<Outcome, RunError> {
    Ok(Outcome::Returned(values.to_vec()))
}

/// A list in a global, which grows with each call.
const LIST: &str = "
    global list: r
    global count: i = 10
    export fun push(n: i) -> i {
        xs = ld_gr list
        s = str_of_int n
        xs = new 1, [xs, s], [n]
        st_gr list, xs
        c = ld_gi count
        c = add c, 1
        st_gi count, c
        ret c
    }
    export fun sum() -> (i, i) {
        xs = ld_gr list
        n = 0
        bytes = 0
    next:
        jnull xs, done
        x = ld_i xs, 0
        n = add n, x
        s = ld_r xs, 1
        x = len s
        bytes = add bytes, x
        xs = ld_r xs, 0
        jmp next
    done:
        ret n, bytes
    }
    export fun fill() {
        xs = ld_gr list
    more:
        xs = new 1, [xs, null], [0]
        st_gr list, xs
        jmp more
    }
    fun main() { ret }";

#[test]
fn globals_keep_their_values_from_call_to_call() {
    let heap = HeapConfig {
        nursery_bytes: 16 << 10,
        stress: vm::GcStress::On,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        ..VmConfig::default()
    };
    let mut vm = machine(LIST, config);
    for n in 1..=20 {
        assert_eq!(call(&mut vm, "push", &[n]), returned(&[10 + n]));
        assert_eq!(vm.run(), returned(&[]));
    }
    assert_eq!(call(&mut vm, "sum", &[]), returned(&[210, 9 + 22]));
}

#[test]
fn two_machines_of_one_program_have_globals_of_their_own() {
    let mut one = machine(LIST, VmConfig::default());
    let mut other = machine(LIST, VmConfig::default());
    assert_eq!(call(&mut one, "push", &[5]), returned(&[11]));
    assert_eq!(call(&mut other, "push", &[6]), returned(&[11]));
    assert_eq!(call(&mut one, "sum", &[]), returned(&[5, 1]));
    assert_eq!(call(&mut other, "sum", &[]), returned(&[6, 1]));
}

#[test]
fn globals_are_made_anew_with_the_heap() {
    let heap = HeapConfig {
        nursery_bytes: 256 << 10,
        max_bytes: 1 << 20,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        ..VmConfig::default()
    };
    let mut vm = machine(LIST, config);
    for _ in 0..2 {
        assert_eq!(call(&mut vm, "push", &[5]), returned(&[11]));
        let full = call(&mut vm, "fill", &[]);
        let trap = full.expect_err("the list takes all memory");
        assert!(
            matches!(
                trap,
                RunError::Trap {
                    trap: Trap::OutOfMemory(_),
                    ..
                }
            ),
            "{trap:?}"
        );
        assert_eq!(call(&mut vm, "sum", &[]), returned(&[0, 0]));
    }
}

/// One module with all kinds of constants and globals.
const ALL: &str = "
    data pair = record 65535 [7, null, \"text\"] [-1]
    data add = closure adder [pair] [40]
    data all = refs [null, -4611686018427387904, add, pair]
    data empty = refs []
    global count: i = -5
    global half: f = 0.5
    global first: r = all
    global small: r = 4611686018427387903
    global nothing: r
    closure fun adder{p: r, k: i}(n: i) -> i {
        p = cap p
        x = ld_i p, 0
        k = cap k
        n = add n, k
        n = add n, x
        ret n
    }
    export fun use(n: i) -> i {
        xs = ld_gr first
        f = get_r xs, 2
        n = call_closure f(n)
        c = ld_gi count
        n = add n, c
        c = add c, 1
        st_gi count, c
        e = constant empty
        m = len e
        n = add n, m
        ret n
    }
    fun main() { ret }";

#[test]
fn a_module_with_globals_reads_back_and_prints_back() {
    let module = module_of(ALL);
    let bytes = write(&module);
    let again = read(&bytes).expect("it reads back");
    assert_eq!(again.globals, module.globals);
    assert_eq!(again.constants, module.constants);
    assert_eq!(write(&again), bytes);
    let printed = module_of(&print(&again));
    assert_eq!(write(&printed), bytes, "{}", print(&again));
}

#[test]
fn a_file_without_globals_has_eight_sections() {
    let sections = |module: &Module| {
        let bytes = write(module);
        let magic = b"TALLY\0bc";
        let at = bytes.windows(8).position(|part| part == magic);
        bytes[at.expect("the magic") + 10]
    };
    assert_eq!(sections(&module_of("fun main() { ret }")), 8);
    assert_eq!(sections(&module_of(ALL)), 9);
}

/// The body of the last section, which is that of globals, with a new checksum.
fn with_last_section(bytes: &[u8], old_length: usize, body: &[u8]) -> Vec<u8> {
    let head = bytes.len() - old_length - 8;
    let mut out = bytes[..head].to_vec();
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(crc32fast::hash(body).to_le_bytes());
    out.extend(body);
    out
}

#[test]
fn wrong_sections_of_globals_are_refused() {
    let module = module_of("global g: i = 5\nglobal h: r = 6\nfun main() { ret }");
    let bytes = write(&module);
    let length = 4 + (4 + 1 + 8) + 4 + (4 + 1 + 1 + 8);
    let body = &bytes[bytes.len() - length..];
    let same = with_last_section(&bytes, length, body);
    assert_eq!(same, bytes, "the section is where it should be");
    for end in 0..length {
        let cut = with_last_section(&bytes, length, &body[..end]);
        assert!(read(&cut).is_err(), "cut to {end} bytes");
        assert!(read(&bytes[..bytes.len() - length + end]).is_err());
    }
    let longer = with_last_section(&bytes, length, &[body, &[0]].concat());
    assert!(read(&longer).is_err(), "a byte too many");
    let kind = length - 9;
    for tag in 3..=255 {
        let mut wrong = body.to_vec();
        wrong[kind] = tag;
        let error = read(&with_last_section(&bytes, length, &wrong)).expect_err("a wrong tag");
        let what = format!("no kind of reference has the tag {tag}");
        assert_eq!(error.what, what);
    }
    let mut many = body.to_vec();
    many[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&with_last_section(&bytes, length, &many)).is_err());
    let none = with_last_section(&bytes, length, &[0; 8]);
    let error = read(&none).expect_err("no globals");
    assert_eq!(error.what, "a section of globals without any");
}

#[test]
fn what_is_cut_off_or_not_there_is_refused() {
    let module = module_of(ALL);
    let bytes = write(&module);
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut to {end} bytes");
    }
    // References of constants and globals to whatever is not there are the verifier's.
    for index in [4, 5, u32::MAX] {
        let mut wrong = module.clone();
        wrong.globals.refs[0].value = ConstRef::Constant(index);
        let count = module.constants.len() as u32;
        assert_eq!(verify(wrong).is_ok(), index < count, "{index}");
    }
}

fn place(module: &Module, name: &str) -> u32 {
    module.function_named(name).expect("the function")
}

fn run_linked(module: Module, name: &str, ints: &[i64]) -> Vec<Result<Outcome, RunError>> {
    let verified: VerifiedModule = verify_linked(module).expect("it verifies");
    let io = vm::host::HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let hosts = vm::host::Hosts::standard(io);
    let mut vm = Vm::new(verified, hosts, VmConfig::default()).expect("a machine");
    (0..2).map(|_| call(&mut vm, name, ints)).collect()
}

#[test]
fn linking_takes_globals_and_constants_along() {
    let module = module_of(ALL);
    let roots = ["main", "use"].map(|name| (&module, place(&module, name)));
    let linked = link(&roots, |_| None).expect("it links");
    let names: Vec<_> = linked.globals.refs.iter().map(|one| &one.name).collect();
    assert_eq!(names, ["first"], "what nobody uses stays behind");
    let results = run_linked(linked, "use", &[2]);
    assert_eq!(results, [returned(&[36]), returned(&[37])]);
}

#[test]
fn globals_of_one_name_are_one_in_linked_modules() {
    let provider = module_of(
        "global unused: i = 1\nglobal shared: i = 7\n\
         fun main() { ret }\n\
         fun bump() {\n n = ld_gi shared\n n = add n, 1\n st_gi shared, n\n ret\n}",
    );
    let user = module_of(
        "global shared: i = 7\n\
         fun main() { ret }\n\
         fun bump() { ret }\n\
         fun use() -> i {\n call bump()\n n = ld_gi shared\n ret n\n}",
    );
    let roots = [(&user, place(&user, "use"))];
    let linked = link(&roots, |name| match name {
        "bump" => Some((&provider, place(&provider, "bump"))),
        _ => None,
    });
    let results = run_linked(linked.expect("it links"), "use", &[]);
    assert_eq!(results, [returned(&[8]), returned(&[9])]);
}

/// A module whose `main` loads the last of many constants, each of which refers to the one before.
fn chain(length: u32, refs: impl Fn(u32) -> Vec<ConstRef>) -> Module {
    let mut module = module_of("data last = i64 [5]\nfun main() {\n x = constant last\n ret\n}");
    let (main, sources) = (module.functions.remove(0), module.sources.clone());
    let one = Constant::Record {
        tag: 0,
        refs: Vec::new(),
        ints: vec![1],
    };
    let mut constants = vec![one];
    for index in 1..length {
        constants.push(Constant::Record {
            tag: 1,
            refs: refs(index),
            ints: Vec::new(),
        });
    }
    let mut code = Vec::new();
    for op in main.ops() {
        let (_, op) = op.expect("it decodes");
        let op = match op {
            vm::isa::Op::Constant { dst, .. } => vm::isa::Op::Constant {
                dst,
                constant: vm::isa::ConstId(length - 1),
            },
            other => other,
        };
        op.encode(&mut code);
    }
    Module {
        functions: vec![Function {
            code,
            signature: Signature::default(),
            ..main
        }],
        constants,
        sources,
        globals: Globals {
            ints: Vec::new(),
            refs: vec![Global {
                name: "g".into(),
                value: ConstRef::Constant(length - 1),
            }],
        },
        ..Module::default()
    }
}

#[test]
fn long_chains_of_constants_need_no_stack() {
    let module = chain(200_000, |index| vec![ConstRef::Constant(index - 1)]);
    let linked = link(&[(&module, 0)], |_| None).expect("it links");
    assert_eq!(linked.constants.len(), 200_000);
    let printed = print(&linked);
    let options = AssembleOptions::default();
    let again = assembler::assemble(&printed, &options).expect("it assembles");
    assert_eq!(again.constants, linked.constants);
    assert_eq!(run_linked(linked, "main", &[])[0], returned(&[]));
}

/// Each constant names the two before it many times: it is taken along once.
#[test]
fn constants_that_share_others_are_linked_once() {
    let module = chain(3_000, |index| {
        let before = [index - 1, index.saturating_sub(2)];
        (0..254)
            .map(|field| ConstRef::Constant(before[field % 2]))
            .collect()
    });
    let linked = link(&[(&module, 0)], |_| None).expect("it links");
    assert_eq!(linked.constants, module.constants);
}
