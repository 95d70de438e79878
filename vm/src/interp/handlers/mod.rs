//! The handlers: one function for each form that the loader can lower an op to.
//!
//! A handler is its row of the opcode table again. The letters `a` to `e` are the operands of its
//! word; how they are filled stands next to the handler's name in `load/select.rs`. Generic
//! parameters choose twins: `BACK` jumps that may go backward look whether attention is wanted,
//! `PUBLISH` and `COUNT` do a time or allocation profile's and a count profile's work at calls,
//! `CHARGE` an allocation profile's. All are chosen when a program is loaded.

/// Defines handlers: functions of the machine's registers that return where to go on.
macro_rules! handlers {
    ($( $(#[$meta:meta])* fn $name:ident $(<$(const $c:ident : $t:ty),+>)? ($m:ident) $body:block )+) => {
        $(
            $(#[$meta])*
            #[cfg(target_arch = "x86_64")]
            pub(crate) unsafe extern "sysv64" fn $name $(<$(const $c: $t),+>)? (
                pc: $crate::interp::word::Pc,
                ints: *mut u64,
                refs: *mut u64,
                ctx: *mut $crate::interp::machine::Context,
                sp: *mut $crate::interp::word::Frame,
            ) -> $crate::interp::word::Pc {
                let $m = $crate::interp::machine::Machine { pc, ints, refs, ctx, sp };
                // SAFETY: the facts at `Machine`'s methods; a handler runs only at a word that
                // the loader has written for it.
                unsafe { $body }
            }

            $(#[$meta])*
            #[cfg(not(target_arch = "x86_64"))]
            pub(crate) unsafe extern "C" fn $name $(<$(const $c: $t),+>)? (
                pc: $crate::interp::word::Pc,
                ints: *mut u64,
                refs: *mut u64,
                ctx: *mut $crate::interp::machine::Context,
                sp: *mut $crate::interp::word::Frame,
            ) -> $crate::interp::word::Pc {
                let $m = $crate::interp::machine::Machine { pc, ints, refs, ctx, sp };
                // SAFETY: as above.
                unsafe { $body }
            }
        )+
    };
}

pub(crate) mod arithmetic;
pub(crate) mod array;
pub(crate) mod branch;
pub(crate) mod call;
pub(crate) mod float;
pub(crate) mod fused;
pub(crate) mod record;
pub(crate) mod text;

pub(crate) use handlers;
