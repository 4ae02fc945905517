use protos::{
    TracePacket, TracePacketData, TrackDescriptor, TrackDescriptorStaticOrDynamicName, TrackEvent,
    TrackEventNameField, TrackEventType,
};

use protozero::Message as _;

use super::line::line;
use super::names::Names;
use super::packet::Packet;
use super::tracks::Tracks;
use crate::clock::event_time::CustomClock;

fn message(kind: TrackEventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind), track_uuid: Some(track), ..Default::default() }
}

fn event(kind: TrackEventType, track: u64) -> Vec<u8> {
    message(kind, track).encode_to_vec()
}

fn describe(tracks: &mut Tracks, uuid: u64, name: &str) {
    let name = TrackDescriptorStaticOrDynamicName::Name(name.to_owned());
    let static_or_dynamic_name = Some(name);
    let track = TrackDescriptor { uuid: Some(uuid), static_or_dynamic_name, ..Default::default() };
    tracks.describe(&track.encode_to_vec());
}

#[test]
fn the_depth_of_slices_is_bounded() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    let mut named = 0;
    let mut depth = |kind| {
        let name_field = Some(TrackEventNameField::Name("name".to_owned()))
            .filter(|_| kind == TrackEventType::TYPE_SLICE_BEGIN);
        let printed = {
            let event = TrackEvent { name_field, ..message(kind, 1) };
            tracks.add(&event.encode_to_vec(), &names, 0)?
        };
        named += usize::from(!printed.name.is_empty());
        Some(printed.depth)
    };
    let begun: Vec<_> =
        (0..1000).map(|_| depth(TrackEventType::TYPE_SLICE_BEGIN).unwrap_or(9999)).collect();
    assert!(begun.iter().copied().take(256).eq(0..256));
    assert!(begun.iter().all(|&depth| depth <= 256));
    let ended: Vec<_> =
        (0..1001).map(|_| depth(TrackEventType::TYPE_SLICE_END).unwrap_or(9999)).collect();
    // The lines of the first slices are as deep at their ends as at their beginnings.
    assert!(ended.iter().copied().skip(1000 - 256).eq((0..256).rev().chain([0])));
    assert_eq!(named, 1000 + 256, "names are kept for the first slices");
}

#[test]
fn the_number_of_tracks_is_bounded_and_open_slices_and_threads_keep_theirs() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    describe(&mut tracks, 1, "open");
    describe(&mut tracks, 2, "idle");
    // A sequence describes its thread once.
    let thread_name = Some("worker".to_owned());
    let thread = Some(protos::ThreadDescriptor { thread_name, ..Default::default() });
    let track = TrackDescriptor { uuid: Some(3), thread, ..Default::default() };
    tracks.describe(&track.encode_to_vec());
    let _begin = tracks.add(&event(TrackEventType::TYPE_SLICE_BEGIN, 1), &names, 0);
    (10..20_000).for_each(|uuid| describe(&mut tracks, uuid, "many"));
    assert!(tracks.len() <= 8192);
    let mut title = |uuid| {
        tracks.add(&event(TrackEventType::TYPE_INSTANT, uuid), &names, 0).map(|event| event.title)
    };
    assert_eq!(title(1).as_deref(), Some("open"));
    assert_eq!(title(2).as_deref(), Some("2"), "forgotten");
    assert_eq!(title(3).as_deref(), Some("worker"));
    // Also when a slice is open on each.
    for uuid in 10..20_000 {
        let _begin = tracks.add(&event(TrackEventType::TYPE_SLICE_BEGIN, uuid), &names, 0);
        assert!(tracks.len() <= 8192);
    }
}

/// A program may start a thread for each of its many requests, while a slice of its first one is open.
#[test]
fn many_threads_do_not_make_it_forget_open_slices() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    describe(&mut tracks, 1, "open");
    let _begin = tracks.add(&event(TrackEventType::TYPE_SLICE_BEGIN, 1), &names, 0);
    for uuid in 10..20_000 {
        let thread = Some(protos::ThreadDescriptor::default());
        let track = TrackDescriptor { uuid: Some(uuid), thread, ..Default::default() };
        tracks.describe(&track.encode_to_vec());
        assert!(tracks.len() <= 8192);
    }
    let instant = tracks.add(&event(TrackEventType::TYPE_INSTANT, 1), &names, 0).unwrap();
    assert_eq!((instant.title.as_str(), instant.depth), ("open", 1));
}

