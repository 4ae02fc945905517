//! write_into_file: by descriptor and by path, its periods, its limit, its failures.

use super::*;
use abi::ids::FileId;
use protos::{EnableTracingRequest, TraceConfigWriteFlushMode as Mode};
use service::limits;
use service::{Input, Output};
use testing::mock::decode_file;
use testing::shell::MemoryFile;

fn into_file(sources: &[&str]) -> TraceConfig {
    TraceConfig { write_into_file: Some(true), ..config(sources) }
}

fn file(shell: &Shell, id: FileId) -> &MemoryFile {
    &shell.files[&id]
}

/// A session that writes into a descriptor.
pub(super) fn started(
    shell: &mut Shell,
    config: TraceConfig,
) -> (MockProducer, MockConsumer, FileId) {
    let mut producer = producer(shell, "p");
    producer.register_name(shell, "ds");
    let mut consumer = MockConsumer::connect(shell, 0);
    let file = shell.open_file();
    consumer.enable(shell, config, Some(file));
    producer.commands(shell);
    (producer, consumer, file)
}

#[test]
fn exactly_one_of_descriptor_and_path() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, into_file(&[]), None);
    assert!(consumer.ended(&mut shell).unwrap().contains("exactly one"));
    let both = TraceConfig { output_path: Some("/x".into()), ..into_file(&[]) };
    let fd = shell.open_file();
    consumer.enable(&mut shell, both, Some(fd));
    assert!(consumer.ended(&mut shell).unwrap().contains("exactly one"));
    assert!(file(&shell, fd).closed);
    assert!(shell.service.is_idle());
    // A descriptor that the config does not need is closed at once.
    let fd = shell.open_file();
    consumer.enable(&mut shell, config(&[]), Some(fd));
    assert!(file(&shell, fd).closed);
}

/// A disk that takes nothing makes the service keep two pieces in addition to the buffer.
#[test]
fn a_stuck_file_has_two_pieces_in_flight() {
    let mut shell = Shell::new();
    let mut config = into_file(&["ds"]);
    config.buffers[0].size_kb = Some(4096);
    let (mut producer, consumer, id) = started(&mut shell, config);
    shell.stuck.insert(id);
    for _ in 0..600 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&"x".repeat(3000))]);
    }
    shell.advance_ms(60_000);
    consumer.disable(&mut shell);
    shell.advance_ms(1000);
    let waiting = &file(&shell, id).waiting;
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|len| *len < (128 + 8) * 1024), "{waiting:?}");
}

/// One with a long packet is in flight alone.
#[test]
fn nothing_follows_a_long_packet_until_it_is_written() {
    let mut shell = Shell::new();
    let mut config = into_file(&["ds"]);
    config.buffers[0].size_kb = Some(8192);
    let (producer, consumer, id) = started(&mut shell, config);
    shell.stuck.insert(id);
    let long = payload(&"x".repeat(2_000_000));
    let next = write_large_from(&mut shell, &producer, 0, &long);
    write_large_from(&mut shell, &producer, next, &long);
    shell.advance_ms(60_000);
    consumer.disable(&mut shell);
    shell.advance_ms(1000);
    let waiting = &file(&shell, id).waiting;
    assert!(waiting.len() == 1 && waiting[0] > 2_000_000, "{waiting:?}");
}

