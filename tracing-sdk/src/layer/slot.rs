//! What is known of a span that has not ended.
//!
//! Almost all spans are entered once, on the thread that made them, and have no late values. What these need are atomic
//! words. The rest is behind the lock of the span, which is held while values are copied: never while an event is
//! written, nor while code of the program runs.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::handles::Handles;
use super::index::Identity;
use super::style::SpanStyle;
use super::values::Values;
use crate::flow::Flow;
use crate::sequence::thread::Written;

/// How many spans that another one follows are recorded, until it is entered.
const FOLLOWS_MAX: usize = 16;

/// What the words of a slot are when its span begins.
pub(super) struct Start<'v> {
    pub(super) style: SpanStyle,
    /// See [`Slot::made`].
    pub(super) made: Option<(Written, u64)>,
    /// None: it has no values.
    pub(super) values: Option<&'v Values>,
    /// The id of its parent, which has a handle for it.
    pub(super) parent: Option<u64>,
}

/// The slice for the whole life of a span.
#[derive(Default)]
pub(super) struct Life {
    pub(super) written: Written,
    /// The generation of the instances at the last comparison.
    generation: Option<u32>,
    /// A thread writes its beginning.
    is_beginning: bool,
}

impl Life {
    /// The calling thread is to write the beginning where it is missing: to all but the instances that are returned.
    pub(super) fn claim_beginning(&mut self, generation: u32) -> Option<Written> {
        if self.is_beginning || self.generation == Some(generation) {
            return None;
        }
        self.is_beginning = true;
        Some(self.written)
    }

    /// Whether a thread writes or has written a beginning: it is on the track that is known then.
    pub(super) fn has_begun(&self) -> bool {
        self.is_beginning || self.generation.is_some()
    }

    /// The calling thread has written the beginnings that [`claim_beginning`](Self::claim_beginning) asked for.
    pub(super) fn note_begun(&mut self, generation: u32, written: Written) {
        *self = Self { written, generation: Some(generation), is_beginning: false };
    }
}

/// What few spans have.
#[derive(Default)]
pub(super) struct Details {
    /// [`Slot::generation`] of the span that they belong to.
    generation: u32,
    pub(super) values: Values,
    /// From spans that it follows.
    pub(super) flows: Vec<Flow>,
    number: u64,
    pub(super) life: Life,
}

impl Details {
    fn reset(&mut self, generation: u32) {
        self.generation = generation;
        self.values.clear();
        self.flows.clear();
        (self.number, self.life) = (0, Life::default());
    }

    /// It follows from an event with this flow.
    pub(super) fn follow(&mut self, flow: Flow) {
        if self.flows.len() < FOLLOWS_MAX {
            self.flows.push(flow);
        }
    }

    /// Tells apart the tracks and flows of spans.
    pub(super) fn number(&mut self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if self.number == 0 {
            self.number = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        self.number
    }
}

/// See the [module](self). No two slots share a line of a cache, and the words that all spans need are in the first
/// ones.
#[repr(C, align(64))]
pub(super) struct Slot {
    pub(super) identity: Identity,
    pub(super) number: u32,
    /// How many spans it has belonged to.
    generation: AtomicU32,
    /// How often its spans got late values or flows.
    changes: AtomicU32,
    /// How often its span was entered.
    enters: AtomicU32,
    style: AtomicU8,
    /// Its span has values or flows.
    has_details: AtomicBool,
    /// Its details have large values, and lose them when the span ends.
    is_large: AtomicBool,
    /// The instances of [`made`](Self::made), packed; 0: not known.
    made_for: AtomicU64,
    made_ns: AtomicU64,
    /// Handles and children, of a subscriber that counts them.
    pub(super) handles: Handles,
    /// 0: none.
    parent: AtomicU64,
    details: Mutex<Details>,
}

impl Slot {
    pub(super) fn new(number: u32) -> Self {
        let (subscriber, id, site) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU32::new(0));
        Self {
            identity: Identity { subscriber, id, site },
            number,
            generation: AtomicU32::new(0),
            changes: AtomicU32::new(0),
            enters: AtomicU32::new(0),
            style: AtomicU8::new(0),
            has_details: AtomicBool::new(false),
            is_large: AtomicBool::new(false),
            made_for: AtomicU64::new(0),
            made_ns: AtomicU64::new(0),
            handles: Handles(AtomicUsize::new(0)),
            parent: AtomicU64::new(0),
            details: Mutex::default(),
        }
    }

