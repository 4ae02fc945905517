//! What needs no protocol: bytes that are no frames, many connections, descriptors of every kind.

use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use abi::ipc::port::ProducerPort;
use client::connection::{Attachment, Connection as _, SocketConnection};
use os::socket::Stream;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::Target;
use crate::hostile::Random;
use crate::requests::{self, Known};

/// Connections that are held at a time.
const HELD: u64 = 40;

pub(super) fn attack(target: &Target, random: &mut Random) {
    match random.below(4) {
        0 => flood(target, random),
        1 => garbage(target, random),
        2 => urgent(target, random),
        _ => descriptors(target, random),
    }
}

/// Opens many connections and says nothing.
fn flood(target: &Target, random: &mut Random) {
    let port = if random.below(2) == 0 { &target.producers } else { &target.consumers };
    let held: Vec<_> = (0..random.below(HELD)).filter_map(|_| Stream::connect(port).ok()).collect();
    std::thread::yield_now();
    drop(held);
}

fn garbage(target: &Target, random: &mut Random) {
    let port = if random.below(2) == 0 { &target.producers } else { &target.consumers };
    let Ok(stream) = Stream::connect(port) else { return };
    for _ in 0..random.below(30) {
        let mut bytes = random.bytes(3000);
        if random.below(2) == 0 && bytes.len() > 4 {
            // A frame of that length, at least.
            let length = (bytes.len() - 4) as u32;
            bytes[..4].copy_from_slice(&length.to_le_bytes());
        }
        if stream.send(&[IoSlice::new(&bytes)], None).is_err() {
            return;
        }
    }
}

/// Passes descriptors where the protocol expects shared memory, a file, or none.
fn descriptors(target: &Target, random: &mut Random) {
    let Ok(mut link) = SocketConnection::<ProducerPort>::connect(&target.producers) else { return };
    let mut known = Known::default();
    for _ in 0..random.below(40) {
        let attachment = descriptor(random).map_or(Attachment::None, Attachment::File);
        if link.send(requests::request(random, &mut known), true, attachment).is_err() {
            return;
        }
    }
}

/// Passes a descriptor with an urgent byte, in front of others or alone.
fn urgent(target: &Target, random: &mut Random) {
    let port = if random.below(2) == 0 { &target.producers } else { &target.consumers };
    let Ok(stream) = Stream::connect(port) else { return };
    for _ in 0..random.below(4) {
        let Some(passed) = descriptor(random) else { return };
        let passed = [passed.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&passed));
        let bytes = [IoSlice::new(&[0])];
        let flags = SendFlags::OOB | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if sendmsg(&stream, &bytes, &mut control, flags).is_err() {
            return;
        }
        let after = random.bytes(8);
        let _ = stream.send(&[IoSlice::new(&after)], None);
    }
}

pub(super) fn descriptor(random: &mut Random) -> Option<OwnedFd> {
    match random.below(9) {
        0 => File::open("/dev/zero").ok().map(OwnedFd::from),
        1 => File::open("/").ok().map(OwnedFd::from),
        2 => File::open("/proc/self/exe").ok().map(OwnedFd::from),
        3 => UnixStream::pair().ok().map(|(one, _)| one.into()),
        4 => TcpListener::bind("127.0.0.1:0").ok().map(OwnedFd::from),
        5 => lingering().map(OwnedFd::from),
        6 => memfd(random),
        7 => eventfd(0, EventfdFlags::empty()).ok(),
        _ => std::io::stdin().as_fd().try_clone_to_owned().ok(),
    }
}

/// A file in memory that is not sealed, as long as some shared memory or far longer, with nothing in it.
pub(super) fn memfd(random: &mut Random) -> Option<OwnedFd> {
    let file = memfd_create("siege", MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&file, [0, 1 << 20, 1 << 40][random.below(3) as usize]).ok()?;
    Some(file)
}

/// A connection with data that nobody reads, whose close waits for its peer.
fn lingering() -> Option<TcpStream> {
    use std::io::Write as _;
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let mut stream = TcpStream::connect(listener.local_addr().ok()?).ok()?;
    stream.set_nonblocking(true).ok()?;
    while stream.write(&[0; 4096]).is_ok() {}
    let linger = Some(std::time::Duration::from_secs(1));
    rustix::net::sockopt::set_socket_linger(&stream, linger).ok()?;
    Some(stream)
}
