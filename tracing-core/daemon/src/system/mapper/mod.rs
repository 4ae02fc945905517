//! Mapping and unmapping memory that a peer has, too, on a thread.
//!
//! Both wait for a lock of the kernel that belongs to the memory and not to a process. A peer may map its memory a
//! million times, and free its pages again and again: each time the kernel looks at all these mappings, which takes
//! hundreds of ms, and holds that lock. So the loop of the daemon does neither.
//!
//! ```text
//!   loop ── map ────> waiting of user A ──┐                 ┌──> mapped: the job goes on
//!        ── unmap ──> waiting of user B ──┴──> one thread ──┼──> unmapped
//!                                                           └──> refused, if memory of its user is slow
//! ```
//!
//! A thread that waits for that lock holds the lock of this process's addresses meanwhile: the loop goes on, but would
//! have to wait where it needs new addresses itself. Therefore the memory of a user is *slow* for a while after a job
//! took long, eight times as long as that: its memory is not unmapped then, and none that it made is mapped. One job
//! runs at a time, so what takes long is known to be memory of its own user. Root and the user of the daemon are
//! trusted.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use abi::map::SortedMap;
use abi::sync::{Arc, Condvar, Mutex, MutexGuard, lock};
use os::clock;

use crate::limits::{MEMORY_WAIT_NS_MAX, MEMORY_WAIT_TIMES, SLOW_MEMORY_NS};
use crate::system::own_user::OwnUser;

/// How long the end of the daemon waits for the jobs. What is not unmapped then ends with the process.
const LAST_JOBS: Duration = Duration::from_secs(1);

/// To map or unmap memory of a user took long a moment ago, or takes long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemoryIsSlow;

enum Job {
    /// Maps, or learns that it must not.
    Map(Box<dyn FnOnce(Result<(), MemoryIsSlow>) + Send>),
    Unmap(Box<dyn Any + Send>),
}

impl Job {
    fn run(self, is_slow: bool) {
        match self {
            Self::Map(work) => work(if is_slow { Err(MemoryIsSlow) } else { Ok(()) }),
            Self::Unmap(value) => drop(value),
        }
    }
}

#[derive(Default)]
struct State {
    /// By user.
    waiting: SortedMap<u32, VecDeque<Job>>,
    /// The user whose turn it was last.
    last_uid: u32,
    /// Whose memory the thread is busy with, and since when.
    running: Option<(u32, u64)>,
    /// Users whose memory is slow, and until when.
    slow: SortedMap<u32, u64>,
    has_thread: bool,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    own: OwnUser,
    state: Mutex<State>,
    /// A job came, or the mapper ends.
    work: Condvar,
    /// The thread ended.
    ended: Condvar,
}

/// Where the loop puts what it must not map or unmap. Clones put it in the same place.
#[derive(Clone, Default)]
pub(crate) struct Mapper(Arc<Shared>);

/// Ends the thread of a mapper when it is dropped.
pub(crate) struct EndMapper(pub(crate) Mapper);

impl State {
    /// The next job in turn: its user, its place, and whether it is to be refused.
    fn next(&self) -> Option<(u32, usize, bool)> {
        let after = self.last_uid.wrapping_add(1);
        let mut in_turn = self.waiting.range(after..).chain(self.waiting.range(..after));
        in_turn.find_map(|(uid, jobs)| {
            let is_slow = self.slow.contains_key(uid) && !self.ended;
            let is_map = |job: &Job| matches!(job, Job::Map(_));
            let at = if is_slow { jobs.iter().position(is_map)? } else { 0 };
            Some((*uid, at, is_slow))
        })
    }

    /// Takes the next job, with its user, and whether it is to be refused.
    fn pop(&mut self, now_ns: u64) -> Option<(u32, Job, bool)> {
        self.slow.retain(|_, until_ns| *until_ns > now_ns);
        let (uid, at, is_slow) = self.next()?;
        let jobs = self.waiting.get_mut(&uid)?;
        let job = jobs.remove(at)?;
        if jobs.is_empty() {
            self.waiting.remove(&uid);
        }
        self.last_uid = uid;
        Some((uid, job, is_slow))
    }

