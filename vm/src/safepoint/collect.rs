//! Collections with the machine's roots.

use profiler::SourceId;

use super::{check_heap, telling_trackers};
use crate::code::Pc;
use crate::heap::{OutOfMemory, Phase};
use crate::machine::{Broken, Context, Machine, Roots};

/// Why there is a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Memory is needed.
    Need,
    /// The program asks for one of the whole heap.
    Wish,
    /// A memory profile wants to know what is alive. Nobody is charged.
    Look,
}

/// Collects with the machine's roots, charging the collector.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
pub(crate) unsafe fn collect_with_roots(
    m: Machine,
    request_bytes: usize,
    cause: Cause,
) -> Result<(), OutOfMemory> {
    let ctx = m.ctx;
    // SAFETY: every word between the live registers and the stack's end is a reference, as is
    // every handle and global; nothing else refers into the heap while a machine is at a word.
    unsafe {
        // A host function may not have minded: what is left must not be looked at again.
        check_heap(ctx)?;
        let count = match (*(*ctx).program).op_at(m.pc) {
            Some((function, _)) => function.ref_registers as usize,
            None => 256,
        };
        let (live, length) = (*ctx).stack.live_refs(m.refs, count);
        (*ctx).stack.clear_stale(m.sp, m.refs, live);
        let Roots {
            exception,
            held,
            passing,
            table,
        } = &mut (*ctx).roots;
        let globals = &mut (*ctx).globals.refs;
        let [closures, values] = (*ctx).profiling.memprof.roots();
        let mut roots = [
            (live, length),
            (held.as_mut_ptr(), held.len()),
            (passing.as_mut_ptr(), passing.len()),
            table.live(),
            (globals.as_mut_ptr(), globals.len()),
            (&raw mut exception.0, 1),
            closures,
            values,
        ];
        let cell = (*ctx).profiling.cell;
        let interrupted = (*cell).current();
        let gc_node = match (*ctx).profiling.contexts.as_ref() {
            Some(contexts) => contexts.enter(&*interrupted, SourceId::GC),
            None => (*ctx).profiling.gc_node,
        };
        (*cell).publish(gc_node);
        let before = (*ctx).heap.moved_bytes();
        let n_major = (*ctx).heap.stats.major_collections;
        let force = (cause != Cause::Need).then_some(Phase::Major);
        let result = (*ctx).heap.collect(request_bytes, force, &mut roots);
        let moved = (*ctx).heap.moved_bytes() - before;
        (*cell).publish(interrupted);
        if cause != Cause::Look {
            (*gc_node).charge_bytes(moved);
            if let Some(census) = &mut (*ctx).heap.census {
                census.blame((*(*ctx).program).source_at(m.pc).index(), moved);
            }
        }
        (*ctx).control.broken = result.err().map(Broken::OutOfMemory);
        if result.is_ok() {
            let is_major = (*ctx).heap.stats.major_collections > n_major;
            telling_trackers(ctx, || {
                let memprof = &mut (*ctx).profiling.memprof;
                memprof.collection_is_over(&mut (*ctx).heap, is_major);
            });
        }
        result
    }
}

/// Finds out what is alive, if a memory profile wants to know.
///
/// # Safety
/// As for [`collect_with_roots`].
pub(super) unsafe fn census(m: Machine) {
    let ctx = m.ctx;
    // SAFETY: the caller's promise.
    unsafe {
        let is_wanted = (*ctx).heap.census.is_some() || (*ctx).profiling.figures.is_some();
        if !is_wanted || (*ctx).control.broken.is_some() {
            return;
        }
        let stats = (*ctx).heap.stats.clone();
        (*ctx).set_looking(true);
        // That the heap has failed is noted in the context.
        let _ = collect_with_roots(m, 0, Cause::Look);
        (*ctx).set_looking(false);
        let allocated_bytes = (*ctx).heap.stats.allocated_bytes;
        (*ctx).heap.stats = stats;
        (*ctx).heap.stats.allocated_bytes = allocated_bytes;
    }
}

/// Finds out what is alive at the end of a run, which has returned to `entry`'s caller if that is
/// given.
///
/// # Safety
/// The run has ended, and its stacks are as it left them.
pub(crate) unsafe fn census_at_end(ctx: *mut Context, entry: Option<Pc>) {
    // SAFETY: the caller's promise: `resume` holds the registers at the end.
    unsafe {
        let mut end = (*ctx).control.resume;
        if let Some(entry) = entry {
            // The entry function's registers are as it left them.
            end.pc = entry;
        }
        census(Machine::new(end, ctx));
    }
}
