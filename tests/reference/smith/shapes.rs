//! The fixed parts of programs, and the signatures of the random ones.

use super::{Callee, Kind, pick};
use crate::support::Random;

/// Sources for explicit `enter` and `leave`, and constants.
pub(super) const DECLARATIONS: &str = "
    source s0 = \"block0\" \"gen.sml\" 1
    source s1 = \"block1\" \"gen.sml\" 2
    source s2 = \"block2\" \"gen.sml\" 3
    data ints = i64 [1, -2, 3, -4, 5, 6, 7, 8, 9223372036854775807, 10]
    data floats = f64 [0.5, inf, -1.5, 2.0, -0.0, 1e300, 3.25, 8.0, 9.0]
    data bytes = bytes [1, 2, 3, 250, 255, 6, 7, 8, 9]
    data crec = record 4 [7, null] [1, -2]
    data cpair = record 65535 [crec, \"in a record\"] []
    data cclo = closure adder [cpair] [41]
    data crefs = refs [null, -3, cclo, cpair]
    global gi: i = 5
    global gf: f = 0.25
    global gr: r = crefs
    global gp: r
    global keep: r";

/// Functions that programs may call by name: to fold values into the checksum, to look into
/// exceptions, and shapes for which there are superinstructions or special cases.
pub(super) const HELPERS: [&str; 15] = [
    "fun mix(w: r, v: i) {
        z = 0
        h = get_i w, z
        h = mul_imm h, 31
        h = xor h, v
        h = add_imm h, 7
        set_i w, z, h
        ret
    }",
    "fun mix_float(w: r, f: f) {
        jfne f, f, nan
        h = zext f, 64
        call mix(w, h)
        ret
    nan:
        call mix(w, 1234567)
        ret
    }",
    "fun walk(w: r, p: r, n: i) {
    again:
        jle n, 0, done
        v = ld_i p, 0
        call mix(w, v)
        v = tag p
        call mix(w, v)
        q = ld_r p, 0
        jimm q, number
        v = is_null q
        call mix(w, v)
        jmp next
    number:
        v = of_imm q
        call mix(w, v)
    next:
        p = ld_r p, 1
        n = sub n, 1
        jmp again
    done:
        ret
    }",
    "fun code_of(e: r) -> i {
        try other(o) {
            v = tag e
            n = ld_i e, 0
            v = mul_imm v, 1000
            v = add v, n
            ret v
        }
    other:
        try text(o) {
            v = of_imm e
            ret v
        }
    text:
        v = is_null e
        ret v
    }",
    "fun fib(n: i) -> i {
        jlt n, 2, small
        a = sub n, 1
        a = call fib(a)
        b = sub n, 2
        b = call fib(b)
        a = add a, b
        ret a
    small:
        ret n
    }",
    "fun is_even(n: i) -> i {
        jeq n, 0, yes
        n = sub n, 1
        tail_call is_odd(n)
    yes:
        ret 1
    }
    fun is_odd(n: i) -> i {
        jeq n, 0, no
        n = sub n, 1
        r = call is_even(n)
        ret r
    no:
        ret 0
    }",
    "fun build(n: i, g: r) -> r {
        jgt n, 0, more
        ret g
    more:
        m = sub n, 1
        t = call build(m, g)
        x = to_imm n
        t = new 3, [x, t], [n, m]
        ret t
    }",
    "fun deep_raise(n: i, x: r) -> i {
        jgt n, 0, more
        e = new 77, [x], [n]
        raise e
    more:
        n = sub n, 1
        n = call deep_raise(n, x)
        n = add n, 1
        ret n
    }",
    "fun endless(n: i) -> i {
        n = add n, 1
        n = call endless(n)
        n = add n, 1
        ret n
    }",
    // A source that is closed on one of two ways into a tail call of the function to itself, which
    // then allocates what the machine charges to the source that is current.
    "fun turns(n: i) -> i {
        x = new_b n, n
        jle n, 0, done
        n = sub n, 1
        b = and_imm n, 1
        jeq b, 0, on
        enter s1
        leave s1
    on:
        tail_call turns(n)
    done:
        ret n
    }",
    "fun sum(a: r) -> i {
        n = len a
        s = 0
        i = 0
    again:
        jge i, n, done
        v = get_i a, i
        s = add s, v
        i = add i, 1
        jmp again
    done:
        ret s
    }",
    "closure fun adder{x: r, k: i}(n: i) -> i {
        k = cap k
        n = add n, k
        y = cap x
        m = is_null y
        n = add n, m
        ret n
    }",
    "closure fun ping{other: r, k: i}(n: i) -> i {
        k = cap k
        jle n, 0, done
        other = cap other
        n = sub n, 1
        n = call_closure other(n)
        n = add n, k
        ret n
    done:
        ret k
    }",
    "fun twice(f: r, n: i) -> i {
        n = call_closure f(n)
        n = call_closure f(n)
        ret n
    }",
    "fun thrice(f: r, n: i) -> i {
        n = call_closure f(n)
        n = call twice(f, n)
        m: i = call_closure f(n)
        ret m
    }",
];

/// The results that random functions may have. They are few, so that tail calls find a match.
const RESULTS: [&[Kind]; 5] = [
    &[],
    &[Kind::Int],
    &[Kind::Int, Kind::Record],
    &[Kind::Float, Kind::Int, Kind::Any],
    &[Kind::Text],
];

/// Signatures of a program's random functions: leaves without the shared values, functions, and
/// closures' functions.
pub(super) fn callees(random: &mut Random) -> Vec<Callee> {
    let mut callees = Vec::new();
    for index in 0..1 + random.below(3) {
        let mut params = vec![Kind::Int; 1 + random.below(3)];
        params.extend(vec![Kind::Float; random.below(2)]);
        callees.push(Callee {
            name: format!("leaf{index}"),
            params,
            results: vec![pick(random, &[Kind::Int, Kind::Int, Kind::Float])],
            captures: None,
        });
    }
    let kinds = [
        Kind::Int,
        Kind::Float,
        Kind::Record,
        Kind::Any,
        Kind::Text,
        Kind::Ints,
    ];
    for index in 0..2 + random.below(5) {
        let mut params = vec![Kind::Ints, Kind::Record];
        (0..random.below(5)).for_each(|_| params.push(pick(random, &kinds)));
        callees.push(Callee {
            name: format!("fun{index}"),
            params,
            results: pick(random, &RESULTS).to_vec(),
            captures: None,
        });
    }
    for index in 0..random.below(4) {
        let captures = (0..random.below(4)).map(|_| pick(random, &kinds)).collect();
        let params = [
            &[Kind::Ints, Kind::Record][..],
            &vec![Kind::Int; random.below(3)],
        ]
        .concat();
        callees.push(Callee {
            name: format!("clo{index}"),
            params,
            results: pick(random, &RESULTS).to_vec(),
            captures: Some(captures),
        });
    }
    callees
}
