//! The spans that are entered on a thread, innermost last.
//!
//! Slices of one thread must be nested, and guards of `tracing` need not be. A span that is left before those it
//! encloses ends their slices, too, and they begin again.

use std::cell::RefCell;

use super::span_slices::{Begun, Form};
use super::span_table::{LiveSpan, SpanId};
use crate::sequence::Spec;
use crate::sequence::thread;

#[derive(Clone, Copy)]
struct Entered {
    id: SpanId,
    span: LiveSpan,
    begun: Begun,
    /// [`Slot::changes`](super::slot::Slot::changes) at that time.
    changes: u32,
}

/// The spans of one thread. Those that are entered when the thread ends are left then: nobody can find them later.
struct All(Vec<Entered>);

impl Drop for All {
    fn drop(&mut self) {
        self.0.iter().rev().for_each(end);
    }
}

thread_local! {
    static ENTERED: RefCell<All> = const { RefCell::new(All(Vec::new())) };
}

fn with_entered<T: Default>(run: impl FnOnce(&mut Vec<Entered>) -> T) -> T {
    let run = |entered: &RefCell<All>| {
        entered.try_borrow_mut().map(|mut entered| run(&mut entered.0)).unwrap_or_default()
    };
    // A thread that is ending has none.
    ENTERED.try_with(run).unwrap_or_default()
}

/// Of the spans of `subscriber`, the one that was entered last on the calling thread and has not been left.
pub(super) fn current(subscriber: u64) -> Option<LiveSpan> {
    with_entered(|entered| {
        let last = entered.iter().rev().find(|entry| entry.id.subscriber == subscriber)?;
        Some(last.span)
    })
}

/// The span is entered on the calling thread.
#[inline]
pub(super) fn enter(id: SpanId) {
    let Some(span) = id.find() else { return };
    // Before the slice begins, so that no change is missed.
    let changes = span.slot.changes();
    let entry = Entered { id, span, begun: span.enter(), changes };
    let is_kept = with_entered(|entered| {
        entered.push(entry);
        true
    });
    if !is_kept {
        // Nothing would end the slice later.
        end(&entry);
    }
}

/// The span is left on the calling thread.
#[inline]
pub(super) fn exit(id: SpanId) {
    let last = with_entered(|entered| entered.pop_if(|last| last.id == id));
    match last {
        Some(entry) => end(&entry),
        None => exit_outer(id),
    }
}

/// As [`exit`], of a span inside of which others were entered that have not been left.
#[cold]
fn exit_outer(id: SpanId) {
    let taken = with_entered(|entered| {
        let at = entered.iter().rposition(|entry| entry.id == id)?;
        let inside = entered.split_off(at + 1);
        entered.pop().map(|entry| (entry, inside))
    });
    let Some((entry, inside)) = taken else { return };
    // On the track of the thread, or on the same one that the program named.
    let track = |entry: &Entered| match entry.begun.form {
        Form::Named => entry.span.track_name(),
        Form::Whole | Form::Part => None,
    };
    let own = track(&entry);
    let is_nested = |other: &Entered| track(other) == own;
    for other in inside.iter().rev().filter(|other| is_nested(other)) {
        other.span.interrupt(&other.begun);
    }
    end(&entry);
    for mut other in inside {
        if is_nested(&other) && other.begun.written.bits != 0 {
            other.begun.written = other.span.begin_slice(other.begun.form);
        }
        with_entered(|entered| entered.push(other));
    }
}

#[inline]
fn end(entry: &Entered) {
    let Entered { span, begun, changes, .. } = entry;
    if begun.written.bits == 0 {
        return;
    }
    // Almost always nothing is to be said of the span.
    if begun.has_plain_end && *changes == span.slot.changes() {
        thread::write_to(begun.written, &Spec::end(None), None);
    } else {
        span.end_slice(begun);
    }
}
