//! Generated structs that borrow from the encoded bytes.

use super::{Failure, Input, Output};
use crate::views::{edition_2023, editions_proto2, editions_proto3, proto2, proto3};
use protozero::MessageView;

pub fn convert(name: &str, input: &Input<'_>, _: &Output) -> Result<Vec<u8>, Failure> {
    let Input::Binary(bytes) = input else { return Err(Failure::UnknownMessage) };
    match name.strip_prefix("protobuf_test_messages.").unwrap_or_default() {
        "proto2.TestAllTypesProto2" => through::<proto2::TestAllTypesProto2Borrowed<'_>>(bytes),
        "proto2.TestAllRequiredTypesProto2" => {
            through::<proto2::TestAllRequiredTypesProto2Borrowed<'_>>(bytes)
        }
        "proto3.TestAllTypesProto3" => through::<proto3::TestAllTypesProto3Borrowed<'_>>(bytes),
        "editions.proto2.TestAllTypesProto2" => {
            through::<editions_proto2::TestAllTypesProto2Borrowed<'_>>(bytes)
        }
        "editions.proto3.TestAllTypesProto3" => {
            through::<editions_proto3::TestAllTypesProto3Borrowed<'_>>(bytes)
        }
        "editions.TestAllTypesEdition2023" => {
            through::<edition_2023::TestAllTypesEdition2023Borrowed<'_>>(bytes)
        }
        _ => Err(Failure::UnknownMessage),
    }
}

fn through<'a, V: MessageView<'a>>(bytes: &'a [u8]) -> Result<Vec<u8>, Failure> {
    let message = V::decode(bytes).map_err(|e| Failure::Parse(e.to_string()))?;
    message.try_encode_to_vec().map_err(|e| Failure::Serialize(e.to_string()))
}
