//! Structs to JSON, without bytes of protobuf in between.
//!
//! A struct passes its fields from the last to the first, as to an encoder, and the text is written from its end:
//!
//! ```text
//!  put 7 ─▶ key of field 2 ─▶ put "a" ─▶ key of field 1 ─▶ close
//!        7        ,"size":7      "a","size":7   ,"name":"a","size":7}  {"name":"a","size":7}
//! ```
//!
//! What the descriptor does not say of the struct, and what is rare, ends it: then the encoded message is printed.

use alloc::string::String;

use super::back::Back;
use super::entry::EntryType;
use super::scalar::{self, Target as _};
use super::{Printer, Seen};
use crate::decode::Value as Wire;
use crate::decode::limits::DEPTH_MAX;
use crate::dynamic::MessageDescriptor;
use crate::dynamic::schema::{Schema, Type};
use crate::json::options::PrintOptions;
use crate::json::table::{Field, Form, Shape, Table};
use crate::owned::{Encode, Encoder, Kind, Output, Packable, encoded};

/// The JSON of a message whose fields `put` passes on; none if it must be encoded first.
pub(in crate::json) fn to_string(
    descriptor: &MessageDescriptor,
    put: impl FnOnce(&mut Direct<'_>) -> bool,
) -> Option<String> {
    let schema = &*descriptor.pool().0;
    let table = schema.json.get(descriptor.index as usize)?;
    if table.form != Form::Fields {
        return None;
    }
    let mut direct = Direct {
        descriptor,
        schema,
        table,
        before: table.fields.len(),
        entry: None,
        members: Seen::default(),
        begin: (0, 0),
        level: 0,
        is_refused: false,
        out: Back::new(),
    };
    direct.out.push(b'}');
    let end = direct.out.place();
    if !put(&mut direct) || direct.is_refused {
        return None;
    }
    direct.close(end, b'{');
    direct.out.into_string()
}

/// Prints the fields of a struct.
pub struct Direct<'p> {
    descriptor: &'p MessageDescriptor,
    schema: &'p Schema,
    /// The type of the open message.
    table: &'p Table,
    /// Index of the field that was printed last. Those that come are before it.
    before: usize,
    /// The entries of the open map, and where they end.
    entry: Option<EntryType<'p>>,
    begin: (usize, usize),
    /// The oneofs that have a member.
    members: Seen,
    /// Number of messages around the open one.
    level: u32,
    /// The message must be encoded first.
    is_refused: bool,
    out: Back,
}

impl<'p> Direct<'p> {
    #[cold]
    #[inline(never)]
    fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// The field with this number, which must have this shape.
    #[inline(always)]
    fn find(&mut self, number: u32) -> Option<&'p Field> {
        let table = self.table;
        let near = self.before.wrapping_sub(1);
        let at = match table.fields.get(near) {
            Some(field) if field.number == number => near,
            _ => match table.find(number).filter(|at| *at < self.before) {
                Some(at) => at,
                None => {
                    self.refuse();
                    return None;
                }
            },
        };
        self.before = at;
        let field = &table.fields[at];
        if let Some(oneof) = field.oneof
            && !self.members.insert(oneof)
        {
            self.refuse();
        }
        Some(field)
    }

    /// Prints a field with one value.
    #[inline(always)]
    fn single(&mut self, number: u32, put: impl FnOnce(&mut Value<'_, 'p>)) {
        let Some(field) = self.find(number) else { return };
        if field.shape != Shape::One {
            return self.refuse();
        }
        put(&mut Value { direct: self, field, is_key: false });
        self.out.key(self.table, field);
    }

    /// Replaces the first comma of what ends at `end`, or adds a bracket if that is empty.
    #[inline(always)]
    fn close(&mut self, end: (usize, usize), bracket: u8) {
        match self.out.place() == end {
            true => self.out.push(bracket),
            false => self.out.replace(bracket),
        }
    }

    /// Prints the elements of a list, which are not none.
    #[inline(always)]
    fn elements(&mut self, number: u32, mut put: impl FnMut(&mut Value<'_, 'p>)) {
        let Some(field) = self.find(number) else { return };
        if field.shape != Shape::List {
            return self.refuse();
        }
        self.out.push(b']');
        put(&mut Value { direct: self, field, is_key: false });
        self.out.replace(b'[');
        self.out.key(self.table, field);
    }

    /// Prints a message of the type of `field`.
    #[inline(always)]
    fn message_of<M: Encode>(&mut self, field: &Field, value: &M, is_group: bool) {
        let Type::Message(index) = field.ty else { return self.refuse() };
        let table = &self.schema.json[index as usize];
        let is_wrong = is_group == (field.wire_type() == crate::wire::tag::LEN);
        if self.level >= DEPTH_MAX || self.is_refused || is_wrong {
            return self.refuse();
        }
        self.level += 1;
        if table.form == Form::Fields {
            self.object(table, value);
        } else {
            self.known(index, value);
        }
        self.level -= 1;
    }

    /// Prints a message as an object.
    #[inline(never)]
    fn object<M: Encode>(&mut self, table: &'p Table, value: &M) {
        let around = (self.table, self.before, self.entry, self.begin);
        let members = core::mem::take(&mut self.members);
        (self.table, self.before) = (table, table.fields.len());
        self.out.push(b'}');
        let end = self.out.place();
        value.encode_fields(self);
        self.close(end, b'{');
        (self.table, self.before, self.entry, self.begin) = around;
        self.members = members;
    }

    /// Prints a message with a form of its own, which is encoded first.
    #[inline(never)]
    fn known<M: Encode>(&mut self, index: u32, value: &M) {
        let options = PrintOptions::default();
        let mut printer = Printer::new(self.descriptor, &options, 64);
        let level = self.level;
        let printed =
            encoded(value, false, |bytes| Ok(printer.message(index, bytes, level).is_ok()));
        match printed {
            Ok(true) => self.out.part(printer.out.into_bytes()),
            _ => self.refuse(),
        }
    }
}

