//! Why packets are missing: bits of `TracePacket.previous_packet_dropped`
//! (`DataLossReason` in `trace_packet.proto`).

/// Something was lost. Set together with every other bit.
pub const PRESENT: u32 = 1;
/// The first chunk in the buffer does not follow the last one that was read.
pub const READ_GAP: u32 = 2;
/// A fragment of a chunk has an impossible length.
pub const CHUNK_CORRUPTED: u32 = 4;
/// A fragment continues a packet whose begin is missing.
pub const ORPHAN_CONTINUATION: u32 = 8;
/// A chunk is missing inside a packet.
pub const REASSEMBLY_GAP: u32 = 16;
/// The next chunk does not continue the packet that was to go on there.
pub const REASSEMBLY_BROKEN_CHAIN: u32 = 32;
/// Unread data was overwritten.
pub const OVERWRITE: u32 = 64;
/// The writer dropped a packet.
pub const WRITER_ABORT: u32 = 128;
/// There was no free chunk in shared memory. Producers report it in their packets, a buffer never does.
pub const SMB_FULL: u32 = 256;
