//! Events whose names are defined, without arguments, with few annotations or with a line of the log: almost all of
//! most traces.
//!
//! Their packets have few fields, so they need no stream:
//!
//! ```text
//!   timestamp | sequence_flags | track_event: type | category_iids | name_iid | track_uuid | source_location_iid
//!                                             | counter_value | debug_annotations: name_iid | a value
//!                                             | log_message: body_iid | prio | source_location_iid
//! ```

use client::write::short::ShortPacket;
use protozero::rt;
use protozero::wire::varint::{self, LEN_MAX};

#[cfg(feature = "tracing")]
use super::LogLine;
use super::{Arguments, Sequence, Spec};
use crate::category::Members;
use crate::event::annotate::Simple;
use crate::event::annotation_value::AnnotationValue;
use crate::event::counter_value::CounterValue;
use crate::intern::{EventName, Interning, StaticName};
use crate::source::settings::NEEDS_STATE;
use crate::track::Track;

/// The longest packet without annotations: its length, and each field with its longest value.
const BYTES_MAX: usize = 1 + 11 + FLAGS_TO_TYPE.len() + 6 + 6 + 11 + 12 + 12;

/// `sequence_flags`, `track_event` and its length, `type`, with a tag and one byte each. The length and the type come
/// later.
const FLAGS_TO_TYPE: [u8; 6] = [13 << 3, NEEDS_STATE as u8, 11 << 3 | 2, 0, 9 << 3, 0];

/// The longest packet with annotations.
const ANNOTATED_BYTES_MAX: usize = 126;

/// What comes before a value in an annotation: a tag and a length, `name_iid` with its longest value, and the tag of
/// the value and its length.
const HEAD_BYTES_MAX: usize = 2 + 1 + 3 + 2;

/// `debug_annotations`
const ANNOTATION: u8 = rt::tag(4, rt::LEN) as u8;
/// `name_iid`
const KEY: u8 = rt::tag(1, rt::VARINT) as u8;
/// `double_value`
const DOUBLE: u8 = rt::tag(5, rt::FIXED64) as u8;
/// `log_message`
#[cfg(feature = "tracing")]
const LOG_MESSAGE: u32 = rt::tag(21, rt::LEN);
/// Its tag of two bytes, and its length, which comes later.
#[cfg(feature = "tracing")]
const LOG: [u8; 3] = [LOG_MESSAGE as u8 | 0x80, (LOG_MESSAGE >> 7) as u8, 0];
/// `string_value`
const STRING: u8 = rt::tag(6, rt::LEN) as u8;

impl Sequence {
    /// Writes an event with annotations at most, if there is nothing special about it. False if it was not written.
    #[inline(never)]
    pub(super) fn write_short(
        &mut self,
        now_ns: u64,
        spec: &Spec<'_, '_>,
        arguments: Option<&Arguments<'_>>,
    ) -> bool {
        if matches!(arguments, Some(Arguments::Closure(_))) || !self.can_be_short(now_ns, spec) {
            return false;
        }
        let category = match spec.members {
            None => None,
            Some(Members::One(category)) => Some(category),
            Some(Members::Many(_)) => return false,
        };
        let Some(name) = self.short_name(spec.name) else { return false };
        if let Some(category) = category {
            self.interning.category(category);
        }
        let place = spec.place.map_or(0, |place| self.interning.place(place));
        if self.interning.has_definitions() {
            return false;
        }
        let bytes_max = arguments.map_or(BYTES_MAX, |_| ANNOTATED_BYTES_MAX);
        let Some(mut packet) = self.writer.new_short_packet(bytes_max) else { return false };
        // After a loss the sequence opens again. The stream writes the next event, which reports the loss. A flush in
        // between takes the chunk, so no short packet fits.
        debug_assert_eq!(self.lost, 0, "a loss is told by the stream");
        packet.varint::<8>(now_ns - self.last_ns);
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
        let is_stored = match arguments {
            Some(Arguments::Annotations(keys, values)) => {
                !self.running.settings.drop_annotations
                    && annotate(packet, begin, &mut self.interning, keys, values)
            }
            #[cfg(feature = "tracing")]
            Some(Arguments::Log(line)) => log(packet, begin, &mut self.interning, *line, place),
            _ => {
                packet.end_message(begin);
                packet.end();
                true
            }
        };
        if is_stored {
            self.last_ns = now_ns;
        }
        is_stored
    }

