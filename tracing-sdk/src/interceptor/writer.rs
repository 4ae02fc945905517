//! The writer of a sequence that is intercepted.
//!
//! It is a trace writer as any other. Its memory is a few pages of the heap, of which each chunk is taken by value as
//! soon as it is complete. So there is always memory, and no packet is lost, however long it is.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abi::ids::BufferId;
use abi::shm::{Layout, PageSize, Region, Smb};
use abi::time::BootTime;
use client::write::{Arbiter, ArbiterOptions, BufferExhaustedPolicy, Park, TraceWriter, Waker};
use protos::producer_port::Request;
use protozero::wire::varint;

use super::packets::Chunks;
use super::registry::{ForThreads, Receive};
use crate::callback;

/// A chunk is acquired before the one at hand is given back, so two are the least.
const PAGES: usize = 2;

/// Tag of `TracePacket.trusted_packet_sequence_id`: field 10, a varint.
const SEQUENCE_ID_TAG: u8 = 10 << 3;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes chunks from the arbiter whenever there is one. All of this happens on the thread of the writer.
#[derive(Default)]
struct Collector {
    arbiter: Mutex<Option<Arbiter>>,
    chunks: Mutex<Chunks>,
}

impl Waker for Collector {
    fn wake(&self) {
        let Some(arbiter) = lock(&self.arbiter).clone() else { return };
        while let Some(outgoing) = arbiter.poll_request(BootTime::from_ns(0)) {
            // Nobody has to know of the writer itself.
            if let Request::CommitData(commit) = outgoing.request {
                lock(&self.chunks).add(commit);
            }
        }
    }
}

impl Park for Collector {
    /// Nothing waits for memory.
    fn park(&self, _: Duration) {}
}

/// The way from the writer of a sequence to its interceptor.
pub(crate) struct Intercepted {
    name: Arc<str>,
    sequence: u32,
    collector: Arc<Collector>,
    /// None after a panic.
    receive: Option<Receive>,
}

impl ForThreads {
    /// The writer of a new sequence. Without the second value it drops all packets.
    pub(crate) fn writer(&self) -> (TraceWriter, Option<Box<Intercepted>>) {
        /// Sequences of this process, all interceptors together.
        static LAST: AtomicU32 = AtomicU32::new(0);
        let (Some(receive), Some((arbiter, collector))) = (self.sequence(), arbiter()) else {
            return (TraceWriter::null(), None);
        };
        let writer = arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Drop);
        let intercepted = Intercepted {
            name: self.name.clone(),
            sequence: LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
            collector,
            receive: Some(receive),
        };
        (writer, Some(Box::new(intercepted)))
    }
}

/// None never happens: the size of the memory is a whole number of pages.
fn arbiter() -> Option<(Arbiter, Arc<Collector>)> {
    let collector = Arc::new(Collector::default());
    let smb = Smb::new(Region::heap(PAGES * PageSize::DEFAULT.bytes()), PageSize::DEFAULT).ok()?;
    let mut options = ArbiterOptions::default();
    options.by_value = true;
    // Small chunks, because the whole chunk is copied after each event.
    options.layout = Layout::Div4;
    let arbiter = Arbiter::new(smb, options, collector.clone(), collector.clone());
    *lock(&collector.arbiter) = Some(arbiter.clone());
    Some((arbiter, collector))
}

impl Intercepted {
    /// Hands the packets of `writer` over, all of which are complete. The caller holds no lock of the library.
    #[cold]
    pub(crate) fn deliver(&mut self, writer: &mut TraceWriter) {
        writer.flush();
        let chunks = core::mem::take(&mut *lock(&self.collector.chunks));
        let Some(receive) = &mut self.receive else { return };
        let mut id = [0; varint::LEN_MAX];
        let id_len = varint::encode(self.sequence.into(), &mut id);
        let id = id.get(..id_len).unwrap_or_default();
        let deliver = || {
            chunks.for_each(|packet| {
                packet.push(SEQUENCE_ID_TAG);
                packet.extend_from_slice(id);
                receive(packet);
            });
        };
        if callback::run(format_args!("`packet` of the interceptor {}", self.name), deliver)
            .is_none()
        {
            self.drop_receiver();
        }
    }

    fn drop_receiver(&mut self) {
        let receive = self.receive.take();
        callback::run(
            format_args!("`drop` of a sequence of the interceptor {}", self.name),
            || drop(receive),
        );
    }
}

impl Drop for Intercepted {
    fn drop(&mut self) {
        // The arbiter owns the collector.
        *lock(&self.collector.arbiter) = None;
        self.drop_receiver();
    }
}
