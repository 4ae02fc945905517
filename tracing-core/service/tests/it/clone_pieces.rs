//! Clones whose bytes take several turns: each shows the instant of its flush, whatever comes between.

use protos::TracingServiceEventEventType as Event;

use super::clone::{COPIED, TRANSFERRED, ask, done, events, refused, two_buffers};
use super::clone_files::{in_file, into_file};
use super::*;
use abi::ids::{CallId, FileId};

/// Small pieces, so that even a few packets take several.
const PIECE: usize = 1024;

fn shell() -> Shell {
    let mut shell = Shell::with_checked_buffers();
    shell.service.set_clone_piece(PIECE);
    shell
}

fn long(name: &str, number: usize) -> String {
    format!("{name} {number} {}", ".".repeat(400))
}

fn write(shell: &mut Shell, producer: &mut MockProducer, name: &str, count: usize) -> Vec<String> {
    let texts: Vec<String> = (0..count).map(|number| long(name, number)).collect();
    for text in &texts {
        producer.write(shell, WRITER, BUFFER, &[payload(text)]);
    }
    texts
}

/// Copies in progress, and detached buffers.
fn copying(shell: &Shell) -> (usize, usize) {
    let held = shell.service.footprint();
    (held.copying, held.detached_buffers)
}

/// A source with packets, and a clone of it that was flushed and has its first piece.
fn being_copied(
    shell: &mut Shell,
    config: TraceConfig,
) -> (MockProducer, MockConsumer, Vec<String>, (MockConsumer, CallId)) {
    let (mut producer, source) = recording(shell, config);
    let texts = write(shell, &mut producer, "before", 30);
    let asked = ask(shell, 0, None);
    producer.ack_flush(shell, 2);
    assert_eq!(asked.0.cloned(shell, asked.1), None);
    assert_eq!(copying(shell), (1, 0));
    (producer, source, texts, asked)
}

fn of_version(version: usize) -> TraceConfig {
    let mut config = config(&["ds"]);
    if version == 2 {
        let mode = protos::TraceConfigBufferConfigExperimentalMode::TRACE_BUFFER_V2;
        config.buffers[0].experimental_mode = Some(mode);
    }
    config.buffers[0].size_kb = Some(256);
    config
}

/// The size of a piece is that of the service here.
#[test]
fn a_turn_copies_one_piece() {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.buffers[0].size_kb = Some(8 * 1024);
    let (mut producer, _source) = recording(&mut shell, config);
    let packet = payload(&"x".repeat(5 * service::limits::CLONE_PIECE_BYTES));
    write_large(&mut shell, &producer, &packet);
    let (clone, call) = ask(&mut shell, 0, None);
    producer.commands(&mut shell);
    producer.ack_flush(&mut shell, 2);
    let mut turns = 0;
    while copying(&shell).0 > 0 {
        assert!(turns < 10, "a clone is never copied");
        shell.turn();
        turns += 1;
    }
    assert_eq!(turns, 5, "and one piece before");
    assert!(clone.cloned(&mut shell, call).is_some());
}

#[test]
fn what_changes_meanwhile_is_not_in_the_clone() {
    for version in [1, 2] {
        let mut shell = shell();
        let (mut producer, source, texts, (clone, call)) =
            being_copied(&mut shell, of_version(version));
        let mut turns = 0;
        while copying(&shell).0 > 0 {
            assert_eq!(clone.cloned(&mut shell, call), None);
            // The service is due at once, and copies one piece.
            assert_eq!(shell.service.poll_timeout().map(|at| at.as_ns()), Some(shell.now_ns));
            write(&mut shell, &mut producer, "after", 5);
            if turns % 2 == 0 {
                source.read(&mut shell);
            }
            shell.now_ns += 1_000_000;
            shell.turn();
            turns += 1;
        }
        assert!((3..200).contains(&turns), "{turns} turns");
        done(&mut shell, &clone, call);
        assert_eq!(payloads(&clone.read(&mut shell)), texts);
        assert_eq!(copying(&shell), (0, 0));
    }
}

