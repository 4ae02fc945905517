//! A field of a format, and its value in a record.

use super::Val;

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) declaration: String,
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) is_signed: bool,
}

/// What a field is, with the number of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bytes,
    ToEnd,
    Array { is_near: bool, of: &'static str },
    Arguments,
    Printk,
    Address,
    Inode,
    Device,
    Pid,
    Integer,
    Bool,
}

/// The record does not fit its format.
pub(super) struct Bad;

pub(super) fn line(line: &str) -> Option<Field> {
    let parts: Vec<&str> = line.strip_prefix("field:")?.split(';').map(str::trim_ascii).collect();
    let [declaration, at, len, signed, ..] = parts[..] else { return None };
    let number = |part: &str, key| part.strip_prefix(key)?.trim_ascii().parse::<u16>().ok();
    let (at, len) = (number(at, "offset:")?, number(len, "size:")?);
    let is_signed = number(signed, "signed:")? != 0;
    if declaration.len() > 127 || usize::from(at) + usize::from(len) > 65535 {
        return None;
    }
    let mut named = declaration.to_owned();
    if named.ends_with(']') {
        named.truncate(named.rfind('[')?);
    }
    let name = named[named.rfind(' ')? + 1..].to_owned();
    let is_letter = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.chars().all(is_letter)
    {
        return None;
    }
    Some(Field {
        declaration: declaration.to_owned(),
        name,
        at: at.into(),
        len: len.into(),
        is_signed,
    })
}

impl Field {
    pub(super) fn kind(&self) -> Option<Kind> {
        let text = self.declaration.as_str();
        let is_word = matches!(self.len, 4 | 8);
        let bytes =
            ["u8", "__u8", "uint8_t", "unsigned char", "s8", "__s8", "int8_t", "signed char"];
        if let Some((head, count)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('['))
            && let Some((element, _)) = head.rsplit_once(' ')
            && self.len > 0
            && !count.is_empty()
            && count.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        {
            let element = element.trim_ascii();
            if bytes.contains(&element) {
                return Some(Kind::Bytes);
            }
            if element.ends_with("char") {
                return Some(Kind::Text);
            }
        }
        for (word, is_near) in [("__data_loc ", false), ("__rel_loc ", true)] {
            let Some(at) = text.find(word) else { continue };
            let rest = &text[at + word.len()..];
            let rest = &rest[..rest.rfind(' ').unwrap_or(rest.len())];
            let element = rest[..rest.find('[').unwrap_or(rest.len())].trim_ascii();
            let of = match element {
                "char" | "const char" => "text",
                "unsigned long" => "address",
                element if bytes.contains(&element) => "bytes",
                element if element.contains('*') => "address",
                _ => "bytes",
            };
            return (self.len == 4).then_some(Kind::Array { is_near, of });
        }
        if text == "unsigned long args[6]" {
            return matches!(self.len, 24 | 48).then_some(Kind::Arguments);
        }
        if text.contains("char[] ") || text.contains("char * ") {
            return is_word.then_some(Kind::Printk);
        }
        let names_code = ["ip", "call_site"].contains(&self.name.as_str())
            || self.name.starts_with("caller")
            || self.name.starts_with("func");
        if text.contains('*') || names_code && text == format!("unsigned long {}", self.name) {
            return is_word.then_some(Kind::Address);
        }
        Some(match self.len {
            0 if text.starts_with("char ") => Kind::ToEnd,
            1 if text.starts_with("bool ") => Kind::Bool,
            4 | 8 if text.starts_with("ino_t ") || text.starts_with("i_ino ") => Kind::Inode,
            4 | 8 if text.starts_with("dev_t ") => Kind::Device,
            4 if text.starts_with("pid_t ") => Kind::Pid,
            1 | 2 | 4 | 8 => Kind::Integer,
            _ => return None,
        })
    }

    /// Whether the field becomes one of this type: a letter of `schema`, `b` for bytes.
    pub(super) fn becomes(&self, letter: char) -> bool {
        let Some(kind) = self.kind() else { return false };
        match (kind, letter) {
            (Kind::Array { of, .. }, 's' | 'b') => of != "address",
            (Kind::Text | Kind::Bytes, 's' | 'b') => true,
            (Kind::ToEnd | Kind::Printk, 's') => true,
            (_, 's' | 'b') | (Kind::Text | Kind::ToEnd | Kind::Printk | Kind::Array { .. }, _) => {
                false
            }
            (Kind::Bytes, _) => matches!(self.len, 1 | 2 | 4 | 8),
            (Kind::Device | Kind::Arguments, letter) => letter == 'U',
            _ => true,
        }
    }

