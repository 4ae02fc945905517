//! The programs as users run them: as processes, with sockets of their own.
#![allow(missing_docs)]

mod alone;
mod corpus;
mod daemon;
mod descriptors;
mod doctor;
mod documents;
mod events;
mod examples;
mod failures;
mod inspect;
mod kernel;
mod ledger;
mod light;
mod outputs;
mod processes;
mod record;
mod scenario;
mod scripts;
mod sessions;
mod snapshots;
mod strict;
mod tools;
mod trace;
mod trace_events;
mod triggers;
mod world;
