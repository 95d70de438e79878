//! Dates: seconds since the start of 1970 as years, months and days, and back. A day in UTC has
//! 86,400 seconds; the calendar is the Gregorian one, also before there was one.

use std::mem::MaybeUninit;

use super::{HostCall, HostError};

const SECONDS_PER_DAY: i64 = 86_400;
/// Days in 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from the 1st of March of the year 0 to the start of 1970.
const DAYS_TO_1970: i64 = 719_468;

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    year: i64,
    /// From 1.
    month: i64,
    /// Of the month, from 1.
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// From 0, which is Sunday.
    weekday: i64,
    /// Days since the first one of the year.
    yearday: i64,
}

/// The day, counted from the start of 1970, of a year, a month from 1, and a day from 1.
fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    // Months beyond a year's are those of other years. Years begin in March, so that a leap day is
    // a year's last.
    let months = month.checked_sub(3)?;
    let year = year.checked_add(months.div_euclid(12))?;
    let month = months.rem_euclid(12);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era.checked_mul(DAYS_PER_ERA)?.checked_add(day_of_era)?;
    days.checked_sub(DAYS_TO_1970)?
        .checked_add(day.checked_sub(1)?)
}

/// The seconds of a date in UTC; fields may be beyond what a date has.
fn seconds_of(fields: [i64; 6]) -> Option<i64> {
    let [year, month, day, hour, minute, second] = fields;
    let days = day_number(year, month, day)?;
    let seconds = days.checked_mul(SECONDS_PER_DAY)?;
    let of_day = hour.checked_mul(60)?.checked_add(minute)?;
    let of_day = of_day.checked_mul(60)?.checked_add(second)?;
    seconds.checked_add(of_day)
}

/// The date in UTC.
fn date_of(seconds: i64) -> Date {
    let days = seconds.div_euclid(SECONDS_PER_DAY);
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let shifted = days + DAYS_TO_1970;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let n_leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - n_leap_days) / 365;
    let first = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - first;
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + (month <= 2) as i64;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let yearday = match month <= 2 {
        true => (month - 1) * 31 + day - 1,
        false => day_of_year + 59 + is_leap as i64,
    };
    Date {
        year,
        month,
        day,
        hour: of_day / 3600,
        minute: of_day / 60 % 60,
        second: of_day % 60,
        // The first day of 1970 was a Thursday.
        weekday: (days + 4).rem_euclid(7),
        yearday,
    }
}

fn set_date(call: &mut HostCall, date: Date) {
    let fields = [
        date.year,
        date.month,
        date.day,
        date.hour,
        date.minute,
        date.second,
        date.weekday,
        date.yearday,
    ];
    for (index, field) in (0..).zip(fields) {
        call.set_int(index, field);
    }
}

fn fields_of(call: &HostCall) -> [i64; 6] {
    std::array::from_fn(|index| call.int(index as u8))
}

pub(super) fn utc(call: &mut HostCall) -> Result<(), HostError> {
    let date = date_of(call.int(0));
    set_date(call, date);
    Ok(())
}

pub(super) fn seconds_of_utc(call: &mut HostCall) -> Result<(), HostError> {
    let seconds = seconds_of(fields_of(call)).ok_or(HostError::Failed)?;
    call.set_int(0, seconds);
    Ok(())
}

pub(super) fn local(call: &mut HostCall) -> Result<(), HostError> {
    let seconds = call.int(0);
    let mut found = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both places are there, and what is found has room.
    let result = unsafe { libc::localtime_r(&seconds, found.as_mut_ptr()) };
    if result.is_null() {
        return Err(HostError::Failed);
    }
    // SAFETY: the call has succeeded, so it has filled it in.
    let found = unsafe { found.assume_init() };
    let offset = found.tm_gmtoff;
    // All fields follow from the offset, by the calendar that dates in UTC have.
    let date = date_of(seconds.checked_add(offset).ok_or(HostError::Failed)?);
    set_date(call, date);
    call.set_int(8, offset);
    Ok(())
}

pub(super) fn seconds_of_local(call: &mut HostCall) -> Result<(), HostError> {
    let fields = fields_of(call);
    // As numbers of the system's size: what is beyond makes no sense.
    let seconds = seconds_of(fields).ok_or(HostError::Failed)?;
    let date = date_of(seconds);
    let year = i32::try_from(date.year - 1900).map_err(|_| HostError::Failed)?;
    // SAFETY: all fields of the structure may be zero.
    let mut wanted: libc::tm = unsafe { MaybeUninit::zeroed().assume_init() };
    wanted.tm_year = year;
    wanted.tm_mon = date.month as i32 - 1;
    wanted.tm_mday = date.day as i32;
    wanted.tm_hour = date.hour as i32;
    wanted.tm_min = date.minute as i32;
    wanted.tm_sec = date.second as i32;
    // The system finds out whether clocks are put forward then.
    wanted.tm_isdst = -1;
    // SAFETY: the structure is filled in.
    let seconds = unsafe { libc::mktime(&mut wanted) };
    call.set_int(0, seconds);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days counted one by one, with the lengths of months, as nobody would do it in earnest.
    #[test]
    fn every_day_of_five_centuries_has_its_date() {
        let (mut year, mut month, mut day, mut yearday) = (1800, 1, 1, 0);
        let mut number = day_number(1800, 1, 1).expect("it is small");
        assert_eq!(number, -62_091);
        while year < 2300 {
            let date = date_of(number * SECONDS_PER_DAY + 86_399);
            let found = (date.year, date.month, date.day, date.yearday, date.weekday);
            let weekday = (number + 4).rem_euclid(7);
            assert_eq!(found, (year, month, day, yearday, weekday));
            assert_eq!(day_number(year, month, day), Some(number));
            assert_eq!((date.hour, date.minute, date.second), (23, 59, 59));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                4 | 6 | 9 | 11 => 30,
                2 => 28 + is_leap as i64,
                _ => 31,
            };
            (day, yearday, number) = (day + 1, yearday + 1, number + 1);
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, yearday, year) = (1, 0, year + 1);
            }
        }
    }

    #[test]
    fn seconds_and_dates_are_inverse_wherever_64_bits_hold_them() {
        for seconds in [0, -1, 951_782_400, i64::MAX, i64::MIN + 86_400, 1 << 40] {
            let date = date_of(seconds);
            let fields = [
                date.year,
                date.month,
                date.day,
                date.hour,
                date.minute,
                date.second,
            ];
            assert_eq!(seconds_of(fields), Some(seconds), "{date:?}");
        }
    }

    #[test]
    fn fields_beyond_a_date_carry_over() {
        for (fields, same) in [
            ([2024, 13, 1, 0, 0, 0], [2025, 1, 1, 0, 0, 0]),
            ([2024, 0, 1, 0, 0, 0], [2023, 12, 1, 0, 0, 0]),
            ([2024, 2, 30, 0, 0, 0], [2024, 3, 1, 0, 0, 0]),
            ([2024, 1, 1, 0, 0, -1], [2023, 12, 31, 23, 59, 59]),
            ([2024, 1, 1, 48, 61, 0], [2024, 1, 3, 1, 1, 0]),
        ] {
            assert_eq!(seconds_of(fields), seconds_of(same), "{fields:?}");
        }
        assert_eq!(seconds_of([i64::MAX, 1, 1, 0, 0, 0]), None);
        assert_eq!(seconds_of([1970, i64::MIN, 1, 0, 0, 0]), None);
        assert_eq!(seconds_of([1970, 1, 1, i64::MAX, 0, 0]), None);
    }
}
