//! Why packets are missing: bits of `TracePacket.previous_packet_dropped`
//! (`DataLossReason` in `trace_packet.proto`).

/// Something was lost. Set with every other bit.
pub const PRESENT: u32 = 1;
/// The first chunk there is does not follow the last one that was read.
pub const READ_GAP: u32 = 2;
/// The lengths inside a chunk make no sense.
pub const CHUNK_CORRUPTED: u32 = 4;
/// The middle or end of a packet whose begin is missing.
pub const ORPHAN_CONTINUATION: u32 = 8;
/// A chunk is missing inside a packet.
pub const REASSEMBLY_GAP: u32 = 16;
/// A packet was to go on in the next chunk, which begins with another.
pub const REASSEMBLY_BROKEN_CHAIN: u32 = 32;
/// Unread data made room for new data.
pub const OVERWRITE: u32 = 64;
/// The writer gave a packet up.
pub const WRITER_ABORT: u32 = 128;
/// There was no free chunk in shared memory. Told by producers in their packets, never by a buffer.
pub const SMB_FULL: u32 = 256;
