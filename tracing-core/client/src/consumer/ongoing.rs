//! Replies, and those of a read that goes on, kept while the consumer waits for the answer to another call.

use std::collections::VecDeque;

use super::ConsumerError;
use abi::ids::CallId;
use abi::ipc::Rejected;
use abi::sync::{Arc, Weak};

/// A reply to a call.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) result: Result<Vec<u8>, Rejected>,
    /// More replies to this call will come.
    pub(super) has_more: bool,
}

impl Reply {
    /// The encoded response to a call of `method`.
    pub(super) fn into_bytes(self, method: &'static str) -> Result<Vec<u8>, ConsumerError> {
        self.result.map_err(|Rejected| ConsumerError::Rejected(method))
    }
}

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

    pub(super) fn keep(&mut self, reply: Reply) {
        if self.is_open.strong_count() == 0 {
            self.replies.clear();
        } else {
            self.replies.push_back(reply);
        }
    }

    /// The first reply that was kept.
    pub(super) fn next(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }
}
