//! Checks the features that a field sets: each must be meaningful there.

use protobuf::descriptor::FieldDescriptorProto;
use protobuf::descriptor::field_descriptor_proto::{Label, Type};

use super::context::{Cx, SchemaFacts};
use crate::error::Error;
use crate::parse::features::Features;

pub(super) fn check(
    cx: &Cx<'_>,
    facts: &SchemaFacts,
    path: &str,
    f: &FieldDescriptorProto,
) -> Result<(), Error> {
    let repeated = f.label() == Label::LABEL_REPEATED;
    let single = !repeated && !f.has_oneof_index() && !f.has_extendee();
    // A map's values may be strings. Its entry message is not declared in the schema.
    let map = facts.entries.contains(f.type_name());
    let message = f.type_() == Type::TYPE_MESSAGE;
    let packs = !message && !matches!(f.type_(), Type::TYPE_STRING | Type::TYPE_BYTES);
    for feature in Features::own(f) {
        let (fits, wanted) = match feature {
            (1, 2) if message => (false, "the absence of a message is always told"),
            (1, _) => (single, "presence is of singular fields outside of oneofs"),
            (3, 1) if repeated => (packs, "only numbers, bools and enums can be packed"),
            (3, _) => (repeated, "only repeated fields are packed or expanded"),
            (4, _) => (f.type_() == Type::TYPE_STRING || map, "only strings are checked for UTF-8"),
            (5, _) => (message && !map, "only messages are delimited"),
            _ => (true, ""),
        };
        if !fits {
            return cx.fail(path, |n| n.at, wanted.into());
        }
    }
    Ok(())
}
