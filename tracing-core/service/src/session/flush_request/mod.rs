//! What a flush is for, and which flushes a session makes by itself.

use protos::TraceConfig;

use crate::limits;
use crate::session::file;
use abi::ids::{CallId, ClientId, ProducerId};
use abi::map::BlockSet;

/// Reason and initiator of a flush, packed as producers get it (`flush_flags.h`): bits 0-3 the reason, 4-7 the
/// initiator, 8-11 what a clone is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushFlags(pub(crate) u64);

impl FlushFlags {
    /// Started by the service itself, periodically.
    pub(crate) const PERIODIC: Self = Self(0x11);
    /// Started by the service before it stops a session.
    pub(crate) const STOP: Self = Self(0x12);

    /// Started by the service for a clone.
    pub(crate) fn clone_of(for_bugreport: bool) -> Self {
        Self(if for_bugreport { 0x113 } else { 0x13 })
    }

    /// Whether the session stops or is cloned after the flush.
    pub(crate) fn is_last(self) -> bool {
        matches!(self.0 & 0xf, 2 | 3)
    }
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
    /// Those with `transfer_on_clone`: the clone gets the buffer, the source a fresh one.
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

/// What follows a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushThen {
    Nothing,
    /// A consumer's call is answered.
    Reply(ClientId, Option<CallId>),
    /// The file is written.
    WriteFile,
    /// The session ends.
    Disable,
    /// A clone, by its number, takes these buffers.
    Clone(u64, BufferGroup),
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
