//! `TraceStats`: what went in, what came out, and what was lost on the way.

use protos::{
    TraceStats, TraceStatsBufferStats, TraceStatsFilterStats, TraceStatsFinalFlushOutcome,
    TraceStatsWriterStats,
};

use super::core::Service;
use super::session::read::SequenceKey;
use super::session::state::FinalFlush;
use crate::buffer;
use crate::filter::FilterStats;
use abi::ids::SessionId;

impl Service {
    /// The statistics of a session and of the service, as of now.
    pub(super) fn trace_stats(&mut self, id: SessionId) -> Option<TraceStats> {
        let writers = self.writers(id)?;
        let session = self.sessions.get_mut(&id)?;
        let counters = session.counters;
        let mut stats = TraceStats {
            producers_connected: Some(self.producers.len() as u32),
            producers_seen: Some(self.last_producer_id.into()),
            data_sources_registered: Some(self.sources.len() as u32),
            data_sources_seen: Some(self.last_instance_id),
            total_buffers: Some(self.buffers.len() as u32),
            chunks_discarded: Some(self.chunks_discarded),
            patches_discarded: Some(self.patches_discarded),
            invalid_packets: Some(counters.invalid_packets),
            flushes_requested: Some(counters.flushes_requested),
            flushes_succeeded: Some(counters.flushes_succeeded),
            flushes_failed: Some(counters.flushes_failed),
            final_flush_outcome: Some(TraceStatsFinalFlushOutcome(match session.final_flush {
                FinalFlush::Unspecified => 0,
                FinalFlush::Succeeded => 1,
                FinalFlush::Failed => 2,
            })),
            ..Default::default()
        };
        let histograms = session.builtin().disable_chunk_usage_histograms != Some(true);
        if histograms && !writers.is_empty() {
            // The last bucket has no bound to tell.
            let bounds = buffer::HISTOGRAM_BUCKETS.iter().take(buffer::HISTOGRAM_BUCKETS.len() - 1);
            stats.chunk_payload_histogram_def = bounds.map(|b| *b as i64).collect();
        }
        for buffer_id in &session.buffers {
            let Some(buffer) = self.buffers.get(buffer_id) else { continue };
            stats.buffer_stats.push(buffer_stats(buffer.stats()));
        }
        if histograms {
            stats.writer_stats = writers
                .into_iter()
                .map(|(index, key, writer)| TraceStatsWriterStats {
                    sequence_id: Some(session.sequences.id(key).into()),
                    buffer: Some(index),
                    chunk_payload_histogram_counts: writer.counts.to_vec(),
                    chunk_payload_histogram_sum: writer.sums.iter().map(|s| *s as i64).collect(),
                    ..Default::default()
                })
                .collect();
        }
        stats.filter_stats = session.filter.as_ref().map(|filter| filter_stats(filter.stats()));
        stats.tracing_sessions = Some(self.sessions.values().filter(|s| !s.freed).count() as u32);
        Some(stats)
    }
}

impl Service {
    /// How full the chunks of each sequence of a session were, with the index of its buffer.
    fn writers(&self, id: SessionId) -> Option<Vec<(u32, SequenceKey, buffer::WriterStats)>> {
        let mut writers = Vec::new();
        for (index, buffer) in (0u32..).zip(&self.sessions.get(&id)?.buffers) {
            let Some(buffer) = self.buffers.get(buffer) else { continue };
            writers.extend(buffer.writer_stats().map(|writer| {
                (index, self.sequence_key(writer.producer, writer.writer), writer.clone())
            }));
        }
        Some(writers)
    }
}

/// The time it takes is left out: the service reads no clock while it works.
fn filter_stats(f: &FilterStats) -> TraceStatsFilterStats {
    TraceStatsFilterStats {
        input_packets: Some(f.input_packets),
        input_bytes: Some(f.input_bytes),
        output_bytes: Some(f.output_bytes),
        errors: Some(f.errors),
        bytes_discarded_per_buffer: f.bytes_discarded_per_buffer.clone(),
        ..Default::default()
    }
}

fn buffer_stats(b: &buffer::Stats) -> TraceStatsBufferStats {
    TraceStatsBufferStats {
        buffer_size: Some(b.buffer_size),
        bytes_written: Some(b.bytes_written),
        bytes_overwritten: Some(b.bytes_overwritten),
        bytes_read: Some(b.bytes_read),
        padding_bytes_written: Some(b.padding_bytes_written),
        padding_bytes_cleared: Some(b.padding_bytes_cleared),
        chunks_written: Some(b.chunks_written),
        chunks_rewritten: Some(b.chunks_rewritten),
        chunks_relocated: Some(b.chunks_relocated),
        chunks_overwritten: Some(b.chunks_overwritten),
        chunks_discarded: Some(b.chunks_discarded),
        chunks_read: Some(b.chunks_read),
        chunks_committed_out_of_order: Some(b.chunks_committed_out_of_order),
        write_wrap_count: Some(b.write_wrap_count),
        patches_succeeded: Some(b.patches_succeeded),
        patches_failed: Some(b.patches_failed),
        readaheads_succeeded: Some(b.readaheads_succeeded),
        readaheads_failed: Some(b.readaheads_failed),
        abi_violations: Some(b.abi_violations),
        trace_writer_packet_loss: Some(b.trace_writer_packet_loss),
        ..Default::default()
    }
}
