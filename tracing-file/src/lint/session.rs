//! Whether the session of a trace got the track events that its config asks for, and what its service says of losses.

use protozero::{Reader, Value};

use crate::losses::{Losses, service_stats};
use crate::packets::Place;

/// The attribute that `tracebox record` writes beside its own events, which are about the command.
const RECORDER_KEY: &[u8] = b"tracebox.command";

/// What is known of the session. No more events are looked at once a program has recorded one.
#[derive(Default)]
pub(super) struct Session {
    /// The config that asks for track events.
    config: Option<Place>,
    /// The process id of `tracebox record`.
    recorder: Option<u64>,
    has_events: bool,
    /// The last statistics of the service, if its ledger has entries: how many.
    lost: Option<(Place, u64)>,
}

impl Session {
    /// Reads a packet.
    pub(super) fn packet(&mut self, packet: &[u8], place: Place) {
        if let Some(stats) = service_stats(packet) {
            let losses = Losses::read(stats);
            let entries = losses.ledger.len() as u64 + losses.entries_left_out;
            self.lost = (entries > 0).then_some((place, entries));
        }
        if self.has_events {
            return;
        }
        let (mut is_event, mut is_recorder, mut pid) = (false, false, 0);
        let mut reader = Reader::new(packet);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (11, Value::Len(_)) => is_event = true,
                (33, Value::Len(config)) if asks_for_events(config) => self.config = Some(place),
                (79, Value::Varint(id)) => pid = id,
                (126, Value::Len(attributes)) => {
                    is_recorder |= messages(attributes, 1)
                        .any(|attribute| messages(attribute, 1).any(|key| key == RECORDER_KEY));
                }
                _ => {}
            }
        }
        if is_recorder {
            self.recorder = Some(pid);
        }
        self.has_events = is_event && self.recorder != Some(pid);
    }

    /// The last statistics of the service, and the entries of its ledger, if there are any.
    pub(super) fn losses(&self) -> Option<(Place, u64)> {
        self.lost
    }

    /// The config, if it asks for track events and no program recorded one.
    pub(super) fn without_events(&self) -> Option<Place> {
        self.config.filter(|_| !self.has_events)
    }
}

/// Whether a `TraceConfig` has the data source `track_event`.
fn asks_for_events(config: &[u8]) -> bool {
    let mut names = messages(config, 2)
        .flat_map(|source| messages(source, 1))
        .flat_map(|source| messages(source, 1));
    names.any(|name| name == b"track_event")
}

/// The fields of a message with this number and a length.
fn messages(message: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    let mut reader = Reader::new(message);
    std::iter::from_fn(move || {
        while let Ok(Some(field)) = reader.next_field() {
            match field.value {
                Value::Len(body) if field.number == number => return Some(body),
                _ => {}
            }
        }
        None
    })
}
