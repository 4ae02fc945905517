//! `TraceStats`: counts of what was written, read and lost.

use protos::{
    GetTraceStatsResponse, TraceStats, TraceStatsBufferStats, TraceStatsFilterStats,
    TraceStatsFinalFlushOutcome, TraceStatsWriterStats,
};

use protozero::Message as _;

use super::buffers::Buffers;
use super::session::flush_request::FinalFlush;
use super::session::sequence::Numbering;
use super::session::state::Session;
use crate::accounts::Accounts;
use crate::buffer;
use crate::filter::FilterStats;
use crate::limits;

/// Numbers of the whole service.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServiceTotals {
    pub(crate) producers_connected: u32,
    pub(crate) producers_seen: u64,
    pub(crate) data_sources_registered: u32,
    pub(crate) data_sources_seen: u64,
    pub(crate) total_buffers: u32,
    pub(crate) chunks_discarded: u64,
    pub(crate) patches_discarded: u64,
    pub(crate) tracing_sessions: u32,
}

/// The statistics of a session and of the service, as of now.
pub(crate) fn of(
    session: &mut Session,
    buffers: &Buffers,
    accounts: &mut Accounts,
    totals: &ServiceTotals,
) -> TraceStats {
    let writers = writers(session, buffers);
    let counters = session.counters;
    let mut stats = TraceStats {
        producers_connected: Some(totals.producers_connected),
        producers_seen: Some(totals.producers_seen),
        data_sources_registered: Some(totals.data_sources_registered),
        data_sources_seen: Some(totals.data_sources_seen),
        tracing_sessions: Some(totals.tracing_sessions),
        total_buffers: Some(totals.total_buffers),
        chunks_discarded: Some(totals.chunks_discarded),
        patches_discarded: Some(totals.patches_discarded),
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
        // The last bucket has no bound.
        let (_, bounds) = buffer::HISTOGRAM_BUCKETS.split_last().unwrap_or((&0, &[]));
        stats.chunk_payload_histogram_def = bounds.iter().map(|b| *b as i64).collect();
    }
    let known = session.buffers.iter().filter_map(|id| buffers.get(*id));
    stats.buffer_stats = known.map(|buffer| buffer_stats(buffer.stats())).collect();
    if histograms {
        let Session { sequences, buffer_charge, .. } = session;
        let mut numbering = Numbering { ids: sequences, charge: buffer_charge, accounts };
        stats.writer_stats = writers
            .into_iter()
            .map(|(index, writer)| TraceStatsWriterStats {
                sequence_id: Some(numbering.id(writer.sequence).into()),
                buffer: Some(index),
                chunk_payload_histogram_counts: writer.counts.to_vec(),
                chunk_payload_histogram_sum: writer.sums.iter().map(|s| *s as i64).collect(),
                ..Default::default()
            })
            .collect();
    }
    stats.loss_ledger = session.ledger.to_proto();
    stats.filter_stats = session.packet_filter.as_ref().map(|filter| filter_stats(filter.stats()));
    stats
}

/// The statistics as a reply.
pub(crate) fn response(stats: TraceStats) -> Vec<u8> {
    let mut response = GetTraceStatsResponse { trace_stats: Some(stats), ..Default::default() };
    let bytes = response.encode_to_vec();
    if bytes.len() <= limits::IPC_STATE_BYTES_MAX {
        return bytes;
    }
    if let Some(stats) = &mut response.trace_stats {
        // Thousands of writers: what was lost matters more than how full their chunks were.
        stats.writer_stats.clear();
    }
    response.encode_to_vec()
}

/// How full the chunks of each sequence of a session were, with the index of its buffer; not more of them than fit into
/// statistics.
fn writers<'a>(session: &Session, buffers: &'a Buffers) -> Vec<(u32, &'a buffer::WriterStats)> {
    let mut writers = Vec::new();
    for (index, buffer) in (0u32..).zip(&session.buffers) {
        let Some(buffer) = buffers.get(*buffer) else { continue };
        let left = limits::WRITERS_TOLD_MAX.saturating_sub(writers.len());
        writers.extend(buffer.writer_stats().take(left).map(|writer| (index, writer)));
    }
    writers
}

/// Without the time that filtering took: the service reads no clock while it works.
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
