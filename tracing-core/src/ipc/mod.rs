//! The socket protocol, without sockets.
