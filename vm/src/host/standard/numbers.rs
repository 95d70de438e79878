//! Numbers as text.

use super::coded::count_of;
use super::{HostCall, HostError};

/// The most digits that a double is written with behind its point or in all: a few more than the
/// exact value of any needs, 1,074. More would be zeros.
const MAX_DIGITS: usize = 1100;

/// How many digits are asked for by the first `i` argument behind the double.
fn digits_of(call: &HostCall) -> Result<usize, HostError> {
    let digits = count_of(call, 1)?;
    (digits <= MAX_DIGITS)
        .then_some(digits)
        .ok_or(HostError::Failed)
}

pub(super) fn fixed(call: &mut HostCall) -> Result<(), HostError> {
    let (x, digits) = (call.float(0), digits_of(call)?);
    call.set_text(0, format!("{x:.digits$}").as_bytes())
}

pub(super) fn scientific(call: &mut HostCall) -> Result<(), HostError> {
    let (x, digits) = (call.float(0), digits_of(call)?);
    call.set_text(0, format!("{x:.digits$e}").as_bytes())
}

pub(super) fn general(call: &mut HostCall) -> Result<(), HostError> {
    let (x, digits) = (call.float(0), digits_of(call)?);
    if digits == 0 {
        return Err(HostError::Failed);
    }
    call.set_text(0, general_text(x, digits).as_bytes())
}

pub(super) fn shortest(call: &mut HostCall) -> Result<(), HostError> {
    let (digits, exponent) = shortest_digits(call.float(0));
    call.set_int(0, exponent);
    call.set_text(0, digits.as_bytes())
}

pub(super) fn int(call: &mut HostCall) -> Result<(), HostError> {
    let (number, radix) = (call.int(0), radix_of(call, 1)?);
    let text = text_of(number.unsigned_abs(), number < 0, radix);
    call.set_text(0, &text)
}

pub(super) fn word(call: &mut HostCall) -> Result<(), HostError> {
    let (number, radix) = (call.int(0) as u64, radix_of(call, 1)?);
    call.set_text(0, &text_of(number, false, radix))
}

/// A radix from 2 to 36.
pub(super) fn radix_of(call: &HostCall, index: u8) -> Result<u32, HostError> {
    let radix = u32::try_from(call.int(index)).ok();
    let radix = radix.filter(|radix| (2..=36).contains(radix));
    radix.ok_or(HostError::Failed)
}

/// The digits of a number, behind a minus if it is negative.
fn text_of(mut number: u64, is_negative: bool, radix: u32) -> Vec<u8> {
    let mut text = Vec::new();
    loop {
        let digit = (number % u64::from(radix)) as u32;
        text.extend(char::from_digit(digit, radix).map(|digit| digit as u8));
        number /= u64::from(radix);
        if number == 0 {
            break;
        }
    }
    if is_negative {
        text.push(b'-');
    }
    text.reverse();
    text
}

/// A double with at most this many digits, at least 1, like `%g` of C: with an exponent if that is
/// less than -4 or there are not so many digits before the point; without zeros at the end.
fn general_text(x: f64, digits: usize) -> String {
    let text = format!("{x:.*e}", digits - 1);
    let Some((mantissa, exponent)) = text.split_once('e') else {
        // Infinities and what is no number.
        return text;
    };
    let exponent: i64 = exponent.parse().unwrap_or_default();
    if exponent < -4 || exponent >= digits as i64 {
        return format!("{}e{exponent}", without_zeros(mantissa));
    }
    let behind_point = (digits as i64 - 1 - exponent) as usize;
    without_zeros(&format!("{x:.behind_point$}")).to_owned()
}

/// A decimal without zeros at its end, and without a point that they leave there.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// The shortest digits that read back as the double, and the power of ten by which `0.DIGITS` is
/// its magnitude; no digits for 0.
fn shortest_digits(x: f64) -> (String, i64) {
    let text = format!("{:e}", x.abs());
    match text.split_once('e') {
        None => (text, 0),
        Some(_) if x == 0.0 => (String::new(), 0),
        Some((mantissa, exponent)) => {
            let exponent: i64 = exponent.parse().unwrap_or_default();
            (mantissa.replace('.', ""), exponent + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last column is what `printf("%.*g")` prints, but for plus and zeros in exponents.
    #[test]
    fn general_form_is_that_of_c() {
        for (digits, x, expected) in [
            (6, 0.0, "0"),
            (6, -0.0, "-0"),
            (6, 1.0, "1"),
            (6, 100_000.0, "100000"),
            (6, 1_000_000.0, "1e6"),
            (6, 999_999.5, "1e6"),
            (6, 0.0001, "0.0001"),
            (6, 0.00001, "1e-5"),
            (6, 1.0 / 3.0, "0.333333"),
            (1, 0.25, "0.2"),
            (1, 9.5, "1e1"),
            (2, 9.5, "9.5"),
            (17, 0.1, "0.10000000000000001"),
            (3, -1234.5, "-1.23e3"),
            (6, f64::INFINITY, "inf"),
            (6, f64::NEG_INFINITY, "-inf"),
            (6, f64::NAN, "NaN"),
        ] {
            assert_eq!(general_text(x, digits), expected, "{x} with {digits}");
        }
    }

    #[test]
    fn shortest_digits_stand_behind_the_point() {
        for (x, digits, exponent) in [
            (0.0, "", 0),
            (1.0, "1", 1),
            (-0.1, "1", 0),
            (1234.5, "12345", 4),
            (1e-7, "1", -6),
            (f64::MAX, "17976931348623157", 309),
            (f64::from_bits(1), "5", -323),
            (f64::INFINITY, "inf", 0),
            (f64::NAN, "NaN", 0),
        ] {
            assert_eq!(shortest_digits(x), (digits.to_owned(), exponent), "{x}");
        }
    }

    #[test]
    fn integers_have_digits_of_every_radix() {
        for (number, radix, expected) in [
            (0, 10, "0"),
            (255, 16, "ff"),
            (-255, 2, "-11111111"),
            (35, 36, "z"),
            (i64::MIN, 16, "-8000000000000000"),
            (i64::MAX, 36, "1y2p0ij32e8e7"),
        ] {
            let text = text_of(number.unsigned_abs(), number < 0, radix);
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }
}
