//! The spans that are entered on a thread, innermost last.
//!
//! Slices of one thread must be nested, and guards of `tracing` need not be. A span that is left before those it
//! encloses ends their slices, too, and they begin again.

use std::cell::RefCell;

use tracing::Metadata;

use super::span::{Begun, Form};
use super::spans::SpanId;
use crate::sequence::Spec;
use crate::sequence::thread;

struct Entered {
    span: SpanId,
    metadata: &'static Metadata<'static>,
    begun: Begun,
    /// [`SpanId::changes`] at that time.
    changes: u32,
}

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

fn with_entered<T: Default>(run: impl FnOnce(&mut Vec<Entered>) -> T) -> T {
    let run = |entered: &RefCell<Vec<Entered>>| {
        entered.try_borrow_mut().map(|mut entered| run(&mut entered)).unwrap_or_default()
    };
    // A thread that is ending has none.
    ENTERED.try_with(run).unwrap_or_default()
}

/// Of the spans of `subscriber`, the one that was entered last on the calling thread and has not been left.
pub(super) fn current(subscriber: u64) -> Option<(SpanId, &'static Metadata<'static>)> {
    with_entered(|entered| {
        let last = entered.iter().rev().find(|entry| entry.span.subscriber == subscriber)?;
        Some((last.span, last.metadata))
    })
}

/// The span is entered on the calling thread.
pub(super) fn enter(id: SpanId) {
    let entry = id.with(|span| Entered {
        span: id,
        metadata: span.site().metadata,
        begun: span.enter(),
        changes: id.changes(),
    });
    if let Some(entry) = entry {
        with_entered(|entered| entered.push(entry));
    }
}

/// The span is left on the calling thread.
pub(super) fn exit(id: SpanId) {
    let last = with_entered(|entered| entered.pop_if(|last| last.span == id));
    match last {
        Some(entry) => end(&entry),
        None => exit_outer(id),
    }
}

/// As [`exit`], of a span inside of which others were entered that have not been left.
#[cold]
fn exit_outer(id: SpanId) {
    let taken = with_entered(|entered| {
        let at = entered.iter().rposition(|entry| entry.span == id)?;
        let inside = entered.split_off(at + 1);
        entered.pop().map(|entry| (entry, inside))
    });
    let Some((entry, inside)) = taken else { return };
    let is_nested =
        |other: &Entered| entry.begun.form != Form::Named && other.begun.form != Form::Named;
    for other in inside.iter().rev().filter(|other| is_nested(other)) {
        thread::write_to(other.begun.written, &Spec::end(None), None);
    }
    end(&entry);
    for mut other in inside {
        if is_nested(&other) && other.begun.written.bits != 0 {
            let form = other.begun.form;
            other.begun.written = other.span.with(|span| span.begin(form)).unwrap_or_default();
        }
        with_entered(|entered| entered.push(other));
    }
}

fn end(entry: &Entered) {
    let Entered { span, begun, changes, .. } = entry;
    if begun.written.bits == 0 {
        return;
    }
    // Without its lock, if nothing is to be said of the span.
    if begun.has_plain_end && *changes == span.changes() {
        thread::write_to(begun.written, &Spec::end(None), None);
    } else {
        span.with(|span| span.end(begun));
    }
}
