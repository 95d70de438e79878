//! Calls, returns, tail calls, exceptions, and the profile's ops between them.
//!
//! The windows of a call become the callee's first registers, so a call moves two pointers, saves
//! a control frame and jumps. With a profile, the word after a call holds two nodes: the callee's,
//! published and counted at the call, and the caller's, published again at the return.

use profiler::Node;

use crate::heap::{Kind, Value};
use crate::interp::Exit;
use crate::interp::fault::Fault;
use crate::interp::machine::Machine;
use crate::interp::slow;
use crate::interp::word::{Frame, Pc};
use crate::load::LoadedFunction;

/// Enters `node`: counted when a count profile is taken, published when the others are.
#[inline(always)]
unsafe fn enter<const PUBLISH: bool, const COUNT: bool>(m: Machine, node: *const Node) {
    // SAFETY: the loader has put the address of one of the profile's nodes there.
    unsafe {
        if COUNT {
            (*node).count_call();
        }
        if PUBLISH {
            m.publish(node);
        }
    }
}

/// Enters the source that a closure's function opens, if it opens one.
#[inline(always)]
unsafe fn enter_closure<const PUBLISH: bool, const COUNT: bool>(
    m: Machine,
    function: *const LoadedFunction,
) {
    // SAFETY: the loader has filled the function's nodes in.
    unsafe {
        if COUNT {
            (*(*function).count_node).count_call();
        }
        if PUBLISH {
            m.publish((*function).entry_node);
        }
    }
}

/// Moves the windows, saves the frame that `back` returns to, and goes to `entry`.
macro_rules! push_frame {
    ($m:ident, $ints:expr, $refs:expr, $back:expr, $entry:expr) => {{
        let ints = $m.ints.add($ints as usize);
        let refs = $m.refs.wrapping_sub($refs as usize);
        if ints as usize >= refs as usize {
            return $m.overflow();
        }
        if $m.is_wanted() {
            return $m.attend();
        }
        $m.sp.write(Frame {
            pc: $back,
            ints: $m.ints,
            refs: $m.refs,
        });
        let sp = $m.sp.add(1);
        Machine {
            ints,
            refs,
            sp,
            ..$m
        }
        .go($entry)
    }};
}

/// Goes back to the caller.
#[inline(always)]
pub(crate) unsafe fn pop_frame<const PUBLISH: bool>(m: Machine) -> Pc {
    // SAFETY: every function is entered behind a frame, a run's first one included; with
    // `PUBLISH`, a word with nodes stands before the word that is returned to.
    unsafe {
        let sp = m.sp.sub(1);
        let Frame { pc, ints, refs } = *sp;
        if PUBLISH {
            m.publish((*pc.sub(1)).nodes.caller);
        }
        Machine {
            ints,
            refs,
            sp,
            ..m
        }
        .go(pc)
    }
}

/// The callee of a closure call: the closure of `r[operand]` and its function, when its
/// signature is `signature`.
#[inline(always)]
unsafe fn callee(
    m: Machine,
    operand: u8,
    signature: i32,
) -> Option<(Value, *const LoadedFunction)> {
    // SAFETY: a closure's second word points to its function, which lives as long as the program.
    unsafe {
        let closure = m.object(operand, Kind::Closure)?;
        let function = *closure.add(1) as *const LoadedFunction;
        let fits = (*function).signature_word == signature as u32;
        fits.then(|| (Value::pointer(closure), function))
    }
}

handlers! {
    /// `call e` with the windows `a` and `b`
    fn call(m) {
        let w = m.word();
        push_frame!(m, w.a, w.b, m.pc.add(1), m.pc.byte_offset(w.e as isize))
    }
    /// The same; the nodes stand in the next word
    fn call_profiled<const PUBLISH: bool, const COUNT: bool>(m) {
        let w = m.word();
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        enter::<PUBLISH, COUNT>(m, (*m.pc.add(1)).nodes.callee);
        m.sp.write(Frame { pc: m.pc.add(2), ints: m.ints, refs: m.refs });
        let sp = m.sp.add(1);
        Machine { ints, refs, sp, ..m }.go(m.pc.byte_offset(w.e as isize))
    }
    /// `call` the closure `r[c]` of signature `e` with the windows `a` and `b`; it arrives in `d`
    fn call_closure(m) {
        let w = m.word();
        let Some((closure, function)) = callee(m, w.c, w.e) else {
            return m.fault(Fault::WrongKind);
        };
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        m.sp.write(Frame { pc: m.pc.add(1), ints: m.ints, refs: m.refs });
        let callee = Machine { ints, refs, sp: m.sp.add(1), ..m };
        callee.set_r(w.d, closure);
        callee.go((*function).entry)
    }
    /// The same; the caller's node stands in the next word
    fn call_closure_profiled<const PUBLISH: bool, const COUNT: bool>(m) {
        let w = m.word();
        let Some((closure, function)) = callee(m, w.c, w.e) else {
            return m.fault(Fault::WrongKind);
        };
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        enter_closure::<PUBLISH, COUNT>(m, function);
        m.sp.write(Frame { pc: m.pc.add(2), ints: m.ints, refs: m.refs });
        let callee = Machine { ints, refs, sp: m.sp.add(1), ..m };
        callee.set_r(w.d, closure);
        callee.go((*function).entry)
    }
    /// `call host function e` with the windows `a` and `b`
    fn call_host(m) { slow::call_host(m.pc, m.ints, m.refs, m.ctx, m.sp) }
    /// `become a call of e`
    fn tail_call(m) {
        if m.is_wanted() { return m.attend(); }
        m.jump(m.word().e)
    }
    /// The same; the callee's node stands in the next word
    fn tail_call_profiled<const PUBLISH: bool, const COUNT: bool>(m) {
        if m.is_wanted() { return m.attend(); }
        enter::<PUBLISH, COUNT>(m, (*m.pc.add(1)).nodes.callee);
        m.jump(m.word().e)
    }
    /// `become a call of` the closure `r[c]` of signature `e`; it arrives in `d`
    fn tail_call_closure<const PUBLISH: bool, const COUNT: bool>(m) {
        let w = m.word();
        let Some((closure, function)) = callee(m, w.c, w.e) else {
            return m.fault(Fault::WrongKind);
        };
        if m.is_wanted() { return m.attend(); }
        enter_closure::<PUBLISH, COUNT>(m, function);
        m.set_r(w.d, closure);
        m.go((*function).entry)
    }
    /// `return`
    fn ret<const PUBLISH: bool>(m) { pop_frame::<PUBLISH>(m) }
    /// `raise r[a]`
    fn raise(m) {
        (*m.ctx).exception = m.r(m.word().a);
        slow::raise(m.pc, m.ints, m.refs, m.ctx, m.sp)
    }
    /// `fault with failed match`
    fn match_fail(m) { m.fault(Fault::MatchFailed) }
    /// Enters the node in the next word, within a function
    fn enter_node<const PUBLISH: bool, const COUNT: bool>(m) {
        enter::<PUBLISH, COUNT>(m, (*m.pc.add(1)).nodes.callee);
        m.skip(2)
    }
    /// Publishes the node in the next word again, within a function
    fn leave_node(m) {
        m.publish((*m.pc.add(1)).nodes.caller);
        m.skip(2)
    }
    /// The word that a run's first frame returns to
    fn halt(m) {
        (*m.ctx).exit = Exit::Returned;
        (*m.ctx).resume = crate::interp::machine::Resume {
            pc: m.pc,
            ints: m.ints,
            refs: m.refs,
            sp: m.sp,
        };
        m.stop()
    }
}