#[test]
fn write_into_file_with_path() {
    let mut shell = Shell::new();
    let config = TraceConfig { output_path: Some("/traces/x".into()), ..into_file(&["ds"]) };
    let (mut producer, mut consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let file = shell.files.values().next().unwrap();
    assert_eq!((file.path.as_str(), file.closed), ("/traces/x", true));
    assert!(file.syncs > 0);
    let packets = decode_file(&file.bytes);
    assert_eq!(payloads(&packets), ["a"]);
    assert_eq!(kinds(&packets).last().unwrap(), "TraceStats");
}

/// A refused session leaves no empty file, which would make the next request fail.
#[test]
fn a_refused_session_creates_no_file() {
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = TraceConfig { output_path: Some("/x".into()), ..into_file(&[]) };
    config.buffers = vec![protos::TraceConfigBufferConfig::default()];
    consumer.enable(&mut shell, config, None);
    assert!(consumer.ended(&mut shell).unwrap().contains("Invalid buffer sizes"));
    assert!(shell.files.is_empty());
    assert!(shell.service.is_idle());
}

#[test]
fn a_path_that_cannot_be_created() {
    let mut shell = Shell::new();
    shell.create_error = Some("File exists".into());
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let config = TraceConfig { output_path: Some("/x".into()), ..into_file(&[]) };
    consumer.enable(&mut shell, config, None);
    assert_eq!(consumer.ended(&mut shell).unwrap(), "failed to create /x: File exists");
    assert!(shell.service.is_idle());
    // The consumer may try again.
    shell.create_error = None;
    consumer.enable(&mut shell, into_file(&[]), None);
    assert!(consumer.ended(&mut shell).is_some());
}

#[test]
fn written_at_each_period_and_valid_in_between() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        file_write_period_ms: Some(100),
        write_flush_mode: Some(Mode(2)),
        ..into_file(&["ds"])
    };
    let (mut producer, mut consumer, id) = started(&mut shell, config);
    let mut expect = Vec::new();
    for round in 0..3 {
        let text = round.to_string();
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&text)]);
        expect.push(text);
        assert_eq!(payloads(&decode_file(&file(&shell, id).bytes)).len(), round);
        shell.advance_ms(100);
        assert_eq!(payloads(&decode_file(&file(&shell, id).bytes)), expect);
    }
    // Meanwhile reads over IPC get nothing.
    assert_eq!(consumer.read(&mut shell), []);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert!(file(&shell, id).closed);
    assert_eq!(kinds(&consumer.read(&mut shell)), ["event ReadTracingBuffersCompleted"]);
}

fn with_mode(mode: Mode) -> TraceConfig {
    let write_flush_mode = Some(mode);
    TraceConfig { file_write_period_ms: Some(10_000), write_flush_mode, ..into_file(&["ds"]) }
}

#[test]
fn flush_before_write_into_file() {
    let mut shell = Shell::new();
    let (mut producer, _consumer, id) = started(&mut shell, with_mode(Mode(0)));
    shell.advance_ms(10_000);
    assert!(file(&shell, id).bytes.is_empty());
    assert_eq!(words(&mut shell, &mut producer), ["flush 1 of [1] flags 0x11"]);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("flushed")]);
    producer.ack_flush(&mut shell, 1);
    assert_eq!(payloads(&decode_file(&file(&shell, id).bytes)), ["flushed"]);
}

#[test]
fn no_flush_before_write_into_file() {
    let mut shell = Shell::new();
    let (mut producer, _consumer, id) = started(&mut shell, with_mode(Mode(2)));
    shell.advance_ms(10_000);
    assert!(words(&mut shell, &mut producer).is_empty());
    let packets = decode_file(&file(&shell, id).bytes);
    assert!(!packets.is_empty() && payloads(&packets).is_empty());
}

/// A reader of a damaged file finds the next packet behind each marker.
#[test]
fn resynchronize_trace_stream_using_sync_marker() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        file_write_period_ms: Some(100),
        write_flush_mode: Some(Mode(2)),
        builtin_data_sources: Some(protos::TraceConfigBuiltinDataSource {
            snapshot_interval_ms: Some(100),
            ..Default::default()
        }),
        ..into_file(&["ds"])
    };
    let (mut producer, mut consumer, id) = started(&mut shell, config);
    for index in 0..6 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&index.to_string())]);
        shell.advance_ms(100);
    }
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let bytes = &file(&shell, id).bytes;
    let marker = [
        0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0,
        0x79,
    ];
    let ends = (16..=bytes.len()).filter(|at| bytes[at - 16..*at] == marker);
    let ends: Vec<usize> = ends.collect();
    assert!(ends.len() >= 5, "{} markers", ends.len());
    let mut pieces = Vec::new();
    let mut from = 0;
    for to in ends.into_iter().chain([bytes.len()]) {
        pieces.extend(decode_file(&bytes[from..to]));
        from = to;
    }
    assert_eq!(pieces, decode_file(bytes));
    assert_eq!(payloads(&pieces).len(), 6);
}

