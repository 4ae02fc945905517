//! A service's state as JSON.
//!
//! The names are those of `tracing_service_state.proto`. Fields that the service did not set are absent; lists are
//! always there. Numbers are JSON numbers, also those of 64 bits: protobuf's own JSON has texts in their place, and
//! leaves empty lists out.
//!
//! Each message is taken apart without `..`: a field that the schema gets and the JSON has not does not compile.

use protos::{
    ServiceCounters, TracingServiceState, TracingServiceStateDataSource,
    TracingServiceStateProducer, TracingServiceStateTracingSession, UserAccount, UserAccountItem,
};
use tracing_file::json::Json;
use tracing_file::losses::entry_json;

use super::account::items;

/// The state as one JSON object, indented.
#[must_use]
pub fn print(state: &TracingServiceState) -> String {
    let TracingServiceState {
        producers,
        data_sources,
        num_sessions,
        num_sessions_started,
        tracing_service_version,
        tracing_sessions,
        supports_tracing_sessions,
        accounts,
        all_users,
        counters,
        unknown_fields: _,
    } = state;
    let mut json = Json::default();
    json.object(|json| {
        json.text("tracing_service_version", tracing_service_version.as_deref());
        json.scalar("supports_tracing_sessions", *supports_tracing_sessions);
        json.scalar("num_sessions", *num_sessions);
        json.scalar("num_sessions_started", *num_sessions_started);
        json.list("tracing_sessions", tracing_sessions, session);
        json.list("producers", producers, producer);
        json.list("data_sources", data_sources, data_source);
        json.list("accounts", accounts, account);
        if let Some(all) = all_users {
            json.named_object("all_users", |json| account(json, all));
        }
        if let Some(counters) = counters {
            json.named_object("counters", |json| service_counters(json, counters));
        }
    });
    json.finish()
}

fn session(json: &mut Json, session: &TracingServiceStateTracingSession) {
    let TracingServiceStateTracingSession {
        id,
        consumer_uid,
        state,
        unique_session_name,
        buffer_size_kb,
        duration_ms,
        num_data_sources,
        start_realtime_ns,
        bugreport_score,
        bugreport_filename,
        is_started,
        loss_ledger,
        unknown_fields: _,
    } = session;
    json.scalar("id", *id);
    json.scalar("consumer_uid", *consumer_uid);
    json.text("state", state.as_deref());
    json.text("unique_session_name", unique_session_name.as_deref());
    let sizes: Vec<_> = buffer_size_kb.iter().map(u32::to_string).collect();
    json.raw("buffer_size_kb", &format!("[{}]", sizes.join(", ")));
    json.scalar("duration_ms", *duration_ms);
    json.scalar("num_data_sources", *num_data_sources);
    json.scalar("start_realtime_ns", *start_realtime_ns);
    json.scalar("bugreport_score", *bugreport_score);
    json.text("bugreport_filename", bugreport_filename.as_deref());
    json.scalar("is_started", *is_started);
    let losses = loss_ledger.as_ref().map(|ledger| &ledger.entries[..]);
    json.list("loss_ledger", losses.unwrap_or_default(), entry_json);
}

fn producer(json: &mut Json, producer: &TracingServiceStateProducer) {
    let TracingServiceStateProducer {
        id,
        name,
        uid,
        sdk_version,
        pid,
        frozen,
        machine_id,
        machine_name,
        unknown_fields: _,
    } = producer;
    json.scalar("id", *id);
    json.text("name", name.as_deref());
    json.scalar("pid", *pid);
    json.scalar("uid", *uid);
    json.text("sdk_version", sdk_version.as_deref());
    json.scalar("frozen", *frozen);
    json.scalar("machine_id", *machine_id);
    json.text("machine_name", machine_name.as_deref());
}

/// Of a descriptor the name and the id: the rest may be megabytes.
fn data_source(json: &mut Json, source: &TracingServiceStateDataSource) {
    let TracingServiceStateDataSource { ds_descriptor, producer_id, unknown_fields: _ } = source;
    let descriptor = ds_descriptor.as_deref();
    json.text("name", descriptor.and_then(|descriptor| descriptor.name.as_deref()));
    json.scalar("id", descriptor.and_then(|descriptor| descriptor.id));
    json.scalar("producer_id", *producer_id);
}

fn account(json: &mut Json, account: &UserAccount) {
    json.scalar("uid", account.uid);
    json.scalar("machine_id", account.machine_id);
    json.scalar("is_limited", account.is_limited);
    for (name, of) in items(account) {
        if let Some(of) = of {
            json.named_object(name, |json| item(json, of));
        }
    }
    json.scalar("holes_named", account.holes_named);
}

fn item(json: &mut Json, item: &UserAccountItem) {
    let UserAccountItem { held, max, refused, unknown_fields: _ } = item;
    json.scalar("held", *held);
    json.scalar("max", *max);
    json.scalar("refused", *refused);
}

fn service_counters(json: &mut Json, counters: &ServiceCounters) {
    let ServiceCounters {
        connections,
        connected,
        refused,
        cut_slow,
        cut_broken,
        cut_stuck,
        faults,
        slow_turns,
        unknown_fields: _,
    } = counters;
    json.scalar("connections", *connections);
    json.scalar("connected", *connected);
    json.scalar("refused", *refused);
    json.scalar("cut_slow", *cut_slow);
    json.scalar("cut_broken", *cut_broken);
    json.scalar("cut_stuck", *cut_stuck);
    json.scalar("faults", *faults);
    json.scalar("slow_turns", *slow_turns);
}

#[cfg(test)]
mod tests;
