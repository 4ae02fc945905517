//! A buffer that is compared with a reference buffer at each step.

use core::fmt;
use std::sync::{Arc, Mutex};

use super::{Packet, ReferenceBuffer, ReferenceV1, ReferenceV2};
use abi::ids::BufferId;
use abi::shm::Region;
use abi::sync::lock;
use service::RegionFactory;
use service::buffer::{
    ChunkMeta, ChunkPatches, FaultIn, PacketRef, Stats, TakePacket, TraceBuffer, Version,
    WrapBuffer,
};

/// The packets that the buffers of a service gave, in the order of reading, each with the number of the buffer that
/// it was written into. Every packet is exactly as the reference buffer says.
pub type EmittedPackets = Arc<Mutex<Vec<(BufferId, Packet)>>>;

/// A real buffer and a reference buffer: each operation is done to both, and their packets and counters are
/// compared.
///
/// A batch of packets is compared when it has ended: at the next operation, or when the buffer is dropped.
pub struct CheckedBuffer {
    real: TraceBuffer,
    // A clone is made of a shared reference, and the batch has to be compared before.
    check: Mutex<Check>,
}

struct Check {
    reference: Box<dyn ReferenceBuffer>,
    /// Packets of the real buffer that the reference was not asked for yet.
    batch: Vec<Packet>,
    /// Whether the batch has everything that can be read.
    ended: bool,
    /// Whether the buffer was used: an unfinished clone that is dropped has no bytes to compare.
    used: bool,
    /// A reference never forgets a sequence, the buffers of a service do.
    forgets: bool,
    emitted: Option<(BufferId, EmittedPackets)>,
}

impl CheckedBuffer {
    /// Wraps an empty buffer.
    #[must_use]
    pub fn wrap(real: TraceBuffer) -> TraceBuffer {
        let reference = reference_of(&real);
        Self::around(real, Check::new(reference, false, None))
    }

    /// Wraps buffer `id` of a service, which is empty, and appends the packets it gives to `emitted`.
    #[must_use]
    pub fn wrap_in_service(
        id: BufferId,
        real: TraceBuffer,
        emitted: &EmittedPackets,
    ) -> TraceBuffer {
        let reference = reference_of(&real);
        Self::around(real, Check::new(reference, true, Some((id, Arc::clone(emitted)))))
    }

    fn around(real: TraceBuffer, check: Check) -> TraceBuffer {
        TraceBuffer::wrapped(Box::new(Self { real, check: Mutex::new(check) }))
    }

    fn check(&mut self) -> &mut Check {
        of(&mut self.check)
    }

    /// Compares the batch that was read last, and the state of both buffers.
    fn compare(&mut self) {
        let Self { real, check } = self;
        let check = of(check);
        check.compare_batch();
        check.compare_state(real);
        check.used = true;
    }
}

