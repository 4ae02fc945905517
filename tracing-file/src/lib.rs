//! Perfetto trace files: written from your own data, read as events, checked, and measured.
//!
//! | module | what |
//! |---|---|
//! | [`write`] | traces of your own data, which cannot be written wrong |
//!
//! A trace is one protobuf message, `Trace`, whose packets are read and written one at a time: memory does not depend
//! on the length of a file.

#![forbid(unsafe_code)]

pub mod write;

#[cfg(test)]
mod testing;
