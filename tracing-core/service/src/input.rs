//! Everything that can happen to the service.

use super::port::{ConsumerRequest, ProducerRequest};
use abi::ids::{CallId, ClientId, FileId};
use abi::shm::Region;

/// Who is at the other end of a connection, as the operating system says, not as the peer says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Peer {
    /// User id; what sessions and packets are attributed to.
    pub uid: u32,
    /// Process id, where the transport knows it.
    pub pid: Option<i32>,
    /// Zero for this machine, else the id of a remote one.
    pub machine_id: u32,
    /// Name of that machine, for filters and queries.
    pub machine_name: String,
    /// No memory can be shared with it: its transport carries no descriptors. Chunks of a producer then
    /// come inside its commits.
    pub by_value: bool,
}

/// Why the operating system refused to create or write a file, in its own words
/// (`No space left on device`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Reason, without the path.
    pub text: String,
}

/// One event. Order matters, nothing else does: the same inputs give the same outputs.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "made, moved once and taken apart: a box would cost more than the move"
)]
pub enum Input {
    /// Somebody opened a connection to the producer socket. `client` is never reused.
    ProducerConnected {
        /// The connection.
        client: ClientId,
        /// Its credentials.
        peer: Peer,
        /// True when it lives in this process.
        in_process: bool,
    },
    /// A decoded request of a producer.
    ProducerRequest {
        /// The connection.
        client: ClientId,
        /// What to answer to; none when the caller wants no reply.
        call: Option<CallId>,
        /// The method and its arguments.
        request: ProducerRequest,
        /// Shared memory that came with it: checked (sealed) and mapped by the transport.
        region: Option<Region>,
    },
    /// The connection is gone. Nothing more comes from it, and nothing can be sent to it.
    ProducerDisconnected {
        /// The connection.
        client: ClientId,
    },
    /// Somebody opened a connection to the consumer socket.
    ConsumerConnected {
        /// The connection.
        client: ClientId,
        /// Its credentials.
        peer: Peer,
    },
    /// A decoded request of a consumer.
    ConsumerRequest {
        /// The connection.
        client: ClientId,
        /// What to answer to; none when the caller wants no reply.
        call: Option<CallId>,
        /// The method and its arguments.
        request: ConsumerRequest,
        /// A file that came with it. The service owns it from here on and says when it is to be closed.
        file: Option<FileId>,
    },
    /// The connection is gone; its session, if any, ends.
    ConsumerDisconnected {
        /// The connection.
        client: ClientId,
    },
    /// Answer to [`Output::CreateFile`](super::Output::CreateFile).
    FileCreated {
        /// The number the request carried.
        token: u64,
        /// The open file, or why there is none.
        result: Result<FileId, FileError>,
    },
    /// Answer to [`Output::SetPriority`](super::Output::SetPriority).
    PrioritySet {
        /// The number the request carried.
        token: u64,
        /// Done, or why not, in the words of the operating system.
        result: Result<(), String>,
    },
    /// Answer to [`Output::WriteFile`](super::Output::WriteFile) and, for the file that is written, to
    /// [`Output::CopyFile`](super::Output::CopyFile), exactly one for each.
    FileWritten {
        /// The file.
        file: FileId,
        /// Done in full, or why not. After an error the file is closed by whoever wrote.
        result: Result<(), FileError>,
    },
    /// All reply bytes of this consumer have left: a stream that paused may go on.
    ConsumerDrained {
        /// The connection.
        client: ClientId,
    },
}
