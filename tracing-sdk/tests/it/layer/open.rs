//! Spans that are open while other threads use them, and many that are open at once.

use std::cell::RefCell;
use std::fmt;
use std::sync::Barrier;
use std::thread;

use tracing::field::Empty;
use tracing::span::EnteredSpan;
use tracing::subscriber::with_default;
use tracing::{Span, info_span};
use tracing_sdk::layer::{Recorder, SpanStyle, Subscriber, layer};
use tracing_sdk::{Init, lost_events};
use tracing_subscriber::prelude::*;

use super::{check, recorded};
use crate::loss::{Small, stalling, with_one_chunk};
use crate::trace::events;

/// More than are found without a lock.
const SPANS: u64 = 6000;
/// So many that another thread comes to its slice meanwhile.
const RECORDS: u64 = 20_000;

/// A session may let threads wait for half a minute: others must be able to use the same span meanwhile.
#[test]
fn a_thread_that_waits_for_memory_holds_no_lock() {
    let _small = Small::with(Init::new().shm_kb(16).allow_stall());
    let (session, lost) = (stalling(), lost_events());
    with_default(tracing_subscriber::registry().with(layer()), || {
        let text = "x".repeat(20_000);
        let span = info_span!(target: "loss", "waits", text = text.as_str(), late = Empty);
        let begun = Barrier::new(2);
        with_one_chunk(&session, |release| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    begun.wait();
                    span.in_scope(|| {});
                });
                begun.wait();
                (0..RECORDS).for_each(|n| _ = span.record("late", n));
                release();
            });
        });
    });
    assert_eq!(lost_events() - lost, 0);
    session.stop().expect("an end");
}

fn check_many(subscriber: impl tracing::Subscriber + Send + Sync + 'static) {
    let trace = recorded(subscriber, || {
        for _ in 0..2 {
            let spans: Vec<_> = (0..SPANS).map(|n| info_span!("open", n)).collect();
            let (here, there) = spans.split_at(spans.len() / 2);
            thread::scope(|scope| {
                scope.spawn(|| there.iter().for_each(|span| span.in_scope(|| {})));
            });
            here.iter().rev().for_each(|span| span.in_scope(|| {}));
            let ended_elsewhere = thread::spawn(move || drop(spans));
            ended_elsewhere.join().expect("no panic");
        }
    });
    let mut begun: Vec<String> = events(&trace);
    begun.retain(|text| text.starts_with("begin"));
    let number = |n| format!("begin it::layer::open open n={n}");
    let mut expected: Vec<String> = (0..SPANS).chain(0..SPANS).map(number).collect();
    begun.sort_unstable();
    expected.sort_unstable();
    assert!(begun == expected, "{} of {} slices", begun.len(), expected.len());
}

#[test]
fn many_spans_are_open_at_once() {
    let sync = || Recorder::new().span_style(SpanStyle::Sync);
    check_many(tracing_subscriber::registry().with(sync().build()));
    check_many(Subscriber::new(sync()));
}

#[test]
fn another_thread_changes_a_span_that_is_entered() {
    check(
        || {
            for n in 0..2 {
                let span = info_span!("changed", late = Empty);
                let entered = span.enter();
                thread::scope(|scope| {
                    scope.spawn(|| _ = span.record("late", n));
                });
                drop(entered);
            }
        },
        &["begin changed", "end late=0", "begin changed", "end late=1"],
    );
}

#[test]
fn a_value_of_a_span_enters_another_one() {
    struct Enters;

    impl fmt::Debug for Enters {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            info_span!("inner", n = 3).in_scope(|| {});
            f.write_str("inner")
        }
    }

    check(
        || {
            let outer = info_span!("outer", a = 1, entered = ?Enters, b = 2, late = Empty);
            let outer = outer.entered();
            outer.record("late", tracing::field::debug(Enters));
        },
        // While a span is made, `tracing` gives its values no subscriber of the thread.
        &["begin outer a=1 entered=inner b=2", "begin inner n=3", "end", "end late=inner"],
    );
}

/// The thread that made a span has its values, but not those of its other spans.
#[test]
fn each_span_has_its_own_values() {
    check(
        || {
            let [first, second] = [1, 2].map(|n| info_span!("of two", n, text = "a text"));
            first.in_scope(|| {});
            second.in_scope(|| {});
            drop(first);
            let third = info_span!("of two", n = 3, text = "another");
            second.follows_from(&third);
            third.in_scope(|| {});
        },
        &[
            "begin of two n=1 text=a text",
            "end",
            "begin of two n=2 text=a text",
            "end",
            "instant follows_from span=of two",
            "begin of two n=3 text=another",
            "end",
        ],
    );
}

/// Enters its span when the thread ends.
struct EntersLate(Span);

impl Drop for EntersLate {
    fn drop(&mut self) {
        self.0.in_scope(|| {});
    }
}

thread_local! {
    static LATE: RefCell<Option<EntersLate>> = const { RefCell::new(None) };
}

/// The thread does not know any more which spans are entered, and still records.
#[test]
fn a_span_that_is_entered_at_the_end_of_its_thread_leaves_no_slice_open() {
    let sync = Recorder::new().span_style(SpanStyle::Sync);
    let trace = recorded(Subscriber::new(sync), || {
        let span = info_span!("late");
        let work = || {
            // Its destructors run in the opposite order.
            tracing_sdk::flush();
            LATE.with(|late| *late.borrow_mut() = Some(EntersLate(span.clone())));
            span.in_scope(|| {});
        };
        thread::scope(|scope| scope.spawn(work).join()).expect("no panic");
    });
    let begin = "begin it::layer::open late";
    assert_eq!(events(&trace), [begin, "end", begin, "end"]);
}

thread_local! {
    static LEFT_LATE: RefCell<Option<EnteredSpan>> = const { RefCell::new(None) };
}

/// As above, of a span that is left then, when nobody knows any more that it is entered.
#[test]
fn a_span_that_is_left_at_the_end_of_its_thread_leaves_no_slice_open() {
    let sync = Recorder::new().span_style(SpanStyle::Sync);
    let trace = recorded(Subscriber::new(sync), || {
        let span = info_span!("left late");
        let work = || {
            tracing_sdk::flush();
            LEFT_LATE.with(|late| *late.borrow_mut() = Some(span.clone().entered()));
        };
        thread::scope(|scope| scope.spawn(work).join()).expect("no panic");
    });
    assert_eq!(events(&trace), ["begin it::layer::open left late", "end"]);
}
