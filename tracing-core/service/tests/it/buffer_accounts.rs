//! What the buffers and clones of a user may take of the service's memory.

use super::accounts::{account, ask, item};
use super::clone::{self, done, refused};
use super::*;
use protos::{TracingServiceState, UserAccountItem};

const MIB: u64 = 1 << 20;
const SERVICE_UID: u32 = 500;

/// A service that may use so much memory.
fn shell(memory_bytes: u64) -> Shell {
    Shell::with(|config| {
        config.uid = SERVICE_UID;
        config.memory_bytes = memory_bytes;
    })
}

/// Asks for a session with buffers of these sizes. The error, if there is none.
fn enable(shell: &mut Shell, uid: u32, kb: &[u32]) -> Result<MockConsumer, String> {
    let mut consumer = MockConsumer::connect(shell, uid);
    let buffers = kb.iter().map(|kb| buffer(*kb)).collect();
    consumer.enable(shell, TraceConfig { buffers, ..config(&[]) }, None);
    match consumer.ended(shell) {
        Some(error) => Err(error),
        None => Ok(consumer),
    }
}

fn state(shell: &mut Shell) -> TracingServiceState {
    let root = MockConsumer::connect(shell, 0);
    let (state, _) = ask(shell, &root);
    root.disconnect(shell);
    state
}

fn of_user(shell: &mut Shell, uid: i32) -> UserAccountItem {
    account(&state(shell), uid).buffer_bytes.clone().expect("an item")
}

fn charged(shell: &Shell) -> u64 {
    let footprint = shell.service.footprint();
    assert_eq!(footprint.buffer_bytes, footprint.buffer_bytes_charged);
    footprint.buffer_bytes as u64
}

#[test]
fn one_user_gets_half_of_the_memory() {
    let mut shell = shell(16 * MIB);
    let two = enable(&mut shell, 42, &[2048, 2048]).expect("a quarter");
    let _one = enable(&mut shell, 42, &[4096]).expect("another one");
    let error = enable(&mut shell, 42, &[4]).expect_err("no room");
    // The smallest buffer has an index, too.
    let expected = "trace buffers too large: 655360 bytes are asked for, and user 42 has 8388608 of at \
                    most 8388608: use smaller buffers, end other sessions and clones, or ask as root";
    assert_eq!(error, expected);
    let half = 8 * MIB;
    assert_eq!(Some(of_user(&mut shell, 42)), item(half, half, Some(1)));
    assert_eq!(shell.service.footprint().buffers, 3, "nothing is left of what was refused");
    two.free(&mut shell);
    assert_eq!(Some(of_user(&mut shell, 42)), item(half / 2, half, Some(1)));
    let again = enable(&mut shell, 42, &[4096]).expect("there is room again");
    again.disconnect(&mut shell);
    assert_eq!(charged(&shell), half / 2);
    // More than there is at all.
    let error = enable(&mut shell, 42, &[4_194_300; 128]).expect_err("no room");
    assert!(error.contains("and user 42 has 4194304 of at most 8388608: use smaller"), "{error}");
}

#[test]
fn all_users_get_three_quarters_and_root_and_the_service_what_they_want() {
    let mut shell = shell(16 * MIB);
    let mut kept = vec![enable(&mut shell, 42, &[8192]).expect("half")];
    kept.push(enable(&mut shell, 43, &[4096]).expect("a quarter"));
    let error = enable(&mut shell, 44, &[512]).expect_err("no room");
    let expected = "trace buffers too large: 655360 bytes are asked for, and user 44 has 0 of at most \
                    8388608; users other than root and that of the service have 12582912 of at most \
                    12582912 together: use smaller buffers, end other sessions and clones, or ask as root";
    assert_eq!(error, expected);
    for uid in [0, SERVICE_UID] {
        kept.push(enable(&mut shell, uid, &[20 * 1024]).expect("no limit"));
        let held = Some(20 * MIB);
        assert_eq!(
            of_user(&mut shell, uid as i32),
            UserAccountItem { held, ..Default::default() },
            "no max"
        );
    }
    let all = state(&mut shell).all_users.expect("all");
    assert_eq!(all.buffer_bytes, item(12 * MIB, 12 * MIB, None));
    for consumer in kept {
        consumer.free(&mut shell);
    }
    assert_eq!(charged(&shell), 0);
}

