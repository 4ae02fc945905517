//! The tokens of JSON (RFC 8259).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use crate::json::scan;
use crate::text::error::quote;

/// What is wrong, and where.
pub(super) struct Fault {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

/// The fault is in a box, so that results are small.
pub(super) type Parsed<T> = Result<T, Box<Fault>>;

/// The next place in a text.
pub(super) struct Lexer<'t> {
    /// The whole text.
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to a position that this has returned.
    pub(super) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// A fault from `begin` to here.
    #[cold]
    pub(super) fn fault<T>(&self, begin: usize, message: impl Into<String>) -> Parsed<T> {
        Err(Box::new(Fault { span: begin..self.at.max(begin), message: message.into() }))
    }

    /// The first byte of the next token.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        match self.text.as_bytes().get(self.at) {
            Some(&byte) if byte > b' ' => Some(byte),
            _ => self.peek_behind_space(),
        }
    }

    fn peek_behind_space(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Whether a comma and a quote are next, without a space.
    #[inline(always)]
    pub(super) fn is_at_name(&self) -> bool {
        let next = self.text.as_bytes().get(self.at..self.at + 2);
        next.is_some_and(|next| next == b",\"")
    }

    /// Takes the first `len` bytes of `expected` if they are next.
    #[inline(always)]
    pub(super) fn take_all(&mut self, expected: &[u8], len: usize) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is_next = begins_with(rest, expected, len);
        self.at += if is_next { len } else { 0 };
        is_next
    }

    /// Takes a string without escapes: the text from its first letter on, and its length. None if something else is
    /// next.
    #[inline(always)]
    pub(super) fn plain_string(&mut self) -> Option<(&'t [u8], usize)> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let begin = self.at + 1;
        let text: &'t [u8] = self.text.as_bytes();
        let end = scan::special(text, begin);
        if text.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        Some((text.get(begin..)?, end - begin))
    }

    /// Takes an integer of at most 18 digits without fraction and exponent: its amount, and whether it has a minus.
    /// None if something else is next.
    #[inline(always)]
    pub(super) fn short_integer(&mut self) -> Option<(u64, bool)> {
        let first = self.peek()?;
        let begin = self.at + usize::from(first == b'-');
        let (value, end) = short_number(self.text.as_bytes(), begin)?;
        self.at = end;
        Some((value, first == b'-'))
    }

    /// Takes a bracket, a colon or a comma.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes a bracket, a colon or a comma that must be there.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8, place: &str) -> Parsed<()> {
        match self.take(byte) {
            true => Ok(()),
            false => self.unexpected(byte, place),
        }
    }

    #[cold]
    #[inline(never)]
    fn unexpected(&mut self, byte: u8, place: &str) -> Parsed<()> {
        let found = self.next_for_error();
        self.fault(self.at, format!("expected `{}` {place}, found {found}", char::from(byte)))
    }

    /// What is here, for an error.
    pub(super) fn next_for_error(&mut self) -> String {
        match self.peek() {
            None => "the end".into(),
            Some(_) => {
                let rest = &self.text.as_bytes()[self.at..];
                let end =
                    rest.iter().position(|b| b",:]} \n\r\t".contains(b)).unwrap_or(rest.len());
                format!("`{}`", quote(&rest[..end.clamp(1, rest.len())]))
            }
        }
    }

    /// Takes `true`, `false` or `null`.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        self.peek();
        let rest = &self.text.as_bytes()[self.at..];
        let is_next = rest.starts_with(word.as_bytes())
            && !rest.get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// Takes a number, and returns its text.
    pub(super) fn number(&mut self) -> Parsed<&'t str> {
        self.peek();
        let begin = self.at;
        match number_len(&self.text.as_bytes()[begin..]) {
            Some(len) => {
                self.at += len;
                Ok(&self.text[begin..self.at])
            }
            None => {
                let found = self.next_for_error();
                self.fault(begin, format!("expected a number, found {found}"))
            }
        }
    }

    /// Takes a string.
    #[inline]
    pub(super) fn string(&mut self, what: &str) -> Parsed<Cow<'t, str>> {
        if !self.take(b'"') {
            let found = self.next_for_error();
            return self.fault(self.at, format!("expected {what} in quotes, found {found}"));
        }
        let begin = self.at;
        self.at = scan::special(self.text.as_bytes(), begin);
        if self.text.as_bytes().get(self.at) == Some(&b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[begin..self.at - 1]));
        }
        self.escaped(begin).map(Cow::Owned)
    }

    /// Takes the rest of a string that begins at `begin`, from its first special byte on.
    fn escaped(&mut self, begin: usize) -> Parsed<String> {
        let bytes = self.text.as_bytes();
        let mut text = String::from(&self.text[begin..self.at]);
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => {
                    self.at += 1;
                    let message =
                        "a control character in a string must be escaped: `\\n`, `\\u0001`";
                    return self.fault(self.at - 1, message);
                }
                None => return self.fault(begin - 1, "this string does not end"),
            }
            let plain = self.at;
            self.at = scan::special(bytes, plain);
            text.push_str(&self.text[plain..self.at]);
        }
    }

    /// Takes an escape, from its backslash.
    fn escape(&mut self) -> Parsed<char> {
        let begin = self.at;
        self.at += 1;
        let letter = self.text.as_bytes().get(self.at).copied();
        self.at += usize::from(letter.is_some_and(|letter| letter.is_ascii()));
        let unit = match letter {
            Some(letter @ (b'"' | b'\\' | b'/')) => return Ok(char::from(letter)),
            Some(b'b') => return Ok('\u{8}'),
            Some(b'f') => return Ok('\u{c}'),
            Some(b'n') => return Ok('\n'),
            Some(b'r') => return Ok('\r'),
            Some(b't') => return Ok('\t'),
            Some(b'u') => self.unit(begin)?,
            _ => return self.fault(begin, "JSON has no such escape"),
        };
        let code = match unit {
            0xd800..0xdc00 if self.text[self.at..].starts_with("\\u") => {
                self.at += 2;
                let low = self.unit(begin)?;
                // Another unit than the low one of a pair makes no character.
                match low {
                    0xdc00..0xe000 => 0x1_0000 + (unit - 0xd800) * 0x400 + (low - 0xdc00),
                    _ => unit,
                }
            }
            _ => unit,
        };
        match char::from_u32(code) {
            Some(letter) => Ok(letter),
            None => self.fault(begin, "half of a pair of surrogates is no character"),
        }
    }

    /// Takes four hexadecimal digits.
    fn unit(&mut self, begin: usize) -> Parsed<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let is_hex = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits.filter(|_| is_hex) else {
            return self.fault(begin, "`\\u` needs four hexadecimal digits");
        };
        self.at += 4;
        let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0);
        Ok(digits.iter().fold(0, |unit, &digit| unit * 16 + value(digit)))
    }
}

