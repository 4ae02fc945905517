//! Flushes: what starts and what ends them.

use super::*;
use crate::lifecycle::{notifying, stopped};
use protos::GetAsyncCommandResponseCmd as GetAsyncCommand;
use protos::producer_port::Request;
use protos::{TraceConfigIncrementalStateConfig, TraceConfigWriteFlushMode as Mode};

#[test]
fn explicit_flush() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x34"]);
    assert_eq!(consumer.flushed(&mut shell, call), None);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
    assert_eq!(payloads(&consumer.read(&mut shell)), ["a"]);
}

#[test]
fn batch_flushes() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let calls: Vec<_> = (0..3).map(|_| consumer.flush(&mut shell, 0)).collect();
    let late = consumer.flush(&mut shell, 10);
    producer.ack_flush(&mut shell, 3);
    for call in calls {
        assert_eq!(consumer.flushed(&mut shell, call), Some(true));
    }
    shell.advance_ms(9);
    assert_eq!(consumer.flushed(&mut shell, late), None);
    shell.advance_ms(1);
    assert_eq!(consumer.flushed(&mut shell, late), Some(false));
}

#[test]
fn timeouts_from_call_config_and_default() {
    for (call_ms, config_ms, expect) in [(7, 9, 7), (0, 9, 9), (0, 0, 5000)] {
        let mut shell = Shell::new();
        let config = TraceConfig { flush_timeout_ms: Some(config_ms), ..config(&["ds"]) };
        let (_producer, consumer) = recording(&mut shell, config);
        let call = consumer.flush(&mut shell, call_ms);
        shell.advance_ms(expect - 1);
        assert_eq!(consumer.flushed(&mut shell, call), None);
        shell.advance_ms(1);
        assert_eq!(consumer.flushed(&mut shell, call), Some(false));
    }
}

#[test]
fn a_periodic_flush_that_fails_is_in_the_log() {
    for (acks, lines) in [(true, 0), (false, 1)] {
        let mut shell = Shell::new();
        let config = TraceConfig {
            flush_period_ms: Some(100),
            flush_timeout_ms: Some(10),
            ..config(&["ds"])
        };
        let (producer, consumer) = recording(&mut shell, config.clone());
        shell.advance_ms(100);
        if acks {
            producer.ack_flush(&mut shell, 1);
        }
        shell.advance_ms(10);
        let told = shell.log.iter().zip(&shell.log_uids);
        let told: Vec<_> = told.filter(|it| it.0.1 == "session 1: flush failed").collect();
        assert_eq!(told.len(), lines);
        assert!(told.iter().all(|(_, uid)| **uid == Some(0)), "the user of the session");
        consumer.free(&mut shell);
        let lines = shell.log.len();
        recording(&mut shell, config);
        let uids = &shell.log_uids[lines..];
        assert!(!uids.is_empty() && uids.iter().all(Option::is_none), "the peer of the input");
    }
}

#[test]
fn acks_of_strangers_do_not_count() {
    let mut shell = Shell::new();
    let (_producer, consumer) = recording(&mut shell, config(&["ds"]));
    let mut stranger = producer(&mut shell, "stranger");
    stranger.register_name(&mut shell, "other");
    let mut second = MockConsumer::connect(&mut shell, 0);
    second.enable(&mut shell, config(&["other"]), None);
    stranger.commands(&mut shell);
    let call = consumer.flush(&mut shell, 0);
    stranger.ack_flush(&mut shell, 1);
    assert_eq!(consumer.flushed(&mut shell, call), None);
}

#[test]
fn a_producer_that_left_is_not_waited_for() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let call = consumer.flush(&mut shell, 0);
    producer.disconnect(&mut shell);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
}

