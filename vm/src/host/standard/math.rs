//! Functions of doubles.

use super::{HostCall, HostError};

/// The function of the first argument is the first result.
pub(super) fn unary(call: &mut HostCall, function: fn(f64) -> f64) -> Result<(), HostError> {
    call.set_float(0, function(call.float(0)));
    Ok(())
}

/// The function of two arguments is the first result.
pub(super) fn binary(call: &mut HostCall, function: fn(f64, f64) -> f64) -> Result<(), HostError> {
    call.set_float(0, function(call.float(0), call.float(1)));
    Ok(())
}

pub(super) fn frexp(call: &mut HostCall) -> Result<(), HostError> {
    let (part, exponent) = parts_of(call.float(0));
    call.set_float(0, part);
    call.set_int(1, exponent);
    Ok(())
}

pub(super) fn ldexp(call: &mut HostCall) -> Result<(), HostError> {
    call.set_float(0, scaled(call.float(0), call.int(1)));
    Ok(())
}

/// The double next to `x` on the way to `y`.
pub(super) fn next_after(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        Some(std::cmp::Ordering::Less) => x.next_up(),
        Some(std::cmp::Ordering::Greater) => x.next_down(),
        Some(std::cmp::Ordering::Equal) => x,
        None => f64::NAN,
    }
}

/// A part of magnitude in `[1/2, 1)` and an exponent of 2; what has no such parts stays as it is,
/// with the exponent 0.
fn parts_of(x: f64) -> (f64, i64) {
    const EXPONENT: u64 = 0x7ff << 52;
    /// The exponent that stands in the bits of 1/2.
    const HALF: u64 = 0x3fe << 52;
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    // A subnormal number is made normal first.
    let (bits, shift) = match x.is_subnormal() {
        true => ((x * 2_f64.powi(64)).to_bits(), 64),
        false => (x.to_bits(), 0),
    };
    let exponent = ((bits & EXPONENT) >> 52) as i64 - 0x3fe - shift;
    (f64::from_bits(bits & !EXPONENT | HALF), exponent)
}

/// `x * 2^exponent`. A result that is subnormal is rounded in the last multiplication only: those
/// before keep 53 bits more than the smallest number has.
fn scaled(mut x: f64, exponent: i64) -> f64 {
    let mut exponent = exponent.clamp(-3000, 3000) as i32;
    while exponent > 1023 {
        x *= 2_f64.powi(1023);
        exponent -= 1023;
    }
    while exponent < -1022 {
        let step = (-exponent).min(1022 - 53);
        x *= 2_f64.powi(-step);
        exponent += step;
    }
    x * 2_f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubles of all sizes, with the last one below and the first above a power of two.
    fn doubles() -> impl Iterator<Item = f64> {
        let powers = (-1074..1024).map(|exponent| scaled(1.0, exponent));
        powers.flat_map(|power| [power, power.next_up(), power.next_down(), -power * 0.7])
    }

    #[test]
    fn parts_make_the_number_again() {
        for x in doubles().filter(|&x| x != 0.0) {
            let (part, exponent) = parts_of(x);
            assert!((0.5..1.0).contains(&part.abs()), "{x:e}: {part}");
            assert_eq!(scaled(part, exponent).to_bits(), x.to_bits(), "{x:e}");
        }
        for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(parts_of(x), (x, 0));
        }
        assert!(parts_of(f64::NAN).0.is_nan());
    }

    /// Of numbers that are halfway between two subnormal ones, and a little more, only the second
    /// goes up to the odd one.
    #[test]
    fn a_scaled_number_is_rounded_once() {
        let least = f64::from_bits(1);
        let above_half = 1.0 + f64::EPSILON;
        for (x, exponent, expected) in [
            (1.0, -1074, least),
            (1.0, -1075, 0.0),
            (above_half, -1075, least),
            (1.5, -1075, least),
            (2.5, -1074, f64::from_bits(2)),
            (2.5 + f64::EPSILON * 2.0, -1074, f64::from_bits(3)),
            (above_half, -2098, 0.0),
            (f64::MAX, -2098, f64::from_bits(1)),
            (f64::MAX, -2099, 0.0),
            (least, 2097, 2_f64.powi(1023)),
            (least, 2098, f64::INFINITY),
            (-1.0, i64::MAX, f64::NEG_INFINITY),
            (-1.0, i64::MIN, -0.0),
        ] {
            let found = scaled(x, exponent);
            assert_eq!(found.to_bits(), expected.to_bits(), "{x:e}, {exponent}");
        }
    }

    #[test]
    fn the_next_double_is_on_the_way() {
        assert_eq!(next_after(1.0, 2.0), 1.0 + f64::EPSILON);
        assert_eq!(next_after(1.0, 0.0), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(next_after(0.0, -1.0), -f64::from_bits(1));
        assert_eq!(next_after(3.0, 3.0), 3.0);
        assert!(next_after(f64::NAN, 1.0).is_nan());
    }
}
