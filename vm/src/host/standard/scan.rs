//! Numbers read from text: the longest one that begins at a place, and how many bytes it has.

use super::coded::count_of;
use super::numbers::radix_of;
use super::{HostCall, HostError};
use crate::safepoint::PART_BYTES;

/// Digits beyond this many only tell whether a number is more than its first ones say: the exact
/// value of a double, and of the middle of two, has fewer.
const MAX_DIGITS: usize = 800;

/// Exponents beyond these are infinity and zero with as many digits as there may be.
const MAX_EXPONENT: i64 = 100_000;

/// Gives the bytes from the place in the second argument on to `take` until it wants no more, in
/// parts between which it looks whether the run is to end.
fn feed(call: &mut HostCall, mut take: impl FnMut(u8) -> bool) -> Result<(), HostError> {
    let mut at = count_of(call, 0)?;
    if at > call.text(0)?.len() {
        return Err(HostError::Failed);
    }
    loop {
        let rest = &call.text(0)?[at..];
        let part = &rest[..rest.len().min(PART_BYTES)];
        let is_last = part.len() == rest.len();
        let n_taken = part.iter().take_while(|&&byte| take(byte)).count();
        if is_last || n_taken < part.len() {
            return Ok(());
        }
        at += n_taken;
        call.spend_fuel((n_taken / super::super::BYTES_PER_FUEL) as u64)?;
    }
}

pub(super) fn int(call: &mut HostCall) -> Result<(), HostError> {
    scan_int(call, true)
}

pub(super) fn word(call: &mut HostCall) -> Result<(), HostError> {
    scan_int(call, false)
}

fn scan_int(call: &mut HostCall, is_signed: bool) -> Result<(), HostError> {
    let mut scan = IntScan::new(radix_of(call, 1)?, is_signed);
    feed(call, |byte| scan.take(byte))?;
    let (used_bytes, value, fits) = scan.result();
    call.set_int(0, used_bytes as i64);
    call.set_int(1, value);
    call.set_int(2, fits as i64);
    Ok(())
}

pub(super) fn float(call: &mut HostCall) -> Result<(), HostError> {
    let mut scan = FloatScan::default();
    feed(call, |byte| scan.take(byte))?;
    let (used_bytes, value) = scan.result();
    call.set_int(0, used_bytes as i64);
    call.set_float(1, value);
    Ok(())
}

/// An integer that is being read: perhaps a sign, then digits of a radix.
struct IntScan {
    radix: u32,
    is_signed: bool,
    n_taken: u64,
    has_digits: bool,
    is_negative: bool,
    magnitude: u64,
    has_overflowed: bool,
}

impl IntScan {
    fn new(radix: u32, is_signed: bool) -> Self {
        Self {
            radix,
            is_signed,
            n_taken: 0,
            has_digits: false,
            is_negative: false,
            magnitude: 0,
            has_overflowed: false,
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        if let Some(digit) = char::from(byte).to_digit(self.radix) {
            let more = self.magnitude.checked_mul(self.radix.into());
            let more = more.and_then(|more| more.checked_add(digit.into()));
            self.has_overflowed |= more.is_none();
            self.magnitude = more.unwrap_or_default();
            self.has_digits = true;
        } else if self.is_signed && self.n_taken == 0 && matches!(byte, b'+' | b'-') {
            self.is_negative = byte == b'-';
        } else {
            return false;
        }
        self.n_taken += 1;
        true
    }

    /// The number's bytes, 0 if there is none, its value, and whether 64 bits hold it; 0 if not.
    fn result(self) -> (u64, i64, bool) {
        if !self.has_digits {
            return (0, 0, true);
        }
        let magnitude = i128::from(self.magnitude);
        let value = match (self.is_signed, self.is_negative) {
            (false, _) => Some(self.magnitude as i64),
            (true, false) => i64::try_from(magnitude).ok(),
            (true, true) => i64::try_from(-magnitude).ok(),
        };
        let value = value.filter(|_| !self.has_overflowed);
        (self.n_taken, value.unwrap_or_default(), value.is_some())
    }
}

/// What a double that is being read has had last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Sign,
    /// A digit before the point.
    Whole,
    Point,
    /// A digit behind the point.
    Fraction,
    /// The letter before an exponent.
    Letter,
    ExponentSign,
    Exponent,
    /// A letter of `inf` or `nan`.
    Word,
}