#[test]
fn no_flush() {
    let mut shell = Shell::new();
    let quiet = |name| DataSourceDescriptor { no_flush: Some(true), ..descriptor(name) };
    let mut one = producer(&mut shell, "one");
    one.register(&mut shell, quiet("a"));
    one.register_name(&mut shell, "b");
    let mut two = producer(&mut shell, "two");
    two.register(&mut shell, quiet("c"));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["a", "b", "c"]), None);
    one.commands(&mut shell);
    two.commands(&mut shell);
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(words(&mut shell, &mut one), ["flush 1 of [2] flags 0x34"]);
    assert!(words(&mut shell, &mut two).is_empty());
    one.ack_flush(&mut shell, 1);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
}

#[test]
fn a_flush_without_producers_succeeds_at_once() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(false), "no session");
    consumer.enable(&mut shell, config(&[]), None);
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
    consumer.disable(&mut shell);
    let call = consumer.flush(&mut shell, 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(false), "not started any more");
}

#[test]
fn pending_flushes_are_bounded() {
    let mut shell = Shell::new();
    let (_producer, consumer) = recording(&mut shell, config(&["ds"]));
    let max = service::limits::FLUSHES_PENDING_MAX;
    let calls: Vec<_> = (0..max + 2).map(|_| consumer.flush(&mut shell, 0)).collect();
    assert_eq!(consumer.flushed(&mut shell, calls[max]), None);
    assert_eq!(consumer.flushed(&mut shell, calls[max + 1]), Some(false));
    // The end of the session answers all of them.
    consumer.free(&mut shell);
    assert_eq!(consumer.flushed(&mut shell, calls[0]), Some(false));
    assert_eq!(consumer.flushed(&mut shell, calls[max]), Some(false));
}

/// Each flush remembers the producers that it waits for, and each producer its flushes.
#[test]
fn answers_that_flushes_of_one_user_wait_for_are_bounded() {
    let mut shell = Shell::with(|config| config.limits.flush_answers_per_user_max = 5);
    let producers: Vec<_> = (0..2).map(|_| producer(&mut shell, "p")).collect();
    producers.iter().for_each(|producer| producer.register_name(&mut shell, "ds"));
    let mut enable = |uid| {
        let mut consumer = MockConsumer::connect(&mut shell, uid);
        consumer.enable(&mut shell, config(&["ds"]), None);
        consumer
    };
    let consumers = [42, 42, 43, 0].map(&mut enable);
    let [first, second, other, root] = &consumers;
    let calls = [first, second].map(|consumer| consumer.flush(&mut shell, 0));
    let refused = second.flush(&mut shell, 0);
    assert_eq!(second.flushed(&mut shell, refused), Some(false));
    let expected = "session 2: too many flushes pending: 2 answers of producers are asked for, and user \
                    42 has 4 of at most 5: wait until earlier flushes are over, or flush as root";
    assert!(shell.log.iter().any(|line| line.1.contains(expected)), "{:?}", shell.log);
    // Others have an account of their own, and root needs none.
    let of_others = [other, root, root, root].map(|consumer| consumer.flush(&mut shell, 0));
    for (consumer, call) in [other, root, root, root].iter().zip(of_others) {
        assert_eq!(consumer.flushed(&mut shell, call), None);
    }
    // An answer makes room, and so does a timeout, and the end of a session.
    producers[0].ack_flush(&mut shell, 2);
    assert_eq!(shell.service.footprint().flush_answers, (10, 10));
    let third = second.flush(&mut shell, 0);
    assert_eq!(second.flushed(&mut shell, third), None);
    first.free(&mut shell);
    assert_eq!(first.flushed(&mut shell, calls[0]), Some(false));
    shell.advance_ms(5000);
    assert_eq!(second.flushed(&mut shell, third), Some(false));
    assert_eq!(shell.service.footprint().flush_answers, (0, 0));
}

