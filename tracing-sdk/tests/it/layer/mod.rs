//! Spans and events of the crate `tracing`.

mod events;
mod filter;
mod open;
mod spans;
mod tasks;

use std::collections::HashMap;

use protos::{TracePacketData, TrackEvent};
use tracing::Subscriber;
use tracing::subscriber::with_default;
use tracing_sdk::layer::layer;
use tracing_sdk::session::record;
use tracing_subscriber::prelude::*;

use crate::alone::alone;
use crate::trace::{Packet, events, packets, tracks, trusted_sequence};

/// The targets of these tests.
const TARGETS: [&str; 5] = [
    "it::layer::events",
    "it::layer::filter",
    "it::layer::open",
    "it::layer::spans",
    "it::layer::tasks",
];

fn recorded(subscriber: impl Subscriber + Send + Sync + 'static, work: impl FnOnce()) -> Vec<u8> {
    let _alone = alone();
    let trace = with_default(subscriber, || record(&TARGETS, work).expect("a recording"));
    check_nesting(&trace);
    trace
}

fn check(work: impl FnOnce(), expected: &[&str]) {
    let trace = recorded(tracing_subscriber::registry().with(layer()), work);
    let events: Vec<String> = events(&trace).iter().map(|text| without_target(text)).collect();
    assert_eq!(events, expected);
}

fn body(packet: &Packet) -> Option<&TrackEvent> {
    match &packet.message.data {
        Some(TracePacketData::TrackEvent(event)) => Some(event),
        _ => None,
    }
}

/// The track of an event: its uuid, or the sequence, whose thread it is on.
fn place(packet: &Packet) -> Result<u64, u32> {
    let event = body(packet).expect("an event");
    event.track_uuid.ok_or_else(|| trusted_sequence(&packet.message))
}

/// Each end has its beginning, each beginning has its end. Times are differences, so the order is that of the file.
fn check_nesting(trace: &[u8]) {
    let mut depth: HashMap<Result<u64, u32>, i64> = HashMap::new();
    for packet in packets(trace).iter().filter(|packet| body(packet).is_some()) {
        match body(packet).and_then(|event| event.r#type).map(|kind| kind.0) {
            Some(1) => *depth.entry(place(packet)).or_default() += 1,
            Some(2) => *depth.entry(place(packet)).or_default() -= 1,
            _ => {}
        }
    }
    assert!(depth.values().all(|&depth| depth == 0), "{depth:?}");
}

fn named(trace: &[u8], name: &str) -> Vec<protos::TrackDescriptor> {
    let is_it = |track: &protos::TrackDescriptor| match &track.static_or_dynamic_name {
        Some(
            protos::TrackDescriptorStaticOrDynamicName::StaticName(text)
            | protos::TrackDescriptorStaticOrDynamicName::Name(text),
        ) => text == name,
        _ => false,
    };
    tracks(trace).into_iter().filter(is_it).collect()
}

fn without_target(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').filter(|word| !word.starts_with("it::layer")).collect();
    words.join(" ")
}
