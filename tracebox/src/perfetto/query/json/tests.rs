use protos::{LossLedger, LossLedgerEntry, LossLedgerReason, LossLedgerUnit};

use super::*;

#[test]
fn nothing_known() {
    let expected = "{\n  \"tracing_sessions\": [],\n  \"producers\": [],\n  \"data_sources\": [],\n  \"accounts\": []\n}\n";
    assert_eq!(print(&TracingServiceState::default()), expected);
}

#[test]
fn everything_known() {
    let state = TracingServiceState {
        tracing_service_version: Some("v\"1\"\u{1b}[31m\u{9b}\\\n".into()),
        num_sessions: Some(1),
        tracing_sessions: vec![
            TracingServiceStateTracingSession {
                id: Some(u64::MAX),
                state: Some("STARTED".into()),
                buffer_size_kb: vec![64, 32],
                is_started: Some(true),
                loss_ledger: Some(LossLedger {
                    entries: vec![LossLedgerEntry {
                        reason: Some(LossLedgerReason::REASON_LEFT_UNFINISHED),
                        producer_name: Some("game".into()),
                        pid: Some(7),
                        count: Some(2),
                        unit: Some(LossLedgerUnit::UNIT_PACKETS),
                        at_least: Some(true),
                        ..LossLedgerEntry::default()
                    }],
                    ..LossLedger::default()
                }),
                ..TracingServiceStateTracingSession::default()
            },
            TracingServiceStateTracingSession::default(),
        ],
        data_sources: vec![TracingServiceStateDataSource {
            producer_id: Some(-1),
            ..TracingServiceStateDataSource::default()
        }],
        accounts: vec![UserAccount {
            uid: Some(1000),
            is_limited: Some(true),
            files: Some(UserAccountItem {
                held: Some(1),
                max: Some(64),
                refused: Some(0),
                ..UserAccountItem::default()
            }),
            holes_named: Some(0),
            ..UserAccount::default()
        }],
        all_users: Some(UserAccount::default()),
        counters: Some(ServiceCounters { slow_turns: Some(1), ..ServiceCounters::default() }),
        ..TracingServiceState::default()
    };
    let expected = r#"{
  "tracing_service_version": "v\"1\"\u001b[31m\u009b\\\n",
  "num_sessions": 1,
  "tracing_sessions": [
    {
      "id": 18446744073709551615,
      "state": "STARTED",
      "buffer_size_kb": [64, 32],
      "is_started": true,
      "loss_ledger": [
        {
          "reason": "REASON_LEFT_UNFINISHED",
          "producer_name": "game",
          "pid": 7,
          "count": 2,
          "unit": "UNIT_PACKETS",
          "at_least": true
        }
      ]
    },
    {
      "buffer_size_kb": [],
      "loss_ledger": []
    }
  ],
  "producers": [],
  "data_sources": [
    {
      "producer_id": -1
    }
  ],
  "accounts": [
    {
      "uid": 1000,
      "is_limited": true,
      "files": {
        "held": 1,
        "max": 64,
        "refused": 0
      },
      "holes_named": 0
    }
  ],
  "all_users": {},
  "counters": {
    "slow_turns": 1
  }
}
"#;
    assert_eq!(print(&state), expected);
}
