//! Replies of a read that goes on, kept while the consumer waits for the answer to another call.

use std::collections::VecDeque;

use abi::ids::CallId;
use abi::ipc::Rejected;
use abi::sync::{Arc, Weak};

/// A reply, and whether the stream has more.
type Reply = (Result<Vec<u8>, Rejected>, bool);

/// The read that goes on, with replies that arrived while the consumer waited for them or for another answer.
#[derive(Debug)]
pub(super) struct OngoingRead {
    call: CallId,
    replies: VecDeque<Reply>,
    is_open: Weak<()>,
}

impl OngoingRead {
    /// The read that `call` has begun. When `is_open` is dropped, nobody wants its replies.
    pub(super) fn new(call: CallId, is_open: &Arc<()>) -> Self {
        Self { call, replies: VecDeque::new(), is_open: Arc::downgrade(is_open) }
    }

    pub(super) fn is_of(&self, call: CallId) -> bool {
        self.call == call
    }

    pub(super) fn keep(&mut self, result: Result<Vec<u8>, Rejected>, has_more: bool) {
        if self.is_open.strong_count() == 0 {
            self.replies.clear();
        } else {
            self.replies.push_back((result, has_more));
        }
    }

    /// The first reply that was kept.
    pub(super) fn next(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
}
