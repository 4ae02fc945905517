use protos::{
    DataSourceDescriptor, FtraceDescriptor, FtraceDescriptorAtraceCategory, LossLedger,
    LossLedgerEntry, LossLedgerReason, ServiceCounters, TracingServiceStateDataSource,
    TracingServiceStateProducer, TracingServiceStateTracingSession, TrackEventCategory,
    TrackEventDescriptor, UserAccountItem,
};

use super::*;

fn source(producer_id: i32, descriptor: DataSourceDescriptor) -> TracingServiceStateDataSource {
    TracingServiceStateDataSource {
        producer_id: Some(producer_id),
        ds_descriptor: Some(descriptor.into()),
        ..Default::default()
    }
}

fn named(name: &str) -> DataSourceDescriptor {
    DataSourceDescriptor { name: Some(name.into()), ..Default::default() }
}

fn state() -> TracingServiceState {
    TracingServiceState {
        tracing_service_version: Some("v1".into()),
        num_sessions: Some(3),
        num_sessions_started: Some(1),
        supports_tracing_sessions: Some(true),
        producers: vec![TracingServiceStateProducer {
            id: Some(3),
            pid: Some(42),
            uid: Some(0),
            frozen: Some(true),
            name: Some(format!("evil\x1b[31m{}", "x".repeat(100))),
            ..Default::default()
        }],
        data_sources: vec![source(3, named("linux.sys_stats")), source(9, named("gone"))],
        tracing_sessions: vec![TracingServiceStateTracingSession {
            id: Some(1),
            state: Some("STARTED".into()),
            buffer_size_kb: vec![64, 32],
            duration_ms: Some(1500),
            // Half past three and a second, in time zones of whole hours and UTC.
            start_realtime_ns: Some((15 * 3600 + 30 * 60 + 1) * 1_000_000_000 + 999),
            unique_session_name: Some("mine".into()),
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[test]
fn whole_and_cut() {
    let long = table(&state(), true);
    assert!(long.contains(&"x".repeat(100)), "{long}");
    assert!(!long.contains('\x1b'), "{long}");
    assert!(long.contains("(2) 96       1.5 "), "{long}");
    assert!(long.contains("linux.sys_stats"), "{long}");
    assert!(!long.contains("MACHINE") && !long.contains("--long"), "{long}");
    let short = table(&state(), false);
    assert!(short.lines().all(|line| line.chars().count() <= COLUMNS));
    assert!(short.ends_with("Lines are cut to 80 columns: --long shows them whole.\n"), "{short}");
}

#[test]
fn what_is_not_listed_is_told() {
    let mut state = state();
    assert!(table(&state, true).contains("\n(2 sessions of other users are not shown)\n"));
    state.num_sessions = Some(2);
    assert!(table(&state, true).contains("\n(1 session of another user is not shown)\n"));
    state.num_sessions = Some(1);
    assert!(!table(&state, true).contains("not shown"));
    assert!(table(&state, true).contains("gone                                      (9)"));
}

#[test]
fn columns_of_sessions_and_producers() {
    let text = table(&state(), true);
    let line = |of: &str| text.lines().find(|line| line.starts_with(of)).unwrap_or_default();
    let session = line("1 ");
    assert!(session.ends_with(" mine"), "{text}");
    let started = text.lines().find_map(|line| line.find("STARTED ")).unwrap();
    let time = &session[started..started + 8];
    assert!(time.ends_with(":01") && time.split(':').count() == 3, "{text}");
    let flags = text.lines().find_map(|line| line.find("FLAGS")).unwrap();
    assert_eq!(&line("3 ")[flags..=flags], "F", "{text}");
}

#[test]
fn losses_of_sessions_are_lines() {
    let mut state = state();
    assert!(!table(&state, true).contains("LOST"));
    let entry = LossLedgerEntry {
        reason: Some(LossLedgerReason::REASON_LEFT_UNFINISHED),
        producer_name: Some("game".into()),
        count: Some(2),
        ..Default::default()
    };
    let ledger = LossLedger { entries: vec![entry], ..Default::default() };
    state.tracing_sessions[0].loss_ledger = Some(ledger);
    let expected = "\nLOST IN SESSIONS:\nID     WHAT\n\
        1      2 packets that game had not handed over when it was gone\n\n";
    let text = table(&state, true);
    assert!(text.contains(expected), "{text}");
}

#[test]
fn accounts_have_what_is_more_than_nothing() {
    let item = |held, max, refused| {
        let held = Some(held);
        Some(UserAccountItem { held, max, refused, ..Default::default() })
    };
    let account = UserAccount {
        uid: Some(-2),
        connection_descriptors: item(3, Some(224), Some(0)),
        files: item(0, Some(64), Some(0)),
        registrations: item(7, None, None),
        compression_bytes: item(0, Some(1 << 26), Some(5)),
        file_memory_bytes: item(8192, Some(1 << 26), Some(0)),
        holes_named: Some(1),
        ..Default::default()
    };
    let remote =
        UserAccount { connection_descriptors: item(1, Some(9), None), ..Default::default() };
    let elsewhere = UserAccount { machine_id: Some(7), ..account.clone() };
    let mut state = TracingServiceState {
        accounts: vec![remote, account, elsewhere],
        all_users: Some(UserAccount { clones: item(2, Some(48), None), ..Default::default() }),
        counters: Some(ServiceCounters {
            connected: Some(2),
            connections: Some(9),
            cut_slow: Some(1),
            cut_stuck: Some(2),
            slow_turns: Some(4),
            ..Default::default()
        }),
        ..Default::default()
    };
    let text = table(&state, false);
    for line in [
        "Connections: 2 (9 since the start, 0 refused, 3 closed by the service)",
        "Turns longer than 100 ms: 4",
        "UID                WHAT                            HELD         MAX     REFUSED",
        "(other machines)   connection_descriptors             1           9",
        "4294967294         connection_descriptors             3         224           0",
        "4294967294         registrations                      7",
        "4294967294         compression_bytes                  0    67108864           5",
        "4294967294         file_memory_bytes               8192    67108864           0",
        "4294967294         holes_named                                                1",
        "4294967294 of 7    registrations                      7",
        "(all)              clones                             2          48",
    ] {
        assert!(text.lines().any(|of| of == line), "{line}\n{text}");
    }
    assert!(!text.contains("files ") && !text.contains("--long shows"), "{text}");
    // A service without accounts, such as that of C++.
    (state.accounts, state.all_users, state.counters) = Default::default();
    let text = table(&state, true);
    assert!(!text.contains("ACCOUNTS") && !text.contains("Connections"), "{text}");
}

#[test]
fn details_are_categories() {
    let category =
        |name: &str| TrackEventCategory { name: Some(name.into()), ..Default::default() };
    let track_event = DataSourceDescriptor {
        track_event_descriptor: Some(TrackEventDescriptor {
            available_categories: vec![category("gfx"), category("net")],
            ..Default::default()
        }),
        ..named("track_event")
    };
    let ftrace = DataSourceDescriptor {
        ftrace_descriptor: Some(FtraceDescriptor {
            atrace_categories: vec![FtraceDescriptorAtraceCategory {
                name: Some("sched".into()),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..named("linux.ftrace")
    };
    let state = TracingServiceState {
        data_sources: vec![source(1, track_event), source(1, ftrace)],
        ..Default::default()
    };
    let text = table(&state, true);
    let details = text.lines().find_map(|line| line.find("DETAILS")).unwrap();
    let line = |of: &str| text.lines().find(|line| line.starts_with(of)).unwrap();
    assert_eq!(&line("track_event")[details..], "gfx,net", "{text}");
    assert_eq!(&line("linux.ftrace")[details..], "sched", "{text}");
}
