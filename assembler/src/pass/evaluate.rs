//! What ops come to when all that they read is known.
//!
//! Ops with an immediate are those without it, by name: `rem_imm` is `rem`, and `rsub_imm` is
//! `sub` the other way round. Jumps are the comparisons that their names say. So a new row of
//! either sort needs nothing here. The tests run each op that is evaluated on the machine.

use smallvec::SmallVec;
use vm::isa::{ConstId, Effects, Float64, IOut, Int32, Int64, Op, Opcode, Operand, ROut};

use crate::ir::{Class, Reg};

/// What a register is known to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known {
    /// 64 bits that an op on integers made.
    Word(i64),
    /// The bits of a double that is a number.
    Double(i64),
    /// The null reference.
    Null,
    /// An immediate.
    Immediate(i32),
    /// A constant string, by its index in the constant pool.
    Text(u32),
}

impl Known {
    /// The raw bits of what is in an `i` register.
    pub(super) fn bits(self) -> Option<i64> {
        match self {
            Self::Word(bits) | Self::Double(bits) => Some(bits),
            Self::Null | Self::Immediate(_) | Self::Text(_) => None,
        }
    }

    /// What an op puts into its register whatever happens.
    pub(super) fn of(op: &Op) -> Option<(Reg, Self)> {
        Some(match op {
            Op::Int { dst, value } => (Reg::int(dst.0), Self::Word(value.0)),
            Op::Float { dst, value } => (Reg::int(dst.0), double(value.0)),
            Op::Null { dst } => (Reg::reference(dst.0), Self::Null),
            Op::Imm { dst, value } => (Reg::reference(dst.0), Self::Immediate(value.0)),
            Op::Text { dst, constant } => (Reg::reference(dst.0), Self::Text(constant.0)),
            _ => return None,
        })
    }

