//! What a sequence has defined: names, its clock, the track of its thread.

use std::borrow::Cow;
use std::collections::HashMap;

use super::numbers;
use super::packet::{Packet, all, number, text};
use crate::clock::snapshots::boot_ns_of;
use crate::source::settings::{ABSOLUTE_CLOCK, CLEARED, INCREMENTAL_CLOCK, TRACE_CLOCK};

const INCREMENTAL: u64 = INCREMENTAL_CLOCK as u64;
const ABSOLUTE: u64 = ABSOLUTE_CLOCK as u64;
const TRACE: u64 = TRACE_CLOCK as u64;

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
    clock: u64,
    unit_ns: u64,
    /// The last time on the incremental clock.
    last_ns: u64,
}

impl Names {
    /// Reads what `packet` defines, and returns its time.
    pub(super) fn learn(&mut self, packet: &Packet<'_>) -> u64 {
        if packet.sequence_flags & u64::from(CLEARED) != 0 {
            *self = Self { unit_ns: 1, ..Self::default() };
        }
        if let Some(defaults) = packet.defaults {
            self.clock = number(defaults, numbers::defaults::TIMESTAMP_CLOCK_ID).unwrap_or(0);
            let event = all(defaults, numbers::defaults::TRACK_EVENT_DEFAULTS).last();
            self.track =
                event.and_then(|event| number(event, numbers::defaults::TRACK_UUID)).unwrap_or(0);
        }
        for clock in all(packet.clock_snapshot, numbers::snapshot::CLOCKS) {
            let unit_ns = number(clock, numbers::snapshot::UNIT_MULTIPLIER_NS).unwrap_or(1);
            match number(clock, numbers::snapshot::CLOCK_ID) {
                Some(INCREMENTAL) => {
                    self.last_ns = number(clock, numbers::snapshot::TIMESTAMP)
                        .unwrap_or(0)
                        .wrapping_mul(unit_ns);
                    self.unit_ns = unit_ns;
                }
                Some(ABSOLUTE) => self.unit_ns = unit_ns,
                _ => {}
            }
        }
        let tables = [
            (numbers::interned::EVENT_CATEGORIES, &mut self.categories),
            (numbers::interned::EVENT_NAMES, &mut self.events),
            (numbers::interned::DEBUG_ANNOTATION_NAMES, &mut self.keys),
            (numbers::interned::DEBUG_ANNOTATION_STRING_VALUES, &mut self.strings),
        ];
        for (field, texts) in tables {
            for entry in all(packet.interned_data, field) {
                let name = text(entry, numbers::interned::TEXT).unwrap_or_default().into_owned();
                texts.insert(number(entry, numbers::interned::IID).unwrap_or(0), name);
            }
        }
        self.time_ns(packet)
    }

    fn time_ns(&mut self, packet: &Packet<'_>) -> u64 {
        let time = packet.timestamp;
        match packet.timestamp_clock_id.unwrap_or(self.clock) {
            INCREMENTAL => {
                self.last_ns = self.last_ns.wrapping_add(time.wrapping_mul(self.unit_ns));
                self.last_ns
            }
            ABSOLUTE => time.wrapping_mul(self.unit_ns),
            TRACE => time,
            // This process has the snapshots, and reads the clocks of the kernel.
            other => u32::try_from(other).map_or(time, |id| boot_ns_of(id, time)),
        }
    }

    /// The name of an event; empty if it has none.
    pub(super) fn event<'n>(&'n self, event: &'n [u8]) -> Cow<'n, str> {
        named(event, (numbers::event::NAME_IID, &self.events), numbers::event::NAME)
    }

    /// The first category of an event.
    pub(super) fn category<'n>(&'n self, event: &'n [u8]) -> Cow<'n, str> {
        // The SDK writes them one after the other; `number` finds the last one.
        let mut iids = super::packet::fields(event)
            .filter(|field| field.number == numbers::event::CATEGORY_IIDS);
        match iids.next().map(|field| field.value) {
            Some(protozero::Value::Varint(iid)) => known(&self.categories, iid).into(),
            _ => all(event, numbers::event::CATEGORIES)
                .next()
                .map(String::from_utf8_lossy)
                .unwrap_or_default(),
        }
    }

    /// The name of an annotation.
    pub(super) fn key<'n>(&'n self, annotation: &'n [u8]) -> Cow<'n, str> {
        named(annotation, (numbers::annotation::NAME_IID, &self.keys), numbers::annotation::NAME)
    }

    /// The text with a number, as the value of an annotation.
    pub(super) fn string(&self, iid: u64) -> &str {
        known(&self.strings, iid)
    }
}

/// A name by its number, or in full.
fn named<'n>(message: &'n [u8], (iid, names): (u32, &'n Texts), name: u32) -> Cow<'n, str> {
    match number(message, iid) {
        Some(iid) => known(names, iid).into(),
        None => text(message, name).unwrap_or_default(),
    }
}

fn known(texts: &Texts, iid: u64) -> &str {
    texts.get(&iid).map_or("", String::as_str)
}
