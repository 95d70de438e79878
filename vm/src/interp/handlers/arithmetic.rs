//! Integers: moves, wrapping and checked arithmetic, division, bits, comparisons.

use crate::heap::Value;
use crate::machine::Fault;

handlers! {
    /// `i[a] = i[b]`
    fn mov(m) { let w = m.word(); m.set_i(w.a, m.i(w.b)); m.next() }
    /// `r[a] = r[b]`
    fn rmov(m) { let w = m.word(); m.set_r(w.a, m.r(w.b)); m.next() }
    /// `i[a] = e`
    fn int(m) { let w = m.word(); m.set_i(w.a, w.e as i64 as u64); m.next() }
    /// `i[a] = x`, of the data word
    fn int_wide(m) { m.set_i(m.word().a, (*m.pc.add(1)).data.x); m.skip(2) }
    /// `r[a] = x`, of the data word: null, an immediate or a static string
    fn constant(m) { m.set_r(m.word().a, Value((*m.pc.add(1)).data.x)); m.skip(2) }
}

/// `i[a] = i[b] op i[c]`.
macro_rules! binary {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.b) as i64, m.i(w.c) as i64);
                m.set_i(w.a, $result as u64);
                m.next()
            }
        )+ }
    };
}

/// `i[a] = i[b] op e`.
macro_rules! binary_imm {
    ($($name:ident = |$lhs:ident, $rhs:ident| $result:expr;)+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.b) as i64, w.e as i64);
                m.set_i(w.a, $result as u64);
                m.next()
            }
        )+ }
    };
}

binary! {
    add = |x, y| x.wrapping_add(y);
    sub = |x, y| x.wrapping_sub(y);
    mul = |x, y| x.wrapping_mul(y);
    and = |x, y| x & y;
    or = |x, y| x | y;
    xor = |x, y| x ^ y;
    shl = |x, y| x.wrapping_shl(y as u32);
    shr = |x, y| (x as u64).wrapping_shr(y as u32);
    sar = |x, y| x.wrapping_shr(y as u32);
    eq = |x, y| x == y;
    ne = |x, y| x != y;
    lt = |x, y| x < y;
    le = |x, y| x <= y;
    ult = |x, y| (x as u64) < y as u64;
    ule = |x, y| x as u64 <= y as u64;
    mul_hi = |x, y| ((x as i128 * y as i128) >> 64) as i64;
    umul_hi = |x, y| ((x as u64 as u128 * y as u64 as u128) >> 64) as u64;
}

binary_imm! {
    add_imm = |x, y| x.wrapping_add(y);
    mul_imm = |x, y| x.wrapping_mul(y);
    and_imm = |x, y| x & y;
    or_imm = |x, y| x | y;
    xor_imm = |x, y| x ^ y;
    shl_imm = |x, y| x.wrapping_shl(y as u32);
    shr_imm = |x, y| (x as u64).wrapping_shr(y as u32);
    sar_imm = |x, y| x.wrapping_shr(y as u32);
    eq_imm = |x, y| x == y;
    ne_imm = |x, y| x != y;
    lt_imm = |x, y| x < y;
    le_imm = |x, y| x <= y;
    gt_imm = |x, y| x > y;
    ge_imm = |x, y| x >= y;
}

/// `i[a] = i[b] op i[c]`, and `i[a] = i[b] op e`, which fault when there is no result.
macro_rules! checked {
    ($(
        $name:ident $(, $name_imm:ident)? = |$lhs:ident, $rhs:ident| $result:expr, $fault:expr;
    )+) => {
        handlers! { $(
            fn $name(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.b) as i64, m.i(w.c) as i64);
                match $result {
                    Some(result) => { m.set_i(w.a, result as u64); m.next() }
                    None => m.fault($fault($rhs)),
                }
            }
            $( fn $name_imm(m) {
                let w = m.word();
                let ($lhs, $rhs) = (m.i(w.b) as i64, w.e as i64);
                match $result {
                    Some(result) => { m.set_i(w.a, result as u64); m.next() }
                    None => m.fault($fault($rhs)),
                }
            } )?
        )+ }
    };
}

/// The fault of an addition, subtraction or multiplication without a result.
fn overflow(_rhs: i64) -> Fault {
    Fault::Overflow
}

/// The fault of a division without a result.
fn division(rhs: i64) -> Fault {
    if rhs == 0 {
        Fault::DivideByZero
    } else {
        Fault::Overflow
    }
}

checked! {
    add_ovf, add_ovf_imm = |x, y| x.checked_add(y), overflow;
    sub_ovf = |x, y| x.checked_sub(y), overflow;
    mul_ovf, mul_ovf_imm = |x, y| x.checked_mul(y), overflow;
    quot, quot_imm = |x, y| x.checked_div(y), division;
    rem, rem_imm = |x, y| if y == 0 { None } else { Some(x.wrapping_rem(y)) }, division;
    div, div_imm = |x, y| floor_div(x, y), division;
    modulo, modulo_imm = |x, y| floor_mod(x, y), division;
    udiv, udiv_imm = |x, y| (x as u64).checked_div(y as u64), division;
    urem, urem_imm = |x, y| (x as u64).checked_rem(y as u64), division;
}

