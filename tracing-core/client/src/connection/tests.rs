//! The client over a real socket pair, against the host's state machine at the other end: what
//! `ipc::tests` shows over memory has to hold with the kernel in between.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use protos::producer_port::Request;
use protos::{InitializeConnectionRequest, SyncRequest};

use super::*;
use abi::ipc::port::ProducerPort;
use abi::ipc::{Host, HostEvent};
use os::shm;
use os::socket::{Received as Raw, Stream};

fn store(region: &Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.store(off, bytes) }
}

fn copy_out(region: &Region, off: usize, len: usize, out: &mut Vec<u8>) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.copy_out(off, len, out) }
}

/// As long as it takes: a machine under load must not make a test fail.
const FOREVER: Option<Duration> = None;

/// The other end of a connection, moved by hand.
struct Service {
    stream: Stream,
    host: Host<ProducerPort, OwnedFd>,
}

impl Service {
    fn pair() -> (SocketConnection<ProducerPort>, Self) {
        let (ours, theirs) = Stream::pair().unwrap();
        let client = SocketConnection::from_stream(ours).unwrap();
        (client, Self { stream: theirs, host: Host::default() })
    }

    /// Reads what is there, `step` bytes at a time, and says what came out.
    fn read(&mut self, step: usize) -> Vec<(Option<CallId>, Request, Option<OwnedFd>)> {
        let mut buf = vec![0; step];
        while let Raw::Bytes(count, fd) = self.stream.receive(&mut buf).unwrap() {
            self.host.receive(&buf[..count], fd).unwrap();
        }
        std::iter::from_fn(|| self.host.poll_event())
            .map(|event| match event {
                HostEvent::Call { call, request, fd } => (call, request, fd),
                HostEvent::PeerIdentity(_) => panic!("nobody sends one"),
            })
            .collect()
    }

    /// Writes all that waits, `step` bytes at a time.
    fn write(&mut self, step: usize) {
        while !self.host.outbox().is_empty() {
            let mut parts = Vec::new();
            let fd = self.host.outbox().next(&mut parts).map(AsFd::as_fd);
            // Nobody reads meanwhile, and the kernel takes some 270 messages however small.
            let cut = parts[0].len().min(step.max(4));
            let sent = self.stream.send(&[IoSlice::new(&parts[0][..cut])], fd).unwrap();
            assert!(sent > 0, "the socket is full");
            self.host.outbox().advance(sent);
        }
    }
}

fn sync() -> Request {
    Request::Sync(SyncRequest::default())
}

fn own_memory() -> Request {
    Request::InitializeConnection(InitializeConnectionRequest {
        producer_provided_shmem: Some(true),
        ..Default::default()
    })
}

fn done(call: CallId, body: &'static [u8], has_more: bool) -> Received {
    Received::Reply { call, result: Ok(body.to_vec()), has_more }
}

#[test]
fn calls_and_replies_in_pieces_of_any_size() {
    for step in [1, 2, 5, 1 << 16] {
        let (mut client, mut service) = Service::pair();
        let first = client.send(sync(), true, Attachment::None).unwrap();
        let second = client.send(sync(), false, Attachment::None).unwrap();
        assert_eq!(client.receive(Some(Duration::ZERO)), Received::TimedOut);
        assert!(service.read(step).is_empty(), "calls wait for the bind");
        service.write(step);
        assert_eq!(client.receive(Some(Duration::ZERO)), Received::TimedOut);
        let calls: Vec<_> = service.read(step).into_iter().map(|(call, ..)| call).collect();
        assert_eq!(calls, [Some(first), None]);
        assert_ne!(first, second);
        service.host.reply(first, Ok(b"a".to_vec()), true, None).unwrap();
        service.host.reply(first, Ok(Vec::new()), false, None).unwrap();
        service.write(step);
        assert_eq!(client.receive(FOREVER), done(first, b"a", true));
        assert_eq!(client.receive(FOREVER), done(first, b"", false));
    }
}

#[test]
fn memory_goes_both_ways() {
    for step in [1, 1 << 16] {
        let (mut client, mut service) = Service::pair();
        let ours = shm::create(8192).unwrap();
        let call = client.send(own_memory(), true, Attachment::Region(ours.clone())).unwrap();
        service.read(step);
        service.write(step);
        assert_eq!(client.receive(Some(Duration::ZERO)), Received::TimedOut);
        let (_, _, fd) = service.read(step).pop().unwrap();
        let theirs = shm::adopt(fd.unwrap()).unwrap();
        assert!(store(&ours, 0, b"from the producer"));
        let mut seen = Vec::new();
        assert!(copy_out(&theirs, 0, 17, &mut seen));
        assert_eq!(seen, b"from the producer");

        let memory = shm::create(4096).unwrap();
        let fd = memory.fd().unwrap().try_clone_to_owned().unwrap();
        service.host.reply(call, Ok(Vec::new()), false, Some(fd)).unwrap();
        service.write(step);
        assert_eq!(client.receive(FOREVER), done(call, b"", false));
        let mapped = client.take_region().unwrap().unwrap();
        assert!(store(&mapped, 4000, b"back"));
        seen.clear();
        assert!(copy_out(&memory, 4000, 4, &mut seen));
        assert_eq!(seen, b"back");
        assert!(client.take_region().is_none());
    }
}

