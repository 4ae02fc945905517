//! Descriptors that peers send to a daemon.
//!
//! The last `close` of a descriptor may wait as long as its sender likes: for the other end of a socket
//! (`SO_LINGER`), for the answer of a file system in user space. A descriptor on its way counts as open. The kernel
//! closes it in the thread that
//!
//! * receives its message without room for it, or when the process may open no more descriptors;
//! * closes the socket in which its message waits.
//!
//! So [`Stream::receive_all`] has room for as many descriptors as a message can have (`SCM_MAX_FD`), and opens none of
//! a message if that might not be possible for all: it looks at the message first, which closes nothing
//! (`MSG_PEEK`; the message keeps its descriptors). The caller closes sockets and descriptors on another thread.
//!
//! A kernel since 6.16 can refuse descriptors when they are sent (`SO_PASSRIGHTS`). A listener has that off, so that
//! what connects has no descriptors in its queue until [`Stream::take_descriptors`]. What connected before, as to a
//! socket that a service manager made, may have some ([`Stream::has_no_descriptors`]).

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use super::{Received, Stream};
use crate::{failed, sys};
use abi::error::OsError;

/// The most descriptors of one message (`SCM_MAX_FD`).
pub const DESCRIPTORS_PER_MESSAGE: usize = 253;

/// The most that a peer may send at once (`unix_socket.cc`).
const DESCRIPTORS_TAKEN_MAX: usize = 2;

/// Refuses descriptors when they are sent (Linux 6.16). `libc` does not have it.
const SO_PASSRIGHTS: i32 = 83;

/// How many descriptors of a message may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openable {
    /// As many as it has: this process can open [`DESCRIPTORS_PER_MESSAGE`] more.
    Any,
    /// Two. This process can open at least eight more.
    Two,
    /// None. A message with descriptors is not received.
    Nothing,
}

/// One `recvmsg`: the bytes, the descriptors, and whether the message had more of them.
fn receive<const CONTROL: usize>(
    fd: BorrowedFd<'_>,
    buf: &mut [u8],
    flags: RecvFlags,
    fds: &mut Vec<OwnedFd>,
) -> Result<Option<(usize, bool)>, OsError> {
    let flags = flags | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    loop {
        let mut space = [MaybeUninit::uninit(); CONTROL];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        match recvmsg(fd, &mut [IoSliceMut::new(buf)], &mut control, flags) {
            Ok(got) => {
                for message in control.drain() {
                    if let RecvAncillaryMessage::ScmRights(opened) = message {
                        fds.extend(opened);
                    }
                }
                return Ok(Some((got.bytes, got.flags.contains(ReturnFlags::CTRUNC))));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(errno) => return Err(failed("recvmsg")(errno)),
        }
    }
}

const NO_CONTROL: usize = 0;
const CONTROL_OF_TWO: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_TAKEN_MAX));
const CONTROL_OF_ALL: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_PER_MESSAGE));

impl Stream {
    /// Receives the bytes that wait. Of two descriptors the first is kept, as upstream does; all others are added to
    /// `spare`, for the caller to close.
    ///
    /// # Errors
    /// When the connection broke (reset).
    pub fn receive_all(
        &self,
        buf: &mut [u8],
        openable: Openable,
        spare: &mut Vec<OwnedFd>,
    ) -> Result<Received, OsError> {
        let fd = self.as_fd();
        let mut len = buf.len();
        if self.is_unix() && openable != Openable::Any {
            let mut looked = Vec::new();
            let Some((bytes, some)) = receive::<NO_CONTROL>(fd, buf, RecvFlags::PEEK, &mut looked)?
            else {
                return Ok(Received::Nothing);
            };
            if some && openable == Openable::Nothing {
                return Ok(Received::LostDescriptors);
            }
            if some {
                let already = spare.len();
                // These are duplicates, which go away while the message still has its own.
                let looked = receive::<CONTROL_OF_TWO>(fd, buf, RecvFlags::PEEK, spare)?;
                let many = spare.len() > already + DESCRIPTORS_TAKEN_MAX;
                if many || looked.is_none_or(|(_, lost)| lost) {
                    return Ok(Received::LostDescriptors);
                }
            }
            // What comes meanwhile is left for the next call, as it may have descriptors.
            len = bytes;
        }
        let buf = buf.get_mut(..len).unwrap_or_default();
        let mut fds = Vec::new();
        let Some((bytes, lost)) = receive::<CONTROL_OF_ALL>(fd, buf, RecvFlags::empty(), &mut fds)?
        else {
            return Ok(Received::Nothing);
        };
        let many = fds.len() > DESCRIPTORS_TAKEN_MAX;
        let mut fds = fds.into_iter();
        let first = if many || lost || bytes == 0 { None } else { fds.next() };
        spare.extend(fds);
        Ok(match bytes {
            _ if many || lost => Received::LostDescriptors,
            0 => Received::End,
            count => Received::Bytes(count, first),
        })
    }

    /// Whether no descriptor waits in a connection that was just accepted: the kernel is 6.16 or newer, and the
    /// listener refused descriptors already when the peer connected.
    #[must_use]
    pub fn has_no_descriptors(&self) -> bool {
        !self.is_unix() || refuses(self.as_fd())
    }

    /// Lets the peer send descriptors, or refuses them from now on; those that it sent before still come. A kernel
    /// before 6.16 never refuses any.
    pub fn take_descriptors(&self, take: bool) {
        refuse_or_take(self.as_fd(), take);
    }
}

/// Whether the kernel refuses the descriptors of peers from now on.
pub(super) fn refuse(fd: BorrowedFd<'_>) -> bool {
    refuse_or_take(fd, false)
}

/// Lets peers send descriptors again.
pub(super) fn take(fd: BorrowedFd<'_>) {
    refuse_or_take(fd, true);
}

/// Whether the kernel refuses them.
fn refuses(fd: BorrowedFd<'_>) -> bool {
    sys::option(fd, SO_PASSRIGHTS).is_ok_and(|value| value == 0)
}

fn refuse_or_take(fd: BorrowedFd<'_>, take: bool) -> bool {
    sys::set_option(fd, SO_PASSRIGHTS, i32::from(take)).is_ok()
}
