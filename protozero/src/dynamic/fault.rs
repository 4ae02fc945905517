//! Errors of decoding a message, and their places.

use super::message::SetError;
use crate::decode::Field;
use crate::error::{DecodeErrorKind, ReadError};

/// A field of the schema accepts its own type, so the only possible error is the depth.
pub(super) fn too_deep(_: SetError) -> ReadError {
    DecodeErrorKind::TooDeep.at(0)
}

/// Offset of `body` in `field`.
pub(super) fn offset_in(field: &Field<'_>, body: &[u8]) -> usize {
    (body.as_ptr() as usize).saturating_sub(field.raw.as_ptr() as usize)
}
