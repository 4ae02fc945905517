//! What a program is told of its tracks.

use std::process::Stdio;

use tracing_sdk::session::record;
use tracing_sdk::{Counter, State, Track, instant};

use crate::trace::{events, packets, tracks};
use crate::{LIFE, Place, is_child};

pub(crate) fn a_track_that_is_one_of_its_ancestors_is_told() {
    let place = Place::new("tracks");
    let mut command = place.command("names a track as its parent");
    let output = command.stderr(Stdio::piped()).output().expect("a process");
    assert!(output.status.success(), "{}", output.status);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "tracing-sdk: the track \"net\" is the same as one above it, because names and ids are combined with \
                    exclusive or: give it an `id`";
    assert_eq!(told.lines().collect::<Vec<_>>(), [expected]);
}

pub(crate) fn use_tracks() {
    static NET: Track<'_> = Track::named("net");
    static NET_NET: Track<'_> = NET.child("net");
    static CPU: Track<'_> = Track::named("cpu");
    let trace = record(&["life"], || {
        instant!(LIFE, "fine", track = NET);
        instant!(LIFE, "fine", track = NET.child("net").id(1));
        instant!(LIFE, "the process", track = NET_NET);
        // It is told once.
        instant!(LIFE, "the process", track = CPU.child("cpu"));
        // That is no such track: it is `NET`, which is described already.
        instant!(LIFE, "net", track = NET_NET.child("net"));
        instant!(LIFE, "no track", track = Track::from_uuid(0));
    });
    let trace = trace.expect("a recording");
    assert_eq!(events(&trace).len(), 6, "{:?}", events(&trace));
    let process = Track::process().uuid();
    let there = packets(&trace).into_iter().filter(|packet| {
        let text = packet.text.as_deref();
        text == Some("instant life the process") && track_of(packet) == Some(process)
    });
    assert_eq!(there.count(), 2);
    // A description with a parent would put the process below itself.
    let tracks = tracks(&trace);
    let described = tracks.iter().filter(|track| track.uuid == Some(process)).collect::<Vec<_>>();
    assert!(!described.is_empty() && described.iter().all(|track| track.parent_uuid.is_none()));
}

fn track_of(packet: &crate::trace::Packet) -> Option<u64> {
    match &packet.message.data {
        Some(protos::TracePacketData::TrackEvent(event)) => event.track_uuid,
        _ => None,
    }
}

pub(crate) fn a_child_finds_the_counters_of_its_parent() {
    let place = Place::new("counters");
    let status = place.command("finds its counters in a child").status().expect("a process");
    assert!(status.success(), "{status}");
}

pub(crate) fn find_counters_in_a_child() {
    static PARENT: Track<'_> = Track::global("machine");
    let both = || {
        [Counter::dynamic("queue").interned(), Counter::dynamic("load").parent(&PARENT).interned()]
    };
    let state = || State::dynamic("link").interned();
    let (counters, link) = (both(), state());
    // The fork is noticed.
    tracing_sdk::init().expect("a producer");
    if is_child() {
        let is_same = core::iter::zip(counters, both()).all(|(old, new)| core::ptr::eq(old, new));
        assert!(is_same && core::ptr::eq(link, state()));
        assert!(!core::ptr::eq(counters[0], counters[1]));
    }
}
