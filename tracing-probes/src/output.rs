//! The destination of a probe's packets.

use client::write::TraceWriter;
use protos::TracePacketWriter;

/// Takes packets, and has a clock.
pub(crate) trait Output {
    /// Adds a packet, filled by `fill`, which is called once.
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>));

    /// Hands all packets so far to the service.
    fn commit(&mut self);

    /// Reads the boot clock, ns.
    fn clock(&self) -> fn() -> u64;
}

impl Output for TraceWriter {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        fill(&mut self.new_packet());
    }

    fn commit(&mut self) {
        self.flush();
    }

    fn clock(&self) -> fn() -> u64 {
        os::clock::boot_ns
    }
}
