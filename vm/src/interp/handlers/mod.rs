//! The handlers: one function for each form that the loader can lower an op to.
//!
//! A handler is its row of the opcode table again. The letters `a` to `e` are the operands of its
//! word; how they are filled stands next to the handler's name in `load/select.rs`. Generic
//! parameters choose twins: `BACK` jumps that may go backward look whether attention is wanted;
//! `MODE` says what calls and returns do for a profile (see [`mode`]), `COUNT` that they count,
//! `CHARGE` whom an allocation is charged to (see [`charge`]). All are chosen when a program is
//! loaded.

/// What calls and returns do for a profile.
pub(crate) mod mode {
    /// Nothing, or nothing but count.
    pub(crate) const OFF: u8 = 0;
    /// Publish the callee's node and then the caller's, which are known when the code is loaded.
    pub(crate) const CURRENT: u8 = 1;
    /// Publish the callee's context, a child of the one that is current, and then that one again,
    /// which is saved with the frame.
    pub(crate) const STACK: u8 = 2;
}

/// Whom an allocation is charged to.
pub(crate) mod charge {
    /// Nobody.
    pub(crate) const NONE: u8 = 0;
    /// The node in the word behind the op's own.
    pub(crate) const FIXED: u8 = 1;
    /// The node that is published.
    pub(crate) const PUBLISHED: u8 = 2;
}

/// Defines handlers: functions of the machine's registers that return where to go on.
macro_rules! handlers {
    ($(
        $(#[$meta:meta])*
        fn $name:ident $(<$(const $c:ident : $t:ty),+>)? ($m:ident) $body:block
    )+) => {
        $(
            $(#[$meta])*
            #[cfg(target_arch = "x86_64")]
            pub(crate) unsafe extern "sysv64" fn $name $(<$(const $c: $t),+>)? (
                pc: $crate::code::Pc,
                ints: *mut u64,
                refs: *mut u64,
                ctx: *mut $crate::code::OpaqueContext,
                sp: *mut $crate::code::Frame,
            ) -> $crate::code::Pc {
                let $m = $crate::machine::Machine {
                    pc,
                    ints,
                    refs,
                    ctx: ctx.cast(),
                    sp,
                };
                // SAFETY: the facts at `Machine`'s methods; a handler runs only at a word that
                // the loader has written for it.
                unsafe { $body }
            }

            $(#[$meta])*
            #[cfg(not(target_arch = "x86_64"))]
            pub(crate) unsafe extern "C" fn $name $(<$(const $c: $t),+>)? (
                pc: $crate::code::Pc,
                ints: *mut u64,
                refs: *mut u64,
                ctx: *mut $crate::code::OpaqueContext,
                sp: *mut $crate::code::Frame,
            ) -> $crate::code::Pc {
                let $m = $crate::machine::Machine {
                    pc,
                    ints,
                    refs,
                    ctx: ctx.cast(),
                    sp,
                };
                // SAFETY: as above.
                unsafe { $body }
            }
        )+
    };
}

/// Defines functions that do slow work for handlers. They are not inlined, and receive the
/// machine's registers one by one, because a handler with a local in memory could not end in a
/// jump. [`Machine::outlined`](crate::machine::Machine::outlined) calls them.
macro_rules! outlined {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($m:ident) -> $result:ty $body:block)+) => { $(
        $(#[$meta])*
        #[inline(never)]
        $vis unsafe fn $name(
            pc: $crate::code::Pc,
            ints: *mut u64,
            refs: *mut u64,
            ctx: *mut $crate::machine::Context,
            sp: *mut $crate::code::Frame,
        ) -> $result {
            let $m = $crate::machine::Machine { pc, ints, refs, ctx, sp };
            // SAFETY: a handler passes the machine that it has received, at its own word.
            unsafe { $body }
        }
    )+ };
}

pub(crate) mod arithmetic;
pub(crate) mod array;
pub(crate) mod branch;
mod bulk;
pub(crate) mod call;
pub(crate) mod float;
pub(crate) mod fused;
pub(crate) mod global;
pub(crate) mod record;
pub(crate) mod reference;
pub(crate) mod text;

pub(crate) use {handlers, outlined};