#[test]
fn times_have_units() {
    let clock = |clock_id, is_incremental| protos::ClockSnapshotClock {
        clock_id: Some(clock_id),
        timestamp: Some(100),
        is_incremental: Some(is_incremental),
        unit_multiplier_ns: Some(1000),
        ..Default::default()
    };
    let snapshot = protos::ClockSnapshot {
        clocks: vec![clock(64, true), clock(65, false)],
        ..Default::default()
    };
    let defaults =
        protos::TracePacketDefaults { timestamp_clock_id: Some(64), ..Default::default() };
    let mut names = Names::default();
    let opening = TracePacket {
        data: Some(TracePacketData::ClockSnapshot(snapshot)),
        sequence_flags: Some(1),
        timestamp: Some(0),
        trace_packet_defaults: Some(defaults),
        ..Default::default()
    };
    assert_eq!(names.learn(&Packet::read(&opening.encode_to_vec())), 100_000);
    let mut time = |timestamp, timestamp_clock_id| {
        let timestamp = Some(timestamp);
        let packet = TracePacket { timestamp, timestamp_clock_id, ..Default::default() };
        names.learn(&Packet::read(&packet.encode_to_vec()))
    };
    assert_eq!(time(5, None), 105_000);
    assert_eq!(time(7, Some(65)), 7_000);
    assert_eq!(time(8, Some(6)), 8);
    assert_eq!(time(1, None), 106_000);
    static CLOCK: CustomClock = CustomClock::new().unit_ns(10);
    CLOCK.snapshot(3, 500_u64);
    assert_eq!(time(7, CLOCK.id()), 540);
    // Nobody knows it.
    assert_eq!(time(9, Some(130)), 9);
}

#[test]
fn titles_are_names_or_numbers() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    let thread = protos::ThreadDescriptor { pid: Some(7), tid: Some(8), ..Default::default() };
    let process = protos::ProcessDescriptor { pid: Some(7), ..Default::default() };
    let described = |uuid| TrackDescriptor { uuid: Some(uuid), ..Default::default() };
    let mut describe_as = |track: TrackDescriptor| tracks.describe(&track.encode_to_vec());
    describe_as(TrackDescriptor { thread: Some(thread), ..described(1) });
    describe_as(TrackDescriptor { process: Some(process), ..described(2) });
    describe_as(described(3));
    describe(&mut tracks, 4, "name");
    let mut title = |uuid| {
        tracks.add(&event(TrackEventType::TYPE_INSTANT, uuid), &names, 0).map(|event| event.title)
    };
    let titles = [1, 2, 3, 4].map(|uuid| title(uuid).unwrap_or_default());
    assert_eq!(titles, ["7:8", "7", "3", "name"]);
}

/// A hostile data source of the program cannot exhaust the stack, nor make this panic.
#[test]
fn any_bytes_are_read() {
    let mut annotation = vec![0x18, 7];
    for _ in 0..5000 {
        let mut outer = vec![0x62];
        let mut len = [0; 10];
        let len_len = protozero::wire::varint::encode(annotation.len() as u64, &mut len);
        outer.extend_from_slice(&len[..len_len]);
        outer.extend_from_slice(&annotation);
        annotation = outer;
    }
    let annotations = protos::DebugAnnotation::default();
    let mut event = message(TrackEventType::TYPE_INSTANT, 1);
    event.debug_annotations = vec![annotations];
    let mut bytes = event.encode_to_vec();
    bytes.push(0x22);
    let mut len = [0; 10];
    let len_len = protozero::wire::varint::encode(annotation.len() as u64, &mut len);
    bytes.extend_from_slice(&len[..len_len]);
    bytes.extend_from_slice(&annotation);
    let (mut tracks, names) = (Tracks::default(), Names::default());
    let printed =
        tracks.add(&bytes, &names, 0).map(|printed| line(false, 0, &printed, &bytes, &names));
    let text = printed.unwrap_or_default();
    assert_eq!(text.matches('[').count(), 1 + 65, "{text}");
    for end in 0..bytes.len().min(200) {
        let packet = Packet::read(&bytes[..end]);
        let _ = Names::default().learn(&packet);
        let _ = tracks.add(&bytes[..end], &names, 0);
    }
}
