//! Code for the largest schemas of others: it compiles without a warning, and reads and writes what prost does.

#![deny(warnings)]
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/all.rs"));
