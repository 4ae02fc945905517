//! What the buffers and clones of a user may take of the service's memory.

use super::accounts::{account, ask, item};
use super::clone::{self, done, refused};
use super::commits::stats;
use super::*;
use protos::TraceConfigBufferConfigExperimentalMode as Mode;
use protos::{TracingServiceState, UserAccountItem};

const MIB: u64 = 1 << 20;
const SERVICE_UID: u32 = 500;

/// What a buffer of so many KiB counts for, with its index and its histograms.
fn of(kb: u32) -> u64 {
    service::buffer::TraceBuffer::memory_bytes_max(kb as usize * 1024) as u64
}

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
    let half = 2 * of(2048) + of(4096);
    let mut shell = shell(2 * half);
    let two = enable(&mut shell, 42, &[2048, 2048]).expect("a quarter");
    let _one = enable(&mut shell, 42, &[4096]).expect("another one");
    let error = enable(&mut shell, 42, &[4]).expect_err("no room");
    // The smallest buffer has an index, too.
    let asked = of(4);
    assert!(asked > MIB);
    let expected = format!(
        "trace buffers too large: {asked} bytes with indexes are asked for, and user 42 has {half} of at most {half}: \
         use fewer or smaller buffers, end other sessions and clones, give the service more memory, or ask as root"
    );
    assert_eq!(error, expected);
    assert_eq!(Some(of_user(&mut shell, 42)), item(half, half, Some(1)));
    assert_eq!(shell.service.footprint().buffers, 3, "nothing is left of what was refused");
    two.free(&mut shell);
    assert_eq!(Some(of_user(&mut shell, 42)), item(of(4096), half, Some(1)));
    let again = enable(&mut shell, 42, &[4096]).expect("there is room again");
    again.disconnect(&mut shell);
    assert_eq!(charged(&shell), of(4096));
    // More than there is at all.
    let error = enable(&mut shell, 42, &[4_194_300; 128]).expect_err("no room");
    let held = format!("and user 42 has {} of at most {half}: use fewer", of(4096));
    assert!(error.contains(&held), "{error}");
}

#[test]
fn all_users_get_three_quarters_and_root_and_the_service_what_they_want() {
    let half = of(8192);
    let mut shell = shell(2 * half);
    let mut kept = vec![enable(&mut shell, 42, &[8192]).expect("half")];
    kept.push(enable(&mut shell, 43, &[3072]).expect("a quarter"));
    let error = enable(&mut shell, 44, &[512]).expect_err("no room");
    let (asked, total, most) = (of(512), half + of(3072), half / 2 * 3);
    let expected = format!(
        "trace buffers too large: {asked} bytes with indexes are asked for, and user 44 has 0 of at most {half}; users \
         other than root and that of the service have {total} of at most {most} together: use fewer or smaller \
         buffers, end other sessions and clones, give the service more memory, or ask as root"
    );
    assert_eq!(error, expected);
    for uid in [0, SERVICE_UID] {
        kept.push(enable(&mut shell, uid, &[20 * 1024]).expect("no limit"));
        let held = Some(of(20 * 1024));
        assert_eq!(
            of_user(&mut shell, uid as i32),
            UserAccountItem { held, ..Default::default() },
            "no max"
        );
    }
    let all = state(&mut shell).all_users.expect("all");
    assert_eq!(all.buffer_bytes, item(total, most, None));
    for consumer in kept {
        consumer.free(&mut shell);
    }
    assert_eq!(charged(&shell), 0);
}

