//! Counters of a buffer.
//!
//! Each chunk that was stored is read, overwritten, or still in the buffer; each other one is discarded.
//! Names and meaning are those of `TraceStats.BufferStats` (`trace_stats.proto`).

use crate::buffer::SequenceKey;
use crate::limits::{BYTES_PER_HISTOGRAM, HISTOGRAMS_PER_BUFFER_MAX, HISTOGRAMS_PER_BUFFER_MIN};
use abi::map::BlockMap;

/// Counters of one buffer since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Requested size, bytes.
    pub buffer_size: u64,
    /// Stored records with their headers, bytes.
    pub bytes_written: u64,
    /// Evicted records that had unread fragments, bytes.
    pub bytes_overwritten: u64,
    /// Records of complete chunks that were read to the end, bytes.
    pub bytes_read: u64,
    /// Padding written at the end of the buffer and in gaps, bytes.
    pub padding_bytes_written: u64,
    /// Evicted padding, bytes.
    pub padding_bytes_cleared: u64,
    /// Stored chunks.
    pub chunks_written: u64,
    /// Chunks that came again with more fragments and were extended in place.
    pub chunks_rewritten: u64,
    /// Incomplete chunks that were read to the end and then came complete: stored again at the write position, so that
    /// their new fragments are read in order. [`Version::V2`](super::Version::V2) only.
    pub chunks_relocated: u64,
    /// Evicted chunks that had unread fragments.
    pub chunks_overwritten: u64,
    /// Chunks that were not stored: a discarding buffer was full, or a later chunk of the sequence was read before.
    pub chunks_discarded: u64,
    /// Complete chunks that were read to the end.
    pub chunks_read: u64,
    /// Chunks with a lower id than the last one of their sequence.
    pub chunks_committed_out_of_order: u64,
    /// How often the write position went back to 0.
    pub write_wrap_count: u64,
    /// Applied patches.
    pub patches_succeeded: u64,
    /// Requests with a patch that could not be applied.
    pub patches_failed: u64,
    /// Packets over several chunks that were joined.
    pub readaheads_succeeded: u64,
    /// How often the rest of a packet over several chunks was not in the buffer.
    pub readaheads_failed: u64,
    /// Rules of the shared memory ABI that a producer broke.
    pub abi_violations: u64,
    /// Packets that their writer dropped and marked.
    pub trace_writer_packet_loss: u64,
}

impl Stats {
    /// Adds what another buffer refused.
    pub fn add_refused(&mut self, of: &Self) {
        let add = |sum: &mut u64, count| *sum = sum.saturating_add(count);
        add(&mut self.chunks_discarded, of.chunks_discarded);
        add(&mut self.patches_failed, of.patches_failed);
        add(&mut self.abi_violations, of.abi_violations);
    }

    /// The counters of a new clone, from which nothing was read.
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

/// Largest value of each bucket of a [`WriterStats`] histogram, bytes. The last bucket has no bound.
pub const HISTOGRAM_BUCKETS: [u64; 11] =
    [8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384, i64::MAX as u64];

/// How full the chunks of one sequence were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterStats {
    /// The sequence.
    pub sequence: SequenceKey,
    /// Number of chunks, for each bucket of [`HISTOGRAM_BUCKETS`].
    pub counts: [u64; 11],
    /// Payload bytes of these chunks, for each bucket.
    pub sums: [u64; 11],
}

impl WriterStats {
    pub(super) const fn new(sequence: SequenceKey) -> Self {
        Self { sequence, counts: [0; 11], sums: [0; 11] }
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

/// Histograms that there is memory for at least, once there is one.
const GROWTH_MIN: usize = 16;
/// What one may take, bytes: with the memory that is kept for the next ones, and its place in the map.
const HISTOGRAM_BYTES: usize = size_of::<WriterStats>() * 5 / 4 + 64;

/// The histograms of a buffer, in the order in which the sequences first came.
#[derive(Clone, Debug)]
pub(super) struct Histograms {
    all: Vec<WriterStats>,
    by_sequence: BlockMap<SequenceKey, u32>,
    max: usize,
}

impl Histograms {
    /// None yet, of a buffer of so many bytes.
    pub(super) fn of_buffer(bytes: usize) -> Self {
        Self { all: Vec::new(), by_sequence: BlockMap::new(), max: Self::max(bytes) }
    }

    /// As many as a buffer of so many bytes may have.
    fn max(bytes: usize) -> usize {
        (bytes / BYTES_PER_HISTOGRAM).clamp(HISTOGRAMS_PER_BUFFER_MIN, HISTOGRAMS_PER_BUFFER_MAX)
    }

    /// What they may take then, bytes.
    pub(super) fn bytes_max(bytes: usize) -> usize {
        Self::bytes_of(Self::max(bytes))
    }

    /// What they take at most when so many more sequences have one, bytes.
    pub(super) fn bytes_with(&self, more: usize) -> usize {
        Self::bytes_of(self.all.len().saturating_add(more).min(self.max))
    }

    fn bytes_of(count: usize) -> usize {
        count.saturating_add(GROWTH_MIN).saturating_mul(HISTOGRAM_BYTES)
    }

    /// What they take, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let own = self.all.capacity().saturating_mul(size_of::<WriterStats>());
        own.saturating_add(self.by_sequence.memory_bytes())
    }

    /// None yet, of a buffer of the same size.
    pub(super) fn emptied(&self) -> Self {
        Self { all: Vec::new(), by_sequence: BlockMap::new(), max: self.max }
    }

    /// Counts a chunk of a sequence, which keeps `index` to find the histogram the next time.
    #[inline]
    pub(super) fn add(&mut self, sequence: SequenceKey, index: &mut Option<u32>, payload_len: u64) {
        if index.is_none() {
            *index = self.find_or_create(sequence);
        }
        let at = index.and_then(|index| usize::try_from(index).ok());
        if let Some(stats) = at.and_then(|at| self.all.get_mut(at)) {
            stats.add(payload_len);
        }
    }

    fn find_or_create(&mut self, sequence: SequenceKey) -> Option<u32> {
        let known = self.by_sequence.get(&sequence).copied();
        if known.is_some() || self.all.len() >= self.max {
            return known;
        }
        let len = self.all.len();
        let index = u32::try_from(len).ok()?;
        if len == self.all.capacity() {
            self.all.reserve_exact((len / 4).max(GROWTH_MIN).min(self.max.saturating_sub(len)));
        }
        self.all.push(WriterStats::new(sequence));
        self.by_sequence.insert(sequence, index);
        Some(index)
    }

    /// All histograms.
    pub(super) fn all(&self) -> &[WriterStats] {
        &self.all
    }
}

#[cfg(test)]
mod tests;
