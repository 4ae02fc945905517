//! The kernel's process connector (`linux/cn_proc.h`): it reports every fork, exec and exit on the machine,
//! with their times. It needs `CAP_NET_ADMIN` and the machine's first PID namespace.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::net::netlink::{CONNECTOR, SocketAddrNetlink};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recv, send, socket_with};

/// `CN_IDX_PROC` and `CN_VAL_PROC`; the first one is the multicast group, too.
const CN_PROC: u32 = 1;
/// `PROC_CN_MCAST_LISTEN`.
const MCAST_LISTEN: u32 = 1;
/// `NLMSG_DONE`.
const NLMSG_DONE: u16 = 3;

/// Bytes of events that the kernel queues. A build starts thousands of processes in a second.
const RECEIVE_BYTES: usize = 4 << 20;

/// Longest datagram: one event.
const DATAGRAM_BYTES_MAX: usize = 4096;

/// What happened to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The kernel's answer to a subscription; zero: it is accepted.
    Subscribed(u32),
    Forked {
        parent: i32,
        child: i32,
    },
    Executed {
        pid: i32,
    },
    Ended {
        pid: i32,
        status: ExitStatus,
    },
}

/// One event, with its time on the monotonic clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KernelEvent {
    pub mono_ns: u64,
    pub kind: Kind,
}

/// Why there is no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoEvent {
    /// There is none so far.
    Yet,
    /// Some were lost: they came faster than they were read.
    Lost,
    /// The socket failed.
    Ever,
}

/// A subscription.
#[derive(Debug)]
pub(super) struct Connector {
    socket: OwnedFd,
}

impl Connector {
    /// Subscribes. `None`: this process may not, or the kernel has no such thing.
    pub(super) fn subscribe() -> Option<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let kind = SocketType::DGRAM;
        let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(CONNECTOR)).ok()?;
        // The limit of the system has room for a few hundred events; it does not apply to root. A smaller buffer works
        // as well.
        if set_socket_recv_buffer_size_force(&socket, RECEIVE_BYTES).is_err() {
            let _ = set_socket_recv_buffer_size(&socket, RECEIVE_BYTES);
        }
        bind(&socket, &SocketAddrNetlink::new(0, CN_PROC)).ok()?;
        send(&socket, &subscription(), SendFlags::empty()).ok()?;
        let mut connector = Self { socket };
        // The answer is there when `send` returns. In another PID namespace there is none.
        loop {
            match connector.next() {
                Ok(KernelEvent { kind: Kind::Subscribed(0), .. }) => return Some(connector),
                Ok(KernelEvent { kind: Kind::Subscribed(_), .. }) | Err(_) => return None,
                // Events of other processes.
                Ok(_) => {}
            }
        }
    }

    /// The next event; does not wait.
    pub(super) fn next(&mut self) -> Result<KernelEvent, NoEvent> {
        let mut datagram = [0; DATAGRAM_BYTES_MAX];
        loop {
            match recv(&self.socket, &mut datagram[..], RecvFlags::empty()) {
                Ok((len, _)) => {
                    if let Some(event) = parse(datagram.get(..len).unwrap_or_default()) {
                        return Ok(event);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(NoEvent::Yet),
                Err(Errno::NOBUFS) => return Err(NoEvent::Lost),
                Err(_) => return Err(NoEvent::Ever),
            }
        }
    }
}

impl AsFd for Connector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The request: `nlmsghdr`, `cn_msg`, and the operation.
fn subscription() -> Vec<u8> {
    const LEN: u32 = 16 + 20 + 4;
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&LEN.to_ne_bytes());
    bytes.extend_from_slice(&NLMSG_DONE.to_ne_bytes());
    // Flags, sequence, port; the kernel fills in the port.
    bytes.extend_from_slice(&[0; 2 + 4 + 4]);
    bytes.extend_from_slice(&CN_PROC.to_ne_bytes());
    bytes.extend_from_slice(&CN_PROC.to_ne_bytes());
    bytes.extend_from_slice(&[0; 4 + 4]);
    bytes.extend_from_slice(&4_u16.to_ne_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes.extend_from_slice(&MCAST_LISTEN.to_ne_bytes());
    bytes
}

/// Where `proc_event` begins in a datagram, behind `nlmsghdr` and `cn_msg`.
const EVENT_OFF: usize = 16 + 20;
/// Where its union begins: behind kind, processor and time.
const DATA_OFF: usize = EVENT_OFF + 16;

/// Reads a datagram. `None`: another kind of event, or one of a thread.
fn parse(datagram: &[u8]) -> Option<KernelEvent> {
    let word = |off: usize| {
        let bytes = datagram.get(off..off + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let pid = |index: usize| Some(word(DATA_OFF + 4 * index)?.cast_signed());
    let time = datagram.get(EVENT_OFF + 8..EVENT_OFF + 16)?;
    let mono_ns = u64::from_ne_bytes(time.try_into().ok()?);
    // Pairs of a thread and its process: the main thread has the number of the process.
    let process = |first: usize| pid(first).filter(|thread| pid(first + 1) == Some(*thread));
    let kind = match word(EVENT_OFF)? {
        0 => Kind::Subscribed(word(DATA_OFF)?),
        0x1 => Kind::Forked { parent: pid(1)?, child: process(2)? },
        0x2 => Kind::Executed { pid: pid(1)? },
        0x8000_0000 => Kind::Ended { pid: process(0)?, status: ExitStatus::from_raw(pid(2)?) },
        _ => return None,
    };
    Some(KernelEvent { mono_ns, kind })
}

#[cfg(test)]
mod tests;