impl Output for Direct<'_> {
    const IN_ORDER: bool = true;

    fn written(&self) -> usize {
        0
    }

    /// Unknown fields can have extensions.
    fn raw(&mut self, _: &[u8]) {
        self.refuse();
    }

    fn bare_varint(&mut self, _: u64) {
        self.refuse();
    }

    fn bare_fixed32(&mut self, _: u32) {
        self.refuse();
    }

    fn bare_fixed64(&mut self, _: u64) {
        self.refuse();
    }

    fn tag(&mut self, _: u32, _: u32) {
        self.refuse();
    }

    #[inline]
    fn varint(&mut self, number: u32, value: u64) {
        self.single(number, |to| to.bare_varint(value));
    }

    #[inline]
    fn fixed32(&mut self, number: u32, value: u32) {
        self.single(number, |to| to.bare_fixed32(value));
    }

    #[inline]
    fn fixed64(&mut self, number: u32, value: u64) {
        self.single(number, |to| to.bare_fixed64(value));
    }

    #[inline]
    fn field(&mut self, number: u32, bytes: &[u8]) {
        self.single(number, |to| to.field(0, bytes));
    }

    fn open(&mut self) -> Option<usize> {
        self.refuse();
        None
    }

    fn open_flat(&mut self) -> Option<usize> {
        self.refuse();
        None
    }

    fn close(&mut self, _: u32, _: usize) {
        self.refuse();
    }

    fn run(&mut self, _: u32, _: usize) {
        self.refuse();
    }

    fn close_group(&mut self, _: u32) {
        self.refuse();
    }

    /// Code that exists only once, for encoders.
    fn through(&mut self, _: impl FnOnce(&mut Encoder<'_>)) {
        self.refuse();
    }

    #[inline]
    fn message<M: Encode>(&mut self, number: u32, value: &M) {
        self.single(number, |to| to.message(0, value));
    }

    #[inline]
    fn group<M: Encode>(&mut self, number: u32, value: &M) {
        self.single(number, |to| to.group(0, value));
    }

    fn begin_map(&mut self, number: u32) -> bool {
        let Some(field) = self.find(number) else { return false };
        let Shape::Map(of) = field.shape else {
            self.refuse();
            return false;
        };
        self.entry = EntryType::new(&self.schema.json[of as usize]);
        self.out.push(b'}');
        self.begin = self.out.place();
        true
    }

    #[inline]
    fn entry<K: Kind, V: Kind>(&mut self, _: u32, key: &K::Owned, value: &V::Owned) {
        // An entry is a level of the encoded message.
        let Some(entry) = self.entry.filter(|_| self.level < DEPTH_MAX) else {
            return self.refuse();
        };
        self.level += 1;
        V::put(&mut Value { direct: self, field: entry.value, is_key: false }, 0, value);
        self.out.push(b':');
        K::put(&mut Value { direct: self, field: entry.key, is_key: true }, 0, key);
        self.out.push(b',');
        self.level -= 1;
    }

    fn end_map(&mut self, _: u32) {
        let Some(field) = self.table.fields.get(self.before) else { return };
        if self.out.place() == self.begin {
            return self.out.pop();
        }
        self.out.replace(b'{');
        self.out.key(self.table, field);
    }

    #[inline]
    fn list<K: Kind>(&mut self, number: u32, values: &[K::Owned]) {
        if values.is_empty() {
            return;
        }
        self.elements(number, |to| {
            for value in values.iter().rev() {
                K::put(to, 0, value);
                to.direct.out.push(b',');
            }
        });
    }

    #[inline]
    fn packed<K: Packable>(&mut self, number: u32, values: &[K::Owned]) {
        self.elements(number, |to| {
            for value in values.iter().rev() {
                K::put_bare(to, value);
                to.direct.out.push(b',');
            }
        });
    }
}

