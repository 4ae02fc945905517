//! Strings and bytes. Owned types copy them from the input or share its memory, views borrow them.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::{Implicit, Kind, Output, Read, from_json};
use crate::decode::{DecodeContext, Field, Value};
use crate::error::{DecodeErrorKind, ReadError};

/// A type that can hold a copy of a `string`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a copy of a protobuf string",
    note = "`String`, `Cow<'_, str>`, `Box<str>` and, with the feature `bytes`, `protozero::SharedStr` \
            can; `&str` can in a struct that derives `MessageView`"
)]
pub trait TextValue: AsRef<str> + Default {
    /// Copies `text`.
    fn set_text(&mut self, text: &str);

    /// Shares the input that `context` has, of which `text` is a part; otherwise copies `text`.
    #[inline]
    fn set_text_within(&mut self, text: &str, _context: DecodeContext<'_>) {
        self.set_text(text);
    }
}

/// A type that can borrow a `string`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot borrow a protobuf string",
    note = "`&'a str` and `Cow<'a, str>` can, with the lifetime of the struct"
)]
pub trait TextBorrow<'a>: AsRef<str> + Default {
    /// Borrows `text`.
    fn borrow_text(&mut self, text: &'a str);
}

/// A type that can hold a copy of `bytes`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a copy of protobuf bytes",
    note = "`Vec<u8>`, `Cow<'_, [u8]>`, `Box<[u8]>` and, with the feature `bytes`, `bytes::Bytes` \
            can; `&[u8]` can in a struct that derives `MessageView`"
)]
pub trait BytesValue: AsRef<[u8]> + Default {
    /// Copies `bytes`.
    fn set_bytes(&mut self, bytes: &[u8]);

    /// Shares the input that `context` has, of which `bytes` are a part; otherwise copies `bytes`.
    #[inline]
    fn set_bytes_within(&mut self, bytes: &[u8], _context: DecodeContext<'_>) {
        self.set_bytes(bytes);
    }
}

/// A type that can borrow `bytes`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot borrow protobuf bytes",
    note = "`&'a [u8]` and `Cow<'a, [u8]>` can, with the lifetime of the struct"
)]
pub trait BytesBorrow<'a>: AsRef<[u8]> + Default {
    /// Borrows `bytes`.
    fn borrow_bytes(&mut self, bytes: &'a [u8]);
}

impl TextValue for String {
    /// Reuses its memory, or allocates as much as the text has.
    #[inline]
    fn set_text(&mut self, text: &str) {
        if self.capacity() < text.len() {
            *self = text.to_owned();
        } else {
            self.clear();
            self.push_str(text);
        }
    }
}

impl TextValue for Box<str> {
    #[inline]
    fn set_text(&mut self, text: &str) {
        *self = text.into();
    }
}

impl TextValue for Cow<'_, str> {
    #[inline]
    fn set_text(&mut self, text: &str) {
        *self = Cow::Owned(text.to_owned());
    }
}

impl<'a> TextBorrow<'a> for Cow<'a, str> {
    #[inline]
    fn borrow_text(&mut self, text: &'a str) {
        *self = Cow::Borrowed(text);
    }
}

impl<'a> TextBorrow<'a> for &'a str {
    #[inline]
    fn borrow_text(&mut self, text: &'a str) {
        *self = text;
    }
}

impl BytesValue for Vec<u8> {
    /// Reuses its memory, or allocates as many bytes as there are.
    #[inline]
    fn set_bytes(&mut self, bytes: &[u8]) {
        if self.capacity() < bytes.len() {
            *self = bytes.to_owned();
        } else {
            self.clear();
            self.extend_from_slice(bytes);
        }
    }
}

impl BytesValue for Box<[u8]> {
    #[inline]
    fn set_bytes(&mut self, bytes: &[u8]) {
        *self = bytes.into();
    }
}

#[cfg(feature = "bytes")]
impl BytesValue for bytes::Bytes {
    #[inline]
    fn set_bytes(&mut self, bytes: &[u8]) {
        *self = bytes::Bytes::copy_from_slice(bytes);
    }

    #[inline]
    fn set_bytes_within(&mut self, bytes: &[u8], context: DecodeContext<'_>) {
        match context.share(bytes) {
            Some(shared) => *self = shared,
            None => self.set_bytes(bytes),
        }
    }
}

