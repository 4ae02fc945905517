//! How much memory of this process the kernel cannot reclaim: asked on a thread, as the answer may take a while. It is
//! the answer to the next question.

use abi::sync::{Arc, Mutex, lock};
use os::memory_limit::Group;

#[derive(Debug, Default)]
struct State {
    /// Questions so far.
    asked: u64,
    is_running: bool,
    /// To the last question.
    answer: Option<u64>,
}

/// See the [module](self). Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnreclaimableQuestion(Arc<Mutex<State>>);

impl UnreclaimableQuestion {
    /// Asks, and returns the answer to the question before, bytes. `None` if there is none yet, or the kernel does not
    /// tell.
    pub(crate) fn ask(&self) -> Option<u64> {
        self.ask_with(|| Group::own()?.unreclaimable_bytes())
    }

    fn ask_with(&self, measure: impl FnOnce() -> Option<u64> + Send + 'static) -> Option<u64> {
        let mut state = lock(&self.0);
        state.asked += 1;
        let before = state.answer.take();
        // What is being counted may be older than this question, so that is no answer to it.
        if !state.is_running {
            let (this, asked) = (self.clone(), state.asked);
            let run = Box::new(move || this.answer(asked, measure()));
            state.is_running = os::thread::spawn("traced-cgroup", run).is_ok();
        }
        before
    }

    fn answer(&self, asked: u64, answer: Option<u64>) {
        let mut state = lock(&self.0);
        state.is_running = false;
        if state.asked == asked {
            state.answer = answer;
        }
    }

    /// Whether a thread counts.
    #[cfg(test)]
    fn is_running(&self) -> bool {
        lock(&self.0).is_running
    }
}

#[cfg(test)]
mod tests;
