//! Random ops, derived from the roles: the raw material of round-trip tests and generators.

use smallvec::SmallVec;

use super::op::Op;
use super::opcode::Opcode;
use super::operand::{Operand, Role};
use super::signature::Signature;

/// An op of this opcode with random operands. They fit their encoding; nothing says that they
/// name anything, so the op as such need not verify. `next` gives 64 random bits.
pub fn random_op(opcode: Opcode, next: &mut impl FnMut() -> u64) -> Op {
    let operands: Vec<Operand> = opcode
        .info()
        .operands
        .iter()
        .map(|operand| random_operand(operand.role, next))
        .collect();
    Op::from_operands(opcode, &operands).expect("operands were made to the row's roles")
}

fn random_operand(role: Role, next: &mut impl FnMut() -> u64) -> Operand {
    match role {
        Role::IIn => Operand::IIn(next() as u8),
        Role::IOut => Operand::IOut(next() as u8),
        Role::RIn => Operand::RIn(next() as u8),
        Role::ROut => Operand::ROut(next() as u8),
        Role::IRegs => Operand::IRegs(random_list(next, |bits| bits as u8)),
        Role::RRegs => Operand::RRegs(random_list(next, |bits| bits as u8)),
        Role::IWindow => Operand::IWindow(next() as u8),
        Role::RWindow => Operand::RWindow(next() as u8),
        Role::Int64 => Operand::Int64(next() as i64),
        Role::Float64 => Operand::Float64(f64::from_bits(next())),
        Role::Int32 => Operand::Int32(next() as i32),
        Role::Field => Operand::Field(next() as u8),
        Role::Tag => Operand::Tag(next() as u16),
        Role::Target => Operand::Target(next() as u32),
        Role::Targets => Operand::Targets(random_list(next, |bits| bits as u32)),
        Role::FuncId => Operand::FuncId(next() as u32),
        Role::ConstId => Operand::ConstId(next() as u32),
        Role::IntGlobal => Operand::IntGlobal(next() as u32),
        Role::RefGlobal => Operand::RefGlobal(next() as u32),
        Role::HostId => Operand::HostId(next() as u32),
        Role::SourceRef => Operand::SourceRef(next() as u32),
        Role::Sig => {
            let [int_params, ref_params, int_results, ref_results, ..] = next().to_le_bytes();
            Operand::Sig(Signature {
                int_params,
                ref_params,
                int_results,
                ref_results,
            })
        }
    }
}

fn random_list<T, const N: usize>(
    next: &mut impl FnMut() -> u64,
    item: impl Fn(u64) -> T,
) -> SmallVec<[T; N]>
where
    [T; N]: smallvec::Array<Item = T>,
{
    let length = next() % 9;
    (0..length).map(|_| item(next())).collect()
}
