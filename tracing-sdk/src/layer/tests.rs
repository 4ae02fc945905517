//! Numbers of values that stay, and slots that are used again.

use std::cell::Cell;
use std::thread;

use tracing::Id;

use super::callsite;
use super::chunks::Chunks;
use super::slot::Start;
use super::span_table::{LiveSpan, SubscriberNumber, slot_count};
use super::style::SpanStyle;

#[test]
fn each_number_has_its_value() {
    let chunks = Chunks::new();
    assert_eq!(chunks.get(0), None);
    let mut numbers = 0..0;
    for _ in 0..5 {
        let more = chunks.grow(|number| number);
        assert_eq!(more.start, numbers.end, "no number is left out");
        numbers.end = more.end;
    }
    assert!(numbers.clone().all(|number| chunks.get(number) == Some(&number)));
    assert_eq!(chunks.get(numbers.end), None);
    assert!(chunks.iter().copied().eq(numbers));
}

/// Ends its span when the thread ends.
struct EndsLate(LiveSpan);

impl Drop for EndsLate {
    fn drop(&mut self) {
        self.0.end_span();
    }
}

thread_local! {
    static LATE: Cell<Option<EndsLate>> = const { Cell::new(None) };
}

fn begin(subscriber: &SubscriberNumber, id: u64) -> LiveSpan {
    let metadata = tracing::subscriber::with_default(tracing_subscriber::registry(), || {
        tracing::info_span!("used again").metadata().expect("that of its call site")
    });
    let start = Start { style: SpanStyle::Sync, made: None, values: None, parent: None };
    let span = subscriber.span(&Id::from_u64(id)).begin(callsite::of(metadata), &start);
    span.expect("a slot")
}

/// Each thread gets a span that another one has made, and ends it. What threads keep is used again when they have ended.
fn check_slots_are_used_again(end: fn(&SubscriberNumber, LiveSpan)) {
    const THREADS: usize = 600;
    let subscriber = SubscriberNumber::default();
    let before = slot_count();
    for _ in 0..THREADS {
        let span = begin(&subscriber, 1);
        let ended = thread::scope(|scope| scope.spawn(|| end(&subscriber, span)).join());
        ended.expect("no panic");
    }
    let added = slot_count() - before;
    assert!(added < THREADS, "{added} slots");
}

#[test]
fn threads_that_only_end_spans_keep_no_slot() {
    check_slots_are_used_again(|_, span| span.end_span());
}

#[test]
fn threads_that_end_spans_late_keep_no_slot() {
    check_slots_are_used_again(|subscriber, span| {
        // Its destructor runs after that of the slots which the thread keeps: those are used later for the first time.
        LATE.set(Some(EndsLate(span)));
        begin(subscriber, 2).end_span();
    });
}
