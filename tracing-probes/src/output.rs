//! Where a probe's packets go.

use protos::TracePacketWriter;
use tracing_core::client::write::TraceWriter;

/// Takes packets and tells the time.
pub(crate) trait Output {
    /// Adds a packet, filled by `fill`, which is called once.
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>));

    /// The boot clock, ns.
    fn clock(&self) -> fn() -> u64;
}

impl Output for TraceWriter {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        fill(&mut self.new_packet());
    }

    fn clock(&self) -> fn() -> u64 {
        tracing_core::os::clock::boot_ns
    }
}
