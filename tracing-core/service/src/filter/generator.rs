//! Writes bytecode: the counterpart of `program`, as `filter_bytecode_generator.cc` is upstream.

use super::Rule;
use super::program::checksum;
use protozero::wire::write::append_varint;

/// The services that a program is for, as in `filter_bytecode_generator.cc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Services without rules for strings.
    V1 {
        /// Whether strings with rules become plain fields; else they are denied.
        strings: bool,
    },
    /// Services that read the types of strings from an overlay.
    V2 {
        /// Whether the program itself has typed strings as untyped ones, for services without overlays.
        untyped: bool,
    },
    /// Services that read the types of strings from the program.
    V54,
}

/// Builds a program message by message.
#[derive(Clone, Debug)]
pub struct Generator {
    target: Target,
    words: Vec<u32>,
    overlay: Vec<u32>,
    message: u32,
}

impl Generator {
    /// An empty program.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self { target, words: Vec::new(), overlay: Vec::new(), message: 0 }
    }

    /// Adds a field of the current message; numbers must rise.
    #[must_use]
    pub fn field(mut self, number: u32, rule: Rule) -> Self {
        let word = |operation: u32| number.wrapping_shl(3) | operation;
        match (rule, self.target) {
            (Rule::Deny, _) => {}
            (Rule::Pass, _) => self.words.push(word(1)),
            (Rule::Message(message), _) => self.words.extend([word(3), message]),
            (Rule::String(_), Target::V1 { strings }) => {
                if strings {
                    self.words.push(word(1));
                }
            }
            (Rule::String(0), _) => self.words.push(word(4)),
            (Rule::String(kind), Target::V54) => self.words.extend([word(5), kind]),
            (Rule::String(kind), Target::V2 { untyped }) => {
                self.overlay.extend([self.message, word(5), kind]);
                if untyped {
                    self.words.push(word(4));
                }
            }
        }
        self
    }

    /// Adds `count` plain fields from `number` on.
    #[must_use]
    pub fn range(mut self, number: u32, count: u32) -> Self {
        self.words.extend([number.wrapping_shl(3) | 2, count]);
        self
    }

    /// Ends the current message.
    #[must_use]
    pub fn end(mut self) -> Self {
        self.words.push(0);
        self.message = self.message.wrapping_add(1);
        self
    }

    /// The program and its overlay; an overlay without fields is empty.
    #[must_use]
    pub fn finish(self) -> (Vec<u8>, Vec<u8>) {
        let overlay = if self.overlay.is_empty() { Vec::new() } else { encode(&self.overlay) };
        (encode(&self.words), overlay)
    }
}

/// Words and their checksum as bytes.
#[must_use]
pub fn encode(words: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    words.iter().for_each(|word| append_varint(&mut out, (*word).into()));
    append_varint(&mut out, checksum(words).into());
    out
}
