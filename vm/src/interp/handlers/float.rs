//! Doubles.

use crate::machine::Fault;

/// `f[a] = f[b] op f[c]`.
macro_rules! binary {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.f(w.b), m.f(w.c));
                m.set_f(w.a, $result);
                m.next()
            }
        )+ }
    };
}

binary! {
    fadd = |x, y| x + y;
    fsub = |x, y| x - y;
    fmul = |x, y| x * y;
    fdiv = |x, y| x / y;
}

/// `f[a] = f[b] op x`, of the data word.
macro_rules! binary_imm {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.f(w.b), f64::from_bits((*m.pc.add(1)).data.x));
                m.set_f(w.a, $result);
                m.skip(2)
            }
        )+ }
    };
}

binary_imm! {
    fadd_imm = |x, y| x + y;
    frsub_imm = |x, y| y - x;
    fmul_imm = |x, y| x * y;
    fdiv_imm = |x, y| x / y;
    frdiv_imm = |x, y| y / x;
}

/// `i[a] = f[b] op f[c]`.
macro_rules! compare {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.f(w.b), m.f(w.c));
                m.set_i(w.a, $result as u64);
                m.next()
            }
        )+ }
    };
}

compare! {
    feq = |x, y| x == y;
    flt = |x, y| x < y;
    fle = |x, y| x <= y;
}

/// `f[a] = op f[b]`.
macro_rules! unary {
    ($($name:ident = |$x:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let $x = m.f(w.b);
                m.set_f(w.a, $result);
                m.next()
            }
        )+ }
    };
}

unary! {
    fneg = |x| -x;
    fabs = |x| x.abs();
    fsqrt = |x| x.sqrt();
    ffloor = |x| x.floor();
    fceil = |x| x.ceil();
    ftrunc = |x| x.trunc();
    fround = |x| x.round_ties_even();
    fsingle = |x| x as f32 as f64;
}

handlers! {
    /// `f[a] = the integer i[b]`
    fn itof(m) { let w = m.word(); m.set_f(w.a, m.i(w.b) as i64 as f64); m.next() }
    /// `i[a] = f[b] rounded to zero`
    fn ftoi(m) {
        let w = m.word();
        match truncate(m.f(w.b)) {
            Some(number) => { m.set_i(w.a, number as u64); m.next() }
            None => m.fault(Fault::Overflow),
        }
    }
}

/// The integer that a double rounded to zero is, when 64 bits can hold it.
#[inline(always)]
pub(crate) fn truncate(x: f64) -> Option<i64> {
    // 2^63 is a double and i64::MAX is not; below -2^63 the next double is a whole 2048 away.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    (-BOUND..BOUND).contains(&x).then_some(x as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_has_exact_bounds() {
        assert_eq!(truncate(-1.9), Some(-1));
        assert_eq!(truncate(-9_223_372_036_854_775_808.0), Some(i64::MIN));
        assert_eq!(truncate(9_223_372_036_854_775_808.0), None);
        assert_eq!(truncate(f64::NAN), None);
    }
}
