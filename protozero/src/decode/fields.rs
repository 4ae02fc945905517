//! What generated readers are made of: [`Reader`] with typed reads, whose packed runs look like
//! elements that stand alone.
//!
//! A generated reader matches on whole tags:
//!
//! ```text
//! loop {
//!     let Some(tag) = fields.next_tag()? else { return Ok(None) };
//!     return Ok(Some(match tag {
//!         8  => Timestamp(fields.uint64()?),
//!         24 => CategoryIids(fields.uint64()?),
//!         26 => { fields.begin_run(24)?; continue }    the same field, packed: from here on
//!         _  => Unknown(fields.unknown(tag)?),         next_tag says 24 until the run is over
//!     }));
//! }
//! ```

use super::field::Field;
use super::reader::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::zigzag;

/// See the module. After an error (but for one about UTF-8) there are no more fields.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    /// Where the field being read begins.
    start: Reader<'a>,
    /// Tag of the elements of the packed run being read; 0 outside of runs.
    element: u32,
    /// Where to go on after the run.
    after: Reader<'a>,
}

impl<'a> Fields<'a> {
    /// The fields of the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        let reader = Reader::new(bytes);
        Self { reader, start: reader, element: 0, after: reader }
    }

    /// The tag of the next field or element; `None` at the end.
    ///
    /// # Errors
    /// As [`Reader::tag`].
    #[inline(always)]
    pub fn next_tag(&mut self) -> Result<Option<u32>, DecodeError> {
        if self.element != 0 {
            if !self.reader.is_empty() {
                return Ok(Some(self.element));
            }
            self.element = 0;
            self.reader = self.after;
        }
        if self.reader.is_empty() {
            return Ok(None);
        }
        self.start = self.reader;
        self.reader.tag().map(Some)
    }

    /// Enters a packed run whose elements, if they stood alone, would have the tag `element`.
    ///
    /// # Errors
    /// As [`Reader::bytes`].
    #[inline]
    pub fn begin_run(&mut self, element: u32) -> Result<(), DecodeError> {
        let run = self.bytes()?;
        self.after = self.reader;
        self.reader = self.reader.part(run);
        self.element = element;
        Ok(())
    }

    /// The field whose tag was just read, whatever it is.
    ///
    /// # Errors
    /// As [`Reader::next_field`].
    #[inline]
    pub fn unknown(&mut self, tag: u32) -> Result<Field<'a>, DecodeError> {
        self.reader.field(self.start, tag)
    }

    /// Ends the message: an error is final, also one in a run.
    #[inline(always)]
    fn checked<T>(&mut self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                if error.kind != DecodeErrorKind::Utf8 {
                    self.after = self.reader;
                }
                Err(DecodeError { offset: self.start.position(), ..error })
            }
        }
    }
}

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident -> $type:ty = $wire:ident |$v:ident| $convert:expr;)*) => {
        impl<'a> Fields<'a> {
            $($(#[$doc])*
            ///
            /// # Errors
            /// [`DecodeError`] if the input ends before the value does, or the varint is too long.
            #[inline(always)]
            pub fn $name(&mut self) -> Result<$type, DecodeError> {
                let result = self.reader.$wire();
                let $v = self.checked(result)?;
                Ok($convert)
            })*
        }
    };
}

reads! {
    /// Reads a `uint64`.
    uint64 -> u64 = varint |v| v;
    /// Reads a `uint32`.
    uint32 -> u32 = varint |v| v as u32;
    /// Reads an `int64`.
    int64 -> i64 = varint |v| v as i64;
    /// Reads an `int32`.
    int32 -> i32 = varint |v| v as i32;
    /// Reads an enum.
    enumeration -> i32 = varint |v| v as i32;
    /// Reads a `sint64`.
    sint64 -> i64 = varint |v| zigzag::decode64(v);
    /// Reads a `sint32`.
    sint32 -> i32 = varint |v| zigzag::decode32(v as u32);
    /// Reads a `bool`.
    bool -> bool = varint |v| v != 0;
    /// Reads a `fixed32`.
    fixed32 -> u32 = fixed32 |v| v;
    /// Reads a `sfixed32`.
    sfixed32 -> i32 = fixed32 |v| v as i32;
    /// Reads a `float`.
    float -> f32 = fixed32 |v| f32::from_bits(v);
    /// Reads a `fixed64`.
    fixed64 -> u64 = fixed64 |v| v;
    /// Reads a `sfixed64`.
    sfixed64 -> i64 = fixed64 |v| v as i64;
    /// Reads a `double`.
    double -> f64 = fixed64 |v| f64::from_bits(v);
    /// Reads `bytes`, or the body of a message.
    bytes -> &'a [u8] = bytes |v| v;
    /// Reads a `string`; one that is not UTF-8 is an error after which reading goes on.
    string -> &'a str = string |v| v;
}
