//! The files that the service writes, each on a thread of its own: a slow disk or an unread pipe delays only the
//! session that writes to it.

#[cfg(feature = "host")]
mod in_memory;
mod jobs;
#[cfg(feature = "host")]
mod kind;
mod output;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

#[cfg(feature = "host")]
use self::in_memory::{Held, InMemory};
use self::jobs::{Answers, FinishedJobs, Job, closed, serve};
use self::output::{FileOutput, failed};
#[cfg(feature = "host")]
use super::refusals::Refusals;
#[cfg(feature = "host")]
use super::resources::Resources;
use crate::limits::FILES_BEING_CREATED_PER_UID_MAX;
#[cfg(feature = "host")]
use crate::limits::{
    FILES_OF_USERS_AT_FIRST_MAX, FILES_OF_USERS_MAX, FILES_PER_USER_MAX, FILES_PER_USER_MIN,
};
#[cfg(feature = "host")]
use crate::system::closer::PeerFd;
use crate::system::file::{Cancel, OutputFile};
#[cfg(feature = "host")]
use crate::system::identity::Identity;
use crate::system::own_user::OwnUser;
#[cfg(feature = "host")]
use crate::usage::Usage;
use abi::error::OsError;
use abi::ids::{FileId, ShellToken};
use abi::map::SortedMap;
use abi::sync::{Arc, lock};
use os::poll::Wake;
use os::queue::{Receiver, Sender, queue};
#[cfg(feature = "host")]
use service::limits::FILE_PIECE_LONG_BYTES;
use service::{FileError, FileSync};

/// How long the end of the daemon waits for unfinished writes. A disk takes less; an unread pipe takes for ever.
pub(super) const LAST_WRITES: Duration = Duration::from_secs(5);

/// Why a file is refused.
const TOO_MANY: &str = "its user, or all users together, cannot have more files open";

/// A file without a thread: [`Files::take_finished`] runs its jobs.
struct UnthreadedFile {
    id: FileId,
    file: Result<FileOutput, FileError>,
    queue: Receiver<Job>,
}

/// A file that a consumer wants the service to create.
pub(super) struct NewFile {
    /// For the answer.
    pub(super) token: ShellToken,
    pub(super) path: String,
    /// The user of the consumer.
    pub(super) uid: u32,
    /// Whose rights count.
    pub(super) rights: Rights,
}

/// The rights with which a file is created and written.
pub(super) enum Rights {
    /// The rights of this process.
    Daemon,
    /// The rights of another user, which this process can act for.
    #[cfg(feature = "host")]
    Of(Identity),
}

impl Rights {
    /// Gives them to the calling thread, which is for one file alone if they are not those of this process.
    fn take(&self) -> Result<(), OsError> {
        match self {
            Self::Daemon => Ok(()),
            #[cfg(feature = "host")]
            Self::Of(identity) => identity.assume(),
        }
    }
}

/// The place of one file among those of its user.
#[derive(Default)]
struct Place {
    /// None: the file is of this process.
    #[cfg(feature = "host")]
    uid: Option<u32>,
    /// A reference to the user.
    _counts: Arc<()>,
}

/// The way to the thread of a file.
struct Open {
    jobs: Sender<Job>,
    /// The user of the file, if it is not of this process.
    #[cfg(feature = "host")]
    uid: Option<u32>,
    /// Cancels the write that runs, once no session needs the file.
    cancel: Cancel,
}