/// Whether `text` begins with the first `len` bytes of `expected`.
#[inline(always)]
pub(super) fn begins_with(text: &[u8], expected: &[u8], len: usize) -> bool {
    match (text.first_chunk::<16>(), expected.first_chunk::<16>()) {
        (Some(next), Some(first)) => {
            let differ = u128::from_le_bytes(*next) ^ u128::from_le_bytes(*first);
            match 128u32.checked_sub(len as u32 * 8) {
                Some(unused) => differ.unbounded_shl(unused) == 0,
                None => differ == 0 && text.starts_with(expected.get(..len).unwrap_or(text)),
            }
        }
        _ => expected.get(..len).is_some_and(|expected| text.starts_with(expected)),
    }
}

/// The number of at most 18 digits at `begin`, without fraction and exponent, and where it ends.
#[inline(always)]
pub(super) fn short_number(text: &[u8], begin: usize) -> Option<(u64, usize)> {
    let mut at = begin;
    let mut value = 0;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        if at - begin == 18 {
            return None;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
    }
    let is_valid = at > begin && (text.get(begin) != Some(&b'0') || at - begin == 1);
    let is_whole = !matches!(text.get(at), Some(b'.' | b'e' | b'E'));
    (is_valid && is_whole).then_some((value, at))
}

/// The length of the number that `text` begins with.
pub(super) fn number_len(text: &[u8]) -> Option<usize> {
    let digits = |at: usize| {
        text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || whole > 1 && text[at] == b'0' {
        return None;
    }
    at += whole;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}
