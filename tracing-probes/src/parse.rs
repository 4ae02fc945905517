//! Parsers for text of the kernel. They take bytes: names in the text may hold any bytes.

/// The lines of `text`, without empty ones.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

/// The words of `line`, between white space.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

/// The decimal number that `word` is. `None` if it is not one, or does not fit.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|d| *d < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The decimal number that `word` is, which may have a minus sign.
pub(crate) fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(number(digits)?),
        None => number(word)?.try_into().ok(),
    }
}

/// The number that `word` is: hexadecimal after `0x`, else decimal.
pub(crate) fn hex_or_decimal(word: &[u8]) -> Option<u32> {
    match word.strip_prefix(b"0x") {
        Some(digits) => u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok(),
        None => number(word)?.try_into().ok(),
    }
}

/// Key and value of a line `key: value`, without white space around them.
pub(crate) fn key_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|b| *b == b':')?;
    let (key, rest) = line.split_at(colon);
    Some((key.trim_ascii(), rest.get(1..)?.trim_ascii()))
}

/// Text for a `string` field. Bytes that are not UTF-8 are replaced.
pub(crate) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