/// The files that are open, each with its thread.
pub(super) struct Files {
    open: SortedMap<FileId, Open>,
    /// Files that take no more jobs, and whose threads have not ended: what they write last may never be taken.
    closing: SortedMap<FileId, Cancel>,
    /// The users for whom files are being created.
    creating: SortedMap<FileId, u32>,
    /// The files without a thread; none if files have threads.
    unthreaded: Option<Vec<UnthreadedFile>>,
    answers: Answers,
    /// Every thread holds a clone of this sender, so that `ended` is closed when the last thread ends.
    alive: Option<Sender<()>>,
    ended: Receiver<()>,
    /// How long dropping waits for the threads.
    drop_timeout: Duration,
    last_id: u64,
    /// The users of files that consumers sent, or had created. Each thread of such a file has a reference to its user.
    #[cfg(feature = "host")]
    users: SortedMap<u32, Arc<()>>,
    /// Files that were refused to them.
    #[cfg(feature = "host")]
    refused: Refusals<u32>,
    /// How many a user may have at a time. Root and the user `own` have no such limit.
    #[cfg(feature = "host")]
    per_user: usize,
    #[cfg(feature = "host")]
    own: OwnUser,
    #[cfg(feature = "host")]
    in_memory: InMemory,
}

impl Files {
    /// No files yet, of a service of user `own`. `wake` is called when [`take_finished`](Self::take_finished) has an
    /// answer.
    #[cfg_attr(not(feature = "host"), allow(unused_variables, reason = "there is one user"))]
    pub(super) fn new(wake: Wake, own: OwnUser, threads: bool) -> Self {
        let (alive, ended) = queue();
        Self {
            open: SortedMap::new(),
            closing: SortedMap::new(),
            creating: SortedMap::new(),
            unthreaded: (!threads).then(Vec::new),
            answers: Answers::new(wake),
            alive: Some(alive),
            ended,
            drop_timeout: LAST_WRITES,
            last_id: 0,
            #[cfg(feature = "host")]
            users: SortedMap::new(),
            #[cfg(feature = "host")]
            refused: Refusals::default(),
            #[cfg(feature = "host")]
            per_user: FILES_PER_USER_MAX,
            #[cfg(feature = "host")]
            own,
            #[cfg(feature = "host")]
            in_memory: InMemory::unmeasured(own),
        }
    }

    /// Limits the files of each user, and what those in memory take, to shares of what the process may use.
    #[cfg(feature = "host")]
    pub(super) fn limit(&mut self, of: Resources) {
        let share = usize::try_from(of.descriptors / 8).unwrap_or(usize::MAX);
        self.per_user = share.clamp(FILES_PER_USER_MIN, FILES_PER_USER_MAX);
        self.in_memory = InMemory::new(of.memory_bytes, self.own);
    }

    #[cfg(feature = "host")]
    fn max_of(&self, uid: u32) -> usize {
        if self.is_limited(uid) { self.per_user } else { FILES_PER_USER_MAX }
    }

    #[cfg(feature = "host")]
    fn is_limited(&self, uid: u32) -> bool {
        self.own.limits(uid)
    }

    /// How many files all limited users have.
    #[cfg(feature = "host")]
    fn count_of_users(&self) -> usize {
        let limited = self.users.iter().filter(|(uid, _)| self.is_limited(**uid));
        // One reference is in the map.
        limited.map(|(_, files)| Arc::strong_count(files).saturating_sub(1)).sum()
    }

    /// Takes ownership of a file that a consumer sent.
    pub(super) fn adopt(&mut self, fd: OwnedFd) -> FileId {
        self.take(OutputFile::from_fd(fd))
    }