    /// The type of the field in a generic event.
    pub(super) fn generic(&self) -> Option<char> {
        let letter = match self.kind()? {
            Kind::Text | Kind::ToEnd | Kind::Printk | Kind::Array { of: "text", .. } => 's',
            Kind::Array { of: "address", .. } | Kind::Arguments => return None,
            Kind::Bytes | Kind::Array { .. } => 'b',
            Kind::Pid => 'I',
            Kind::Integer if self.is_signed => 'I',
            _ => 'U',
        };
        Some(letter)
    }

    /// What is written for a field of a type; `None` if the type does not have the value.
    pub(super) fn values(
        &self,
        record: &[u8],
        letter: char,
        pass: &mut Vec<u64>,
        printk: &[(u64, Vec<u8>)],
    ) -> Result<Vec<Val>, Bad> {
        let to_nul = |bytes: &[u8]| bytes.split(|byte| *byte == 0).next().unwrap_or(&[]).to_vec();
        let kind = self.kind().ok_or(Bad)?;
        let bytes = match kind {
            Kind::ToEnd => record.get(self.at..),
            _ => record.get(self.at..self.at + self.len),
        };
        let bytes = bytes.ok_or(Bad)?;
        let value = match kind {
            Kind::Text | Kind::Bytes | Kind::ToEnd if letter == 's' => Val::Bytes(to_nul(bytes)),
            Kind::Text | Kind::Bytes if letter == 'b' => Val::Bytes(bytes.to_vec()),
            Kind::Array { is_near, .. } => {
                let (offset, len) = (unsigned(&bytes[..2]), unsigned(&bytes[2..]));
                let begin = offset as usize + if is_near { self.at + 4 } else { 0 };
                let there = match len {
                    0 => &[],
                    _ => record.get(begin..begin + len as usize).ok_or(Bad)?,
                };
                Val::Bytes(if letter == 's' { to_nul(there) } else { there.to_vec() })
            }
            Kind::Printk => {
                let found = printk.iter().find(|(address, _)| *address == unsigned(bytes));
                Val::Bytes(found.map(|(_, text)| text.clone()).unwrap_or_default())
            }
            Kind::Arguments => {
                let words = bytes.chunks_exact(self.len / 6);
                return Ok(words.map(|word| Val::Number(unsigned(word))).collect());
            }
            Kind::Address => Val::Number(index(pass, unsigned(bytes))),
            Kind::Device if letter == 'U' => Val::Number(device(unsigned(bytes))),
            kind => {
                let is_signed = kind == Kind::Pid
                    || self.is_signed && matches!(kind, Kind::Integer | Kind::Bytes);
                let mut value = i128::from(unsigned(bytes));
                if is_signed && bytes[bytes.len() - 1] >= 128 {
                    value -= 1 << (8 * bytes.len());
                }
                let (low, high) = match letter {
                    'u' => (0, (1 << 32) - 1),
                    'U' => (0, (1 << 64) - 1),
                    'i' => (-(1 << 31), (1 << 31) - 1),
                    _ => (-(1 << 63), (1 << 63) - 1),
                };
                if value < low || value > high {
                    return Ok(Vec::new());
                }
                Val::Number(value as u64)
            }
        };
        Ok(vec![value])
    }
}

pub(super) fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The number of an address in a pass.
pub(super) fn index(pass: &mut Vec<u64>, address: u64) -> u64 {
    if !pass.contains(&address) {
        pass.push(address);
    }
    pass.iter().position(|other| *other == address).map_or(0, |at| at as u64 + 1)
}

/// The kernel has twelve bits of the major number and twenty of the minor one; user space has them in other places.
fn device(kernel: u64) -> u64 {
    let (major, minor) = (kernel >> 20, kernel % (1 << 20));
    (minor % 256) | (major % 4096) << 8 | (minor / 256) << 20 | (major / 4096) << 44
}
