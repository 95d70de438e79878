//! The word that callbacks are armed at is one of the op that runs next, and of no other.

use vm::{RunError, VmConfig};

use crate::support::machine;

/// A program whose last op faults and has its fault sampled, behind it another function whose first
/// word would be the next.
fn program(last: &str) -> String {
    format!(
        "closure fun allocated(samples: i, words: i, source: i) -> (i, r) {{
            x = null
            ret 0, x
        }}
        fun main() {{
            z = 0
            nothing = null
            al = closure allocated, [], []
            tracker = new 0, [al, al, nothing, nothing, nothing], []
            rate = 1.0
            depth = 10
            p: i = call memprof_start(rate, depth, z, tracker)
            {last}
        }}
        export fun next(n: i) -> i {{
            n = add n, 1
            ret n
        }}"
    )
}

/// The fault of an op without a successor was taken for one that goes on with the word behind it.
#[test]
fn a_fault_of_a_last_op_arms_no_word_behind_it() {
    for last in ["tail_call_closure nothing()", "match_fail", "raise nothing"] {
        let mut vm = machine(&program(last), VmConfig::default());
        let next = vm.module().function_named("next").expect("the function");
        for _ in 0..3 {
            let result = vm.run();
            assert!(
                matches!(result, Err(RunError::Uncaught { .. })),
                "{last}: {result:?}"
            );
            let outcome = vm.call(next, &[1]).expect("a run");
            assert_eq!(outcome, vm::Outcome::Returned(vec![2]), "{last}");
        }
    }
}

/// At the end of the code there is no word at all.
#[test]
fn a_fault_of_the_programs_very_last_op_is_sampled() {
    let text = program("tail_call_closure nothing()");
    let text = text.split("        export fun").next().expect("a part");
    let mut vm = machine(text, VmConfig::default());
    assert!(matches!(vm.run(), Err(RunError::Uncaught { .. })));
}
