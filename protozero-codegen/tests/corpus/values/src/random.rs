//! Random messages of any schema.

use std::collections::HashMap;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

/// Numbers that look random, the same in every run.
pub(crate) struct Random {
    pub(crate) state: u64,
    /// Whether a map has one entry at most, and no default in it. prost leaves out a default in an entry, and sorts no
    /// entries.
    pub(crate) plain_maps: bool,
}

impl Random {
    fn next(&mut self) -> u64 {
        let state = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = state.wrapping_add(1_442_695_040_888_963_407);
        let high = self.state >> 33;
        high ^ self.state.rotate_left(11)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 7) % bound
    }

    /// A number of few or many bits.
    fn bits(&mut self) -> u64 {
        let shift = self.below(64);
        self.next() >> shift
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'Z', '0', ' ', '"', 'ß', '語', '\u{1f980}'];
        (0..self.below(6)).map(|_| letters[self.below(8) as usize]).collect()
    }

    pub(crate) fn message(&mut self, of: MessageDescriptor, levels: u32) -> DynamicMessage {
        let mut message = DynamicMessage::new(of.clone());
        for field in of.fields() {
            let nested = matches!(field.kind(), Kind::Message(_));
            let chance = if nested { 3 } else { 2 };
            if (nested && levels == 0) || self.below(chance) != 0 {
                continue;
            }
            let value = self.field(&field, levels);
            message.set_field(&field, value);
        }
        message
    }

    fn field(&mut self, field: &FieldDescriptor, levels: u32) -> Value {
        if field.is_list() {
            let count = self.below(4);
            return Value::List((0..count).map(|_| self.value(&field.kind(), levels)).collect());
        }
        let Kind::Message(entry) = field.kind() else { return self.value(&field.kind(), levels) };
        if !field.is_map() {
            return self.value(&field.kind(), levels);
        }
        let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
        let mut entries = HashMap::new();
        for _ in 0..self.below(if self.plain_maps { 2 } else { 4 }) {
            let of_key = self.value(&key.kind(), 0);
            let of_value = self.value(&value.kind(), levels);
            let is_default = |of: &FieldDescriptor, value: &Value| {
                !of.supports_presence() && *value == of.default_value()
            };
            if self.plain_maps && (is_default(&key, &of_key) || is_default(&value, &of_value)) {
                continue;
            }
            let of_key: Option<MapKey> = of_key.into_map_key();
            entries.insert(of_key.unwrap(), of_value);
        }
        Value::Map(entries)
    }

    fn value(&mut self, kind: &Kind, levels: u32) -> Value {
        let bits = self.bits();
        match kind {
            Kind::Double => Value::F64(bits as i64 as f64 / 8.0),
            Kind::Float => Value::F32(bits as i32 as f32 / 8.0),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(bits as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(bits as i64),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(bits as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(bits),
            Kind::Bool => Value::Bool(bits % 2 == 0),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => Value::Bytes(self.text().into_bytes().into()),
            Kind::Enum(of) => {
                let all: Vec<i32> = of.values().map(|value| value.number()).collect();
                Value::EnumNumber(all[bits as usize % all.len()])
            }
            Kind::Message(of) => Value::Message(self.message(of.clone(), levels.saturating_sub(1))),
        }
    }
}
