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
fn waiting(name: &str, later: &[u8]) -> (Stopped, Stream, Sender<()>) {
    let (mut it, stream, end) = connected(name);
    send_with_memory(&mut it, &stream, &[BIND, &bring(2), later].concat());
    (it, stream, end)
}

/// A daemon with a connection. Memory waits to be mapped until the sender is dropped.
fn connected(name: &str) -> (Stopped, Stream, Sender<()>) {
    let mut it = Stopped::new(name);
    let stream = it.connect(1).remove(0);
    while it.connected() < 1 {
        it.daemon().accept(daemon::KEY_LISTENERS);
    }
    let (end, ends) = channel();
    it.daemon().engine.adopting.mapper().unmap(1, Busy(ends));
    (it, stream, end)
}

/// The daemon serves requests that come with memory.
fn send_with_memory(it: &mut Stopped, stream: &Stream, requests: &[u8]) {
    let region = shm::create(BYTES).unwrap();
    let sent = stream.send(&[IoSlice::new(requests)], Some(region.fd().unwrap().as_fd()));
    assert_eq!(sent, Ok(requests.len()));
    let keys = it.keys();
    it.serve(&keys, LATER);
}

/// Descriptors that count for the user of this process.
fn held(it: &mut Stopped) -> u64 {
    let counted = it.daemon().engine.counted.as_ref().unwrap();
    let mut account = protos::UserAccount::default();
    counted.connections.tell(User::Local(os::process::effective_uid()), &mut account);
    account.connection_descriptors.unwrap().held.unwrap()
}

/// Until the sockets of connections that are over are closed.
fn wait_for_sockets(it: &mut Stopped) {
    let counted = it.daemon().engine.counted.clone().unwrap();
    while counted.closer.pending() > 0 {
        std::thread::yield_now();
    }
}

/// Turns of the loop until nothing waits to be mapped or unmapped.
fn finish(it: &mut Stopped) {
    while it.daemon().engine.adopting.mapper().pending() > 0 {
        std::thread::yield_now();
    }
    it.daemon().engine.turn();
    it.daemon().flush(LATER);
}

#[test]
fn requests_wait_until_the_memory_is_mapped() {
    let (mut it, stream, end) = waiting("memory", GET_COMMANDS);
    let mut received = [0; 4096];
    let mut receive = || match stream.receive(&mut received) {
        Ok(Raw::Bytes(count, _)) => count,
        Ok(Raw::Nothing) => 0,
        other => panic!("{other:?}"),
    };
    assert!(receive() > 0, "the answer to its first frame");
    for _ in 0..3 {
        it.daemon().engine.turn();
        it.daemon().flush(LATER);
    }
    assert_eq!(receive(), 0);
    assert!(it.daemon().engine.backlog.is_empty(), "the loop sleeps");
    drop(end);
    finish(&mut it);
    let count = receive();
    // `using_shmem_provided_by_producer`, and the first command, which sets its memory up.
    let initialized = b"\x10\0\0\0\x10\x02\x32\x0c\x08\x01\x10\0\x1a\x06\x08\x01\x10\x01\x18\0";
    let set_up = b"\x0c\0\0\0\x10\x03\x32\x08\x08\x01\x10\x01\x1a\x02\x1a\0";
    assert_eq!(received[..count], [&initialized[..], set_up].concat());
}

/// What it sent before its end is handled, also what waits.
#[test]
fn a_producer_that_leaves_ends_when_its_memory_is_mapped() {
    let (mut it, stream, end) = waiting("memory-leaves", &[]);
    drop(stream);
    let keys = it.keys();
    let mut ready = Vec::new();
    for _ in 0..2 {
        it.serve(&keys, LATER);
        it.daemon().engine.turn();
        ready.clear();
        it.daemon().poller.wait(&mut ready, Some(Duration::ZERO)).unwrap();
    }
    assert!(ready.iter().all(|event| !keys.contains(&event.key)), "the loop sleeps: {ready:?}");
    assert_eq!(it.keys(), keys);
    drop(end);
    finish(&mut it);
    assert_eq!(it.keys(), []);
    finish(&mut it);
}

