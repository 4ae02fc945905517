//! Spans of tasks, which are entered again and on several threads.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use futures_lite::future::{block_on, yield_now};
use tracing::instrument::Instrument as _;
use tracing::{info, info_span};
use tracing_sdk::layer::{Recorder, SpanStyle, layer};
use tracing_sdk::session::record;
use tracing_sdk::{Flow, Track};
use tracing_subscriber::prelude::*;

use super::{body, check_nesting, named, recorded};
use crate::alone::alone;
use crate::trace::{events, packets};

const HERE: &str = "it::layer::tasks";

/// What a trace says of async spans called `name`.
#[derive(Debug)]
struct Requests {
    /// Flow of a whole life, and the event that begins it.
    whole: BTreeMap<u64, String>,
    /// Slices of threads.
    parts: usize,
    /// Events of threads with the flow of a life.
    joined: HashMap<u64, usize>,
}

fn requests(trace: &[u8], name: &str) -> Requests {
    let lanes: Vec<_> = named(trace, name).into_iter().map(|track| track.uuid).collect();
    let parent = named(trace, "tracing spans").first().and_then(|track| track.uuid);
    assert!(named(trace, name).iter().all(|track| track.parent_uuid == parent));
    let mut out = Requests { whole: BTreeMap::new(), parts: 0, joined: HashMap::new() };
    for packet in packets(trace) {
        let (Some(event), Some(text)) = (body(&packet), &packet.text) else { continue };
        let begins = text.starts_with(&format!("begin {HERE} {name}"));
        if lanes.contains(&event.track_uuid) && event.track_uuid.is_some() {
            if begins {
                assert_eq!(event.flow_ids.len(), 1);
                out.whole.insert(event.flow_ids[0], text.clone());
            }
        } else {
            out.parts += usize::from(begins);
            for flow in &event.flow_ids {
                *out.joined.entry(*flow).or_default() += 1;
            }
        }
    }
    out
}

async fn request(id: u64) {
    info!(id, "working");
    tokio::task::yield_now().await;
    info!(id, "still working");
    tokio::task::yield_now().await;
}

fn check_requests(style: SpanStyle, span: fn(u64) -> tracing::Span) -> Requests {
    let layer = Recorder::new().span_style(style).build();
    let trace = recorded(tracing_subscriber::registry().with(layer), || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let tasks = [1, 2].map(|id| tokio::spawn(request(id).instrument(span(id))));
            for task in tasks {
                task.await.expect("a result");
            }
        });
    });
    requests(&trace, "request")
}

#[test]
fn interleaved_requests_have_one_slice_each() {
    fn span(id: u64) -> tracing::Span {
        info_span!("request", id)
    }
    // Not known to be async, then known.
    for _ in 0..2 {
        let found = check_requests(SpanStyle::Auto, span);
        let mut texts: Vec<&str> = found.whole.values().map(String::as_str).collect();
        texts.sort_unstable();
        assert_eq!(
            texts,
            ["begin it::layer::tasks request id=1", "begin it::layer::tasks request id=2"]
        );
        // Three polls, and one more time to drop the future.
        assert_eq!(found.parts, 8);
        assert!(found.whole.keys().all(|flow| found.joined.get(flow) == Some(&4)), "{found:?}");
    }
}

#[test]
fn styles_of_spans() {
    fn span(id: u64) -> tracing::Span {
        info_span!("request", id)
    }
    let found = check_requests(SpanStyle::Sync, span);
    assert_eq!((found.whole.len(), found.parts, found.joined.len()), (0, 8, 0));
    let found = check_requests(SpanStyle::Async, span);
    assert_eq!((found.whole.len(), found.parts, found.joined.len()), (2, 8, 2));
}

/// The subscriber of threads that have no other.
fn install_everywhere() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let subscriber = tracing_subscriber::registry().with(layer());
        tracing::subscriber::set_global_default(subscriber).expect("the only one");
    });
}

