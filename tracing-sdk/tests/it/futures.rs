use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tracing_sdk::{Traced, Track, async_slice, categories, end};

use crate::events::recorded;
use crate::trace::{events, packets, tracks};

categories! {
    F = "futures";
    NEVER = "never";
}

/// Ready when it is polled for the second time.
fn two_steps() -> impl Future<Output = u32> {
    let mut polled = false;
    poll_fn(move |_| match std::mem::replace(&mut polled, true) {
        false => Poll::Pending,
        true => Poll::Ready(5),
    })
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_future_has_one_slice_for_its_life_and_one_for_each_poll() {
    let trace = recorded("futures", || {
        let mut first = pin!(two_steps().traced(async_slice!(F, "first", n = 1)));
        let mut second = pin!(two_steps().traced(async_slice!(F, "second", n = 2)));
        assert_eq!(poll(first.as_mut()), Poll::Pending);
        assert_eq!(poll(second.as_mut()), Poll::Pending);
        assert_eq!(poll(first.as_mut()), Poll::Ready(5));
        assert_eq!(poll(second.as_mut()), Poll::Ready(5));
    });
    let expected = [
        "begin futures first n=1",
        "begin futures second n=2",
        "begin futures first",
        "end",
        "begin futures second",
        "end",
        "begin futures first",
        "end",
        "end",
        "begin futures second",
        "end",
        "end",
    ];
    assert_eq!(events(&trace), expected);
    let mut flows: Vec<u64> = Vec::new();
    for packet in packets(&trace) {
        if let Some(protos::TracePacketData::TrackEvent(event)) = packet.message.data {
            flows.extend(event.flow_ids);
        }
    }
    let (first, second) = (flows[0], flows[1]);
    assert_ne!(first, second);
    assert_eq!(flows, [first, second, first, second, first, second]);
}

#[test]
fn a_future_that_is_dropped_early_was_cancelled() {
    let trace = recorded("futures", || {
        let mut future = Box::pin(two_steps().traced(async_slice!(F, "dropped")));
        assert_eq!(poll(future.as_mut()), Poll::Pending);
    });
    let expected = ["begin futures dropped", "begin futures dropped", "end", "end cancelled=true"];
    assert_eq!(events(&trace), expected);
}

#[test]
fn a_future_that_was_never_polled_was_cancelled() {
    let trace = recorded("futures", || drop(two_steps().traced(async_slice!(F, "unpolled"))));
    assert_eq!(events(&trace), ["begin futures unpolled", "end cancelled=true"]);
}

/// A slice that a task keeps while it waits. No future is cancelled when it ends.
#[test]
fn a_slice_without_a_future_ends_when_it_is_dropped() {
    let trace = recorded("futures", || {
        let mut task = pin!(async {
            let _slice = async_slice!(F, "kept");
            two_steps().await
        });
        assert_eq!(poll(task.as_mut()), Poll::Pending);
        assert_eq!(poll(task.as_mut()), Poll::Ready(5));
    });
    assert_eq!(events(&trace), ["begin futures kept", "end"]);
}

#[test]
fn a_slice_without_a_future_ends_with_arguments() {
    let trace = recorded("futures", || {
        assert!(!async_slice!(NEVER, "not recorded").is_recorded());
        let mut task = pin!(async {
            let slice = async_slice!(F, "kept");
            assert!(slice.is_recorded());
            let sum = two_steps().await;
            end!(slice, sum = sum);
        });
        assert_eq!(poll(task.as_mut()), Poll::Pending);
        assert_eq!(poll(task.as_mut()), Poll::Ready(()));
        async_slice!(F, "short").end();
    });
    let expected = ["begin futures kept", "end sum=5", "begin futures short", "end"];
    assert_eq!(events(&trace), expected);
}

/// The track of a future belongs to its process. Otherwise the first futures of two processes would be on one track.
#[test]
fn the_track_of_a_future_belongs_to_its_process() {
    let trace = recorded("futures", || {
        let _ = poll(pin!(two_steps().traced(async_slice!(F, "own"))));
    });
    let track = tracks(&trace).into_iter().find_map(|it| it.uuid.filter(|_| is_named(&it, "own")));
    let flow = packets(&trace).into_iter().find_map(|packet| match packet.message.data {
        Some(protos::TracePacketData::TrackEvent(event)) => event.flow_ids.first().copied(),
        _ => None,
    });
    // The uuid of the process is in the flow, so it must not be in what makes the track of it.
    let between = Track::named("own").uuid() ^ Track::process().uuid();
    assert_eq!(track.expect("a track") ^ flow.expect("a flow"), between);
}

fn is_named(track: &protos::TrackDescriptor, wanted: &str) -> bool {
    format!("{:?}", track.static_or_dynamic_name).contains(wanted)
}
