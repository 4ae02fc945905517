//! A library with a copy of the SDK, loaded twice and unloaded again, in a program that has a third copy.

use std::collections::BTreeSet;
use std::path::PathBuf;

use libloading::Library;
use protos::TracePacketData;
use tracing_sdk::instant;

use crate::trace::packets;
use crate::{LIFE, LONG, Place, traced};

/// The example `plugin`, which `cargo test` builds.
fn plugin() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let folder = program.parent().and_then(|deps| deps.parent()).expect("a target folder");
    let path = folder.join("examples/libplugin.so");
    let advice = "`cargo build -p tracebox-sdk --example plugin` builds it";
    assert!(path.exists(), "{} is missing; {advice}", path.display());
    path
}

pub(crate) fn libraries_with_a_copy_of_their_own_are_traced() {
    let (trace, _) = traced("plugin", "loads plugins");
    let packets = packets(&trace);
    let mut texts: Vec<&str> = packets.iter().filter_map(|packet| packet.text.as_deref()).collect();
    texts.sort_unstable();
    let works = ["begin plugin work"; 3];
    assert_eq!(texts[..3], works, "{texts:?}");
    assert_eq!(texts[3..], ["end", "end", "end", "instant life after", "instant life before"]);
    let threads = packets.iter().filter_map(|packet| match &packet.message.data {
        Some(TracePacketData::TrackDescriptor(track)) if track.thread.is_some() => {
            Some((track.uuid, track.thread.as_ref().and_then(|thread| thread.tid)))
        }
        _ => None,
    });
    let flows = packets.iter().filter_map(|packet| match &packet.message.data {
        Some(TracePacketData::TrackEvent(event)) => event.flow_ids.first(),
        _ => None,
    });
    assert_eq!(flows.collect::<BTreeSet<_>>().len(), works.len(), "copies have made equal flows");
    // The main thread, whose events are of all three copies, and the one that has ended.
    assert_eq!(threads.collect::<BTreeSet<_>>().len(), 2);
}

pub(crate) fn load() {
    tracing_sdk::init().expect("a producer");
    assert!(tracing_sdk::sync(LONG), "no service");
    instant!(LIFE, "before");
    let place = Place::new("plugins");
    let load = |name: &str| {
        let path = place.0.join(name);
        std::fs::copy(plugin(), &path).expect("a copy");
        // SAFETY: the initializers of the library are those of Rust's standard library.
        unsafe { Library::new(&path) }.expect("a library")
    };
    let run = |library: &Library| {
        // SAFETY: the example has this function, of this type.
        let run = unsafe { library.get::<extern "C" fn()>(b"plugin_run") };
        run.expect("a function")();
    };
    let first = load("first.so");
    run(&first);
    // One that is used on a thread that has ended when it is unloaded.
    let second = load("second.so");
    run(&first);
    let second = std::thread::spawn(move || {
        run(&second);
        second
    });
    let second = second.join().expect("a thread");
    second.close().expect("an end");
    first.close().expect("an end");
    instant!(LIFE, "after");
}
