//! Several jobs at a time, for jobs that do not keep all processors busy.

use crate::ctx::Outcome;
use std::sync::{Condvar, Mutex, PoisonError};

/// More jobs at a time would need more memory than a small machine has.
const WORKERS_MAX: usize = 4;

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}

/// Does `work` for each of `jobs`, one per processor at a time. Of those with the same key only one runs at a time, in
/// their order. No further job begins after `work` has answered false.
pub fn by_key<T: Sync>(
    jobs: &[T],
    key: impl Fn(&T) -> &'static str + Sync,
    work: impl Fn(&T) -> bool + Sync,
) {
    struct State {
        /// Indexes of the jobs that have not begun.
        waiting: Vec<usize>,
        running: Vec<&'static str>,
        stopped: bool,
    }
    let waiting = (0..jobs.len()).collect();
    let state = Mutex::new(State { waiting, running: Vec::new(), stopped: false });
    let ended = Condvar::new();
    let worker = || {
        let mut guard = state.lock().unwrap_or_else(PoisonError::into_inner);
        while !guard.stopped && !guard.waiting.is_empty() {
            let is_free = |job: &usize| !guard.running.contains(&key(&jobs[*job]));
            let Some(at) = guard.waiting.iter().position(is_free) else {
                guard = ended.wait(guard).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let job = &jobs[guard.waiting.remove(at)];
            guard.running.push(key(job));
            drop(guard);
            let goes_on = work(job);
            guard = state.lock().unwrap_or_else(PoisonError::into_inner);
            guard.stopped |= !goes_on;
            guard.running.retain(|name| *name != key(job));
            ended.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers() {
            scope.spawn(worker);
        }
    });
}

/// Does `work` for each of `jobs`, in their order, one per processor at a time; its first argument is the number of the
/// worker. A worker stops at its first failure, and the first failure of all is returned.
pub fn all<T>(
    jobs: impl IntoIterator<Item = T, IntoIter: Send>,
    work: impl Fn(usize, T) -> Outcome + Sync,
) -> Outcome {
    let left = Mutex::new(jobs.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = |number| {
        while let Some(job) = next() {
            work(number, job)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let worker = &worker;
        let workers: Vec<_> =
            (0..workers()).map(|number| scope.spawn(move || worker(number))).collect();
        let ends =
            workers.into_iter().map(|w| w.join().map_err(|_| "a worker panicked".to_owned())?);
        // Waits for all of them: the logs hold what the others found.
        ends.fold(Ok(()), Outcome::and)
    })
}

#[cfg(test)]
mod tests;