#[test]
fn tasks_move_between_threads() {
    let _alone = alone();
    install_everywhere();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
    let runtime = runtime.expect("a runtime");
    let work = || {
        runtime.block_on(async {
            let task = |id: u64| {
                let work = async move {
                    for step in 0..20_u64 {
                        tokio::task::yield_now().await;
                        let _inner = info_span!("step", step).entered();
                    }
                };
                tokio::spawn(work.instrument(info_span!("request", id)))
            };
            for task in (0..10).map(task).collect::<Vec<_>>() {
                task.await.expect("a result");
            }
        });
    };
    let trace = record(&[HERE], work).expect("a recording");
    check_nesting(&trace);
    let found = requests(&trace, "request");
    assert_eq!(found.whole.len(), 10);
    assert!(found.whole.keys().all(|flow| found.joined.contains_key(flow)), "{found:?}");
    let steps = |text: &String| text.starts_with("begin it::layer::tasks step");
    assert_eq!(events(&trace).iter().filter(|text| steps(text)).count(), 200);
}

#[test]
fn tasks_of_an_executor_that_is_no_runtime() {
    let _alone = alone();
    install_everywhere();
    let executor = async_executor::Executor::new();
    let trace = record(&[HERE], || {
        let request = |id: u64| {
            let work = async {
                for _ in 0..20 {
                    yield_now().await;
                }
            };
            executor.spawn(work.instrument(info_span!("request", id)))
        };
        let tasks: Vec<_> = (0..10).map(request).collect();
        let all = async {
            for task in tasks {
                task.await;
            }
        };
        // Two threads that take whatever can go on.
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(|| block_on(executor.run(stopped)));
            block_on(executor.run(all));
            drop(stop);
        });
    });
    let trace = trace.expect("a recording");
    check_nesting(&trace);
    let found = requests(&trace, "request");
    assert_eq!(found.whole.len(), 10);
    // A task is polled once more than it yields, and its span is entered once more when it is dropped.
    assert_eq!(found.parts, 10 * 22);
    assert!(found.whole.keys().all(|flow| found.joined.contains_key(flow)), "{found:?}");
}

#[test]
fn work_of_a_pool_of_threads() {
    use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

    let _alone = alone();
    install_everywhere();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
    let trace = record(&[HERE], || {
        let sum: u64 = pool.install(|| {
            let _all = info_span!("all").entered();
            // A thread that waits for its half takes other work, inside of the span that it is in.
            let number = |n: u64| info_span!("number", n).in_scope(|| n);
            (0..200).into_par_iter().map(number).sum()
        });
        assert_eq!(sum, 199 * 200 / 2);
    });
    let trace = trace.expect("a recording");
    check_nesting(&trace);
    let events = events(&trace);
    let begun = |name: &str| {
        let begin = format!("begin {HERE} {name}");
        events.iter().filter(|text| text.starts_with(&begin)).count()
    };
    assert_eq!((begun("all"), begun("number")), (1, 200));
}

#[test]
fn a_span_may_be_entered_on_two_threads_at_once() {
    let _alone = alone();
    install_everywhere();
    let trace = record(&[HERE], || {
        let span = info_span!("shared");
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _entered = span.enter();
                    barrier.wait();
                });
            }
        });
    });
    check_nesting(&trace.expect("a recording"));
}

/// Another copy of the SDK in this process counts its spans from 1, too, and so do programs.
#[test]
fn tracks_and_flows_of_spans_are_those_of_nobody_else() {
    let layer = Recorder::new().span_style(SpanStyle::Async).build();
    let trace = recorded(tracing_subscriber::registry().with(layer), || {
        info_span!("lonely").in_scope(|| {});
        info_span!("placed", track = "Places").in_scope(|| {});
    });
    let spans = Track::named("tracing spans");
    let numbers = 0..100_000;
    for (name, track) in [("lonely", spans.child("lonely")), ("Places", Track::named("Places"))] {
        let found = named(&trace, name).first().and_then(|track| track.uuid).expect("a track");
        assert!(numbers.clone().all(|number| track.id(number).uuid() != found), "{name}");
    }
    let flows: Vec<_> =
        packets(&trace).iter().filter_map(body).flat_map(|e| e.flow_ids.clone()).collect();
    let plain = |number| Flow::scoped("tracing span", number).id();
    assert!(!flows.is_empty() && numbers.map(plain).all(|flow| !flows.contains(&flow)));
}
