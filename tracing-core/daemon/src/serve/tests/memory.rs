//! Memory that producers bring: it is mapped on a thread, and unmapped there.

use super::*;
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, Sender, channel};

const BYTES: usize = 64 * 1024;

/// Keeps the thread of the mapper busy.
struct Busy(Receiver<()>);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.recv();
    }
}

/// `InitializeConnection` with these hints, as call number `call`.
fn bring(call: u8) -> Vec<u8> {
    let request = InitializeConnectionRequest {
        producer_name: Some("brings".into()),
        shared_memory_size_hint_bytes: Some(BYTES as u32),
        shared_memory_page_size_hint_bytes: Some(4096),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let request = request.encode_to_vec();
    let mut invoke = vec![0x08, 1, 0x10, 1, 0x1a, request.len() as u8];
    invoke.extend(request);
    let mut frame = vec![invoke.len() as u8 + 4, 0, 0, 0, 0x10, call, 0x2a, invoke.len() as u8];
    frame.extend(invoke);
    frame
}

/// A daemon with a producer that brings memory and sends `later` then. The memory waits to be mapped until the sender is
/// dropped.
fn waiting(name: &str, later: &[u8]) -> (ManualDaemon, Stream, Sender<()>) {
    let (mut daemon, stream, end) = connected(name);
    send_with_memory(&mut daemon, &stream, &[BIND, &bring(2), later].concat());
    (daemon, stream, end)
}

/// A daemon with a connection. Memory waits to be mapped until the sender is dropped.
fn connected(name: &str) -> (ManualDaemon, Stream, Sender<()>) {
    let mut daemon = ManualDaemon::new(name);
    let stream = daemon.connect(1).remove(0);
    while daemon.connected() < 1 {
        daemon.inner().accept(daemon::KEY_LISTENERS);
    }
    let (end, ends) = channel();
    daemon.inner().engine.producer_memory.mapper().unmap(1, Busy(ends));
    (daemon, stream, end)
}

/// The daemon serves requests that come with memory.
fn send_with_memory(daemon: &mut ManualDaemon, stream: &Stream, requests: &[u8]) {
    let region = shm::create(BYTES).unwrap();
    let sent = stream.send(&[IoSlice::new(requests)], Some(region.fd().unwrap().as_fd()));
    assert_eq!(sent, Ok(requests.len()));
    let keys = daemon.keys();
    daemon.serve(&keys, TIME_UNLIMITED);
}

/// Descriptors that count for the user of this process.
fn held(daemon: &mut ManualDaemon) -> u64 {
    let counted = daemon.inner().engine.counted.as_ref().unwrap();
    let mut account = protos::UserAccount::default();
    counted.connections.tell(PeerUser::Local(os::process::effective_uid()), &mut account);
    account.connection_descriptors.unwrap().held.unwrap()
}

/// Until the sockets of connections that are over are closed.
fn wait_for_sockets(daemon: &mut ManualDaemon) {
    let counted = daemon.inner().engine.counted.clone().unwrap();
    while counted.closer.pending() > 0 {
        std::thread::yield_now();
    }
}

/// Turns of the loop until nothing waits to be mapped or unmapped.
fn finish(daemon: &mut ManualDaemon) {
    while daemon.inner().engine.producer_memory.mapper().pending() > 0 {
        std::thread::yield_now();
    }
    daemon.inner().engine.run_turn(os::clock::boot_ns());
    daemon.inner().flush(Some(TIME_UNLIMITED));
}

#[test]
fn requests_wait_until_the_memory_is_mapped() {
    let (mut daemon, stream, end) = waiting("memory", GET_COMMANDS);
    let mut received = [0; 4096];
    let mut receive = || match stream.receive(&mut received) {
        Ok(Raw::Bytes(count, _)) => count,
        Ok(Raw::Nothing) => 0,
        other => panic!("{other:?}"),
    };
    assert!(receive() > 0, "the answer to its first frame");
    for _ in 0..3 {
        daemon.inner().engine.run_turn(os::clock::boot_ns());
        daemon.inner().flush(Some(TIME_UNLIMITED));
    }
    assert_eq!(receive(), 0);
    assert!(!daemon.inner().engine.fairness.has_backlog(), "the loop sleeps");
    drop(end);
    finish(&mut daemon);
    let count = receive();
    // `using_shmem_provided_by_producer`, and the first command, which sets its memory up.
    let initialized = b"\x10\0\0\0\x10\x02\x32\x0c\x08\x01\x10\0\x1a\x06\x08\x01\x10\x01\x18\0";
    let set_up = b"\x0c\0\0\0\x10\x03\x32\x08\x08\x01\x10\x01\x1a\x02\x1a\0";
    assert_eq!(received[..count], [&initialized[..], set_up].concat());
}

/// Leaves. A close is not enough: a thread or process that another test starts may have a copy of the
/// descriptor for a moment.
fn leave(stream: Stream) {
    while matches!(stream.receive(&mut [0; 4096]), Ok(Raw::Bytes(..))) {}
    stream.shutdown();
}

/// What it sent before its end is handled, also what waits.
#[test]
fn a_producer_that_leaves_ends_when_its_memory_is_mapped() {
    let (mut daemon, stream, end) = waiting("memory-leaves", &[]);
    leave(stream);
    let keys = daemon.keys();
    let mut ready = Vec::new();
    for _ in 0..2 {
        daemon.serve(&keys, TIME_UNLIMITED);
        daemon.inner().engine.run_turn(os::clock::boot_ns());
        ready.clear();
        daemon.inner().poller.wait(&mut ready, Some(Duration::ZERO)).unwrap();
    }
    assert!(ready.iter().all(|event| !keys.contains(&event.key)), "the loop sleeps: {ready:?}");
    assert_eq!(daemon.keys(), keys);
    drop(end);
    finish(&mut daemon);
    assert_eq!(daemon.keys(), []);
    finish(&mut daemon);
}

/// A producer is cut while its memory is mapped: the memory counts for its user until it is unmapped.
#[test]
fn a_producer_that_is_cut_while_its_memory_is_mapped_keeps_its_place() {
    let (mut daemon, stream, end) = waiting("memory-cut", &[]);
    let client = ClientId::new(daemon.keys()[0]);
    daemon.inner().engine.end_connection(client, &Disconnect::StuckDescriptor);
    assert_eq!(daemon.keys(), []);
    // Comes behind the mapping, and keeps the thread from unmapping.
    let (end_of_unmapping, ends) = channel();
    daemon.inner().engine.producer_memory.mapper().unmap(1, Busy(ends));
    drop(end);
    while daemon.inner().engine.producer_memory.has(client) {
        daemon.inner().engine.run_turn(os::clock::boot_ns());
        std::thread::yield_now();
    }
    // What was sent to it keeps the place of its socket until it is received.
    while matches!(stream.receive(&mut [0; 4096]), Ok(Raw::Bytes(..))) {}
    daemon.inner().unreceived.close_received(os::clock::boot_ns);
    wait_for_sockets(&mut daemon);
    assert_eq!(held(&mut daemon), 1);
    drop(end_of_unmapping);
    finish(&mut daemon);
    assert_eq!(held(&mut daemon), 0);
    drop(stream);
}

/// A producer has left, and the service still works on what it sent: the memory counts for its user until it is freed.
#[test]
fn memory_that_the_service_needs_keeps_its_place() {
    let (mut daemon, stream, end) = waiting("memory-needed", &[]);
    drop(end);
    finish(&mut daemon);
    let client = ClientId::new(daemon.keys()[0]);
    assert_eq!(held(&mut daemon), 2, "its socket and its memory");
    // It has used up its allowance.
    let input = Input::FramesDecoded { client, refused: 1 << 12, bytes: 0 };
    daemon.inner().engine.handle_input(input);
    leave(stream);
    let keys = daemon.keys();
    daemon.serve(&keys, TIME_UNLIMITED);
    assert_eq!(daemon.keys(), []);
    wait_for_sockets(&mut daemon);
    assert_eq!(held(&mut daemon), 1);
    while daemon.inner().engine.producer_memory.has_places() {
        daemon.inner().engine.run_turn(os::clock::boot_ns());
    }
    finish(&mut daemon);
    assert_eq!(held(&mut daemon), 0);
}

#[test]
fn another_request_brings_no_memory() {
    let (mut daemon, stream, _end) = connected("memory-other");
    let client = ClientId::new(daemon.keys()[0]);
    send_with_memory(&mut daemon, &stream, &[BIND, GET_COMMANDS].concat());
    assert!(!daemon.inner().engine.producer_memory.has(client));
    send_with_memory(&mut daemon, &stream, &bring(4));
    assert!(
        daemon.inner().engine.producer_memory.has(client),
        "the request that may bring it comes later"
    );
}

/// Only the first request of its kind brings memory: nobody waits for that of a second one.
#[test]
fn a_second_request_brings_no_memory() {
    let (mut daemon, stream, end) = waiting("memory-twice", &[]);
    let region = shm::create(BYTES).unwrap();
    let second = bring(3);
    let mut sent = stream.send(&[IoSlice::new(&second)], Some(region.fd().unwrap().as_fd()));
    if sent.is_err() {
        // The kernel refuses the descriptor (from Linux 6.16 on).
        sent = stream.send(&[IoSlice::new(&second)], None);
    }
    assert_eq!(sent, Ok(second.len()));
    let keys = daemon.keys();
    daemon.serve(&keys, TIME_UNLIMITED);
    let client = ClientId::new(keys[0]);
    assert!(daemon.inner().engine.producer_memory.has(client));
    drop(end);
    finish(&mut daemon);
    daemon.serve(&keys, TIME_UNLIMITED);
    assert_eq!(daemon.inner().engine.producer_memory.mapper().pending(), 0);
    assert!(!daemon.inner().engine.producer_memory.has(client));
    let mut received = [0; 4096];
    let answers = match stream.receive(&mut received) {
        Ok(Raw::Bytes(count, _)) => &received[..count],
        other => panic!("{other:?}"),
    };
    // The answer to the second call: refused.
    let refused = b"\x10\x03\x32";
    let at = answers.windows(refused.len()).position(|bytes| bytes == refused);
    assert!(at.is_some(), "{answers:x?}");
    assert_eq!(daemon.keys(), keys, "the connection stays");
}