/// A double that is being read: perhaps a sign, then digits with a point among or before them, and
/// perhaps an exponent; or `inf` or `nan` in letters of any case.
#[derive(Default)]
struct FloatScan {
    last: Last,
    n_taken: u64,
    /// How many of the bytes taken are a number.
    used_bytes: u64,
    is_negative: bool,
    /// The first digits without zeros before them.
    digits: Vec<u8>,
    /// Whether a digit that is not kept is not 0.
    has_more: bool,
    /// The power of ten of the last digit kept.
    scale: i64,
    exponent: i64,
    is_exponent_negative: bool,
    /// The letters of a word.
    word: Vec<u8>,
}

impl FloatScan {
    fn take(&mut self, byte: u8) -> bool {
        use Last::*;
        let next = match (self.last, byte) {
            (Nothing, b'+' | b'-') => {
                self.is_negative = byte == b'-';
                Sign
            }
            (Nothing | Sign | Whole, b'0'..=b'9') => {
                self.add(byte, false);
                Whole
            }
            (Nothing | Sign | Whole, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => {
                self.add(byte, true);
                Fraction
            }
            (Whole | Fraction, b'e' | b'E') => Letter,
            (Letter, b'+' | b'-') => {
                self.is_exponent_negative = byte == b'-';
                ExponentSign
            }
            (Letter | ExponentSign | Exponent, b'0'..=b'9') => {
                let more = self.exponent.saturating_mul(10);
                self.exponent = more.saturating_add((byte - b'0').into());
                Exponent
            }
            (Nothing | Sign | Word, letter) if self.is_word(letter) => Word,
            _ => return false,
        };
        self.last = next;
        self.n_taken += 1;
        if matches!(next, Whole | Fraction | Exponent) || (next == Word && self.word.len() == 3) {
            self.used_bytes = self.n_taken;
        }
        true
    }

    /// Whether a letter goes on with `inf` or `nan`; keeps it.
    fn is_word(&mut self, letter: u8) -> bool {
        self.word.push(letter.to_ascii_lowercase());
        b"inf".starts_with(&self.word) || b"nan".starts_with(&self.word)
    }

    fn add(&mut self, digit: u8, is_fraction: bool) {
        let is_leading_zero = digit == b'0' && self.digits.is_empty();
        if is_leading_zero || self.digits.len() < MAX_DIGITS {
            self.scale -= is_fraction as i64;
            if !is_leading_zero {
                self.digits.push(digit);
            }
        } else {
            self.scale += !is_fraction as i64;
            self.has_more |= digit != b'0';
        }
    }

    /// The number's bytes, 0 if there is none, and its value: the double next to it, or of two that
    /// are as near the even one.
    fn result(mut self) -> (u64, f64) {
        let magnitude = match (self.used_bytes, self.word.get(..3)) {
            (0, _) => return (0, 0.0),
            (_, Some(b"inf")) => f64::INFINITY,
            (_, Some(b"nan")) => f64::NAN,
            _ => {
                let is_exponent_whole = self.last == Last::Exponent;
                let exponent = match (is_exponent_whole, self.is_exponent_negative) {
                    (false, _) => 0,
                    (true, false) => self.exponent,
                    (true, true) => -self.exponent,
                };
                let mut scale = self.scale.saturating_add(exponent);
                if self.has_more {
                    self.digits.push(b'1');
                    scale = scale.saturating_sub(1);
                }
                if self.digits.is_empty() {
                    self.digits.push(b'0');
                }
                let digits = String::from_utf8_lossy(&self.digits);
                let scale = scale.clamp(-MAX_EXPONENT, MAX_EXPONENT);
                format!("{digits}e{scale}").parse().unwrap_or(f64::NAN)
            }
        };
        let value = if self.is_negative {
            -magnitude
        } else {
            magnitude
        };
        (self.used_bytes, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned_int(text: &str, radix: u32, is_signed: bool) -> (u64, i64, bool) {
        let mut scan = IntScan::new(radix, is_signed);
        let _ = text.bytes().take_while(|&byte| scan.take(byte)).count();
        scan.result()
    }

    fn scanned(text: &str) -> (u64, f64) {
        let mut scan = FloatScan::default();
        let _ = text.bytes().take_while(|&byte| scan.take(byte)).count();
        scan.result()
    }

    #[test]
    fn integers_end_where_their_digits_do() {
        for (text, radix, expected) in [
            ("12 34", 10, (2, 12, true)),
            ("-12x", 10, (3, -12, true)),
            ("+7", 10, (2, 7, true)),
            ("--7", 10, (0, 0, true)),
            ("", 10, (0, 0, true)),
            ("-", 10, (0, 0, true)),
            ("129", 2, (1, 1, true)),
            ("fFg", 16, (2, 255, true)),
            ("zz", 36, (2, 35 * 36 + 35, true)),
            ("9223372036854775807", 10, (19, i64::MAX, true)),
            ("9223372036854775808", 10, (19, 0, false)),
            ("-9223372036854775808", 10, (20, i64::MIN, true)),
            ("99999999999999999999999", 10, (23, 0, false)),
        ] {
            assert_eq!(scanned_int(text, radix, true), expected, "{text}");
        }
        assert_eq!(scanned_int("-1", 10, false), (0, 0, true));
        let all = scanned_int("ffffffffffffffff", 16, false);
        assert_eq!(all, (16, -1, true));
        assert_eq!(scanned_int("10000000000000000", 16, false), (17, 0, false));
    }

    #[test]
    fn doubles_end_where_their_last_digit_does() {
        for (text, used_bytes, value) in [
            ("1.5 ", 3, 1.5),
            ("1.x", 1, 1.0),
            (".5", 2, 0.5),
            (".", 0, 0.0),
            ("-.5e", 3, -0.5),
            ("1e5", 3, 1e5),
            ("1e+5", 4, 1e5),
            ("1e-", 1, 1.0),
            ("1e", 1, 1.0),
            ("1E-3.5", 4, 1e-3),
            ("1.5.5", 3, 1.5),
            ("00012", 5, 12.0),
            ("0.0001", 6, 1e-4),
            ("0e99999999999999999999", 22, 0.0),
            ("1e99999999999999999999", 22, f64::INFINITY),
            ("1e-99999999999999999999", 23, 0.0),
            ("-Infinity", 4, f64::NEG_INFINITY),
            ("in", 0, 0.0),
            ("x", 0, 0.0),
            ("", 0, 0.0),
        ] {
            assert_eq!(scanned(text), (used_bytes, value), "{text}");
        }
        assert!(scanned("NaN").1.is_nan());
        assert!(scanned("-0").1.is_sign_negative());
    }

    /// Between 1 and the next double is a middle, which is read as 1; what is more by a digit very
    /// far behind it is not.
    #[test]
    fn digits_far_behind_decide_between_two_doubles() {
        let middle = "1.00000000000000011102230246251565404236316680908203125";
        let zeros = "0".repeat(5000);
        assert_eq!(scanned(middle).1, 1.0);
        assert_eq!(scanned(&format!("{middle}{zeros}")).1, 1.0);
        assert_eq!(scanned(&format!("{middle}{zeros}1")).1, 1.0_f64.next_up());
        assert_eq!(scanned(&format!("1{zeros}e-5000")).1, 1.0);
        assert_eq!(scanned(&format!("0.{zeros}1e5001")).1, 1.0);
    }

    /// Against the parser of Rust's library, on doubles of all kinds in all forms.
    #[test]
    fn doubles_are_read_as_they_were_written() {
        let mut random = profiler::sampling::Xoshiro256::new(1);
        for _ in 0..2000 {
            let x = f64::from_bits(random.next_u64());
            if x.is_nan() {
                continue;
            }
            for text in [format!("{x:?}"), format!("{x:e}"), format!("{x:.1100}")] {
                let expected: f64 = text.parse().expect("a number");
                let found = scanned(&text);
                assert_eq!(found, (text.len() as u64, expected), "{text}");
            }
        }
    }
}
