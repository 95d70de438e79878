//! Ops on raw words alone: arithmetic, bits, comparisons, doubles. They are functions of words;
//! where an op has a form with an immediate, both forms are one.

use vm::Fault;
use vm::isa::Opcode::{self, *};

fn double(word: i64) -> f64 {
    f64::from_bits(word as u64)
}

/// The result of an op on raw words, or its fault; `None` when the op is another one.
pub(super) fn evaluate(opcode: Opcode, a: i64, b: i64) -> Option<Result<i64, Fault>> {
    let total = arithmetic(opcode, a, b)
        .or_else(|| bits(opcode, a, b))
        .or_else(|| compare(opcode, a, b))
        .or_else(|| floating(opcode, double(a), double(b)));
    match total {
        Some(value) => Some(Ok(value)),
        None => partial(opcode, a, b),
    }
}

fn arithmetic(opcode: Opcode, a: i64, b: i64) -> Option<i64> {
    Some(match opcode {
        Mov | Int | Float => a,
        Add | AddImm => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul | MulImm => a.wrapping_mul(b),
        Neg => a.wrapping_neg(),
        RSubImm => b.wrapping_sub(a),
        MulHi => ((i128::from(a) * i128::from(b)) >> 64) as i64,
        UMulHi => ((u128::from(a as u64) * u128::from(b as u64)) >> 64) as i64,
        IToF => (a as f64).to_bits() as i64,
        _ => return None,
    })
}

/// Ops on bits. A shift's count is taken modulo 64, which the manual does not say.
fn bits(opcode: Opcode, a: i64, b: i64) -> Option<i64> {
    let unsigned = a as u64;
    Some(match opcode {
        And | AndImm => a & b,
        Or | OrImm => a | b,
        Xor | XorImm => a ^ b,
        Not => !a,
        Shl | ShlImm => a << (b & 63),
        Shr | ShrImm => (unsigned >> (b & 63)) as i64,
        Sar | SarImm => a >> (b & 63),
        SExt => a << (64 - b) >> (64 - b),
        ZExt => (unsigned << (64 - b) >> (64 - b)) as i64,
        Popcount => a.count_ones().into(),
        Clz => a.leading_zeros().into(),
        Ctz => a.trailing_zeros().into(),
        _ => return None,
    })
}

fn compare(opcode: Opcode, a: i64, b: i64) -> Option<i64> {
    let (f, g) = (double(a), double(b));
    let holds = match opcode {
        Eq | EqImm => a == b,
        Ne | NeImm => a != b,
        Lt | LtImm => a < b,
        Le | LeImm => a <= b,
        GtImm => a > b,
        GeImm => a >= b,
        Ult => (a as u64) < b as u64,
        Ule => a as u64 <= b as u64,
        FEq => f == g,
        FLt => f < g,
        FLe => f <= g,
        _ => return None,
    };
    Some(holds.into())
}

fn floating(opcode: Opcode, a: f64, b: f64) -> Option<i64> {
    let value = match opcode {
        FAdd | FAddImm => a + b,
        FSub => a - b,
        FMul | FMulImm => a * b,
        FDiv | FDivImm => a / b,
        FRSubImm => b - a,
        FRDivImm => b / a,
        FNeg => -a,
        FAbs => a.abs(),
        FSqrt => a.sqrt(),
        FFloor => a.floor(),
        FCeil => a.ceil(),
        FTrunc => a.trunc(),
        FRound => a.round_ties_even(),
        FSingle => f64::from(a as f32),
        _ => return None,
    };
    Some(value.to_bits() as i64)
}

/// Ops that fault for some operands.
fn partial(opcode: Opcode, a: i64, b: i64) -> Option<Result<i64, Fault>> {
    let checked = |result: Option<i64>| result.ok_or(Fault::Overflow);
    let (signed, unsigned) = ((a.into(), b.into()), (a as u64, b as u64));
    Some(match opcode {
        AddOvf | AddOvfImm => checked(a.checked_add(b)),
        SubOvf => checked(a.checked_sub(b)),
        MulOvf | MulOvfImm => checked(a.checked_mul(b)),
        RSubOvfImm => checked(b.checked_sub(a)),
        NegOvf => checked(a.checked_neg()),
        FToI => integer(double(a)),
        Quot | Rem | Div | Modulo | UDiv | URem | QuotImm | RemImm | DivImm | ModuloImm
        | UDivImm | URemImm
            if b == 0 =>
        {
            Err(Fault::DivideByZero)
        }
        Quot | QuotImm => fit(signed.0 / signed.1),
        Rem | RemImm => fit(signed.0 % signed.1),
        Div | DivImm => fit(floor_div(signed)),
        Modulo | ModuloImm => fit(signed.0 - signed.1 * floor_div(signed)),
        UDiv | UDivImm => Ok((unsigned.0 / unsigned.1) as i64),
        URem | URemImm => Ok((unsigned.0 % unsigned.1) as i64),
        _ => return None,
    })
}

/// The two results of wide arithmetic: a word, and what goes over to the next one.
pub(super) fn wide(opcode: Opcode, [a, b, over]: [i64; 3]) -> Option<[i64; 2]> {
    let [a, b, over] = [a, b, over & 1].map(|word| i128::from(word as u64));
    let total = match opcode {
        AddCarry => a + b + over,
        SubBorrow => a - b - over,
        _ => return None,
    };
    let above = match opcode {
        AddCarry => (total >> 64) as i64,
        _ => i64::from(total < 0),
    };
    Some([total as i64, above])
}

/// A result computed in 128 bits, where nothing overflows. That a quotient which 64 bits cannot
/// hold is an overflow, only the text of the fault says.
fn fit(wide: i128) -> Result<i64, Fault> {
    i64::try_from(wide).map_err(|_| Fault::Overflow)
}

fn floor_div((a, b): (i128, i128)) -> i128 {
    let quotient = a / b;
    let is_inexact = quotient * b != a;
    quotient - i128::from(is_inexact && (a < 0) != (b < 0))
}

/// A double rounded to zero, when 64 bits can hold that.
fn integer(value: f64) -> Result<i64, Fault> {
    let rounded = value.trunc();
    // 2^63 is a double, and the first one that does not fit.
    let limit = (1u128 << 63) as f64;
    match rounded >= -limit && rounded < limit {
        true => Ok(rounded as i64),
        false => Err(Fault::Overflow),
    }
}

/// Whether a jump on raw words is taken; `None` when the op is another one.
pub(super) fn jumps(opcode: Opcode, a: i64, b: i64) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = double(a).partial_cmp(&double(b));
    Some(match opcode {
        Jmp => true,
        Jeq | JeqImm => a == b,
        Jne | JneImm => a != b,
        Jlt | JltImm => a < b,
        Jle | JleImm => a <= b,
        Jgt | JgtImm => a > b,
        Jge | JgeImm => a >= b,
        Jult => (a as u64) < b as u64,
        Jule => a as u64 <= b as u64,
        JFEq => order == Some(Equal),
        JFNe => order != Some(Equal),
        JFLt => order == Some(Less),
        JFLe => matches!(order, Some(Less | Equal)),
        JFNLt => order != Some(Less),
        JFNLe => matches!(order, None | Some(Greater)),
        _ => return None,
    })
}
