//! How a thread finds the memory of a span that another thread has made, without a lock.
//!
//! A span has a slot, which it leaves to later spans. The slot has an identity: which span it belongs to. Entries of an
//! index lead to slots. They may be old; what counts is the identity:
//!
//! ```text
//!   begin:  site, subscriber ──> id ──> entry is added            (release)
//!   find:   entry ──> id, subscriber, site ──> still the same id?  (acquire)
//!   end:    entry is removed ──> id is 0
//! ```
//!
//! The thread that makes a span adds its entry, and the thread that ends it removes it. The program has brought the id
//! from one to the other, so a thread with a valid id finds the entry. One with the id of a span that has ended finds
//! nothing, or at worst a later span with the same id.
//!
//! `tracing-core/loom` explores this very code.

use abi::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// How many entries a bucket has: one line of a cache.
pub(crate) const ENTRIES: usize = 8;

/// Entries of spans whose ids have something in common. An entry that is 0 is free.
#[repr(align(64))]
pub(crate) struct Bucket {
    pub(crate) entries: [AtomicU64; ENTRIES],
}

impl Bucket {
    /// Adds an entry. False if there is no free one.
    #[inline]
    pub(crate) fn insert(&self, entry: u64) -> bool {
        let order = Ordering::Relaxed;
        let is_taken = |place: &AtomicU64| {
            place.load(order) == 0
                && place.compare_exchange(0, entry, Ordering::Release, order).is_ok()
        };
        self.entries.iter().any(is_taken)
    }

    /// Removes an entry. Only the thread that ends its span does.
    #[inline]
    pub(crate) fn remove(&self, entry: u64) -> bool {
        let place = self.entries.iter().find(|place| place.load(Ordering::Relaxed) == entry);
        place.map(|place| place.store(0, Ordering::Relaxed)).is_some()
    }

    /// The first that `select` makes of an entry.
    #[inline]
    pub(crate) fn find<T>(&self, select: impl FnMut(u64) -> Option<T>) -> Option<T> {
        self.entries.iter().map(|place| place.load(Ordering::Acquire)).find_map(select)
    }
}

/// The span that a slot belongs to.
pub(crate) struct Identity {
    /// The number of its subscriber.
    pub(crate) subscriber: AtomicU64,
    /// 0: none.
    pub(crate) id: AtomicU64,
    /// The number of its call site.
    pub(crate) site: AtomicU32,
}

impl Identity {
    /// The slot belongs to a span from now on.
    #[inline]
    pub(crate) fn begin(&self, subscriber: u64, id: u64, site: u32) {
        // With the one in `site_of`: a thread that reads the new site then reads no older id than the 0 of `end`.
        fence(Ordering::Release);
        self.subscriber.store(subscriber, Ordering::Relaxed);
        self.site.store(site, Ordering::Relaxed);
        self.id.store(id, Ordering::Release);
    }

    /// The slot belongs to no span.
    #[inline]
    pub(crate) fn end(&self) {
        self.id.store(0, Ordering::Relaxed);
    }

    /// Whether the slot belongs to a span.
    #[inline]
    pub(crate) fn is(&self, subscriber: u64, id: u64) -> bool {
        self.id.load(Ordering::Acquire) == id
            && self.subscriber.load(Ordering::Relaxed) == subscriber
    }

    /// Whether the slot belongs to a span of call site `site`.
    #[inline]
    pub(crate) fn is_at(&self, subscriber: u64, id: u64, site: u32) -> bool {
        self.is(subscriber, id) && self.site.load(Ordering::Relaxed) == site
    }

    /// The number of the subscriber and the id. Only the thread that ends the span asks.
    #[inline]
    pub(crate) fn of(&self) -> (u64, u64) {
        (self.subscriber.load(Ordering::Relaxed), self.id.load(Ordering::Relaxed))
    }

    /// The id of the span, if it is one of this subscriber.
    pub(crate) fn id_of(&self, subscriber: u64) -> Option<u64> {
        let id = Some(self.id.load(Ordering::Acquire)).filter(|id| *id != 0)?;
        (self.subscriber.load(Ordering::Relaxed) == subscriber).then_some(id)
    }

    /// The number of the call site, if the slot belongs to a span.
    pub(crate) fn site_of(&self, subscriber: u64, id: u64) -> Option<u32> {
        let site = self.is(subscriber, id).then(|| self.site.load(Ordering::Relaxed))?;
        // With the one in `begin`: if the id is still the same, the site is not that of a later span.
        fence(Ordering::Acquire);
        (self.id.load(Ordering::Relaxed) == id).then_some(site)
    }
}
