//! Base64 of RFC 4648, for fields of type `bytes`.

use alloc::vec::Vec;

use super::output::Output;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What stands for no digit.
const NONE: u8 = 64;

/// Values of digits, standard or URL-safe.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < 64 {
        values[DIGITS[at] as usize] = at as u8;
        at += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};

/// Appends `bytes` with the standard digits, padded.
pub(super) fn encode(bytes: &[u8], out: &mut Output) {
    let digit = |bits: u32| DIGITS[(bits & 63) as usize];
    let digits = |[a, b, c]: [u8; 3]| {
        let bits = u32::from_be_bytes([0, a, b, c]);
        [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]
    };
    let (groups, rest) = bytes.as_chunks::<3>();
    out.put_groups(groups.len(), |to| {
        for (group, to) in groups.iter().zip(to) {
            *to = digits(*group);
        }
    });
    match rest {
        [a] => {
            let [a, b, ..] = digits([*a, 0, 0]);
            out.put(&[a, b, b'=', b'=']);
        }
        [a, b] => {
            let [a, b, c, _] = digits([*a, *b, 0]);
            out.put(&[a, b, c, b'=']);
        }
        _ => {}
    }
}

/// Appends the bytes of `text`: standard or URL-safe digits, padded or not. False if it is not base64. Bits of the last
/// digit that belong to no byte are ignored, as in the parsers of C++ and Go.
pub(super) fn decode(text: &[u8], out: &mut Vec<u8>) -> bool {
    let digits = text.iter().position(|&byte| byte == b'=').unwrap_or(text.len());
    let (digits, padding) = text.split_at(digits);
    // Only a group that is not full is padded.
    let is_padded = digits.len() % 4 != 0
        && digits.len() % 4 + padding.len() == 4
        && padding.iter().all(|&b| b == b'=');
    if digits.len() % 4 == 1 || !(padding.is_empty() || is_padded) {
        return false;
    }
    let begin = out.len();
    let (groups, rest) = digits.as_chunks::<4>();
    out.resize(begin + groups.len() * 3, 0);
    let mut all = 0;
    for (group, to) in groups.iter().zip(out[begin..].as_chunks_mut::<3>().0) {
        let [a, b, c, d] = group.map(|digit| VALUES[usize::from(digit)]);
        all |= a | b | c | d;
        *to = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    }
    let value = |at: usize| rest.get(at).map_or(0, |&digit| VALUES[usize::from(digit)]);
    let [a, b, c] = [value(0), value(1), value(2)];
    let bytes = [a << 2 | (b & 63) >> 4, b << 4 | (c & 63) >> 2];
    out.extend_from_slice(&bytes[..rest.len().saturating_sub(1)]);
    (all | a | b | c) < NONE
}
