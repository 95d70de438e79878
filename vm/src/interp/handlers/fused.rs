//! Superinstructions: several ops in one handler, chosen by the loader (`load/fuse.rs`).
//!
//! A fused handler does exactly what its ops do, in their order, with all their writes; only the
//! dispatches between them are gone.

use std::ptr;

use super::branch::small;
use super::call::{callee_node, current_context, enter, pop_frame, save_context, word_source};
use super::mode;
use crate::code::Frame;
use crate::machine::Machine;

handlers! {
    /// `i[a] = i[b]; return`
    fn mov_ret<const MODE: u8>(m) {
        let w = m.word();
        m.set_i(w.a, m.i(w.b));
        pop_frame::<MODE>(m)
    }
    /// `r[a] = r[b]; return`
    fn rmov_ret<const MODE: u8>(m) {
        let w = m.word();
        m.set_r(w.a, m.r(w.b));
        pop_frame::<MODE>(m)
    }
    /// `i[a] = e; return`
    fn int_ret<const MODE: u8>(m) {
        let w = m.word();
        m.set_i(w.a, w.e as i64 as u64);
        pop_frame::<MODE>(m)
    }
    /// `i[a] = i[b] + i[c]; return`
    fn add_ret<const MODE: u8>(m) {
        let w = m.word();
        m.set_i(w.a, m.i(w.b).wrapping_add(m.i(w.c)));
        pop_frame::<MODE>(m)
    }
    /// `i[a] = i[b] + e; return`
    fn add_imm_ret<const MODE: u8>(m) {
        let w = m.word();
        m.set_i(w.a, m.i(w.b).wrapping_add(w.e as i64 as u64));
        pop_frame::<MODE>(m)
    }
    /// `i[a] = i[b]; i[c] = i[d]`
    fn mov2(m) {
        let w = m.word();
        m.set_i(w.a, m.i(w.b));
        m.set_i(w.c, m.i(w.d));
        m.next()
    }
    /// `i[a] = i[b]; i[c] = i[d]; i[e0] = i[e1]`
    fn mov3(m) {
        let w = m.word();
        m.set_i(w.a, m.i(w.b));
        m.set_i(w.c, m.i(w.d));
        let [to, from, ..] = w.e.to_le_bytes();
        m.set_i(to, m.i(from));
        m.next()
    }
    /// `r[a] = r[b]; r[c] = r[d]`
    fn rmov2(m) {
        let w = m.word();
        m.set_r(w.a, m.r(w.b));
        m.set_r(w.c, m.r(w.d));
        m.next()
    }
    /// `i[a] = i[b] + i16(c, d); goto e`, a tail call or a jump
    fn add_imm_jump(m) {
        if m.is_wanted() { return m.attend(); }
        let w = m.word();
        m.set_i(w.a, m.i(w.b).wrapping_add(small(w.c, w.d) as u64));
        m.jump(w.e)
    }
    /// The same for a tail call in current style; the callee's node stands in the next word
    fn add_imm_tail_call<const MODE: u8, const COUNT: bool>(m) {
        if m.is_wanted() { return m.attend(); }
        let w = m.word();
        enter::<MODE, COUNT>(m, callee_node::<MODE>(m, 1, ptr::null()));
        m.set_i(w.a, m.i(w.b).wrapping_add(small(w.c, w.d) as u64));
        m.jump(w.e)
    }
    /// `i[a] = i[b]; i[c] = i[d]; goto e`, a tail call or a jump
    fn mov2_jump(m) {
        if m.is_wanted() { return m.attend(); }
        let w = m.word();
        m.set_i(w.a, m.i(w.b));
        m.set_i(w.c, m.i(w.d));
        m.jump(w.e)
    }
    /// The same for a tail call in current style; the callee's node stands in the next word
    fn mov2_tail_call<const MODE: u8, const COUNT: bool>(m) {
        if m.is_wanted() { return m.attend(); }
        let w = m.word();
        enter::<MODE, COUNT>(m, callee_node::<MODE>(m, 1, ptr::null()));
        m.set_i(w.a, m.i(w.b));
        m.set_i(w.c, m.i(w.d));
        m.jump(w.e)
    }
    /// `i[c] = i[d] + x; call e` with the windows `a` and `b`; `x` stands in the next word
    fn add_imm_call(m) {
        let w = m.word();
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        let addend = (*m.pc.add(1)).data.x;
        m.set_i(w.c, m.i(w.d).wrapping_add(addend));
        m.sp.write(Frame { pc: m.pc.add(2), ints: m.ints, refs: m.refs });
        let sp = m.sp.add(1);
        Machine { ints, refs, sp, ..m }.go(m.pc.byte_offset(w.e as isize))
    }
    /// The same with a profile; the nodes stand in the word after
    fn add_imm_call_profiled<const MODE: u8, const COUNT: bool>(m) {
        let w = m.word();
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        let current = current_context::<MODE>(m);
        let node = callee_node::<MODE>(m, 2, current);
        if MODE == mode::STACK && node.is_null() {
            return m.make_context(current, word_source(m, 2), 2);
        }
        save_context::<MODE>(m, current);
        enter::<MODE, COUNT>(m, node);
        let addend = (*m.pc.add(1)).data.x;
        m.set_i(w.c, m.i(w.d).wrapping_add(addend));
        m.sp.write(Frame { pc: m.pc.add(3), ints: m.ints, refs: m.refs });
        let sp = m.sp.add(1);
        Machine { ints, refs, sp, ..m }.go(m.pc.byte_offset(w.e as isize))
    }
}

