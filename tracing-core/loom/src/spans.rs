//! The models of spans of `tracing`: threads that make, find and end them.

use loom::thread;

use crate::handles::Handles;
use crate::index::{Bucket, ENTRIES, Identity};
use crate::models::model;
use crate::sync::{Arc, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering, lock};

/// Two slots, and a part of the index that leads to them.
struct Spans {
    bucket: Bucket,
    slots: [Identity; 2],
    /// The ids that a thread has told others.
    told: Mutex<Vec<u64>>,
}

fn entry(slot: usize, id: u64) -> u64 {
    id << 32 | (slot as u64 + 1)
}

impl Spans {
    fn new() -> Self {
        let identity = || Identity {
            subscriber: AtomicU64::new(0),
            id: AtomicU64::new(0),
            site: AtomicU32::new(0),
        };
        let entries: [AtomicU64; ENTRIES] = std::array::from_fn(|_| AtomicU64::new(0));
        let slots = [identity(), identity()];
        Self { bucket: Bucket { entries }, slots, told: Mutex::new(Vec::new()) }
    }

    fn begin(&self, slot: usize, id: u64, site: u32) {
        self.slots[slot].begin(1, id, site);
        assert!(self.bucket.insert(entry(slot, id)), "there are free entries");
    }

    fn end(&self, slot: usize, id: u64) {
        assert!(self.bucket.remove(entry(slot, id)), "the span has an entry");
        self.slots[slot].end();
    }

    /// The call site of a span.
    fn find(&self, id: u64) -> Option<u32> {
        self.bucket.find(|entry| {
            let slot = (entry as u32).checked_sub(1).filter(|_| entry >> 32 == id)?;
            self.slots[slot as usize].site_of(1, id)
        })
    }
}

/// Two threads make spans at the same time, and one of them ends its span: who has the id of the other one finds it.
#[test]
fn a_span_is_found_by_its_id() {
    model(|| {
        let spans = Arc::new(Spans::new());
        let maker = {
            let spans = spans.clone();
            thread::spawn(move || {
                spans.begin(0, 7, 70);
                lock(&spans.told).push(7);
            })
        };
        let other = {
            let spans = spans.clone();
            thread::spawn(move || {
                spans.begin(1, 8, 80);
                assert_eq!(spans.find(8), Some(80));
                spans.end(1, 8);
                assert_eq!(spans.find(8), None);
            })
        };
        let ids = lock(&spans.told).clone();
        assert!(ids.iter().all(|id| spans.find(*id) == Some(70)), "a span that is not found");
        maker.join().unwrap();
        other.join().unwrap();
        assert_eq!((spans.find(7), spans.find(8)), (Some(70), None));
    });
}

/// A span ends, and its slot belongs to another one: a thread that has the old id does not take one for the other.
#[test]
fn a_slot_is_used_again() {
    model(|| {
        let spans = Arc::new(Spans::new());
        spans.begin(0, 7, 70);
        let maker = {
            let spans = spans.clone();
            thread::spawn(move || {
                spans.end(0, 7);
                spans.begin(0, 8, 80);
            })
        };
        let site = spans.find(7);
        assert!(site.is_none_or(|site| site == 70), "the call site of another span: {site:?}");
        maker.join().unwrap();
        assert_eq!((spans.find(7), spans.find(8)), (None, Some(80)));
    });
}

/// Two threads give the last two handles back: one learns that its handle was the last, and sees what the other thread
/// did before.
#[test]
fn one_handle_is_the_last_one() {
    model(|| {
        let handles = Arc::new(Handles(AtomicUsize::new(0)));
        handles.start();
        handles.add();
        let enters = Arc::new(AtomicU32::new(0));
        let threads = [(); 2].map(|()| {
            let (handles, enters) = (handles.clone(), enters.clone());
            thread::spawn(move || {
                enters.fetch_add(1, Ordering::Relaxed);
                let is_last = handles.remove();
                assert!(!is_last || enters.load(Ordering::Relaxed) == 2, "the other one is done");
                is_last
            })
        });
        let last = threads.into_iter().map(|thread| thread.join().unwrap());
        assert_eq!(last.filter(|is_last| *is_last).count(), 1);
    });
}
