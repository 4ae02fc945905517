//! Values of sequences that enter spans when they are made and when they are dropped: with the lock of a span held, the
//! thread could wait for itself.

use super::*;
use tracing_subscriber::prelude::*;

static SUBSCRIBER: Mutex<Option<tracing::Dispatch>> = Mutex::new(None);
static CALLS: Mutex<Vec<&str>> = Mutex::new(Vec::new());

fn enter_spans(when: &'static str) {
    let subscriber = SUBSCRIBER.lock().expect("no panic").clone().expect("a subscriber");
    tracing::dispatcher::with_default(&subscriber, || {
        // Each span has a slot of its own.
        let spans: Vec<_> = (0..500).map(|_| tracing::info_span!(target: "i", "inside")).collect();
        spans.iter().for_each(|span| span.in_scope(|| {}));
    });
    CALLS.lock().expect("no panic").push(when);
}

struct Sequence;

impl Default for Sequence {
    fn default() -> Self {
        enter_spans("made");
        Self
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        enter_spans("dropped");
    }
}

struct EntersSpans;

impl Interceptor for EntersSpans {
    type Sequence = Sequence;

    fn packet(&self, _: &mut Sequence, _: &[u8]) {}
}

fn run() {
    let span = || tracing::info_span!(target: "i", "span");
    let beside = started("track_event", "nobody knows it");
    let (first, second) = (span(), span());
    let session = started("track_event", "enters spans");
    // The thread learns of the session when the span is entered, and then that it has ended.
    first.in_scope(|| {});
    assert_eq!(*CALLS.lock().expect("no panic"), ["made"]);
    session.stop().expect("a stop");
    second.in_scope(|| {});
    instant!(I, "without the table");
    assert_eq!(*CALLS.lock().expect("no panic"), ["made", "dropped"]);
    assert_eq!(
        in_buffer(&beside),
        ["begin i span", "end", "begin i span", "end", "instant i without the table"]
    );
}

#[test]
fn values_of_sequences_come_and_go_without_a_lock() {
    let _alone = alone();
    let subscriber = tracing_subscriber::registry().with(tracing_sdk::layer::layer());
    let subscriber = tracing::Dispatch::new(subscriber);
    *SUBSCRIBER.lock().expect("no panic") = Some(subscriber.clone());
    interceptor::register("enters spans", |_| EntersSpans);
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        tracing::dispatcher::with_default(&subscriber, run);
        let _ = done.send(());
    });
    let outcome = wait.recv_timeout(LONG);
    assert_ne!(outcome, Err(mpsc::RecvTimeoutError::Timeout), "the thread waits for itself");
    thread.join().expect("no panic");
}
