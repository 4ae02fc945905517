//! Generated structs: `M::decode`, then `M::encode_to_vec`; text through their static descriptors.

use super::{Failure, Input, Output};
use crate::schema::{edition_2023, editions_proto2, editions_proto3, proto2, proto3};
use protozero::Message;
use protozero::dynamic::{DynamicMessage, MessageDescriptor, Pool};
use protozero::json::{self, ParseOptions};
use protozero::text::PrintOptions;
use std::sync::OnceLock;

pub fn convert(name: &str, input: &Input<'_>, output: &Output) -> Result<Vec<u8>, Failure> {
    let through = match name.strip_prefix("protobuf_test_messages.").unwrap_or_default() {
        "proto2.TestAllTypesProto2" => through::<proto2::TestAllTypesProto2>,
        "proto2.TestAllRequiredTypesProto2" => through::<proto2::TestAllRequiredTypesProto2>,
        "proto3.TestAllTypesProto3" => through::<proto3::TestAllTypesProto3>,
        "editions.proto2.TestAllTypesProto2" => through::<editions_proto2::TestAllTypesProto2>,
        "editions.proto3.TestAllTypesProto3" => through::<editions_proto3::TestAllTypesProto3>,
        "editions.TestAllTypesEdition2023" => through::<edition_2023::TestAllTypesEdition2023>,
        _ => return Err(Failure::UnknownMessage),
    };
    static POOL: OnceLock<Pool> = OnceLock::new();
    // The static descriptors of the generated code.
    let pool = POOL.get_or_init(|| {
        Pool::from_generated(&[
            proto2::TestAllTypesProto2::DESCRIPTOR,
            proto2::TestAllRequiredTypesProto2::DESCRIPTOR,
            proto3::TestAllTypesProto3::DESCRIPTOR,
            editions_proto2::TestAllTypesProto2::DESCRIPTOR,
            editions_proto3::TestAllTypesProto3::DESCRIPTOR,
            edition_2023::TestAllTypesEdition2023::DESCRIPTOR,
        ])
    });
    let of = pool.message(name).ok_or(Failure::UnknownMessage)?;
    through(input, output, of)
}

fn through<M: Message>(
    input: &Input<'_>,
    output: &Output,
    of: MessageDescriptor,
) -> Result<Vec<u8>, Failure> {
    let bytes = match input {
        Input::Binary(bytes) => (*bytes).to_vec(),
        Input::Json { text, ignore_unknown } => {
            let options =
                ParseOptions { ignore_unknown: *ignore_unknown, ..ParseOptions::default() };
            json::parse(&of, text.as_bytes(), &options)
                .map_err(|e| Failure::Parse(e.to_string()))?
        }
        Input::Text(text) => DynamicMessage::from_text(of.clone(), text)
            .map_err(|e| Failure::Parse(e.to_string()))?
            .encode(),
    };
    let message = M::decode(&bytes).map_err(|e| Failure::Parse(e.to_string()))?;
    let bytes = message.try_encode_to_vec().map_err(|e| Failure::Serialize(e.to_string()))?;
    match output {
        Output::Json => {
            let text = json::print_bytes(&of, &bytes, &json::PrintOptions::default());
            Ok(text.map_err(|e| Failure::Serialize(e.to_string()))?.into_bytes())
        }
        Output::Binary => Ok(bytes),
        Output::Text { print_unknown } => {
            let options =
                PrintOptions { unknown_fields: *print_unknown, ..PrintOptions::default() };
            let message = DynamicMessage::decode(of, &bytes);
            let message = message.map_err(|e| Failure::Serialize(e.to_string()))?;
            Ok(message.to_text_with(&options).into_bytes())
        }
    }
}
