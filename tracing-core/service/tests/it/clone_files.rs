//! Clones of sessions that write into a file: the content of both files, and what happens when a file fails.

use super::clone::{ask, by_id, done, refused};
use super::files::started;
use super::*;

use abi::ids::FileId;
use testing::mock::decode_file;

/// A session that writes into a file every 100 s.
pub(super) fn into_file(shell: &mut Shell) -> (MockProducer, MockConsumer, FileId) {
    let config = TraceConfig {
        write_into_file: Some(true),
        file_write_period_ms: Some(100_000),
        flush_timeout_ms: Some(10),
        ..config(&["ds"])
    };
    started(shell, config)
}

pub(super) fn in_file(shell: &Shell, file: FileId) -> Vec<TracePacket> {
    decode_file(&shell.files[&file].bytes)
}

#[test]
fn clone_with_file_descriptor_no_write_into_file() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let file = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(file));
    producer.ack_flush(&mut shell, 2);
    assert_eq!(done(&mut shell, &clone, call).was_write_into_file, Some(false));
    assert!(shell.files[&file].closed && shell.files[&file].bytes.is_empty());
    assert_eq!(payloads(&clone.read(&mut shell)), ["x"]);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["x"]);
}

#[test]
fn write_into_file_clone_session_before_write() {
    let mut shell = Shell::new();
    let (mut producer, mut consumer, file) = into_file(&mut shell);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("payload-1")]);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    producer.ack_flush(&mut shell, 2);
    assert_eq!(done(&mut shell, &clone, call).was_write_into_file, Some(true));
    assert!(shell.files[&file].bytes.is_empty());
    assert_eq!(payloads(&in_file(&shell, copy)), ["payload-1"]);
    assert!(shell.files[&copy].closed);
    assert_eq!(kinds(&clone.read(&mut shell)), ["event ReadTracingBuffersCompleted"]);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("payload-2")]);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    assert_eq!(payloads(&in_file(&shell, file)), ["payload-1", "payload-2"]);
}

#[test]
fn write_into_file_clone_session_after_write() {
    let mut shell = Shell::new();
    let (mut producer, consumer, file) = into_file(&mut shell);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("payload-1")]);
    shell.advance_ms(100_010);
    assert_eq!(payloads(&in_file(&shell, file)), ["payload-1"]);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("payload-2")]);
    let before = shell.files[&file].bytes.clone();
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    shell.advance_ms(10);
    done(&mut shell, &clone, call);
    assert_eq!(payloads(&in_file(&shell, copy)), ["payload-1", "payload-2"]);
    assert!(shell.files[&copy].bytes.starts_with(&before));
    // One writer, so one sequence, in the copied part and behind it.
    let packets = in_file(&shell, copy);
    let own = packets.iter().filter(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
    assert_eq!(own.map(sequence).collect::<Vec<_>>(), [Some(2), Some(2)]);
    assert_eq!(shell.files[&file].bytes, before);
    consumer.disable(&mut shell);
    assert_eq!(payloads(&in_file(&shell, file)), ["payload-1", "payload-2"]);
}

#[test]
fn write_into_file_clone_session_lifecycle_events() {
    let mut shell = Shell::new();
    for has_file in [true, false] {
        let (producer, consumer, file, flushes) = if has_file {
            let (producer, consumer, file) = into_file(&mut shell);
            (producer, consumer, Some(file), 2)
        } else {
            let (producer, consumer) = recording(&mut shell, config(&["ds"]));
            (producer, consumer, None, 4)
        };
        let copy = file.map(|_| shell.open_file());
        let clone = MockConsumer::connect(&mut shell, 0);
        let id = shell.service.session_of(consumer.client).unwrap();
        let call = clone.clone_session(&mut shell, by_id(id.get()), copy);
        producer.ack_flush(&mut shell, flushes);
        done(&mut shell, &clone, call);
        let packets = match copy {
            Some(copy) => in_file(&shell, copy),
            None => clone.read(&mut shell),
        };
        let kinds = kinds(&packets);
        for kind in [
            "TraceConfig",
            "event TracingStarted",
            "event AllDataSourcesStarted",
            "event CloneStarted",
            "event FlushStarted",
            "event BufferCloned",
            "event TracingDisabled",
        ] {
            assert_eq!(kinds.iter().filter(|k| *k == kind).count(), 1, "{kind}: {kinds:?}");
        }
        let Some(TracePacketData::TraceStats(stats)) = &packets.last().unwrap().data else {
            panic!("{kinds:?}");
        };
        assert_eq!(stats.final_flush_outcome.unwrap().0, 1);
        consumer.disconnect(&mut shell);
        clone.disconnect(&mut shell);
        producer.disconnect(&mut shell);
    }
}

