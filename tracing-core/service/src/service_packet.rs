//! The header of packets that the service itself writes.

use protos::TracePacketWriter;
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

/// A packet with the service's header, then what `fill` writes.
pub(crate) fn packet(
    config: &ServiceConfig,
    machine_id: u32,
    at_ns: Option<u64>,
    fill: impl FnOnce(&mut TracePacketWriter<'_>),
) -> Vec<u8> {
    let mut fill = Some(fill);
    packet_with(config, machine_id, at_ns, &mut |p| {
        if let Some(fill) = fill.take() {
            fill(p);
        }
    })
}

/// [`packet`], as [`encode_with`] is [`encode`].
#[inline(never)]
fn packet_with(
    config: &ServiceConfig,
    machine_id: u32,
    at_ns: Option<u64>,
    fill: &mut dyn FnMut(&mut TracePacketWriter<'_>),
) -> Vec<u8> {
    encode_with(&mut |p| {
        p.trusted_uid(config.uid as i32).trusted_packet_sequence_id(1);
        if let Some(at_ns) = at_ns {
            p.timestamp(at_ns);
        }
        p.timestamp_clock_id(BOOTTIME);
        if machine_id != 0 {
            p.machine_id(machine_id);
        }
        fill(p);
    })
}
