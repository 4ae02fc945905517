//! A service's state as JSON.
//!
//! The names are those of `tracing_service_state.proto`. Fields that the service did not set are absent; lists are
//! always there. Numbers are JSON numbers, also those of 64 bits.

use protos::{
    DataSourceDescriptor, ServiceCounters, TracingServiceState, TracingServiceStateDataSource,
    TracingServiceStateProducer, TracingServiceStateTracingSession, UserAccount, UserAccountItem,
};
use tracing_file::json::Json;
use tracing_file::losses::entry_json;

use super::account::items;

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
        json.list("accounts", &state.accounts, account);
        if let Some(all) = &state.all_users {
            json.fields("all_users", |json| account(json, all));
        }
        if let Some(counters) = &state.counters {
            json.fields("counters", |json| service_counters(json, counters));
        }
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
    json.list("loss_ledger", losses.unwrap_or_default(), entry_json);
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

fn account(json: &mut Json, account: &UserAccount) {
    json.number("uid", account.uid);
    json.number("machine_id", account.machine_id);
    json.number("is_limited", account.is_limited);
    for (name, of) in items(account) {
        if let Some(of) = of {
            json.fields(name, |json| item(json, of));
        }
    }
    json.number("holes_named", account.holes_named);
}

fn item(json: &mut Json, item: &UserAccountItem) {
    json.number("held", item.held);
    json.number("max", item.max);
    json.number("refused", item.refused);
}

fn service_counters(json: &mut Json, counters: &ServiceCounters) {
    json.number("connections", counters.connections);
    json.number("connected", counters.connected);
    json.number("refused", counters.refused);
    json.number("cut_slow", counters.cut_slow);
    json.number("cut_broken", counters.cut_broken);
    json.number("cut_stuck", counters.cut_stuck);
    json.number("faults", counters.faults);
    json.number("slow_turns", counters.slow_turns);
}

#[cfg(test)]
mod tests;
