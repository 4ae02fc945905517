//! The events that the schema knows, with the names of their fields in the kernel.
//!
//! A field of an event has one name in the schema and in the kernel; offsets, sizes and types are the kernel's, and
//! come from its format. The messages themselves (feature `ftrace` of `protos`) are not compiled here.

mod event;
#[rustfmt::skip]
mod events;

pub(super) use self::event::{Event, Kind};
pub(super) use self::events::EVENTS;

/// The event with this group and name.
pub(super) fn find(group: &str, name: &str) -> Option<&'static Event> {
    let begin = EVENTS.partition_point(|event| event.group() < group);
    EVENTS[begin..].iter().take_while(|e| e.group() == group).find(|e| e.name() == name)
}

#[cfg(test)]
mod tests;
