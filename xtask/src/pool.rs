//! Several things at a time, for what keeps one processor busy and no more.

use crate::Outcome;
use std::sync::{Mutex, PoisonError};

/// Does `work` for each of `jobs`, in their order, one on each processor at a time; it is told on which. All are
/// done, or those of the others if one fails, and the first failure is told.
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
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let worker = &worker;
        let workers: Vec<_> =
            (0..workers).map(|number| scope.spawn(move || worker(number))).collect();
        let ends = workers.into_iter().map(|w| w.join().map_err(|_| "a worker died".to_owned())?);
        // All of them, so that what several find is told of the first and kept of each.
        ends.fold(Ok(()), Outcome::and)
    })
}
