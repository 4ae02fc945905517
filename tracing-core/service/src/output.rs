//! The effects that the service asks for.

use bytes::Bytes;

use abi::ids::{CallId, ClientId, FileId, ShellToken};
use abi::shm::Region;

/// The call failed: the peer sees a reply without success and without text (the protocol has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected;

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something was refused or failed.
    Error,
    /// Something that a user should know.
    Info,
    /// For the search for a fault.
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

/// How durable the written bytes of a file must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSync {
    /// The system decides.
    No,
    /// The disk should begin to write (`sync_file_range`); the rest of the file and then
    /// [`Wait`](Self::Wait) follow. The service does not wait for it, and it may fail.
    Begin,
    /// All of it, before the answer (`fdatasync`).
    Wait,
}

/// One effect. They must be carried out in order.
#[derive(Debug)]
pub enum Output {
    /// A reply, or one of a stream of them.
    Reply {
        /// The connection. If it was closed meanwhile, the reply is dropped.
        client: ClientId,
        /// The call this answers.
        call: CallId,
        /// The encoded response message of the method.
        result: Result<Bytes, Rejected>,
        /// True when another reply to the same call will follow.
        has_more: bool,
        /// Shared memory whose descriptor goes with the reply.
        region: Option<Region>,
        /// The reply has packets. Their stream pauses by itself, so they do not count against a peer that does not
        /// read.
        paced: bool,
    },
    /// Close the connection; the service has already forgotten it.
    Disconnect {
        /// The connection.
        client: ClientId,
    },
    /// Create a file that does not exist yet (never overwrite), readable and writable by its owner
    /// until it is made readable for all. It is created with the rights of the user that asks for it, or not at all: a
    /// service of root must not write where that user cannot. Answered by
    /// [`Input::FileCreated`](super::Input::FileCreated).
    CreateFile {
        /// The answer carries it.
        token: ShellToken,
        /// The connection of the consumer that asks for it.
        client: ClientId,
        /// The user of that consumer.
        uid: u32,
        /// As the config says, taken relative to the daemon's directory.
        path: String,
    },
    /// Append to a file, retrying short writes. Answered by
    /// [`Input::FileWritten`](super::Input::FileWritten).
    WriteFile {
        /// The file.
        file: FileId,
        /// The bytes to append; may be empty.
        data: Bytes,
        /// How durable all written bytes must be.
        sync: FileSync,
        /// Close it afterwards, whatever happened.
        close: bool,
    },
    /// Append to one file the whole content of another; the offset at which that one is written does not
    /// change. Its content is what was written to it before this effect. Answered by
    /// [`Input::FileWritten`](super::Input::FileWritten) for `to`.
    CopyFile {
        /// The file to copy. It is written further afterwards.
        from: FileId,
        /// The file to append to.
        to: FileId,
    },
    /// Drop what was not written yet and close the file, even if a write is in progress. There is no answer
    /// to this effect, and answers to earlier ones about the file are ignored.
    AbandonFile {
        /// The file.
        file: FileId,
    },
    /// Change the scheduling priority of the service, or restore the first one. Answered by
    /// [`Input::PrioritySet`](super::Input::PrioritySet).
    SetPriority {
        /// The answer carries it.
        token: ShellToken,
        /// None for the priority that the service was started with.
        boost: Option<Boost>,
    },
    /// A producer has left, and the service keeps its shared memory until its last work is done: count that for its
    /// user until [`ReleaseMemory`](Self::ReleaseMemory).
    CountMemory {
        /// The connection, which may be closed already.
        client: ClientId,
        /// The user of that producer.
        uid: u32,
    },
    /// Drop shared memory of a producer that has left, or that was refused. To unmap it may take as long as the
    /// producer likes, so it should be dropped where nobody waits for it.
    ReleaseMemory {
        /// The connection, which may be closed already.
        client: ClientId,
        /// The user of that producer.
        uid: u32,
        /// The memory. Nothing of the service refers to it any more.
        region: Region,
    },
    /// A line for the log.
    Log {
        /// How much the line matters.
        level: LogLevel,
        /// One line, without a line end.
        text: String,
        /// The user that caused it by its session, or by what it asked for earlier. None: the peer of the input that is
        /// being handled, or nobody.
        uid: Option<u32>,
    },
}
