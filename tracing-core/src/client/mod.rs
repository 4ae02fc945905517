//! Threads and sockets around the layers below: the daemon, producers, consumers.
//!
//! Layer 4. The state machines of layers 2 and 3 meet the system calls of [`os`](crate::os) here, in
//! loops that contain no decision of their own:
//!
//! | file | what |
//! |---|---|
//! | `connection` | a client's connection to a service, over a socket or inside this process |
//! | `serve` | the daemon: sockets, files and timers around the service |
//! | `in_process` | the same service on a thread of this process, without sockets |
//! | `embed` | the same service without a thread, and over an IPC that is not ours |
//! | `consumer` | starts traces and reads them |
//! | `producer`, `data_source` | writes them |

#![allow(clippy::disallowed_methods, reason = "waiting with a deadline needs the process's clock")]

pub mod connection;
pub mod consumer;
pub mod data_source;
pub mod embed;
pub mod in_process;
pub mod producer;
pub mod serve;

#[cfg(test)]
mod tests;
