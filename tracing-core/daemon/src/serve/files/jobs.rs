//! What the thread of a file does: its jobs, one after the other, each of which is answered.

use bytes::Bytes;

#[cfg(feature = "host")]
use super::in_memory::Held;
use super::output::{FileOutput, failed};
use crate::system::file::OutputFile;
use abi::ids::{FileId, ShellToken};
use abi::sync::{Arc, Mutex, lock};
use os::poll::Wake;
use os::queue::{Receiver, Sender};
use service::{FileError, FileSync, Input};

/// A job for the thread of a file.
pub(super) enum Job {
    /// Append `data`, which is on an account until then.
    Write {
        data: Bytes,
        sync: FileSync,
        close: bool,
        #[cfg(feature = "host")]
        held: Option<Held>,
    },
    /// Give a handle of this file and its length to the thread of another file.
    Share(FileId, Sender<Job>),
    /// Append the given number of bytes from the start of another file, or fail as that file did.
    Copy(Result<(OutputFile, u64), FileError>),
}

/// Where the threads put their answers.
#[derive(Clone)]
pub(super) struct Answers {
    pub(super) finished: Arc<Mutex<FinishedJobs>>,
    wake: Wake,
}

/// Answers for the service, and the memory of written data.
#[derive(Default)]
pub(in crate::serve) struct FinishedJobs {
    pub(in crate::serve) answers: Vec<Input>,
    pub(in crate::serve) written_memory: Vec<Bytes>,
    /// Files that were created, or could not be.
    pub(super) created: Vec<(FileId, bool)>,
    /// Files whose threads have ended.
    pub(super) ended: Vec<FileId>,
}

impl Answers {
    pub(super) fn new(wake: Wake) -> Self {
        Self { finished: Arc::default(), wake }
    }

    pub(super) fn put(&self, file: FileId, result: Result<(), FileError>) {
        lock(&self.finished).answers.push(Input::FileWritten { file, result });
        self.wake.wake();
    }

    pub(super) fn put_created(
        &self,
        file: FileId,
        token: ShellToken,
        result: Result<(), FileError>,
    ) {
        let mut finished = lock(&self.finished);
        finished.created.push((file, result.is_ok()));
        finished.answers.push(Input::FileCreated { token, result: result.map(|()| file) });
        drop(finished);
        self.wake.wake();
    }

    /// Returns the memory of written data. Called before the answer is put.
    fn give_back(&self, memory: Bytes) {
        lock(&self.finished).written_memory.push(memory);
    }
}

/// Runs the jobs of one file until their sender is dropped.
pub(super) fn serve(
    id: FileId,
    mut file: Result<FileOutput, FileError>,
    queue: &Receiver<Job>,
    answers: &Answers,
) {
    while let Some(job) = queue.recv() {
        job.run(id, &mut file, answers);
    }
}

impl Job {
    /// Runs the job on `file`. Each job is answered, also after the file has failed.
    pub(super) fn run(
        self,
        id: FileId,
        file: &mut Result<FileOutput, FileError>,
        answers: &Answers,
    ) {
        let open = file.as_ref().map_err(Clone::clone);
        let (result, close) = match self {
            Self::Write {
                data,
                sync,
                close,
                #[cfg(feature = "host")]
                held,
            } => {
                let written = open.and_then(|file| {
                    file.append(&data)?;
                    match sync {
                        FileSync::No => Ok(()),
                        FileSync::Begin => {
                            file.file().begin_sync();
                            Ok(())
                        }
                        FileSync::Wait => file.file().sync().map_err(failed),
                    }
                });
                answers.give_back(data);
                #[cfg(feature = "host")]
                drop(held);
                (written, close)
            }
            Self::Share(target, jobs) => {
                let shared = open.and_then(|file| file.file().share().map_err(failed));
                if !jobs.send(Self::Copy(shared)) {
                    answers.put(target, Err(closed()));
                }
                return;
            }
            Self::Copy(source) => {
                let copied = open.and_then(|file| {
                    let (source, len) = source?;
                    file.append_from(&source, len)
                });
                (copied, false)
            }
        };
        if close || result.is_err() {
            // Before the answer: a consumer that waits for the end of its session must find a closed file.
            *file = Err(closed());
        }
        answers.put(id, result);
    }
}

pub(super) fn closed() -> FileError {
    FileError { text: "the file is closed".into() }
}
