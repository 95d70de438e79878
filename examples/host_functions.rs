//! Host functions: Rust's types, objects, calls back, exceptions and failures.
//! `cargo run --example host_functions`

use std::cell::Cell;
use std::error::Error;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use assembler::{AssembleOptions, assemble};
use vm::host::{HostCall, HostError, HostIo, Hosts};
use vm::{Access, Kind, Program, Root, Vm, VmConfig};

const TEXT: &str = "
host say(r)
host ticket() -> (i)
host sort_by(r, r) -> (r)
host lookup(r, r) -> (r)

; Which of two numbers in records comes first: the larger one.
closure fun larger_first{}(a: r, b: r) -> i {
    x = ld_i a, 0
    y = ld_i b, 0
    jgt x, y, before
    ret 0
before:
    ret 1
}

export fun sorted(numbers: r) -> r {
    order = closure larger_first, [], []
    numbers: r = call sort_by(numbers, order)
    ret numbers
}

export fun numbered() {
    n = call ticket()
    text = str_of_int n
    text = cat \"ticket \", text
    call say(text)
    ret
}

; A name that is not there is an exception with the tag 404, which the program handles.
export fun find(names: r, name: r) {
    try unknown(e) {
        found = call lookup(names, name)
        call say(found)
    }
    ret
unknown:
    call say(\"no such name\")
    ret
}

export fun fail() {
    nothing = null
    found = call lookup(nothing, nothing)
    ret
}

fun main() {
    ret
}";

/// Sorts an array by a closure of the program: so this calls back into the machine.
fn sort_by(call: &mut HostCall, array: Root, order: Root) -> Result<Root, HostError> {
    let mut sorted: Vec<Root> = Vec::new();
    for element in call.refs(&array)? {
        let mut place = sorted.len();
        for (index, other) in sorted.iter().enumerate() {
            // An exception in the closure, an exit or an interrupt goes on in the caller.
            if call.call_closure(&order, (&element, other))? {
                place = index;
                break;
            }
        }
        sorted.insert(place, element);
    }
    let sorted: Vec<&Root> = sorted.iter().collect();
    Ok(call.new_ref_array(&sorted)?)
}

/// Finds a name among others, or raises an exception of the program.
fn lookup(call: &mut HostCall, names: Root, name: Root) -> Result<Root, HostError> {
    if call.kind(&names)? == Kind::Null {
        return Err(HostError::Message("there is no list of names".into()));
    }
    for known in call.refs(&names)? {
        if call.bytes(&known)? == call.bytes(&name)? {
            return Ok(known);
        }
    }
    Err(call.exception(404))
}

/// Runs the example.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let mut hosts = Hosts::standard(HostIo::process(Vec::new()));
    let (saying, next) = (said.clone(), Cell::new(100));
    hosts.wrap("say", move |text: &str| {
        saying.lock().expect("no panic").push(text.to_owned());
    });
    // A host function may be entered again while it runs, so what it changes is in a cell.
    hosts.wrap("ticket", move || {
        next.set(next.get() + 1);
        next.get()
    });
    hosts.wrap("sort_by", sort_by);
    hosts.wrap("lookup", lookup);

    let module = assemble(TEXT, &AssembleOptions::default())
        .map_err(|errors| errors[0].render("hosts.asm", TEXT))?;
    let mut vm = Vm::new(&Program::from_module(module)?, hosts, VmConfig::default())?;

    let numbers = [3, 141, 59, 26];
    let cells: Vec<Root> = numbers
        .iter()
        .map(|&number| vm.new_record(1, &[], &[number]))
        .collect::<Result<_, _>>()?;
    let array = vm.new_ref_array(&cells.iter().collect::<Vec<_>>())?;
    let sorted = vm.typed::<(Root,), Root>("sorted")?;
    let result = sorted.call(&mut vm, (array,))?;
    for cell in vm.refs(&result)? {
        writeln!(out, "{}", vm.ints(&cell)?[0])?;
    }

    let numbered = vm.typed::<(), ()>("numbered")?;
    numbered.call(&mut vm, ())?;
    numbered.call(&mut vm, ())?;

    let find = vm.typed::<(&Root, &str), ()>("find")?;
    let (ann, bob) = (vm.new_text("Ann")?, vm.new_text("Bob")?);
    let names = vm.new_ref_array(&[&ann, &bob])?;
    find.call(&mut vm, (&names, "Bob"))?;
    find.call(&mut vm, (&names, "Eve"))?;
    for line in said.lock().expect("no panic").iter() {
        writeln!(out, "{line}")?;
    }

    let fail = vm.typed::<(), ()>("fail")?;
    if let Err(error) = fail.call(&mut vm, ()) {
        write!(out, "{}", vm.describe_error(&error))?;
    }
    Ok(())
}

#[allow(dead_code, reason = "a test runs the example without it")]
fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout().lock())
}
