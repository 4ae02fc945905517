//! Packets that the service itself writes: how they are made, and their header.

use protos::{TracePacketWriter, TracingServiceEventWriter};
use protozero::HeapSink;
use protozero::rt::Writer as _;

use super::config::ServiceConfig;

/// `BUILTIN_CLOCK_BOOTTIME`.
pub(crate) const BOOTTIME: u32 = 6;

/// Encodes a packet.
pub(crate) fn encode(fill: impl FnOnce(&mut TracePacketWriter<'_>)) -> Vec<u8> {
    let mut fill = Some(fill);
    encode_with(&mut |p| {
        if let Some(fill) = fill.take() {
            fill(p);
        }
    })
}

/// [`encode`], once for all packets: they are few, and what they have in common is more code than what they differ in.
#[inline(never)]
fn encode_with(fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) -> Vec<u8> {
    let mut stream = HeapSink::stream();
    {
        let mut packet = TracePacketWriter::from_scope(stream.root());
        fill(&mut packet);
    }
    // A heap sink fails only by aborting.
    stream.finish().unwrap_or_default()
}

/// Makes packets that the service itself writes, with its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketMaker<'a> {
    pub(crate) config: &'a ServiceConfig,
    /// Machine of the packets; zero if they have none.
    pub(crate) machine_id: u32,
}

impl PacketMaker<'_> {
    /// A packet with the header, at `at_ns`, boot time, if that is known; then what `fill` writes.
    pub(crate) fn packet(
        self,
        at_ns: Option<u64>,
        fill: impl FnOnce(&mut TracePacketWriter<'_>),
    ) -> Vec<u8> {
        let mut fill = Some(fill);
        self.packet_with(at_ns, &mut |p| {
            if let Some(fill) = fill.take() {
                fill(p);
            }
        })
    }

    /// [`packet`](Self::packet), as [`encode_with`] is [`encode`].
    #[inline(never)]
    fn packet_with(
        self,
        at_ns: Option<u64>,
        fill: &mut dyn FnMut(&mut TracePacketWriter<'_>),
    ) -> Vec<u8> {
        encode_with(&mut |p| {
            p.trusted_uid(self.config.uid as i32).trusted_packet_sequence_id(1);
            if let Some(at_ns) = at_ns {
                p.timestamp(at_ns);
            }
            p.timestamp_clock_id(BOOTTIME);
            if self.machine_id != 0 {
                p.machine_id(self.machine_id);
            }
            fill(p);
        })
    }

    /// A packet with an event of the service.
    pub(crate) fn event(
        self,
        at_ns: u64,
        fill: impl FnOnce(&mut TracingServiceEventWriter<'_>),
    ) -> Vec<u8> {
        self.packet(Some(at_ns), |p| fill(&mut p.service_event()))
    }
}
