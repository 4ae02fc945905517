//! `follows_from`: an arrow from the span that is followed.

use super::span_table::LiveSpan;
use crate::category::Members;
use crate::event::Event;
use crate::flow::Flow;
use crate::intern::EventName;
use crate::intern::StaticName;
use crate::sequence::{Arguments, Spec, thread};

/// Another span follows from `span`. The arrow needs an event to begin at. That is an instant on the calling thread,
/// because the slice of `span` has begun, and its end may come after the beginning of the other.
pub(super) fn from(span: LiveSpan) -> Option<Flow> {
    static NAME: StaticName = StaticName::event("follows_from");
    static KEY: StaticName = StaticName::key("span");
    let site = span.site;
    let members = Members::One(site.category);
    let bits = members.instances();
    if bits == 0 {
        return None;
    }
    let flow = Flow::new();
    let spec = Spec::instant(members, EventName::Static(&NAME));
    let mut fill = |event: &mut Event<'_, '_>| {
        event.flow(flow).annotate_static(&KEY, site.name.text());
    };
    let mut arguments = Arguments::Closure(&mut fill);
    thread::write(bits, &spec, Some(&mut arguments));
    Some(flow)
}
