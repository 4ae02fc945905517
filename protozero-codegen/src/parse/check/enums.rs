//! Enums: values, aliases, reserved numbers.

use std::collections::{BTreeMap, BTreeSet};

use protobuf::descriptor::EnumDescriptorProto;

use super::context::Cx;
use crate::error::Error;
use crate::notes::join;
use crate::parse::features::Features;

/// `EnumOptions.deprecated_legacy_json_field_conflicts` in `descriptor.proto`.
const LEGACY_JSON_CONFLICTS: u32 = 6;

pub(super) fn check(
    cx: &Cx<'_>,
    scope: &str,
    features: Features,
    d: &EnumDescriptorProto,
) -> Result<(), Error> {
    let local = join(scope, d.name());
    let at = |value: &str| join(&local, value);
    let Some(first) = d.value.first() else {
        return cx.fail(&local, |n| n.at, format!("enum {} has no value", d.name()));
    };
    if !features.of_enum(d).closed && first.number() != 0 {
        let message = "the first value of an open enum is 0".into();
        return cx.fail(&at(first.name()), |n| n.number_at, message);
    }
    let mut numbers = BTreeMap::new();
    let mut aliases = false;
    for v in &d.value {
        if let Some(other) = numbers.insert(v.number(), v.name()) {
            aliases = true;
            if !d.options.allow_alias() {
                let number = v.number();
                let message =
                    format!("number {number} is already that of {other}; allow_alias permits it");
                return cx.fail(&at(v.name()), |n| n.number_at, message);
            }
        }
        let inside = |start: i32, end: i32| (start..=end).contains(&v.number());
        if d.reserved_range.iter().any(|r| inside(r.start(), r.end())) {
            let message = format!("number {} is reserved", v.number());
            return cx.fail(&at(v.name()), |n| n.number_at, message);
        }
        if d.reserved_name.iter().any(|name| name == v.name()) {
            let message = format!("name {} is reserved", v.name());
            return cx.fail(&at(v.name()), |n| n.at, message);
        }
    }
    if d.options.allow_alias() && !aliases {
        return cx.fail(&local, |n| n.at, "allow_alias, and no alias".into());
    }
    if features.of_enum(d).json_names
        && !cx.allows_json_conflicts(&d.options, LEGACY_JSON_CONFLICTS)
    {
        short_names(cx, &local, d)?;
    }
    reserved(cx, &local, d)
}

/// As `protoc` has it for languages in which values have short names: two values with different numbers must differ in
/// more than case, underscores and the name of the enum in front.
fn short_names(cx: &Cx<'_>, local: &str, d: &EnumDescriptorProto) -> Result<(), Error> {
    let mut names = BTreeMap::new();
    for v in &d.value {
        let name = pascal(without(d.name(), v.name()));
        let (first, number) = *names.entry(name).or_insert((v.name(), v.number()));
        if number != v.number() {
            let message = format!("{} and {first} are one name without that of the enum", v.name());
            return cx.fail(&join(local, v.name()), |n| n.at, message);
        }
    }
    Ok(())
}

/// `A_B` for the enum `Some_Enum` and the value `SOME_ENUM_A_B`, or the whole name if it has another prefix or no rest.
fn without<'n>(of: &str, name: &'n str) -> &'n str {
    let mut rest = name;
    for letter in of.chars().filter(|c| *c != '_') {
        rest = rest.trim_start_matches('_');
        match rest.chars().next().filter(|c| c.eq_ignore_ascii_case(&letter)) {
            Some(first) => rest = rest.split_at(first.len_utf8()).1,
            None => return name,
        }
    }
    let rest = rest.trim_start_matches('_');
    if rest.is_empty() { name } else { rest }
}

/// `FooBar` for `FOO_BAR` and `foo_bar`, and `Foobar` for `fooBar`.
fn pascal(name: &str) -> String {
    let mut out = String::new();
    for part in name.split('_') {
        let mut chars = part.chars();
        out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        out.extend(chars.map(|c| c.to_ascii_lowercase()));
    }
    out
}

/// Reserved ranges must not overlap, and reserved names are there once.
fn reserved(cx: &Cx<'_>, local: &str, d: &EnumDescriptorProto) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    for name in &d.reserved_name {
        if !names.insert(name) {
            return cx.fail(local, |n| n.at, format!("name {name} is reserved twice"));
        }
    }
    let mut ranges: Vec<_> = (0usize..)
        .zip(&d.reserved_range)
        .map(|(at, r)| (r.start(), r.end(), format!("{local}#reserved{at}")))
        .collect();
    ranges.sort();
    for pair in ranges.windows(2) {
        if let [(_, end, _), (start, _, note)] = pair
            && start <= end
        {
            let message = format!("number {start} is in another range too");
            return cx.fail(note, |n| n.at, message);
        }
    }
    Ok(())
}
