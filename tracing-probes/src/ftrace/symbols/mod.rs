//! Names of functions of the kernel, from `/proc/kallsyms`.
//!
//! ```text
//! ffffffff81000000 T _stext            address, type, name, [module] of a symbol
//!
//! starts   offsets of the functions from the lowest one, sorted ──┐ same index
//! names    where the name of each begins in `text` ───────────────┘
//! text     all names, one behind the other
//! ```
//!
//! Types `t` and `T` are functions. Without rights, all addresses are zero.

mod restrict;
#[cfg(test)]
mod tests;

pub(crate) use restrict::{Restrict, Revealed};

/// Bytes of a name that are kept.
const NAME_MAX: usize = 128;
/// Most functions. A kernel with all its modules has a tenth of it.
const SYMBOLS_MAX: usize = 2 << 20;
/// How far behind its begin a function may reach, bytes.
const REACH: u64 = 1 << 20;
/// Longest line. What is longer is no symbol.
const LINE_MAX: usize = 4096;

/// The functions of the running kernel.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    base: u64,
    starts: Box<[u64]>,
    names: Box<[u32]>,
    text: Box<str>,
}

/// Reads `kallsyms` piece by piece.
#[derive(Debug)]
pub(crate) struct Parser {
    symbols_max: usize,
    /// The begin of a line whose end has not been read.
    line: Vec<u8>,
    is_too_long: bool,
    /// Address, and where the name begins in `text`.
    found: Vec<(u64, u32)>,
    text: String,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_max(SYMBOLS_MAX)
    }
}

impl Parser {
    /// Keeps so many functions at most.
    fn with_max(symbols_max: usize) -> Self {
        let (line, found, text) = (Vec::new(), Vec::new(), String::new());
        Self { symbols_max, line, is_too_long: false, found, text }
    }

    /// Takes the next bytes of the file, at any cut.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.line.is_empty() && !self.is_too_long {
                self.symbol(line);
                continue;
            }
            self.keep(line);
            let whole = std::mem::take(&mut self.line);
            if !self.is_too_long {
                self.symbol(&whole);
            }
            self.line = whole;
            self.line.clear();
            self.is_too_long = false;
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LINE_MAX {
            self.is_too_long = true;
            self.line.clear();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn symbol(&mut self, line: &[u8]) {
        let line = Some(line).filter(|line| line.len() <= LINE_MAX);
        let Some((address, name)) = line.and_then(function) else { return };
        let Ok(at) = u32::try_from(self.text.len()) else { return };
        if self.found.len() < self.symbols_max {
            self.found.push((address, at));
            self.text.push_str(name);
        }
    }

    /// The table.
    pub(crate) fn finish(mut self) -> Symbols {
        let last = std::mem::take(&mut self.line);
        self.symbol(&last);
        // Stable: of the names of an address, the first in the file stays.
        let mut sorted: Vec<(u64, u32, u32)> = Vec::with_capacity(self.found.len());
        let ends = self.found.iter().skip(1).map(|(_, at)| *at).chain([self.text.len() as u32]);
        sorted.extend(self.found.iter().zip(ends).map(|((address, at), end)| (*address, *at, end)));
        sorted.sort_by_key(|(address, ..)| *address);
        sorted.dedup_by_key(|(address, ..)| *address);
        let base = sorted.first().map_or(0, |(address, ..)| *address);
        let (mut starts, mut names) = (Vec::new(), Vec::new());
        let mut text = String::with_capacity(self.text.len());
        for (address, from, to) in sorted {
            starts.push(address - base);
            names.push(text.len() as u32);
            text.push_str(self.text.get(from as usize..to as usize).unwrap_or_default());
        }
        let (starts, names) = (starts.into_boxed_slice(), names.into_boxed_slice());
        Symbols { base, starts, names, text: text.into_boxed_str() }
    }
}

/// Address and name of a function; `None` for other symbols.
fn function(line: &[u8]) -> Option<(u64, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address != 0)?;
    let is_function = matches!(words.next()?, "t" | "T");
    let name = words.next()?;
    let name = name.strip_suffix(".cfi_jt").or(name.strip_suffix(".cfi")).unwrap_or(name);
    let name = name.get(..name.floor_char_boundary(NAME_MAX)).unwrap_or(name);
    (is_function && !name.starts_with('$')).then_some((address, name))
}

impl Symbols {
    /// How many functions there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Memory of the table, bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.names) + self.text.len()
    }

    /// Name, begin and end of each function, by their begins.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, (u64, u64))> {
        let begins = || self.starts.iter().map(|start| self.base.wrapping_add(*start));
        let ends = begins().skip(1).chain([u64::MAX]);
        begins().zip(ends).filter_map(|(begin, end)| {
            Some((self.name(begin)?, (begin, end.min(begin.saturating_add(REACH + 1)))))
        })
    }

    /// The function that `address` lies in.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let offset = address.checked_sub(self.base)?;
        let index = self.starts.partition_point(|start| *start <= offset).checked_sub(1)?;
        if offset - self.starts.get(index)? > REACH {
            return None;
        }
        let from = *self.names.get(index)? as usize;
        let to = self.names.get(index + 1).map_or(self.text.len(), |to| *to as usize);
        self.text.get(from..to)
    }
}