#[test]
fn a_service_that_knows_no_memory_has_no_limit() {
    let mut shell = shell(0);
    enable(&mut shell, 42, &[64 * 1024; 16]).expect("as much as it likes");
    let held = Some(16 * of(64 * 1024));
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

/// Its copy may wait as long as the consumer likes.
#[test]
fn a_long_packet_is_on_the_account_of_the_user() {
    // So much that a packet may have more than 3 MB.
    let of_buffers = of(8192) + of(350 * 1024);
    for (free, is_left_out) in [(4_000_000, false), (1_500_000, true)] {
        let mut shell = shell(2 * (of_buffers + free));
        let buffers = vec![buffer(8192), buffer(350 * 1024)];
        let (producer, consumer) = filled(&mut shell, buffers, 1);
        let mut next = 1;
        // The length that was read, and kB that are on the account beside the buffers.
        let mut read = |shell: &mut Shell, len: usize| {
            let packet = payload(&"x".repeat(len));
            next = write_large_from(shell, &producer, next, &packet);
            let read = payloads(&consumer.read(shell)).concat().len();
            (read, (charged(shell) - of_buffers) / 1000)
        };
        assert_eq!(read(&mut shell, 1_000_000).1, 0);
        let expected = if is_left_out { (0, 0) } else { (3_000_000, 3000) };
        assert_eq!(read(&mut shell, 3_000_000), expected);
        let expected = (1_100_000, if is_left_out { 1100 } else { 3000 });
        assert_eq!(read(&mut shell, 1_100_000), expected);
        let left_out = Some(u64::from(is_left_out));
        assert_eq!(stats(&mut shell, &consumer).invalid_packets, left_out);
        consumer.free(&mut shell);
        assert_eq!(charged(&shell), 0);
    }
}

#[test]
fn clones_take_what_is_in_their_buffers() {
    // A clone has what is written, and a small index.
    const OF_CLONE: u64 = 360 << 10;
    let half = of(1024) + 3 * OF_CLONE;
    let mut shell = shell(2 * half);
    let (producer, consumer) = filled(&mut shell, vec![buffer(1024)], 300);
    assert_eq!(charged(&shell), of(1024));
    let mut clones = Vec::new();
    for number in 1..=3 {
        let (clone, call) = clone::ask(&mut shell, 42, None);
        producer.ack_flush(&mut shell, 2 * number);
        done(&mut shell, &clone, call);
        clones.push(clone);
        let of_clones = charged(&shell) - of(1024);
        assert!((300 << 10..OF_CLONE).contains(&(of_clones / number)), "{of_clones}");
    }
    let (clone, call) = clone::ask(&mut shell, 42, None);
    refused(&mut shell, &clone, call, "clone too large: ");
    let held = charged(&shell);
    let refused_by = format!("and user 42 has {held} of at most {half}: use fewer or");
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
    assert_eq!(of_user(&mut shell, 42).held, Some(of(1024)));
    of_root.free(&mut shell);
    consumer.free(&mut shell);
    assert_eq!(charged(&shell), 0);
}

/// A buffer that is emptied before a clone has an index at once, and the old one is freed in pieces.
#[test]
fn the_index_of_a_buffer_that_is_emptied_counts_until_it_is_freed() {
    let mut shell = shell(0);
    let emptied = TraceConfigBufferConfig { clear_before_clone: Some(true), ..buffer(4096) };
    let (producer, _consumer) = filled(&mut shell, vec![emptied], 1);
    write_each(&mut shell, (&producer, BUFFER), 2..5000, None);
    shell.work_waits = true;
    let before = charged(&shell);
    let (_clone, _) = clone::ask(&mut shell, 42, None);
    let index = 4000 * 300;
    assert!(charged(&shell) >= before + index, "{} after {before}", charged(&shell));
    for _ in 0..10 {
        shell.turn();
    }
    assert!(charged(&shell) < before + index, "{} after {before}", charged(&shell));
}

/// Clones share the config of their source, but each may be of another one, which is gone by then.
#[test]
fn clones_count_with_their_configs() {
    let name = |number: u32| format!("{number}{}", "n".repeat(50_000));
    let of_config = 50_000 * service::limits::CONFIG_BYTES_PER_ENCODED as u64;
    let half = of(64) + 5 * of_config;
    let mut shell = shell(2 * half);
    let mut clones = Vec::new();
    let made = (0..16).take_while(|number| {
        let mut consumer = MockConsumer::connect(&mut shell, 42);
        let config = TraceConfig { buffers: vec![buffer(64)], ..config(&[&name(*number)]) };
        consumer.enable(&mut shell, config, None);
        let clone = MockConsumer::connect(&mut shell, 42);
        let source = shell.service.last_session().get();
        let selector = Some(protos::CloneSessionRequestSelector::SessionId(source));
        let request = protos::CloneSessionRequest { selector, ..Default::default() };
        let call = clone.clone_session(&mut shell, request, None);
        let answer = clone.cloned(&mut shell, call).expect("answered");
        clones.push(clone);
        consumer.disconnect(&mut shell);
        answer.success == Some(true)
    });
    assert_eq!(made.count(), 4);
    let mut held = charged(&shell);
    assert!(held > 4 * of_config && held < half, "{held}");
    for clone in clones {
        clone.disconnect(&mut shell);
        assert!(charged(&shell) <= held);
        held = charged(&shell);
    }
    assert_eq!(held, 0);
}

#[test]
fn a_clone_that_is_refused_loses_nothing() {
    for by in [
        TraceConfigBufferConfig { transfer_on_clone: Some(true), ..buffer(640) },
        TraceConfigBufferConfig { clear_before_clone: Some(true), ..buffer(640) },
    ] {
        let half = 2 * of(640) + of(1280);
        let mut shell = shell(2 * half);
        let (mut producer, consumer) = filled(&mut shell, vec![by, buffer(1280)], 300);
        let _other = enable(&mut shell, 42, &[640]).expect("the rest");
        let second = BufferId::new(2);
        let writer = WriterId::new(2);
        producer.write(&mut shell, writer, second, &[payload("in the way")]);
        let (clone, call) = clone::ask(&mut shell, 42, None);
        refused(&mut shell, &clone, call, "clone too large: ");
        let lens: Vec<_> = payloads(&consumer.read(&mut shell)).iter().map(String::len).collect();
        assert_eq!(lens, [300 << 10, 10]);
        assert_eq!(charged(&shell), half);
        assert!(!shell.service.has_work());
    }
}

#[test]
fn what_comes_while_a_clone_waits_for_its_flush_counts() {
    let mut shell = shell(2 * (of(1536) + (600 << 10)));
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
    assert_eq!(charged(&shell), of(1536));
    assert_eq!(payloads(&consumer.read(&mut shell)).concat().len(), 700 << 10);
}

#[test]
fn a_clone_that_is_given_up_takes_nothing() {
    let mut shell = shell(4 * of(1024));
    let (_producer, consumer) = filled(&mut shell, vec![buffer(1024)], 300);
    let (clone, _) = clone::ask(&mut shell, 42, None);
    assert!(charged(&shell) > of(1024));
    clone.disconnect(&mut shell);
    assert_eq!(charged(&shell), of(1024));
    consumer.free(&mut shell);
    assert_eq!(charged(&shell), 0);
    assert_eq!(shell.service.footprint().accounts, 1, "the registration of the producer");
}

/// Commits a chunk with a packet of each of these writers, and reads what came now and then, if there is a reader.
pub(super) fn write_each(
    shell: &mut Shell,
    (producer, buffer): (&MockProducer, BufferId),
    writers: core::ops::Range<u16>,
    reader: Option<&MockConsumer>,
) {
    let writers: Vec<u16> = writers.collect();
    for some in writers.chunks(100) {
        let chunk = |writer: &u16| {
            let header = [&0_u32.to_le_bytes()[..], &writer.to_le_bytes(), &1_u16.to_le_bytes()];
            protos::CommitDataRequestChunksToMove {
                target_buffer: Some(buffer.get().into()),
                data: Some([&header.concat()[..], &[3, 0xa2, 0x38, 0]].concat()),
                ..Default::default()
            }
        };
        let chunks_to_move = some.iter().map(chunk).collect();
        let request = protos::CommitDataRequest { chunks_to_move, ..Default::default() };
        producer.call(shell, protos::producer_port::Request::CommitData(request));
        if let Some(reader) = reader {
            reader.read(shell);
        }
    }
}

/// What a clone knows of sequences that are long overwritten counts, too.
#[test]
fn sequences_of_a_clone_count() {
    const WRITERS: u16 = 60000;
    let mut shell = shell(16 * MIB);
    let (producer, consumer) = filled(&mut shell, vec![buffer(4)], 1);
    write_each(&mut shell, (&producer, BUFFER), 2..WRITERS + 2, Some(&consumer));
    let before = charged(&shell);
    let (clone, call) = clone::ask(&mut shell, 42, None);
    let asked = charged(&shell) - before;
    let sequences = u64::from(WRITERS) * service::limits::SEQUENCE_BYTES as u64;
    assert!((sequences..sequences + (512 << 10)).contains(&asked), "{asked} of {sequences}");
    producer.ack_flush(&mut shell, 2);
    done(&mut shell, &clone, call);
    assert_eq!(charged(&shell) - before, asked);
}

/// What a session knows of sequences is on the account of its user, and when that is full it knows no more of them.
#[test]
fn sequences_of_a_session_count() {
    const WRITERS: u16 = 60000;
    let piece = service::limits::SEQUENCES_PIECE_BYTES as u64;
    let half = of(4) + 3 * piece;
    let mut shell = shell(2 * half);
    let (producer, consumer) = filled(&mut shell, vec![buffer(4)], 1);
    assert_eq!(charged(&shell), of(4));
    write_each(&mut shell, (&producer, BUFFER), 2..9000, Some(&consumer));
    assert_eq!(charged(&shell), of(4) + 2 * piece);
    write_each(&mut shell, (&producer, BUFFER), 9000..WRITERS, Some(&consumer));
    assert_eq!(charged(&shell), half);
    let held = of_user(&mut shell, 42);
    assert_eq!(held.held, Some(half));
    assert!(held.refused.is_some(), "it is counted that there was no room");
    assert!(shell.service.fullest().sequences_per_session_max <= 4 * 4096);
    consumer.free(&mut shell);
    assert_eq!(charged(&shell), 0);
}

/// A chunk of each of very many writers makes the index of a buffer as large as it may be. All of it is on the account
/// of the user, so the buffers of two users do not exceed what the service may use.
#[test]
fn what_buffers_take_is_what_is_charged() {
    const BUFFERS: u16 = 2;
    let half = u64::from(BUFFERS) * of(1024);
    for mode in [None, Some(Mode::TRACE_BUFFER_V2)] {
        let mut shell = shell(2 * half + 16 * MIB);
        let one = || TraceConfigBufferConfig { experimental_mode: mode, ..buffer(1024) };
        let (_, consumer) = filled(&mut shell, (0..BUFFERS).map(|_| one()).collect(), 1);
        let mut producers = [producer(&mut shell, "p"), producer(&mut shell, "p")];
        for (number, producer) in producers.iter_mut().enumerate() {
            producer.register_name(&mut shell, "ds");
            producer.register_name(&mut shell, "other");
            producer.commands(&mut shell);
            for buffer in [1, BUFFERS] {
                let buffer = BufferId::new(buffer);
                let writers = 1..if number == 0 { 32_000 } else { 3_000 };
                write_each(&mut shell, (producer, buffer), writers, None);
            }
        }
        consumer.read(&mut shell);
        let held = shell.service.footprint();
        let bytes = held.buffer_bytes_used as u64;
        assert!(bytes <= charged(&shell), "{bytes}");
        assert!(bytes > 5 * MIB / 2, "full, with large indexes: {bytes}");
    }
}

/// A large chunk that overwrites many small ones costs what that takes, not only its own bytes.
#[test]
fn overwritten_chunks_cost_work() {
    let mut shell = shell(0);
    let (producer, _consumer) = filled(&mut shell, vec![buffer(64)], 1);
    let large = payload(&"x".repeat(29_000));
    let cost = |shell: &mut Shell, first| {
        let before = shell.service.work();
        write_large_from(shell, &producer, first, &large);
        shell.service.work() - before
    };
    let plain = cost(&mut shell, 1);
    // Each takes 32 bytes.
    write_each(&mut shell, (&producer, BUFFER), 2..2050, None);
    let more = cost(&mut shell, 2) - plain;
    let records = 29_000 / 32 - 8;
    assert!(more >= records * service::limits::WORK_PER_EVICTED, "{more} for {records}");
}
