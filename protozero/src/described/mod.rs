//! Descriptors of derived messages. The macro sees a struct, or the enum of one of its oneofs, and never both. So the
//! compiler joins the fields of both.

use crate::descriptor::{FieldDescriptor, Kind};
use crate::owned::Oneof;

/// Fields of a message, in the order of declaration.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// A field of the struct.
    Field(FieldDescriptor),
    /// The members of a oneof, and its name.
    Oneof(&'static [FieldDescriptor], &'static str),
}

/// A member of a oneof that is a message. One that does not know its name has the number 0, because only structs with
/// a name need the descriptor.
#[must_use]
pub const fn member(name: &'static str, number: u32, message: Option<Kind>) -> FieldDescriptor {
    match message {
        Some(kind) => FieldDescriptor::optional(name, number, kind),
        None => FieldDescriptor::optional(name, 0, Kind::Bool),
    }
}

impl Part {
    /// The members of `O`, a oneof with that name.
    ///
    /// # Panics
    /// If a member has no descriptor, or a name that no schema can have.
    #[must_use]
    pub const fn oneof<O: Oneof>(name: &'static str) -> Self {
        assert!(
            O::FIELDS.len() == O::NUMBERS.len(),
            "the enum of a oneof has no descriptors of its members: derive `protozero::Oneof` for it"
        );
        check_members(O::FIELDS);
        Self::Oneof(O::FIELDS, name)
    }
}

const fn check_members(members: &[FieldDescriptor]) {
    let mut at = 0;
    while at < members.len() {
        assert!(
            members[at].number != 0,
            "a message in a oneof does not know its name: say it, as in #[pb(name = \"shop.Line\")] above its struct"
        );
        assert!(
            members[at].name.is_ascii(),
            "a schema has ASCII names: give the member of the oneof one, as in #[pb(uint64, 4, name = \"card\")]"
        );
        at += 1;
    }
}

/// A derived message that has a name. `N` is the number of its fields, and of numbers that it lists for a oneof and
/// that have no member.
pub trait Described<const N: usize> {
    /// What the struct declares.
    const PARTS: &'static [Part];

    /// The fields, and behind them what is left.
    const PADDED: [FieldDescriptor; N] = joined(Self::PARTS);

    /// The same, at a place of its own.
    const ALL: &'static [FieldDescriptor] = &Self::PADDED;

    /// The fields.
    const FIELDS: &'static [FieldDescriptor] = Self::ALL.split_at(count(Self::PARTS)).0;
}

/// The number of fields.
const fn count(parts: &[Part]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < parts.len() {
        count += match parts[at] {
            Part::Field(_) => 1,
            Part::Oneof(members, _) => members.len(),
        };
        at += 1;
    }
    count
}

/// All fields.
const fn joined<const N: usize>(parts: &[Part]) -> [FieldDescriptor; N] {
    let mut fields = [FieldDescriptor::optional("", 0, Kind::Bool); N];
    let (mut at, mut len) = (0, 0);
    while at < parts.len() {
        match parts[at] {
            Part::Field(field) => {
                fields[len] = field;
                len += 1;
            }
            Part::Oneof(members, name) => {
                let mut member = 0;
                while member < members.len() {
                    fields[len] = members[member].of(name);
                    len += 1;
                    member += 1;
                }
            }
        }
        at += 1;
    }
    check_names(&fields, len);
    fields
}

/// Checks that the first `len` fields have different names. The compiler evaluates only so many steps, so fields with
/// different hashes are not compared.
const fn check_names<const N: usize>(fields: &[FieldDescriptor; N], len: usize) {
    let mut hashes = [(0, 0); N];
    let mut at = 0;
    while at < len {
        let of_name = hash((fields[at].name, false));
        let of_json = hash(in_json(&fields[at]));
        let mut other = 0;
        while other < at {
            let is_other = of_name != hashes[other].0 && of_json != hashes[other].1;
            assert!(
                is_other || !are_named_alike(&fields[other], &fields[at]),
                "a member of a oneof and another field have the same name in the schema or in JSON: give one of them \
                 another one, as in #[pb(uint64, 4, name = \"card\")]"
            );
            other += 1;
        }
        hashes[at] = (of_name, of_json);
        at += 1;
    }
}

/// Whether two fields have the same name in the schema or in JSON.
const fn are_named_alike(a: &FieldDescriptor, b: &FieldDescriptor) -> bool {
    are_equal((a.name, false), (b.name, false)) || are_equal(in_json(a), in_json(b))
}

/// The text that makes the name in JSON, and whether it is to be changed to `lowerCamelCase`.
const fn in_json(field: &FieldDescriptor) -> (&'static str, bool) {
    match field.json_name {
        Some(name) => (name, false),
        None => (field.name, true),
    }
}

/// A number that is the same for names that are equal after they were changed (FNV-1a).
const fn hash((name, is_changed): (&str, bool)) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut at = 0;
    loop {
        let (letter, next) = letter(name.as_bytes(), at, is_changed);
        if letter == 0 {
            return hash;
        }
        hash = (hash ^ letter as u64).wrapping_mul(0x100_0000_01b3);
        at = next;
    }
}

/// Whether two names are equal after they were changed.
const fn are_equal(a: (&str, bool), b: (&str, bool)) -> bool {
    let (mut at_a, mut at_b) = (0, 0);
    loop {
        let (of_a, next_a) = letter(a.0.as_bytes(), at_a, a.1);
        let (of_b, next_b) = letter(b.0.as_bytes(), at_b, b.1);
        if of_a != of_b {
            return false;
        }
        if of_a == 0 {
            return true;
        }
        (at_a, at_b) = (next_a, next_b);
    }
}

/// The letter at `at`, and the place behind it; 0 at the end.
const fn letter(name: &[u8], mut at: usize, is_changed: bool) -> (u8, usize) {
    let mut capital = false;
    while is_changed && at < name.len() && name[at] == b'_' {
        capital = true;
        at += 1;
    }
    if at >= name.len() {
        return (0, at);
    }
    let letter = if capital { name[at].to_ascii_uppercase() } else { name[at] };
    (letter, at + 1)
}

#[cfg(test)]
mod tests;
