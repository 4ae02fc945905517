//! Sockets: where they are, listening on them, bytes and descriptors through them.
//!
//! A connection is a byte stream (`SOCK_STREAM`). On AF_UNIX a message may carry one descriptor
//! beside its bytes; other families carry none.

mod address;
mod credentials;
mod listen;
mod stream;
mod vsock;

#[cfg(test)]
mod tests;

pub use self::address::{Address, AddressError, Defaults, defaults};
pub use self::credentials::Credentials;
pub use self::listen::{ListenError, Listener};
pub use self::stream::{Received, Stream};