/// Prints values of one field, without its name.
struct Value<'d, 'p> {
    direct: &'d mut Direct<'p>,
    field: &'d Field,
    /// The field is the key of an entry.
    is_key: bool,
}

impl Value<'_, '_> {
    /// Prints a number. False if the type has another encoding.
    #[inline(always)]
    fn number(&mut self, wire_type: u32, wire: Wire<'_>) {
        let (ty, out) = (self.field.ty, &mut self.direct.out);
        if self.field.wire_type() != wire_type {
            return self.direct.refuse();
        }
        match (ty, wire) {
            _ if self.is_key => scalar::key(ty, wire, out),
            (Type::Enum(index), Wire::Varint(bits)) => self.enumeration(index, bits as i32),
            (ty, Wire::Varint(bits)) => scalar::varint(ty, bits, out),
            (ty, Wire::Fixed32(bits)) => scalar::fixed32(ty, bits, out),
            (ty, Wire::Fixed64(bits)) => scalar::fixed64(ty, bits, out),
            _ => {}
        }
    }

    #[inline(never)]
    fn enumeration(&mut self, index: u32, number: i32) {
        let out = &mut self.direct.out;
        match self.direct.schema.enumeration(index).name_of(number) {
            None if self.field.closed => self.direct.refuse(),
            _ if self.field.nullable => out.put(b"null"),
            Some(name) => out.string(name.as_bytes()),
            None => scalar::varint(Type::Int32, number as u64, out),
        }
    }
}

impl Output for Value<'_, '_> {
    const IN_ORDER: bool = true;

    fn written(&self) -> usize {
        0
    }

    fn raw(&mut self, _: &[u8]) {
        self.direct.refuse();
    }

    #[inline(always)]
    fn bare_varint(&mut self, value: u64) {
        self.number(crate::wire::tag::VARINT, Wire::Varint(value));
    }

    #[inline(always)]
    fn bare_fixed32(&mut self, value: u32) {
        self.number(crate::wire::tag::FIXED32, Wire::Fixed32(value));
    }

    #[inline(always)]
    fn bare_fixed64(&mut self, value: u64) {
        self.number(crate::wire::tag::FIXED64, Wire::Fixed64(value));
    }

    fn tag(&mut self, _: u32, _: u32) {
        self.direct.refuse();
    }

    #[inline(always)]
    fn varint(&mut self, _: u32, value: u64) {
        self.bare_varint(value);
    }

    #[inline(always)]
    fn fixed32(&mut self, _: u32, value: u32) {
        self.bare_fixed32(value);
    }

    #[inline(always)]
    fn fixed64(&mut self, _: u32, value: u64) {
        self.bare_fixed64(value);
    }

    #[inline(always)]
    fn field(&mut self, _: u32, bytes: &[u8]) {
        match self.field.ty {
            Type::String => self.direct.out.string(bytes),
            Type::Bytes => self.direct.out.bytes(bytes),
            _ => self.direct.refuse(),
        }
    }

    fn open(&mut self) -> Option<usize> {
        self.direct.refuse();
        None
    }

    fn open_flat(&mut self) -> Option<usize> {
        self.direct.refuse();
        None
    }

    fn close(&mut self, _: u32, _: usize) {
        self.direct.refuse();
    }

    fn run(&mut self, _: u32, _: usize) {
        self.direct.refuse();
    }

    fn close_group(&mut self, _: u32) {
        self.direct.refuse();
    }

    fn through(&mut self, _: impl FnOnce(&mut Encoder<'_>)) {
        self.direct.refuse();
    }

    #[inline(always)]
    fn message<M: Encode>(&mut self, _: u32, value: &M) {
        self.direct.message_of(self.field, value, false);
    }

    #[inline(always)]
    fn group<M: Encode>(&mut self, _: u32, value: &M) {
        self.direct.message_of(self.field, value, true);
    }
}