#[test]
fn memory_that_could_shrink_is_refused() {
    let (mut client, mut service) = Service::pair();
    let call = client.send(sync(), true, Attachment::None).unwrap();
    service.read(64);
    service.write(64);
    let file = std::fs::File::open("/dev/zero").unwrap();
    service.host.reply(call, Ok(Vec::new()), false, Some(file.into())).unwrap();
    service.write(64);
    assert_eq!(client.receive(FOREVER), done(call, b"", false));
    assert_eq!(client.take_region().unwrap().unwrap_err(), MapError::NotMemory);
}

#[test]
fn replies_before_the_end_are_received() {
    let (mut client, mut service) = Service::pair();
    let answered = client.send(sync(), true, Attachment::None).unwrap();
    let open = client.send(sync(), true, Attachment::None).unwrap();
    service.read(64);
    service.write(64);
    assert_eq!(client.receive(Some(Duration::ZERO)), Received::TimedOut);
    service.read(64);
    service.host.reply(answered, Ok(b"bye".to_vec()), false, None).unwrap();
    service.write(64);
    drop(service);
    assert_eq!(client.receive(FOREVER), done(answered, b"bye", false));
    let rejected = Received::Reply { call: open, result: Err(Rejected), has_more: false };
    assert_eq!(client.receive(FOREVER), rejected);
    assert_eq!(client.receive(FOREVER), Received::Disconnected);
    assert_eq!(client.receive(None), Received::Disconnected, "for ever");
    let late = client.send(sync(), true, Attachment::None);
    assert_eq!(late.unwrap_err(), ConnectionError::Disconnected);
}

/// All that a service sends: the reply to the bind, and one reply to a call.
fn answer_to_first_call() -> Vec<u8> {
    let mut host = Host::<ProducerPort, OwnedFd>::default();
    host.receive(b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort", None).unwrap();
    host.reply(CallId::new(2), Ok(b"ok".to_vec()), false, None).unwrap();
    let mut parts = Vec::new();
    host.outbox().next(&mut parts);
    parts.iter().flat_map(|part| part.to_vec()).collect()
}

#[test]
fn a_service_that_disconnects_after_any_byte() {
    let script = answer_to_first_call();
    for cut in 0..=script.len() {
        let (mut client, service) = Service::pair();
        let call = client.send(sync(), true, Attachment::None).unwrap();
        assert_eq!(call, CallId::new(2));
        if cut > 0 {
            service.stream.send(&[IoSlice::new(&script[..cut])], None).unwrap();
        }
        drop(service);
        let expected = if cut == script.len() {
            done(call, b"ok", false)
        } else {
            Received::Reply { call, result: Err(Rejected), has_more: false }
        };
        assert_eq!(client.receive(FOREVER), expected, "after {cut} bytes");
        assert_eq!(client.receive(FOREVER), Received::Disconnected);
    }
}

/// A transport that cannot send, though the other side is there, and has sent something.
#[derive(Debug)]
struct Mute {
    arrived: Option<Vec<u8>>,
    is_closed: bool,
}

impl Transport for Mute {
    fn send(&mut self, _: &[IoSlice<'_>], _: Option<BorrowedFd<'_>>) -> Result<usize, OsError> {
        // ENOBUFS.
        Err(OsError::new("sendmsg", 105))
    }

    fn receive(&mut self, buf: &mut [u8]) -> Result<Raw, OsError> {
        Ok(match self.arrived.take() {
            _ if self.is_closed => Raw::End,
            Some(bytes) => {
                buf[..bytes.len()].copy_from_slice(&bytes);
                Raw::Bytes(bytes.len(), None)
            }
            None => Raw::Nothing,
        })
    }

    fn wait(&mut self, _: bool, _: Option<Duration>) -> Awake {
        assert!(self.is_closed, "it waits for an answer to what was never sent");
        Awake { readable: true, writable: true }
    }

    fn waker(&self) -> Box<dyn Fn() + Send + Sync> {
        Box::new(|| {})
    }

    fn close(&mut self) {
        self.is_closed = true;
    }
}

#[test]
fn a_connection_that_cannot_send_ends() {
    for arrived in [None, Some(answer_to_first_call())] {
        let is_answered = arrived.is_some();
        let transport = Mute { arrived, is_closed: false };
        let mut client = TransportConnection::<ProducerPort, Mute>::new(transport);
        let call = client.send(sync(), true, Attachment::None).unwrap();
        let expected = match is_answered {
            true => done(call, b"ok", false),
            false => Received::Reply { call, result: Err(Rejected), has_more: false },
        };
        assert_eq!(client.receive(FOREVER), expected);
        assert_eq!(client.receive(FOREVER), Received::Disconnected);
    }
}
