//! A heap that has failed while a host function worked, or while a run was paused.

use std::num::NonZeroU8;

use vm::host::{HostCall, HostError};
use vm::{Access, CallError, Interrupt, Progress, RunError, Trap, VmConfig};

use crate::support::machine;
use crate::{machine_with, quiet};

/// The host function makes another error of what its call back has met, and the program would
/// handle that and read objects that are gone.
#[test]
fn no_error_of_a_host_function_hides_that_the_heap_has_failed() {
    let text = "
    host hide() -> i
    host interrupt()
    export fun big(n: i) -> i {
        zero = 0
        call interrupt()
        a = new_i n, zero
        n = len a
        ret n
    }
    export fun run(n: i) -> i {
        list = null
    again:
        list = new 1, [list], [n]
        n = sub n, 1
        jgt n, 0, again
        try caught(e) {
            n = call hide()
        }
        ret n
    caught:
        n = ld_i list, 0
        ret n
    }
    fun main() {
        ret
    }";
    let interrupt = Interrupt::new();
    let inner = interrupt.clone();
    let signal = NonZeroU8::new(2).expect("a signal");
    let mut hosts = quiet();
    hosts.wrap("interrupt", move || inner.raise(signal));
    hosts.wrap("hide", |call: &mut HostCall| -> Result<i64, HostError> {
        let big = call.typed::<(i64,), i64>("big").map_err(HostError::other)?;
        big.call(call, (8 << 20,)).map_err(HostError::other)
    });
    let mut vm = machine_with(text, hosts, VmConfig::default());
    vm.share_interrupt(&interrupt);
    let run = vm.typed::<(i64,), i64>("run").expect("it is exported");
    let ended = run.call(&mut vm, (100_000,));
    assert!(
        matches!(
            ended,
            Err(RunError::Trap {
                trap: Trap::OutOfMemory(_),
                ..
            })
        ),
        "{ended:?}"
    );
}

#[test]
fn a_paused_run_does_not_go_on_in_a_heap_that_has_failed() {
    let text = "
    export fun build(n: i) -> i {
        list = null
    again:
        list = new 1, [list], [n]
        n = sub n, 1
        jgt n, 0, again
        n = ld_i list, 0
        ret n
    }
    fun main() {
        ret
    }";
    let mut config = VmConfig {
        fuel: Some(u64::MAX),
        ..VmConfig::default()
    };
    config.heap.max_bytes = 16 << 20;
    let mut vm = machine(text, config);
    let build = vm.function("build").expect("it is exported");
    let paused = vm.call_with_fuel(build, &[100], 250);
    assert_eq!(paused, Ok(Progress::Paused));
    vm.new_int_array(&vec![0; 4 << 20]).expect_err("too large");
    assert!(!vm.is_paused());
    assert_eq!(
        vm.resume(1_000_000),
        Err(RunError::Call(CallError::NotPaused))
    );
}
