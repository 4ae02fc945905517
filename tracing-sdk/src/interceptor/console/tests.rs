use protos::{
    TracePacket, TracePacketData, TrackDescriptor, TrackDescriptorStaticOrDynamicName, TrackEvent,
    TrackEventNameField, TrackEventType,
};

use super::names::Names;
use super::tracks::Tracks;

fn event(kind: TrackEventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind), track_uuid: Some(track), ..Default::default() }
}

fn describe(tracks: &mut Tracks, uuid: u64, name: &str) {
    let name = TrackDescriptorStaticOrDynamicName::Name(name.to_owned());
    let static_or_dynamic_name = Some(name);
    tracks.describe(&TrackDescriptor {
        uuid: Some(uuid),
        static_or_dynamic_name,
        ..Default::default()
    });
}

#[test]
fn the_depth_of_slices_is_bounded() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    let mut named = 0;
    let mut depth = |kind| {
        let name_field = Some(TrackEventNameField::Name("name".to_owned()))
            .filter(|_| kind == TrackEventType::TYPE_SLICE_BEGIN);
        let printed = tracks.add(&TrackEvent { name_field, ..event(kind, 1) }, &names, 0)?;
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
fn the_number_of_tracks_is_bounded_and_open_slices_keep_theirs() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    describe(&mut tracks, 1, "open");
    describe(&mut tracks, 2, "idle");
    let _begin = tracks.add(&event(TrackEventType::TYPE_SLICE_BEGIN, 1), &names, 0);
    (10..20_000).for_each(|uuid| describe(&mut tracks, uuid, "many"));
    assert!(tracks.len() <= 8192);
    let mut title = |uuid| {
        tracks.add(&event(TrackEventType::TYPE_INSTANT, uuid), &names, 0).map(|event| event.title)
    };
    assert_eq!(title(1).as_deref(), Some("open"));
    assert_eq!(title(2).as_deref(), Some("2"), "forgotten");
    // Also when a slice is open on each.
    for uuid in 10..20_000 {
        let _begin = tracks.add(&event(TrackEventType::TYPE_SLICE_BEGIN, uuid), &names, 0);
        assert!(tracks.len() <= 8192);
    }
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
    assert_eq!(names.learn(&opening), 100_000);
    let mut time = |timestamp, timestamp_clock_id| {
        let timestamp = Some(timestamp);
        names.learn(&TracePacket { timestamp, timestamp_clock_id, ..Default::default() })
    };
    assert_eq!(time(5, None), 105_000);
    assert_eq!(time(7, Some(65)), 7_000);
    assert_eq!(time(8, Some(6)), 8);
    assert_eq!(time(1, None), 106_000);
}

#[test]
fn titles_are_names_or_numbers() {
    let (mut tracks, names) = (Tracks::default(), Names::default());
    let thread = protos::ThreadDescriptor { pid: Some(7), tid: Some(8), ..Default::default() };
    let process = protos::ProcessDescriptor { pid: Some(7), ..Default::default() };
    let described = |uuid| TrackDescriptor { uuid: Some(uuid), ..Default::default() };
    tracks.describe(&TrackDescriptor { thread: Some(thread), ..described(1) });
    tracks.describe(&TrackDescriptor { process: Some(process), ..described(2) });
    tracks.describe(&described(3));
    describe(&mut tracks, 4, "name");
    let mut title = |uuid| {
        tracks.add(&event(TrackEventType::TYPE_INSTANT, uuid), &names, 0).map(|event| event.title)
    };
    let titles = [1, 2, 3, 4].map(|uuid| title(uuid).unwrap_or_default());
    assert_eq!(titles, ["7:8", "7", "3", "name"]);
}
