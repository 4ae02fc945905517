//! Perfetto trace files: written from your own data, read as events, checked, and measured.
//!
//! | module | what |
//! |---|---|
//! | [`mod@write`] | traces of your own data, which cannot be written wrong |
//! | [`read`] | events of a trace, with names, tracks and times looked up |
//! | [`lint`] | what readers drop, refuse or confuse |
//! | [`timeline`] | its events as lines, in the order of time |
//! | [`stats`] | what a trace consists of |
//! | [`losses`] | what a recording lost, as its service and the probes of the kernel counted it |
//! | [`packets`], [`compressed`] | the packets below them |
//! | `slices` | which end of a slice belongs to which begin |
//! | `limits` | what a file can make its readers keep and do |
//! | [`json`], [`escape`] | the JSON of reports; texts of a trace, as they may reach a terminal |
//!
//! A trace is one protobuf message, `Trace`, whose packets are read and written one at a time: memory does not depend
//! on the length of a file.

#![forbid(unsafe_code)]

pub mod compressed;
pub mod escape;
pub mod json;
mod limits;
pub mod lint;
pub mod losses;
pub mod packets;
pub mod read;
mod slices;
pub mod stats;
pub mod timeline;
pub mod write;

#[cfg(test)]
mod testing;

/// Tests the snippets of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/synthetic.md")]
mod synthetic {}