    /// Takes the file of a consumer of another process, to write it with `rights`.
    ///
    /// # Errors
    /// Why it is refused.
    #[cfg(feature = "host")]
    pub(super) fn adopt_from_peer(
        &mut self,
        fd: PeerFd,
        rights: Rights,
    ) -> Result<FileId, &'static str> {
        let Some(uid) = fd.uid() else {
            return fd.into_fd().map(|fd| self.adopt(fd)).ok_or("it is closed");
        };
        fd.as_fd().map_or(Ok(()), |fd| kind::check(fd, uid, self.own))?;
        let files = self.place_of(uid).ok_or(TOO_MANY)?;
        let (id, cancel) = (self.next_id(), Cancel::default());
        let (cancelled_by, in_memory) = (cancel.clone(), self.in_memory.clone());
        // Its thread asks what file it is, as a file system in user space may take long for the answer.
        let open = move |_: &Answers| {
            rights.take().map_err(|error| {
                let text = format!(
                    "the service cannot take the rights of user {uid} ({error}): record without write_into_file"
                );
                FileError { text }
            })?;
            let file = OutputFile::from_fd(fd.into_fd().ok_or_else(closed)?);
            Ok(FileOutput::of_user(file.cancelled_by(cancelled_by), uid, &in_memory))
        };
        self.run(id, cancel, files, open);
        Ok(id)
    }

    /// What each thread of a file of `uid` keeps; none if the user has as many files as it may have.
    #[cfg(feature = "host")]
    fn place_of(&mut self, uid: u32) -> Option<Place> {
        self.users.retain(|_, files| Arc::strong_count(files) > 1);
        let files = Arc::clone(self.users.get_or_insert_with(uid, Arc::default));
        // One reference is in the map, and one is here.
        let held = Arc::strong_count(&files) - 2;
        let of_users_max = if held == 0 { FILES_OF_USERS_AT_FIRST_MAX } else { FILES_OF_USERS_MAX };
        let has_place = held < self.max_of(uid)
            && (!self.is_limited(uid) || self.count_of_users() <= of_users_max);
        if !has_place {
            self.refused.note(uid);
        }
        has_place.then_some(Place { uid: Some(uid), _counts: files })
    }

    #[cfg(not(feature = "host"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with `host`")]
    fn place_of(&mut self, _: u32) -> Option<Place> {
        Some(Place::default())
    }

    /// Users that have files; some come twice.
    #[cfg(feature = "host")]
    pub(super) fn users(&self) -> impl Iterator<Item = u32> + '_ {
        let in_memory = self.in_memory.users();
        self.users.keys().copied().chain(self.refused.users()).chain(in_memory)
    }

    /// What files in memory of a user take, may take, and how often more was refused; none if it is not charged.
    #[cfg(feature = "host")]
    pub(super) fn memory_of_user(&self, uid: u32) -> Option<Usage> {
        self.in_memory.of_user(uid)
    }

    /// What those of all users take that are charged, and may take.
    #[cfg(feature = "host")]
    pub(super) fn memory_of_users(&self) -> Usage {
        self.in_memory.of_users()
    }

    /// How many files of a user are open, may be, and were refused.
    #[cfg(feature = "host")]
    pub(super) fn of_user(&self, uid: u32) -> Usage {
        // One reference is in the map.
        let open = self.users.get(&uid).map_or(0, |files| Arc::strong_count(files) - 1);
        let refused = Some(self.refused.of(uid));
        Usage { held: open as u64, max: self.max_of(uid) as u64, refused }
    }

    /// How many files of all limited users are open, and may be.
    #[cfg(feature = "host")]
    pub(super) fn of_users(&self) -> Usage {
        Usage::new(self.count_of_users() as u64, FILES_OF_USERS_MAX as u64)
    }

    /// Creates a file. The answer comes through [`take_finished`](Self::take_finished).
    pub(super) fn create(&mut self, new: NewFile) {
        let (token, uid) = (new.token, new.uid);
        let id = self.next_id();
        let others = self.creating.values().filter(|other| **other == uid).count();
        if others >= FILES_BEING_CREATED_PER_UID_MAX {
            let text = format!("{others} files of user {uid} are being created and not there yet");
            return self.answers.put_created(id, token, Err(FileError { text }));
        }
        let cancel = Cancel::default();
        if self.unthreaded.is_some() {
            let file = new.create(cancel);
            self.answers.put_created(id, token, file.as_ref().map(drop).map_err(Clone::clone));
            if let Ok(file) = file {
                self.keep(id, file);
            }
            return;
        }
        let Some(files) = self.place_of(uid) else {
            let text = format!("{TOO_MANY} (user {uid})");
            return self.answers.put_created(id, token, Err(FileError { text }));
        };
        self.creating.insert(id, uid);
        #[cfg(feature = "host")]
        let in_memory = self.in_memory.clone();
        let is_running = self.run(id, cancel.clone(), files, move |answers| {
            let file = new.create(cancel);
            #[cfg(feature = "host")]
            let file = file.map(|file| FileOutput::of_user(file, uid, &in_memory));
            #[cfg(not(feature = "host"))]
            let file = file.map(FileOutput::from);
            answers.put_created(id, token, file.as_ref().map(drop).map_err(Clone::clone));
            file
        });
        if !is_running {
            self.answers.put_created(id, token, Err(no_thread()));
        }
    }

    fn take(&mut self, file: OutputFile) -> FileId {
        let id = self.next_id();
        if self.unthreaded.is_some() {
            self.keep(id, file);
        } else {
            // Without a thread the file is closed, and each write fails with that reason.
            self.run(id, file.cancel(), Place::default(), |_| Ok(file.into()));
        }
        id
    }

    fn next_id(&mut self) -> FileId {
        self.last_id += 1;
        FileId::new(self.last_id)
    }

    /// Keeps a file without a thread.
    fn keep(&mut self, id: FileId, file: OutputFile) {
        let (jobs, queue) = queue();
        let open = Open {
            jobs,
            #[cfg(feature = "host")]
            uid: None,
            cancel: file.cancel(),
        };
        self.open.insert(id, open);
        let unthreaded = self.unthreaded.get_or_insert_default();
        unthreaded.push(UnthreadedFile { id, file: Ok(file.into()), queue });
    }

    /// Starts the thread of a file, which `open`s it first, and has its `place` until it ends. If that fails, each job
    /// is answered with the error. False if there can be no thread.
    fn run(
        &mut self,
        id: FileId,
        cancel: Cancel,
        place: Place,
        open: impl FnOnce(&Answers) -> Result<FileOutput, FileError> + Send + 'static,
    ) -> bool {
        let (jobs, queue) = queue();
        let (answers, alive) = (self.answers.clone(), self.alive.clone());
        #[cfg(feature = "host")]
        let uid = place.uid;
        let run = move || {
            serve(id, open(&answers), &queue, &answers);
            lock(&answers.finished).ended.push(id);
            drop((alive, place));
        };
        let is_running = os::thread::spawn("trace-file", Box::new(run)).is_ok();
        if is_running {
            let open = Open {
                jobs,
                #[cfg(feature = "host")]
                uid,
                cancel,
            };
            self.open.insert(id, open);
        }
        is_running
    }

    /// Drops the jobs that have not run. It is not answered, but answers to earlier jobs may still come.
    pub(super) fn abandon(&mut self, id: FileId) {
        let open = self.open.remove(&id).map(|open| open.cancel);
        if let Some(cancel) = open.or_else(|| self.closing.remove(&id)) {
            cancel.set();
        }
    }

    /// Appends `data`. The answer comes through [`take_finished`](Self::take_finished).
    pub(super) fn write(&mut self, id: FileId, data: Bytes, sync: FileSync, close: bool) {
        #[cfg(feature = "host")]
        let held = match self.hold(id, data.len() as u64) {
            Ok(held) => held,
            Err(error) => {
                // Before the answer of the write that is cancelled, which does not say why.
                self.answers.put(id, Err(error));
                // What was sent before may never be taken.
                return self.abandon(id);
            }
        };
        let write = Job::Write {
            data,
            sync,
            close,
            #[cfg(feature = "host")]
            held,
        };
        let taken = self.send(id, write);
        if !taken {
            self.open.remove(&id);
            self.answers.put(id, Err(closed()));
        } else if close {
            // The jobs that were sent before still run, on the thread if there is one.
            let open = self.open.remove(&id).filter(|_| self.unthreaded.is_none());
            if let Some(open) = open {
                self.closing.insert(id, open.cancel);
            }
        }
    }

    /// Counts data that is not written yet, if it is much. The write may never end, and many files may have one.
    #[cfg(feature = "host")]
    fn hold(&self, id: FileId, bytes: u64) -> Result<Option<Held>, FileError> {
        let uid = self.open.get(&id).and_then(|open| open.uid);
        let Some(uid) = uid.filter(|uid| self.is_limited(*uid)) else { return Ok(None) };
        if bytes <= FILE_PIECE_LONG_BYTES as u64 {
            return Ok(None);
        }
        let held = self.in_memory.hold(uid, bytes);
        held.map(Some).map_err(|excess| FileError { text: excess.to_string() })
    }

    /// Appends to `to` the bytes that `from` has so far. The answer is one for `to`.
    pub(super) fn copy(&mut self, from: FileId, to: FileId) {
        let asked = match self.open.get(&to).map(|open| open.jobs.clone()) {
            Some(jobs) => {
                // If the source is gone, the thread of the target reports it, because it must close the target.
                self.send(from, Job::Share(to, jobs)) || self.send(to, Job::Copy(Err(closed())))
            }
            None => false,
        };
        if !asked {
            self.answers.put(to, Err(closed()));
        }
    }

    /// Whether files have no threads, so that [`take_finished`](Self::take_finished) runs their jobs.
    pub(super) fn have_no_threads(&self) -> bool {
        self.unthreaded.is_some()
    }

    /// Makes dropping wait no more, because the caller has waited already.
    pub(super) fn give_up(&mut self) {
        self.drop_timeout = Duration::ZERO;
    }

    fn send(&self, id: FileId, job: Job) -> bool {
        self.open.get(&id).is_some_and(|open| open.jobs.send(job))
    }

    /// The answers since the last call, in order for each file.
    pub(super) fn take_finished(&mut self) -> FinishedJobs {
        self.work();
        let finished = std::mem::take(&mut *lock(&self.answers.finished));
        for (id, is_there) in &finished.created {
            self.creating.remove(id);
            if !is_there {
                self.open.remove(id);
            }
        }
        for id in &finished.ended {
            self.closing.remove(id);
        }
        finished
    }

    /// Runs the jobs of files that have no thread. A job may add one for another file.
    fn work(&mut self) {
        let Some(unthreaded) = &mut self.unthreaded else { return };
        let mut worked = true;
        while worked {
            worked = false;
            for one in unthreaded.iter_mut() {
                while let Some(job) = one.queue.try_recv() {
                    job.run(one.id, &mut one.file, &self.answers);
                    worked = true;
                }
            }
        }
        // A file is forgotten when the sender of its jobs is dropped.
        unthreaded.retain(|one| self.open.contains_key(&one.id));
    }
}

impl Drop for Files {
    /// Waits until all jobs have run, for a limited time.
    fn drop(&mut self) {
        self.work();
        let open = std::mem::take(&mut self.open);
        let closing = std::mem::take(&mut self.closing).into_values();
        let cancel: Vec<Cancel> =
            open.into_values().map(|open| open.cancel).chain(closing).collect();
        self.alive = None;
        // No thread sends a value: this returns when the last one has ended, or after the timeout.
        let _ = self.ended.recv_timeout(self.drop_timeout);
        cancel.iter().for_each(Cancel::set);
    }
}

fn no_thread() -> FileError {
    FileError { text: "the service can start no thread for it".into() }
}

impl NewFile {
    /// Creates it, on a thread that is for this file alone if the rights are not those of this process.
    fn create(&self, cancel: Cancel) -> Result<OutputFile, FileError> {
        self.rights.take().map_err(|error| {
            let text = format!(
                "the service cannot take the rights of user {} ({error}): pass it an open file instead of output_path, \
                 as perfetto -o does",
                self.uid
            );
            FileError { text }
        })?;
        OutputFile::create(Path::new(&self.path), cancel).map_err(failed)
    }
}

#[cfg(test)]
mod tests;
