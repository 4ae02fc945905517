use super::*;

#[test]
fn nothing_known() {
    let expected =
        "{\n  \"tracing_sessions\": [],\n  \"producers\": [],\n  \"data_sources\": []\n}\n";
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
                ..TracingServiceStateTracingSession::default()
            },
            TracingServiceStateTracingSession::default(),
        ],
        data_sources: vec![TracingServiceStateDataSource {
            producer_id: Some(-1),
            ..TracingServiceStateDataSource::default()
        }],
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
      "is_started": true
    },
    {
      "buffer_size_kb": []
    }
  ],
  "producers": [],
  "data_sources": [
    {
      "producer_id": -1
    }
  ]
}
"#;
    assert_eq!(print(&state), expected);
}
