//! Fields a struct does not know, kept as they came.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::decode::{Field, Reader};
use crate::wire::{tag, varint};

/// Fields a message does not know, tags included, in the order they were met.
///
/// They are written back verbatim after the known ones, so that a message passes unharmed through a
/// program that is older than its sender.
#[derive(Clone, Default)]
pub struct UnknownFields {
    /// Behind a pointer: every message has one of these, and next to none has anything in it.
    kept: Option<Box<Kept>>,
}

#[derive(Clone, Default)]
struct Kept {
    bytes: Vec<u8>,
}

impl UnknownFields {
    /// Bytes of memory the first one takes, but for its own.
    #[cfg(feature = "text")]
    pub(crate) const KEPT: usize = size_of::<Kept>();

    /// No fields.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: None }
    }

    /// Keeps `field`.
    pub fn push(&mut self, field: &Field<'_>) {
        self.bytes().extend_from_slice(field.raw);
    }

    /// Keeps a varint field.
    ///
    /// # Panics
    /// If `number` is no field number.
    pub fn push_varint(&mut self, number: u32, value: u64) {
        self.push_tag(number, tag::VARINT);
        self.push_bare(value);
    }

    /// Keeps a field of `bytes` with their length: a string, bytes, a message.
    ///
    /// # Panics
    /// If `number` is no field number.
    pub fn push_bytes(&mut self, number: u32, bytes: &[u8]) {
        self.push_tag(number, tag::LEN);
        self.push_bare(bytes.len() as u64);
        self.bytes().extend_from_slice(bytes);
    }

    /// Keeps fields that are encoded already.
    pub(crate) fn push_encoded(&mut self, fields: &[u8]) {
        self.bytes().extend_from_slice(fields);
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.kept.get_or_insert_default().bytes
    }

    fn push_tag(&mut self, number: u32, wire_type: u32) {
        assert!(number != 0 && number <= tag::NUMBER_MAX, "no field number: {number}");
        self.push_bare(u64::from(tag::tag(number, wire_type)));
    }

    fn push_bare(&mut self, value: u64) {
        let mut out = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut out);
        self.bytes().extend_from_slice(&out[..len]);
    }

    /// Keeps the fields for which `keep` says so, in their order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Field<'_>) -> bool) {
        let mut kept = Vec::new();
        for field in self.iter().filter(|field| keep(field)) {
            kept.extend_from_slice(field.raw);
        }
        self.kept = (!kept.is_empty()).then(|| Box::new(Kept { bytes: kept }));
    }

    /// True if there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// The fields as they came, tags included.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.kept.as_ref().map_or(&[], |kept| &kept.bytes)
    }

    /// Forgets all fields.
    pub fn clear(&mut self) {
        self.kept = None;
    }

    /// The fields one by one.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        let mut reader = Reader::new(self.as_bytes());
        // Only whole fields are pushed, so there is no error to meet.
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

/// Numbers and sizes only: whole payloads would drown the struct around them.
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
