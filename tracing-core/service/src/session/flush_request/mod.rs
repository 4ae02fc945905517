//! What a flush is for, and which flushes a session makes by itself.

use protos::TraceConfig;

use crate::effect_queue::Caller;
use crate::limits;
use crate::session::file;
use abi::flush_flags::{FlushFlags, FlushReason};
use abi::ids::{CloneId, ProducerId};
use abi::map::BlockSet;

/// The flags of the flush before a clone.
pub(crate) fn clone_flags(for_bugreport: bool) -> FlushFlags {
    if for_bugreport { FlushFlags::CLONE_FOR_BUGREPORT } else { FlushFlags::CLONE }
}

/// Whether the session stops or is cloned after a flush with these flags.
pub(crate) fn is_last(flags: FlushFlags) -> bool {
    matches!(flags.reason(), FlushReason::Stop | FlushReason::Clone)
}

/// When a session flushes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushStrategy {
    /// Never.
    None,
    /// Every so many ms.
    Periodic(u64),
    /// Before each write into the file.
    OnWrite,
}

impl FlushStrategy {
    /// As the config asks, and a line for the log if flushes come later than its period says.
    pub(crate) fn choose(config: &TraceConfig) -> (Self, Option<&'static str>) {
        let period = u64::from(config.flush_period_ms.unwrap_or(0));
        let by_period = if period > 0 { Self::Periodic(period) } else { Self::None };
        if !config.write_into_file.unwrap_or(false) {
            return (by_period, None);
        }
        let writes = file::period_ms(config);
        let (strategy, every) = match config.write_flush_mode.map_or(0, |m| m.0) {
            2 => return (by_period, None),
            3 => (Self::OnWrite, writes),
            _ if writes <= limits::AUTO_FLUSH_PERIOD_MS => {
                (Self::Periodic(limits::AUTO_FLUSH_PERIOD_MS), limits::AUTO_FLUSH_PERIOD_MS)
            }
            _ => (Self::OnWrite, writes),
        };
        let ignored = "flush_period_ms is ignored: write_flush_mode decides when a file is flushed";
        (strategy, (period > 0 && period < every).then_some(ignored))
    }
}

/// Buffers that are flushed and taken together for a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferGroup {
    /// The buffers with `transfer_on_clone`: the clone gets the buffer, the source a fresh one.
    Transferred,
    /// The others: the clone gets a copy.
    Copied,
}

impl BufferGroup {
    pub(crate) fn of(config: &protos::TraceConfigBufferConfig) -> Self {
        match config.transfer_on_clone {
            Some(true) => Self::Transferred,
            _ => Self::Copied,
        }
    }
}

/// Buffers that are flushed, and taken for a clone next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushedGroup {
    pub(crate) clone: CloneId,
    pub(crate) group: BufferGroup,
    /// All producers acknowledged the flush.
    pub(crate) success: bool,
}

/// What follows a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushThen {
    Nothing,
    /// A consumer's call is answered.
    Reply(Caller),
    /// The file is written.
    WriteFile,
    /// The session ends.
    Disable,
    /// A clone takes these buffers.
    Clone(CloneId, BufferGroup),
}

/// A flush that producers have not acknowledged yet.
#[derive(Debug)]
pub(crate) struct PendingFlush {
    pub(crate) waiting_for: BlockSet<ProducerId>,
    pub(crate) flags: FlushFlags,
    pub(crate) then: FlushThen,
}

/// How the flush before the end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinalFlush {
    Unspecified,
    Succeeded,
    Failed,
}

impl FinalFlush {
    pub(crate) fn of(success: bool) -> Self {
        if success { Self::Succeeded } else { Self::Failed }
    }
}

#[cfg(test)]
mod tests;
