//! Allocation budgets: a fault at exactly the N-th word of a dynamic extent.
//!
//! An extent begins where a function asks for a budget and ends where it says so, or when an
//! exception leaves the function. Returns are not watched: a budget that a function leaves open
//! when it returns holds for what is called at the same depth next, and is closed when a frame
//! further out would exceed it or has to do with budgets. Extents nest; the one that ends first
//! decides. The allocation that would take the first word beyond the budget raises
//! [`Fault::BudgetExceeded`] instead, once: a budget that has been exceeded is over.
//!
//! [`Fault::BudgetExceeded`]: crate::Fault::BudgetExceeded

use super::Memprof;
use crate::code::Frame;
use crate::heap::Heap;

/// The budgets that are open, outermost first.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    open: Vec<Budget>,
}

#[derive(Debug)]
struct Budget {
    /// The number of the first word beyond the budget.
    end: u64,
    /// The first word that neither this budget nor one outside of it allows.
    first_end: u64,
    /// The control stack's top in the function that asked for it; null for the embedder.
    sp: *mut Frame,
    is_exceeded: bool,
}

impl Budgets {
    /// Opens a budget that allows words up to number `end`.
    pub(super) fn open(&mut self, end: u64, sp: *mut Frame) {
        self.unwind(sp);
        self.open.push(Budget {
            end,
            first_end: end.min(self.next_end()),
            sp,
            is_exceeded: false,
        });
    }

    /// Closes the innermost budget; the first word beyond it, unless it was exceeded. `None` when
    /// none is open in the function whose stack top is `sp`.
    pub(super) fn close(&mut self, sp: *mut Frame) -> Option<Option<u64>> {
        self.unwind(sp);
        self.open.last().filter(|budget| budget.sp == sp)?;
        let budget = self.open.pop()?;
        Some((!budget.is_exceeded).then_some(budget.end))
    }

    /// The first word that no budget allows.
    pub(super) fn next_end(&self) -> u64 {
        self.open.last().map_or(u64::MAX, |budget| budget.first_end)
    }

    /// Notes that words up to number `to` are wanted in the function whose stack top is `sp`;
    /// whether a budget forbids that.
    #[cold]
    #[inline(never)]
    pub(super) fn exceed(&mut self, to: u64, sp: *mut Frame) -> bool {
        self.unwind(sp);
        if self.next_end() >= to {
            return false;
        }
        let mut first_end = u64::MAX;
        for budget in &mut self.open {
            budget.is_exceeded |= budget.end < to;
            if !budget.is_exceeded {
                first_end = first_end.min(budget.end);
            }
            budget.first_end = first_end;
        }
        true
    }

    /// Closes the budgets of functions that have been left, by an exception or by a return without
    /// an end of the budget: those above the top.
    pub(super) fn unwind(&mut self, sp: *mut Frame) {
        while self.open.pop_if(|budget| budget.sp > sp).is_some() {}
    }

    /// Closes the budgets of all functions, at the end of a run.
    pub(super) fn end_run(&mut self) {
        self.unwind(std::ptr::null_mut());
    }
}

impl Memprof {
    /// Opens an allocation budget that allows words up to number `end`, in the function whose
    /// control stack top is `sp`, or for the embedder.
    pub(crate) fn open_budget(&mut self, heap: &mut Heap, end: u64, sp: *mut Frame) {
        self.budgets.open(end, sp);
        self.watch(heap);
    }

    /// Closes the innermost budget, if it was opened by the same function: the words that are left
    /// of it, 0 when it was exceeded.
    pub(crate) fn close_budget(&mut self, heap: &mut Heap, sp: *mut Frame) -> Option<u64> {
        let end = self.budgets.close(sp)?;
        self.watch(heap);
        let clock = self.clock(heap);
        Some(end.map_or(0, |end| end.saturating_sub(clock)))
    }
}