#[test]
fn flush_failures_do_not_stop_the_file() {
    let mut shell = Shell::new();
    let config = TraceConfig { file_write_period_ms: Some(10_000), ..into_file(&["ds"]) };
    let (_producer, _consumer, id) = started(&mut shell, config);
    shell.advance_ms(15_000);
    assert!(!file(&shell, id).bytes.is_empty(), "written after the flush timed out");
}

#[test]
fn write_into_file_and_stop_on_max_size() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        max_file_size_bytes: Some(1024),
        buffers: vec![buffer(1024)],
        file_write_period_ms: Some(100),
        write_flush_mode: Some(Mode(2)),
        builtin_data_sources: Some(protos::TraceConfigBuiltinDataSource {
            disable_trace_config: Some(true),
            ..Default::default()
        }),
        ..into_file(&["ds"])
    };
    let (mut producer, mut consumer, id) = started(&mut shell, config);
    for index in 0..100 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&format!("{index:010}"))]);
    }
    shell.advance_ms(100);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    // What did not fit is lost, and told.
    let [entry] = &crate::ledger::ledger(&mut shell, &consumer)[..] else { panic!() };
    assert_eq!(entry.reason, Some(protos::LossLedgerReason::REASON_FILE_FULL));
    assert_eq!(
        (entry.count, entry.at_least, entry.producer_name.as_deref()),
        (Some(0), Some(true), None)
    );
    let file = file(&shell, id);
    assert!(file.closed && file.bytes.len() < 1024);
    let packets = decode_file(&file.bytes);
    let texts = payloads(&packets);
    assert!(!texts.is_empty() && texts.len() < 100, "{}", texts.len());
    // The next packet, with tag and length, would reach the limit; no other packet takes its place.
    let last = packets.last().unwrap();
    assert!(matches!(last.data, Some(TracePacketData::ForTesting(_))), "{last:?}");
    let len = protozero::Message::encode_to_vec(last).len();
    assert!(file.bytes.len() + 2 + len >= 1024, "{} bytes, and {len} more", file.bytes.len());
    assert!(texts.iter().enumerate().all(|(i, t)| *t == format!("{i:010}")));
}

/// The first packet that does not fit ends the file: what follows it would lack it.
#[test]
fn behind_a_packet_of_the_service_that_does_not_fit_there_is_nothing() {
    let written = |bytes_max: u64| {
        let mut shell = Shell::new();
        let config = TraceConfig {
            max_file_size_bytes: Some(bytes_max),
            unique_session_name: Some("x".repeat(2000)),
            ..into_file(&["ds"])
        };
        let (mut producer, mut consumer, id) = started(&mut shell, config);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
        consumer.disable(&mut shell);
        assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
        assert!(file(&shell, id).closed);
        kinds(&decode_file(&file(&shell, id).bytes))
    };
    let all = written(0);
    let config = all.iter().position(|kind| kind == "TraceConfig").unwrap();
    assert!(config > 0 && config + 1 < all.len(), "{all:?}");
    assert_eq!(written(1500), all[..config]);
}

/// A period in which nothing happened costs no write.
#[test]
fn nothing_is_written_where_there_is_nothing() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        file_write_period_ms: Some(100),
        write_flush_mode: Some(Mode(2)),
        builtin_data_sources: Some(protos::TraceConfigBuiltinDataSource {
            disable_service_events: Some(true),
            ..Default::default()
        }),
        ..into_file(&["ds"])
    };
    let (mut producer, _consumer, id) = started(&mut shell, config);
    shell.advance_ms(100);
    let (before, len) = (shell.file_ops, file(&shell, id).bytes.len());
    assert!(len > 0, "it begins with the packets of the service");
    shell.advance_ms(500);
    assert_eq!((shell.file_ops, file(&shell, id).bytes.len()), (before, len));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    shell.advance_ms(100);
    assert_eq!(shell.file_ops, before + 1);
}

