//! Threaded code: what the interpreter runs.

use profiler::Node;

/// The context of the machine that runs the code. Code only hands it on, from one handler to the
/// next, so here its layout is nobody's business; `machine::Context` is what it is.
#[repr(C)]
pub(crate) struct OpaqueContext {
    _private: [u8; 0],
}

/// What one handler returns to whoever called it: where to go on. With `cfg(tail_dispatch)` only
/// the handler that ends a run returns, and it returns null.
pub(crate) type Pc = *const Word;

/// A handler: the machine's registers in, the next position out. Five arguments travel in
/// registers under this convention; a sixth would still.
#[cfg(target_arch = "x86_64")]
pub(crate) type Handler =
    unsafe extern "sysv64" fn(Pc, *mut u64, *mut u64, *mut OpaqueContext, *mut Frame) -> Pc;
/// As on x86-64, in the platform's own convention.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Handler =
    unsafe extern "C" fn(Pc, *mut u64, *mut u64, *mut OpaqueContext, *mut Frame) -> Pc;

/// One word of threaded code: a handler and its operands, or the data of the word before.
///
/// `i` registers stand as their index, `r` registers as 255 minus their index, because the `r`
/// stack grows down; jumps as a distance in bytes from this word.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Word {
    pub(crate) op: OpWord,
    pub(crate) data: DataWord,
    pub(crate) nodes: NodeWord,
}

/// A handler and its operands.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct OpWord {
    pub(crate) handler: Handler,
    pub(crate) a: u8,
    pub(crate) b: u8,
    pub(crate) c: u8,
    pub(crate) d: u8,
    pub(crate) e: i32,
}

/// Operands that do not fit into an [`OpWord`].
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct DataWord {
    pub(crate) x: u64,
    pub(crate) y: u64,
}

/// The profile's nodes of a call: what it enters, and what it returns to.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct NodeWord {
    pub(crate) callee: *const Node,
    pub(crate) caller: *const Node,
}

const _: () = assert!(
    size_of::<Word>() == 16,
    "jumps and pc arithmetic count words of 16 bytes"
);

/// A control frame: where to return to, with which register windows.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Frame {
    pub(crate) pc: Pc,
    pub(crate) ints: *mut u64,
    pub(crate) refs: *mut u64,
}
