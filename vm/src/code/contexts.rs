//! The calling contexts of a function's local control stacks, in stack style.
//!
//! Such a context follows from the one that the frame was called in: it is reached from there by
//! entering what is open. As functions may open sources as deep as they are long, neither the
//! loader nor a Leave may walk all of a stack each time. So stacks are a tree here too, as they
//! are for the verifier, and each remembers the last context that it was found to have. A Leave
//! finds it remembered below, unless another call of the function, from another context, has
//! been as deep since; and that call has opened as many sources as are now found again.

use std::cell::Cell;
use std::ptr;

use profiler::{Node, ProfileData, SourceId};

use crate::verify::ControlStackId;

/// The way to the context of a local control stack, and the last context that it led to.
pub(crate) struct OpenContext {
    /// The way to what is open below; null when that is the context of the call.
    below: *const OpenContext,
    /// The source to enter from there.
    source: SourceId,
    /// The context of the call that `context` is for; null when nothing is remembered.
    caller: Cell<*const Node>,
    context: Cell<*const Node>,
}

impl OpenContext {
    /// The context that the way leads to from that of a call. A null `open` is the way to that
    /// context itself.
    ///
    /// # Safety
    /// `caller` is a context of `contexts`, and so is whatever `open` remembers; `open` is null
    /// or one of a [`FrameContexts`] that is still there, and no other thread uses it.
    #[inline]
    pub(crate) unsafe fn find(
        open: *const Self,
        contexts: &ProfileData,
        caller: *const Node,
    ) -> *const Node {
        // SAFETY: the caller's promise.
        unsafe {
            match open.as_ref() {
                None => caller,
                Some(open) if open.caller.get() == caller => open.context.get(),
                Some(open) => {
                    let below = match open.below.as_ref() {
                        None => caller,
                        Some(below) if below.caller.get() == caller => below.context.get(),
                        Some(_) => return open.enter_all(contexts, caller),
                    };
                    open.enter(contexts, caller, below)
                }
            }
        }
    }

    /// Enters what is open here, from the context of what is open below, and remembers that.
    ///
    /// # Safety
    /// As for [`OpenContext::find`].
    #[inline]
    unsafe fn enter(
        &self,
        contexts: &ProfileData,
        caller: *const Node,
        below: *const Node,
    ) -> *const Node {
        // SAFETY: the caller's promise.
        let context = unsafe {
            // Recursion finds it in the node, without a look into the tree's table.
            match (*below).cached_child(self.source).as_ref() {
                Some(known) => known,
                None => contexts.enter(&*below, self.source),
            }
        };
        self.caller.set(caller);
        self.context.set(context);
        context
    }

    /// Enters what is open, from the last stack on that remembers its context.
    ///
    /// # Safety
    /// As for [`OpenContext::find`].
    #[cold]
    #[inline(never)]
    unsafe fn enter_all(&self, contexts: &ProfileData, caller: *const Node) -> *const Node {
        let mut forgotten = vec![self];
        // SAFETY: the caller's promise; ways below lie in the same box.
        unsafe {
            let mut context = loop {
                match forgotten[forgotten.len() - 1].below.as_ref() {
                    None => break caller,
                    Some(below) if below.caller.get() == caller => break below.context.get(),
                    Some(below) => forgotten.push(below),
                }
            };
            while let Some(open) = forgotten.pop() {
                context = open.enter(contexts, caller, context);
            }
            context
        }
    }
}

/// The ways to the contexts of all local control stacks of a function.
#[derive(Default)]
pub(crate) struct FrameContexts {
    /// Each behind the one below it. They stay where they are.
    open: Vec<OpenContext>,
    /// By the index of the stack. Stacks share a way if a profile leaves out what they open.
    ways: Vec<*const OpenContext>,
}

impl FrameContexts {
    /// Room for the ways of so many stacks.
    pub(crate) fn with_capacity(n_stacks: usize) -> Self {
        Self {
            open: Vec::with_capacity(n_stacks),
            ways: Vec::with_capacity(n_stacks),
        }
    }

    /// Says which way leads to the context of the next stack.
    pub(crate) fn add(&mut self, way: *const OpenContext) {
        self.ways.push(way);
    }

    /// Adds a way. There must be room for it.
    pub(crate) fn push(
        &mut self,
        below: *const OpenContext,
        source: SourceId,
    ) -> *const OpenContext {
        debug_assert!(self.open.len() < self.open.capacity(), "ways must not move");
        self.open.push(OpenContext {
            below,
            source,
            caller: Cell::new(ptr::null()),
            context: Cell::new(ptr::null()),
        });
        self.open.as_ptr().wrapping_add(self.open.len() - 1)
    }

    /// The way to the context of a stack.
    pub(crate) fn way(&self, stack: ControlStackId) -> *const OpenContext {
        self.ways[stack.index()]
    }

    /// Forgets all contexts.
    pub(crate) fn forget(&mut self) {
        for open in &self.open {
            open.caller.set(ptr::null());
        }
    }
}