#[test]
fn large_buffers_are_written_in_passes() {
    let mut shell = Shell::new();
    let config = TraceConfig { buffers: vec![buffer(8192)], ..into_file(&["ds"]) };
    let (mut producer, mut consumer, id) = started(&mut shell, config);
    for index in 0..1000 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&format!("{index:03000}"))]);
    }
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(payloads(&decode_file(&file(&shell, id).bytes)).len(), 1000);
}

/// Most bytes are on the disk when the session waits for the rest.
#[test]
fn a_disk_begins_before_a_large_file_is_complete() {
    let mut shell = Shell::new();
    let config = TraceConfig { buffers: vec![buffer(32_768)], ..into_file(&["ds"]) };
    let (mut producer, consumer, id) = started(&mut shell, config);
    for _ in 0..3500 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&"x".repeat(3000))]);
    }
    shell.advance_ms(100);
    assert_eq!(file(&shell, id).syncs_begun, 0, "while it is recorded it goes as the system likes");
    consumer.disable(&mut shell);
    let file = file(&shell, id);
    let times = file.bytes.len() / (limits::FILE_SYNC_BYTES + limits::FILE_PIECE_BYTES);
    assert_eq!((file.syncs_begun, file.syncs), (times, 1));
    assert!(times >= 2);
}

/// Two pieces are in flight and a third is ready: these answers arrive, and the end is reported.
fn answered(answers: &[Result<(), &str>]) -> Vec<Option<String>> {
    let mut shell = Shell::new();
    let config = TraceConfig { buffers: vec![buffer(8192)], ..into_file(&["ds"]) };
    let (mut producer, mut consumer, file) = started(&mut shell, config);
    for _ in 0..100 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&"x".repeat(3000))]);
    }
    shell.stuck.insert(file);
    consumer.disable(&mut shell);
    let answer = |result: &Result<(), &str>| {
        let result = result.map_err(|text| service::FileError { text: text.into() });
        shell.input(Input::FileWritten { file, result });
        consumer.ended(&mut shell)
    };
    let ends = answers.iter().map(answer).collect();
    consumer.disconnect(&mut shell);
    assert!(shell.service.is_idle());
    ends
}

#[test]
fn a_file_is_complete_when_all_pieces_are_answered() {
    let end = Some(String::new());
    assert_eq!(answered(&[Ok(()), Ok(()), Ok(())]), [None, None, end]);
}

#[test]
fn only_the_first_failure_is_reported() {
    let no_space = "writing the trace file failed: No space left".to_owned();
    let fails = [Err("No space left"), Err("the file is closed")];
    assert_eq!(answered(&fails), [Some(no_space.clone()), None]);
    let fails = [Ok(()), Err("No space left"), Err("the file is closed")];
    assert_eq!(answered(&fails), [None, Some(no_space), None]);
}

#[test]
fn a_full_disk_ends_the_session_with_that_error() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        file_write_period_ms: Some(100),
        write_flush_mode: Some(Mode(2)),
        ..into_file(&["ds"])
    };
    let (mut producer, mut consumer, id) = started(&mut shell, config);
    shell.advance_ms(100);
    let good = file(&shell, id).bytes.clone();
    shell.write_error = Some("No space left on device".into());
    producer.write(&mut shell, WRITER, BUFFER, &[payload("lost")]);
    shell.advance_ms(100);
    assert_eq!(
        consumer.ended(&mut shell).unwrap(),
        "writing the trace file failed: No space left on device"
    );
    let told = shell.log.iter().position(|line| line.1.contains("No space left on device"));
    assert_eq!(shell.log_uids[told.unwrap()], Some(0), "the user of the session");
    assert_eq!(words(&mut shell, &mut producer), ["stop 1"]);
    assert_eq!(file(&shell, id).bytes, good, "poisoned: nothing more is written");
    consumer.free(&mut shell);
    assert!(shell.service.is_idle());
}

#[test]
fn an_error_of_the_last_write_reaches_the_consumer_too() {
    let mut shell = Shell::new();
    let (mut producer, mut consumer, _) = started(&mut shell, into_file(&["ds"]));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("lost")]);
    shell.write_error = Some("Input/output error".into());
    consumer.disable(&mut shell);
    assert!(consumer.ended(&mut shell).unwrap().contains("Input/output error"));
    consumer.disconnect(&mut shell);
    assert!(shell.service.is_idle());
}

