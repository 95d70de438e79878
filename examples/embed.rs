//! A program in a Rust application: loaded once, run on several threads, with strings, records and
//! errors across the border. `cargo run --example embed`

use std::error::Error;
use std::io::{self, Write};
use std::thread;

use assembler::{AssembleOptions, assemble};
use vm::host::{HostIo, Hosts};
use vm::{Access, Program, Root, RunError, Vm, VmConfig};

/// A rule that a shop's customers may write: what an order costs.
const RULE: &str = "
; An order is a record: the customer's name, and the price of each item in an array.
export fun total(order: r) -> i {
    prices = ld_r order, 1
    n = len prices
    sum = 0
    i = 0
next:
    jge i, n, done
    price: i = get_i prices, i
    sum = add sum, price
    i = add i, 1
    jmp next
done:
    jlt sum, 5000, full
    tenth = quot sum, 10
    sum = sub sum, tenth
full:
    ret sum
}

export fun greeting(order: r) -> r {
    name = ld_r order, 0
    text = cat \"Dear \", name
    ret text
}

; Refuses an order: the exception says by how much it is too small.
export fun check(sum: i, least: i) {
    missing = sub least, sum
    jle missing, 0, fine
    problem = new 42, [], [missing]
    raise problem
fine:
    ret
}

fun main() {
    ret
}";

/// Makes an order in a machine's heap.
fn order(vm: &mut Vm, name: &str, prices: &[i64]) -> Result<Root, Box<dyn Error>> {
    let name = vm.new_text(name)?;
    let prices = vm.new_int_array(prices)?;
    Ok(vm.new_record(1, &[&name, &prices], &[])?)
}

/// A machine of its own for whoever asks: what programs may touch is in its hosts.
fn machine(program: &Program) -> Result<Vm, Box<dyn Error>> {
    let io = HostIo::new(io::empty(), io::sink(), io::sink(), Vec::new());
    Ok(Vm::new(program, Hosts::standard(io), VmConfig::default())?)
}

/// Runs the example.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let module = assemble(RULE, &AssembleOptions::default())
        .map_err(|errors| errors[0].render("rule.asm", RULE))?;
    let program = Program::from_module(module)?;

    // Functions are looked up once, with the types that Rust wants.
    let mut vm = machine(&program)?;
    let total = vm.typed::<(Root,), i64>("total")?;
    let greeting = vm.typed::<(&Root,), String>("greeting")?;
    let order_of_ada = order(&mut vm, "Ada", &[1999, 350, 4100])?;
    let text = greeting.call(&mut vm, (&order_of_ada,))?;
    let sum = total.call(&mut vm, (order_of_ada,))?;
    writeln!(out, "{text}: {}.{:02}", sum / 100, sum % 100)?;

    // An exception of the program is an error with its object.
    let check = vm.typed::<(i64, i64), ()>("check")?;
    match check.call(&mut vm, (sum, 9000)) {
        Err(RunError::Uncaught {
            object: Some(problem),
            ..
        }) => writeln!(out, "{} cents are missing", vm.ints(&problem)?[0])?,
        other => writeln!(out, "{other:?}")?,
    }

    // What does not fit is an error when it is looked up.
    let wrong = vm.typed::<(&str,), f64>("check").map(|_| ());
    writeln!(out, "{}", wrong.expect_err("check takes two integers"))?;

    // The program is shared; each thread has a machine.
    let threads: Vec<_> = (1..=3)
        .map(|n| {
            let (program, total) = (program.clone(), total.clone());
            thread::spawn(move || {
                let mut vm = machine(&program).map_err(|error| error.to_string())?;
                let order = order(&mut vm, "thread", &[100 * n; 10]);
                let order = order.map_err(|error| error.to_string())?;
                let sum = total.call(&mut vm, (order,));
                sum.map_err(|error| error.to_string())
            })
        })
        .collect();
    for thread in threads {
        writeln!(out, "a thread: {}", thread.join().expect("no panic")?)?;
    }
    Ok(())
}

#[allow(dead_code, reason = "a test runs the example without it")]
fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout().lock())
}
