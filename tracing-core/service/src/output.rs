//! Everything the service can ask for.

use bytes::Bytes;

use abi::ids::{CallId, ClientId, FileId};
use abi::shm::Region;

/// The call failed: the peer sees a reply without success and without text (the protocol has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected;

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something was refused or failed.
    Error,
    /// Something that its user should know.
    Info,
    /// For people who look for a fault.
    Debug,
}

/// A scheduling priority, in order of weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Boost {
    /// `SCHED_OTHER` with a nice value of minus this, 0 to 20.
    Other(u32),
    /// `SCHED_FIFO` of this priority, 1 to 99.
    Fifo(u32),
}

/// How durable what was written to a file is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSync {
    /// As the system likes.
    No,
    /// The disk should begin with it (`sync_file_range`), for the rest of the file and then
    /// [`Wait`](Self::Wait) follow. Nobody waits for it, and nobody minds if it is not done.
    Begin,
    /// All of it, before the answer (`fdatasync`).
    Wait,
}

/// One effect. They must be carried out in order.
#[derive(Debug)]
pub enum Output {
    /// A reply, or one of a stream of them.
    Reply {
        /// The connection. It may have gone in the meantime: then nothing is to be done.
        client: ClientId,
        /// The call this answers.
        call: CallId,
        /// The encoded response message of the method.
        result: Result<Bytes, Rejected>,
        /// True when another reply to the same call will follow.
        has_more: bool,
        /// Shared memory whose descriptor goes with the reply.
        region: Option<Region>,
        /// It has packets: their stream pauses by itself, whether its reader is slow or not, so they do not
        /// count against a peer that does not read.
        paced: bool,
    },
    /// Close the connection; the service has already forgotten it.
    Disconnect {
        /// The connection.
        client: ClientId,
    },
    /// Create a file that does not exist yet (never overwrite), readable and writable by its owner
    /// until it is made readable for all. Answered by
    /// [`Input::FileCreated`](super::Input::FileCreated), best before any other input.
    CreateFile {
        /// Comes back in the answer.
        token: u64,
        /// As the config says, taken relative to the daemon's directory.
        path: String,
    },
    /// Append to a file, retrying short writes. Answered by
    /// [`Input::FileWritten`](super::Input::FileWritten).
    WriteFile {
        /// The file.
        file: FileId,
        /// What to append; may be empty.
        data: Bytes,
        /// Whether to make all that was written durable.
        sync: FileSync,
        /// Close it afterwards, whatever happened.
        close: bool,
    },
    /// Append to one file all that is in another, from its beginning; the offset at which that one is
    /// written stays. It holds by then what was written to it before this. Answered by
    /// [`Input::FileWritten`](super::Input::FileWritten) for `to`.
    CopyFile {
        /// What to copy. It goes on being written afterwards.
        from: FileId,
        /// Where to.
        to: FileId,
    },
    /// Drop what was not written yet and close it, even if somebody still writes: nobody waits for it any
    /// more. There is no answer to this one, and those to earlier ones do not matter.
    AbandonFile {
        /// The file.
        file: FileId,
    },
    /// Run the service itself faster, or as fast as at first again. Answered by
    /// [`Input::PrioritySet`](super::Input::PrioritySet).
    SetPriority {
        /// Comes back in the answer.
        token: u64,
        /// None for the priority the service had when it was started.
        boost: Option<Boost>,
    },
    /// A line for the log.
    Log {
        /// Its weight.
        level: LogLevel,
        /// One line, without a line end.
        text: String,
    },
}