    /// A span begins that nobody else knows yet.
    pub(super) fn start(&self, start: &Start<'_>) {
        let order = Ordering::Relaxed;
        self.generation.store(self.generation.load(order).wrapping_add(1), order);
        self.enters.store(0, order);
        self.style.store(start.style as u8, order);
        self.has_details.store(start.values.is_some(), order);
        let (made_for, made_ns) = start.made.unwrap_or_default();
        self.made_for.store(packed(made_for), order);
        self.made_ns.store(made_ns, order);
        self.handles.start();
        self.parent.store(start.parent.unwrap_or(0), order);
        if let Some(values) = start.values {
            let mut details = self.lock();
            details.values.copy(values);
            self.note_large(&details);
        }
    }

    /// Its span ends. What is large must not occupy memory until the slot is used again, which may be never.
    #[inline]
    pub(super) fn drop_large(&self) {
        if self.is_large.load(Ordering::Relaxed) {
            self.lock_details().values.clear();
            self.is_large.store(false, Ordering::Relaxed);
        }
    }

    fn note_large(&self, details: &Details) {
        if details.values.is_large() {
            self.is_large.store(true, Ordering::Relaxed);
        }
    }

    /// The details of its span.
    pub(super) fn lock(&self) -> MutexGuard<'_, Details> {
        let mut details = self.lock_details();
        let generation = self.generation();
        if details.generation != generation {
            details.reset(generation);
        }
        details
    }

    /// The details, of whichever span they are.
    pub(super) fn lock_details(&self) -> MutexGuard<'_, Details> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    pub(super) fn style(&self) -> SpanStyle {
        match self.style.load(Ordering::Relaxed) {
            style if style == SpanStyle::Sync as u8 => SpanStyle::Sync,
            style if style == SpanStyle::Async as u8 => SpanStyle::Async,
            _ => SpanStyle::Auto,
        }
    }

    pub(super) fn set_async(&self) {
        self.style.store(SpanStyle::Async as u8, Ordering::Relaxed);
    }

    /// The span is entered. Returns how often it was before.
    pub(super) fn count_enter(&self) -> u32 {
        self.enters.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn enters(&self) -> u32 {
        self.enters.load(Ordering::Relaxed)
    }

    /// A number that differs once the span was [changed](Self::set_changed).
    pub(super) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    /// The `details` have changed, which are locked: the end of a slice that has begun may have to tell of it.
    pub(super) fn set_changed(&self, details: &Details) {
        self.note_large(details);
        self.has_details.store(true, Ordering::Release);
        self.changes.fetch_add(1, Ordering::Release);
    }

    pub(super) fn has_details(&self) -> bool {
        self.has_details.load(Ordering::Acquire)
    }

    /// The instances that ran when the span was made, and that time. Of a span that is expected to be entered once,
    /// those of its first slice.
    pub(super) fn made(&self) -> (Written, u64) {
        let made_for = self.made_for.load(Ordering::Acquire);
        let written = Written { bits: (made_for >> 32) as u32, last_serial: made_for as u32 };
        (written, self.made_ns.load(Ordering::Relaxed))
    }

    /// A slice has begun in `written`. Its time is that of the whole life, if that is not known.
    pub(super) fn set_made(&self, written: Written, now_ns: u64) {
        if written.bits != 0 && self.made_for.load(Ordering::Relaxed) == 0 {
            self.made_ns.store(now_ns, Ordering::Relaxed);
            self.made_for.store(packed(written), Ordering::Release);
        }
    }

    pub(super) fn parent(&self) -> Option<u64> {
        Some(self.parent.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }
}

fn packed(written: Written) -> u64 {
    u64::from(written.bits) << 32 | u64::from(written.last_serial)
}
