//! Each field from the generated reader, written by the generated writer.

use super::{Failure, Input, Output};
use crate::schema::{edition_2023, editions_proto2, editions_proto3, proto2, proto3};
use protozero::{HeapSink, ReadError, Scope, Writer as _};

pub fn convert(name: &str, input: &Input<'_>, _: &Output) -> Result<Vec<u8>, Failure> {
    /// The copy function of a module, for a message.
    macro_rules! copy {
        ($module:ident, $reader:ident, $writer:ident, $copy:ident) => {
            |bytes, scope| {
                let mut writer = $module::$writer::from_scope(scope);
                $module::copy::$copy($module::$reader::new(bytes), &mut writer)
            }
        };
    }
    let copy: fn(&[u8], Scope<'_>) -> Result<(), ReadError> =
        match name.strip_prefix("protobuf_test_messages.").unwrap_or_default() {
            "proto2.TestAllTypesProto2" => copy!(
                proto2,
                TestAllTypesProto2Reader,
                TestAllTypesProto2Writer,
                copy_TestAllTypesProto2
            ),
            "proto2.TestAllRequiredTypesProto2" => copy!(
                proto2,
                TestAllRequiredTypesProto2Reader,
                TestAllRequiredTypesProto2Writer,
                copy_TestAllRequiredTypesProto2
            ),
            "proto3.TestAllTypesProto3" => copy!(
                proto3,
                TestAllTypesProto3Reader,
                TestAllTypesProto3Writer,
                copy_TestAllTypesProto3
            ),
            "editions.proto2.TestAllTypesProto2" => copy!(
                editions_proto2,
                TestAllTypesProto2Reader,
                TestAllTypesProto2Writer,
                copy_TestAllTypesProto2
            ),
            "editions.proto3.TestAllTypesProto3" => copy!(
                editions_proto3,
                TestAllTypesProto3Reader,
                TestAllTypesProto3Writer,
                copy_TestAllTypesProto3
            ),
            "editions.TestAllTypesEdition2023" => copy!(
                edition_2023,
                TestAllTypesEdition2023Reader,
                TestAllTypesEdition2023Writer,
                copy_TestAllTypesEdition2023
            ),
            _ => return Err(Failure::UnknownMessage),
        };
    let Input::Binary(bytes) = input else { return Err(Failure::UnknownMessage) };
    let mut stream = HeapSink::stream();
    copy(bytes, stream.root()).map_err(|e| Failure::Parse(e.to_string()))?;
    stream.finish().map_err(|e| Failure::Serialize(e.to_string()))
}
