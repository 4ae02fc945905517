//! Splits text into tokens with places; comments are kept in a separate list.

use crate::notes::Place;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Int(u64),
    Float(f64),
    Text(Vec<u8>),
    Symbol(char),
    End,
}

/// A token, its place, and the number of comments before it.
#[derive(Clone, Debug)]
pub(super) struct PlacedToken<'a> {
    pub token: Token<'a>,
    pub at: Place,
    pub comments: usize,
}

/// A comment: its lines without marks and common indentation, and the numbers of its first and last line.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub lines: Vec<String>,
    pub first: u32,
    pub last: u32,
}

/// An error message with its place.
pub(super) type PlacedMessage = (Place, String);

struct Lexer<'a> {
    rest: &'a str,
    at: Place,
    tokens: Vec<PlacedToken<'a>>,
    comments: Vec<Comment>,
}

/// All tokens, of which the last is [`Token::End`], and all comments.
pub(super) fn tokens(text: &str) -> Result<(Vec<PlacedToken<'_>>, Vec<Comment>), PlacedMessage> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let at = Place { line: 1, column: 1 };
    let mut lexer = Lexer { rest, at, tokens: Vec::new(), comments: Vec::new() };
    while lexer.next()? {}
    Ok((lexer.tokens, lexer.comments))
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at = Place { line: self.at.line.saturating_add(1), column: 1 };
        } else {
            self.at.column = self.at.column.saturating_add(1);
        }
        Some(c)
    }

    /// Consumes `len` bytes of the rest and returns them.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        for c in taken.chars() {
            if c == '\n' {
                self.at = Place { line: self.at.line.saturating_add(1), column: 1 };
            } else {
                self.at.column = self.at.column.saturating_add(1);
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len()))
    }

    /// One token or comment; false at the end.
    fn next(&mut self) -> Result<bool, PlacedMessage> {
        self.take_while(|c| c.is_ascii_whitespace() || c == '\u{b}');
        let at = self.at;
        if self.rest.starts_with("//") {
            let line = self.take_while(|c| c != '\n');
            self.comment(at.line, vec![line.trim_start_matches('/').to_owned()]);
            return Ok(true);
        }
        if self.rest.starts_with("/*") {
            let Some(end) = self.rest[2..].find("*/") else {
                return Err((at, "this comment is not closed".into()));
            };
            let body = self.take(end + 4);
            let body = body[2..end + 2].trim_start_matches('*');
            // The mark of the first line is already removed; other stars belong to the text.
            let plain = |(at, l): (usize, &str)| {
                let l = l.trim();
                l.strip_prefix('*').filter(|_| at > 0).unwrap_or(l).to_owned()
            };
            self.comment(at.line, body.lines().enumerate().map(plain).collect());
            return Ok(true);
        }
        let token = match self.peek() {
            None => Token::End,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => Token::Word(self.take_while(word)),
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some('.') if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.number()?
            }
            Some(quote @ ('"' | '\'')) => Token::Text(self.string(quote)?),
            Some(c) if c.is_ascii_punctuation() => {
                self.bump();
                Token::Symbol(c)
            }
            Some(c) => return Err((at, format!("unexpected character {c:?}"))),
        };
        let more = token != Token::End;
        self.tokens.push(PlacedToken { token, at, comments: self.comments.len() });
        Ok(more)
    }

    fn comment(&mut self, first: u32, mut lines: Vec<String>) {
        for line in &mut lines {
            *line = line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
        }
        let last = self.at.line;
        // An empty `//` line separates paragraphs; lines that only frame a block comment are dropped.
        if first != last {
            lines = trim(lines);
        }
        self.comments.push(Comment { lines, first, last });
    }

    fn number(&mut self) -> Result<Token<'a>, PlacedMessage> {
        let at = self.at;
        let mut exponent = false;
        let hex = self.rest.starts_with("0x") || self.rest.starts_with("0X");
        let len = self
            .rest
            .find(|c: char| {
                let sign = exponent && (c == '+' || c == '-');
                exponent = !hex && (c == 'e' || c == 'E');
                !(word(c) || c == '.' || sign)
            })
            .unwrap_or(self.rest.len());
        let text = self.take(len);
        let wrong = || (at, format!("{text} is not a number"));
        let digits = |c: char| c.is_ascii_digit();
        let whole = if hex {
            u64::from_str_radix(&text[2..], 16)
        } else if text.len() > 1 && text.starts_with('0') && text.chars().all(digits) {
            u64::from_str_radix(&text[1..], 8)
        } else if text.chars().all(digits) {
            // A number too large for an integer may still be a float.
            match text.parse() {
                Ok(value) => Ok(value),
                Err(_) => return text.parse().map(Token::Float).map_err(|_| wrong()),
            }
        } else {
            return text.parse().map(Token::Float).map_err(|_| wrong());
        };
        whole.map(Token::Int).map_err(|_| wrong())
    }

    fn string(&mut self, quote: char) -> Result<Vec<u8>, PlacedMessage> {
        let start = self.at;
        let mut out = Vec::new();
        self.bump();
        loop {
            let at = self.at;
            match self.bump() {
                None | Some('\n') => return Err((start, "this string is not closed".into())),
                Some('\0') => return Err((at, "a string must not contain a zero byte".into())),
                Some(c) if c == quote => return Ok(out),
                Some('\\') => self.escape(at, &mut out)?,
                Some(c) => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn escape(&mut self, at: Place, out: &mut Vec<u8>) -> Result<(), PlacedMessage> {
        let byte = match self.peek() {
            Some('a') => 7,
            Some('b') => 8,
            Some('f') => 12,
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('t') => b'\t',
            Some('v') => 11,
            Some(c @ ('\\' | '\'' | '"' | '?')) => u8::try_from(c).unwrap_or(b'?'),
            Some('0'..='7') => return self.digits(at, 8, 3, out),
            Some('x' | 'X') => {
                self.bump();
                return self.digits(at, 16, 2, out);
            }
            Some(c @ ('u' | 'U')) => {
                self.bump();
                let len = if c == 'u' { 4 } else { 8 };
                let value = self.rest.get(..len).and_then(|t| u32::from_str_radix(t, 16).ok());
                let Some(c) = value.and_then(char::from_u32) else {
                    return Err((at, "this escape is not a character".into()));
                };
                self.take(len);
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
                return Ok(());
            }
            _ => return Err((at, "this escape is not known".into())),
        };
        self.bump();
        out.push(byte);
        Ok(())
    }

    /// Reads a byte of up to `max` digits.
    fn digits(
        &mut self,
        at: Place,
        radix: u32,
        max: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), PlacedMessage> {
        let len = self.rest.chars().take(max).take_while(|c| c.is_digit(radix)).count();
        let text = self.take(len);
        let byte = u32::from_str_radix(text, radix).ok().and_then(|v| u8::try_from(v).ok());
        out.push(byte.ok_or_else(|| (at, "this escape is no byte".to_owned()))?);
        Ok(())
    }
}

/// Removes empty lines at both ends.
pub(super) fn trim(mut lines: Vec<String>) -> Vec<String> {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|l| l.is_empty()).count();
    lines.drain(..blank);
    lines
}