// ------------------------------------------------------------ tests that upstream does not have

#[test]
fn a_clone_needs_a_consumer_without_session_and_a_file_for_a_file() {
    let mut shell = Shell::new();
    let (_producer, consumer, _) = into_file(&mut shell);
    let (clone, call) = ask(&mut shell, 0, None);
    refused(&mut shell, &clone, call, "needs a file descriptor");
    let copy = shell.open_file();
    let call = consumer.clone_session(&mut shell, by_id(1), Some(copy));
    let response = consumer.cloned(&mut shell, call).unwrap();
    assert!(response.error.unwrap().contains("already attached"));
    assert!(shell.files[&copy].closed);
    // One at a time.
    let (copy, second) = (shell.open_file(), shell.open_file());
    clone.clone_session(&mut shell, by_id(1), Some(copy));
    let call = clone.clone_session(&mut shell, by_id(1), Some(second));
    assert_eq!(clone.cloned(&mut shell, call).unwrap().success, Some(false));
    assert!(shell.files[&second].closed && !shell.files[&copy].closed);
}

/// While a clone copies the file, the session writes nothing into it.
#[test]
fn the_file_of_the_source_holds_still() {
    let mut shell = Shell::new();
    let (mut producer, consumer, file) = into_file(&mut shell);
    shell.advance_ms(99_995);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    // The period of the file and its flush are over, but not the flush of the clone.
    consumer.disable(&mut shell);
    assert!(shell.files[&file].bytes.is_empty());
    shell.advance_ms(10);
    done(&mut shell, &clone, call);
    assert_eq!(payloads(&in_file(&shell, copy)), ["x"]);
    assert_eq!(payloads(&in_file(&shell, file)), ["x"]);
    assert!(shell.files[&file].closed && shell.files[&copy].closed);
}

/// Whichever file operation fails, the consumer is told, and all files are closed.
#[test]
fn a_clone_whose_file_cannot_be_written() {
    for number in 0.. {
        let mut shell = Shell::new();
        let (mut producer, consumer, file) = into_file(&mut shell);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
        shell.advance_ms(100_010);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("y")]);
        shell.fail_file_op = Some(shell.file_ops + number);
        let last = shell.file_ops + number;
        let copy = shell.open_file();
        let (clone, call) = ask(&mut shell, 0, Some(copy));
        shell.advance_ms(10);
        let response = clone.cloned(&mut shell, call).unwrap();
        assert!(shell.files[&copy].closed);
        assert!(!shell.files[&file].closed);
        if shell.file_ops <= last {
            assert_eq!(response.success, Some(true), "nothing failed");
            assert_eq!(number, 2, "copied, written");
            return;
        }
        assert!(response.error.unwrap().contains("fails"));
        assert_eq!(shell.service.footprint().sessions, 1);
        consumer.disconnect(&mut shell);
        assert!(shell.service.is_idle());
        assert_eq!(shell.service.footprint().buffers, 0);
    }
}

/// A session with a file, whose buffer goes to a clone.
fn transferred() -> TraceConfig {
    let mut config = TraceConfig {
        write_into_file: Some(true),
        file_write_period_ms: Some(100_000),
        flush_timeout_ms: Some(10),
        ..config(&["ds"])
    };
    config.buffers[0].transfer_on_clone = Some(true);
    config
}

/// A clone that took a buffer gives it back if the file cannot be copied. Once the clone is made it cannot.
#[test]
fn what_a_clone_took_whose_file_cannot_be_written() {
    for (number, told, read) in [(0, 0, &["x"][..]), (1, 1, &[]), (2, 0, &[])] {
        let mut shell = Shell::new();
        let (mut producer, consumer, file) = started(&mut shell, transferred());
        producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
        shell.fail_file_op = Some(shell.file_ops + number);
        let copy = shell.open_file();
        let (clone, call) = ask(&mut shell, 0, Some(copy));
        shell.advance_ms(10);
        let is_made = clone.cloned(&mut shell, call).unwrap().success == Some(true);
        assert_eq!(is_made, number == 2);
        let entries = ledger::ledger(&mut shell, &consumer);
        let failed = Some(protos::LossLedgerReason::REASON_CLONE_FAILED);
        assert_eq!(entries.iter().filter(|entry| entry.reason == failed).count(), told, "{number}");
        shell.fail_file_op = None;
        consumer.disable(&mut shell);
        assert_eq!(payloads(&in_file(&shell, file)), read, "{number}");
    }
}

