//! Code for the largest schemas of others: it compiles without a warning.

#![deny(warnings)]
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/all.rs"));
