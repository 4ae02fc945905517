//! Memory of trace buffers on the account of the user whose session or clone has them.
//!
//! ```text
//!   session: each buffer, as large as it may become    ─┐
//!            with its index and histograms, sequences   ├─> account of the user ──> one half, all users three quarters
//!   clone: what is in its buffers, sequences, config   ─┘                           of the service's memory
//! ```
//!
//! A buffer that a session has no more is freed in pieces, and only when no clone is copied from it. It is on the
//! account until then. No other session of its user begins before that, but for one that ends all others; a clone that
//! has no room is refused.

use super::flush_request::BufferGroup;
use crate::buffer::TraceBuffer;
use crate::buffers::{self, Buffers};
use crate::error::SessionError;
use crate::limits;
use abi::ids::BufferId;
use protozero::Message as _;

/// What the buffers of a config count for.
pub(crate) fn of_config(config: &protos::TraceConfig) -> Result<usize, SessionError> {
    let mut sum = 0_usize;
    for buffer in &config.buffers {
        let bytes = usize::try_from(buffers::checked_bytes(buffer)?).unwrap_or(usize::MAX);
        sum = sum.saturating_add(TraceBuffer::memory_bytes_max(bytes));
    }
    Ok(sum)
}

/// What a clone of a session with these buffers, and so much for its sequences, would count for now. A buffer that is
/// emptied before is not in it.
pub(crate) fn of_clone(
    config: &protos::TraceConfig,
    ids: &[BufferId],
    sequences: usize,
    buffers: &Buffers,
) -> usize {
    let all = config.buffers.iter().zip(ids);
    let kept = all.filter(|(config, _)| config.clear_before_clone != Some(true));
    let bytes = kept.map(|(config, id)| of_part(*id, BufferGroup::of(config), buffers));
    bytes.fold(sequences.saturating_add(of_kept_config(config)), usize::saturating_add)
}

/// What the config of a clone counts for. It shares that of its source, which may get another one, or go.
pub(crate) fn of_kept_config(config: &protos::TraceConfig) -> usize {
    config.encoded_len().saturating_mul(limits::CONFIG_BYTES_PER_ENCODED)
}

/// What a clone has of a buffer: a copy, or the buffer itself.
pub(crate) fn of_part(id: BufferId, group: BufferGroup, buffers: &Buffers) -> usize {
    buffers.get(id).map_or(0, |buffer| match group {
        BufferGroup::Copied => buffer.copied_bytes(),
        BufferGroup::Transferred => buffer.bytes_left(),
    })
}
