//! A trace as a list of events with their names resolved.

use std::collections::HashMap;

use protos::{
    DebugAnnotation, DebugAnnotationNameField, DebugAnnotationValue, TracePacket, TracePacketData,
    TrackDescriptor, TrackEvent, TrackEventNameField,
};
use protozero::Message as _;

/// An event, as text: `type category name key=value...`.
pub(crate) fn events(trace: &[u8]) -> Vec<String> {
    packets(trace).iter().filter_map(|packet| packet.text.clone()).collect()
}

pub(crate) struct Packet {
    pub(crate) text: Option<String>,
    pub(crate) message: TracePacket,
}

/// All packets; the names in events are resolved.
///
/// A strict reader: it panics where `trace_processor` would skip a packet, or show less of it. After a loss a sequence
/// cannot be read before it opens again.
pub(crate) fn packets(trace: &[u8]) -> Vec<Packet> {
    read(trace).collect()
}

/// As [`packets`], one by one: for traces whose packets do not all fit into memory.
pub(crate) fn read(trace: &[u8]) -> impl Iterator<Item = Packet> {
    let mut reader = protozero::Reader::new(trace);
    let mut sequences: HashMap<u32, Names> = HashMap::new();
    std::iter::from_fn(move || {
        let field = reader.next_field().expect("a trace")?;
        let bytes = field.value.bytes().expect("a packet");
        let message = TracePacket::decode(bytes).expect("a packet");
        Some(resolve(&mut sequences, message))
    })
}

fn resolve(sequences: &mut HashMap<u32, Names>, message: TracePacket) -> Packet {
    let names = sequences.entry(trusted_sequence(&message)).or_default();
    let flags = message.sequence_flags.unwrap_or(0);
    if flags & 1 != 0 {
        *names = Names { is_open: true, ..Names::default() };
    } else if message.previous_packet_dropped.is_some_and(|reasons| reasons != 0) {
        names.is_open = false;
    }
    assert!(flags & 2 == 0 || names.is_open, "a packet without what came before: {message:?}");
    names.learn(&message);
    let text = match &message.data {
        Some(TracePacketData::TrackEvent(event)) => Some(names.describe(event)),
        _ => None,
    };
    Packet { text, message }
}

pub(crate) fn trusted_sequence(packet: &TracePacket) -> u32 {
    match packet.optional_trusted_packet_sequence_id {
        Some(protos::TracePacketOptionalTrustedPacketSequenceId::TrustedPacketSequenceId(id)) => id,
        None => 0,
    }
}

/// All track descriptors, in order.
pub(crate) fn tracks(trace: &[u8]) -> Vec<TrackDescriptor> {
    let only_tracks = |packet: Packet| match packet.message.data {
        Some(TracePacketData::TrackDescriptor(track)) => Some(track),
        _ => None,
    };
    packets(trace).into_iter().filter_map(only_tracks).collect()
}

#[derive(Default)]
struct Names {
    /// Nothing was lost since the opening.
    is_open: bool,
    categories: HashMap<u64, String>,
    events: HashMap<u64, String>,
    keys: HashMap<u64, String>,
    strings: HashMap<u64, String>,
}

impl Names {
    fn learn(&mut self, packet: &TracePacket) {
        let Some(data) = &packet.interned_data else { return };
        for entry in &data.event_categories {
            self.categories.insert(entry.iid.unwrap_or(0), entry.name.clone().unwrap_or_default());
        }
        for entry in &data.event_names {
            self.events.insert(entry.iid.unwrap_or(0), entry.name.clone().unwrap_or_default());
        }
        for entry in &data.debug_annotation_names {
            self.keys.insert(entry.iid.unwrap_or(0), entry.name.clone().unwrap_or_default());
        }
        for entry in &data.debug_annotation_string_values {
            let text = String::from_utf8_lossy(entry.str.as_deref().unwrap_or_default());
            self.strings.insert(entry.iid.unwrap_or(0), text.into_owned());
        }
    }
}

impl Names {
    fn describe(&self, event: &TrackEvent) -> String {
        let kind = match event.r#type.map(|kind| kind.0) {
            Some(1) => "begin",
            Some(2) => "end",
            Some(3) => "instant",
            Some(4) => "counter",
            Some(5) => "state",
            _ => "?",
        };
        let mut out = kind.to_owned();
        for iid in &event.category_iids {
            out += " ";
            out += self.categories.get(iid).expect("a category that was defined");
        }
        match &event.name_field {
            None => {}
            Some(TrackEventNameField::Name(name)) => out += &format!(" {name}"),
            Some(TrackEventNameField::NameIid(iid)) => {
                out += " ";
                out += self.events.get(iid).expect("a name that was defined");
            }
        }
        for annotation in &event.debug_annotations {
            out += &format!(" {}={}", self.key(annotation), self.value(annotation));
        }
        match &event.counter_value_field {
            None => {}
            Some(protos::TrackEventCounterValueField::CounterValue(value)) => {
                out += &format!(" {value}")
            }
            Some(protos::TrackEventCounterValueField::DoubleCounterValue(value)) => {
                out += &format!(" {value:?}");
            }
        }
        out
    }

    fn key(&self, annotation: &DebugAnnotation) -> String {
        match &annotation.name_field {
            Some(DebugAnnotationNameField::Name(name)) => name.clone(),
            Some(DebugAnnotationNameField::NameIid(iid)) => {
                self.keys.get(iid).expect("a key that was defined").clone()
            }
            None => String::new(),
        }
    }

    fn value(&self, annotation: &DebugAnnotation) -> String {
        let joined = |values: &[DebugAnnotation]| {
            let texts = values.iter().map(|value| match self.key(value).as_str() {
                "" => self.value(value),
                key => format!("{key}={}", self.value(value)),
            });
            texts.collect::<Vec<_>>().join(",")
        };
        if !annotation.dict_entries.is_empty() {
            return format!("{{{}}}", joined(&annotation.dict_entries));
        }
        if !annotation.array_values.is_empty() {
            return format!("[{}]", joined(&annotation.array_values));
        }
        match annotation.value.as_ref() {
            Some(DebugAnnotationValue::BoolValue(value)) => value.to_string(),
            Some(DebugAnnotationValue::UintValue(value)) => value.to_string(),
            Some(DebugAnnotationValue::IntValue(value)) => value.to_string(),
            Some(DebugAnnotationValue::DoubleValue(value)) => format!("{value:?}"),
            Some(DebugAnnotationValue::StringValue(value)) => value.clone(),
            Some(DebugAnnotationValue::PointerValue(value)) => format!("{value:#x}"),
            Some(DebugAnnotationValue::StringValueIid(iid)) => {
                self.strings.get(iid).expect("a text that was defined").clone()
            }
            _ => "?".to_owned(),
        }
    }
}
