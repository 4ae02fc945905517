//! Structs: `M::decode`, then `M::encode_to_vec`; JSON and text through their static descriptors.

use super::{Failure, Input, Output};
use protozero::dynamic::DynamicMessage;
use protozero::json::{self, ParseOptions};
use protozero::text::PrintOptions;
use protozero::{Message, Named, Registry};

/// A function `convert` for the structs of one module of this crate.
macro_rules! convert {
    ($set:ident) => {
        use super::structs::{add, through};
        use super::{Failure, Input, Output};
        use crate::$set::{edition_2023, editions_proto2, editions_proto3, proto2, proto3};
        use std::sync::Once;

        pub fn convert(name: &str, input: &Input<'_>, output: &Output) -> Result<Vec<u8>, Failure> {
            let through = match name.strip_prefix("protobuf_test_messages.").unwrap_or_default() {
                "proto2.TestAllTypesProto2" => through::<proto2::TestAllTypesProto2>,
                "proto2.TestAllRequiredTypesProto2" => {
                    through::<proto2::TestAllRequiredTypesProto2>
                }
                "proto3.TestAllTypesProto3" => through::<proto3::TestAllTypesProto3>,
                "editions.proto2.TestAllTypesProto2" => {
                    through::<editions_proto2::TestAllTypesProto2>
                }
                "editions.proto3.TestAllTypesProto3" => {
                    through::<editions_proto3::TestAllTypesProto3>
                }
                "editions.TestAllTypesEdition2023" => {
                    through::<edition_2023::TestAllTypesEdition2023>
                }
                _ => return Err(Failure::UnknownMessage),
            };
            // An `Any` can hold each of these types.
            static ADDED: Once = Once::new();
            ADDED.call_once(|| {
                add::<proto2::TestAllTypesProto2>();
                add::<proto2::TestAllRequiredTypesProto2>();
                add::<proto3::TestAllTypesProto3>();
                add::<editions_proto2::TestAllTypesProto2>();
                add::<editions_proto3::TestAllTypesProto3>();
                add::<edition_2023::TestAllTypesEdition2023>();
            });
            through(input, output)
        }
    };
}
pub(super) use convert;

pub fn add<M: Named + 'static>() {
    Registry::global().add::<M>().unwrap_or_else(|error| panic!("{error}"));
}

pub fn through<M: Message + Named + 'static>(
    input: &Input<'_>,
    output: &Output,
) -> Result<Vec<u8>, Failure> {
    let decode = |bytes: &[u8]| M::decode(bytes).map_err(|e| Failure::Parse(e.to_string()));
    let message = match input {
        Input::Binary(bytes) => decode(bytes)?,
        Input::Json { text, ignore_unknown } => {
            let options =
                ParseOptions { ignore_unknown: *ignore_unknown, ..ParseOptions::default() };
            json::from_str_with::<M>(text, &options).map_err(|e| Failure::Parse(e.to_string()))?
        }
        Input::Text(text) => {
            let message = DynamicMessage::from_text(M::descriptor(), text)
                .map_err(|e| Failure::Parse(e.to_string()))?;
            decode(&message.encode())?
        }
    };
    let bytes = message.try_encode_to_vec().map_err(|e| Failure::Serialize(e.to_string()))?;
    match output {
        Output::Json => json::to_vec(&message).map_err(|e| Failure::Serialize(e.to_string())),
        Output::Binary => Ok(bytes),
        Output::Text { print_unknown } => {
            let options =
                PrintOptions { unknown_fields: *print_unknown, ..PrintOptions::default() };
            let message = DynamicMessage::decode(M::descriptor(), &bytes);
            let message = message.map_err(|e| Failure::Serialize(e.to_string()))?;
            Ok(message.to_text_with(&options).into_bytes())
        }
    }
}
