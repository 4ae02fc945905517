//! Base64 of RFC 4648, for fields of type `bytes`.

use alloc::vec::Vec;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends `bytes` with the standard digits, padded.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |bits: u32| DIGITS[(bits & 63) as usize];
    out.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let mut digits = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
        digits[group.len() + 1..].fill(b'=');
        out.extend_from_slice(&digits);
    }
}

/// Appends the bytes of `text`: standard or URL-safe digits, padded or not. False if it is not base64.
pub(super) fn decode(text: &[u8], out: &mut Vec<u8>) -> bool {
    let digits = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(digits);
    let is_padded = digits.len() % 4 + padding.len() == 4 && padding.iter().all(|&b| b == b'=');
    if digits.len() % 4 == 1 || !(padding.is_empty() || is_padded) {
        return false;
    }
    out.reserve(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            let Some(value) = group.get(at).map_or(Some(0), |&digit| value(digit)) else {
                return false;
            };
            bits = bits << 6 | value;
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    true
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}
