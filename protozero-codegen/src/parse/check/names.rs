//! Names. The parser of text accepts only valid ones, but a descriptor may hold any string.

use protobuf::descriptor::field_descriptor_proto::{Label, Type};
use protobuf::descriptor::{DescriptorProto, EnumDescriptorProto};

use super::context::Cx;
use crate::error::Error;
use crate::notes::{PACKAGE, join};

/// Longest package name in bytes, `protoc`'s limit.
const PACKAGE_MAX: usize = 511;

/// Most parts of a package, and most bytes of a full name: the limits of `protozero::dynamic`.
const PARTS_MAX: usize = 64;
const FULL_MAX: usize = 1024;

fn plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn check(cx: &Cx<'_>) -> Result<(), Error> {
    let d = &cx.file.descriptor;
    let package = d.package();
    if !package.is_empty() && !package.split('.').all(plain) {
        return cx.fail(PACKAGE, |n| n.at, format!("package {package:?} is no name"));
    }
    if package.len() > PACKAGE_MAX || package.split('.').count() > PARTS_MAX {
        let message =
            format!("a package has {PACKAGE_MAX} characters and {PARTS_MAX} parts at most");
        return cx.fail(PACKAGE, |n| n.at, message);
    }
    d.message_type.iter().try_for_each(|m| message(cx, "", m))?;
    d.enum_type.iter().try_for_each(|e| enumeration(cx, "", e))?;
    d.extension.iter().try_for_each(|x| one(cx, "", x.name()))?;
    for s in &d.service {
        one(cx, "", s.name())?;
        s.method.iter().try_for_each(|m| one(cx, s.name(), m.name()))?;
    }
    Ok(())
}

fn one(cx: &Cx<'_>, scope: &str, name: &str) -> Result<(), Error> {
    let local = join(scope, name);
    if !plain(name) {
        return cx.fail(&local, |n| n.at, format!("{name:?} is no name"));
    }
    if cx.file.descriptor.package().len() + 1 + local.len() > FULL_MAX {
        let message = format!("with all it lies in, a name has {FULL_MAX} characters at most");
        return cx.fail(&local, |n| n.at, message);
    }
    Ok(())
}

fn message(cx: &Cx<'_>, scope: &str, d: &DescriptorProto) -> Result<(), Error> {
    one(cx, scope, d.name())?;
    let local = join(scope, d.name());
    let names = d.field.iter().map(|f| f.name()).chain(d.extension.iter().map(|x| x.name()));
    for name in names.chain(d.oneof_decl.iter().map(|o| o.name())) {
        one(cx, &local, name)?;
    }
    if d.options.map_entry() {
        entry(cx, &local, d)?;
    }
    for f in d.field.iter().chain(&d.extension) {
        let unknown = f.type_.is_some_and(|t| t.enum_value().is_err())
            || f.label.is_some_and(|l| l.enum_value().is_err());
        if unknown {
            return cx.fail(&join(&local, f.name()), |n| n.at, "its type is not known".into());
        }
    }
    d.nested_type.iter().try_for_each(|m| message(cx, &local, m))?;
    d.enum_type.iter().try_for_each(|e| enumeration(cx, &local, e))
}

/// Checks that a map's entry has the form that all code relies on.
fn entry(cx: &Cx<'_>, local: &str, d: &DescriptorProto) -> Result<(), Error> {
    let proper = match d.field.as_slice() {
        [key, value] => {
            let lone = |f: &protobuf::descriptor::FieldDescriptorProto| {
                f.label() != Label::LABEL_REPEATED && !f.has_oneof_index()
            };
            let key_kind = !matches!(
                key.type_(),
                Type::TYPE_FLOAT
                    | Type::TYPE_DOUBLE
                    | Type::TYPE_BYTES
                    | Type::TYPE_ENUM
                    | Type::TYPE_MESSAGE
                    | Type::TYPE_GROUP
            );
            (key.name(), key.number(), value.name(), value.number()) == ("key", 1, "value", 2)
                && key_kind
                && value.type_() != Type::TYPE_GROUP
                && lone(key)
                && lone(value)
        }
        _ => false,
    };
    if proper {
        return Ok(());
    }
    cx.fail(local, |n| n.at, "this is no entry of a map".into())
}

fn enumeration(cx: &Cx<'_>, scope: &str, d: &EnumDescriptorProto) -> Result<(), Error> {
    one(cx, scope, d.name())?;
    let local = join(scope, d.name());
    d.value.iter().try_for_each(|v| one(cx, &local, v.name()))
}
