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

/// `InitializeConnection` with these hints.
fn bring() -> Vec<u8> {
    let request = InitializeConnectionRequest {
        producer_name: Some("brings".into()),
        shared_memory_size_hint_bytes: Some(BYTES as u32),
        shared_memory_page_size_hint_bytes: Some(4096),
        producer_provided_shmem: Some(true),
        ..Default::default()
    };
    let request = request.encode_to_vec();
    let mut call = vec![0x08, 1, 0x10, 1, 0x1a, request.len() as u8];
    call.extend(request);
    let mut frame = vec![call.len() as u8 + 4, 0, 0, 0, 0x10, 2, 0x2a, call.len() as u8];
    frame.extend(call);
    frame
}

/// A daemon with a producer that brings memory and sends `later` then. The memory waits to be mapped until the sender is
/// dropped.
fn waiting(name: &str, later: &[u8]) -> (Stopped, Stream, Sender<()>) {
    let mut it = Stopped::new(name);
    let stream = it.connect(1).remove(0);
    while it.connected() < 1 {
        it.daemon().accept(daemon::KEY_LISTENERS).unwrap();
    }
    let (end, ends) = channel();
    it.daemon().engine.adopting.mapper().unmap(1, Busy(ends));
    let region = shm::create(BYTES).unwrap();
    let requests = [BIND, &bring(), later].concat();
    let sent = stream.send(&[IoSlice::new(&requests)], Some(region.fd().unwrap().as_fd()));
    assert_eq!(sent, Ok(requests.len()));
    let keys = it.keys();
    it.serve(&keys, LATER);
    (it, stream, end)
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
