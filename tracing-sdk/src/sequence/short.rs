//! Events without arguments whose names are defined: almost all of most traces.
//!
//! Their packets have few fields, so they need no stream:
//!
//! ```text
//!   timestamp | sequence_flags | track_event: type | category_iids | name_iid | track_uuid | source_location_iid
//!                                             | counter_value
//! ```

use super::{Sequence, Spec};
use crate::category::Members;
use crate::event::counter_value::CounterValue;
use crate::intern::EventName;
use crate::source::settings::NEEDS_STATE;
use crate::track::Track;

/// The longest packet: its length, and each field with its longest value.
const BYTES_MAX: usize = 1 + 11 + FLAGS_TO_TYPE.len() + 6 + 6 + 11 + 12 + 12;

/// `sequence_flags`, `track_event` and its length, `type`, with a tag and one byte each. The length and the type come
/// later.
const FLAGS_TO_TYPE: [u8; 6] = [13 << 3, NEEDS_STATE as u8, 11 << 3 | 2, 0, 9 << 3, 0];

impl Sequence {
    /// Writes an event without arguments, if there is nothing special about it. False if it was not written.
    #[inline(always)]
    pub(super) fn write_short(&mut self, now_ns: u64, spec: &Spec<'_, '_>) -> bool {
        let is_ready = !self.needs_opening
            && self.lost == 0
            && !self.is_special
            && spec.track.is_none_or(|track| self.is_described(track));
        let is_counted = self.running.settings.counts_ns() && now_ns >= self.last_ns;
        if !is_ready || !is_counted || spec.time_ns.is_some() {
            return false;
        }
        let category = match spec.members {
            None => None,
            Some(Members::One(category)) => Some(category),
            Some(Members::Many(_)) => return false,
        };
        let name = match spec.name {
            EventName::None => 0,
            EventName::Static(name) => match self.interning.event_name(name) {
                0 => return false,
                iid => iid,
            },
            EventName::Dynamic(_) | EventName::Interned(_) => return false,
        };
        if let Some(category) = category {
            self.interning.category(category);
        }
        let place = spec.place.map_or(0, |place| self.interning.place(place));
        if self.interning.has_definitions() {
            return false;
        }
        let Some(mut packet) = self.writer.new_short_packet(BYTES_MAX) else { return false };
        packet.varint::<8>(now_ns - self.last_ns);
        self.last_ns = now_ns;
        let mut head = FLAGS_TO_TYPE;
        head[5] = spec.kind.0 as u8;
        packet.raw(head);
        let begin = packet.bytes() - 2;
        if let Some(category) = category {
            packet.varint::<3>(category.iid().into());
        }
        if name != 0 {
            packet.varint::<10>(name.into());
        }
        if let Some(track) = spec.track.map(Track::uuid) {
            packet.varint::<11>(track);
        }
        if place != 0 {
            packet.varint::<34>(place);
        }
        match spec.value {
            None => {}
            Some(CounterValue::Int(value)) => packet.varint::<30>(value.cast_unsigned()),
            Some(CounterValue::Double(value)) => packet.fixed64::<44>(value.to_bits()),
        }
        packet.end_message(begin);
        packet.end();
        true
    }
}
