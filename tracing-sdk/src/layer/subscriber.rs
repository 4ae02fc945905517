//! A subscriber of its own, for programs in which nobody else needs the registry of `tracing-subscriber`.
//!
//! It has what the layer gets from the registry: ids of spans, handles that are counted, and the span that is current
//! on a thread. A span lives as long as its handles and its children.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::cell::RefCell;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, SetGlobalDefaultError};
use tracing::{Dispatch, Event, Metadata};
use tracing_types::span::Current;

use super::recorder::Recorder;
use super::span;
use super::spans::Spans;
use super::{event, filter, rebuild};

/// A span that was entered on a thread.
struct Entered {
    /// The number of its subscriber.
    subscriber: u64,
    id: u64,
    metadata: &'static Metadata<'static>,
}

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// Records the spans and events of a program that has no other subscriber.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// tracing_sdk::init()?;
/// tracing_sdk::layer::Subscriber::default().install()?;
/// tracing::info!(answer = 42, "ready");
/// # Ok(())
/// # }
/// ```
pub struct Subscriber {
    recorder: Recorder,
    last_id: AtomicU64,
}

impl Default for Subscriber {
    fn default() -> Self {
        Self::new(Recorder::new())
    }
}

impl Subscriber {
    /// A subscriber that records as `recorder` says.
    #[must_use]
    pub fn new(recorder: Recorder) -> Self {
        rebuild::enable();
        Self { recorder, last_id: AtomicU64::new(0) }
    }

    /// Makes it the subscriber of the program.
    ///
    /// # Errors
    /// When the program has one.
    pub fn install(self) -> Result<(), SetGlobalDefaultError> {
        tracing::subscriber::set_global_default(self)
    }

    fn spans(&self) -> &Spans {
        self.recorder.spans()
    }

    /// The span that was entered last on the calling thread, of those that have not been left.
    fn current(&self) -> Option<(u64, &'static Metadata<'static>)> {
        let number = self.spans().number();
        let last = |entered: &RefCell<Vec<Entered>>| {
            let entered = entered.try_borrow().ok()?;
            let last = entered.iter().rev().find(|entry| entry.subscriber == number)?;
            Some((last.id, last.metadata))
        };
        // A thread that is ending has none.
        ENTERED.try_with(last).ok().flatten()
    }

    fn parent(&self, attributes: &Attributes<'_>) -> Option<u64> {
        match attributes.is_contextual() {
            true => self.current().map(|(id, _)| id),
            false => attributes.parent().map(Id::into_u64),
        }
    }
}

fn with_entered(run: impl FnOnce(&mut Vec<Entered>)) {
    let run = |entered: &RefCell<Vec<Entered>>| {
        if let Ok(mut entered) = entered.try_borrow_mut() {
            run(&mut entered);
        }
    };
    let _ = ENTERED.try_with(run);
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

impl tracing::Subscriber for Subscriber {
    fn on_register_dispatch(&self, subscriber: &Dispatch) {
        rebuild::add(subscriber);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        filter::interest(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        filter::is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        filter::level_hint()
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let number = self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let id = Id::from_u64(number.max(1));
        let span = self.recorder.new_span(id.into_u64(), attributes);
        let parent = self.parent(attributes).filter(|parent| self.spans().acquire(*parent));
        self.spans().insert(id.into_u64(), span, Some(attributes.metadata()), parent);
        id
    }

    fn record(&self, id: &Id, record: &Record<'_>) {
        let Some(metadata) = self.spans().metadata(id.into_u64()) else { return };
        self.recorder.record(id, metadata, record);
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        self.recorder.follows_from(id, follows);
    }

    fn event(&self, event: &Event<'_>) {
        event::record(event);
    }

    fn enter(&self, id: &Id) {
        let id = id.into_u64();
        self.spans().with(id, |span| span.enter(id));
        if let Some(metadata) = self.spans().metadata(id) {
            let subscriber = self.spans().number();
            with_entered(|entered| entered.push(Entered { subscriber, id, metadata }));
        }
    }

    fn exit(&self, id: &Id) {
        let (id, number) = (id.into_u64(), self.spans().number());
        span::exit(id, |id, run| self.spans().with(id, run));
        with_entered(|entered| {
            let is_it = |entry: &Entered| entry.subscriber == number && entry.id == id;
            if let Some(at) = entered.iter().rposition(is_it) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.spans().acquire(id.into_u64());
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut next = Some(id.into_u64());
        let mut is_closed = false;
        // A span that ends lets go of its parent.
        while let Some(id) = next.take() {
            if let Some((mut span, parent)) = self.spans().release(id) {
                span.close();
                self.spans().recycle(id, span);
                is_closed = true;
                next = parent;
            }
        }
        is_closed
    }

    fn current_span(&self) -> Current {
        match self.current() {
            Some((id, metadata)) => Current::new(Id::from_u64(id), metadata),
            None => Current::none(),
        }
    }
}
