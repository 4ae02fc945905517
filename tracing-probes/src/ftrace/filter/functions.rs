//! The functions that a session asked for by name, by their addresses.

use crate::ftrace::symbols::Symbols;

/// Functions of the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Functions {
    /// Where each begins and ends, sorted.
    ranges: Box<[(u64, u64)]>,
}

impl Functions {
    /// Those that one of these patterns names: names in which `*` is any text, `?` a byte, and `[a-z]` one of some.
    pub(crate) fn named(patterns: &[String], symbols: &Symbols) -> Self {
        let is_named = |name: &str| {
            patterns.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
        };
        let ranges = symbols.iter().filter(|(name, _)| is_named(name)).map(|(_, range)| range);
        Self { ranges: ranges.collect() }
    }

    /// Is this address in one of them?
    pub(crate) fn has(&self, address: u64) -> bool {
        let behind = self.ranges.partition_point(|(begin, _)| *begin <= address);
        let before = behind.checked_sub(1).and_then(|at| self.ranges.get(at));
        before.is_some_and(|(_, end)| address < *end)
    }
}

/// Does the whole of the name match? The rules are those of the kernel for `set_ftrace_filter` (`glob_match`).
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut left, mut rest) = (pattern, name);
    // What is behind the last star, and the text that it is tried with next.
    let mut star = None;
    loop {
        if let [b'*', behind @ ..] = left {
            star = Some((behind, rest));
            left = behind;
            continue;
        }
        if left.is_empty() && rest.is_empty() {
            return true;
        }
        if let Some(next) = one(left, rest) {
            (left, rest) = next;
            continue;
        }
        // The star takes a byte more.
        let Some((behind, [_, longer @ ..])) = star else { return false };
        star = Some((behind, longer));
        (left, rest) = (behind, longer);
    }
}

/// What is left of both after one byte of the text; `None` if the pattern has another one.
fn one<'a>(pattern: &'a [u8], text: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (byte, rest) = text.split_first()?;
    if let [b'[', class @ ..] = pattern
        && let Some((has, behind)) = class_has(class, *byte)
    {
        return has.then_some((behind, rest));
    }
    match pattern {
        [b'?', behind @ ..] => Some((behind, rest)),
        [b'\\', literal, behind @ ..] | [literal, behind @ ..] => {
            (literal == byte).then_some((behind, rest))
        }
        [] => None,
    }
}

/// Whether a class of bytes, `a-z]`, has one, and what is behind it. `None`: it has no end, so it is no class.
fn class_has(class: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    // A bracket that comes first is in the class.
    let end = 1 + class.get(1..)?.iter().position(|byte| *byte == b']')?;
    let (mut set, behind) = (class.get(..end)?, class.get(end + 1..)?);
    let mut has = false;
    while let [first, after @ ..] = set {
        set = after;
        let mut last = first;
        if let [b'-', to, after @ ..] = set {
            (last, set) = (to, after);
        }
        has |= (first..=last).contains(&&byte);
    }
    Some((has, behind))
}
