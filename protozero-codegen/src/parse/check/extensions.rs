//! Extensions: their number must be in an extension range of the message, and unique.

use protobuf::descriptor::FieldDescriptorProto;
use protobuf::descriptor::field_descriptor_proto::{Label, Type};

use super::context::{Cx, SchemaFacts};
use crate::error::Error;
use crate::notes::join;
use crate::parse::features::Features;

pub(super) fn check(
    cx: &Cx<'_>,
    facts: &mut SchemaFacts,
    scope: &str,
    features: Features,
    d: &FieldDescriptorProto,
) -> Result<(), Error> {
    let path = join(scope, d.name());
    let extendee = d.extendee();
    let shown = extendee.trim_start_matches('.');
    if cx.proto3 && !(shown.starts_with("google.protobuf.") && shown.ends_with("Options")) {
        let message = "proto3 can only extend options".into();
        return cx.fail(&path, |n| n.extendee_at, message);
    }
    if d.label() == Label::LABEL_REQUIRED {
        return cx.fail(&path, |n| n.at, "an extension is never required".into());
    }
    let number = d.number();
    let ranges = facts.ranges.get(extendee).map(Vec::as_slice).unwrap_or_default();
    if !ranges.iter().any(|(start, end)| (*start..*end).contains(&number)) {
        let message = format!("{shown} has no extension range with {number}");
        return cx.fail(&path, |n| n.number_at, message);
    }
    // Numbers of a message set may be larger than those of fields.
    if number < super::NUMBER_MAX {
        cx.number(&path, d)?;
    }
    let lone = d.label() == Label::LABEL_OPTIONAL;
    let set = facts.sets.contains(extendee);
    if set && !(lone && d.type_() == Type::TYPE_MESSAGE) {
        let message = "a message set takes optional messages only".into();
        return cx.fail(&path, |n| n.at, message);
    }
    let key = (extendee.to_owned(), number);
    if let Some(other) = facts.extensions.insert(key, path.clone()) {
        let message = format!("number {number} of {shown} is already that of {other}");
        return cx.fail(&path, |n| n.number_at, message);
    }
    cx.field(facts, &path, features, d)
}