/// The content of a mutex, which is borrowed mutably.
fn of(check: &mut Mutex<Check>) -> &mut Check {
    check.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn reference_of(real: &TraceBuffer) -> Box<dyn ReferenceBuffer> {
    assert!(!real.has_data() && !real.is_read_only(), "a reference buffer starts empty");
    let (bytes, policy) = (real.stats().buffer_size as usize, real.policy());
    match real.version() {
        Version::V1 => Box::new(ReferenceV1::new(bytes, policy)),
        Version::V2 => Box::new(ReferenceV2::new(bytes, policy)),
    }
}

impl Check {
    fn new(
        reference: Box<dyn ReferenceBuffer>,
        forgets: bool,
        emitted: Option<(BufferId, EmittedPackets)>,
    ) -> Self {
        Self { reference, batch: Vec::new(), ended: false, used: false, forgets, emitted }
    }

    /// The real buffer gave a packet, or none.
    fn note(&mut self, packet: Option<&PacketRef<'_>>) {
        let Some(packet) = packet else {
            self.ended = true;
            return;
        };
        let packet = Packet::from(packet.clone());
        if let Some((id, emitted)) = &self.emitted {
            lock(emitted).push((*id, packet.clone()));
        }
        self.batch.push(packet);
    }

    /// Reads from the reference buffer what was read from the real one.
    fn compare_batch(&mut self) {
        let max = if core::mem::take(&mut self.ended) { usize::MAX } else { self.batch.len() };
        if max == 0 {
            return;
        }
        let expected = self.reference.read(max);
        let batch = core::mem::take(&mut self.batch);
        let same = batch.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        assert!(
            batch.len() == expected.len() && same == batch.len(),
            "packet {same} of {}, {} in the reference buffer: {:?} instead of {:?}",
            batch.len(),
            expected.len(),
            batch.get(same),
            expected.get(same)
        );
    }

    fn compare_state(&self, real: &TraceBuffer) {
        let mut expected: Stats = *self.reference.stats();
        if self.forgets {
            // Only for remembered sequences is it known that a chunk is late.
            expected.chunks_committed_out_of_order = real.stats().chunks_committed_out_of_order;
        }
        assert_eq!(real.stats(), &expected, "the counters of a buffer and of its reference");
        assert_eq!(real.used_bytes(), self.reference.used_bytes(), "the bytes ever written");
        assert!(real.writer_stats().eq(self.reference.writers()), "the histograms");
    }
}

impl WrapBuffer for CheckedBuffer {
    fn inner(&self) -> &TraceBuffer {
        &self.real
    }

    fn inner_mut(&mut self) -> &mut TraceBuffer {
        &mut self.real
    }

    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        self.check().compare_batch();
        self.real.copy_chunk(meta, payload);
        self.check().reference.copy_chunk(meta, payload);
        self.compare();
    }

    fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool {
        self.check().compare_batch();
        let done = self.real.patch(patches);
        let expected = self.check().reference.patch(patches);
        assert_eq!(done, expected, "whether patches were applied");
        self.compare();
        done
    }

    fn note_violation(&mut self) {
        self.check().compare_batch();
        self.real.note_violation();
        self.check().reference.note_violation();
        self.compare();
    }

    fn add_refused(&mut self, of: &Stats) {
        self.check().compare_batch();
        self.real.add_refused(of);
        self.check().reference.add_refused(of);
        self.compare();
    }

    fn begin_read(&mut self) {
        self.compare();
        self.real.begin_read();
    }

    fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        let Self { real, check } = self;
        let packet = real.next_packet();
        of(check).note(packet.as_ref());
        packet
    }

    fn read_while(&mut self, take: &mut dyn TakePacket) {
        let Self { real, check } = self;
        let mut noting = RecordingTaker { check: of(check), take, stopped: false };
        real.read_while(&mut noting);
        if !noting.stopped {
            noting.check.note(None);
        }
    }

    fn wrap_clone(&self, clone: TraceBuffer) -> TraceBuffer {
        let mut check = lock(&self.check);
        check.compare_batch();
        let reference = check.reference.clone_read_only();
        Self::around(clone, Check::new(reference, check.forgets, check.emitted.clone()))
    }
}

/// Records packets, and passes them to `take`.
struct RecordingTaker<'a> {
    check: &'a mut Check,
    take: &'a mut dyn TakePacket,
    stopped: bool,
}

impl TakePacket for RecordingTaker<'_> {
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        self.check.note(Some(&packet));
        self.stopped = !self.take.take(packet);
        !self.stopped
    }

    /// A reference buffer reads packets, so the real one must not stop between two of them.
    fn skipped_fragments(&mut self, fragments: u32) -> bool {
        self.take.skipped_fragments(fragments);
        true
    }
}

impl Drop for CheckedBuffer {
    fn drop(&mut self) {
        if self.check().used && !std::thread::panicking() {
            self.compare();
        }
    }
}

impl fmt::Debug for CheckedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedBuffer({:?})", self.real)
    }
}

/// Makes all buffers of a service checked ones; shared memory comes from `regions`.
pub struct CheckedRegions<R> {
    regions: R,
    emitted: EmittedPackets,
}

impl<R: RegionFactory> CheckedRegions<R> {
    /// Appends the packets of all buffers to `emitted`.
    #[must_use]
    pub fn new(regions: R, emitted: &EmittedPackets) -> Self {
        Self { regions, emitted: Arc::clone(emitted) }
    }
}

impl<R: RegionFactory> RegionFactory for CheckedRegions<R> {
    fn fault_in(&self) -> Option<FaultIn> {
        self.regions.fault_in()
    }

    fn wrap_buffer(&self, id: BufferId, buffer: TraceBuffer) -> TraceBuffer {
        CheckedBuffer::wrap_in_service(id, buffer, &self.emitted)
    }

    fn create(&self, len: usize) -> Result<Region, String> {
        self.regions.create(len)
    }
}
