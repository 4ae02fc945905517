//! What a recording lost, as its service and the probes of the kernel counted it.
//!
//! ```text
//!   TraceStats ──── counters of each buffer ──┐
//!              ──── ledger: who, why, when ───┼──> Losses ──────┐
//!              ──── outcome of the last flush ┘                 ├──> lines for people, JSON
//!   FtraceStats ─── counters of each ring ────┬──> KernelLosses ┘
//!   FtraceEventBundle ── lost_events ─────────┘
//! ```
//!
//! The statistics are in most traces, and a service sends them on request. Gaps that a reader finds in sequences are
//! counted elsewhere: a service cannot know all of them, and a reader cannot know what left no gap.
//!
//! ```
//! use tracing_file::losses::Losses;
//!
//! // {buffer_stats {chunks_overwritten: 7}, invalid_packets: 1}
//! let losses = Losses::read(&[0x0a, 2, 0x18, 7, 0x50, 1]);
//! assert_eq!(losses.lines("size_kb")[1], "packets that are not valid: 1");
//! ```
//!
//! Which events the kernel overwrote, its rings tell:
//!
//! ```
//! use tracing_file::losses::KernelLosses;
//! use tracing_file::packets::{Packets, ReadError};
//!
//! fn lost_by_the_kernel(trace: &[u8]) -> Result<KernelLosses, ReadError> {
//!     let (mut packets, mut lost) = (Packets::new(trace), KernelLosses::default());
//!     while let Some(packet) = packets.next_packet()? {
//!         lost.add(packet);
//!     }
//!     Ok(lost)
//! }
//!
//! // {ftrace_events {lost_events: true}}
//! let lost = lost_by_the_kernel(&[0x0a, 4, 0x0a, 2, 0x18, 1])?;
//! assert!(lost.has_rings());
//! assert_eq!((lost.events(), lost.marked_bundles(), lost.lines().len()), (0, 1, 1));
//! # Ok::<(), ReadError>(())
//! ```
//!
//! The bytes may be anything: what is not valid is left out, and a ledger is read up to 1024 entries.

mod entry;
mod kernel;
#[cfg(test)]
mod tests;

use protos::{
    LossLedgerEntry, LossLedgerReason, TraceStats, TraceStatsBufferStats, TraceStatsFilterStats,
    TraceStatsFinalFlushOutcome as Outcome,
};
use protozero::{Message, Reader, Value};

pub use self::entry::{entry_json, entry_line};
pub use self::kernel::KernelLosses;
use crate::json::Json;
use crate::limits::LEDGER_ENTRIES_MAX;

/// The reason of a loss when the last flush failed.
pub const UNANSWERED: &str = "the last data of a producer that did not answer in time";

/// What a service counted as lost in one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// Chunks of ring buffers that newer ones overwrote before they were read.
    pub chunks_overwritten: u64,
    /// Chunks that found a buffer full.
    pub chunks_discarded: u64,
    /// Gaps of writers that found their producer's shared memory full.
    pub writer_gaps: u64,
    /// Patches that came when their chunk was gone.
    pub patches_failed: u64,
    /// Chunks that broke the protocol.
    pub abi_violations: u64,
    /// Packets that were left out because they are not valid. The ledger has their producers, if it has any ledger.
    pub invalid_packets: u64,
    /// Packets that the filter of the config could not take, such as those whose strings take too long: they are empty.
    pub filter_errors: u64,
    /// A producer did not answer the last flush.
    pub flush_failed: bool,
    /// Who lost something, why, when and how much. Empty if the service has no ledger, as that of C++.
    pub ledger: Vec<LossLedgerEntry>,
    /// Entries of the ledger that are not in it here: there are too many.
    pub entries_left_out: u64,
}