#[test]
fn the_file_of_a_consumer_that_disconnects_is_complete() {
    let mut shell = Shell::new();
    let (mut producer, consumer, id) = started(&mut shell, into_file(&["ds"]));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("kept")]);
    consumer.disconnect(&mut shell);
    assert!(shell.service.is_idle());
    assert!(file(&shell, id).closed);
    let packets = decode_file(&file(&shell, id).bytes);
    assert_eq!(payloads(&packets), ["kept"]);
    assert_eq!(kinds(&packets).last().unwrap(), "TraceStats");
}

#[test]
fn write_into_file_final_stats() {
    let mut shell = Shell::new();
    let config = TraceConfig {
        file_write_period_ms: Some(100),
        write_flush_mode: Some(Mode(2)),
        ..into_file(&["ds"])
    };
    let (mut producer, consumer, id) = started(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    shell.advance_ms(100);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("b")]);
    consumer.disable(&mut shell);
    let packets = decode_file(&file(&shell, id).bytes);
    let stats = packets.iter().rev().find_map(|p| match &p.data {
        Some(TracePacketData::TraceStats(stats)) => Some(stats),
        _ => None,
    });
    assert_eq!(stats.unwrap().buffer_stats[0].chunks_written, Some(2));
}

/// Fails the first file operation, then the second, and so on for all of them.
#[test]
fn every_file_operation_may_fail() {
    for number in 0.. {
        let mut shell = Shell::new();
        shell.fail_file_op = Some(number);
        let config = TraceConfig {
            output_path: Some("/x".into()),
            file_write_period_ms: Some(100),
            write_flush_mode: Some(Mode(2)),
            ..into_file(&["ds"])
        };
        let (mut producer, mut consumer) = recording(&mut shell, config);
        for _ in 0..3 {
            if producer.smb.is_some() {
                producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
            }
            shell.advance_ms(100);
        }
        consumer.disable(&mut shell);
        let end = consumer.ended(&mut shell).expect("the end is always said");
        consumer.disconnect(&mut shell);
        assert!(shell.service.is_idle());
        assert!(shell.files.values().all(|f| f.closed));
        // The bytes before the failure are there, in whole packets, and none after it.
        assert_eq!(shell.files.len(), usize::from(number > 0));
        for file in shell.files.values() {
            let packets = decode_file(&file.bytes);
            assert_eq!(payloads(&packets).len(), number.saturating_sub(1).min(3));
            assert_eq!(packets.is_empty(), number == 1);
        }
        if shell.file_ops <= number {
            assert_eq!(end, "", "nothing failed");
            assert_eq!(number, 5, "created, written three times, and once more at the end");
            return;
        }
        assert!(end.contains(&format!("operation {number} fails")), "{end}");
    }
}

/// The service ends: everything that reached it is written into the files first, and consumers are told the reason.
#[test]
fn the_end_of_the_service_completes_files() {
    let mut shell = Shell::new();
    let (mut producer, mut consumer, id) = started(&mut shell, into_file(&["ds"]));
    let detached = {
        let mut one = MockConsumer::connect(&mut shell, 0);
        let id = shell.open_file();
        one.enable(&mut shell, into_file(&["none"]), Some(id));
        let request = protos::DetachRequest { key: Some("k".into()), ..Default::default() };
        one.call(&mut shell, protos::consumer_port::Request::Detach(request));
        id
    };
    let mut reader = MockConsumer::connect(&mut shell, 0);
    reader.enable(&mut shell, config(&["ds"]), None);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a"), payload("b")]);
    shell.end_sessions("the end");
    assert!(shell.service.is_idle());
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some("the end"));
    assert_eq!(reader.ended(&mut shell).as_deref(), Some("the end"));
    assert!(file(&shell, id).closed && file(&shell, detached).closed);
    let packets = decode_file(&file(&shell, id).bytes);
    assert_eq!(payloads(&packets), ["a", "b"]);
    assert_eq!(kinds(&packets).last().unwrap(), "TraceStats");
    assert_eq!(kinds(&decode_file(&file(&shell, detached).bytes)).last().unwrap(), "TraceStats");
}

