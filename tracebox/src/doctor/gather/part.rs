//! Parts of the work that may not answer.

use std::sync::mpsc::{Receiver, channel};

/// Runs `read` on a thread.
pub(super) fn started<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (send, receive) = channel();
    // Without a thread nothing is sent, as if it did not answer.
    let _ = std::thread::Builder::new().spawn(move || send.send(read()));
    receive
}