    /// A job about memory of a user took so long.
    fn note(&mut self, uid: u32, took_ns: u64, now_ns: u64) {
        if took_ns > SLOW_MEMORY_NS {
            let wait_ns = took_ns.saturating_mul(MEMORY_WAIT_TIMES).min(MEMORY_WAIT_NS_MAX);
            self.slow.insert(uid, now_ns.saturating_add(wait_ns));
        }
    }

    fn is_slow(&self, uid: u32, now_ns: u64) -> bool {
        let is_running = |(of, since_ns): (u32, u64)| {
            of == uid && now_ns.saturating_sub(since_ns) > SLOW_MEMORY_NS
        };
        self.slow.get(&uid).is_some_and(|until_ns| *until_ns > now_ns)
            || self.running.is_some_and(is_running)
    }
}

impl Mapper {
    /// For a daemon of this user.
    pub(crate) fn new(own: OwnUser) -> Self {
        Self(Arc::new(Shared { own, ..Shared::default() }))
    }

    /// Calls `work`, which maps memory of a user, on the thread. If its memory is slow, `work` is told, and must not.
    pub(crate) fn map(
        &self,
        uid: u32,
        work: impl FnOnce(Result<(), MemoryIsSlow>) + Send + 'static,
    ) {
        let is_slow = self.is_limited(uid) && lock(&self.0.state).is_slow(uid, clock::mono_ns());
        match is_slow {
            true => work(Err(MemoryIsSlow)),
            false => self.queue(uid, Job::Map(Box::new(work))),
        }
    }

    /// Drops what holds memory of a user on the thread.
    pub(crate) fn unmap(&self, uid: u32, value: impl Any + Send) {
        self.queue(uid, Job::Unmap(Box::new(value)));
    }

    /// Jobs that are not done yet.
    #[cfg(test)]
    pub(crate) fn pending(&self) -> usize {
        let state = lock(&self.0.state);
        let waiting: usize = state.waiting.values().map(VecDeque::len).sum();
        waiting + usize::from(state.running.is_some())
    }

    fn is_limited(&self, uid: u32) -> bool {
        self.0.own.limits(uid)
    }

    fn queue(&self, uid: u32, job: Job) {
        let mut state = lock(&self.0.state);
        state.waiting.get_or_insert_with(uid, VecDeque::new).push_back(job);
        if state.has_thread {
            self.0.work.notify_one();
        } else {
            let this = self.clone();
            // Without a thread the job waits until the next one comes.
            state.has_thread =
                os::thread::spawn("traced-memory", Box::new(move || this.run())).is_ok();
        }
    }

    fn run(&self) {
        let mut state = lock(&self.0.state);
        loop {
            let began_ns = clock::mono_ns();
            let Some((uid, job, is_slow)) = state.pop(began_ns) else {
                if state.ended {
                    break;
                }
                state = self.wait(state, began_ns);
                continue;
            };
            state.running = Some((uid, began_ns));
            drop(state);
            job.run(is_slow);
            let now_ns = clock::mono_ns();
            state = lock(&self.0.state);
            state.running = None;
            if self.is_limited(uid) && !is_slow {
                state.note(uid, now_ns.saturating_sub(began_ns), now_ns);
            }
        }
        state.has_thread = false;
        drop(state);
        self.0.ended.notify_all();
    }

    /// Waits for a job that comes, or for one that has waited long enough.
    fn wait<'a>(&'a self, state: MutexGuard<'a, State>, now_ns: u64) -> MutexGuard<'a, State> {
        match state.slow.values().min() {
            None => self.0.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(until_ns) => {
                let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
                let woken = self.0.work.wait_timeout(state, left);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

impl Drop for EndMapper {
    fn drop(&mut self) {
        let shared = &self.0.0;
        let mut state = lock(&shared.state);
        state.ended = true;
        shared.work.notify_all();
        let has_thread = |state: &mut State| state.has_thread;
        drop(shared.ended.wait_timeout_while(state, LAST_JOBS, has_thread));
    }
}

#[cfg(test)]
mod tests;
