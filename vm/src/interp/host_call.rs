//! Calls of host functions, and what their errors do to a run.

use super::fault::Fault;
use super::machine::{Context, Machine};
use super::slow::{Way, trap};
use super::word::{Frame, Pc};
use super::{Exit, Trap};
use crate::host::{HostCall, HostError};

/// Calls the host function of the word `pc`.
///
/// # Safety
/// The registers are those of the machine at a host call of the running program.
#[inline(never)]
pub(super) unsafe fn call_host_function(
    pc: Pc,
    ints: *mut u64,
    refs: *mut u64,
    ctx: *mut Context,
    sp: *mut Frame,
) -> Way {
    // SAFETY: the word is a host call's, whose function was bound when the program was loaded.
    unsafe {
        let machine = Machine {
            pc,
            ints,
            refs,
            ctx,
            sp,
        };
        let word = machine.word();
        let program = &*(*ctx).program;
        let signature = program.module.hosts[word.e as usize].signature;
        let mut call = HostCall::new(machine, word.a, word.b, signature);
        let function = (*ctx).hosts.function(word.e as usize);
        match (*function)(&mut call) {
            // A host function may not have minded that the heap has failed.
            Ok(()) => match (*ctx).broken {
                None => Way::Again,
                Some(error) => {
                    trap(pc, ctx, sp, Trap::OutOfMemory(error));
                    Way::Stop
                }
            },
            Err(HostError::Failed) => {
                (*ctx).fault = Fault::HostFailed;
                Way::Fault
            }
            Err(HostError::BudgetExceeded) => {
                (*ctx).fault = Fault::BudgetExceeded;
                Way::Fault
            }
            Err(HostError::Exit(code)) => {
                (*ctx).exit = Exit::Code(code);
                Way::Stop
            }
            Err(HostError::Io(message)) => {
                trap(pc, ctx, sp, Trap::Host(message));
                Way::Stop
            }
            Err(HostError::OutOfMemory(error)) => {
                trap(pc, ctx, sp, Trap::OutOfMemory(error));
                Way::Stop
            }
            Err(HostError::Interrupted(signal)) => {
                trap(pc, ctx, sp, Trap::Interrupted(signal));
                Way::Stop
            }
        }
    }
}
