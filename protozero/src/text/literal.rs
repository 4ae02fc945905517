//! Parses literals: numbers and escape sequences.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// An error in a literal: position and message.
pub(crate) type LiteralError = (Range<usize>, String);

/// Parses an integer without sign: decimal, `0x` hex, or octal after a zero.
///
/// `Ok(None)` if it exceeds 64 bits, `Err` if it is not an integer.
pub(super) fn integer(text: &[u8]) -> Result<Option<u64>, ()> {
    let (digits, radix) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    if digits.is_empty() {
        return Err(());
    }
    let mut value = Some(0u64);
    for &digit in digits {
        let digit = char::from(digit).to_digit(radix).ok_or(())?;
        value = value
            .and_then(|value| value.checked_mul(u64::from(radix)))
            .and_then(|value| value.checked_add(u64::from(digit)));
    }
    Ok(value)
}

/// The decimal digits of a float, without an `f` at the end. `None` if it is not a float, for
/// example octal: a zero before other digits.
pub(super) fn float(text: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(text).ok()?;
    // Rust's parser would accept `inf` and `nan`, but the lexer reads these as words.
    let number = text.strip_suffix(['f', 'F']).unwrap_or(text);
    let plain =
        number.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let octal = matches!(number.as_bytes(), [b'0', b'0'..=b'9', ..]);
    (plain && !octal && number.parse::<f64>().is_ok()).then_some(number)
}

/// Appends the content of a string literal (with its quotes) to `out`.
pub(crate) fn unescape(literal: &[u8], out: &mut Vec<u8>) -> Result<(), LiteralError> {
    // The lexer guarantees both quotes.
    let end = literal.len().saturating_sub(1);
    let mut at = 1;
    while at < end {
        if literal[at] != b'\\' {
            out.push(literal[at]);
            at += 1;
            continue;
        }
        let start = at;
        let letter = literal[at + 1];
        at += 2;
        let error = |to: usize, message: &str| (start..to, String::from(message));
        match letter {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'a' => out.push(0x07),
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'v' => out.push(0x0b),
            b'\\' | b'\'' | b'"' | b'?' => out.push(letter),
            b'0'..=b'7' => {
                at -= 1;
                let value = digits(&literal[..end], &mut at, 8, 3);
                let byte = u8::try_from(value.unwrap_or(0))
                    .map_err(|_| error(at, "an octal escape must not exceed \\377"))?;
                out.push(byte);
            }
            b'x' | b'X' => {
                let value = digits(&literal[..end], &mut at, 16, 2);
                let value = value.ok_or_else(|| error(at, "\\x needs one or two hex digits"))?;
                out.push(value as u8);
            }
            b'u' | b'U' => {
                let value = unicode(literal, end, &mut at, letter)
                    .ok_or_else(|| error(at, "\\u needs four hex digits, \\U needs eight"))?;
                let character = char::from_u32(value)
                    .ok_or_else(|| error(at, "this is not a Unicode character"))?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => {
                let other = char::from(other).escape_default();
                return Err((start..at, format!("`\\{other}` is not an escape sequence")));
            }
        }
    }
    Ok(())
}

fn unicode(literal: &[u8], end: usize, at: &mut usize, letter: u8) -> Option<u32> {
    let width = if letter == b'u' { 4 } else { 8 };
    let start = *at;
    let value = digits(&literal[..end], at, 16, width)?;
    (*at - start == width).then_some(value)
}

/// Parses up to `max` digits at `at`; `None` if there is none.
fn digits(text: &[u8], at: &mut usize, radix: u32, max: usize) -> Option<u32> {
    let mut value = None;
    for _ in 0..max {
        let Some(digit) = text.get(*at).and_then(|&byte| char::from(byte).to_digit(radix)) else {
            break;
        };
        value = Some(value.unwrap_or(0) * radix + digit);
        *at += 1;
    }
    value
}
