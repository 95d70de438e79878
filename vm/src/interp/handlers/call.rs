//! Calls, returns, tail calls, exceptions, and the profile's ops between them.
//!
//! The windows of a call become the callee's first registers, so a call moves two pointers, saves
//! a control frame and jumps. With a profile, the word after a call holds two nodes: the callee's,
//! published and counted at the call, and the caller's, published again at the return.

use std::ptr;

use profiler::{Node, SourceId};

use super::mode;
use crate::code::{Frame, LoadedFunction, Pc};
use crate::heap::{ObjectKind, Value};
use crate::interp::slow;
use crate::machine::Fault;
use crate::machine::{Exit, Machine};
use crate::safepoint::context_of;

/// The node that a call, an Enter or a tail call goes to, by the word of nodes at `at`.
///
/// In stack style that is the child of `parent` for the word's source. Recursion finds it in the
/// parent, which remembers one child; a parent with several children, in the word, which remembers
/// the last context that was entered here. It is null when neither knows.
#[inline(always)]
pub(crate) unsafe fn callee_node<const MODE: u8>(
    m: Machine,
    at: usize,
    parent: *const Node,
) -> *const Node {
    // SAFETY: the loader has put a word of nodes there, or in stack style one with a source.
    unsafe {
        let word = &*m.pc.add(at);
        if MODE != mode::STACK {
            return word.nodes.callee;
        }
        child_context(m, at, parent, word_source(m, at))
    }
}

/// The source in the data word at `at`, in stack style.
#[inline(always)]
pub(crate) unsafe fn word_source(m: Machine, at: usize) -> SourceId {
    // SAFETY: the loader has put a word with a source there.
    unsafe { SourceId((*m.pc.add(at)).data.x as u32) }
}

/// The child of `parent` for a source, in stack style, when either the parent or the data word at
/// `at` remembers it.
#[inline(always)]
unsafe fn child_context(
    m: Machine,
    at: usize,
    parent: *const Node,
    source: SourceId,
) -> *const Node {
    // SAFETY: nodes live as long as the unit that is current; a switch makes words forget.
    unsafe {
        let child = (*parent).cached_child(source);
        if !child.is_null() {
            return child;
        }
        let remembered = (*m.pc.add(at)).data.y as *const Node;
        let fits = !remembered.is_null()
            && (*remembered).parent() == parent
            && (*remembered).source == source;
        if fits { remembered } else { ptr::null() }
    }
}

/// The context that is current, in stack style. (A load that nobody needs would be done in the
/// other styles too, because it is atomic.)
#[inline(always)]
pub(crate) unsafe fn current_context<const MODE: u8>(m: Machine) -> *const Node {
    // SAFETY: a node is published as long as a machine runs.
    unsafe {
        if MODE == mode::STACK {
            m.current()
        } else {
            ptr::null()
        }
    }
}

/// The node whose children a tail call enters: the one that was current where the frame that ends
/// was called.
#[inline(always)]
unsafe fn tail_parent<const MODE: u8>(m: Machine) -> *const Node {
    // SAFETY: in stack style a context is saved with every frame.
    unsafe {
        if MODE == mode::STACK {
            *m.saved_context(m.sp.sub(1))
        } else {
            ptr::null()
        }
    }
}

/// Makes `node` current: counts an entry, and publishes it if the mode does.
#[inline(always)]
pub(crate) unsafe fn enter<const MODE: u8, const COUNT: bool>(m: Machine, node: *const Node) {
    // SAFETY: nodes live as long as the profile that they belong to.
    unsafe {
        if COUNT {
            (*node).count_call();
        }
        if MODE != mode::OFF {
            m.publish(node);
        }
    }
}

/// Enters the source that a closure's function opens, if it opens one.
#[inline(always)]
unsafe fn enter_closure<const MODE: u8, const COUNT: bool>(
    m: Machine,
    function: *const LoadedFunction,
) {
    // SAFETY: the loader has filled the function's nodes in.
    unsafe {
        if COUNT {
            (*(*function).count_node).count_call();
        }
        if MODE != mode::OFF {
            m.publish((*function).entry_node);
        }
    }
}

/// Saves the context that the frame about to be written returns to.
#[inline(always)]
pub(crate) unsafe fn save_context<const MODE: u8>(m: Machine, current: *const Node) {
    if MODE == mode::STACK {
        // SAFETY: in stack style the stacks are made with room for contexts.
        unsafe { *m.saved_context(m.sp) = current };
    }
}

