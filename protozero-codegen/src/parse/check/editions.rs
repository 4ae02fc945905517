//! Features a field sets itself: each where it means something.

use protobuf::descriptor::FieldDescriptorProto;
use protobuf::descriptor::field_descriptor_proto::{Label, Type};

use super::Cx;
use crate::error::Error;
use crate::parse::features::Features;

pub(super) fn check(cx: &Cx<'_>, path: &str, f: &FieldDescriptorProto) -> Result<(), Error> {
    let repeated = f.label() == Label::LABEL_REPEATED;
    let single = !repeated && !f.has_oneof_index() && !f.has_extendee();
    // A map's values may be strings; its entry is no message of the schema's.
    let map = repeated && f.type_() == Type::TYPE_MESSAGE && f.type_name().ends_with("Entry");
    for feature in Features::own(f) {
        let (fits, wanted) = match feature {
            1 => (single, "presence is of singular fields outside of oneofs"),
            3 => (repeated, "only repeated fields are packed or expanded"),
            4 => (f.type_() == Type::TYPE_STRING || map, "only strings are checked for UTF-8"),
            5 => (f.type_() == Type::TYPE_MESSAGE, "only messages are delimited"),
            _ => (true, ""),
        };
        if !fits {
            return cx.fail(path, |n| n.at, wanted.into());
        }
    }
    Ok(())
}
