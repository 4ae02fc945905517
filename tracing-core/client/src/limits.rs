//! Every bound of clients, with its unit and the reason for its value.

/// Bytes of requests a client keeps that the service has not taken yet, before a call waits.
pub(crate) const CLIENT_QUEUE_BYTES_MAX: usize = 1024 * 1024;
/// How long a client waits for room in the full queue of a service, ms. A producer that connects again waits a moment
/// only (`producer::io`), and comes back later.
pub(crate) const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// How long a client waits for the answer to a call that needs no other party, ms.
#[cfg(feature = "consumer")]
pub(crate) const CALL_TIMEOUT_MS: u64 = 10_000;
/// How long a client waits for a clone, which waits for a flush, ms.
#[cfg(feature = "consumer")]
pub(crate) const CLONE_TIMEOUT_MS: u64 = 30_000;
/// The longest packet, and the longest state of a service, that a consumer takes, bytes: they may come in many pieces.
/// Packets of a service of this crate have 16 MiB at most. That of upstream has no limit but its buffers.
#[cfg(feature = "consumer")]
pub(crate) const JOINED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a client waits for a flush beyond the time the service may take for it, ms.
#[cfg(feature = "consumer")]
pub(crate) const FLUSH_GRACE_MS: u64 = 2_000;
/// Triggers and fences that a producer keeps while it has no service; what comes on top is dropped.
pub(crate) const PRODUCER_CONTROLS_MAX: usize = 256;
/// Callbacks of flushes that are kept while the buffer of their data is not known; further ones are dropped.
pub(crate) const HELD_CALLBACKS_MAX: usize = 256;
