//! Small readers of the kernel's texts. All take bytes: names in them may hold any.

/// Lines without their ends.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

/// Words between blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// A decimal number, all of `word`. None if it is not one or does not fit.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|d| *d < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The same, with a sign.
pub(crate) fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(number(digits)?),
        None => number(word)?.try_into().ok(),
    }
}

/// A number in hex after `0x`, or a decimal one.
pub(crate) fn hex_or_decimal(word: &[u8]) -> Option<u32> {
    match word.strip_prefix(b"0x") {
        Some(digits) => u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok(),
        None => number(word)?.try_into().ok(),
    }
}

/// A line of "key: value", blanks around both cut off.
pub(crate) fn key_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|b| *b == b':')?;
    let (key, rest) = line.split_at(colon);
    Some((key.trim_ascii(), rest.get(1..)?.trim_ascii()))
}

/// Text for a `string` field: bytes that are not UTF-8 are replaced.
pub(crate) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