/// The file of a clone is written to its end without the consumer of the clone. What the clone took is lost if that
/// fails, and if there was something.
#[test]
fn what_a_clone_took_whose_consumer_leaves() {
    for (payloads, fails, told) in [
        (&["x"][..], None, 0),
        (&["x"], Some(false), 1),
        (&["x"], Some(true), 1),
        (&[], Some(false), 0),
    ] {
        let mut shell = Shell::new();
        let (mut producer, consumer, _file) = started(&mut shell, transferred());
        payloads.iter().for_each(|p| producer.write(&mut shell, WRITER, BUFFER, &[payload(p)]));
        let copy = shell.open_file();
        let (clone, call) = ask(&mut shell, 0, Some(copy));
        shell.stuck.insert(copy);
        shell.advance_ms(10);
        assert!(clone.cloned(&mut shell, call).is_none());
        clone.disconnect(&mut shell);
        assert_eq!(shell.service.footprint().sessions, 2, "it is written yet");
        let result = match fails {
            None => Some(Ok(())),
            Some(false) => Some(Err(service::FileError { text: "No space left".into() })),
            Some(true) => None,
        };
        match result {
            Some(result) => shell.input(service::Input::FileWritten { file: copy, result }),
            None => shell.advance_ms(10_000),
        }
        assert_eq!(shell.service.footprint().sessions, 1);
        let entries = ledger::ledger(&mut shell, &consumer);
        let failed = Some(protos::LossLedgerReason::REASON_CLONE_FAILED);
        let count = entries.iter().filter(|entry| entry.reason == failed).count();
        assert_eq!(count, told, "{payloads:?} {fails:?}");
    }
}

/// A clone into a pipe that nobody reads delays the file of its source for a limited time, which is shorter when the
/// source ends.
#[test]
fn a_clone_that_cannot_be_written_is_given_up() {
    for ends in [false, true] {
        let mut shell = Shell::new();
        let config = TraceConfig { write_into_file: Some(true), ..config(&[]) };
        let mut owner = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        owner.enable(&mut shell, config, Some(file));
        let pipe = shell.open_file();
        shell.stuck.insert(pipe);
        let (cloner, call) = ask(&mut shell, 0, Some(pipe));
        let limit = if ends {
            owner.disable(&mut shell);
            5_000
        } else {
            25_000
        };
        shell.advance_ms(limit - 1);
        assert!(cloner.cloned(&mut shell, call).is_none());
        assert!(shell.files[&file].bytes.is_empty());
        assert_eq!(owner.ended(&mut shell), None);
        shell.advance_ms(1);
        let cloned = cloner.cloned(&mut shell, call).unwrap();
        assert!(cloned.error.unwrap().contains("too long"));
        assert!(shell.files[&pipe].closed);
        assert!(!shell.files[&file].bytes.is_empty());
        assert_eq!(owner.ended(&mut shell).is_some(), ends);
    }
}

/// The consumer that asked for the clone is told.
#[test]
fn a_clone_that_is_ended_while_it_is_written() {
    let mut shell = Shell::new();
    let _source = into_file(&mut shell);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    // The copy is done, but not the writes behind it.
    shell.stuck.insert(copy);
    shell.advance_ms(10);
    assert!(clone.cloned(&mut shell, call).is_none());
    let mut exclusive = MockConsumer::connect(&mut shell, 0);
    exclusive.enable(&mut shell, TraceConfig { exclusive_prio: Some(1), ..config(&[]) }, None);
    refused(&mut shell, &clone, call, "aborted by a higher-priority (1) exclusive session");
}

/// Packets that the source could not write are missing in copies, too, so the copies fail.
#[test]
fn a_clone_of_a_file_that_fails_meanwhile() {
    let mut shell = Shell::new();
    let (mut producer, _consumer, file) = into_file(&mut shell);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("x")]);
    shell.stuck.insert(file);
    shell.advance_ms(100_010);
    let copy = shell.open_file();
    let (clone, call) = ask(&mut shell, 0, Some(copy));
    let result = Err(service::FileError { text: "No space left".into() });
    shell.input(service::Input::FileWritten { file, result });
    refused(&mut shell, &clone, call, "No space left");
    assert!(shell.files[&copy].closed);
}
