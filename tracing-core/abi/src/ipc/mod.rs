//! The protocol between the service and its clients, without sockets.
//!
//! Bytes and descriptors in, typed events out, and back. A connection is a byte stream on
//! which both sides send frames (`wire_protocol.proto`, `client_impl.cc`, `host_impl.cc`):
//!
//! ```text
//!   12 00 00 00 | 10 01 1a 0e 0a 0c 50 72 6f 64 75 63 65 72 50 6f 72 74
//!   length, LE    IPCFrame { request_id: 1, bind_service { "ProducerPort" } }
//!
//!   client                                   host
//!     │ bind_service(name)                    │
//!     ├──────────────────────────────────────>│
//!     │      bind_service_reply(id, methods)  │   methods: name -> number
//!     │<──────────────────────────────────────┤
//!     │ invoke_method(id, number, arguments)  │
//!     ├──────────────────────────────────────>│
//!     │ invoke_method_reply(has_more) ...     │   in the order of completion; a stream has
//!     │<──────────────────────────────────────┤   has_more until its last
//! ```
//!
//! A frame may carry one descriptor, on its first byte: shared memory or an output file.
//!
//! | file | concern |
//! |---|---|
//! | `wire` | the protobuf fields of a frame |
//! | `cut` | where frames begin and end in the byte stream, the limit of their size |
//! | `frame` | frames taken out of the stream, what a frame says |
//! | `bind`, `call` | the two conversations: method tables, calls and replies |
//! | `outbox` | what waits to be sent |
//! | `host`, `client` | the two ends as state machines |
//! | `port` | the services there are, as types |
//!
//! `F` in all signatures is the descriptor, `OwnedFd` in a real process and a number in tests.

mod bind;
mod call;
mod client;
mod cut;
mod frame;
mod host;
mod outbox;
pub mod port;
mod wire;

#[cfg(test)]
mod tests;

pub use self::bind::{Bind, BindReply, Method};
pub use self::call::{Invoke, InvokeReply};
pub use self::client::{Client, ClientClosed, ClientEvent};
pub use self::cut::FrameError;
pub use self::frame::{Body, Deframer, Frame, PeerIdentity};
pub use self::host::{Host, HostEvent};
pub use self::outbox::Outbox;
pub use self::port::Port;

/// The call failed. The protocol carries no text for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected;

impl core::fmt::Display for Rejected {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the service rejected the call")
    }
}

impl core::error::Error for Rejected {}