#[test]
fn a_consumer_that_leaves_before_the_priority_is_set_leaves_no_file_open() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    let client = consumer.client;
    let mut config = config(&["ds"]);
    config.write_into_file = Some(true);
    config.priority_boost = Some(protos::PriorityBoostConfig {
        policy: Some(protos::PriorityBoostConfigBoostPolicy::POLICY_SCHED_OTHER),
        priority: Some(5),
        ..Default::default()
    });
    let request = EnableTracingRequest {
        trace_config: Some(config.into()),
        ..EnableTracingRequest::default()
    };
    let request = protos::consumer_port::Request::EnableTracing(request);
    let (file, now) = (shell.open_file(), shell.now());
    let enable = Input::ConsumerRequest { client, call: None, request, file: Some(file) };
    shell.service.handle(&now, enable);
    let asked =
        std::iter::from_fn(|| shell.service.poll_output()).find_map(|output| match output {
            Output::SetPriority { token, .. } => Some(token),
            _ => None,
        });
    shell.input(Input::ConsumerDisconnected { client });
    shell.input(Input::PrioritySet { token: asked.expect("a boost"), result: Ok(()) });
    assert!(shell.files[&file].closed);
    assert_eq!(shell.service.footprint(), Default::default());
}

/// A pipe that nobody reads keeps a session after its end for a limited time, and does not affect other users.
#[test]
fn files_that_take_nothing_are_given_up() {
    let mut shell = Shell::new();
    let leave_one = |shell: &mut Shell, uid| {
        let mut consumer = MockConsumer::connect(shell, uid);
        let id = shell.open_file();
        shell.stuck.insert(id);
        consumer.enable(shell, into_file(&[]), Some(id));
        let ended = consumer.ended(shell);
        consumer.disconnect(shell);
        ended
    };
    for _ in 0..5 {
        assert_eq!(leave_one(&mut shell, 7), None);
    }
    assert!(leave_one(&mut shell, 7).unwrap().contains("for uid 7"));
    let footprint = shell.service.footprint();
    assert_eq!((footprint.sessions, footprint.buffers), (5, 5));
    assert_eq!(leave_one(&mut shell, 8), None);
    shell.advance_ms(9_999);
    assert_eq!(shell.service.footprint().sessions, 6);
    shell.advance_ms(1);
    assert!(shell.service.is_idle());
    assert_eq!(shell.service.footprint().buffers, 0);
    // Except that of the refused session: the close of a stuck file is stuck, too.
    assert_eq!(shell.files.values().filter(|file| !file.closed).count(), 1);
    assert_eq!(leave_one(&mut shell, 7), None);
}

/// An exclusive session does not wait for the files of those that it ended.
#[test]
fn exclusive_sessions_do_not_wait_for_files() {
    let mut shell = Shell::new();
    for uid in 1..=15 {
        let mut consumer = MockConsumer::connect(&mut shell, uid);
        let id = shell.open_file();
        shell.stuck.insert(id);
        consumer.enable(&mut shell, into_file(&[]), Some(id));
    }
    let mut one = MockConsumer::connect(&mut shell, 1);
    one.enable(&mut shell, config(&[]), None);
    assert!(one.ended(&mut shell).unwrap().contains("too many"));
    let mut root = MockConsumer::connect(&mut shell, 0);
    root.enable(&mut shell, TraceConfig { exclusive_prio: Some(1), ..config(&[]) }, None);
    assert_eq!(root.ended(&mut shell), None);
}

#[test]
fn a_file_that_comes_with_another_request_is_closed() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    let stranger = abi::ids::ClientId::new(1 << 40);
    for client in [consumer.client, stranger] {
        let fd = shell.open_file();
        let request = service::ConsumerRequest::DisableTracing(Default::default());
        shell.call_consumer(client, request, Some(fd));
        assert!(file(&shell, fd).closed, "{client:?}");
    }
}
