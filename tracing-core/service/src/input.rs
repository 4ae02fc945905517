//! The events that the service handles.

use super::matching::clip_name;
use super::port::{ConsumerRequest, ProducerRequest};
use super::shell_accounts::ShellAccounts;
use crate::limits;
use abi::ids::{CallId, ClientId, FileId, ShellToken};
use abi::shm::Region;

/// The identity of a peer, as the operating system reports it. The peer itself cannot choose it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Peer {
    /// User id; sessions and packets are attributed to it.
    pub uid: u32,
    /// Process id, where the transport knows it.
    pub pid: Option<i32>,
    /// Zero for this machine, else the id of a remote one.
    pub machine_id: u32,
    /// Name of that machine, for filters and queries.
    pub machine_name: String,
    /// The transport carries no descriptors, so no memory can be shared with the peer. Chunks of such a producer
    /// come inside its commits.
    pub by_value: bool,
}

impl Peer {
    /// Cuts what the peer may have chosen, as it is kept with each of its connections.
    pub(crate) fn clip_names(&mut self) {
        if self.machine_name.len() > limits::NAME_BYTES_MAX {
            self.machine_name = clip_name(&self.machine_name).to_owned();
        }
    }
}

/// Why the operating system refused to create or write a file, in its words (`No space left on device`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Reason, without the path.
    pub text: String,
}

/// Why the shell closed the connection of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The producer broke the protocol.
    Protocol,
    /// The producer did not take what the service sent, kept too much of the service's memory, or each call on its
    /// socket took long.
    NotReading,
    /// The descriptors of the producer could not be received or closed.
    Descriptors,
}

/// One event. The same inputs in the same order give the same outputs.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "made, moved once and taken apart: a box would cost more than the move"
)]
pub enum Input {
    /// A connection to the producer socket was opened. `client` is never reused.
    ProducerConnected {
        /// The connection.
        client: ClientId,
        /// Its credentials.
        peer: Peer,
        /// True when the producer is in this process.
        in_process: bool,
    },
    /// The shell refused a connection to the producer socket, because there are too many: what the producer would have
    /// recorded is lost. There is nobody to answer.
    ProducerRefused {
        /// The connection. Nothing else comes from it.
        client: ClientId,
        /// Its credentials.
        peer: Peer,
    },
    /// A decoded request of a producer.
    ProducerRequest {
        /// The connection.
        client: ClientId,
        /// The call to answer; none when the caller wants no reply.
        call: Option<CallId>,
        /// The method and its arguments.
        request: ProducerRequest,
        /// Shared memory that came with it. The transport has checked its seals and mapped it.
        region: Option<Region>,
    },
    /// The connection is closed. Nothing more comes from it, and nothing can be sent to it.
    ProducerDisconnected {
        /// The connection.
        client: ClientId,
    },
    /// The same, and it was the shell that closed the connection: what the producer goes on to write is lost.
    ProducerCut {
        /// The connection.
        client: ClientId,
        /// What for.
        why: Cut,
    },
    /// A connection to the consumer socket was opened.
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
        /// The call to answer; none when the caller wants no reply.
        call: Option<CallId>,
        /// The method and its arguments.
        request: ConsumerRequest,
        /// A file that came with it. The service owns it from here on and says when to close it.
        file: Option<FileId>,
    },
    /// The connection is closed; its session, if any, ends.
    ConsumerDisconnected {
        /// The connection.
        client: ClientId,
    },
    /// Answer to [`Output::CreateFile`](super::Output::CreateFile).
    FileCreated {
        /// The token of the request.
        token: ShellToken,
        /// The open file, or why there is none.
        result: Result<FileId, FileError>,
    },
    /// Answer to [`Output::SetPriority`](super::Output::SetPriority).
    PrioritySet {
        /// The token of the request.
        token: ShellToken,
        /// Done, or why not, in the words of the operating system.
        result: Result<(), String>,
    },
    /// Answer to [`Output::WriteFile`](super::Output::WriteFile) and, for the file that is written, to
    /// [`Output::CopyFile`](super::Output::CopyFile), exactly one for each.
    FileWritten {
        /// The file.
        file: FileId,
        /// Done in full, or why not. After an error the shell has closed the file.
        result: Result<(), FileError>,
    },
    /// The transport has sent all reply bytes of this client: a stream that paused may go on.
    Drained {
        /// The connection.
        client: ClientId,
    },
    /// What the transport did for a peer, who pays for it.
    FramesDecoded {
        /// The connection.
        client: ClientId,
        /// Frames that called no method of the service. The transport has answered them; they count as requests.
        refused: u64,
        /// Bytes that were decoded: of frames, and of the structs that were made of them.
        bytes: usize,
    },
    /// What the shell counts. It passes that before a `QueryServiceState`, or never: then the answer lacks it.
    ShellCounted(Box<ShellAccounts>),
}

impl Input {
    /// The connection that it is about, if it is about one.
    #[must_use]
    pub fn client(&self) -> Option<ClientId> {
        match self {
            Self::ProducerConnected { client, .. }
            | Self::ProducerRefused { client, .. }
            | Self::ProducerRequest { client, .. }
            | Self::ProducerDisconnected { client }
            | Self::ProducerCut { client, .. }
            | Self::ConsumerConnected { client, .. }
            | Self::ConsumerRequest { client, .. }
            | Self::ConsumerDisconnected { client }
            | Self::FramesDecoded { client, .. }
            | Self::Drained { client } => Some(*client),
            Self::FileCreated { .. }
            | Self::PrioritySet { .. }
            | Self::FileWritten { .. }
            | Self::ShellCounted(_) => None,
        }
    }
}
