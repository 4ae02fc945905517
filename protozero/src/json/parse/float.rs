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
    let has_fraction = point.is_none() || fraction > 0;
    if whole == 0 || !has_fraction || whole > 1 && text.get(begin) == Some(&b'0') {
        return None;
    }
    let value = F::of_decimal(digits, fraction)?;
    Some((if begin == 1 { -value } else { value }, at))
}

#[cfg(test)]
mod tests {
    use super::{Float, short};
    use alloc::string::String;
    use core::fmt::Debug;
    use proptest::prelude::*;

    fn check<F: Float + PartialEq + Debug>(text: &str) {
        if let Some((value, len)) = short::<F>(text.as_bytes()) {
            let parsed = text[..len].parse::<F>().ok();
            assert_eq!(Some(value), parsed, "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_numbers_are_what_the_standard_library_parses(text in "-?[0-9]{0,9}\\.?[0-9]{0,12}[,e.]?") {
            check::<f64>(&text);
            check::<f32>(&text);
        }
    }

    #[test]
    fn edges() {
        let of = |text: &str| short::<f64>(text.as_bytes());
        assert_eq!(of("19.99,"), Some((19.99, 5)));
        assert_eq!(of("-0"), Some((-0.0, 2)));
        assert!(of("-0.0").is_some_and(|(value, _)| value.is_sign_negative()));
        assert_eq!(of("9007199254740992]"), Some((9_007_199_254_740_992.0, 16)));
        assert_eq!(of("123456789.12345678"), None, "more digits than a double has");
        assert_eq!(of("0.12345678901234567"), None, "more characters than are looked at");
        for none in ["", "-", ".5", "1.", "01", "-00.5", "1e3", "1.5E3", "9007199254740993"] {
            assert_eq!(of(none), None, "{none}");
        }
        let of = |text: &str| short::<f32>(text.as_bytes());
        assert_eq!(of("16777216"), Some((16_777_216.0, 8)));
        assert_eq!(of("16777217"), None);
        assert_eq!(of(&("0.".chars().chain("0".repeat(11).chars()).collect::<String>())), None);
    }
}
