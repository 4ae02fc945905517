//! Bounds of the protocol, with their units: changing one changes what old peers see.
//!
//! Bounds that only keep a peer from growing us are beside the code that holds them:
//! in `limits` of the crates `client`, `service` and `daemon`.

/// Size of a producer's shared memory when neither the config nor the producer asks, bytes.
pub const SMB_BYTES_DEFAULT: usize = 256 * 1024;
/// Size of a page of shared memory by default, bytes.
pub const SMB_PAGE_BYTES_DEFAULT: usize = 4096;
/// Largest shared memory of one producer, bytes. A larger wish is clamped.
pub const SMB_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Largest page the service accepts, bytes: the ABI allows 64 KiB, but the largest chunk of such a page
/// cannot be stored in a trace buffer, whose record lengths are 16 bits.
pub const SMB_PAGE_BYTES_MAX: usize = 32 * 1024;
/// Smallest page, and the unit all pages are multiples of, bytes.
pub const SMB_PAGE_BYTES_MIN: usize = 4096;
/// Largest writer id that a patch may name (`kMaxWriterID`).
pub const WRITER_ID_MAX: u32 = 32767;
/// Largest chunk (header included) that may come inside a commit instead of shared memory, bytes.
pub const COMMIT_CHUNK_BYTES_MAX: usize = 65535;
/// Smallest such chunk: its header, bytes.
pub const COMMIT_CHUNK_BYTES_MIN: usize = 8;
/// Patches of one chunk in one commit. More are not looked at.
pub const PATCHES_PER_CHUNK_MAX: usize = 1024;
/// Largest body of an IPC frame, bytes: 128 KiB less the four bytes of its length.
pub const IPC_FRAME_BYTES_MAX: usize = 128 * 1024 - 4;
/// Arguments of a call, bytes; the rest of the frame is for its envelope, whatever its ids.
pub const IPC_ARGS_BYTES_MAX: usize = IPC_FRAME_BYTES_MAX - 64;
/// What the structs of one decoded request may take, bytes: an empty message has two bytes in a frame, and a struct of
/// thousands in memory. Numbers, and what vectors reserve, are not counted: a request takes a few times this at worst.
pub const IPC_DECODED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Binds that a host answers on one connection with its methods. A client binds once; the answer is many times as
/// long as the question.
pub const IPC_BINDS_MAX: u32 = 8;
/// What slices of packets may sum up to in one `ReadBuffersResponse`, bytes, each counted with
/// [`IPC_SLICE_OVERHEAD_BYTES`]; the rest of the frame is for its envelope.
pub const IPC_SLICES_BYTES_MAX: usize = 128 * 1024 - 64;
/// What a slice counts for beside its data, bytes.
pub const IPC_SLICE_OVERHEAD_BYTES: usize = 16;
/// Largest encoded `TracingServiceState` put into one reply, bytes: the rest of the frame is the number of the call
/// (11 bytes at most), two flags (4), and tags and lengths of reply, response and state (4 each).
pub const IPC_STATE_BYTES_MAX: usize = IPC_FRAME_BYTES_MAX - 11 - 4 - 3 * 4;
/// Wait for flush acknowledgements if neither request nor config names another time, ms.
pub const FLUSH_TIMEOUT_MS: u64 = 5000;
/// Longest field of a packet that parsers accept, bytes: the largest varint of four bytes.
pub const FIELD_BYTES_MAX: u64 = (1 << 28) - 1;
