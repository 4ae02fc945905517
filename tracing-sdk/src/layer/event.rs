//! Events of `tracing`, as instants and lines of the log.

use std::cell::Cell;

use super::callsite;
use super::field::{Annotations, Special};
use super::log_record;
use super::span_slices::named_track;
use crate::category::Members;
use crate::event::Event;
use crate::intern::{EventName, StaticName};
use crate::sequence::{Arguments, LogLine, Spec, thread};

/// How much memory for texts a thread keeps for its next event, bytes.
const TEXT_BYTES_KEPT: usize = 16 * 1024;

/// The key of a message that is neither the name of its event nor a line of the log.
static MESSAGE: StaticName = StaticName::key("message");

thread_local! {
    /// Memory for the texts of an event. An event inside a value of another one finds none, and makes its own.
    static SPECIAL: Cell<Option<Box<Special>>> = const { Cell::new(None) };
}

/// Records an event.
pub(super) fn record(event: &tracing::Event<'_>) {
    let site = callsite::of(event.metadata());
    let category = match site.is_of_log {
        false => site.category,
        true => log_record::category(event, site),
    };
    let members = Members::One(category);
    let bits = members.instances();
    if bits == 0 {
        return;
    }
    let mut special = SPECIAL.try_with(Cell::take).ok().flatten().unwrap_or_default();
    special.message.clear();
    special.track.clear();
    event.record(&mut special.visitor(site));
    if !site.only_counters || core::mem::take(&mut special.has_annotation) {
        let Special { message, track, .. } = &*special;
        let literal = site.literal(&message.text, message.piece());
        let name = match (site.chosen_name(), literal) {
            (Some(name), _) => EventName::Static(name),
            (None, Some(literal)) => EventName::Static(&literal.name),
            _ if message.text.is_empty() => EventName::Static(&site.name),
            _ => EventName::Dynamic(&message.text),
        };
        let named = (!track.is_empty()).then(|| named_track(track));
        let place = site.place.as_ref();
        let spec = Spec { track: named.as_ref(), place, ..Spec::instant(members, name) };
        if let Some(literal) = literal.filter(|_| site.is_only_message) {
            let line = LogLine { body: &literal.body, priority: site.priority, place };
            thread::write(bits, &spec, Some(&mut Arguments::Log(line)));
            keep(special);
            return;
        }
        let mut fill = |out: &mut Event<'_, '_>| {
            match (message.text.is_empty(), &named) {
                (true, _) => {}
                (false, None) => {
                    let body = literal.map(|literal| &literal.body);
                    out.log_of_site(&message.text, body, site.priority, place);
                }
                // Readers lose lines of a log that are on no thread.
                (false, Some(_)) if site.chosen_name().is_some() => {
                    out.annotate_static(&MESSAGE, &message.text);
                }
                // The message is the name.
                (false, Some(_)) => {}
            }
            event.record(&mut Annotations { site, event: out });
        };
        thread::write(bits, &spec, Some(&mut Arguments::Closure(&mut fill)));
    }
    keep(special);
}

/// Keeps the memory, unless it is much.
fn keep(special: Box<Special>) {
    if special.message.text.capacity() + special.track.capacity() <= TEXT_BYTES_KEPT {
        let _ = SPECIAL.try_with(|cell| cell.set(Some(special)));
    }
}
