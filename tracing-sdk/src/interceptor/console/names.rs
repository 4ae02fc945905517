//! What a sequence has defined: names, its clock, the track of its thread.

use std::collections::HashMap;

use protos::{
    DebugAnnotation, DebugAnnotationNameField, TracePacket, TracePacketData, TrackEvent,
    TrackEventNameField,
};

use crate::source::settings::{ABSOLUTE_CLOCK, CLEARED, INCREMENTAL_CLOCK};

type Texts = HashMap<u64, String>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Names {
    categories: Texts,
    events: Texts,
    keys: Texts,
    strings: Texts,
    /// The track of an event that names none.
    pub(super) track: u64,
    clock: u32,
    unit_ns: u64,
    /// The last time on the incremental clock.
    last_ns: u64,
}

impl Names {
    /// Reads what `packet` defines, and returns its time.
    pub(super) fn learn(&mut self, packet: &TracePacket) -> u64 {
        if packet.sequence_flags.unwrap_or(0) & CLEARED != 0 {
            *self = Self { unit_ns: 1, ..Self::default() };
        }
        if let Some(defaults) = &packet.trace_packet_defaults {
            self.clock = defaults.timestamp_clock_id.unwrap_or(0);
            let event = defaults.track_event_defaults.as_ref();
            self.track = event.and_then(|event| event.track_uuid).unwrap_or(0);
        }
        if let Some(TracePacketData::ClockSnapshot(snapshot)) = &packet.data {
            for clock in &snapshot.clocks {
                let unit_ns = clock.unit_multiplier_ns.unwrap_or(1);
                match clock.clock_id {
                    Some(INCREMENTAL_CLOCK) => {
                        self.last_ns = clock.timestamp.unwrap_or(0).wrapping_mul(unit_ns);
                        self.unit_ns = unit_ns;
                    }
                    Some(ABSOLUTE_CLOCK) => self.unit_ns = unit_ns,
                    _ => {}
                }
            }
        }
        self.learn_names(packet);
        self.time_ns(packet)
    }

    fn learn_names(&mut self, packet: &TracePacket) {
        let Some(data) = &packet.interned_data else { return };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        for entry in &data.event_categories {
            self.categories.insert(entry.iid.unwrap_or(0), text(&entry.name));
        }
        for entry in &data.event_names {
            self.events.insert(entry.iid.unwrap_or(0), text(&entry.name));
        }
        for entry in &data.debug_annotation_names {
            self.keys.insert(entry.iid.unwrap_or(0), text(&entry.name));
        }
        for entry in &data.debug_annotation_string_values {
            let text = String::from_utf8_lossy(entry.str.as_deref().unwrap_or_default());
            self.strings.insert(entry.iid.unwrap_or(0), text.into_owned());
        }
    }

    fn time_ns(&mut self, packet: &TracePacket) -> u64 {
        let time = packet.timestamp.unwrap_or(0);
        match packet.timestamp_clock_id.unwrap_or(self.clock) {
            INCREMENTAL_CLOCK => {
                self.last_ns = self.last_ns.wrapping_add(time.wrapping_mul(self.unit_ns));
                self.last_ns
            }
            ABSOLUTE_CLOCK => time.wrapping_mul(self.unit_ns),
            _ => time,
        }
    }

    /// The name of an event; empty if it has none.
    pub(super) fn event<'n>(&'n self, event: &'n TrackEvent) -> &'n str {
        match &event.name_field {
            Some(TrackEventNameField::Name(name)) => name,
            Some(TrackEventNameField::NameIid(iid)) => text(&self.events, *iid),
            None => "",
        }
    }

    /// The first category of an event.
    pub(super) fn category<'n>(&'n self, event: &'n TrackEvent) -> &'n str {
        match (event.category_iids.first(), event.categories.first()) {
            (Some(iid), _) => text(&self.categories, *iid),
            (None, Some(name)) => name,
            (None, None) => "",
        }
    }

    pub(super) fn key<'n>(&'n self, annotation: &'n DebugAnnotation) -> &'n str {
        match &annotation.name_field {
            Some(DebugAnnotationNameField::Name(name)) => name,
            Some(DebugAnnotationNameField::NameIid(iid)) => text(&self.keys, *iid),
            None => "",
        }
    }

    /// The text with a number, as the value of an annotation.
    pub(super) fn string(&self, iid: u64) -> &str {
        text(&self.strings, iid)
    }
}

fn text(texts: &Texts, iid: u64) -> &str {
    texts.get(&iid).map_or("", String::as_str)
}
