//! Jumps. A jump that may go backward is a safepoint: it looks whether attention is wanted.

use crate::heap::Value;
use crate::interp::slow;

handlers! {
    /// `goto e`
    fn jmp<const BACK: bool>(m) {
        if BACK && m.is_wanted() { return m.attend(); }
        m.jump(m.word().e)
    }
    /// `fuel -= e`, ending the run when there is none left
    fn fuel(m) {
        let fuel = &mut (*m.ctx).control.fuel;
        *fuel = fuel.saturating_sub(m.word().e as i64);
        if *fuel < 0 { return m.enter(slow::out_of_fuel); }
        m.next()
    }
    /// `goto` entry `i[a]` of the `e` jump words that follow, or past them
    fn switch(m) {
        if m.is_wanted() { return m.attend(); }
        let w = m.word();
        let index = m.i(w.a).min(w.e as u32 as u64);
        m.skip(1 + index as usize)
    }
}

/// `if i[a] op i[b] goto e`; `if i[a] op imm goto e`, where the immediate is `c` and `d`; and the
/// same with the immediate in the data word.
macro_rules! branches {
    ($($name:ident, $name_imm:ident, $name_wide:ident = |$lhs:ident, $rhs:ident| $test:expr;)+) => {
        handlers! { $(
            fn $name<const BACK: bool>(m) {
                if BACK && m.is_wanted() { return m.attend(); }
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.a) as i64, m.i(w.b) as i64);
                if $test { m.jump(w.e) } else { m.next() }
            }
            fn $name_imm<const BACK: bool>(m) {
                if BACK && m.is_wanted() { return m.attend(); }
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.a) as i64, small(w.c, w.d));
                if $test { m.jump(w.e) } else { m.next() }
            }
            fn $name_wide<const BACK: bool>(m) {
                if BACK && m.is_wanted() { return m.attend(); }
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.a) as i64, (*m.pc.add(1)).data.x as i64);
                if $test { m.jump(w.e) } else { m.skip(2) }
            }
        )+ }
    };
}

/// The immediate in two operands.
#[inline(always)]
pub(crate) fn small(c: u8, d: u8) -> i64 {
    i16::from_le_bytes([c, d]) as i64
}

branches! {
    jeq, jeq_imm, jeq_wide = |x, y| x == y;
    jne, jne_imm, jne_wide = |x, y| x != y;
    jlt, jlt_imm, jlt_wide = |x, y| x < y;
    jle, jle_imm, jle_wide = |x, y| x <= y;
    jgt, jgt_imm, jgt_wide = |x, y| x > y;
    jge, jge_imm, jge_wide = |x, y| x >= y;
}

/// `if test of a and b goto e`.
macro_rules! tests {
    ($($name:ident = |$m:ident, $w:ident| $test:expr;)+) => {
        handlers! { $(
            fn $name<const BACK: bool>($m) {
                if BACK && $m.is_wanted() { return $m.attend(); }
                let $w = $m.word();
                if $test { $m.jump($w.e) } else { $m.next() }
            }
        )+ }
    };
}

tests! {
    jult = |m, w| m.i(w.a) < m.i(w.b);
    jule = |m, w| m.i(w.a) <= m.i(w.b);
    jfeq = |m, w| m.f(w.a) == m.f(w.b);
    jfne = |m, w| m.f(w.a) != m.f(w.b);
    jflt = |m, w| m.f(w.a) < m.f(w.b);
    jfle = |m, w| m.f(w.a) <= m.f(w.b);
    jfnlt = |m, w| not(m.f(w.a) < m.f(w.b));
    jfnle = |m, w| not(m.f(w.a) <= m.f(w.b));
    jnull = |m, w| m.r(w.a) == Value::null();
    jnonnull = |m, w| m.r(w.a) != Value::null();
    jimm = |m, w| m.r(w.a).as_immediate().is_some();
    jsame = |m, w| m.r(w.a) == m.r(w.b);
    jnsame = |m, w| m.r(w.a) != m.r(w.b);
}

/// Negation of a comparison that is false when an operand is not a number.
#[inline(always)]
fn not(test: bool) -> bool {
    !test
}
