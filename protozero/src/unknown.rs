//! Unknown fields of a message, in encoded form.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::decode::{Field, Reader};
use crate::wire::{tag, varint};

/// Fields that a message type does not know, with their tags, in the order of decoding.
///
/// Encoding writes them unchanged after the known fields, so that a program preserves fields of a
/// newer sender.
#[derive(Clone, Default)]
pub struct UnknownFields {
    /// Boxed, because every message has this field and it is nearly always empty.
    kept: Option<Box<Kept>>,
}

#[derive(Clone, Default)]
struct Kept {
    bytes: Vec<u8>,
}

impl UnknownFields {
    /// Bytes of the heap block of the first field, without its content.
    #[cfg(feature = "text")]
    pub(crate) const KEPT: usize = size_of::<Kept>();

    /// Bytes of the two heap blocks for the first field, of four words each with what an allocator adds.
    const BLOCKS: usize = 2 * size_of::<[usize; 4]>();

    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: None }
    }

    /// Appends `field`.
    pub fn push(&mut self, field: &Field<'_>) {
        self.bytes().extend_from_slice(field.raw);
    }

    /// Appends a varint field.
    ///
    /// # Panics
    /// If `number` is not a valid field number.
    pub fn push_varint(&mut self, number: u32, value: u64) {
        self.push_tag(number, tag::VARINT);
        self.push_bare(value);
    }

    /// Appends a field with a length: a string, bytes or a message.
    ///
    /// # Panics
    /// If `number` is not a valid field number.
    pub fn push_bytes(&mut self, number: u32, bytes: &[u8]) {
        self.push_tag(number, tag::LEN);
        self.push_bare(bytes.len() as u64);
        self.bytes().extend_from_slice(bytes);
    }

    /// Bytes of memory that the next field takes besides its content: those of the blocks if it is the first one.
    pub(crate) fn growth(&self) -> usize {
        if self.kept.is_none() { Self::BLOCKS } else { 0 }
    }

    /// Appends fields that are encoded already.
    pub(crate) fn push_encoded(&mut self, fields: &[u8]) {
        self.bytes().extend_from_slice(fields);
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.kept.get_or_insert_default().bytes
    }

    fn push_tag(&mut self, number: u32, wire_type: u32) {
        assert!(number != 0 && number <= tag::NUMBER_MAX, "invalid field number {number}");
        self.push_bare(u64::from(tag::tag(number, wire_type)));
    }

    fn push_bare(&mut self, value: u64) {
        let mut out = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut out);
        self.bytes().extend_from_slice(&out[..len]);
    }

    /// Keeps only the fields for which `keep` returns true, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Field<'_>) -> bool) {
        let mut kept = Vec::new();
        for field in self.iter().filter(|field| keep(field)) {
            kept.extend_from_slice(field.raw);
        }
        self.kept = (!kept.is_empty()).then(|| Box::new(Kept { bytes: kept }));
    }

    /// True if there are no fields.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// The encoded fields, with their tags.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.kept.as_ref().map_or(&[], |kept| &kept.bytes)
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.kept = None;
    }

    /// Iterates over the fields.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let mut reader = Reader::new(self.as_bytes());
        // Only complete fields are appended, so decoding cannot fail.
        core::iter::from_fn(move || reader.next_field().ok().flatten())
    }
}

impl PartialEq for UnknownFields {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for UnknownFields {}

impl Hash for UnknownFields {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

/// Shows only numbers and sizes: payloads would make the output of the surrounding struct
/// unreadable.
impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.iter().map(|field| (field.number, field.raw.len()));
        f.debug_list().entries(sizes.map(|(number, len)| DebugField { number, len })).finish()
    }
}

struct DebugField {
    number: u32,
    len: usize,
}

impl fmt::Debug for DebugField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}: {} B", self.number, self.len)
    }
}
