//! Generated structs: `M::decode`, then `M::encode_to_vec`.

use super::{Failure, Input, Output};
use crate::schema::{edition_2023, editions_proto2, editions_proto3, proto2, proto3};
use protozero::Message;

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
    through(input, output)
}

fn through<M: Message>(input: &Input<'_>, _output: &Output) -> Result<Vec<u8>, Failure> {
    let Input::Binary(bytes) = input else { return Err(Failure::UnknownMessage) };
    let message = M::decode(bytes).map_err(|e| Failure::Parse(e.to_string()))?;
    message.try_encode_to_vec().map_err(|e| Failure::Serialize(e.to_string()))
}