/// A producer is cut while its memory is mapped: the memory counts for its user until it is unmapped.
#[test]
fn a_producer_that_is_cut_while_its_memory_is_mapped_keeps_its_place() {
    let (mut it, stream, end) = waiting("memory-cut", &[]);
    let client = ClientId::new(it.keys()[0]);
    it.daemon().engine.end_connection(client, &Disconnect::StuckDescriptor);
    assert_eq!(it.keys(), []);
    // Comes behind the mapping, and keeps the thread from unmapping.
    let (end_of_unmapping, ends) = channel();
    it.daemon().engine.adopting.mapper().unmap(1, Busy(ends));
    drop(end);
    while it.daemon().engine.adopting.has(client) {
        it.daemon().engine.turn();
        std::thread::yield_now();
    }
    wait_for_sockets(&mut it);
    assert_eq!(held(&mut it), 1);
    drop(end_of_unmapping);
    finish(&mut it);
    assert_eq!(held(&mut it), 0);
    drop(stream);
}

/// A producer has left, and the service still works on what it sent: the memory counts for its user until it is freed.
#[test]
fn memory_that_the_service_needs_keeps_its_place() {
    let (mut it, stream, end) = waiting("memory-needed", &[]);
    drop(end);
    finish(&mut it);
    let client = ClientId::new(it.keys()[0]);
    assert_eq!(held(&mut it), 2, "its socket and its memory");
    // It has used up its allowance.
    let input = Input::FramesDecoded { client, refused: 1 << 12, bytes: 0 };
    it.daemon().engine.handle_input(input);
    drop(stream);
    let keys = it.keys();
    it.serve(&keys, LATER);
    assert_eq!(it.keys(), []);
    wait_for_sockets(&mut it);
    assert_eq!(held(&mut it), 1);
    while !it.daemon().engine.memory_of_gone.is_empty() {
        it.daemon().engine.turn();
    }
    finish(&mut it);
    assert_eq!(held(&mut it), 0);
}

#[test]
fn another_request_brings_no_memory() {
    let (mut it, stream, _end) = connected("memory-other");
    let client = ClientId::new(it.keys()[0]);
    send_with_memory(&mut it, &stream, &[BIND, GET_COMMANDS].concat());
    assert!(!it.daemon().engine.adopting.has(client));
    send_with_memory(&mut it, &stream, &bring(4));
    assert!(it.daemon().engine.adopting.has(client), "the request that may bring it comes later");
}

/// Only the first request of its kind brings memory: nobody waits for that of a second one.
#[test]
fn a_second_request_brings_no_memory() {
    let (mut it, stream, end) = waiting("memory-twice", &[]);
    let region = shm::create(BYTES).unwrap();
    let second = bring(3);
    let mut sent = stream.send(&[IoSlice::new(&second)], Some(region.fd().unwrap().as_fd()));
    if sent.is_err() {
        // The kernel refuses the descriptor (from Linux 6.16 on).
        sent = stream.send(&[IoSlice::new(&second)], None);
    }
    assert_eq!(sent, Ok(second.len()));
    let keys = it.keys();
    it.serve(&keys, LATER);
    let client = ClientId::new(keys[0]);
    assert!(it.daemon().engine.adopting.has(client));
    drop(end);
    finish(&mut it);
    it.serve(&keys, LATER);
    assert_eq!(it.daemon().engine.adopting.mapper().pending(), 0);
    assert!(!it.daemon().engine.adopting.has(client));
    let mut received = [0; 4096];
    let answers = match stream.receive(&mut received) {
        Ok(Raw::Bytes(count, _)) => &received[..count],
        other => panic!("{other:?}"),
    };
    // The answer to the second call: refused.
    let refused = b"\x10\x03\x32";
    let at = answers.windows(refused.len()).position(|bytes| bytes == refused);
    assert!(at.is_some(), "{answers:x?}");
    assert_eq!(it.keys(), keys, "the connection stays");
}