/// Each clone shows its own instant.
#[test]
fn clones_of_one_source_at_a_time() {
    let mut shell = shell();
    let (mut producer, _source, mut texts, (first, first_call)) =
        being_copied(&mut shell, of_version(2));
    texts.extend(write(&mut shell, &mut producer, "between", 2));
    let (second, second_call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 4);
    assert_eq!(copying(&shell), (2, 0));
    write(&mut shell, &mut producer, "after", 100);
    // The older clone comes first.
    while first.cloned(&mut shell, first_call).is_none() {
        assert_eq!(second.cloned(&mut shell, second_call), None);
        shell.turn();
    }
    assert_eq!(payloads(&first.read(&mut shell)), texts[..30]);
    shell.advance_ms(0);
    done(&mut shell, &second, second_call);
    assert_eq!(payloads(&second.read(&mut shell)), texts);
}

#[test]
fn the_source_goes_away_meanwhile() {
    for frees in [true, false] {
        let mut shell = shell();
        let (producer, source, texts, (clone, call)) = being_copied(&mut shell, of_version(1));
        if frees {
            source.free(&mut shell);
        } else {
            source.disconnect(&mut shell);
        }
        assert_eq!(shell.service.footprint().buffers, 0);
        assert_eq!(copying(&shell), (1, 1), "its buffer is kept for the clone");
        // Another buffer has its number now.
        let mut other = MockConsumer::connect(&mut shell, 0);
        other.enable(&mut shell, of_version(1), None);
        shell.turn();
        shell.advance_ms(0);
        assert_eq!(copying(&shell), (0, 0));
        done(&mut shell, &clone, call);
        assert_eq!(payloads(&clone.read(&mut shell)), texts);
        producer.disconnect(&mut shell);
    }
}

#[test]
fn the_source_ends_meanwhile() {
    let mut shell = shell();
    let (mut producer, source, texts, (clone, call)) = being_copied(&mut shell, of_version(1));
    source.disable(&mut shell);
    let more = write(&mut shell, &mut producer, "last", 1);
    shell.advance_ms(0);
    done(&mut shell, &clone, call);
    assert_eq!(payloads(&clone.read(&mut shell)), texts);
    assert_eq!(payloads(&source.read(&mut shell)).len(), texts.len() + more.len());
}

/// A second clone empties a buffer that the first one is still copying.
#[test]
fn the_buffer_is_cleared_meanwhile() {
    let mut shell = shell();
    let (mut producer, source) = {
        let mut config = of_version(1);
        config.buffers[0].clear_before_clone = Some(true);
        recording(&mut shell, config)
    };
    let (first, first_call) = ask(&mut shell, 0, None);
    let texts = write(&mut shell, &mut producer, "first", 20);
    producer.ack_flush(&mut shell, 2);
    assert_eq!(copying(&shell), (1, 0));
    let (second, second_call) = ask(&mut shell, 0, None);
    assert_eq!(copying(&shell), (1, 1));
    let more = write(&mut shell, &mut producer, "second", 20);
    producer.ack_flush(&mut shell, 4);
    shell.advance_ms(0);
    done(&mut shell, &first, first_call);
    done(&mut shell, &second, second_call);
    assert_eq!(payloads(&first.read(&mut shell)), texts);
    assert_eq!(payloads(&second.read(&mut shell)), more);
    assert_eq!(payloads(&source.read(&mut shell)), more);
    assert_eq!(copying(&shell), (0, 0));
}

#[test]
fn its_consumer_goes_away_meanwhile() {
    for source_too in [false, true] {
        let mut shell = shell();
        let (_producer, source, _, (clone, _)) = being_copied(&mut shell, of_version(1));
        if source_too {
            source.disconnect(&mut shell);
            assert_eq!(copying(&shell), (1, 1));
        }
        clone.disconnect(&mut shell);
        let held = shell.service.footprint();
        assert_eq!((held.copying, held.detached_buffers, held.pending_clones), (0, 0, 0));
        assert_eq!(held.sessions, usize::from(!source_too));
        assert_ne!(shell.service.poll_timeout().map(|at| at.as_ns()), Some(shell.now_ns));
    }
}

