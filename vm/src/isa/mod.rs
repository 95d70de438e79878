//! The instruction set: one table and what is derived from it.
//!
//! | module | derivation |
//! |---|---|
//! | `table` | the rows themselves |
//! | `operand` | operand roles: encoding and access |
//! | `effects` | what ops may do besides writing their outputs |
//! | `forms` | rows with an immediate in the place of a register |
//! | `opcode` | the opcode enum, its codes, mnemonics and documentation |
//! | `op` | ops as values, from and to their operands, encoder |
//! | `decode` | the checked decoder |
//! | `generate` | random ops, for tests |
//! | `manual` | `docs/bytecode.md` |
//!
//! This module imports nothing else of the crate: bytecode can be read, written and documented
//! without a machine to run it.

mod decode;
mod effects;
mod forms;
mod generate;
mod manual;
mod op;
mod opcode;
mod operand;
mod signature;
mod table;

pub use decode::{DecodeError, Reader, decode_one};
pub use effects::Effects;
pub use forms::ImmediateForm;
pub use generate::random_op;
pub use manual::manual;
pub use op::Op;
pub use opcode::{OPS, OpInfo, Opcode, OperandInfo};
pub use operand::{
    Access, ConstId, Encoded, Field, Float64, FuncId, HostId, IIn, IOut, IRegs, IWindow, Int32,
    Int64, IntGlobal, MAX_LIST_REGISTERS, MAX_TARGETS, Operand, RIn, ROut, RRegs, RWindow,
    RefGlobal, RegisterList, Role, Sig, SourceRef, Tag, Target, TargetList, Targets,
};
pub use signature::Signature;
