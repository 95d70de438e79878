//! References: what they are, and immediates.

use super::branch::small;
use crate::code::LoadedFunction;
use crate::heap::{ObjectKind, Value};
use crate::machine::{Fault, Machine};

handlers! {
    /// `r[a] = immediate i[b]`
    fn to_imm(m) {
        let w = m.word();
        match Value::immediate(m.i(w.b) as i64) {
            Some(value) => { m.set_r(w.a, value); m.next() }
            None => m.fault(Fault::Overflow),
        }
    }
    /// `i[a] = the immediate in r[b]`
    fn of_imm(m) {
        let w = m.word();
        match m.r(w.b).as_immediate() {
            Some(number) => { m.set_i(w.a, number as u64); m.next() }
            None => m.fault(Fault::WrongKind),
        }
    }
    /// `i[a] = r[b] is r[c]`
    fn same(m) { let w = m.word(); m.set_i(w.a, (m.r(w.b) == m.r(w.c)) as u64); m.next() }
    /// `i[a] = r[b] is null`
    fn is_null(m) { let w = m.word(); m.set_i(w.a, m.r(w.b).is_null() as u64); m.next() }
    /// `i[a] = r[b] is an immediate`
    fn is_imm(m) {
        let w = m.word();
        m.set_i(w.a, m.r(w.b).as_immediate().is_some() as u64);
        m.next()
    }
    /// `i[a] = the code of what r[b] is`
    fn kind(m) { let w = m.word(); m.set_i(w.a, kind_code(m.r(w.b))); m.next() }
    /// `i[a] = the signature of the closure r[b]`
    fn sig(m) {
        let w = m.word();
        match m.object(w.b, ObjectKind::Closure) {
            Some(closure) => {
                let function = *closure.add(1) as *const LoadedFunction;
                m.set_i(w.a, (*function).signature_word as u64);
                m.next()
            }
            None => m.fault(Fault::WrongKind),
        }
    }
    /// `r[a] = the immediate r[b] + e`
    fn tadd_imm(m) {
        let w = m.word();
        let Some(number) = m.r(w.b).as_immediate() else { return m.fault(Fault::WrongKind) };
        match Value::immediate(number.wrapping_add(w.e as i64)) {
            Some(value) => { m.set_r(w.a, value); m.next() }
            None => m.fault(Fault::Overflow),
        }
    }
    /// `if r[a] is a record with the tag in c and d goto e`
    fn jtag<const BACK: bool>(m) {
        if BACK && m.is_wanted() { return m.attend(); }
        let w = m.word();
        if record_tag(m, w.a) == Some(small(w.c, w.d) as u16) { m.jump(w.e) } else { m.next() }
    }
    /// `if r[a] is no record with the tag in c and d goto e`
    fn jntag<const BACK: bool>(m) {
        if BACK && m.is_wanted() { return m.attend(); }
        let w = m.word();
        if record_tag(m, w.a) != Some(small(w.c, w.d) as u16) { m.jump(w.e) } else { m.next() }
    }
    /// `goto` the entry for `r[a]` of the `e` jump words that follow, or past them: first null,
    /// then as many immediates as `c` and `d` say, then tags
    fn switch_tag(m) {
        if m.is_wanted() { return m.attend(); }
        let w = m.word();
        let n_imms = small(w.c, w.d) as u16 as u64;
        let n_targets = w.e as u32 as u64;
        let value = m.r(w.a);
        let index = match (value.as_immediate(), record_tag(m, w.a)) {
            (Some(number), _) if (number as u64) < n_imms => 1 + number as u64,
            (None, Some(tag)) => 1 + n_imms + tag as u64,
            _ if value.is_null() => 0,
            _ => n_targets,
        };
        m.skip(1 + index.min(n_targets) as usize)
    }
}

/// The tag of the record in `r[operand]`, if it is one.
#[inline(always)]
unsafe fn record_tag(m: Machine, operand: u8) -> Option<u16> {
    // SAFETY: as for all handlers.
    unsafe {
        let record = m.object(operand, ObjectKind::Record)?;
        (!m.r(operand).is_null()).then_some((*record >> 32) as u16)
    }
}

/// What a reference is, as programs are told: null, an immediate, or an object of a kind.
unsafe fn kind_code(value: Value) -> u64 {
    const NULL: u64 = 0;
    const IMMEDIATE: u64 = 1;
    const FIRST_KIND: u64 = 2;
    match value.object() {
        None => IMMEDIATE,
        Some(_) if value.is_null() => NULL,
        // SAFETY: a pointer points to a header.
        Some(object) => FIRST_KIND + unsafe { *object >> 1 & 0xf },
    }
}

/// `r[a] = the immediate r[b] op r[c]`. The words of immediates are their numbers doubled.
macro_rules! tagged {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.r(w.b).0 as i64, m.r(w.c).0 as i64);
                if ($lhs | $rhs) & 1 != 0 { return m.fault(Fault::WrongKind); }
                match $result {
                    Some(word) => { m.set_r(w.a, Value(word as u64)); m.next() }
                    None => m.fault(Fault::Overflow),
                }
            }
        )+ }
    };
}

tagged! {
    tadd = |x, y| x.checked_add(y);
    tsub = |x, y| x.checked_sub(y);
    tmul = |x, y| (x >> 1).checked_mul(y);
}

/// `if the immediate r[a] op r[b] goto e`.
macro_rules! tagged_jumps {
    ($($name:ident = |$lhs:ident, $rhs:ident| $test:expr;)+) => {
        handlers! { $(
            fn $name<const BACK: bool>(m) {
                if BACK && m.is_wanted() { return m.attend(); }
                let w = m.word();
                let ($lhs, $rhs) = (m.r(w.a).0 as i64, m.r(w.b).0 as i64);
                if ($lhs | $rhs) & 1 != 0 { return m.fault(Fault::WrongKind); }
                if $test { m.jump(w.e) } else { m.next() }
            }
        )+ }
    };
}

tagged_jumps! {
    jtlt = |x, y| x < y;
    jtle = |x, y| x <= y;
}
