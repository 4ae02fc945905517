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
use crate::callback;

/// A chunk is acquired before the one at hand is given back, so two are the least.
const PAGES: usize = 2;

/// Tag of `TracePacket.trusted_packet_sequence_id`: field 10, a varint.
const SEQUENCE_ID_TAG: u8 = 10 << 3;

/// Makes the packets of one sequence known to an interceptor.
pub(super) type Receive = Box<dyn FnMut(&[u8])>;

/// The way from the writer of a sequence to its interceptor.
pub(crate) trait Intercepted {
    /// Hands the packets of `writer` over, all of which are complete. The caller holds no lock of the library.
    fn deliver(&mut self, writer: &mut TraceWriter);
}

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

/// Gets the packets of one sequence from its collector.
struct Collected {
    name: Arc<str>,
    sequence: u32,
    collector: Arc<Collector>,
    /// None after a panic.
    receive: Option<Receive>,
}

/// The writer of a new sequence, whose packets `receive` gets.
pub(super) fn new(
    name: &Arc<str>,
    receive: Receive,
) -> Option<(TraceWriter, Box<dyn Intercepted>)> {
    /// Sequences of this process, all interceptors together.
    static LAST: AtomicU32 = AtomicU32::new(0);
    let (arbiter, collector) = arbiter()?;
    let writer = arbiter.create_writer(BufferId::new(1), BufferExhaustedPolicy::Drop);
    let collected = Collected {
        name: name.clone(),
        sequence: LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
        collector,
        receive: Some(receive),
    };
    Some((writer, Box::new(collected)))
}

/// None never happens: the size of the memory is a whole number of pages.
fn arbiter() -> Option<(Arbiter, Arc<Collector>)> {
    let collector = Arc::new(Collector::default());
    let smb = Smb::new(Region::heap(PAGES * PageSize::DEFAULT.bytes()), PageSize::DEFAULT).ok()?;
    let mut options = ArbiterOptions::default();
    options.service.by_value = true;
    // Small chunks, because the whole chunk is copied after each event.
    options.layout = Layout::Div4;
    let arbiter = Arbiter::new(smb, options, collector.clone(), collector.clone());
    *lock(&collector.arbiter) = Some(arbiter.clone());
    Some((arbiter, collector))
}

impl Intercepted for Collected {
    #[cold]
    fn deliver(&mut self, writer: &mut TraceWriter) {
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
}

impl Collected {
    fn drop_receiver(&mut self) {
        let receive = self.receive.take();
        callback::run(
            format_args!("`drop` of a sequence of the interceptor {}", self.name),
            || drop(receive),
        );
    }
}

impl Drop for Collected {
    fn drop(&mut self) {
        // The arbiter owns the collector.
        *lock(&self.collector.arbiter) = None;
        self.drop_receiver();
    }
}
