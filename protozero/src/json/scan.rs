//! Strings: where their plain parts end, and escapes.

const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Highest bits of bytes: the lowest that is set is that of the first byte that is a quote, a backslash or a control
/// character. Some above it may be set, too.
#[inline(always)]
fn specials(word: u64) -> u64 {
    // With this bit inverted, a quote is a space, and control characters are below it as before.
    let control_or_quote = (word ^ each(b'"' ^ b' ')).wrapping_sub(each(b' ' + 1));
    let backslash = (word ^ each(b'\\')).wrapping_sub(each(1));
    (control_or_quote | backslash) & !word & each(0x80)
}

/// Whether `first` comes before `second`.
#[inline(always)]
pub(super) fn is_below(first: &[u8], second: &[u8]) -> bool {
    // Most keys differ in their first byte, for which no call is needed.
    match (first.first(), second.first()) {
        (Some(a), Some(b)) if a != b => a < b,
        _ => first < second,
    }
}

/// The first place at or behind `begin` with a quote, a backslash or a control character, or else the end.
#[inline]
pub(super) fn special(text: &[u8], begin: usize) -> usize {
    let mut at = begin;
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
}

/// Copies `text` to the front of `to`, in words that overlap at the end. False if it needs escapes.
#[inline(always)]
pub(super) fn copy_plain(text: &[u8], to: &mut [u8]) -> bool {
    let len = text.len();
    let Some(to) = to.get_mut(..len) else { return false };
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        if len > 16 {
            for (word, to) in text.as_chunks::<8>().0.iter().zip(to.as_chunks_mut::<8>().0) {
                // It ends early, so that the compiler does not make long vectors of short strings.
                if specials(u64::from_le_bytes(*word)) != 0 {
                    return false;
                }
                *to = *word;
            }
        } else if let Some(to) = to.first_chunk_mut::<8>() {
            *to = *first;
        }
        if let Some(to) = to.last_chunk_mut::<8>() {
            *to = *last;
        }
        return specials(u64::from_le_bytes(*first)) | specials(u64::from_le_bytes(*last)) == 0;
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let halves = [u32::from_le_bytes(*first), u32::from_le_bytes(*last)].map(u64::from);
        if let Some(to) = to.first_chunk_mut::<4>() {
            *to = *first;
        }
        if let Some(to) = to.last_chunk_mut::<4>() {
            *to = *last;
        }
        return specials(halves[0] | halves[1] << 32) == 0;
    }
    text.iter().zip(to).all(|(&byte, to)| {
        *to = byte;
        !is_special(byte)
    })
}

/// Calls `put` with the parts of `text`, with escapes for quotes, backslashes and control characters.
pub(super) fn escape(text: &[u8], mut put: impl FnMut(&[u8])) {
    let mut plain = 0;
    let mut at = special(text, plain);
    while let Some(&byte) = text.get(at) {
        put(&text[plain..at]);
        match byte {
            b'"' => put(b"\\\""),
            b'\\' => put(b"\\\\"),
            b'\n' => put(b"\\n"),
            b'\r' => put(b"\\r"),
            b'\t' => put(b"\\t"),
            _ => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit & 15)];
                put(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte)]);
            }
        }
        plain = at + 1;
        at = special(text, plain);
    }
    put(&text[plain..]);
}
