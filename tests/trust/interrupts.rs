//! What `Interrupt::raise` means, and when it is over.

use vm::{Interrupt, Outcome, RunError, Trap, Vm, VmConfig};

use crate::support::{machine, signal};

const TEXT: &str = "
    fun main() {
        ret
    }
    export fun turn(n: i) {
    l:  n = sub n, 1
        jgt n, 0, l
        ret
    }";

fn turn(vm: &mut Vm) -> Result<Outcome, Trap> {
    let function = vm.module().function_named("turn").expect("the function");
    vm.call(function, &[10]).map_err(|error| match error {
        RunError::Trap { trap, .. } => trap,
        other => panic!("{other:?}"),
    })
}

#[test]
fn of_several_signals_the_first_ends_the_run() {
    let mut vm = machine(TEXT, VmConfig::default());
    let interrupt = vm.interrupt();
    interrupt.raise(signal(1));
    interrupt.raise(signal(2));
    assert_eq!(turn(&mut vm), Err(Trap::Interrupted(1)));
    assert_eq!(turn(&mut vm), Ok(Outcome::Returned(vec![])));
}

#[test]
fn what_was_raised_between_runs_ends_the_next_one() {
    let mut vm = machine(TEXT, VmConfig::default());
    vm.interrupt().raise(signal(15));
    assert_eq!(turn(&mut vm), Err(Trap::Interrupted(15)));
}

#[test]
fn what_met_no_safepoint_is_over_with_the_run() {
    let mut vm = machine(TEXT, VmConfig::default());
    let interrupt = vm.interrupt();
    interrupt.raise(signal(2));
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])), "main has no jump");
    assert!(!interrupt.is_raised());
    assert_eq!(turn(&mut vm), Ok(Outcome::Returned(vec![])));
}

#[test]
fn an_interrupt_for_a_series_of_machines_stays_raised() {
    let interrupt = Interrupt::new();
    let mut vm = machine(TEXT, VmConfig::default());
    vm.share_interrupt(&interrupt);
    interrupt.raise(signal(2));
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    assert!(interrupt.is_raised());
    interrupt.clear();
    assert_eq!(turn(&mut vm), Ok(Outcome::Returned(vec![])));
}
