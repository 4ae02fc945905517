//! Events of other sessions in a trace.

use super::*;

fn curious(name: &str) -> TraceConfig {
    TraceConfig {
        unique_session_name: Some(name.into()),
        builtin_data_sources: Some(protos::TraceConfigBuiltinDataSource {
            enable_concurrent_session_events: Some(true),
            ..Default::default()
        }),
        ..config(&[])
    }
}

/// (session, state, name, uid) of the events since the last call.
fn seen(shell: &mut Shell, consumer: &MockConsumer) -> Vec<(u64, i32, String, i32)> {
    let packets = consumer.read(shell);
    let of = |p: &TracePacket| match &p.data {
        Some(TracePacketData::ConcurrentSessionEvent(e)) => {
            assert_eq!(e.num_data_sources, Some(0));
            let name = e.session_name.clone().unwrap_or_default();
            Some((e.session_id.unwrap(), e.state.unwrap().0, name, e.consumer_uid.unwrap()))
        }
        _ => None,
    };
    packets.iter().filter_map(of).collect()
}

const DISABLED: i32 = 1;
const CONFIGURED: i32 = 2;
const STARTED: i32 = 3;
const CLONED: i32 = 5;

#[test]
fn concurrent_session_events() {
    let mut shell = Shell::new();
    let mut start = |uid, name| {
        shell.advance_ms(1);
        let mut consumer = MockConsumer::connect(&mut shell, uid);
        consumer.enable(&mut shell, curious(name), None);
        consumer
    };
    let lingering = start(1, "lingering");
    let running = start(2, "running");
    lingering.disable(&mut shell);
    assert_eq!(
        seen(&mut shell, &running),
        [(1, STARTED, "lingering".into(), 1), (1, DISABLED, "lingering".into(), 1)]
    );
    shell.advance_ms(1);
    let mut newcomer = MockConsumer::connect(&mut shell, 3);
    newcomer.enable(&mut shell, curious("newcomer"), None);
    // Events of the sessions that run already, by the time of their states: here one instant.
    assert_eq!(
        seen(&mut shell, &newcomer),
        [(1, DISABLED, "lingering".into(), 1), (2, STARTED, "running".into(), 2)]
    );
    newcomer.disable(&mut shell);
    assert_eq!(
        seen(&mut shell, &running),
        [
            (3, CONFIGURED, "newcomer".into(), 3),
            (3, STARTED, "newcomer".into(), 3),
            (3, DISABLED, "newcomer".into(), 3)
        ]
    );
    // Sessions that are over get no events any more.
    assert_eq!(seen(&mut shell, &lingering)[..1], [(2, CONFIGURED, "running".into(), 2)]);
    assert_eq!(seen(&mut shell, &newcomer), []);
}

#[test]
fn clones_are_in_the_events_too() {
    let mut shell = Shell::new();
    let mut watcher = MockConsumer::connect(&mut shell, 0);
    watcher.enable(&mut shell, curious("watcher"), None);
    let mut source = MockConsumer::connect(&mut shell, 0);
    source.enable(&mut shell, config(&[]), None);
    seen(&mut shell, &watcher);
    let clone = MockConsumer::connect(&mut shell, 0);
    let request = protos::CloneSessionRequest {
        selector: Some(protos::CloneSessionRequestSelector::SessionId(2)),
        ..Default::default()
    };
    clone.clone_session(&mut shell, request, None);
    clone.disconnect(&mut shell);
    let own = |state| (3, state, String::new(), 0);
    assert_eq!(seen(&mut shell, &watcher), [own(CLONED), own(DISABLED)]);
}

/// Those that are not kept are told.
#[test]
fn events_of_too_many_sessions_are_in_the_ledger() {
    let mut shell = Shell::with(|config| config.limits.concurrent_events_max = 2);
    let mut watcher = MockConsumer::connect(&mut shell, 0);
    watcher.enable(&mut shell, curious("watcher"), None);
    let told = |shell: &mut Shell, watcher: &MockConsumer| -> Vec<(Option<u64>, Option<bool>)> {
        let entries = ledger::ledger(shell, watcher).into_iter();
        let of_events = |e: &protos::LossLedgerEntry| {
            (e.reason, e.unit)
                == (
                    Some(protos::LossLedgerReason::REASON_EVENTS_DROPPED),
                    Some(protos::LossLedgerUnit::UNIT_EVENTS),
                )
        };
        entries.filter(of_events).map(|entry| (entry.count, entry.at_least)).collect()
    };
    let mut other = MockConsumer::connect(&mut shell, 1);
    other.enable(&mut shell, config(&[]), None);
    assert_eq!(told(&mut shell, &watcher), [], "it is configured, and started");
    other.disable(&mut shell);
    other.disconnect(&mut shell);
    assert_eq!(told(&mut shell, &watcher), [(Some(1), None)]);
    assert_eq!(seen(&mut shell, &watcher).len(), 2);
}
