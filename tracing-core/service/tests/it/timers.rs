//! What is due by itself: a session pays for it, and it comes in pieces.

use protos::GetAsyncCommandResponseCmd as Cmd;

use super::work::{CONSTANT, register_many};
use super::*;
use service::limits;

/// A session that asks thousands of data sources again and again asks them when it has paid for the last time.
#[test]
fn timers_are_charged() {
    let flushes = protos::TraceConfig { flush_period_ms: Some(1), ..config(&["ds"]) };
    let clears = protos::TraceConfig {
        incremental_state_config: Some(protos::TraceConfigIncrementalStateConfig {
            clear_period_ms: Some(1),
            ..Default::default()
        }),
        ..config(&["ds"])
    };
    for config in [flushes, clears] {
        let mut shell = Shell::new();
        let mut producers = Vec::new();
        for _ in 0..200 {
            let producer = MockProducer::connect(&mut shell, "p", peer(0));
            let descriptor = protos::DataSourceDescriptor {
                handles_incremental_state_clear: Some(true),
                ..descriptor("ds")
            };
            (0..60).for_each(|_| producer.register(&mut shell, descriptor.clone()));
            producers.push(producer);
        }
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config, None);
        producers[0].commands(&mut shell);
        shell.work_waits = true;
        let mut asked = |shell: &mut Shell| {
            let commands = producers[0].commands(shell).into_iter();
            commands.filter(|c| matches!(c, Cmd::Flush(_) | Cmd::ClearIncrementalState(_))).count()
        };
        shell.now_ns += 1_000_000;
        let before = shell.service.work();
        shell.turn();
        let cost = shell.service.work() - before;
        assert_eq!(asked(&mut shell), 1);
        // The allowance grows by a byte in a nanosecond: for so many ms it has nothing left.
        let pays_ms = (cost - limits::WORK_PER_PEER) / 1_000_000;
        assert!(pays_ms > 1, "{cost}");
        for _ in 0..pays_ms {
            shell.advance_ms(1);
            assert_eq!(asked(&mut shell), 0);
        }
        shell.advance_ms(2);
        assert_eq!(asked(&mut shell), 1);
    }
}

/// What is due at the same time does not come in the same turn, if it takes long.
#[test]
fn timers_that_are_due_come_in_pieces() {
    const SESSIONS: usize = 4;
    let mut shell = Shell::new();
    let _producers: Vec<_> = (0..200).map(|_| register_many(&mut shell, 20)).collect();
    let mut consumers = Vec::new();
    for _ in 0..SESSIONS {
        let flushes = protos::TraceConfig { flush_period_ms: Some(1000), ..config(&["ds"]) };
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, flushes, None);
        consumers.push(consumer);
    }
    shell.work_waits = true;
    shell.now_ns += 1_000_000_000;
    let mut most = 0;
    for _ in 0..SESSIONS {
        let before = shell.service.work();
        shell.turn();
        most = most.max(shell.service.work() - before);
    }
    // That of one session is not divided.
    let one = 4000 * limits::WORK_PER_ENTRY + 200 * limits::WORK_PER_REQUEST;
    assert!(most <= limits::WORK_PER_TURN + one + CONSTANT, "{most}");
    assert_eq!(shell.service.footprint().flushes, SESSIONS);
}
