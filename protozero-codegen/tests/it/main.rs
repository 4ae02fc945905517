//! Whole runs of the generator. Its output for `tests/cases/*.proto` is committed in `golden/`, compiled here, and
//! compared with another implementation of protobuf.

#[cfg(feature = "cli")]
mod command;
mod differential;
#[allow(
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all
)]
#[rustfmt::skip]
mod golden;
mod order;
mod readers;
mod semantics;
mod sources;
mod text;
