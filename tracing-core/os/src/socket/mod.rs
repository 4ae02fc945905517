//! Sockets: their addresses, listening, and sending bytes and descriptors.
//!
//! A connection is a byte stream (`SOCK_STREAM`). On AF_UNIX a message may carry one descriptor
//! beside its bytes; other families carry none.

mod address;
#[cfg(feature = "host")]
mod claim;
#[cfg(feature = "host")]
mod credentials;
#[cfg(feature = "host")]
mod descriptors;
mod fallback;
#[cfg(feature = "host")]
mod listen;
#[cfg(feature = "host")]
mod lock;
#[cfg(feature = "host")]
mod names;
#[cfg(all(test, feature = "host"))]
mod open_folder;
mod open_socket;
mod stream;
mod vsock;

#[cfg(all(test, feature = "host"))]
mod tests;

pub use self::address::{Address, AddressError, Defaults, defaults};
#[cfg(feature = "host")]
pub use self::claim::Displaced;
#[cfg(feature = "host")]
pub use self::credentials::Credentials;
#[cfg(feature = "host")]
pub use self::descriptors::{DESCRIPTORS_PER_MESSAGE, Openable};
#[cfg(feature = "host")]
pub use self::listen::{ListenError, Listener};
pub use self::open_socket::OpenSocket;
pub use self::stream::{Received, Stream};