/// Division rounded to minus infinity; `None` when there is no result.
#[inline(always)]
pub(crate) fn floor_div(x: i64, y: i64) -> Option<i64> {
    let quotient = x.checked_div(y)?;
    let is_rounded_up = x % y != 0 && (x < 0) != (y < 0);
    Some(quotient - is_rounded_up as i64)
}

/// What [`floor_div`] leaves, with the sign of `y`; `MIN mod -1` is 0.
#[inline(always)]
pub(crate) fn floor_mod(x: i64, y: i64) -> Option<i64> {
    if y == 0 {
        return None;
    }
    let remainder = x.wrapping_rem(y);
    let is_off = remainder != 0 && (remainder < 0) != (y < 0);
    Some(if is_off { remainder + y } else { remainder })
}

handlers! {
    /// `i[a] = e - i[b]`, faulting with overflow
    fn rsub_ovf_imm(m) {
        let w = m.word();
        match (w.e as i64).checked_sub(m.i(w.b) as i64) {
            Some(result) => { m.set_i(w.a, result as u64); m.next() }
            None => m.fault(Fault::Overflow),
        }
    }
    /// `i[a] = i[c] + i[d] + i[e], i[b] = the carry`
    fn add_carry(m) {
        let w = m.word();
        let (sum, over) = m.i(w.c).overflowing_add(m.i(w.d));
        let (sum, over_again) = sum.overflowing_add(m.i(w.e as u8) & 1);
        m.set_i(w.a, sum);
        m.set_i(w.b, (over | over_again) as u64);
        m.next()
    }
    /// `i[a] = i[c] - i[d] - i[e], i[b] = the borrow`
    fn sub_borrow(m) {
        let w = m.word();
        let (rest, under) = m.i(w.c).overflowing_sub(m.i(w.d));
        let (rest, under_again) = rest.overflowing_sub(m.i(w.e as u8) & 1);
        m.set_i(w.a, rest);
        m.set_i(w.b, (under | under_again) as u64);
        m.next()
    }
    /// `i[a] = -i[b]`, faulting with overflow
    fn neg_ovf(m) {
        let w = m.word();
        match (m.i(w.b) as i64).checked_neg() {
            Some(result) => { m.set_i(w.a, result as u64); m.next() }
            None => m.fault(Fault::Overflow),
        }
    }
    /// `i[a] = e - i[b]`
    fn rsub_imm(m) {
        let w = m.word();
        m.set_i(w.a, (w.e as i64 as u64).wrapping_sub(m.i(w.b)));
        m.next()
    }
    /// `i[a] = -i[b]`
    fn neg(m) { let w = m.word(); m.set_i(w.a, m.i(w.b).wrapping_neg()); m.next() }
    /// `i[a] = !i[b]`
    fn not(m) { let w = m.word(); m.set_i(w.a, !m.i(w.b)); m.next() }
    /// `i[a] = i[b] << e >> e`, filling with the sign
    fn sext(m) {
        let w = m.word();
        m.set_i(w.a, ((m.i(w.b) << w.e) as i64 >> w.e) as u64);
        m.next()
    }
    /// `i[a] = i[b] << e >> e`, filling with zeros
    fn zext(m) { let w = m.word(); m.set_i(w.a, m.i(w.b) << w.e >> w.e); m.next() }
    /// `i[a] = ones in i[b]`
    fn popcount(m) { let w = m.word(); m.set_i(w.a, m.i(w.b).count_ones() as u64); m.next() }
    /// `i[a] = leading zeros of i[b]`
    fn clz(m) { let w = m.word(); m.set_i(w.a, m.i(w.b).leading_zeros() as u64); m.next() }
    /// `i[a] = trailing zeros of i[b]`
    fn ctz(m) { let w = m.word(); m.set_i(w.a, m.i(w.b).trailing_zeros() as u64); m.next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_division_rounds_to_minus_infinity() {
        let cases = [
            (7, 2, 3, 1),
            (-7, 2, -4, 1),
            (7, -2, -4, -1),
            (-7, -2, 3, -1),
            (6, 3, 2, 0),
        ];
        for (x, y, quotient, remainder) in cases {
            assert_eq!(floor_div(x, y), Some(quotient), "{x} div {y}");
            assert_eq!(floor_mod(x, y), Some(remainder), "{x} mod {y}");
        }
        assert_eq!((floor_div(1, 0), floor_mod(1, 0)), (None, None));
        assert_eq!(
            (floor_div(i64::MIN, -1), floor_mod(i64::MIN, -1)),
            (None, Some(0))
        );
    }
}