#[test]
fn a_service_that_knows_no_memory_has_no_limit() {
    let mut shell = shell(0);
    enable(&mut shell, 42, &[64 * 1024; 16]).expect("as much as it likes");
    let held = Some(1024 * MIB);
    assert_eq!(of_user(&mut shell, 42), UserAccountItem { held, ..Default::default() });
}

#[test]
fn a_session_that_is_not_set_up_takes_nothing() {
    let mut shell = shell(16 * MIB);
    enable(&mut shell, 42, &[1024, 0]).expect_err("an invalid size");
    assert_eq!(charged(&shell), 0);
    shell.create_error = Some("no".into());
    let mut consumer = MockConsumer::connect(&mut shell, 42);
    let (write_into_file, output_path) = (Some(true), Some("/trace".into()));
    let config = TraceConfig { write_into_file, output_path, ..config(&[]) };
    consumer.enable(&mut shell, config, None);
    assert!(consumer.ended(&mut shell).expect("refused").contains("failed to create"));
    assert_eq!(charged(&shell), 0);
}

/// A user's producer and session with these buffers, the first of which has `kib` of data. Its sources write to the
/// first and the last one.
fn filled(
    shell: &mut Shell,
    buffers: Vec<TraceConfigBufferConfig>,
    kib: usize,
) -> (MockProducer, MockConsumer) {
    let mut producer = producer(shell, "p");
    producer.register_name(shell, "ds");
    producer.register_name(shell, "other");
    let mut consumer = MockConsumer::connect(shell, 42);
    let mut config = config(&["ds", "other"]);
    if let Some(other) = &mut config.data_sources[1].config {
        other.target_buffer = Some(buffers.len() as u32 - 1);
    }
    consumer.enable(shell, TraceConfig { buffers, ..config }, None);
    producer.commands(shell);
    write_large(shell, &producer, &payload(&"x".repeat(kib << 10)));
    (producer, consumer)
}

#[test]
fn clones_take_what_is_in_their_buffers() {
    let mut shell = shell(4 * MIB);
    let (producer, consumer) = filled(&mut shell, vec![buffer(1024)], 300);
    assert_eq!(charged(&shell), MIB);
    let mut clones = Vec::new();
    for number in 1..=3 {
        let (clone, call) = clone::ask(&mut shell, 42, None);
        producer.ack_flush(&mut shell, 2 * number);
        done(&mut shell, &clone, call);
        clones.push(clone);
        let of_clones = charged(&shell) - MIB;
        assert!((300 << 10..330 << 10).contains(&(of_clones / number)), "{of_clones}");
    }
    let (clone, call) = clone::ask(&mut shell, 42, None);
    refused(&mut shell, &clone, call, "clone too large: ");
    let held = charged(&shell);
    let refused_by = format!("and user 42 has {held} of at most 2097152: use smaller buffers");
    let error = &shell.log.last().expect("a line").1;
    assert!(error.contains(&refused_by), "{error}");
    // Root is not limited, and pays for its clone itself.
    let (of_root, call) = clone::ask(&mut shell, 0, None);
    producer.ack_flush(&mut shell, 8);
    done(&mut shell, &of_root, call);
    assert_eq!(of_user(&mut shell, 42).held, Some(held));
    for clone in clones {
        assert_eq!(payloads(&clone.read(&mut shell)).concat().len(), 300 << 10);
        clone.free(&mut shell);
    }
    assert_eq!(of_user(&mut shell, 42).held, Some(MIB));
    of_root.free(&mut shell);
    consumer.free(&mut shell);
    assert_eq!(charged(&shell), 0);
}