/// The consumer has enabled a session before the clone is complete.
#[test]
fn its_consumer_has_a_session_meanwhile() {
    let mut shell = shell();
    let (_producer, source, texts, (mut clone, call)) = being_copied(&mut shell, of_version(1));
    clone.enable(&mut shell, config(&[]), None);
    shell.advance_ms(0);
    let response = clone.cloned(&mut shell, call).expect("answered");
    assert!(response.error.unwrap().contains("already attached"));
    assert_eq!(copying(&shell), (0, 0));
    assert_eq!(payloads(&source.read(&mut shell)), texts);
}

/// An exclusive session ends pending clones, too.
#[test]
fn an_exclusive_session_or_the_end_comes_meanwhile() {
    for (ends, without_source) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut shell = shell();
        let (_producer, source, _, (clone, call)) = being_copied(&mut shell, of_version(1));
        if without_source {
            source.free(&mut shell);
        }
        if ends {
            shell.end_sessions("that is all");
        } else {
            let config = TraceConfig { exclusive_prio: Some(1), ..config(&[]) };
            MockConsumer::connect(&mut shell, 0).enable(&mut shell, config, None);
        }
        let expect = match (without_source, ends) {
            (false, _) => "Original session ended",
            (true, true) => "that is all",
            (true, false) => "aborted by a higher-priority (1)",
        };
        refused(&mut shell, &clone, call, expect);
        assert_eq!(copying(&shell), (0, 0));
    }
}

/// The parts of file and buffers that a clone has are settled before its bytes are copied.
#[test]
fn the_file_of_the_source_goes_on_meanwhile() {
    let mut shell = shell();
    let (mut producer, consumer, file) = into_file(&mut shell);
    let texts = write(&mut shell, &mut producer, "before", 30);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    consumer.disable(&mut shell);
    assert!(shell.files[&file].bytes.is_empty(), "not flushed yet");
    producer.ack_flush(&mut shell, 2);
    assert_eq!(copying(&shell), (1, 0));
    assert_eq!(payloads(&in_file(&shell, file)), texts);
    assert!(shell.files[&file].closed);
    assert!(shell.files[&copy].bytes.is_empty());
    consumer.disconnect(&mut shell);
    shell.advance_ms(0);
    done(&mut shell, &clone, call);
    assert_eq!(payloads(&in_file(&shell, copy)), texts);
    assert!(shell.files[&copy].closed);
}

/// A source with a file, from whose buffers a clone has taken "x", and is not copied yet.
struct Taken {
    _producers: [MockProducer; 2],
    source: MockConsumer,
    file: FileId,
    clone: MockConsumer,
    call: CallId,
    copy: FileId,
}

fn taken(shell: &mut Shell) -> Taken {
    let config = TraceConfig {
        write_into_file: Some(true),
        file_write_period_ms: Some(100_000),
        ..two_buffers()
    };
    let mut producers = ["a", "b"].map(|name| producer(shell, name));
    producers[0].register_name(shell, "a");
    producers[1].register_name(shell, "b");
    let mut source = MockConsumer::connect(shell, 0);
    let file = shell.open_file();
    source.enable(shell, config, Some(file));
    producers.iter_mut().for_each(|producer| drop(producer.commands(shell)));
    producers[0].write(shell, WRITER, TRANSFERRED, &[payload("x")]);
    for number in 0..60 {
        producers[1].write(shell, WRITER, COPIED, &[payload(&long("y", number))]);
    }
    let copy = shell.open_file();
    let (clone, call) = ask(shell, 0, Some(copy));
    producers[0].ack_flush(shell, 1);
    producers[1].ack_flush(shell, 2);
    assert_eq!(copying(shell), (1, 0), "all is taken, not all is copied");
    Taken { _producers: producers, source, file, clone, call, copy }
}

fn has_taken(shell: &Shell, file: FileId) -> bool {
    payloads(&in_file(shell, file)).contains(&"x".to_owned())
}