/// `if i[a] op i[b] goto e, else return i[c] in i[d]`, and the same with the immediate in `b`.
macro_rules! branch_or_ret {
    ($($name:ident, $name_imm:ident = |$lhs:ident, $rhs:ident| $test:expr;)+) => {
        handlers! { $(
            fn $name<const MODE: u8>(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.a) as i64, m.i(w.b) as i64);
                if $test { return m.jump(w.e); }
                m.set_i(w.d, m.i(w.c));
                pop_frame::<MODE>(m)
            }
            fn $name_imm<const MODE: u8>(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.a) as i64, w.b as i8 as i64);
                if $test { return m.jump(w.e); }
                m.set_i(w.d, m.i(w.c));
                pop_frame::<MODE>(m)
            }
        )+ }
    };
}

branch_or_ret! {
    jeq_or_ret, jeq_imm_or_ret = |x, y| x == y;
    jne_or_ret, jne_imm_or_ret = |x, y| x != y;
    jlt_or_ret, jlt_imm_or_ret = |x, y| x < y;
    jle_or_ret, jle_imm_or_ret = |x, y| x <= y;
    jgt_or_ret, jgt_imm_or_ret = |x, y| x > y;
    jge_or_ret, jge_imm_or_ret = |x, y| x >= y;
}

/// `i[a] = i[a] + d; if i[a] op i[b] goto e`, the same with the limit `b, c` immediate, and
/// `i[a] = i[a] + i[d]; if i[a] op i[b] goto e`: the ends of counting loops.
macro_rules! counting {
    ($($name:ident, $name_imm:ident, $name_add:ident = |$lhs:ident, $rhs:ident| $test:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                if m.is_wanted() { return m.attend(); }
                let w = m.word();
                let $lhs = (m.i(w.a) as i64).wrapping_add(w.d as i8 as i64);
                m.set_i(w.a, $lhs as u64);
                let $rhs = m.i(w.b) as i64;
                if $test { m.jump(w.e) } else { m.next() }
            }
            fn $name_imm(m) {
                if m.is_wanted() { return m.attend(); }
                let w = m.word();
                let $lhs = (m.i(w.a) as i64).wrapping_add(w.d as i8 as i64);
                m.set_i(w.a, $lhs as u64);
                let $rhs = small(w.b, w.c);
                if $test { m.jump(w.e) } else { m.next() }
            }
            fn $name_add(m) {
                if m.is_wanted() { return m.attend(); }
                let w = m.word();
                let $lhs = (m.i(w.a) as i64).wrapping_add(m.i(w.d) as i64);
                m.set_i(w.a, $lhs as u64);
                let $rhs = m.i(w.b) as i64;
                if $test { m.jump(w.e) } else { m.next() }
            }
        )+ }
    };
}

counting! {
    add_jlt, add_jlt_imm, sum_jlt = |x, y| x < y;
    add_jle, add_jle_imm, sum_jle = |x, y| x <= y;
    add_jgt, add_jgt_imm, sum_jgt = |x, y| x > y;
    add_jge, add_jge_imm, sum_jge = |x, y| x >= y;
    add_jne, add_jne_imm, sum_jne = |x, y| x != y;
}

/// `f[a] = f[b] * f[c]; f[d] = f[e0] op f[e1]`, rounded twice.
macro_rules! multiply_then {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                m.set_f(w.a, m.f(w.b) * m.f(w.c));
                let [lhs, rhs, ..] = w.e.to_le_bytes();
                let ($lhs, $rhs) = (m.f(lhs), m.f(rhs));
                m.set_f(w.d, $result);
                m.next()
            }
        )+ }
    };
}

multiply_then! {
    fmul_fadd = |x, y| x + y;
    fmul_fsub = |x, y| x - y;
    fmul_fmul = |x, y| x * y;
}
