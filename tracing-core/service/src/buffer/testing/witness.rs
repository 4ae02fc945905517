//! A slow twin that goes along with a buffer inside a service, and is asked whether what comes out is right.

use core::fmt;

use super::{OracleV1, OracleV2, Packet, Twin};
use crate::buffer::{PacketRef, Stats, TakePacket, TraceBuffer, Version};
use abi::ids::BufferId;
use abi::sync::{Arc, Mutex, lock};

/// What buffers gave, each packet as the twin of its buffer says it has to be, in the order of reading, with
/// the number of the buffer that it was written into.
pub type Given = Arc<Mutex<Vec<(BufferId, Packet)>>>;

/// Sees all that is done to a buffer.
pub struct Witness(Mutex<State>);

struct State {
    id: BufferId,
    twin: Box<dyn Twin + Send>,
    /// What came out since the twin was read last.
    batch: Vec<Packet>,
    /// Whether the batch goes on to the end of what can be read.
    ended: bool,
    given: Given,
}

impl Witness {
    /// A witness of a buffer that is empty.
    pub(in crate::buffer) fn new(id: BufferId, buffer: &TraceBuffer, given: &Given) -> Self {
        let (bytes, policy) = (buffer.stats().buffer_size as usize, buffer.policy());
        let twin: Box<dyn Twin + Send> = match buffer.version() {
            Version::V1 => Box::new(OracleV1::new(bytes, policy)),
            Version::V2 => Box::new(OracleV2::new(bytes, policy)),
        };
        Self::of(id, twin, given)
    }

    fn of(id: BufferId, twin: Box<dyn Twin + Send>, given: &Given) -> Self {
        let (batch, given) = (Vec::new(), Arc::clone(given));
        Self(Mutex::new(State { id, twin, batch, ended: false, given }))
    }

    /// The buffer gave a packet, or has none left for now.
    pub(in crate::buffer) fn gave(&self, packet: Option<&PacketRef<'_>>) {
        let mut state = lock(&self.0);
        let Some(packet) = packet else {
            state.ended = true;
            return;
        };
        let packet = Packet::from(packet.clone());
        lock(&state.given).push((state.id, packet.clone()));
        state.batch.push(packet);
    }

    /// Looks over the shoulder of who takes packets.
    pub(in crate::buffer) fn watch<'a, T>(&'a self, take: &'a mut T) -> Watched<'a, T> {
        Watched { witness: self, take, stopped: false }
    }

    /// The same was done to the buffer, which has these counters now.
    pub(in crate::buffer) fn also(&self, stats: &Stats, action: impl FnOnce(&mut dyn Twin)) {
        let mut state = lock(&self.0);
        state.settle();
        action(&mut *state.twin);
        let mut expected = *state.twin.stats();
        // What is late is known only of sequences that are remembered, and twins never forget.
        expected.chunks_committed_out_of_order = stats.chunks_committed_out_of_order;
        assert_eq!(stats, &expected, "the counters of a buffer and of its twin");
    }

    /// The witness of a clone.
    pub(in crate::buffer) fn of_clone(&self) -> Self {
        let mut state = lock(&self.0);
        state.settle();
        Self::of(state.id, state.twin.clone_read_only(), &state.given)
    }
}

/// A [`TakePacket`] that is looked at.
pub(in crate::buffer) struct Watched<'a, T> {
    witness: &'a Witness,
    take: &'a mut T,
    stopped: bool,
}

impl<T> Watched<'_, T> {
    /// Reading is over.
    pub(in crate::buffer) fn read(self) {
        if !self.stopped {
            self.witness.gave(None);
        }
    }
}

impl<T: TakePacket> TakePacket for Watched<'_, T> {
    fn take(&mut self, packet: PacketRef<'_>) -> bool {
        self.witness.gave(Some(&packet));
        self.stopped = !self.take.take(packet);
        !self.stopped
    }

    /// Twins read packets, so nothing stops between two of them.
    fn passed_over(&mut self, fragments: u32) -> bool {
        self.take.passed_over(fragments);
        true
    }
}

impl State {
    /// Reads from the twin what was read from the buffer.
    fn settle(&mut self) {
        let max = if core::mem::take(&mut self.ended) { usize::MAX } else { self.batch.len() };
        if max == 0 {
            return;
        }
        let expected = self.twin.read(max);
        let batch = core::mem::take(&mut self.batch);
        let same = batch.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        assert!(
            batch.len() == expected.len() && same == batch.len(),
            "packet {same} of {}, {} by the twin: {:?} instead of {:?}",
            batch.len(),
            expected.len(),
            batch.get(same),
            expected.get(same)
        );
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // After a panic of ours the batch is empty: there is no second one.
        lock(&self.0).settle();
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Witness")
    }
}