#[test]
fn implicit_flush_on_timed_traces() {
    let mut shell = Shell::new();
    let config = TraceConfig { duration_ms: Some(1), ..config(&["ds"]) };
    let (mut producer, mut consumer) = recording(&mut shell, config);
    shell.advance_ms(1);
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x12"]);
    // Without an acknowledgement the end comes after the timeout, and the statistics count a failed flush.
    shell.advance_ms(4999);
    assert_eq!(consumer.ended(&mut shell), None);
    shell.advance_ms(1);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let packets = consumer.read(&mut shell);
    let stats = packets.iter().find_map(|p| match &p.data {
        Some(TracePacketData::TraceStats(stats)) => Some(stats),
        _ => None,
    });
    assert_eq!(stats.unwrap().final_flush_outcome.unwrap().0, 2);
    assert!(kinds(&packets).contains(&"event LastFlushSlowDataSources".into()));
}

#[test]
fn periodic_flush() {
    let mut shell = Shell::new();
    let config = TraceConfig { flush_period_ms: Some(100), ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    for round in 1..=3u64 {
        shell.advance_ms(100);
        assert_eq!(words(&mut shell, &mut producer), [format!("flush {round} of [1] flags 0x11")]);
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&round.to_string())]);
        producer.ack_flush(&mut shell, round);
    }
    consumer.disable(&mut shell);
    producer.commands(&mut shell);
    shell.advance_ms(1000);
    assert!(words(&mut shell, &mut producer).is_empty());
    assert_eq!(payloads(&consumer.read(&mut shell)), ["1", "2", "3"]);
}

#[test]
fn periodic_clear_incremental_state() {
    let mut shell = Shell::new();
    let clears = |name| DataSourceDescriptor {
        handles_incremental_state_clear: Some(true),
        ..descriptor(name)
    };
    let mut producer = producer(&mut shell, "p");
    producer.register(&mut shell, clears("a"));
    producer.register_name(&mut shell, "b");
    producer.register(&mut shell, clears("c"));
    producer.register(&mut shell, clears("unused"));
    let config = TraceConfig {
        incremental_state_config: Some(TraceConfigIncrementalStateConfig {
            clear_period_ms: Some(50),
            ..Default::default()
        }),
        ..config(&["a", "b", "c"])
    };
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    producer.commands(&mut shell);
    shell.advance_ms(150);
    assert_eq!(words(&mut shell, &mut producer), ["clear [1, 3]"; 3]);
}

/// The flushes of a producer in each of `writes` periods of a session that writes into a file, and the payloads in the
/// file at the end. The producer commits only when it is flushed.
fn flushed_for_writes(mode: Mode, period_ms: u32, writes: u64) -> (Vec<usize>, Vec<String>) {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    let config = TraceConfig {
        write_into_file: Some(true),
        write_flush_mode: Some(mode),
        file_write_period_ms: Some(period_ms),
        ..config(&["ds"])
    };
    consumer.enable(&mut shell, config, Some(file));
    producer.commands(&mut shell);
    let mut told = Vec::new();
    for write in 1..=writes {
        shell.advance_ms(period_ms.into());
        let commands = producer.commands(&mut shell);
        for command in &commands {
            let GetAsyncCommand::Flush(flush) = command else { panic!("{command:?}") };
            assert_eq!(flush.flags, Some(0x11), "the service, periodically");
            let text = write.to_string();
            producer.write(&mut shell, WRITER, BUFFER, &[payload(&text)]);
            producer.ack_flush(&mut shell, flush.request_id.unwrap());
        }
        told.push(commands.len());
    }
    let bytes = &shell.files[&file].bytes;
    (told, payloads(&testing::mock::decode_file(bytes)))
}

/// A flush before each write, or every five seconds whatever the writes.
#[test]
fn flush_strategies() {
    let (told, written) = flushed_for_writes(Mode(3), 100, 4);
    assert_eq!((told, written.join(" ").as_str()), (vec![1; 4], "1 2 3 4"));
    let (told, written) = flushed_for_writes(Mode(1), 1000, 11);
    let every_fifth: Vec<usize> = (1..=11).map(|write| usize::from(write % 5 == 0)).collect();
    assert_eq!((told, written.join(" ").as_str()), (every_fifth, "5 10"));
}

