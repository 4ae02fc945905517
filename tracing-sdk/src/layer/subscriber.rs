//! A subscriber of its own, for programs in which nobody else needs the registry of `tracing-subscriber`.
//!
//! It has what the layer gets from the registry: ids of spans, handles that are counted, and the span that is current
//! on a thread. A span lives as long as its handles and its children.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::cell::Cell;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, SetGlobalDefaultError};
use tracing::{Event, Metadata};
use tracing_types::span::Current;

use super::recorder::Recorder;
use super::span_table::{LiveSpan, SpanId};
use super::{entered, event, filter, rebuild};

/// How many ids a thread takes at a time: what all threads write to costs more than the rest of an id.
const IDS: u64 = 256;

thread_local! {
    /// The next id of the thread, and the one after its last.
    static OWN_IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// An id that no other span of the process has.
fn new_id() -> Id {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let (mut next, mut end) = OWN_IDS.get();
    if next == end {
        next = NEXT.fetch_add(IDS, Ordering::Relaxed);
        end = next + IDS;
    }
    OWN_IDS.set((next + 1, end));
    Id::from_u64(next)
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
        Self { recorder }
    }

    /// Makes it the subscriber of the program.
    ///
    /// # Errors
    /// When the program has one.
    pub fn install(self) -> Result<(), SetGlobalDefaultError> {
        tracing::subscriber::set_global_default(self)
    }

    fn span(&self, id: &Id) -> SpanId {
        self.recorder.number().span(id)
    }

    /// The span that was entered last on the calling thread, of those that have not been left.
    fn current(&self) -> Option<LiveSpan> {
        entered::current(self.recorder.number().get())
    }

    fn parent(&self, attributes: &Attributes<'_>) -> Option<SpanId> {
        match attributes.is_contextual() {
            true => self.current().map(LiveSpan::id),
            false => attributes.parent().map(|id| self.span(id)),
        }
    }
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

impl tracing::Subscriber for Subscriber {
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
        let id = new_id();
        let parent = self.parent(attributes).filter(|parent| parent.acquire());
        self.recorder.new_span(self.span(&id), attributes, parent);
        id
    }

    fn record(&self, id: &Id, record: &Record<'_>) {
        self.recorder.record(id, record);
    }

    fn record_follows_from(&self, id: &Id, follows: &Id) {
        self.recorder.follows_from(id, follows);
    }

    fn event(&self, event: &Event<'_>) {
        event::record(event);
    }

    fn enter(&self, id: &Id) {
        entered::enter(self.span(id));
    }

    fn exit(&self, id: &Id) {
        entered::exit(self.span(id));
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.span(id).acquire();
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.span(&id).release()
    }

    fn current_span(&self) -> Current {
        match self.current() {
            Some(span) => Current::new(Id::from_u64(span.id().id), span.site.metadata),
            None => Current::none(),
        }
    }
}