    #[inline(always)]
    fn can_be_short(&self, now_ns: u64, spec: &Spec<'_, '_>) -> bool {
        let is_ready = !self.needs_opening
            && !self.is_special
            && spec.track.is_none_or(|track| self.is_described(track));
        let is_counted = self.running.settings.counts_ns() && now_ns >= self.last_ns;
        is_ready && is_counted && spec.when.time.is_none()
    }

    /// The number of a name; 0 if there is no name. None if it has no number.
    #[inline(always)]
    fn short_name(&mut self, name: EventName<'_>) -> Option<u32> {
        match name {
            EventName::None => Some(0),
            EventName::Static(name) => {
                Some(self.interning.event_name(name)).filter(|iid| *iid != 0)
            }
            EventName::Dynamic(_) | EventName::Interned(..) => None,
        }
    }
}

/// Appends annotations, and ends the packet and its message, which begins at byte `begin`. False, and there is no
/// packet, if an annotation is not of a basic type, is long, or has a key that is not defined.
///
/// It takes the packet, because nothing else may take its address: then it stays in registers.
#[inline(never)]
fn annotate(
    mut packet: ShortPacket<'_>,
    begin: usize,
    interning: &mut Interning,
    keys: &'static [StaticName],
    values: &[AnnotationValue<'_>],
) -> bool {
    for (key, value) in keys.iter().zip(values) {
        let AnnotationValue::Simple(value) = *value else { return false };
        if matches!(value, Simple::Absent) {
            continue;
        }
        let iid = interning.key(key);
        let bytes_left = ANNOTATED_BYTES_MAX - 1 - packet.bytes();
        if iid == 0 || interning.has_definitions() || bytes_left < HEAD_BYTES_MAX + LEN_MAX {
            return false;
        }
        match value {
            Simple::Absent => {}
            Simple::Varint(tag, value) if value < 0x80 => {
                let (head, len) = head(iid, tag, 1);
                packet.raw_up_to((head | value << (8 * len)).to_le_bytes(), len + 1);
            }
            Simple::Varint(tag, value) => {
                let value_len = varint::len(value);
                let (head, len) = head(iid, tag, value_len);
                packet.raw_up_to(head.to_le_bytes(), len);
                packet.raw_varint(value);
            }
            Simple::Double(value) => {
                let (head, len) = head(iid, DOUBLE, 8);
                packet.raw_up_to(head.to_le_bytes(), len);
                packet.raw(value.to_bits().to_le_bytes());
            }
            Simple::Str(text) => {
                if text.len() > bytes_left - HEAD_BYTES_MAX {
                    return false;
                }
                let (head, len) = head(iid, STRING, 1 + text.len());
                packet.raw_up_to((head | (text.len() as u64) << (8 * len)).to_le_bytes(), len + 1);
                packet.raw_slice(text.as_bytes());
            }
        }
    }
    packet.end_message(begin);
    packet.end();
    true
}

/// As [`annotate`], a line of the log whose place has the number `place`; 0: none. False, and there is no packet, if
/// the line is not defined.
#[cfg(feature = "tracing")]
#[inline(never)]
fn log(
    mut packet: ShortPacket<'_>,
    begin: usize,
    interning: &mut Interning,
    line: LogLine,
    place: u64,
) -> bool {
    let body = interning.log_body(line.body);
    if interning.has_definitions() {
        return false;
    }
    packet.raw(LOG);
    let body_begin = packet.bytes();
    packet.varint::<2>(body);
    packet.varint::<3>(line.priority as u64);
    if place != 0 {
        packet.varint::<1>(place);
    }
    packet.end_message(body_begin);
    packet.end_message(begin);
    packet.end();
    true
}

/// The beginning of an annotation up to the tag of its value, as a word, and its length. The value has `value_len`
/// bytes, fewer than 120.
#[inline(always)]
fn head(key: u64, tag: u8, value_len: usize) -> (u64, usize) {
    let (key, key_len) = if key < 0x80 { (key, 1) } else { varint::word(key) };
    let len = 4 + key_len;
    let body_len = (len - 2 + value_len) as u64;
    let word = u64::from(ANNOTATION)
        | body_len << 8
        | u64::from(KEY) << 16
        | key << 24
        | u64::from(tag) << (8 * (len - 1));
    (word, len)
}
