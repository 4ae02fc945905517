//! Files the service writes: each on a thread of its own, so that a slow disk, or a pipe that nobody
//! reads, delays nobody but the session that writes.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

use crate::system::file::{CutShort, OutputFile, Unwanted};
use abi::error::OsError;
use abi::ids::FileId;
use abi::sync::{Arc, Mutex, lock, mpsc};
use os::poll::Wake;
use service::{FileError, FileSync, Input};

/// How long the end of the daemon waits for what is still being written. A disk takes less; a pipe that
/// nobody reads takes for ever.
pub(super) const LAST_WRITES: Duration = Duration::from_secs(5);

/// What a thread is to do with its file.
enum Job {
    /// Append.
    Write { data: Bytes, sync: FileSync, close: bool },
    /// Give what is in it by now to the thread of another file.
    Share(FileId, mpsc::Sender<Job>),
    /// Append the first so many bytes of another file, or fail as that one did.
    Copy(Result<(OutputFile, u64), FileError>),
}

/// A file whose jobs are done by whoever asks for them.
struct Here {
    id: FileId,
    file: Option<OutputFile>,
    queue: mpsc::Receiver<Job>,
}

/// Where the threads leave what they did.
#[derive(Clone)]
struct Outlet {
    done: Arc<Mutex<Done>>,
    wake: Wake,
}

/// What was done, and the memory of what was written.
#[derive(Default)]
pub(super) struct Done {
    pub(super) answers: Vec<Input>,
    pub(super) spent: Vec<Bytes>,
}

impl Outlet {
    fn put(&self, file: FileId, result: Result<(), FileError>) {
        lock(&self.done).answers.push(Input::FileWritten { file, result });
        self.wake.wake();
    }

    /// To be put before the answer.
    fn give_back(&self, memory: Bytes) {
        lock(&self.done).spent.push(memory);
    }
}

/// How to reach the thread of a file.
struct Open {
    jobs: mpsc::Sender<Job>,
    /// Nobody waits for it any more: it may stop in the middle.
    unwanted: Unwanted,
}

/// The files that are open, each with its thread.
pub(super) struct Files {
    open: BTreeMap<FileId, Open>,
    /// Those without a thread, if there are to be none.
    here: Option<Vec<Here>>,
    outlet: Outlet,
    /// Every thread holds a sender, to nobody: the receiver learns when the last one ended.
    alive: Option<mpsc::Sender<()>>,
    ended: mpsc::Receiver<()>,
    /// How long the end waits for them.
    patience: Duration,
    last_id: u64,
}

impl Files {
    /// No files; `wake` is called when [`take_done`](Self::take_done) has something.
    pub(super) fn new(wake: Wake, threads: bool) -> Self {
        let (alive, ended) = mpsc::channel();
        Self {
            open: BTreeMap::new(),
            here: (!threads).then(Vec::new),
            outlet: Outlet { done: Arc::default(), wake },
            alive: Some(alive),
            ended,
            patience: LAST_WRITES,
            last_id: 0,
        }
    }

    /// Takes over a file that came from a consumer.
    pub(super) fn adopt(&mut self, fd: OwnedFd) -> FileId {
        self.take(OutputFile::from_fd(fd))
    }

    /// Creates a file. At once: the service should hear of it before anything else.
    pub(super) fn create(&mut self, path: &str) -> Result<FileId, FileError> {
        let file = OutputFile::create(Path::new(path)).map_err(failed)?;
        Ok(self.take(file))
    }

    fn take(&mut self, file: OutputFile) -> FileId {
        self.last_id += 1;
        let id = FileId(self.last_id);
        let (jobs, queue) = mpsc::channel();
        let open = Open { jobs, unwanted: file.unwanted() };
        if let Some(here) = &mut self.here {
            here.push(Here { id, file: Some(file), queue });
            self.open.insert(id, open);
            return id;
        }
        let (outlet, alive) = (self.outlet.clone(), self.alive.clone());
        let run = move || {
            serve(id, file, &queue, &outlet);
            drop(alive);
        };
        // Without a thread the file is closed, and each write says so.
        if std::thread::Builder::new().name("trace-file".into()).spawn(run).is_ok() {
            self.open.insert(id, open);
        }
        id
    }

    /// Drops what was not written yet. Without an answer; those of before may still come.
    pub(super) fn abandon(&mut self, id: FileId) {
        if let Some(open) = self.open.remove(&id) {
            open.unwanted.set();
        }
    }

    /// Appends; the answer comes through [`take_done`](Self::take_done).
    pub(super) fn write(&mut self, id: FileId, data: Bytes, sync: FileSync, close: bool) {
        let taken = self.send(id, Job::Write { data, sync, close });
        if close || !taken {
            // What was sent is still done.
            self.open.remove(&id);
        }
        if !taken {
            self.outlet.put(id, Err(closed()));
        }
    }