/// The file of the source is closed when it is settled who has the packets that the clone took.
#[test]
fn the_file_of_the_source_gets_what_a_clone_gives_back() {
    for fails in [true, false] {
        let mut shell = shell();
        let Taken { _producers, mut source, file, clone, call, copy } = taken(&mut shell);
        source.disable(&mut shell);
        assert!(!shell.files[&file].closed);
        assert_eq!(source.ended(&mut shell), None);
        if fails {
            clone.disconnect(&mut shell);
        } else {
            shell.advance_ms(0);
            done(&mut shell, &clone, call);
        }
        assert!(shell.files[&file].closed);
        assert_eq!(source.ended(&mut shell).as_deref(), Some(""));
        assert_eq!((has_taken(&shell, file), has_taken(&shell, copy)), (fails, !fails));
        assert_eq!(ledger::ledger(&mut shell, &source), []);
    }
}

/// The file of a freed session may not take long, but this one waits for a copy.
#[test]
fn the_file_of_a_freed_source_waits_for_its_clone() {
    let mut shell = shell();
    let Taken { _producers, source, file, clone, .. } = taken(&mut shell);
    source.free(&mut shell);
    shell.now_ns += service::limits::FREED_FILE_STALL_MS * 1_000_000;
    shell.turn();
    assert!(!shell.files[&file].closed);
    assert_eq!(copying(&shell), (1, 0));
    clone.disconnect(&mut shell);
    assert!(shell.files[&file].closed && has_taken(&shell, file));
    assert_eq!(shell.service.footprint().sessions, 0);
}

/// Clock snapshots, counters and numbers of sequences are those of the same instant as the bytes.
#[test]
fn the_source_is_read_meanwhile() {
    let mut shell = shell();
    let (_producer, source, texts, (clone, call)) = being_copied(&mut shell, of_version(2));
    let at_ns = shell.now_ns;
    shell.now_ns += 1_000_000_000;
    let of_source = source.read(&mut shell);
    assert_eq!(payloads(&of_source), texts);
    shell.advance_ms(0);
    done(&mut shell, &clone, call);
    let packets = clone.read(&mut shell);
    let snapshots = |packets: &[TracePacket]| {
        let of = |p: &&TracePacket| matches!(p.data, Some(TracePacketData::ClockSnapshot(_)));
        packets.iter().filter(of).map(|p| p.timestamp).collect::<Vec<_>>()
    };
    assert_eq!(snapshots(&packets), snapshots(&of_source));
    let ends = events(&packets, |event| matches!(event, Event::TracingDisabled(true)));
    assert_eq!(ends, [at_ns]);
    let numbers = |packets: &[TracePacket]| {
        let ours =
            packets.iter().filter(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
        ours.map(sequence).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&packets), numbers(&of_source));
}

/// A trigger after the instant of a clone is for the next clone.
#[test]
fn a_trigger_comes_meanwhile() {
    let mut shell = shell();
    let mut config = of_version(1);
    config.trigger_config = Some(protos::TraceConfigTriggerConfig {
        trigger_mode: Some(protos::TraceConfigTriggerConfigTriggerMode::CLONE_SNAPSHOT),
        triggers: ["a", "b"]
            .map(|name| protos::TraceConfigTriggerConfigTrigger {
                name: Some(name.into()),
                ..Default::default()
            })
            .into(),
        trigger_timeout_ms: Some(1000),
        ..Default::default()
    });
    let (mut producer, _source) = recording(&mut shell, config);
    let fire = |shell: &mut Shell, producer: &MockProducer, name: &str| {
        let request = protos::ActivateTriggersRequest {
            trigger_names: vec![name.into()],
            ..Default::default()
        };
        producer.call(shell, protos::producer_port::Request::ActivateTriggers(request));
    };
    let triggers = |packets: &[TracePacket]| {
        let of = |p: &TracePacket| match &p.data {
            Some(TracePacketData::Trigger(trigger)) => trigger.trigger_name.clone(),
            _ => None,
        };
        packets.iter().filter_map(of).collect::<Vec<_>>()
    };
    write(&mut shell, &mut producer, "before", 30);
    fire(&mut shell, &producer, "a");
    let (first, first_call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 2);
    assert_eq!(copying(&shell), (1, 0));
    fire(&mut shell, &producer, "b");
    shell.advance_ms(0);
    done(&mut shell, &first, first_call);
    assert_eq!(triggers(&first.read(&mut shell)), ["a"]);
    let (second, second_call) = ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 4);
    shell.advance_ms(0);
    done(&mut shell, &second, second_call);
    assert_eq!(triggers(&second.read(&mut shell)), ["b"]);
}

