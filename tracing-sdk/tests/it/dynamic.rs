//! Counters and states whose names are made at run time, and times of the program.

use std::time::{Duration, Instant, SystemTime};

use protos::{TrackDescriptor, TrackDescriptorStaticOrDynamicName as Name};
use tracing_sdk::{Counter, Order, State, Track, Unit, categories, now_ns};

use crate::events::recorded;
use crate::trace::{events, packets, tracks};

categories! {
    DY = "dynamic";
    LINK = "dynamic.link";
    AT = "dynamic.at";
}

fn described(trace: &[u8], uuid: u64) -> TrackDescriptor {
    let mut tracks = tracks(trace);
    tracks.retain(|track| track.uuid == Some(uuid));
    assert_eq!(tracks.len(), 1, "described once");
    tracks.remove(0)
}

#[test]
fn counters_have_names_that_are_made_at_run_time() {
    let uuids = std::cell::Cell::new((0, 0));
    let interned = || {
        let [parent, name, unit, text] =
            ["queues", "queue 7", "jobs", "what waits"].map(str::to_owned);
        let parent = Track::dynamic(&parent).order(Order::Explicit);
        let unit = Unit::Other(&unit);
        let counter = Counter::dynamic(&name).parent(&parent).unit(unit).axis(&text).id(5);
        let counter = counter.rank(-3).description(&text);
        counter.record(&DY, 3);
        assert!(std::ptr::eq(counter.interned(), counter.interned()));
        assert_eq!(counter.interned().track().uuid(), counter.track().uuid());
        uuids.set((counter.track().uuid(), parent.uuid()));
        counter.interned()
    };
    let trace = recorded("dynamic", || interned().set(&DY, 4));
    assert_eq!(events(&trace), ["counter 3", "counter 4"]);
    let (uuid, parent) = uuids.get();
    let track = described(&trace, uuid);
    assert_eq!(track.parent_uuid, Some(parent));
    assert_eq!(track.static_or_dynamic_name, Some(Name::Name("queue 7".to_owned())));
    assert_eq!(track.sibling_order_rank, Some(-3));
    assert_eq!(track.description.as_deref(), Some("what waits"));
    assert_eq!(track.counter.and_then(|counter| counter.unit_name).as_deref(), Some("jobs"));

    // It is a static: a session begins with its value, whose track is described with copies of its texts.
    let trace = recorded("dynamic", || {});
    assert_eq!(events(&trace), ["counter 4"]);
    let track = described(&trace, uuid);
    assert_eq!(track.static_or_dynamic_name, Some(Name::Name("queue 7".to_owned())));
    let counter = track.counter.unwrap_or_default();
    assert_eq!(counter.unit_name.as_deref(), Some("jobs"));
    assert_eq!(counter.y_axis_share_key.as_deref(), Some("what waits"));
    let parent = described(&trace, parent);
    assert_eq!(parent.static_or_dynamic_name, Some(Name::Name("queues".to_owned())));
    let _ = recorded("nothing", || interned().forget());
    assert_eq!(events(&recorded("dynamic", || {})), [""; 0]);
}

#[test]
fn states_have_names_that_are_made_at_run_time() {
    let uuid = std::cell::Cell::new(0);
    let trace = recorded("dynamic.link", || {
        let name = format!("link {}", 2);
        let link = State::dynamic(&name).id(9).rank(1).description("up or down");
        link.record(&LINK, Some("down"));
        link.interned().set(&LINK, "up");
        assert!(std::ptr::eq(link.interned(), link.interned()));
        uuid.set(link.track().uuid());
    });
    assert_eq!(events(&trace), ["state dynamic.link down", "state dynamic.link up"]);
    let track = described(&trace, uuid.get());
    assert_eq!(track.static_or_dynamic_name, Some(Name::Name("link 2".to_owned())));
    assert_eq!(track.sibling_order_rank, Some(1));
    assert_eq!(track.description.as_deref(), Some("up or down"));
    let trace = recorded("dynamic.link", || {});
    assert_eq!(events(&trace), ["state dynamic.link up"]);
    State::dynamic("link 2").id(9).interned().forget();
}

#[test]
fn values_have_times_of_the_program() {
    let second = Duration::from_secs(1);
    let (then, of_clock) = (Instant::now() - second, SystemTime::now() - second);
    let now = now_ns();
    let trace = recorded("dynamic.at", || {
        let counter = Counter::new("measured before");
        counter.record_at(&AT, then, 1);
        counter.record_at(&AT, of_clock, 1);
        counter.record_at(&AT, now - 5, 2);
        counter.record_at(&AT, 7, 3);
        State::new("known before").record_at(&AT, now - 6, Some("on"));
    });
    let is_event = |data: &Option<protos::TracePacketData>| {
        matches!(data, Some(protos::TracePacketData::TrackEvent(_)))
    };
    let times: Vec<u64> = packets(&trace)
        .iter()
        .filter(|packet| is_event(&packet.message.data))
        .map(|packet| packet.message.timestamp.unwrap_or(0))
        .collect();
    let [earlier, of_clock, times @ ..] = &times[..] else { panic!("no events") };
    assert!(*earlier < now && *of_clock < now);
    assert_eq!(times, [now - 5, 7, now - 6]);
}
