//! Where the fields of an owned message go: to an [`Encoder`], or to a [`Counter`], which only adds up lengths.

use super::{Encode, Encoder, Kind, Packable};
use crate::decode::limits::DEPTH_MAX;
use crate::wire::{tag, varint};

/// Number of the key of an entry.
pub(super) const ENTRY_KEY: u32 = 1;
/// Number of the value of an entry.
pub(super) const ENTRY_VALUE: u32 = 2;

/// Takes the fields of a message, from the last to the first.
pub trait Output: Sized {
    /// Whether the order of the fields matters.
    const IN_ORDER: bool;

    /// Number of bytes so far.
    fn written(&self) -> usize;

    /// Adds bytes.
    fn raw(&mut self, bytes: &[u8]);

    /// Adds a varint.
    fn bare_varint(&mut self, value: u64);

    /// Adds four bytes.
    fn bare_fixed32(&mut self, value: u32);

    /// Adds eight bytes.
    fn bare_fixed64(&mut self, value: u64);

    /// Adds a tag.
    fn tag(&mut self, number: u32, wire_type: u32);

    /// Adds a varint field.
    fn varint(&mut self, number: u32, value: u64);

    /// Adds a four-byte field.
    fn fixed32(&mut self, number: u32, value: u32);

    /// Adds an eight-byte field.
    fn fixed64(&mut self, number: u32, value: u64);

    /// Adds a field with a length.
    fn field(&mut self, number: u32, bytes: &[u8]);

    /// Opens a nested message at its end. Pass the result to [`Output::close`]. `None` if no decoder accepts this
    /// depth.
    fn open(&mut self) -> Option<usize>;

    /// Adds the tag and length of the message that ends at `end`.
    fn close(&mut self, number: u32, end: usize);

    /// [`Output::close`] for a packed field, which is not a message.
    fn run(&mut self, number: u32, end: usize);

    /// Adds the begin tag of a group, which [`Output::open`] opened after its end tag.
    fn close_group(&mut self, number: u32);