impl Losses {
    /// Reads an encoded `TraceStats`.
    #[must_use]
    pub fn read(stats: &[u8]) -> Self {
        let mut losses = Self::default();
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (1, Value::Len(buffer)) => losses.add_buffer(buffer),
                (10, Value::Varint(count)) => losses.invalid_packets = count,
                (11, Value::Len(filter)) => {
                    let filter = TraceStatsFilterStats::decode(filter).unwrap_or_default();
                    losses.filter_errors = filter.errors.unwrap_or(0);
                }
                (15, Value::Varint(outcome)) => {
                    losses.flush_failed = Outcome(outcome as i32) == Outcome::FINAL_FLUSH_FAILED;
                }
                (50001, Value::Len(ledger)) => losses.add_ledger(ledger),
                _ => {}
            }
        }
        losses
    }

    /// The same of statistics that are decoded.
    #[must_use]
    pub fn of(stats: &TraceStats) -> Self {
        Self::read(&stats.encode_to_vec())
    }

    fn add_buffer(&mut self, buffer: &[u8]) {
        let buffer = TraceStatsBufferStats::decode(buffer).unwrap_or_default();
        let counts = [
            (&mut self.chunks_overwritten, buffer.chunks_overwritten),
            (&mut self.chunks_discarded, buffer.chunks_discarded),
            (&mut self.writer_gaps, buffer.trace_writer_packet_loss),
            (&mut self.patches_failed, buffer.patches_failed),
            (&mut self.abi_violations, buffer.abi_violations),
        ];
        for (sum, count) in counts {
            *sum = sum.saturating_add(count.unwrap_or(0));
        }
    }

    fn add_ledger(&mut self, ledger: &[u8]) {
        let mut reader = Reader::new(ledger);
        while let Ok(Some(field)) = reader.next_field() {
            let (1, Value::Len(entry)) = (field.number, field.value) else { continue };
            if self.ledger.len() >= LEDGER_ENTRIES_MAX {
                self.entries_left_out += 1;
            } else if let Ok(entry) = LossLedgerEntry::decode(entry) {
                self.ledger.push(entry);
            }
        }
    }

    /// Invalid packets that no entry of the ledger is about.
    fn invalid_beside_ledger(&self) -> u64 {
        let invalid = LossLedgerReason::REASON_PACKETS_INVALID;
        let of_ledger = self.ledger.iter().filter(|entry| entry.reason == Some(invalid));
        let told = of_ledger.filter_map(|entry| entry.count).fold(0, u64::saturating_add);
        self.invalid_packets.saturating_sub(told)
    }

    /// A line for each reason, and for each entry of the ledger. `buffer_setting` is how buffers are made larger. Names
    /// in it are those of programs, which may contain anything.
    #[must_use]
    pub fn lines(&self, buffer_setting: &str) -> Vec<String> {
        let overwritten = format!(
            "chunks overwritten by newer ones, which a larger buffer keeps ({buffer_setting})"
        );
        let discarded = format!(
            "chunks that found the buffer full, which a larger one takes ({buffer_setting})"
        );
        let counts = [
            (self.chunks_overwritten, overwritten.as_str()),
            (self.chunks_discarded, &discarded),
            (self.writer_gaps, "gaps where a producer's shared memory was full"),
            (self.patches_failed, "patches that came too late"),
            (self.abi_violations, "chunks that broke the protocol"),
            (self.invalid_beside_ledger(), "packets that are not valid"),
            (
                self.filter_errors,
                "packets that the filter of the config could not take and left empty",
            ),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count != 0);
        let mut lines: Vec<String> =
            counts.map(|(count, what)| format!("{what}: {count}")).collect();
        lines.extend(self.ledger.iter().map(entry_line));
        if self.entries_left_out != 0 {
            lines.push(format!("more entries of the ledger: {}", self.entries_left_out));
        }
        if self.flush_failed {
            lines.push(UNANSWERED.into());
        }
        lines
    }

    /// Whether the service counted no loss.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Its fields in an object of their own, with the names of the schema.
    pub fn json(&self, json: &mut Json) {
        json.scalar("chunks_overwritten", Some(self.chunks_overwritten));
        json.scalar("chunks_discarded", Some(self.chunks_discarded));
        json.scalar("trace_writer_packet_loss", Some(self.writer_gaps));
        json.scalar("patches_failed", Some(self.patches_failed));
        json.scalar("abi_violations", Some(self.abi_violations));
        json.scalar("invalid_packets", Some(self.invalid_packets));
        json.scalar("filter_errors", Some(self.filter_errors));
        json.scalar("final_flush_failed", Some(self.flush_failed));
        json.list("loss_ledger", &self.ledger, entry_json);
        json.scalar("entries_left_out", Some(self.entries_left_out));
    }
}

/// The statistics of the service, if a packet has them. The sequence of the service is 1; programs have others, and
/// what they write there says nothing.
pub(crate) fn service_stats(packet: &[u8]) -> Option<&[u8]> {
    let (mut stats, mut sequence) = (None, 0);
    let mut reader = Reader::new(packet);
    while let Ok(Some(field)) = reader.next_field() {
        match (field.number, field.value) {
            (35, Value::Len(body)) => stats = Some(body),
            (10, Value::Varint(id)) => sequence = id,
            _ => {}
        }
    }
    stats.filter(|_| sequence <= 1)
}
