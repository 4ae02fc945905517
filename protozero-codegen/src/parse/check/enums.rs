//! Enums: values, aliases, reserved numbers.

use std::collections::BTreeMap;

use protobuf::descriptor::EnumDescriptorProto;

use super::context::Cx;
use crate::error::Error;
use crate::notes::join;
use crate::parse::features::Features;

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
