//! Messages known from the official compiler's descriptors alone, binary and text.

use super::{Failure, Input, Output};
use protozero::dynamic::{DynamicMessage, MessageDescriptor, Pool};
use protozero::text::PrintOptions;
use std::sync::OnceLock;

const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

pub fn convert(name: &str, input: &Input<'_>, output: &Output) -> Result<Vec<u8>, Failure> {
    static POOL: OnceLock<Result<Pool, String>> = OnceLock::new();
    let pool = POOL.get_or_init(|| Pool::decode(DESCRIPTORS).map_err(|e| e.to_string()));
    let pool = pool.as_ref().map_err(|e| Failure::Serialize(e.clone()))?;
    let of = pool.message(name).ok_or(Failure::UnknownMessage)?;
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
