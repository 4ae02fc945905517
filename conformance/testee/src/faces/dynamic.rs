//! Messages known from the official compiler's descriptors alone, binary and text.

use super::{Failure, Input, Output};
use protozero::dynamic::{DynamicMessage, MessageDescriptor, Pool};
use protozero::text::PrintOptions;
use std::sync::OnceLock;

/// The official compiler's.
pub const OFFICIAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/official.bin"));

/// Our own compiler's.
pub const OURS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ours.bin"));

/// The pool of `set`, made once and kept in `pool`.
///
/// # Errors
/// Its descriptors are wrong.
pub fn pool<'p>(set: &[u8], pool: &'p OnceLock<Result<Pool, String>>) -> Result<&'p Pool, Failure> {
    let pool = pool.get_or_init(|| Pool::decode(set).map_err(|e| e.to_string()));
    pool.as_ref().map_err(|e| Failure::Serialize(e.clone()))
}

pub fn convert(name: &str, input: &Input<'_>, output: &Output) -> Result<Vec<u8>, Failure> {
    static POOL: OnceLock<Result<Pool, String>> = OnceLock::new();
    let of = pool(OFFICIAL, &POOL)?.message(name).ok_or(Failure::UnknownMessage)?;
    let message = read(of, input).map_err(Failure::Parse)?;
    Ok(match output {
        Output::Binary => message.encode(),
        Output::Text { print_unknown } => {
            let options =
                PrintOptions { unknown_fields: *print_unknown, ..PrintOptions::default() };
            message.to_text_with(&options).into_bytes()
        }
    })
}

fn read(of: MessageDescriptor, input: &Input<'_>) -> Result<DynamicMessage, String> {
    match input {
        Input::Binary(bytes) => DynamicMessage::decode(of, bytes).map_err(|e| e.to_string()),
        Input::Text(text) => DynamicMessage::from_text(of, text).map_err(|e| e.to_string()),
    }
}
