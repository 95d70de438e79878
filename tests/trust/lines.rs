//! Backtraces and memory profiles say the line of the op at fault, also where ops are fused.

use vm::{RunError, VmConfig};

use crate::support::machine;

/// Two ops that become one word, then what is in the second one's line.
const PAIRS: [&str; 3] = [
    // An addition and a call.
    "m = sub n, 1
        .line 30
        m = call deep(m)",
    // Two moves and a call.
    "m = n
        m = sub m, 1
        .line 30
        m = call deep(m)",
    "m = add n, -1
        .line 30
        m = call deep(m)",
];

fn backtrace(pair: &str, fuses: bool) -> String {
    let text = format!(
        r#".file "x.sml"
        fun deep(n: i) -> i {{
            .line 28
            jgt n, 0, go
            .line 281
            z = 0
            n = quot n, z
            ret n
        go: .line 29
            {pair}
            .line 31
            m = add m, 1
            ret m
        }}
        fun main() {{
            .line 40
            x = 3
            .line 41
            x = call deep(x)
            call print_int(x)
            ret
        }}"#
    );
    let config = VmConfig {
        fuses,
        ..VmConfig::default()
    };
    let mut vm = machine(&text, config);
    let error = vm.run().expect_err("a division by zero");
    assert!(matches!(error, RunError::Uncaught { .. }));
    vm.describe_error(&error)
}

#[test]
fn a_backtrace_names_the_lines_of_calls_also_where_they_are_fused() {
    let expected = "uncaught exception: division by zero
  in deep (x.sml:281)
  in deep (x.sml:30)
  in deep (x.sml:30)
  in deep (x.sml:30)
  in main (x.sml:41)
";
    for pair in PAIRS {
        for fuses in [true, false] {
            assert_eq!(backtrace(pair, fuses), expected, "{pair}, fused: {fuses}");
        }
    }
}
