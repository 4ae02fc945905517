//! The subscriber of the crate `tracing` that needs no registry.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tracing::instrument::Instrument as _;
use tracing::subscriber::with_default;
use tracing::{Span, debug, info, info_span, trace_span};
use tracing_sdk::layer::{Recorder, SpanStyle, Subscriber};
use tracing_sdk::session::record;

use crate::alone::alone;
use crate::trace::events;

const HERE: &str = "it::subscriber";

fn check_with(subscriber: Subscriber, work: impl FnOnce(), expected: &[&str]) {
    let _alone = alone();
    let trace = with_default(subscriber, || record(&[HERE], work).expect("a recording"));
    let events: Vec<String> =
        events(&trace).into_iter().map(|text| text.replace(" it::subscriber", "")).collect();
    assert_eq!(events, expected);
}

fn check(work: impl FnOnce(), expected: &[&str]) {
    check_with(Subscriber::default(), work, expected);
}

fn asynchronous(work: impl FnOnce(), expected: &[&str]) {
    let recorder = Recorder::new().span_style(SpanStyle::Async);
    check_with(Subscriber::new(recorder), work, expected);
}

#[test]
fn spans_and_events() {
    check(
        || {
            let outer = info_span!("outer", a = 1, b = tracing::field::Empty).entered();
            outer.record("b", true);
            info!(answer = 42, "inside");
            drop(info_span!("inner").entered());
            info!(target: "another", "not wanted");
        },
        &["begin outer a=1", "instant inside answer=42", "begin inner", "end", "end b=true"],
    );
}

/// The second span of a call site is expected to have nothing to say at its end.
#[test]
fn late_values_of_each_span() {
    check(
        || {
            for n in 0..2 {
                let span = info_span!("late", n = tracing::field::Empty).entered();
                span.record("n", n);
            }
        },
        &["begin late", "end n=0", "begin late", "end n=1"],
    );
}

#[test]
fn nothing_is_wanted_without_a_session() {
    let _alone = alone();
    with_default(Subscriber::default(), || {
        assert!(!tracing::enabled!(tracing::Level::ERROR));
        assert!(info_span!("nobody").is_disabled());
        drop(trace_span!("nobody").entered());
        debug!("nobody");
        assert!(Span::current().is_none());
    });
}

#[test]
fn the_current_span_is_that_which_was_entered_last() {
    check(
        || {
            let outer = info_span!("current outer");
            let entered = outer.enter();
            assert_eq!(Span::current(), outer);
            {
                let inner = info_span!("current inner").entered();
                assert_eq!(Span::current().id(), inner.id());
                assert_ne!(Span::current(), outer);
                std::thread::scope(|scope| {
                    scope.spawn(|| assert!(Span::current().is_none()));
                });
            }
            assert_eq!(Span::current(), outer);
            drop(entered);
            assert!(Span::current().is_none());
        },
        &["begin current outer", "begin current inner", "end", "end"],
    );
}

#[test]
fn two_subscribers_of_one_thread_do_not_share_their_spans() {
    check(
        || {
            let span = info_span!("of the first").entered();
            with_default(Subscriber::default(), || {
                assert!(Span::current().is_none());
                let other = info_span!("of the second").entered();
                assert_eq!(Span::current().id(), other.id());
            });
            assert_eq!(Span::current().id(), span.id());
        },
        &["begin of the first", "begin of the second", "end", "end"],
    );
}

#[test]
fn spans_of_two_subscribers_that_overlap_are_split() {
    check(
        || {
            let first = info_span!("of the first").entered();
            let second =
                with_default(Subscriber::default(), || info_span!("of the second").entered());
            drop(first);
            info!("inside the second");
            drop(second);
        },
        &[
            "begin of the first",
            "begin of the second",
            "end",
            "end",
            "begin of the second",
            "instant inside the second",
            "end",
        ],
    );
}

#[test]
fn a_span_lives_as_long_as_its_handles() {
    asynchronous(
        || {
            let span = info_span!("handles");
            let clone = span.clone();
            drop(span);
            info!("one is left");
            drop(clone);
            info!("none is left");
        },
        &["begin handles", "instant one is left", "end", "instant none is left"],
    );
}

#[test]
fn a_span_lives_as_long_as_its_children() {
    asynchronous(
        || {
            let parent = info_span!("parent");
            let child = info_span!(parent: &parent, "child");
            let grandchild = parent.in_scope(|| info_span!(parent: &child, "grandchild"));
            drop((parent, child));
            info!("the youngest is left");
            drop(grandchild);
        },
        &[
            "begin parent",
            "begin child",
            "begin parent",
            "begin grandchild",
            "end",
            "instant the youngest is left",
            "end",
            "end",
            "end",
        ],
    );
}

#[test]
fn futures_carry_the_current_span() {
    check(
        || {
            let future = info_span!("request").in_scope(|| {
                let mut is_first = true;
                let twice = poll_fn(move |_| {
                    if std::mem::take(&mut is_first) {
                        info!("first poll");
                        return Poll::Pending;
                    }
                    info!("second poll");
                    Poll::Ready(())
                });
                twice.in_current_span()
            });
            let mut future = pin!(future);
            let mut context = Context::from_waker(Waker::noop());
            assert!(future.as_mut().poll(&mut context).is_pending());
            assert!(future.as_mut().poll(&mut context).is_ready());
        },
        &[
            "begin request",
            "end",
            "begin request",
            "begin request",
            "instant first poll",
            "end",
            "begin request",
            "instant second poll",
            "end",
            "begin request",
            "end",
            "end",
        ],
    );
}
