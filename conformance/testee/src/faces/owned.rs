//! Generated structs: `M::decode`, then `M::encode_to_vec`.

use super::{Failure, Input, Output};
use crate::schema::proto3;
use protozero::Message;

pub fn convert(name: &str, input: &Input<'_>, output: &Output) -> Result<Vec<u8>, Failure> {
    match name {
        "protobuf_test_messages.proto3.TestAllTypesProto3" => {
            through::<proto3::TestAllTypesProto3>(input, output)
        }
        _ => Err(Failure::UnknownMessage),
    }
}

fn through<M: Message>(input: &Input<'_>, _output: &Output) -> Result<Vec<u8>, Failure> {
    let Input::Binary(bytes) = input else { return Err(Failure::UnknownMessage) };
    let message = M::decode(bytes).map_err(|e| Failure::Parse(e.to_string()))?;
    message.try_encode_to_vec().map_err(|e| Failure::Serialize(e.to_string()))
}