#[test]
fn sync_is_answered_after_earlier_requests() {
    let mut shell = Shell::new();
    let (producer, _consumer) = recording(&mut shell, config(&["ds"]));
    assert!(producer.call(&mut shell, Request::Sync(Default::default()))[0].response.is_some());
}

#[test]
fn flush_timeout_events_emitted() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let flush = |shell: &mut Shell, id: Option<u64>| {
        let request =
            protos::FlushRequest { timeout_ms: Some(10), flags: Some(0x12), ..Default::default() };
        let request = protos::consumer_port::Request::Flush(request);
        let call = shell.call_consumer(consumer.client, request, None);
        if let Some(id) = id {
            producer.ack_flush(shell, id);
        }
        shell.advance_ms(10);
        assert_eq!(consumer.flushed(shell, call), Some(id.is_some()));
    };
    let slow = |shell: &mut Shell| {
        let packets = consumer.read(shell);
        let of = |p: &TracePacket| match &p.data {
            Some(TracePacketData::ServiceEvent(e)) => match &e.event_type {
                Some(protos::TracingServiceEventEventType::LastFlushSlowDataSources(list)) => {
                    Some(list.data_source[0].data_source_name.clone().unwrap())
                }
                _ => None,
            },
            _ => None,
        };
        packets.iter().find_map(of)
    };
    flush(&mut shell, None);
    assert_eq!(slow(&mut shell).as_deref(), Some("ds"));
    flush(&mut shell, None);
    flush(&mut shell, Some(3));
    assert_eq!(slow(&mut shell), None);
}

/// Flags that a consumer does not set are zero.
#[test]
fn flags_come_as_they_were_sent() {
    use protos::consumer_port::Request;
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    for flags in [None, Some(0x24), Some(0xffff_0000_0fff)] {
        let request = protos::FlushRequest { flags, ..Default::default() };
        shell.call_consumer(consumer.client, Request::Flush(request), None);
        let got = words(&mut shell, &mut producer);
        assert!(got[0].ends_with(&format!("flags {:#x}", flags.unwrap_or(0))), "{got:?}");
    }
}

#[test]
fn slow_sources_are_named_or_there_are_none() {
    let mut shell = Shell::new();
    let config = TraceConfig { duration_ms: Some(10), ..config(&["ds"]) };
    let (producer, consumer) = recording(&mut shell, config);
    shell.advance_ms(10);
    // The producer of the last flush disconnects before the timeout.
    producer.call(
        &mut shell,
        Request::UnregisterDataSource(protos::UnregisterDataSourceRequest {
            data_source_name: Some("ds".into()),
            ..Default::default()
        }),
    );
    shell.advance_ms(6000);
    let packets = consumer.read(&mut shell);
    let slow = packets.iter().any(|packet| match &packet.data {
        Some(TracePacketData::ServiceEvent(event)) => matches!(
            event.event_type,
            Some(protos::TracingServiceEventEventType::LastFlushSlowDataSources(_))
        ),
        _ => false,
    });
    assert!(!slow);
}

/// What is recorded no more has nothing to flush: its last flush was the one before.
#[test]
fn a_duration_that_ends_while_a_session_stops_flushes_nothing() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "p");
    producer.register(&mut shell, notifying("ds", false, true));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let config = TraceConfig { duration_ms: Some(1000), ..config(&["ds"]) };
    consumer.enable(&mut shell, config, None);
    shell.advance_ms(900);
    consumer.disable(&mut shell);
    producer.commands(&mut shell);
    shell.advance_ms(200);
    stopped(&mut shell, &producer, 1);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert!(!shell.log.iter().any(|line| line.1.contains("flush")), "{:?}", shell.log);
    let packets = consumer.read(&mut shell);
    let stats = packets.iter().find_map(|p| match &p.data {
        Some(TracePacketData::TraceStats(stats)) => Some(stats),
        _ => None,
    });
    assert_eq!(stats.unwrap().final_flush_outcome.unwrap_or_default().0, 0);
}