impl BytesValue for Cow<'_, [u8]> {
    #[inline]
    fn set_bytes(&mut self, bytes: &[u8]) {
        *self = Cow::Owned(bytes.to_owned());
    }
}

impl<'a> BytesBorrow<'a> for Cow<'a, [u8]> {
    #[inline]
    fn borrow_bytes(&mut self, bytes: &'a [u8]) {
        *self = Cow::Borrowed(bytes);
    }
}

impl<'a> BytesBorrow<'a> for &'a [u8] {
    #[inline]
    fn borrow_bytes(&mut self, bytes: &'a [u8]) {
        *self = bytes;
    }
}

/// A copied `string`. Text that is not UTF-8 is an error if `CHECKED`, otherwise an unknown field.
#[derive(Debug)]
pub struct Text<T = String, const CHECKED: bool = false>(PhantomData<T>);

/// A copied `string` that must be UTF-8.
pub type Utf8 = Text<String, true>;

/// The same in another type.
pub type Utf8In<T> = Text<T, true>;

/// A borrowed `string`; `CHECKED` as in [`Text`].
#[derive(Debug)]
pub struct TextView<T, const CHECKED: bool = false>(PhantomData<T>);

/// A borrowed `string` that must be UTF-8.
pub type Utf8View<T> = TextView<T, true>;

/// Copied `bytes`.
#[derive(Debug)]
pub struct Bytes<T = Vec<u8>>(PhantomData<T>);

/// Borrowed `bytes`.
#[derive(Debug)]
pub struct BytesView<T>(PhantomData<T>);

fn text<'a, const CHECKED: bool>(field: &Field<'a>) -> Result<Option<&'a str>, ReadError> {
    match field.value.string() {
        Ok(text) => Ok(Some(text)),
        Err(DecodeErrorKind::Utf8) if CHECKED => Err(DecodeErrorKind::Utf8.at(0)),
        Err(_) => Ok(None),
    }
}

/// The common parts of copies and views.
macro_rules! kinds {
    ($($kind:ident $(<$check:ident>)?, $slice:ty;)*) => {$(
        impl<T: AsRef<$slice> + Default $(, const $check: bool)?> Kind for $kind<T $(, $check)?> {
            type Owned = T;

            #[inline]
            fn put<O: Output>(out: &mut O, number: u32, value: &T) {
                let value: &$slice = value.as_ref();
                out.field(number, value.as_ref());
            }
        }

        impl<T: AsRef<$slice> + Default $(, const $check: bool)?> Implicit for $kind<T $(, $check)?> {
            #[inline]
            fn is_default(value: &T) -> bool {
                value.as_ref().is_empty()
            }
        }
    )*};
}

kinds! {
    Text<CHECKED>, str;
    TextView<CHECKED>, str;
    Bytes, [u8];
    BytesView, [u8];
}

impl<T: TextValue, const CHECKED: bool> Read<'_> for Text<T, CHECKED> {
    fn merge(
        slot: &mut T,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        match text::<CHECKED>(field)? {
            Some(text) => slot.set_text_within(text, context),
            None => return from_json::text(field, context, |text| slot.set_text(text)),
        }
        Ok(true)
    }

    fn is_invalid(value: &Value<'_>) -> bool {
        matches!(value, Value::Len(_))
    }
}

impl<'a, T: TextBorrow<'a>, const CHECKED: bool> Read<'a> for TextView<T, CHECKED> {
    fn merge(slot: &mut T, field: &Field<'a>, _: DecodeContext<'_>) -> Result<bool, ReadError> {
        let text = text::<CHECKED>(field)?;
        Ok(text.map(|text| slot.borrow_text(text)).is_some())
    }

    fn is_invalid(value: &Value<'_>) -> bool {
        matches!(value, Value::Len(_))
    }
}

impl<T: BytesValue> Read<'_> for Bytes<T> {
    fn merge(
        slot: &mut T,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let Value::Len(bytes) = field.value else {
            return from_json::bytes(field, context, |bytes| slot.set_bytes(bytes));
        };
        slot.set_bytes_within(bytes, context);
        Ok(true)
    }
}

impl<'a, T: BytesBorrow<'a>> Read<'a> for BytesView<T> {
    fn merge(slot: &mut T, field: &Field<'a>, _: DecodeContext<'_>) -> Result<bool, ReadError> {
        let Value::Len(bytes) = field.value else { return Ok(false) };
        slot.borrow_bytes(bytes);
        Ok(true)
    }
}
