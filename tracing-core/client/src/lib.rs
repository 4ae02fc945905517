//! Producers and consumers of a tracing service.
//!
//! | module | what |
//! |---|---|
//! | [`producer`], [`data_source`] | a program that offers data sources, and what it implements for each |
//! | [`mod@write`] | arbiter and trace writers: packets into chunks of shared memory; no system call |
//! | `consumer` | starts traces and reads them (feature `consumer`) |
//! | [`connection`] | a client's connection to a service, over a socket or a transport of the program's |
//! | `limits` | every bound of a client |

#![allow(clippy::disallowed_methods, reason = "waiting with a deadline needs the process's clock")]

pub mod connection;
#[cfg(feature = "consumer")]
pub mod consumer;
pub mod data_source;
mod limits;
pub mod producer;
pub mod write;