    /// Adds what `put` writes to an encoder: for code that exists only once.
    fn through(&mut self, put: impl FnOnce(&mut Encoder<'_>));

    /// Adds a nested message.
    #[inline(always)]
    fn message<M: Encode>(&mut self, number: u32, value: &M) {
        let Some(end) = self.open() else { return };
        value.encode_fields(self);
        self.close(number, end);
    }

    /// Adds a message as a group.
    #[inline(always)]
    fn group<M: Encode>(&mut self, number: u32, value: &M) {
        if self.open().is_none() {
            return;
        }
        self.tag(number, tag::END_GROUP);
        value.encode_fields(self);
        self.close_group(number);
    }

    /// Adds the entry of a map: a message of a key and a value.
    #[inline(always)]
    fn entry<K: Kind, V: Kind>(&mut self, number: u32, key: &K::Owned, value: &V::Owned) {
        let Some(end) = self.open() else { return };
        V::put(self, ENTRY_VALUE, value);
        K::put(self, ENTRY_KEY, key);
        self.close(number, end);
    }

    /// Begins the entries of a map. False if they are not to be added.
    #[inline(always)]
    fn begin_map(&mut self, _number: u32) -> bool {
        true
    }

    /// Ends the entries of a map.
    #[inline(always)]
    fn end_map(&mut self, _number: u32) {}

    /// Adds a field for each element.
    #[inline(always)]
    fn list<K: Kind>(&mut self, number: u32, values: &[K::Owned]) {
        for value in values.iter().rev() {
            K::put(self, number, value);
        }
    }

    /// Adds one field of all elements, of which there are some.
    #[inline(always)]
    fn packed<K: Packable>(&mut self, number: u32, values: &[K::Owned]) {
        let end = self.written();
        for value in values.iter().rev() {
            K::put_bare(self, value);
        }
        self.run(number, end);
    }
}

/// The methods of the encoder that have the same name.
macro_rules! encoder {
    ($($name:ident($($argument:ident: $of:ty),*) $(-> $result:ty)?;)*) => {
        impl Output for Encoder<'_> {
            const IN_ORDER: bool = true;

            #[inline(always)]
            fn written(&self) -> usize {
                Encoder::written(self)
            }

            $(#[inline(always)]
            fn $name(&mut self, $($argument: $of),*) $(-> $result)? {
                Encoder::$name(self, $($argument),*)
            })*

            #[inline(always)]
            fn through(&mut self, put: impl FnOnce(&mut Encoder<'_>)) {
                put(self);
            }
        }
    };
}

encoder! {
    raw(bytes: &[u8]);
    bare_varint(value: u64);
    bare_fixed32(value: u32);
    bare_fixed64(value: u64);
    tag(number: u32, wire_type: u32);
    varint(number: u32, value: u64);
    fixed32(number: u32, value: u32);
    fixed64(number: u32, value: u64);
    field(number: u32, bytes: &[u8]);
    open() -> Option<usize>;
    close(number: u32, end: usize);
    run(number: u32, end: usize);
    close_group(number: u32);
}

/// Counts the bytes that an encoder would write, with the same limit of depth.
#[derive(Debug, Default)]
pub struct Counter {
    len: usize,
    /// Number of open messages around the current one.
    depth: u32,
}

impl Counter {
    #[inline(always)]
    fn add(&mut self, len: usize) {
        // A message may have the same shared bytes many times. The sum fits 64 bits, but maybe not 32.
        self.len = match usize::BITS {
            64.. => self.len.wrapping_add(len),
            _ => self.len.saturating_add(len),
        };
    }

    /// Adds a tag and a length.
    #[inline(always)]
    fn length(&mut self, number: u32, len: usize) {
        // Most lengths have one byte.
        let more = if len < 0x80 { 1 } else { varint::len(len as u64) };
        self.add(tag_len(number) + more);
    }
}

/// Length of the tag of a field.
#[inline(always)]
fn tag_len(number: u32) -> usize {
    varint::len(u64::from(tag::tag(number, tag::VARINT)))
}

impl Output for Counter {
    const IN_ORDER: bool = false;

    #[inline(always)]
    fn written(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn raw(&mut self, bytes: &[u8]) {
        self.add(bytes.len());
    }

    #[inline(always)]
    fn bare_varint(&mut self, value: u64) {
        self.add(varint::len(value));
    }

    #[inline(always)]
    fn bare_fixed32(&mut self, _: u32) {
        self.add(4);
    }

    #[inline(always)]
    fn bare_fixed64(&mut self, _: u64) {
        self.add(8);
    }

    #[inline(always)]
    fn tag(&mut self, number: u32, _: u32) {
        self.add(tag_len(number));
    }

    #[inline(always)]
    fn varint(&mut self, number: u32, value: u64) {
        self.add(tag_len(number) + varint::len(value));
    }

    #[inline(always)]
    fn fixed32(&mut self, number: u32, _: u32) {
        self.add(tag_len(number) + 4);
    }

    #[inline(always)]
    fn fixed64(&mut self, number: u32, _: u64) {
        self.add(tag_len(number) + 8);
    }

    #[inline(always)]
    fn field(&mut self, number: u32, bytes: &[u8]) {
        self.length(number, bytes.len());
        self.add(bytes.len());
    }

    #[inline(always)]
    fn open(&mut self) -> Option<usize> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        Some(self.len)
    }

    #[inline(always)]
    fn close(&mut self, number: u32, end: usize) {
        self.depth -= 1;
        self.run(number, end);
    }

    #[inline(always)]
    fn run(&mut self, number: u32, end: usize) {
        self.length(number, self.len.wrapping_sub(end));
    }

    #[inline(always)]
    fn close_group(&mut self, number: u32) {
        self.depth -= 1;
        self.add(tag_len(number));
    }

    #[inline]
    fn through(&mut self, put: impl FnOnce(&mut Encoder<'_>)) {
        let mut out = Encoder::counting(self.depth);
        put(&mut out);
        self.add(out.written());
    }
}
