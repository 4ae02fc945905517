use protos::{DataSourceDescriptor, LossLedger, LossLedgerEntry, LossLedgerReason, LossLedgerUnit};

use super::*;

#[test]
fn nothing_known() {
    let expected = "{\n  \"tracing_sessions\": [],\n  \"producers\": [],\n  \"data_sources\": [],\n  \"accounts\": []\n}\n";
    assert_eq!(print(&TracingServiceState::default()), expected);
}

fn item(held: u64) -> Option<UserAccountItem> {
    let (held, max, refused) = (Some(held), Some(64), Some(0));
    Some(UserAccountItem { held, max, refused, ..UserAccountItem::default() })
}

fn session() -> TracingServiceStateTracingSession {
    let entry = LossLedgerEntry {
        reason: Some(LossLedgerReason::REASON_LEFT_UNFINISHED),
        producer_name: Some("game".into()),
        pid: Some(7),
        count: Some(2),
        unit: Some(LossLedgerUnit::UNIT_PACKETS),
        at_least: Some(true),
        ..LossLedgerEntry::default()
    };
    TracingServiceStateTracingSession {
        id: Some(u64::MAX),
        consumer_uid: Some(1000),
        state: Some("STARTED".into()),
        unique_session_name: Some("night".into()),
        buffer_size_kb: vec![64, 32],
        duration_ms: Some(5),
        num_data_sources: Some(2),
        start_realtime_ns: Some(i64::MAX),
        bugreport_score: Some(-1),
        bugreport_filename: Some("bug".into()),
        is_started: Some(true),
        loss_ledger: Some(LossLedger { entries: vec![entry], ..LossLedger::default() }),
        ..TracingServiceStateTracingSession::default()
    }
}

fn producer() -> TracingServiceStateProducer {
    TracingServiceStateProducer {
        id: Some(1),
        name: Some("game".into()),
        uid: Some(1000),
        sdk_version: Some("v1".into()),
        pid: Some(7),
        frozen: Some(false),
        machine_id: Some(3),
        machine_name: Some("rack".into()),
        ..TracingServiceStateProducer::default()
    }
}

fn data_source() -> TracingServiceStateDataSource {
    let descriptor = DataSourceDescriptor {
        name: Some("ds".into()),
        id: Some(9),
        ..DataSourceDescriptor::default()
    };
    TracingServiceStateDataSource {
        ds_descriptor: Some(descriptor.into()),
        producer_id: Some(-1),
        ..TracingServiceStateDataSource::default()
    }
}

fn account() -> UserAccount {
    UserAccount {
        uid: Some(1000),
        machine_id: Some(3),
        is_limited: Some(true),
        connection_descriptors: item(1),
        producer_descriptors: item(2),
        connection_bytes: item(3),
        large_sockets: item(4),
        waiting_request_bytes: item(5),
        closing_descriptors: item(6),
        files: item(7),
        registrations: item(8),
        registration_bytes: item(9),
        instances: item(10),
        shared_memory_bytes: item(11),
        sessions: item(12),
        clones: item(13),
        compression_bytes: item(14),
        holes_named: Some(15),
        buffer_bytes: item(16),
        file_memory_bytes: item(17),
        flush_answers: item(18),
        ..UserAccount::default()
    }
}

#[test]
fn everything_known() {
    let counters = ServiceCounters {
        connections: Some(1),
        connected: Some(2),
        refused: Some(3),
        cut_slow: Some(4),
        cut_broken: Some(5),
        cut_stuck: Some(6),
        faults: Some(7),
        slow_turns: Some(8),
        ..ServiceCounters::default()
    };
    let state = TracingServiceState {
        tracing_service_version: Some("v\"1\"\u{1b}[31m\u{9b}\\\n".into()),
        supports_tracing_sessions: Some(true),
        num_sessions: Some(2),
        num_sessions_started: Some(1),
        tracing_sessions: vec![session(), TracingServiceStateTracingSession::default()],
        producers: vec![producer()],
        data_sources: vec![data_source(), TracingServiceStateDataSource::default()],
        accounts: vec![account()],
        all_users: Some(UserAccount { files: item(1), ..UserAccount::default() }),
        counters: Some(counters),
        ..TracingServiceState::default()
    };
    assert_eq!(print(&state), include_str!("everything_known.json"));
}