    /// Appends to `to` what was written to `from` before; the answer is one for `to`.
    pub(super) fn copy(&mut self, from: FileId, to: FileId) {
        let asked = match self.open.get(&to).map(|open| open.jobs.clone()) {
            Some(jobs) => {
                // If the source is gone, its heir says so: the target must be closed where it is open.
                self.send(from, Job::Share(to, jobs)) || self.send(to, Job::Copy(Err(closed())))
            }
            None => false,
        };
        if !asked {
            self.outlet.put(to, Err(closed()));
        }
    }

    /// Whether jobs are done by whoever asks for what was done.
    pub(super) fn are_here(&self) -> bool {
        self.here.is_some()
    }

    /// Somebody has waited already: the end does not do it again.
    pub(super) fn give_up(&mut self) {
        self.patience = Duration::ZERO;
    }

    fn send(&self, id: FileId, job: Job) -> bool {
        self.open.get(&id).is_some_and(|open| open.jobs.send(job).is_ok())
    }

    /// What was done since the last call, in the order of each file.
    pub(super) fn take_done(&mut self) -> Done {
        self.work();
        std::mem::take(&mut lock(&self.outlet.done))
    }

    /// Does the jobs of files that have no thread. One may make another for a second file.
    fn work(&mut self) {
        let Some(here) = &mut self.here else { return };
        let mut worked = true;
        while worked {
            worked = false;
            for one in here.iter_mut() {
                while let Ok(job) = one.queue.try_recv() {
                    job.run(one.id, &mut one.file, &self.outlet);
                    worked = true;
                }
            }
        }
        // Forgotten together with the sender of its jobs.
        here.retain(|one| self.open.contains_key(&one.id));
    }
}

impl Drop for Files {
    /// Waits until all that was asked for is written, but not for ever.
    fn drop(&mut self) {
        self.work();
        let open = std::mem::take(&mut self.open);
        let unwanted: Vec<Unwanted> = open.into_values().map(|open| open.unwanted).collect();
        self.alive = None;
        // Nobody sends: this ends when the last thread does, or when it takes too long.
        let _ = self.ended.recv_timeout(self.patience);
        unwanted.iter().for_each(Unwanted::set);
    }
}

fn failed(error: OsError) -> FileError {
    FileError { text: error.reason() }
}

fn closed() -> FileError {
    FileError { text: "the file is closed".into() }
}

/// Appends a piece of a trace. If it finds no room for all of it, the packet that was cut is taken back: what
/// is in the file stays a trace.
fn append_packets(file: &OutputFile, data: &[u8]) -> Result<(), FileError> {
    file.append(data).map_err(|cut| {
        take_back_cut(file, data, &cut);
        failed(cut.error)
    })
}

fn take_back_cut(file: &OutputFile, data: &[u8], cut: &CutShort) {
    let mut reader = protozero::Reader::new(data.get(..cut.written).unwrap_or_default());
    let mut whole = 0;
    while let Ok(Some(_)) = reader.next_field() {
        whole = reader.position();
    }
    // A pipe has it already, and the disk that failed may fail again: the error is told anyway.
    let _ = file.take_back((cut.written - whole) as u64);
}

/// Does what comes for one file, until nothing can come any more.
fn serve(id: FileId, file: OutputFile, queue: &mpsc::Receiver<Job>, outlet: &Outlet) {
    let mut file = Some(file);
    for job in queue {
        job.run(id, &mut file, outlet);
    }
}

impl Job {
    /// Does it for `file`. Each job is answered, also after the file failed.
    fn run(self, id: FileId, file: &mut Option<OutputFile>, outlet: &Outlet) {
        let open = file.as_ref().ok_or_else(closed);
        let (result, close) = match self {
            Self::Write { data, sync, close } => {
                let written = open.and_then(|file| {
                    append_packets(file, &data)?;
                    match sync {
                        FileSync::No => Ok(()),
                        FileSync::Begin => {
                            file.begin_sync();
                            Ok(())
                        }
                        FileSync::Wait => file.sync().map_err(failed),
                    }
                });
                outlet.give_back(data);
                (written, close)
            }
            Self::Share(heir, jobs) => {
                let shared = open.and_then(|file| file.share().map_err(failed));
                if jobs.send(Self::Copy(shared)).is_err() {
                    outlet.put(heir, Err(closed()));
                }
                return;
            }
            Self::Copy(source) => {
                let copied = open.and_then(|file| {
                    let (source, len) = source?;
                    file.append_from(&source, len).map_err(failed)
                });
                (copied, false)
            }
        };
        if close || result.is_err() {
            // Before anybody hears of it: who waits for the end of a session finds a closed file.
            *file = None;
        }
        outlet.put(id, result);
    }
}

#[cfg(test)]
mod tests;
