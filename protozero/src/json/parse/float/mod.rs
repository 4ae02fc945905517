//! The value of a number with a fraction.

use core::ops::Neg;
use core::str::FromStr;

/// Characters of a number whose digits surely fit into 64 bits.
const SHORT_MAX: usize = 18;

/// `float` or `double`.
pub(super) trait Float: FromStr + Neg<Output = Self> + From<f32> {
    fn is_finite(&self) -> bool;

    /// `digits` with the last `fraction` of them behind the point. None if digits or power of ten are not exact.
    fn of_decimal(digits: u64, fraction: usize) -> Option<Self>;
}

impl Float for f32 {
    fn is_finite(&self) -> bool {
        Self::is_finite(*self)
    }

    #[inline]
    fn of_decimal(digits: u64, fraction: usize) -> Option<Self> {
        const POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
        let power = POWERS.get(fraction)?;
        (digits <= 1 << Self::MANTISSA_DIGITS).then_some(digits as Self / power)
    }
}

impl Float for f64 {
    fn is_finite(&self) -> bool {
        Self::is_finite(*self)
    }

    #[inline]
    fn of_decimal(digits: u64, fraction: usize) -> Option<Self> {
        const POWERS: [f64; SHORT_MAX] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17,
        ];
        let power = POWERS.get(fraction)?;
        (digits <= 1 << Self::MANTISSA_DIGITS).then_some(digits as Self / power)
    }
}

/// The short number without an exponent that `text` begins with, and its length. Its digits and its power of ten are
/// exact, so that one division gives the nearest float.
#[inline]
pub(super) fn short<F: Float>(text: &[u8]) -> Option<(F, usize)> {
    let begin = usize::from(text.first() == Some(&b'-'));
    let (mut digits, mut at, mut point) = (0, begin, None);
    loop {
        match text.get(at) {
            Some(digit @ b'0'..=b'9') => digits = digits * 10 + u64::from(digit - b'0'),
            Some(b'.') if point.is_none() => point = Some(at),
            Some(b'e' | b'E') => return None,
            _ => break,
        }
        at += 1;
        if at - begin > SHORT_MAX {
            return None;
        }
    }
    let whole = point.unwrap_or(at) - begin;
    let fraction = point.map_or(0, |point| at - point - 1);
    let ends_with_point = point.is_some() && fraction == 0;
    if whole == 0 || ends_with_point || whole > 1 && text.get(begin) == Some(&b'0') {
        return None;
    }
    let value = F::of_decimal(digits, fraction)?;
    Some((if begin == 1 { -value } else { value }, at))
}

#[cfg(test)]
mod tests;
