//! Which field an error of printing is about. It is found after the error, so printing itself keeps no path.

use alloc::string::String;

use crate::dynamic::{DynamicMessage, MessageDescriptor};
use crate::error::DecodeError;
use crate::json::error::PrintError;
use crate::json::output::Output;
use crate::json::place;

/// `error` with the field it is about: of malformed bytes that which decoding finds, else the one that was printed.
#[cold]
pub(super) fn located(
    error: PrintError,
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    out: &Output,
) -> PrintError {
    let root = &descriptor.pool().0.message(descriptor.index).full_name;
    let path = || place::path(root, &String::from_utf8_lossy(out.text()), out.len());
    match error {
        PrintError::Decode(error) => {
            match DynamicMessage::decode(descriptor.clone(), bytes) {
                Err(found) => PrintError::Decode(found),
                // The content of an `Any`, which decoding does not read.
                Ok(_) => PrintError::Decode(DecodeError::new(error.into(), path().into())),
            }
        }
        PrintError::Value { message, .. } => PrintError::Value { path: path(), message },
        #[cfg(feature = "std")]
        error @ PrintError::Write(_) => error,
    }
}
