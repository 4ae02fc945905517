//! What happened to the chunks of a buffer, counted.
//!
//! Every chunk that comes in ends in exactly one of: read, overwritten, discarded, still there.
//! Names and meaning are those of `TraceStats.BufferStats` (`trace_stats.proto`).

use std::collections::BTreeMap;

use crate::limits::HISTOGRAMS_PER_BUFFER_MAX;
use abi::ids::{ProducerId, WriterId};

/// Counters of one buffer, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Size asked for, bytes.
    pub buffer_size: u64,
    /// Records stored, bytes, their headers included.
    pub bytes_written: u64,
    /// Records evicted with something unread in them, bytes.
    pub bytes_overwritten: u64,
    /// Records of complete chunks read to their end, bytes.
    pub bytes_read: u64,
    /// Padding records written at the end of the buffer and in gaps, bytes.
    pub padding_bytes_written: u64,
    /// Padding records evicted, bytes.
    pub padding_bytes_cleared: u64,
    /// Chunks stored.
    pub chunks_written: u64,
    /// Chunks that came again with more fragments, in place.
    pub chunks_rewritten: u64,
    /// Unfinished chunks that were read to their end and then came finished: stored anew, so that their
    /// rest is read in its turn. [`Version::V2`](super::Version::V2) only.
    pub chunks_relocated: u64,
    /// Chunks evicted with something unread in them.
    pub chunks_overwritten: u64,
    /// Chunks refused because a discarding buffer is full.
    pub chunks_discarded: u64,
    /// Complete chunks read to their end.
    pub chunks_read: u64,
    /// Chunks whose id lies behind the last of their sequence.
    pub chunks_committed_out_of_order: u64,
    /// Times the write position went back to 0.
    pub write_wrap_count: u64,
    /// Patches applied.
    pub patches_succeeded: u64,
    /// Sets of patches refused, one each, whatever their number.
    pub patches_failed: u64,
    /// Packets over several chunks that were stitched together.
    pub readaheads_succeeded: u64,
    /// Packets over several chunks whose rest was not there (yet).
    pub readaheads_failed: u64,
    /// Rules of the shared memory broken by a producer.
    pub abi_violations: u64,
    /// Packets that a writer gave up and marked as such.
    pub trace_writer_packet_loss: u64,
}

impl Stats {
    /// Of a clone just made: nothing was read of it.
    pub(super) fn of_clone(&self) -> Self {
        Self {
            bytes_read: 0,
            chunks_read: 0,
            readaheads_succeeded: 0,
            readaheads_failed: 0,
            ..*self
        }
    }
}

/// Largest value of each bucket of a [`WriterStats`] histogram, bytes; the last takes the rest.
pub const HISTOGRAM_BUCKETS: [u64; 11] =
    [8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384, i64::MAX as u64];

/// How full the chunks of one sequence were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterStats {
    /// The producer.
    pub producer: ProducerId,
    /// Its writer.
    pub writer: WriterId,
    /// Chunks per bucket of [`HISTOGRAM_BUCKETS`].
    pub counts: [u64; 11],
    /// Payload bytes of these chunks, per bucket.
    pub sums: [u64; 11],
}

impl WriterStats {
    pub(super) const fn new(producer: ProducerId, writer: WriterId) -> Self {
        Self { producer, writer, counts: [0; 11], sums: [0; 11] }
    }

    /// Counts a chunk with `payload_len` bytes of fragments.
    pub(super) fn add(&mut self, payload_len: u64) {
        let bucket = HISTOGRAM_BUCKETS.iter().position(|max| payload_len <= *max);
        if let Some(bucket) = bucket
            && let Some(count) = self.counts.get_mut(bucket)
            && let Some(sum) = self.sums.get_mut(bucket)
        {
            *count = count.wrapping_add(1);
            *sum = sum.wrapping_add(payload_len);
        }
    }
}

/// The histograms of a buffer, in order of first sight.
#[derive(Clone, Debug, Default)]
pub(super) struct Histograms {
    all: Vec<WriterStats>,
    by_writer: BTreeMap<(ProducerId, WriterId), usize>,
}

impl Histograms {
    /// Counts a chunk of a writer. `place` is what its sequence remembers of the last time.
    #[inline]
    pub(super) fn add(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        place: &mut Option<usize>,
        payload_len: u64,
    ) {
        if place.is_none() {
            *place = self.find_or_create(producer, writer);
        }
        if let Some(stats) = place.and_then(|place| self.all.get_mut(place)) {
            stats.add(payload_len);
        }
    }

    fn find_or_create(&mut self, producer: ProducerId, writer: WriterId) -> Option<usize> {
        let known = self.by_writer.get(&(producer, writer)).copied();
        if known.is_some() || self.all.len() >= HISTOGRAMS_PER_BUFFER_MAX {
            return known;
        }
        let place = self.all.len();
        self.all.push(WriterStats::new(producer, writer));
        self.by_writer.insert((producer, writer), place);
        Some(place)
    }

    /// All of them.
    pub(super) fn all(&self) -> &[WriterStats] {
        &self.all
    }
}

#[cfg(test)]
mod tests;
