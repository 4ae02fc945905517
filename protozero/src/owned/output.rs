//! Where the fields of an owned message go: to an [`Encoder`], or to a [`Counter`], which only adds up lengths.

use super::{Encoder, Output};
use crate::decode::limits::DEPTH_MAX;
use crate::wire::{tag, varint};

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
    open_flat() -> Option<usize>;
    close(number: u32, end: usize);
    run(number: u32, end: usize);
    close_group(number: u32);
    expect_elements(count: usize);
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
        let end = self.open_flat()?;
        self.depth += 1;
        Some(end)
    }

    #[inline(always)]
    fn open_flat(&mut self) -> Option<usize> {
        (self.depth < DEPTH_MAX).then_some(self.len)
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
