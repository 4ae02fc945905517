//! `enable_thread_time_sampling` with a service outside. `tracing-sdk/tests/it/thread_time.rs` checks the values.

use std::collections::BTreeSet;

use protos::{DataSourceConfig, TracePacketData, TrackEventConfig};
use tracing_sdk::session::Config;
use tracing_sdk::{instant, slice};

use crate::trace::packets;
use crate::{LIFE, traced_with, wait_for_session};

pub(crate) fn a_service_outside_can_ask_for_thread_time() {
    let events = TrackEventConfig {
        enabled_categories: vec!["life".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        enable_thread_time_sampling: Some(true),
        ..Default::default()
    };
    let source = DataSourceConfig {
        name: Some("track_event".to_owned()),
        track_event_config: Some(events),
        ..Default::default()
    };
    let config = Config::new().data_source(source);
    let (trace, _) = traced_with(&config, "thread-time", "samples thread time");
    let packets = packets(&trace);
    let messages = packets.iter().filter_map(|packet| packet.message.data.as_ref());
    let (mut counters, mut values) = (BTreeSet::new(), Vec::new());
    for message in messages {
        match message {
            TracePacketData::TrackDescriptor(track) if track.counter.is_some() => {
                counters.insert(track.uuid);
            }
            TracePacketData::TrackEvent(event) => values.push(event.extra_counter_values.len()),
            _ => {}
        }
    }
    assert_eq!((counters.len(), values), (2, vec![1; 8]), "a counter for each thread");
}

pub(crate) fn record() {
    tracing_sdk::init().expect("a producer");
    wait_for_session();
    for _ in 0..2 {
        let thread = std::thread::spawn(|| {
            let _slice = slice!(LIFE, "slice");
            instant!(LIFE, "first");
            instant!(LIFE, "second");
        });
        thread.join().expect("no panic");
    }
}
