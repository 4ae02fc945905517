//! Files the service writes: written on a thread of their own, so that a slow disk delays
//! nobody but the session that writes.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread::JoinHandle;

use bytes::Bytes;

use crate::error::OsError;
use crate::ids::FileId;
use crate::os::file::OutputFile;
use crate::os::poll::Wake;
use crate::service::{FileError, Input};
use crate::sync::{Arc, Mutex, lock, mpsc};

enum Job {
    Adopt { id: FileId, file: OutputFile },
    Write { id: FileId, data: Bytes, sync: bool, close: bool },
}

/// The files that are open, on their thread.
pub(super) struct Files {
    jobs: Option<mpsc::Sender<Job>>,
    done: Arc<Mutex<Vec<Input>>>,
    thread: Option<JoinHandle<()>>,
    last_id: u64,
}

impl Files {
    /// Starts the thread; `wake` is called when [`take_done`](Self::take_done) has something.
    pub(super) fn start(wake: Wake) -> Result<Self, OsError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let done = Arc::new(Mutex::new(Vec::new()));
        let results = Arc::clone(&done);
        let run = move || {
            let mut open = BTreeMap::new();
            for job in queue {
                if let Some(input) = perform(job, &mut open) {
                    lock(&results).push(input);
                    wake.wake();
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("trace-files".into())
            .spawn(run)
            .map_err(|error| OsError::new("clone", error.raw_os_error().unwrap_or(0)))?;
        Ok(Self { jobs: Some(jobs), done, thread: Some(thread), last_id: 0 })
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
        self.send(Job::Adopt { id, file });
        id
    }

    /// Appends; the answer comes through [`take_done`](Self::take_done).
    pub(super) fn write(&mut self, id: FileId, data: Bytes, sync: bool, close: bool) {
        self.send(Job::Write { id, data, sync, close });
    }

    /// What was done since the last call, in order.
    pub(super) fn take_done(&mut self) -> Vec<Input> {
        std::mem::take(&mut lock(&self.done))
    }

    fn send(&mut self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only with the channel.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Files {
    /// Waits until all that was asked for is written.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn failed(error: OsError) -> FileError {
    FileError { text: error.reason() }
}

fn perform(job: Job, open: &mut BTreeMap<FileId, OutputFile>) -> Option<Input> {
    match job {
        Job::Adopt { id, file } => {
            open.insert(id, file);
            None
        }
        Job::Write { id, data, sync, close } => {
            let result = match open.get(&id) {
                None => Err(FileError { text: "the file is closed".into() }),
                Some(file) => {
                    let written = file.append(&data);
                    let synced = if sync { written.and_then(|()| file.sync()) } else { written };
                    synced.map_err(failed)
                }
            };
            if close || result.is_err() {
                open.remove(&id);
            }
            Some(Input::FileWritten { file: id, result })
        }
    }
}
