//! The file that is checked, and what the checks need to know about other declarations.

use std::collections::{BTreeMap, BTreeSet};

use protobuf::descriptor::{DescriptorProto, EnumDescriptorProto};

use crate::error::Error;
use crate::notes::{Note, Place, join};
use crate::parse::features::Features;
use crate::parse::parsed::Parsed;

pub(super) const NUMBER_MAX: i32 = 0x1FFF_FFFF;

/// What the checks need to know about other declarations.
#[derive(Default)]
pub(super) struct SchemaFacts {
    /// By full name with a leading dot: whether the enum is closed, and names and numbers.
    pub(super) enums: BTreeMap<String, (bool, Vec<(String, i32)>)>,
    /// By full name with a leading dot: extension ranges, end exclusive.
    pub(super) ranges: BTreeMap<String, Vec<(i32, i32)>>,
    /// Full names of message sets, with a leading dot.
    pub(super) sets: BTreeSet<String>,
    /// Full names of the entries of maps, with a leading dot.
    pub(super) entries: BTreeSet<String>,
    /// Extensions by extendee and number.
    pub(super) extensions: BTreeMap<(String, i32), String>,
}

impl SchemaFacts {
    pub(super) fn learn(&mut self, file: &Parsed, features: Features) {
        let d = &file.descriptor;
        let scope = join("", d.package());
        let scope = if scope.is_empty() { scope } else { format!(".{scope}") };
        for e in &d.enum_type {
            self.learn_enum(&scope, features, e);
        }
        for m in &d.message_type {
            self.learn_message(&scope, features, m);
        }
    }

    fn learn_message(&mut self, scope: &str, features: Features, d: &DescriptorProto) {
        let full = format!("{scope}.{}", d.name());
        let features = features.of_message(d);
        for e in &d.enum_type {
            self.learn_enum(&full, features, e);
        }
        for m in &d.nested_type {
            self.learn_message(&full, features, m);
        }
        if d.options.message_set_wire_format() {
            self.sets.insert(full.clone());
        }
        if d.options.map_entry() {
            self.entries.insert(full.clone());
        }
        let ranges = d.extension_range.iter().map(|r| (r.start(), r.end())).collect();
        self.ranges.insert(full, ranges);
    }

    fn learn_enum(&mut self, scope: &str, features: Features, d: &EnumDescriptorProto) {
        let values = d.value.iter().map(|v| (v.name().to_owned(), v.number())).collect();
        let full = format!("{scope}.{}", d.name());
        self.enums.insert(full, (features.of_enum(d).closed, values));
    }
}

/// The file that is checked.
pub(super) struct Cx<'a> {
    pub(super) file: &'a Parsed,
    pub(super) proto3: bool,
}

impl Cx<'_> {
    pub(super) fn fail(
        &self,
        path: &str,
        place: fn(&Note) -> Place,
        message: String,
    ) -> Result<(), Error> {
        Err(self.file.error(path, place, message))
    }
}