    /// The op that puts this into a register.
    pub(super) fn load(self, dst: Reg) -> Op {
        let (int, reference) = (IOut(dst.index), ROut(dst.index));
        match self {
            Self::Word(bits) => Op::Int {
                dst: int,
                value: Int64(bits),
            },
            Self::Double(bits) => Op::Float {
                dst: int,
                value: Float64(f64::from_bits(bits as u64)),
            },
            Self::Null => Op::Null { dst: reference },
            Self::Immediate(value) => Op::Imm {
                dst: reference,
                value: Int32(value),
            },
            Self::Text(id) => Op::Text {
                dst: reference,
                constant: ConstId(id),
            },
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// A double by its bits. One that is no number is a word: a text has one word for all of them.
fn double(value: f64) -> Known {
    match value.is_nan() {
        true => Known::Word(value.to_bits() as i64),
        false => Known::Double(value.to_bits() as i64),
    }
}

/// The register that an op writes and what it writes there; `None` when that is not known, or when
/// the op would fault.
pub(super) fn evaluate(op: &Op, known: impl Fn(Reg) -> Option<Known>) -> Option<(Reg, Known)> {
    let info = op.opcode().info();
    if info.n_written() != 1 || info.has_targets() {
        return None;
    }
    let dst = match op.operands().first()? {
        Operand::IOut(index) => Reg::int(*index),
        Operand::ROut(index) => Reg::reference(*index),
        _ => return None,
    };
    let (opcode, is_reversed) = without_immediate(op.opcode());
    let mut inputs = inputs(op, known)?;
    if is_reversed {
        inputs.reverse();
    }
    let value = compute(opcode, &inputs)?;
    let is_raw = value.bits().is_some();
    (is_raw == (dst.class == Class::Int)).then_some((dst, value))
}

/// Whether a conditional jump is taken; `None` when that is not known, or when the op does more
/// than jump.
pub(super) fn decide(op: &Op, known: impl Fn(Reg) -> Option<Known>) -> Option<bool> {
    let info = op.opcode().info();
    let is_single = op
        .operands()
        .iter()
        .any(|one| matches!(one, Operand::Target(_)));
    if info.effects != Effects::NONE || !info.falls_through || !is_single {
        return None;
    }
    let (opcode, is_swapped, is_negated) = comparison(info.mnemonic)?;
    let mut inputs = inputs(op, known)?;
    if is_swapped {
        inputs.reverse();
    }
    let holds = compute(opcode, &inputs)?.bits()? != 0;
    Some(holds != is_negated)
}

/// What an op reads, in order; `None` when some of it is not known.
fn inputs(op: &Op, known: impl Fn(Reg) -> Option<Known>) -> Option<SmallVec<[Known; 2]>> {
    let mut inputs = SmallVec::new();
    for operand in op.operands() {
        inputs.push(match operand {
            Operand::IOut(_) | Operand::ROut(_) | Operand::Target(_) => continue,
            Operand::IIn(index) => known(Reg::int(index))?,
            Operand::RIn(index) => known(Reg::reference(index))?,
            Operand::Int32(value) => Known::Word(value.into()),
            Operand::Int64(value) => Known::Word(value),
            Operand::Float64(value) => double(value),
            _ => return None,
        });
    }
    Some(inputs)
}

/// The op that an op with an immediate stands for, and whether its operands are in reverse.
fn without_immediate(opcode: Opcode) -> (Opcode, bool) {
    let find = || {
        let stem = opcode.info().mnemonic.strip_suffix("_imm")?;
        let reversed = || Some((Opcode::from_mnemonic(stem.strip_prefix('r')?)?, true));
        Opcode::from_mnemonic(stem)
            .map(|plain| (plain, false))
            .or_else(reversed)
    };
    find().unwrap_or((opcode, false))
}

/// The op whose result a jump looks at, whether its operands are swapped, and whether the jump is
/// taken when it gives 0.
fn comparison(mnemonic: &str) -> Option<(Opcode, bool, bool)> {
    let name = mnemonic.strip_prefix('j')?;
    let name = name.strip_suffix("_imm").unwrap_or(name);
    Some(match name {
        "gt" => (Opcode::Lt, true, false),
        "ge" => (Opcode::Le, true, false),
        "fne" => (Opcode::FEq, false, true),
        "fnlt" => (Opcode::FLt, false, true),
        "fnle" => (Opcode::FLe, false, true),
        "null" => (Opcode::IsNull, false, false),
        "nonnull" => (Opcode::IsNull, false, true),
        "imm" => (Opcode::IsImm, false, false),
        other => (Opcode::from_mnemonic(other)?, false, false),
    })
}

/// The result of an op without immediates.
fn compute(opcode: Opcode, inputs: &[Known]) -> Option<Known> {
    let (first, second) = (*inputs.first()?, inputs.get(1).copied());
    let (Some(a), Some(b)) = (first.bits(), second.unwrap_or(Known::Word(0)).bits()) else {
        return of_references(opcode, first, second);
    };
    let words = || arithmetic(opcode, a, b).or_else(|| bits(opcode, a, b));
    if let Some(word) = words().or_else(|| compare(opcode, a, b)) {
        return Some(Known::Word(word));
    }
    if opcode == Opcode::ToImm {
        return i32::try_from(a).ok().map(Known::Immediate);
    }
    let [x, y] = [a, b].map(|bits| f64::from_bits(bits as u64));
    let value = match opcode {
        Opcode::IToF => a as f64,
        _ => floating(opcode, x, y)?,
    };
    // Which bits a result has that is no number is the processor's choice.
    (!value.is_nan()).then_some(double(value))
}

fn of_references(opcode: Opcode, first: Known, second: Option<Known>) -> Option<Known> {
    let truth = |holds: bool| Some(Known::Word(holds.into()));
    match (opcode, second) {
        (Opcode::IsNull, None) => truth(first == Known::Null),
        (Opcode::IsImm, None) => truth(matches!(first, Known::Immediate(_))),
        (Opcode::OfImm, None) => match first {
            Known::Immediate(value) => Some(Known::Word(value.into())),
            _ => None,
        },
        // Whether a constant is one object wherever it is named, only the machine knows.
        (Opcode::Same, Some(second)) if first.is_text() && second.is_text() => None,
        (Opcode::Same, Some(second)) => truth(first == second),
        _ => None,
    }
}

fn arithmetic(opcode: Opcode, a: i64, b: i64) -> Option<i64> {
    let (unsigned_a, unsigned_b) = (a as u64, b as u64);
    match opcode {
        Opcode::Add => Some(a.wrapping_add(b)),
        Opcode::Sub => Some(a.wrapping_sub(b)),
        Opcode::Mul => Some(a.wrapping_mul(b)),
        Opcode::Neg => Some(a.wrapping_neg()),
        Opcode::AddOvf => a.checked_add(b),
        Opcode::SubOvf => a.checked_sub(b),
        Opcode::MulOvf => a.checked_mul(b),
        Opcode::NegOvf => a.checked_neg(),
        Opcode::Quot => a.checked_div(b),
        Opcode::Rem if b != 0 => Some(a.wrapping_rem(b)),
        Opcode::Div => {
            let quotient = a.checked_div(b)?;
            let is_above = a.wrapping_rem(b) != 0 && (a < 0) != (b < 0);
            Some(quotient - i64::from(is_above))
        }
        Opcode::Modulo if b != 0 => {
            let rest = a.wrapping_rem(b);
            let is_other = rest != 0 && (rest < 0) != (b < 0);
            Some(if is_other { rest + b } else { rest })
        }
        Opcode::UDiv => unsigned_a.checked_div(unsigned_b).map(|word| word as i64),
        Opcode::URem => unsigned_a.checked_rem(unsigned_b).map(|word| word as i64),
        Opcode::FToI => {
            // 2^63 is a double, and the first one that does not fit.
            const BOUND: f64 = 9_223_372_036_854_775_808.0;
            let value = f64::from_bits(unsigned_a);
            (-BOUND..BOUND).contains(&value).then_some(value as i64)
        }
        _ => None,
    }
}

/// Ops on bits. A shift's count is taken modulo 64.
fn bits(opcode: Opcode, a: i64, b: i64) -> Option<i64> {
    let unsigned = a as u64;
    Some(match opcode {
        Opcode::And => a & b,
        Opcode::Or => a | b,
        Opcode::Xor => a ^ b,
        Opcode::Not => !a,
        Opcode::Shl => a << (b & 63),
        Opcode::Shr => (unsigned >> (b & 63)) as i64,
        Opcode::Sar => a >> (b & 63),
        Opcode::SExt if (1..=64).contains(&b) => a << (64 - b) >> (64 - b),
        Opcode::ZExt if (1..=64).contains(&b) => (unsigned << (64 - b) >> (64 - b)) as i64,
        Opcode::Popcount => a.count_ones().into(),
        Opcode::Clz => a.leading_zeros().into(),
        Opcode::Ctz => a.trailing_zeros().into(),
        _ => return None,
    })
}

fn compare(opcode: Opcode, a: i64, b: i64) -> Option<i64> {
    let [x, y] = [a, b].map(|bits| f64::from_bits(bits as u64));
    let holds = match opcode {
        Opcode::Eq => a == b,
        Opcode::Ne => a != b,
        Opcode::Lt => a < b,
        Opcode::Le => a <= b,
        Opcode::Ult => (a as u64) < b as u64,
        Opcode::Ule => a as u64 <= b as u64,
        Opcode::FEq => x == y,
        Opcode::FLt => x < y,
        Opcode::FLe => x <= y,
        _ => return None,
    };
    Some(holds.into())
}

fn floating(opcode: Opcode, x: f64, y: f64) -> Option<f64> {
    Some(match opcode {
        Opcode::FAdd => x + y,
        Opcode::FSub => x - y,
        Opcode::FMul => x * y,
        Opcode::FDiv => x / y,
        Opcode::FNeg => -x,
        Opcode::FAbs => x.abs(),
        Opcode::FSqrt => x.sqrt(),
        Opcode::FFloor => x.floor(),
        Opcode::FCeil => x.ceil(),
        Opcode::FTrunc => x.trunc(),
        Opcode::FRound => x.round_ties_even(),
        Opcode::FSingle => f64::from(x as f32),
        _ => return None,
    })
}

/// The stems of jumps of which one is taken exactly when the other is not.
const OPPOSITES: [(&str, &str); 8] = [
    ("jeq", "jne"),
    ("jlt", "jge"),
    ("jgt", "jle"),
    ("jfeq", "jfne"),
    ("jflt", "jfnlt"),
    ("jfle", "jfnle"),
    ("jnull", "jnonnull"),
    ("jsame", "jnsame"),
];

/// A conditional jump to `target` that is taken exactly when this one is not; `None` when the table
/// has no such row.
pub(super) fn inverse(op: &Op, target: u32) -> Option<Op> {
    let info = op.opcode().info();
    let (stem, suffix) = match info.mnemonic.strip_suffix("_imm") {
        Some(stem) => (stem, "_imm"),
        None => (info.mnemonic, ""),
    };
    let mut operands = op.operands();
    for operand in &mut operands {
        if let Operand::Target(place) = operand {
            *place = target;
        }
    }
    // Unsigned comparisons have no row for "greater": the operands change places.
    let name = match (stem, suffix) {
        ("jult", "") => {
            operands.swap(0, 1);
            "jule"
        }
        ("jule", "") => {
            operands.swap(0, 1);
            "jult"
        }
        _ => OPPOSITES.iter().find_map(|&(one, other)| match stem {
            _ if stem == one => Some(other),
            _ if stem == other => Some(one),
            _ => None,
        })?,
    };
    let row = Opcode::from_mnemonic(&format!("{name}{suffix}"))?;
    (row.info().effects == info.effects)
        .then(|| Op::from_operands(row, &operands))
        .flatten()
}

#[cfg(test)]
mod tests;
