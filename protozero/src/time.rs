//! Times and durations as text: `2026-11-23T19:59:58.5Z`, `1.5s`. JSON has them so, and the well-known types print and
//! parse them so.

use core::fmt;
use core::ops::RangeInclusive;

/// Seconds of the years 1 to 9999.
const TIMESTAMPS: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// Seconds of about 10,000 years.
const DURATIONS: RangeInclusive<i64> = -315_576_000_000..=315_576_000_000;
const NANOS: i32 = 1_000_000_000;
const DAY: i64 = 86_400;

/// The date and the time of a timestamp, without its nanoseconds and its zone. None if the timestamp is out of range.
#[must_use]
pub fn date_and_time(seconds: i64, nanos: i32) -> Option<[u8; 19]> {
    if !TIMESTAMPS.contains(&seconds) || !(0..NANOS).contains(&nanos) {
        return None;
    }
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let two = |value: u64| [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8];
    let parts = [year / 100, year % 100, month, day, hour as _, minute as _, second as _];
    let [[a, b], [c, d], [e, f], [g, h], [i, j], [k, l], [m, n]] =
        parts.map(|part| two(part as u64));
    Some([a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', m, n])
}

/// Whether a duration is in range, and its parts have one sign.
#[must_use]
pub fn is_duration(seconds: i64, nanos: i32) -> bool {
    let has_one_sign = seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0);
    DURATIONS.contains(&seconds) && nanos > -NANOS && nanos < NANOS && has_one_sign
}

/// Writes nothing for 0, else a point and 3, 6 or 9 digits. Whole seconds in `nanos` are left out.
///
/// # Errors
/// Those of `out`.
pub fn put_nanos(nanos: u32, out: &mut impl fmt::Write) -> fmt::Result {
    let len = match nanos {
        0 => return Ok(()),
        _ if nanos.is_multiple_of(1_000_000) => 4,
        _ if nanos.is_multiple_of(1_000) => 7,
        _ => 10,
    };
    // Not `write!`: formatting in core can panic, and is slow.
    let (mut text, mut rest) = ([b'.'; 10], nanos);
    for digit in text.iter_mut().skip(1).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.write_str(text.get(..len).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default())
}

/// Seconds and nanoseconds of an RFC 3339 time.
#[must_use]
pub fn timestamp(text: &str) -> Option<(i64, i32)> {
    let (&date_and_time, rest) = text.as_bytes().split_first_chunk()?;
    let [a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', m, n] = date_and_time
    else {
        return None;
    };
    let (year, month, day) = (number(&[a, b, c, d])?, number(&[e, f])?, number(&[g, h])?);
    let (hour, minute, second) = (number(&[i, j])?, number(&[k, l])?, number(&[m, n])?);
    let is_time = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let (nanos, rest) = fraction(rest)?;
    let offset = match rest {
        b"Z" => 0,
        &[sign @ (b'+' | b'-'), a, b, b':', c, d] => {
            let (hours, minutes) = (number(&[a, b])?, number(&[c, d])?);
            if hours >= 24 || minutes >= 60 {
                return None;
            }
            let offset = hours * 3600 + minutes * 60;
            if sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    (is_time && TIMESTAMPS.contains(&seconds)).then_some((seconds, nanos))
}

/// Seconds and nanoseconds of a text such as `-1.5s`.
#[must_use]
pub fn duration(text: &str) -> Option<(i64, i32)> {
    let bytes = text.strip_suffix('s')?.as_bytes();
    let (is_negative, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    let (whole, rest) = digits(bytes);
    let seconds = if whole.len() <= 12 { number(whole)? } else { return None };
    let (nanos, rest) = fraction(rest)?;
    if !rest.is_empty() || !DURATIONS.contains(&seconds) {
        return None;
    }
    Some(if is_negative { (-seconds, -nanos) } else { (seconds, nanos) })
}

/// The nanoseconds of `.5`, at most nine digits, and what comes behind.
fn fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    let [b'.', text @ ..] = text else { return Some((0, text)) };
    let (digits, rest) = digits(text);
    if !(1..=9).contains(&digits.len()) {
        return None;
    }
    let mut nanos = i32::try_from(number(digits)?).ok()?;
    for _ in digits.len()..9 {
        nanos *= 10;
    }
    Some((nanos, rest))
}

/// The digits at the beginning of a text, and what comes behind.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at_checked(count).unwrap_or((text, &[]))
}

/// The number of these digits, at least one and at most eighteen.
fn number(digits: &[u8]) -> Option<i64> {
    let is_number = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0')))
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 of a date. Years begin with March here, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}
