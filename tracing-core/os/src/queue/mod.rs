//! A queue between threads, without a bound: a lock and a condition variable.
//!
//! It has the methods of `std::sync::mpsc` that clients and the daemon need. That channel avoids the lock, but only a
//! few items a second pass here, and its code would be an eighth of what a traced program compiles of the client. A
//! sender that is not trusted limits what it sends itself.

use std::collections::VecDeque;
use std::time::Duration;

use abi::sync::{Arc, Condvar, Mutex, lock};

/// An empty queue: the ends to send and to receive.
pub fn queue<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { items: VecDeque::new(), senders: 1, receiver: true };
    let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    senders: usize,
    receiver: bool,
}

impl<T> State<T> {
    /// Whether the receiver has to wait.
    fn must_wait(&self) -> bool {
        self.items.is_empty() && self.senders > 0
    }
}

/// The end to send.
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Appends `item`. If there is no receiver any more, drops it and returns false.
    pub fn send(&self, item: T) -> bool {
        let mut state = lock(&self.0.state);
        let unsent = if state.receiver {
            state.items.push_back(item);
            None
        } else {
            Some(item)
        };
        drop(state);
        self.0.changed.notify_one();
        // It is dropped outside of the lock: that may run code of the program.
        unsent.is_none()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        lock(&self.0.state).senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        lock(&self.0.state).senders -= 1;
        self.0.changed.notify_one();
    }
}

/// The end to receive.
pub struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// Waits for the next item; `None` if there is none and no sender is left.
    pub fn recv(&self) -> Option<T> {
        let mut state = lock(&self.0.state);
        while state.must_wait() {
            state = self.0.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.items.pop_front()
    }

    /// As [`recv`](Self::recv), but waits no longer than `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Option<T> {
        let state = lock(&self.0.state);
        let waited = self.0.changed.wait_timeout_while(state, timeout, |state| state.must_wait());
        let (mut state, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        state.items.pop_front()
    }

    /// Whether there is no item, and no sender is left.
    pub fn is_closed(&self) -> bool {
        let state = lock(&self.0.state);
        state.items.is_empty() && !state.must_wait()
    }

    /// The next item, if there is one.
    pub fn try_recv(&self) -> Option<T> {
        lock(&self.0.state).items.pop_front()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.receiver = false;
        let items = std::mem::take(&mut state.items);
        drop(state);
        drop(items);
    }
}

#[cfg(test)]
mod tests;
