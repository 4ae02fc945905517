//! Closes sockets on threads that end, so that no `close` waits.
//!
//! The `close` of a TCP socket with `SO_LINGER` waits for the other end. So does the `close` of a connection in which
//! such a socket waits as a descriptor that was sent. The kernel waits for neither when it closes the descriptors of a
//! thread that ends (`inet_release` in `net/ipv4/af_inet.c` looks at `PF_EXITING`). The threads of a process share
//! their descriptors, so each of these has a table of its own, with next to nothing in it:
//!
//! ```text
//!   loop ── a socket, in a message ──> thread 1: receives it into its table
//!                                        │ starts thread 2, which copies the table of thread 1, closes the sockets in
//!                                        │   its copy, and receives the next ones
//!                                        └ ends: the kernel closes the last descriptors of the sockets
//! ```
//!
//! This is for sockets alone. The `close` of a file of FUSE asks its file system also when a thread ends.
#![allow(unsafe_code)]

use std::io::IoSlice;
use std::mem;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::mpsc;

use abi::sync::{Arc, Condvar, Mutex, lock};
use os::socket::{Received, Stream};
use os::thread;

/// Sockets that one thread closes.
const SOCKETS_MAX: usize = 64;

const NAME: &str = "traced-sockets";

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Messages with a socket that no thread has received.
    waiting: usize,
    ended: bool,
}

/// See the [module](self).
pub(super) struct SocketCloser {
    sender: Stream,
    shared: Arc<Shared>,
}

impl SocketCloser {
    /// Starts the first thread. None where threads cannot have descriptors of their own: before Linux 5.9, or in a
    /// container that forbids the calls.
    ///
    /// No descriptor of a peer may be open yet: the thread closes its copies of all that are open.
    pub(super) fn start() -> Option<Self> {
        let (sender, receiver) = Stream::pair().ok()?;
        let shared = Arc::new(Shared::default());
        let (theirs, number) = (Arc::clone(&shared), receiver.as_fd().as_raw_fd());
        let (tell, told) = mpsc::channel();
        let first = move || {
            // SAFETY: this thread uses no other descriptor than the copy of `receiver`, which is open until it has told
            // that it has one, and descriptors that it opens.
            if unsafe { thread::unshare_all_but(number) }.is_ok() {
                // SAFETY: the copy is in the table of this thread, and nothing else owns it.
                let receiver = Stream::of_pair(unsafe { OwnedFd::from_raw_fd(number) });
                let _ = tell.send(());
                close_sockets(&theirs, receiver);
            }
        };
        thread::spawn(NAME, Box::new(first)).ok()?;
        told.recv().ok()?;
        Some(Self { sender, shared })
    }

    /// Has `socket` closed. It comes back if a thread has too many already.
    pub(super) fn close(&self, socket: Stream) -> Result<(), Stream> {
        let mut state = lock(&self.shared.state);
        match self.sender.send(&[IoSlice::new(b"s")], Some(socket.as_fd())) {
            Ok(1) => {}
            _ => return Err(socket),
        }
        // The message has another descriptor of it, and no thread receives that before this one is closed.
        drop(socket);
        state.waiting += 1;
        drop(state);
        self.shared.changed.notify_one();
        Ok(())
    }
}

impl Drop for SocketCloser {
    fn drop(&mut self) {
        lock(&self.shared.state).ended = true;
        self.shared.changed.notify_one();
    }
}

/// Waits for sockets. None: there are no more.
fn wait(shared: &Shared) -> Option<usize> {
    let mut state = lock(&shared.state);
    while state.waiting == 0 {
        if state.ended {
            return None;
        }
        state = shared.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
    }
    let count = state.waiting.min(SOCKETS_MAX);
    state.waiting -= count;
    Some(count)
}

/// What a thread does that has descriptors of its own.
fn close_sockets(shared: &Arc<Shared>, receiver: Stream) {
    while let Some(count) = wait(shared) {
        let receive = |_| match receiver.receive(&mut [0]) {
            Ok(Received::Bytes(_, socket)) => socket,
            _ => None,
        };
        let sockets: Vec<OwnedFd> = (0..count).filter_map(receive).collect();
        if start_next(shared, &receiver, &sockets) {
            // They are closed by the end of this thread. The vector is freed: there is one for each thread.
            sockets.into_iter().for_each(mem::forget);
            mem::forget(receiver);
            return;
        }
        // Without a next thread they are closed here, which may take long. More wait until there are too many.
    }
}

/// Starts the thread that receives the next ones, and waits until it has closed its copies of these.
fn start_next(shared: &Arc<Shared>, receiver: &Stream, sockets: &[OwnedFd]) -> bool {
    let numbers: Vec<RawFd> = sockets.iter().map(|socket| socket.as_raw_fd()).collect();
    let (shared, receiver) = (Arc::clone(shared), receiver.as_fd().as_raw_fd());
    let (tell, told) = mpsc::channel();
    let next = move || {
        // SAFETY: this thread uses no other descriptors than its copies, which are open until it has told that it
        // closed those of the sockets, and descriptors that it opens.
        if unsafe { thread::unshare_descriptors() }.is_err() {
            return;
        }
        for number in numbers {
            // SAFETY: the copy is in the table of this thread, and nothing else owns it.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
        // SAFETY: as above.
        let receiver = Stream::of_pair(unsafe { OwnedFd::from_raw_fd(receiver) });
        let _ = tell.send(());
        close_sockets(&shared, receiver);
    };
    thread::spawn(NAME, Box::new(next)).is_ok() && told.recv().is_ok()
}