#[test]
fn a_clone_that_is_refused_loses_nothing() {
    for by in [
        TraceConfigBufferConfig { transfer_on_clone: Some(true), ..buffer(640) },
        TraceConfigBufferConfig { clear_before_clone: Some(true), ..buffer(640) },
    ] {
        let mut shell = shell(5 * MIB);
        let (mut producer, consumer) = filled(&mut shell, vec![by, buffer(1280)], 300);
        let _other = enable(&mut shell, 42, &[640]).expect("the rest");
        let second = BufferId::new(2);
        let writer = WriterId::new(2);
        producer.write(&mut shell, writer, second, &[payload("in the way")]);
        let (clone, call) = clone::ask(&mut shell, 42, None);
        refused(&mut shell, &clone, call, "clone too large: ");
        let lens: Vec<_> = payloads(&consumer.read(&mut shell)).iter().map(String::len).collect();
        assert_eq!(lens, [300 << 10, 10]);
        assert_eq!(charged(&shell), 5 * MIB / 2);
        assert!(!shell.service.has_work());
    }
}

#[test]
fn what_comes_while_a_clone_waits_for_its_flush_counts() {
    let mut shell = shell(4 * MIB);
    let (producer, consumer) = filled(&mut shell, vec![buffer(1536)], 100);
    let (clone, call) = clone::ask(&mut shell, 42, None);
    let at_first = charged(&shell);
    let next = write_large_from(&mut shell, &producer, 4, &payload(&"y".repeat(200 << 10)));
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    assert!(charged(&shell) > at_first + (200 << 10));
    clone.free(&mut shell);
    let (clone, call) = clone::ask(&mut shell, 42, None);
    write_large_from(&mut shell, &producer, next, &payload(&"z".repeat(400 << 10)));
    producer.ack_flush(&mut shell, 4);
    refused(&mut shell, &clone, call, "clone too large: ");
    assert_eq!(charged(&shell), 1536 << 10);
    assert_eq!(payloads(&consumer.read(&mut shell)).concat().len(), 700 << 10);
}

#[test]
fn a_clone_that_is_given_up_takes_nothing() {
    let mut shell = shell(4 * MIB);
    let (_producer, consumer) = filled(&mut shell, vec![buffer(1024)], 300);
    let (clone, _) = clone::ask(&mut shell, 42, None);
    assert!(charged(&shell) > MIB);
    clone.disconnect(&mut shell);
    assert_eq!(charged(&shell), MIB);
    consumer.free(&mut shell);
    assert_eq!(charged(&shell), 0);
    assert_eq!(shell.service.footprint().accounts, 1, "the registration of the producer");
}

/// What a clone knows of sequences that are long overwritten counts, too.
#[test]
fn sequences_of_a_clone_count() {
    const WRITERS: u16 = 60000;
    let mut shell = shell(16 * MIB);
    let (producer, consumer) = filled(&mut shell, vec![buffer(4)], 1);
    let before = charged(&shell);
    let writers: Vec<u16> = (2..WRITERS + 2).collect();
    for some in writers.chunks(100) {
        let chunk = |writer: &u16| {
            let header = [&0_u32.to_le_bytes()[..], &writer.to_le_bytes(), &1_u16.to_le_bytes()];
            protos::CommitDataRequestChunksToMove {
                target_buffer: Some(BUFFER.get().into()),
                data: Some([&header.concat()[..], &[3, 0xa2, 0x38, 0]].concat()),
                ..Default::default()
            }
        };
        let chunks_to_move = some.iter().map(chunk).collect();
        let request = protos::CommitDataRequest { chunks_to_move, ..Default::default() };
        producer.call(&mut shell, protos::producer_port::Request::CommitData(request));
        consumer.read(&mut shell);
    }
    let (clone, call) = clone::ask(&mut shell, 42, None);
    let asked = charged(&shell) - before;
    let sequences = u64::from(WRITERS) * service::limits::SEQUENCE_BYTES as u64;
    assert!((sequences..sequences + (512 << 10)).contains(&asked), "{asked} of {sequences}");
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    assert_eq!(charged(&shell) - before, asked);
}
