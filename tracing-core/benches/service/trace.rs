//! What a trace file holds, as far as counting goes.

use std::path::Path;

use protos::TraceStats;
use protozero::{Message as _, Reader, Value};

use crate::Outcome;

/// `TracePacket.track_event`, which only our producer writes.
const TRACK_EVENT: u32 = 11;
/// `TracePacket.trace_stats`.
const TRACE_STATS: u32 = 35;

#[derive(Debug, Default)]
pub struct Trace {
    pub bytes: u64,
    pub packets: u64,
    /// Packets of the producer.
    pub events: u64,
    pub patches: u64,
    /// Bytes that the buffer took in.
    pub taken: u64,
    /// Chunks that went before they were read.
    pub overwritten: u64,
    /// Whatever else the service says it lost or refused.
    pub faults: u64,
}

impl Trace {
    pub fn read(path: &Path) -> Outcome<Self> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut trace = Self { bytes: bytes.len() as u64, ..Self::default() };
        trace.count(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(trace)
    }

    fn count(&mut self, bytes: &[u8]) -> Result<(), protozero::ReadError> {
        let mut packets = Reader::new(bytes);
        while let Some(packet) = packets.next_field()? {
            let Value::Len(packet) = packet.value else { continue };
            self.packets += 1;
            let mut fields = Reader::new(packet);
            while let Some(field) = fields.next_field()? {
                match (field.number, field.value) {
                    (TRACK_EVENT, _) => self.events += 1,
                    // The last one counts.
                    (TRACE_STATS, Value::Len(stats)) => self.stats(&TraceStats::decode(stats)?),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn stats(&mut self, stats: &TraceStats) {
        let Some(buffer) = stats.buffer_stats.first() else { return };
        let faults = [
            buffer.chunks_discarded,
            buffer.abi_violations,
            buffer.patches_failed,
            buffer.trace_writer_packet_loss,
            stats.chunks_discarded,
            stats.patches_discarded,
            stats.invalid_packets,
        ];
        self.taken = buffer.bytes_written.unwrap_or(0);
        self.patches = buffer.patches_succeeded.unwrap_or(0);
        self.overwritten = buffer.chunks_overwritten.unwrap_or(0);
        self.faults = faults.into_iter().flatten().sum();
    }
}