/// Goes back to the caller, whose node is current again.
#[inline(always)]
pub(crate) unsafe fn pop_frame<const MODE: u8>(m: Machine) -> Pc {
    // SAFETY: every function is entered behind a frame, a run's first one included. In current
    // style a word with nodes stands before the word that is returned to, in stack style the
    // caller's context was saved with the frame.
    unsafe {
        let sp = m.sp.sub(1);
        let Frame { pc, ints, refs } = *sp;
        match MODE {
            mode::CURRENT => m.publish((*pc.sub(1)).nodes.caller),
            mode::STACK => m.publish(*m.saved_context(sp)),
            _ => {}
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
        let closure = m.object(operand, ObjectKind::Closure)?;
        let function = *closure.add(1) as *const LoadedFunction;
        let fits = (*function).signature_word == signature as u32;
        fits.then(|| (Value::pointer(closure), function))
    }
}

handlers! {
    /// `call e` with the windows `a` and `b`
    fn call(m) {
        let w = m.word();
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        m.sp.write(Frame { pc: m.pc.add(1), ints: m.ints, refs: m.refs });
        let sp = m.sp.add(1);
        Machine { ints, refs, sp, ..m }.go(m.pc.byte_offset(w.e as isize))
    }
    /// The same; the nodes stand in the next word
    fn call_profiled<const MODE: u8, const COUNT: bool>(m) {
        let w = m.word();
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        let current = current_context::<MODE>(m);
        let node = callee_node::<MODE>(m, 1, current);
        if MODE == mode::STACK && node.is_null() {
            return m.make_context(current, word_source(m, 1), 1);
        }
        save_context::<MODE>(m, current);
        enter::<MODE, COUNT>(m, node);
        m.sp.write(Frame { pc: m.pc.add(2), ints: m.ints, refs: m.refs });
        let sp = m.sp.add(1);
        Machine { ints, refs, sp, ..m }.go(m.pc.byte_offset(w.e as isize))
    }
    /// `call` the closure `r[c]` of signature `e` with the windows `a` and `b`; it arrives in `d`.
    /// With a profile the caller's node stands in the next word
    fn call_closure<const MODE: u8, const COUNT: bool>(m) {
        let w = m.word();
        let Some((closure, function)) = callee(m, w.c, w.e) else {
            return m.fault(Fault::WrongKind);
        };
        let ints = m.ints.add(w.a as usize);
        let refs = m.refs.wrapping_sub(w.b as usize);
        if ints as usize >= refs as usize { return m.overflow(); }
        if m.is_wanted() { return m.attend(); }
        if MODE == mode::STACK {
            let current = m.current();
            let source = (*function).entry_source;
            let node = child_context(m, 1, current, source);
            if node.is_null() { return m.make_context(current, source, 1); }
            save_context::<MODE>(m, current);
            m.publish(node);
            if COUNT && (*function).is_counted { (*node).count_call(); }
        } else {
            enter_closure::<MODE, COUNT>(m, function);
        }
        let words = if MODE == mode::OFF && !COUNT { 1 } else { 2 };
        m.sp.write(Frame { pc: m.pc.add(words), ints: m.ints, refs: m.refs });
        let callee = Machine { ints, refs, sp: m.sp.add(1), ..m };
        callee.set_r(w.d, closure);
        callee.go((*function).entry)
    }
    /// `call host function e` with the windows `a` and `b`
    fn call_host(m) { m.enter(slow::call_host) }
    /// `become a call of e`
    fn tail_call(m) {
        if m.is_wanted() { return m.attend(); }
        m.jump(m.word().e)
    }
    /// The same; the callee's node stands in the next word
    fn tail_call_profiled<const MODE: u8, const COUNT: bool>(m) {
        if m.is_wanted() { return m.attend(); }
        let parent = tail_parent::<MODE>(m);
        let node = callee_node::<MODE>(m, 1, parent);
        if MODE == mode::STACK && node.is_null() {
            return m.make_context(parent, word_source(m, 1), 1);
        }
        enter::<MODE, COUNT>(m, node);
        m.jump(m.word().e)
    }
    /// `become a call of` the closure `r[c]` of signature `e`; it arrives in `d`
    fn tail_call_closure<const MODE: u8, const COUNT: bool>(m) {
        let w = m.word();
        let Some((closure, function)) = callee(m, w.c, w.e) else {
            return m.fault(Fault::WrongKind);
        };
        if m.is_wanted() { return m.attend(); }
        if MODE == mode::STACK {
            let parent = tail_parent::<MODE>(m);
            let source = (*function).entry_source;
            let node = child_context(m, 1, parent, source);
            if node.is_null() { return m.make_context(parent, source, 1); }
            m.publish(node);
            if COUNT && (*function).is_counted { (*node).count_call(); }
        } else {
            enter_closure::<MODE, COUNT>(m, function);
        }
        m.set_r(w.d, closure);
        m.go((*function).entry)
    }
    /// `return`
    fn ret<const MODE: u8>(m) { pop_frame::<MODE>(m) }
    /// `raise r[a]`
    fn raise(m) {
        (*m.ctx).roots.exception = m.r(m.word().a);
        m.enter(slow::raise)
    }
    /// `fault with failed match`
    fn match_fail(m) { m.fault(Fault::MatchFailed) }
    /// Enters the node in the next word, within a function
    fn enter_node<const MODE: u8, const COUNT: bool>(m) {
        let current = current_context::<MODE>(m);
        let node = callee_node::<MODE>(m, 1, current);
        if MODE == mode::STACK && node.is_null() {
            return m.make_context(current, word_source(m, 1), 1);
        }
        enter::<MODE, COUNT>(m, node);
        m.skip(2)
    }
    /// Publishes the node in the next word again, within a function
    fn leave_node(m) {
        m.publish((*m.pc.add(1)).nodes.caller);
        m.skip(2)
    }
    /// The same in stack style, where the word points to the way to the context
    fn leave_context(m) {
        let open = ptr::with_exposed_provenance((*m.pc.add(1)).data.x as usize);
        m.publish(context_of(m.ctx, *m.saved_context(m.sp.sub(1)), open));
        m.skip(2)
    }
    /// The word that a run's first frame returns to
    fn halt(m) {
        (*m.ctx).control.exit = Exit::Returned;
        m.stop()
    }
}
