//! A service's state as JSON.
//!
//! The names are those of `tracing_service_state.proto`. Fields that the service did not set are absent; lists are
//! always there. Numbers are JSON numbers, also those of 64 bits.

use protos::{
    DataSourceDescriptor, LossLedgerEntry, LossLedgerReason, LossLedgerUnit, TracingServiceState,
    TracingServiceStateDataSource, TracingServiceStateProducer, TracingServiceStateTracingSession,
};
use tracing_file::json::Json;

/// The state as one JSON object, indented.
#[must_use]
pub fn print(state: &TracingServiceState) -> String {
    let mut json = Json::default();
    json.object(|json| {
        json.text("tracing_service_version", state.tracing_service_version.as_deref());
        json.number("num_sessions", state.num_sessions);
        json.number("num_sessions_started", state.num_sessions_started);
        json.list("tracing_sessions", &state.tracing_sessions, session);
        json.list("producers", &state.producers, producer);
        json.list("data_sources", &state.data_sources, data_source);
    });
    json.finish()
}

fn session(json: &mut Json, session: &TracingServiceStateTracingSession) {
    json.number("id", session.id);
    json.number("consumer_uid", session.consumer_uid);
    json.text("state", session.state.as_deref());
    json.text("unique_session_name", session.unique_session_name.as_deref());
    let sizes: Vec<_> = session.buffer_size_kb.iter().map(u32::to_string).collect();
    json.raw("buffer_size_kb", &format!("[{}]", sizes.join(", ")));
    json.number("duration_ms", session.duration_ms);
    json.number("num_data_sources", session.num_data_sources);
    json.number("start_realtime_ns", session.start_realtime_ns);
    json.number("bugreport_score", session.bugreport_score);
    json.text("bugreport_filename", session.bugreport_filename.as_deref());
    json.number("is_started", session.is_started);
    let losses = session.loss_ledger.as_ref().map(|ledger| &ledger.entries[..]);
    json.list("loss_ledger", losses.unwrap_or_default(), loss);
}

fn loss(json: &mut Json, loss: &LossLedgerEntry) {
    json.text("reason", loss.reason.and_then(LossLedgerReason::name));
    json.text("producer_name", loss.producer_name.as_deref());
    json.number("producer_id", loss.producer_id);
    json.number("uid", loss.uid);
    json.number("pid", loss.pid);
    json.number("machine_id", loss.machine_id);
    json.text("data_source_name", loss.data_source_name.as_deref());
    json.number("first_timestamp", loss.first_timestamp);
    json.number("last_timestamp", loss.last_timestamp);
    json.number("count", loss.count);
    json.text("unit", loss.unit.and_then(LossLedgerUnit::name));
    json.number("at_least", loss.at_least);
}

fn producer(json: &mut Json, producer: &TracingServiceStateProducer) {
    json.number("id", producer.id);
    json.text("name", producer.name.as_deref());
    json.number("pid", producer.pid);
    json.number("uid", producer.uid);
    json.text("sdk_version", producer.sdk_version.as_deref());
    json.number("frozen", producer.frozen);
    json.number("machine_id", producer.machine_id);
    json.text("machine_name", producer.machine_name.as_deref());
}

fn data_source(json: &mut Json, source: &TracingServiceStateDataSource) {
    let none = DataSourceDescriptor::default();
    let descriptor = source.ds_descriptor.as_deref().unwrap_or(&none);
    json.text("name", descriptor.name.as_deref());
    json.number("id", descriptor.id);
    json.number("producer_id", source.producer_id);
}

#[cfg(test)]
mod tests;