/// A buffer that fits into a piece is copied in the same turn; several at one instant share the piece.
#[test]
fn small_clones_are_made_at_once() {
    let mut shell = shell();
    let (mut producer, _source) = recording(&mut shell, of_version(2));
    let text = write(&mut shell, &mut producer, "small", 1);
    let asked = [ask(&mut shell, 0, None), ask(&mut shell, 0, None)];
    producer.ack_flush(&mut shell, 2);
    producer.ack_flush(&mut shell, 4);
    for (clone, call) in asked {
        done(&mut shell, &clone, call);
        assert_eq!(payloads(&clone.read(&mut shell)), text);
    }
}

/// What each buffer has is settled when it is taken. That is done in pieces, and the session pays for it.
#[test]
fn many_buffers_are_taken_in_pieces() {
    const BUFFERS: usize = 128;
    let mut shell = Shell::new();
    let names: Vec<String> = (0..BUFFERS).map(|n| format!("ds{n}")).collect();
    let mut config = config(&names.iter().map(String::as_str).collect::<Vec<_>>());
    config.buffers = vec![buffer(16); BUFFERS];
    for (index, source) in config.data_sources.iter_mut().enumerate() {
        source.config.as_mut().unwrap().target_buffer = Some(index as u32);
    }
    let mut source = MockConsumer::connect(&mut shell, 0);
    source.enable(&mut shell, config, None);
    let mut producer = producer(&mut shell, "p");
    for name in &names {
        producer.register_name(&mut shell, name);
    }
    producer.commands(&mut shell);
    for number in 1..=BUFFERS as u16 {
        let text = payload(&format!("in {number}"));
        producer.write(&mut shell, WriterId::new(number), BufferId::new(number), &[text]);
    }
    let (clone, call) = ask(&mut shell, 0, None);
    shell.advance_ms(1000);
    shell.work_waits = true;
    let before = shell.service.work();
    producer.ack_flush(&mut shell, 2);
    let cost = shell.service.work() - before;
    assert!(cost <= 2 * service::limits::WORK_PER_PEER, "{cost} at once");
    assert_eq!(clone.cloned(&mut shell, call), None);
    // The one who acknowledged its flush does not pay.
    assert!(shell.service.is_busy(source.client) && !shell.service.is_busy(producer.client));
    while shell.service.has_work() || shell.service.copies_clones() {
        shell.turn();
    }
    let cost = shell.service.work() - before;
    assert!(cost >= BUFFERS as u64 * service::limits::WORK_PER_REQUEST, "{cost}");
    assert_eq!(clone.cloned(&mut shell, call).unwrap().success, Some(true));
    shell.work_waits = false;
    assert_eq!(payloads(&clone.read(&mut shell)).len(), BUFFERS);
}

/// The index of a buffer, which is copied at once, costs its bytes.
#[test]
fn the_begin_of_a_copy_costs_what_the_index_has() {
    let mut costs = Vec::new();
    for chunks in [1, 1000] {
        let mut shell = Shell::new();
        let mut config = config(&["ds"]);
        config.buffers[0].size_kb = Some(4 * 1024);
        let (mut producer, _source) = recording(&mut shell, config);
        for _ in 0..chunks {
            producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
        }
        let (clone, call) = ask(&mut shell, 0, None);
        shell.advance_ms(1000);
        let before = shell.service.work();
        producer.ack_flush(&mut shell, 2);
        costs.push(shell.service.work() - before);
        while shell.service.copies_clones() {
            shell.turn();
        }
        assert_eq!(clone.cloned(&mut shell, call).unwrap().success, Some(true));
    }
    // An offset has four bytes.
    assert!(costs[1] >= costs[0] + 4 * 999, "{costs:?}");
}
