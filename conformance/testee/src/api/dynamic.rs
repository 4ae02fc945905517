//! Dynamic messages from descriptors, binary and text.

use super::{Failure, Input, Output};
use protozero::dynamic::{DynamicMessage, MessageDescriptor, Pool};
use protozero::json::ParseOptions;
use protozero::text::PrintOptions;
use std::sync::OnceLock;

/// A descriptor set that becomes a pool at its first use.
pub struct Set {
    bytes: &'static [u8],
    pool: OnceLock<Result<Pool, String>>,
}

/// From the official compiler.
pub static OFFICIAL: Set = Set::new(include_bytes!(concat!(env!("OUT_DIR"), "/official.bin")));

/// From our parser.
pub static OURS: Set = Set::new(include_bytes!(concat!(env!("OUT_DIR"), "/ours.bin")));

impl Set {
    const fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, pool: OnceLock::new() }
    }

    fn message(&self, name: &str) -> Result<MessageDescriptor, Failure> {
        let pool = self.pool.get_or_init(|| Pool::decode(self.bytes).map_err(|e| e.to_string()));
        let pool = pool.as_ref().map_err(|e| Failure::Serialize(e.clone()))?;
        pool.message(name).ok_or(Failure::UnknownMessage)
    }
}

pub fn convert(
    set: &Set,
    name: &str,
    input: &Input<'_>,
    output: &Output,
) -> Result<Vec<u8>, Failure> {
    let of = set.message(name)?;
    let message = read(of, input).map_err(Failure::Parse)?;
    Ok(match output {
        Output::Json => {
            message.to_json().map_err(|e| Failure::Serialize(e.to_string()))?.into_bytes()
        }
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
        Input::Json { text, ignore_unknown } => {
            let options =
                ParseOptions { ignore_unknown: *ignore_unknown, ..ParseOptions::default() };
            DynamicMessage::from_json_with(of, text, &options).map_err(|e| e.to_string())
        }
        Input::Text(text) => DynamicMessage::from_text(of, text).map_err(|e| e.to_string()),
    }
}
