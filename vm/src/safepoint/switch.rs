//! Contexts of stack-style profiles, and the switch from one unit of profile data to another.

use profiler::{Node, ProfileData, Translator};

use crate::code::{Frame, OpenContext};
use crate::machine::{Context, Machine, WantedContext};
use crate::units::{Unit, UnitError};

/// Makes the context that is wanted, and lets its word remember it.
///
/// # Safety
/// The machine is at a word that wants a context.
#[inline(never)]
pub(crate) unsafe fn make_wanted_context(m: Machine) {
    // SAFETY: the node is one of the profile data that contexts are made in, and the word is one
    // of the program's that hold a source and a context.
    unsafe {
        let profiling = &(*m.ctx).profiling;
        let WantedContext {
            parent,
            source,
            word,
        } = profiling.wanted_context;
        let context = (*profiling.contexts).enter(&*parent, source);
        (*(*m.ctx).program).remember_context(word, context);
    }
}

/// The context of a frame at the end of a way, from the context that it was called in.
///
/// # Safety
/// As for [`make_wanted_context`].
#[inline(never)]
pub(crate) unsafe fn context_of(
    ctx: *mut Context,
    caller: *const Node,
    open: *const OpenContext,
) -> *const Node {
    // SAFETY: as above; ways live as long as the program, whose machine alone uses them, and forget
    // contexts when it goes over to another unit's.
    unsafe { OpenContext::find(open, &*(*ctx).profiling.contexts, caller) }
}

/// Makes a unit current, and gives the one that was.
///
/// # Safety
/// `ctx` is the context of a machine at a safepoint with `sp` above its frames, or of one that
/// does not run, with `sp` null.
pub(crate) unsafe fn switch_unit(
    ctx: *mut Context,
    sp: *mut Frame,
    unit: Unit,
) -> Result<Unit, UnitError> {
    // SAFETY: the caller's promise. The program's code and functions are only read by the
    // machine's own thread, which is here; both units live on.
    unsafe {
        let before = (*ctx).profiling.units.current();
        let (Some(from), Some(to)) = (
            (*ctx).profiling.units.own(before),
            (*ctx).profiling.units.data(unit)?,
        ) else {
            return Ok(before);
        };
        let (from, to): (*const ProfileData, *const ProfileData) = (from, to);
        let cell = (*ctx).profiling.cell;
        (*ctx).profiling.units.settle_time(&*cell);
        match (*from).has_contexts() {
            false => {
                let nodes = (*from).nodes().as_ptr_range();
                let first = (*to).nodes().as_ptr();
                let moved = |node: *const Node| match nodes.contains(&node) {
                    true => first.wrapping_byte_add(node.addr() - nodes.start.addr()),
                    false => node,
                };
                (*(*ctx).program).move_nodes(moved);
                (*ctx).profiling.gc_node = moved((*ctx).profiling.gc_node);
                (*(*ctx).profiling.cell).publish(moved((*(*ctx).profiling.cell).current()));
                for node in &mut (*ctx).profiling.outer_nodes {
                    *node = moved(*node);
                }
            }
            true => {
                let mut translator = Translator::new(&*to);
                let current = (*(*ctx).profiling.cell).current();
                if !sp.is_null() {
                    let mut frame = (*ctx).stack.first_frame();
                    while frame < sp {
                        let saved = Context::saved_context(frame);
                        *saved = translator.translate(&**saved);
                        frame = frame.add(1);
                    }
                    (*(*ctx).profiling.cell).publish(translator.translate(&*current));
                    for node in &mut (*ctx).profiling.outer_nodes {
                        *node = translator.translate(&**node);
                    }
                }
                (*(*ctx).program).forget_contexts();
                (*ctx).profiling.contexts = to;
            }
        }
        (*ctx).profiling.units.set_current(unit);
        Ok(before)
    }
}
